"""Single decisions of the machine, between two samples of a cluster that changed in one respect.

Complete rollouts pass through them too, but rarely isolate one: an OSD with a new process was
usually seen down before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import (
    Effect,
    Inconclusive,
    Judgement,
    SignalVerdict,
    SoakPlan,
    Verdict,
)
from rocksdb_tuner.mgr.records import PgSummary, RunningOption
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.osd_step import process_lost
from rocksdb_tuner.operations.rollout.records import Direction, Ending, OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.rollback import conflicting_entries, conflicts_in_other_option
from rocksdb_tuner.operations.rollout.rules import Observation, Step
from rocksdb_tuner.operations.rollout.soak import soak, undecided
from rocksdb_tuner.plan.batches import planned_batch
from rocksdb_tuner.plan.commands import RemoveEntry, RestartOsd
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import ALL, NEW, OLD, overridden
from .one_step import MACHINE, SOAK, canary, observed, other, rollback_of, rollout, without

PASS = Judgement(Verdict.NO_WORSE)
FAIL = Judgement(Verdict.WORSE, (SignalVerdict('op_w_latency_ms', Effect.WORSE, 30.0),))
UNSURE = Judgement(Verdict.INCONCLUSIVE, missing=('precision',))
NOTHING = Judgement(Verdict.NO_DATA, missing=('writes',))


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(4)


# -- a process that is not the one that came up


def again(seen: Observation, state: RolloutState, flaps: int = 0) -> Optional[Step]:
    osd = replace(state.osds[0], flaps=flaps)
    return process_lost(MACHINE, state, osd, seen)


@pytest.mark.parametrize('direction', [Direction.FORWARD, Direction.BACK])
def test_osd_with_a_new_process_is_lost_even_if_never_seen_down(
    cluster: FakeCluster, direction: Direction
) -> None:
    state = rollout(cluster, OsdStep.CHECKING, direction=direction)
    seen = observed(cluster)
    assert again(seen, state) is None
    for lost in (
        other(seen, 0, nonce=99),
        other(seen, 0, nonce=None),
        other(seen, 0, up=False),
        without(seen, 0),
    ):
        step = again(lost, state)
        assert step is not None
        assert (step.state.osds[0].step, step.state.osds[0].flaps) == (OsdStep.RESTARTING, 1)
        assert step.actions == ()


def test_osd_fails_on_going_down_for_the_third_time(cluster: FakeCluster) -> None:
    state = rollout(cluster, OsdStep.SETTLING)
    lost = other(observed(cluster), 0, up=False)
    second, third = again(lost, state, flaps=1), again(lost, state, flaps=2)
    assert second is not None
    assert second.state.direction is Direction.FORWARD
    assert third is not None
    assert third.state.direction is Direction.RECOVER
    assert third.state.ending == Ending(Outcome.FAILED, 'osd.0 came up and went down again 3 times')


def test_osd_is_never_given_up_for_going_down_again_during_rollback(
    cluster: FakeCluster,
) -> None:
    state = rollout(cluster, OsdStep.SETTLING, direction=Direction.BACK)
    step = again(other(observed(cluster), 0, up=False), state, flaps=20)
    assert step is not None
    assert (step.state.direction, step.state.osds[0].flaps) == (Direction.BACK, 21)


# -- the soak


def soaked(
    state: RolloutState, seen: Observation, soaking: SoakPlan = SOAK, number: int = 0
) -> RolloutState:
    step = soak(state, planned_batch(state.request, soaking, number), seen)
    assert step.actions == ()
    return step.state


@pytest.mark.parametrize('policy', Inconclusive)
def test_missing_data_waits_whatever_the_policy(cluster: FakeCluster, policy: Inconclusive) -> None:
    state = rollout(cluster, OsdStep.VERIFIED)
    seen = observed(cluster, after_s=600.0, judgement=NOTHING, unsampled=(0, 2))
    waits = soaked(state, seen, replace(SOAK, inconclusive=policy))
    assert (waits.judgement, waits.verdicts, waits.direction) == (NOTHING, (), Direction.FORWARD)
    reported = waits.paused_reason or ''
    assert 'missing: no current samples of OSD 0,2: it continues once they report' in reported
    assert NOTHING.missing[0] in reported
    assert undecided(waits)


def test_only_osds_of_the_batch_are_watched_for_a_new_process(cluster: FakeCluster) -> None:
    """The canary, judged long ago, may be restarted by anybody while the next batch is watched."""
    plan = SoakPlan(300.0, 600.0, batches=SoakPlan(60.0, 120.0))
    state = rollout(
        cluster,
        OsdStep.VERIFIED,
        OsdStep.VERIFIED,
        soak=plan,
        judgement=PASS,
        verdicts=(Verdict.NO_WORSE,),
    )
    seen = observed(cluster, after_s=30.0)
    assert soaked(state, other(seen, 0, nonce=99), plan, 1).direction is Direction.FORWARD
    assert soaked(state, other(seen, 3, nonce=99), plan, 1).direction is Direction.FORWARD
    failed = soaked(state, other(seen, 1, nonce=99), plan, 1)
    assert failed.direction is Direction.BACK
    assert 'the verdict on batch 2 (1): worse: the process of osd.1 exited' in (
        failed.failure or ''
    )
    # The evidence of the canary is unchanged.
    assert failed.judgement == PASS
    assert failed.batch_judgement is not None
    assert failed.batch_judgement.verdict is Verdict.WORSE


def test_doubt_waits_promotes_or_rolls_back_as_configured(cluster: FakeCluster) -> None:
    state = rollout(cluster, OsdStep.VERIFIED)
    seen = observed(cluster, after_s=600.0, judgement=UNSURE)
    waits = soaked(state, seen)
    assert (waits.judgement, waits.verdicts) == (UNSURE, ())
    assert UNSURE.missing[0] in (waits.paused_reason or '')
    assert undecided(waits)
    promoted = soaked(state, seen, replace(SOAK, inconclusive=Inconclusive.PROMOTE))
    assert (promoted.judgement, promoted.verdicts) == (UNSURE, (UNSURE.verdict,))
    assert not undecided(promoted)
    back = soaked(state, seen, replace(SOAK, inconclusive=Inconclusive.ROLLBACK))
    assert (back.judgement, back.direction) == (UNSURE, Direction.BACK)
    assert not undecided(back)


def test_pause_and_unclean_placement_groups_delay_the_verdict_but_no_crash_is_missed(
    cluster: FakeCluster,
) -> None:
    state = rollout(cluster, OsdStep.VERIFIED, judgement=UNSURE)
    fails = observed(cluster, after_s=300.0, judgement=FAIL)
    paused = soaked(replace(state, paused_by='client.ann'), fails)
    assert (paused.direction, paused.paused_reason) == (Direction.FORWARD, 'paused by client.ann')
    assert not undecided(replace(state, paused_by='client.ann'))
    unclean = replace(fails, pgs=PgSummary(33, 33, (('active+clean', 32), ('peering', 1))))
    held = soaked(state, unclean)
    assert held.direction is Direction.FORWARD
    assert 'peering' in (held.paused_reason or '')
    # It may have been found before; what is found now is no verdict to go on with.
    assert held.judgement is None
    assert soaked(state, other(unclean, 0, nonce=99)).direction is Direction.BACK
    off = soaked(state, replace(fails, may_act=False))
    assert off.direction is Direction.FORWARD
    assert 'mode' in (off.paused_reason or '')


def test_no_collapse_while_an_osd_is_undecided(cluster: FakeCluster) -> None:
    """All OSDs run the new string; the verdict on the last batch is still to come."""
    plan = SoakPlan(300.0, 600.0, batches=SoakPlan(60.0, 120.0))
    verified = [OsdStep.VERIFIED] * 4
    state = rollout(cluster, *verified, soak=plan, judgement=PASS)
    entries = {f'osd.{n}': NEW for n in range(4)}
    for verdicts in range(4):
        found = replace(state, verdicts=(Verdict.NO_WORSE,) * verdicts)
        for judgement in (None, UNSURE):
            seen = observed(cluster, entries=entries, after_s=90.0, judgement=judgement)
            step = MACHINE.step(found, seen, 2.0)
            assert step.actions == ()
            assert step.state.stage in {Phase.SOAKING, Phase.PROMOTING}
            assert not step.state.shared_touched
    decided = replace(state, verdicts=(Verdict.NO_WORSE,) * 4)
    step = MACHINE.step(decided, observed(cluster, entries=entries), 2.0)
    assert (step.state.stage, step.state.shared_touched) == (Phase.COLLAPSING, True)


# -- rollback


def checked(state: RolloutState, seen: Observation, value: str, source: str) -> RolloutState:
    running = {0: RunningOption(value, source, ignores_mon=False)}
    step = MACHINE.step(state, replace(seen, running=running), 2.0)
    assert step.actions == ()
    return step.state


@pytest.mark.parametrize('source', ['default', 'file', 'env', 'cmdline', 'override', 'metadata'])
def test_value_from_another_source_is_not_the_restored_one(source: str) -> None:
    """The right string by chance: from ceph.conf it stays when the entry changes."""
    cluster = overridden(ALL, osds=4)
    state = rollback_of(cluster, OsdStep.CHECKING)
    seen = observed(cluster, waited_s=59.0)
    assert checked(state, seen, OLD, 'mon').osds[0].step is OsdStep.SETTLING
    assert checked(state, seen, OLD, source).osds[0].step is OsdStep.CHECKING
    overdue = checked(state, replace(seen, waited_s=61.0), OLD, source)
    assert overdue.osds[0].step is OsdStep.CHECKING
    assert overdue.direction is Direction.BACK


@pytest.mark.parametrize('source', ['mon', 'file', 'env', 'cmdline', 'override'])
def test_only_the_default_is_restored_without_an_entry(cluster: FakeCluster, source: str) -> None:
    state = rollback_of(cluster, OsdStep.CHECKING)
    default = DEFAULTS['pacific']
    seen = observed(cluster, waited_s=59.0)
    assert checked(state, seen, default, 'default').osds[0].step is OsdStep.SETTLING
    assert checked(state, seen, default, source).osds[0].step is OsdStep.CHECKING


def test_restored_value_is_trusted_by_its_meaning_and_not_too_early() -> None:
    cluster = overridden(ALL, osds=4)
    state = rollback_of(cluster, OsdStep.CHECKING)
    seen = observed(cluster, waited_s=20.0)
    other_words = ';'.join(reversed(OLD.split(',')))
    assert checked(state, seen, other_words, 'mon').osds[0].step is OsdStep.SETTLING
    assert checked(state, seen, NEW, 'mon').osds[0].step is OsdStep.CHECKING
    early = replace(seen, waited_s=MACHINE.limits.report_s - 0.1)
    assert checked(state, early, OLD, 'mon').osds[0].step is OsdStep.CHECKING


def test_paused_rollback_changes_no_entry_and_restarts_no_osd(cluster: FakeCluster) -> None:
    written = observed(cluster, entries={ALL: NEW, 'osd.0': NEW}, waited_s=1000.0)
    restored = replace(written, entries={})
    entries = rollback_of(cluster, OsdStep.VERIFIED, entries_done=0, shared_touched=True)
    due = rollback_of(cluster, OsdStep.RESTART_DUE, restoring=(), entries_done=0)
    waiting = replace(due.osds[0], nonce_before=cluster.osds[0].nonce)
    due = replace(due, osds=(waiting, *due.osds[1:]))
    for state, seen in ((entries, written), (due, restored)):
        for look in (seen, other(seen, 0, up=False)):
            held = MACHINE.step(replace(state, paused_by='client.ann'), look, 2.0)
            assert held.actions == ()
            assert held.state.osds == state.osds
            assert held.state.paused_reason == 'paused by client.ann'
            off = MACHINE.step(state, replace(look, may_act=False), 2.0)
            assert off.actions == ()
    # Only the pause holds it.
    assert MACHINE.step(entries, written, 2.0).actions == (RemoveEntry(ALL),)
    for look in (restored, other(restored, 0, up=False)):
        assert MACHINE.step(due, look, 2.0).actions == (RestartOsd(0),)


# -- a restart


def restarting(
    cluster: FakeCluster, step: OsdStep = OsdStep.RESTARTING, **changes: object
) -> RolloutState:
    """The canary, whose process is still the previous one; it was requested once."""
    state = rollout(cluster, step)
    osd = replace(
        state.osds[0], nonce_before=cluster.osds[0].nonce, nonce_after=None, restarts_asked=1
    )
    return replace(state, osds=(osd, *state.osds[1:]), **changes)  # type: ignore[arg-type]


def entries_of(state: RolloutState) -> dict[str, str]:
    return {'osd.0': dict(state.request.targets)[0]}


@pytest.mark.parametrize(
    ('changes', 'asked'),
    [
        ({}, True),
        ({'restart_is_ours': True}, False),
        ({'orchestrator_reason': 'none'}, False),
        ({'may_act': False}, False),
    ],
)
def test_osd_stopped_under_another_manager_is_started_again_before_it_fails(
    cluster: FakeCluster, changes: dict[str, object], asked: bool
) -> None:
    state = restarting(cluster)
    seen = observed(
        cluster,
        entries=entries_of(state),
        waited_s=300.0,
        down_s=300.0,
        **{'restart_is_ours': False, **changes},
    )
    down = other(seen, 0, up=False)
    step = MACHINE.step(state, down, 2.0)
    assert (step.actions == (RestartOsd(0),)) == asked
    assert (step.state.direction is Direction.RECOVER) == (not asked)
    if asked:
        often = replace(state, osds=(replace(state.osds[0], restarts_asked=3), *state.osds[1:]))
        assert MACHINE.step(often, down, 2.0).state.direction is Direction.RECOVER
        ending = replace(state, ending=Ending(Outcome.ABORTED, 'aborted by client.ann'))
        assert MACHINE.step(ending, down, 2.0).state.direction is Direction.RECOVER


def test_osd_not_restarted_after_two_requests_fails_if_no_other_is_changed(
    cluster: FakeCluster,
) -> None:
    state = restarting(cluster)
    twice = replace(state, osds=(replace(state.osds[0], restarts_asked=2), *state.osds[1:]))
    seen = observed(cluster, entries=entries_of(state), waited_s=300.0)
    failed = MACHINE.step(twice, seen, 2.0)
    assert (failed.state.direction, canary(failed).step) == (Direction.RECOVER, OsdStep.RESTORING)
    assert failed.state.ending == Ending(Outcome.FAILED, 'osd.0 did not restart after 2 requests')
    # Its process is that of before: it need not be restarted for its old entry.
    assert not canary(failed).restart_needed


def test_osd_that_went_down_by_itself_is_awaited_without_a_request_and_then_fails(
    cluster: FakeCluster,
) -> None:
    state = restarting(cluster, OsdStep.RESTART_DUE)
    down = other(observed(cluster, entries=entries_of(state)), 0, up=False)
    early = MACHINE.step(state, replace(down, down_s=299.9), 2.0)
    assert (early.actions, early.state.paused_reason) == ((), 'osd.0 is down')
    late = MACHINE.step(state, replace(down, down_s=300.0), 2.0)
    assert late.state.direction is Direction.RECOVER
    assert late.state.ending == Ending(Outcome.FAILED, 'osd.0 did not come back up within 300 s')


# -- from entries of single OSDs to a shared one


def collapsing(cluster: FakeCluster, *steps: OsdStep, **changes: object) -> RolloutState:
    fields: dict[str, object] = {
        'shared_touched': True,
        'entries_done': 1,
        'verdicts': (Verdict.NO_WORSE,),
        **changes,
    }
    state = rollout(cluster, *steps)
    return replace(state, stage=Phase.COLLAPSING, **fields)  # type: ignore[arg-type]


def test_last_osd_ends_the_rollout(cluster: FakeCluster) -> None:
    state = collapsing(cluster, *[OsdStep.COLLAPSED] * 4)
    done = MACHINE.step(state, observed(cluster, entries={ALL: NEW}), 7.0)
    assert (done.state.stage, done.state.outcome, done.state.updated_s) == (
        Phase.DONE,
        Outcome.DONE,
        7.0,
    )
    assert done.state.failure is None


# -- entries changed by others


THERE, GONE = 'write_buffer_size=1', None


@pytest.mark.parametrize(
    ('at', 'ours'),
    [
        (OsdStep.PENDING, {GONE}),
        (OsdStep.SETTING, {GONE, NEW}),
        (OsdStep.RESTART_DUE, {NEW}),
        (OsdStep.RESTARTING, {NEW}),
        (OsdStep.CHECKING, {NEW}),
        (OsdStep.SETTLING, {NEW}),
        (OsdStep.VERIFIED, {NEW}),
        (OsdStep.COLLAPSING, {NEW, GONE}),
        (OsdStep.COLLAPSED, {GONE}),
    ],
)
def test_expected_own_entry_follows_from_the_progress_of_the_osd(
    cluster: FakeCluster, at: OsdStep, ours: set[Optional[str]]
) -> None:
    state = rollout(cluster, at)
    for value in (GONE, NEW, OLD, THERE):
        entries = {} if value is None else {'osd.0': value}
        found = conflicting_entries(state, observed(cluster, entries=entries))
        assert found == (() if value in ours else ('osd.0',)), value


@pytest.mark.parametrize(
    ('touched', 'done', 'ours'),
    [(False, 0, {GONE}), (True, 0, {GONE, NEW}), (True, 1, {NEW})],
)
def test_expected_shared_entry_follows_from_its_write_and_confirmation(
    cluster: FakeCluster, touched: bool, done: int, ours: set[Optional[str]]
) -> None:
    state = rollout(cluster, shared_touched=touched, entries_done=done)
    for value in (GONE, NEW, OLD):
        entries = {} if value is None else {ALL: value}
        found = conflicting_entries(state, observed(cluster, entries=entries))
        assert found == (() if value in ours else (ALL,)), value


@pytest.mark.parametrize(
    ('who', 'forward', 'back'),
    [
        ('osd/class:ssd', True, False),
        ('osd/host:node0', True, False),
        ('global', True, False),
        ('osd/class:hdd', False, False),
        ('osd.9', False, False),
        ('mon', False, False),
        ('osd.3', True, False),
        ('osd.0', True, True),
        (ALL, True, True),
    ],
)
def test_foreign_entry_matters_if_it_may_apply_or_is_to_be_restored(
    cluster: FakeCluster, who: str, forward: bool, back: bool
) -> None:
    seen = observed(cluster, entries={who: THERE})
    assert (conflicting_entries(rollout(cluster), seen) == (who,)) == forward
    state = rollback_of(cluster, OsdStep.RESTART_DUE)
    assert (conflicting_entries(state, seen) == (who,)) == back


def test_entry_under_rollback_is_old_or_new_until_confirmed() -> None:
    cluster = overridden(ALL, osds=4)
    for done in (0, 1, 2):
        state = rollback_of(cluster, OsdStep.VERIFIED, entries_done=done)
        for shared, single in ((OLD, GONE), (NEW, GONE), (OLD, NEW), (THERE, GONE), (OLD, THERE)):
            entries = {ALL: shared, **({} if single is None else {'osd.0': single})}
            expected = [
                who
                for who, value, ours in (
                    (ALL, shared, {OLD} if done >= 1 else {OLD, NEW}),
                    ('osd.0', single, {GONE} if done >= 2 else {GONE, NEW}),
                )
                if value not in ours
            ]
            found = conflicting_entries(state, observed(cluster, entries=entries))
            assert found == tuple(expected), (done, shared, single)


def test_only_the_own_entry_matters_during_recovery(cluster: FakeCluster) -> None:
    state = rollout(cluster, OsdStep.RESTORING, direction=Direction.RECOVER)
    for entries, expected in (
        ({}, ()),
        ({'osd.0': NEW}, ()),
        ({'osd.0': THERE}, ('osd.0',)),
        ({ALL: THERE, 'osd.1': THERE}, ()),
    ):
        assert conflicting_entries(state, observed(cluster, entries=entries)) == expected
    for needed, ours in ((True, GONE), (False, NEW)):
        due = rollout(cluster, OsdStep.RESTARTING, direction=Direction.RECOVER)
        due = replace(due, osds=(replace(due.osds[0], restart_needed=needed), *due.osds[1:]))
        for value in (GONE, NEW):
            entries = {} if value is None else {'osd.0': value}
            found = conflicting_entries(due, observed(cluster, entries=entries))
            assert found == (() if value == ours else ('osd.0',))


WHOS = ('osd.3', 'osd.0', 'global', 'osd/host:node1', ALL, 'osd.1', 'osd/class:ssd', 'osd.2')


def test_owners_of_changed_entries_are_listed_in_order(cluster: FakeCluster) -> None:
    """Of both options: the new and the previous reports are compared."""
    state = rollout(cluster)
    was = replace(state, before=replace(state.before, other_entries=()))
    seen = observed(
        cluster, entries=dict.fromkeys(WHOS, THERE), other_entries=dict.fromkeys(WHOS, THERE)
    )
    assert conflicting_entries(was, seen) == tuple(sorted(WHOS))
    assert conflicts_in_other_option(was, seen) == tuple(sorted(WHOS))


def test_entry_of_an_osd_left_behind_is_ignored(
    cluster: FakeCluster,
) -> None:
    state = rollout(cluster, OsdStep.LEFT_BEHIND, OsdStep.VERIFIED)
    state = replace(state, before=replace(state.before, other_entries=(('osd.1', OLD),)))
    seen = observed(
        cluster,
        entries={'osd.0': THERE, 'osd.1': NEW},
        other_entries={'osd.0': THERE, 'osd.1': OLD},
    )
    assert (conflicting_entries(state, seen), conflicts_in_other_option(state, seen)) == ((), ())
    # Entries of the other option may change, appear or disappear.
    for entries, reported in (
        ({'osd.1': THERE}, ('osd.1',)),
        ({}, ('osd.1',)),
        ({'osd.1': OLD, 'osd.2': THERE}, ('osd.2',)),
        ({'osd.1': OLD, 'mon': THERE}, ()),
    ):
        assert conflicts_in_other_option(state, replace(seen, other_entries=entries)) == reported
    # The previous value is unknown in rollouts of older managers, and if it cannot be read now.
    unknown = replace(state, before=replace(state.before, other_entries=None))
    assert conflicts_in_other_option(unknown, replace(seen, other_entries={})) == ()
    assert conflicts_in_other_option(state, replace(seen, other_entries=None)) == ()
    back = replace(state, direction=Direction.BACK)
    assert conflicts_in_other_option(back, replace(seen, other_entries={})) == ()


def test_conflict_counts_after_two_seconds(cluster: FakeCluster) -> None:
    """A monitor may answer from just before the last change."""
    state = rollout(cluster, OsdStep.VERIFIED)
    seen = observed(cluster, entries={'osd.0': THERE})
    once = MACHINE.step(state, seen, 2.0)
    assert (once.state.ended, once.actions) == (False, ())
    assert 'osd.0' in (once.state.pending_conflict or '')
    early = MACHINE.step(once.state, replace(seen, waited_s=1.9), 3.0)
    assert (early.state.ended, early.actions) == (False, ())
    late = MACHINE.step(once.state, replace(seen, waited_s=2.0), 3.0)
    assert (late.state.stage, late.state.outcome) == (Phase.FAILED, Outcome.ABORTED)
    assert 'was changed outside this rollout' in (late.state.failure or '')
    gone = MACHINE.step(once.state, observed(cluster, entries={'osd.0': NEW}), 3.0)
    assert (gone.state.pending_conflict, gone.state.ended) == (None, False)
    another = MACHINE.step(once.state, replace(seen, entries={'osd.0': THERE, 'osd.1': THERE}), 3.0)
    assert not another.state.ended


def test_osd_in_flight_is_made_safe_before_a_foreign_change_ends_the_rollout(
    cluster: FakeCluster,
) -> None:
    state = rollout(cluster, OsdStep.VERIFIED, OsdStep.SETTLING)
    entries = {'osd.0': NEW, 'osd.1': NEW, 'osd.3': THERE}
    seen = observed(cluster, entries=entries)
    once = MACHINE.step(state, seen, 2.0).state
    on = MACHINE.step(once, seen, 3.0).state
    assert (on.ended, on.osds[1].step) == (False, OsdStep.VERIFIED)
    assert on.ending is not None
    assert on.ending.outcome is Outcome.ABORTED
    assert MACHINE.step(on, seen, 4.0).state.outcome is Outcome.ABORTED
    # If it is the OSD in flight itself, the operator's change takes precedence.
    its_own = replace(seen, entries={'osd.0': NEW, 'osd.1': THERE})
    once = MACHINE.step(state, its_own, 2.0).state
    assert MACHINE.step(once, its_own, 3.0).state.outcome is Outcome.ABORTED
