"""Plans of experiments: from what was measured, with what would start, or refused with a reason."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Any, Optional

import pytest

from rocksdb_tuner.advise.experiment_plan import ARMS_MAX, Question, plan_for
from rocksdb_tuner.advise.profiles import Profile
from rocksdb_tuner.advise.records import Limit, Resource
from rocksdb_tuner.observe.load_history import KeptWork, Work
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.options.verdict import BadQuestionError
from rocksdb_tuner.plan.commands import TYPICAL_RESTART_S
from rocksdb_tuner.plan.experiment_design import ExperimentPlan

from .builders import PACIFIC, facts, osd_info
from .experiment_builders import grounds, member, noisy
from .test_choice import D, osd

ARMS = ('variant-2022-d', 'variant-2022-c')


def planned(question: Optional[Question] = None, **given: Any) -> ExperimentPlan:
    found = plan_for(question or Question(arms=ARMS), grounds(**given))
    assert found.refusal is None
    return found


def refused(question: Optional[Question] = None, **given: Any) -> BadQuestionError:
    with pytest.raises(BadQuestionError) as refusal:
        plan_for(question or Question(arms=ARMS), grounds(**given))
    return refusal.value


def test_named_arms_are_planned_with_the_noise_of_these_osds() -> None:
    found = planned()
    assert (found.who, found.objective) == ('osd/class:ssd', 'kv_sync_ms_per_txn')
    assert tuple(arm.name for arm in found.arms) == ARMS
    assert found.arms[0].options == D.options
    assert found.from_options == PACIFIC
    assert found.block_s == 600
    assert found.history_s == 4 * 3600
    assert found.unmeasured == ()
    changed = len(found.changed)
    assert changed <= 0.25 * 24
    assert found.detectable_percent is not None
    assert found.detectable_percent <= 10
    assert found.restarts == 2 * changed
    assert found.duration_s == found.measuring_s + changed * TYPICAL_RESTART_S
    noisier = planned(noise=0.04)
    assert noisier.measuring_s > found.measuring_s


def test_settle_time_covers_the_restarts_of_all_changed_osds() -> None:
    """With more noise an arm gets more OSDs, which take longer to restart."""
    for noise in (0.02, 0.07):
        found = planned(noise=noise, least_block_s=30)
        settle_s = found.settle_blocks * found.block_s
        assert settle_s >= len(found.changed) * TYPICAL_RESTART_S + 60
        assert found.fill_s is not None


def test_block_covers_three_flushes_and_the_resolution_of_the_history() -> None:
    found = planned(least_block_s=30)
    assert found.fill_s is not None
    assert found.block_s % 300 == 0
    assert found.block_s >= 3 * found.fill_s
    unknown = [osd(n, host=f'node{n % 8}') for n in range(24)]
    still = grounds(*unknown, least_block_s=400)
    without = plan_for(Question(arms=ARMS), still)
    assert (without.fill_s, without.block_s) == (None, 600)


def test_best_distinct_candidates_are_the_default_arms() -> None:
    found = planned(Question())
    assert len(found.arms) == 2
    gains = [arm.predicted for arm in found.arms]
    # Each can pay.
    assert all(gain is not None and gain.low_percent <= -10 for gain in gains)
    assert len({arm.options for arm in found.arms} | {PACIFIC}) == 3
    # A small group has room for one only.
    few = [member(n, hosts=4) for n in range(12)]
    single = plan_for(Question(), grounds(*few, share=0.2))
    assert len(single.arms) == 1


def test_no_default_arms_without_a_promising_candidate() -> None:
    idle = [facts(osd_info(n, host=f'node{n}')) for n in range(24)]
    given = replace(grounds(*idle), groups=())
    group = replace(grounds(*idle).groups[0], workload=None)
    with pytest.raises(BadQuestionError, match='no candidate for osd/class:ssd is worth') as error:
        plan_for(Question(), replace(given, groups=(group,)))
    assert error.value.errno == errno.EINVAL


def test_candidates_and_custom_profiles_are_valid_arms() -> None:
    best = planned(Question())
    names = tuple(arm.name for arm in best.arms)
    assert planned(Question(arms=names)).arms == best.arms
    mine = replace(D, name='mine', own_releases=('pacific',))
    found = planned(Question(arms=('mine',)), custom=[mine])
    assert found.arms[0].options == D.options


@pytest.mark.parametrize(
    ('arms', 'code', 'text'),
    [
        (('nonesuch',), errno.ENOENT, 'unknown profile "nonesuch" in --arms; profiles: '),
        (('',), errno.ENOENT, 'unknown profile "" in --arms'),
        (
            ('bluestore-default-pacific',),
            errno.EINVAL,
            '"bluestore-default-pacific" cannot be an arm: the group runs these options already',
        ),
        (
            (D.name, 'twin'),
            errno.EINVAL,
            f'"twin" cannot be an arm: it is equivalent to "{D.name}"',
        ),
        (('empty',), errno.EINVAL, '"empty" cannot be an arm: it sets no options'),
        (('broken',), errno.EINVAL, '"broken" cannot be an arm: '),
        (('clamped',), errno.EINVAL, '"clamped" cannot be an arm: '),
        (('large',), errno.EINVAL, '"large" cannot be an arm: '),
        (('mine',) * (ARMS_MAX + 1), errno.EINVAL, '9 arms are more than 8'),
    ],
)
def test_arm_must_be_safe_and_different(arms: tuple[str, ...], code: int, text: str) -> None:
    own = {
        'twin': D.options,
        'empty': '',
        'broken': 'compression=kFoo',
        'clamped': f'{D.options},max_write_buffer_number=1',
        'large': f'{D.options},write_buffer_size=4294967296',
    }
    custom: list[Profile] = [
        replace(D, name=name, options=options, own_releases=('pacific',))
        for name, options in own.items()
    ]
    error = refused(Question(arms=arms), custom=custom)
    assert error.errno == code
    assert text in str(error)


@pytest.mark.parametrize(
    ('question', 'code', 'text'),
    [
        (Question(who='osd/class:hdd'), errno.ENOENT, 'no group "osd/class:hdd"; groups: osd/c'),
        (Question(arms=ARMS, signal='iops'), errno.EINVAL, 'invalid --signal "iops"; signals: op_'),
        (Question(arms=ARMS, signal='slow_ops'), errno.EINVAL, 'invalid --signal "slow_ops"'),
        (Question(arms=ARMS, min_effect=0.001), errno.EINVAL, 'allowed: 1% to 50%'),
        (Question(arms=ARMS, min_effect=0.6), errno.EINVAL, '--min-effect 60% is out of range'),
        (Question(arms=ARMS, max_duration_s=9), errno.EINVAL, '--max-duration 9 is out of range'),
        (Question(arms=ARMS, max_duration_s=1e9), errno.EINVAL, 'allowed: 600 to 1.2096e+06'),
    ],
)
def test_arguments_must_exist_and_be_in_range(question: Question, code: int, text: str) -> None:
    error = refused(question)
    assert error.errno == code
    assert text in str(error)


def test_check_warning_is_reported_and_does_not_refuse_the_plan() -> None:
    single = replace(D, name='single', options=f'{PACIFIC},write_buffer_size=4194304')
    found = planned(Question(arms=('single',)), custom=[replace(single, own_releases=('pacific',))])
    (caution,) = found.arms[0].cautions
    assert 'flushed one by one' in caution


def test_group_is_required_if_there_are_several() -> None:
    given = grounds()
    two = replace(given, groups=(*given.groups, replace(given.groups[0], device_class='hdd')))
    with pytest.raises(BadQuestionError, match='groups: osd/class:ssd, osd/class:hdd'):
        plan_for(Question(arms=ARMS), two)
    assert plan_for(Question(who='osd/class:ssd', arms=ARMS), two).who == 'osd/class:ssd'
    with pytest.raises(BadQuestionError, match='groups: none yet'):
        plan_for(Question(arms=ARMS), replace(given, groups=()))


def test_group_that_no_change_can_reach_is_refused_with_the_reason() -> None:
    mixed = [member(n, text=D.options if n else PACIFIC) for n in range(24)]
    one_group = replace(grounds().groups[0], osds=tuple(mixed))
    with pytest.raises(BadQuestionError, match='no experiment on osd/class:ssd: The OSDs of the'):
        plan_for(Question(arms=ARMS), replace(grounds(), groups=(one_group,), osds=tuple(mixed)))


@pytest.mark.parametrize(
    ('resource', 'signal'),
    [
        (Resource.KV_SYNC, 'kv_sync_ms_per_txn'),
        (Resource.DB_DEVICE, 'db_bytes_per_txn'),
        (Resource.DB_SPACE, 'db_used_bytes'),
        (Resource.CORES, 'op_w_latency_ms'),
        *((resource, None) for resource in Resource),
    ],
)
def test_signal_is_that_of_the_limiting_resource(resource: Resource, signal: Optional[str]) -> None:
    found = planned(limit=Limit(resource, 0.9), noise=0.005)
    assert signal is None or found.objective == signal
    given = planned(Question(arms=ARMS, signal='op_w_latency_ms'), noise=0.005)
    assert given.objective == 'op_w_latency_ms'


def test_short_history_reports_how_long_to_wait() -> None:
    error = refused(intervals=10)
    assert error.errno == errno.EAGAIN
    assert str(error) == (
        'the noise of kv_sync_ms_per_txn is known for 50m of the required 2h, in blocks of 10m '
        'without restarts of OSDs: try again in 1h 10m'
    )
    nothing = refused(kept=KeptWork((), 300.0, dict.fromkeys(range(24), ())))
    assert nothing.errno == errno.EAGAIN
    assert 'is known for 0s of the required 2h' in str(nothing)


def test_block_longer_than_the_history_is_refused_with_what_shortens_it() -> None:
    """On a new cluster memtables take days to fill: nobody can wait for twelve such blocks."""
    quiet = Signals(0, write_iops=1.0, wal_bytes_per_s=100.0)
    idle = [member(n)._replace(signals=quiet._replace(osd_id=n)) for n in range(24)]
    found = plan_for(Question(arms=ARMS), grounds(*idle, kept=KeptWork((), 300.0, {})))
    assert found.refusal is not None
    assert 12 * found.block_s > 43200
    assert found.history_s == 0
    assert 'the history has 12h; more client writes or arms with smaller' in found.refusal.reason
    assert 'try again' not in found.refusal.reason


def test_small_group_is_refused_before_it_waits_for_a_history() -> None:
    found = plan_for(
        Question(arms=ARMS), grounds(*(member(n) for n in range(3)), kept=KeptWork((), 300.0, {}))
    )
    assert found.refusal is not None
    assert found.refusal.osds == 16


def test_restarts_shorten_the_history() -> None:
    full = noisy(range(24))
    unknown = Work(*(None for _ in Work._fields))
    restarted = {n: (*work[:40], unknown, *work[41:]) for n, work in full.by_osd.items()}
    error = refused(kept=replace(full, by_osd=restarted))
    assert error.errno == errno.EAGAIN
    assert 'is known for 30m of' in str(error)


def test_idle_group_is_refused() -> None:
    full = noisy(range(24))
    idle = {n: tuple(w._replace(txns=3.0) for w in work) for n, work in full.by_osd.items()}
    error = refused(kept=replace(full, by_osd=idle))
    assert error.errno == errno.EINVAL
    assert 'fewer than 3 OSDs of the group have enough client writes' in str(error)


def test_guard_without_known_noise_is_named() -> None:
    full = noisy(range(24))
    replicas = {n: tuple(w._replace(writes=3.0) for w in work) for n, work in full.by_osd.items()}
    found = planned(kept=replace(full, by_osd=replicas))
    assert found.unmeasured == ('op_w_latency_ms',)


@pytest.mark.parametrize(
    ('given', 'question', 'reason'),
    [
        (
            {'noise': 0.05},
            Question(arms=ARMS, min_effect=0.04),
            'a difference of 4% is not detectable',
        ),
        ({'share': 0.1}, Question(arms=ARMS), '2 arms of 2 OSDs would be more than 10%'),
    ],
)
def test_what_cannot_be_told_is_refused_with_what_it_would_take(
    given: dict[str, Any], question: Question, reason: str
) -> None:
    found = plan_for(question, grounds(**given))
    assert found.refusal is not None
    assert reason in found.refusal.reason
    assert (found.restarts, found.duration_s) == (None, None)
    assert found.refusal.osds is not None
