"""The identity of OSDs is checked: an id may be reused, and OSDs join during a rollout."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.mgr.parse import parse_cluster_map
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.admission import not_as_planned, uuid_head
from rocksdb_tuner.operations.rollout.records import OsdBefore, OsdStep, RolloutState
from rocksdb_tuner.plan.records import ChangeRequest
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, OPTION, FakeCluster, FakeOsd
from rocksdb_tuner.tests.operations.rollout.conftest import (
    ALL,
    NEW,
    OLD,
    Run,
    overridden,
    remove_override,
    set_profile,
)

DEFAULT = DEFAULTS['pacific']


def restarted(run: Run, osd_id: int) -> str:
    """The options of an OSD after one more restart."""
    run.cluster.restart_by_hand(osd_id)
    run.cluster.advance(60)
    return run.cluster.runs(osd_id)


def asked(run: Run, osd_id: int) -> list[str]:
    return [c for c in run.cluster.commands if f'osd.{osd_id}' in c.split()]


@pytest.mark.parametrize('device_class', ['hdd', 'ssd'])
def test_recreated_pending_osd_is_left_behind_by_name(run: Run, device_class: str) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.VERIFIED)
    run.cluster.recreate(2, device_class)
    state = run.run_to_end()
    assert (state.outcome, state.osds[2].step) == (Outcome.DONE, OsdStep.LEFT_BEHIND)
    assert 'left behind: osd.2 was removed and recreated' in (state.failure or '')
    assert asked(run, 2) == []
    assert restarted(run, 2) == DEFAULT
    assert [restarted(run, n) for n in (0, 1)] == [NEW, NEW]


def test_pending_osd_with_a_changed_class_is_left_behind(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.VERIFIED)
    run.cluster.osds[1].device_class = 'hdd'
    state = run.run_to_end()
    assert [osd.step for osd in state.osds].count(OsdStep.LEFT_BEHIND) == 1
    assert 'osd.1 now has device class hdd' in (state.failure or '')
    assert restarted(run, 1) == DEFAULT


def test_canary_recreated_before_any_change_ends_the_rollout(run: Run) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.to_a_wait('noout')
    run.cluster.recreate(0)
    run.cluster.flags.remove('noout')
    state = run.run_to_end()
    assert (state.phase, run.cluster.commands) == (Phase.FAILED, [])
    assert 'osd.0 was removed and recreated' in (state.failure or '')


@pytest.mark.parametrize(
    'step',
    [
        OsdStep.SETTING,
        OsdStep.RESTART_DUE,
        OsdStep.RESTARTING,
        OsdStep.CHECKING,
        OsdStep.SETTLING,
        OsdStep.VERIFIED,
        OsdStep.COLLAPSED,
    ],
)
@pytest.mark.parametrize('osd_id', [0, 1])
def test_osd_recreated_halfway_keeps_no_entry_of_the_rollout(
    one_step_a_tick: None, run: Run, step: OsdStep, osd_id: int
) -> None:
    run.start()
    run.until(lambda s: s.osds[osd_id].step is step)
    run.cluster.recreate(osd_id, 'hdd')
    state = run.run_to_end()
    assert state.osds[osd_id].step is OsdStep.LEFT_BEHIND
    assert f'osd.{osd_id} was removed and recreated' in (state.failure or '')
    assert restarted(run, osd_id) == DEFAULT
    others = {restarted(run, n) for n in range(3) if n != osd_id}
    early = osd_id == 0 and step not in {OsdStep.VERIFIED, OsdStep.COLLAPSED}
    assert others == ({DEFAULT} if early else {NEW})


def test_purged_changed_osd_leaves_no_entry(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[1].step is OsdStep.VERIFIED)
    run.cluster.purge(0)
    state = run.run_to_end()
    assert state.outcome is Outcome.DONE
    assert 'left behind: osd.0 was removed from the cluster' in (state.failure or '')
    assert run.cluster.entries_of() == {ALL: NEW}


def forward(cluster: FakeCluster) -> ChangeRequest:
    return set_profile(cluster)


@pytest.mark.parametrize('device_class', ['hdd', 'ssd'])
@pytest.mark.parametrize('request_of', [forward, remove_override])
@pytest.mark.parametrize(
    'when',
    ['verified', 'shared', 'collapsing', 'collapsed'],
)
def test_joining_osd_is_not_changed_by_the_shared_entry(
    one_step_a_tick: None, request_of: object, when: str, device_class: str
) -> None:
    cluster = overridden(ALL)
    run = Run(cluster)
    run.start(request_of(cluster))  # type: ignore[operator]

    def is_time(state: RolloutState) -> bool:
        if when == 'shared':
            return state.entries_done == 1
        step = {
            'verified': OsdStep.VERIFIED,
            'collapsing': OsdStep.COLLAPSING,
            'collapsed': OsdStep.COLLAPSED,
        }[when]
        return state.osds[1].step is step

    run.until(is_time)
    shared = cluster.store.pop((ALL, OPTION), None)
    cluster.store[ALL, OPTION] = OLD
    cluster.add_osd(FakeOsd(7, 'node7', device_class=device_class))
    cluster.store.pop((ALL, OPTION))
    if shared is not None:
        cluster.store[ALL, OPTION] = shared
    state = run.run_to_end()
    assert state.outcome is Outcome.DONE
    assert 'the entries of single OSDs are kept: the entry of osd would also change osd.7' in (
        state.failure or ''
    )
    target = dict(state.request.targets)[0]
    assert cluster.entries_of() == {ALL: OLD, **{f'osd.{n}': target for n in range(3)}}
    assert restarted(run, 7) == OLD
    assert [restarted(run, n) for n in range(3)] == [target] * 3
    run.driver.rollback(None, 'client.ann', cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert cluster.entries_of() == {ALL: OLD}
    assert [cluster.runs(n) for n in range(3)] == [OLD] * 3


def test_joining_osd_with_an_own_entry_is_allowed(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[1].step is OsdStep.VERIFIED)
    run.cluster.operator_sets('osd.7', OLD)
    run.cluster.add_osd(FakeOsd(7, 'node7'))
    assert run.run_to_end().failure is None
    assert run.cluster.entries_of() == {ALL: NEW, 'osd.7': OLD}


def test_osd_that_joins_and_leaves_keeps_the_entry_shared(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[1].step is OsdStep.VERIFIED)
    run.cluster.add_osd(FakeOsd(7, 'node7'))
    run.tick()
    run.cluster.purge(7)
    assert run.run_to_end().failure is None
    assert run.cluster.entries_of() == {ALL: NEW}


def test_reason_for_kept_entries_survives_a_failover(one_step_a_tick: None, run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[1].step is OsdStep.COLLAPSED)
    run.cluster.add_osd(FakeOsd(7, 'node7', device_class='hdd'))
    run.until(lambda s: s.own_entries_stay is not None)
    run.fail_over()
    run.cluster.purge(7)
    state = run.run_to_end()
    assert 'the entries of single OSDs are kept' in (state.failure or '')
    assert run.cluster.entries_of() == {f'osd.{n}': NEW for n in range(3)}


def test_pause_holds_while_entries_are_written_back(one_step_a_tick: None, run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[1].step is OsdStep.COLLAPSED)
    run.driver.pause('client.ann', run.cluster.now_s)
    run.cluster.add_osd(FakeOsd(7, 'node7', device_class='hdd'))
    entries = run.cluster.entries_of()
    for _ in range(30):
        run.tick()
    assert run.cluster.entries_of() == entries
    run.driver.resume(run.cluster.now_s)
    assert run.run_to_end().outcome is Outcome.DONE
    assert run.cluster.entries_of() == {f'osd.{n}': NEW for n in range(3)}


def test_rollback_does_not_restart_a_recreated_osd(run: Run) -> None:
    run.start()
    run.run_to_end()
    run.cluster.recreate(1, 'hdd')
    boots = run.cluster.osds[1].boots
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    state = run.run_to_end()
    assert state.phase is Phase.ROLLED_BACK
    assert state.osds[1].step is OsdStep.LEFT_BEHIND
    assert 'left behind: osd.1 was removed and recreated' in (state.failure or '')
    assert run.cluster.osds[1].boots == boots
    assert [run.cluster.runs(n) for n in (0, 2)] == [DEFAULT] * 2


def test_batch_without_remaining_osds_is_skipped() -> None:
    """The next one is watched and judged all the same."""
    cluster = FakeCluster(6)
    run = Run(cluster)
    request = set_profile(cluster, batches=((0,), (1, 2), (3, 4), (5,)), controls=(3, 4, 5))
    soak = SoakPlan(60, 600, batches=SoakPlan(60, 600))
    run.start(request, soak)
    run.until(lambda s: s.stage is Phase.SOAKING)
    for n in (1, 2):
        cluster.recreate(n, 'hdd')
    state = run.run_to_end(12000)
    assert state.outcome is Outcome.DONE
    assert [verdict.pass_or_fail for verdict in state.verdicts][:2] == ['pass', 'no-data']
    assert len(state.verdicts) == 4
    assert [cluster.runs(n) for n in range(6)] == [NEW, DEFAULT, DEFAULT, NEW, NEW, NEW]


def test_osd_left_behind_is_not_in_the_evidence_of_its_batch() -> None:
    cluster = FakeCluster(6)
    run = Run(cluster)
    request = set_profile(cluster, batches=((0,), (1, 2), (3,), (4,), (5,)), controls=(3, 4, 5))
    run.start(request, SoakPlan(60, 600, batches=SoakPlan(60, 600)))
    run.until(lambda s: s.osds[1].step is OsdStep.RESTARTING, 6000)
    cluster.recreate(2, 'hdd')
    state = run.run_to_end(12000)
    assert state.outcome is Outcome.DONE
    assert [verdict.pass_or_fail for verdict in state.verdicts[:2]] == ['pass', 'pass']
    assert cluster.runs(2) == DEFAULT


def test_data_not_recorded_by_an_older_version_is_not_compared() -> None:
    older = OsdBefore(3, OLD, 'mon', 'pacific')
    info = FakeCluster(4).cluster_map().osds[3]
    assert not_as_planned(older, info) is None
    known = replace(older, uuid_head=uuid_head(info.uuid), device_class='ssd')
    assert not_as_planned(known, info) is None
    assert 'recreated' in (not_as_planned(known, replace(info, uuid=None)) or '')
    assert 'class none' in (not_as_planned(known, replace(info, device_class=None)) or '')
    other_store = replace(known, objectstore='bluestore')
    assert not_as_planned(other_store, replace(info, objectstore=None)) is None
    assert 'filestore' in (
        not_as_planned(other_store, replace(info, objectstore='filestore')) or ''
    )


@pytest.mark.parametrize(
    ('uuid', 'head'),
    [
        ('ab12CD34-0000-4000-8000-000000000000', 'ab12cd'),
        ('00000000-0000-0000-0000-000000000000', None),
        (None, None),
        ('', None),
        ('not a uuid', None),
    ],
)
def test_first_digits_of_a_uuid_are_stored(uuid: object, head: object) -> None:
    assert uuid_head(uuid) == head


def test_uuid_of_an_osd_is_read_from_the_map() -> None:
    osd_map = {
        'epoch': 1,
        'flags': '',
        'osds': [{'osd': 4, 'up': 1, 'in': 1, 'uuid': 'ab12cd34-0000-4000-8000-000000000000'}],
        'pools': [],
    }
    osd = parse_cluster_map(osd_map, {}, {}).osds[0]
    assert osd.uuid == 'ab12cd34-0000-4000-8000-000000000000'
