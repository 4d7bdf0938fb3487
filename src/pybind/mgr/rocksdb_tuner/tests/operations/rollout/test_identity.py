"""An id may be reused, and OSDs join or go during a rollout: only checked OSDs are changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Callable, Optional

import pytest

from rocksdb_tuner.mgr.records import OsdInfo
from rocksdb_tuner.operations.gates import absent_of
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.admission import uuid_head
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState
from rocksdb_tuner.plan.records import ChangeRequest
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, OPTION, FakeCluster, FakeOsd

from .conftest import ALL, NEW, OLD, Run, overridden, remove_override, set_profile
from .one_step import COLLAPSED, COLLAPSING, LEFT, VERIFIED

DEFAULT = DEFAULTS['pacific']


def restarted(run: Run, osd_id: int) -> str:
    """The options of an OSD after one more restart."""
    run.cluster.restart_by_hand(osd_id)
    run.cluster.advance(60)
    return run.cluster.runs(osd_id)


@pytest.mark.parametrize('step', [*list(OsdStep)[1:7], COLLAPSED])
@pytest.mark.parametrize('osd_id', [0, 1])
def test_osd_recreated_halfway_keeps_no_entry_of_the_rollout(
    one_step_a_tick: None, run: Run, step: OsdStep, osd_id: int
) -> None:
    run.start()
    run.until(lambda s: s.osds[osd_id].step is step)
    run.cluster.recreate(osd_id, 'hdd')
    state = run.run_to_end()
    assert state.osds[osd_id].step is LEFT
    assert f'osd.{osd_id} was removed and recreated' in (state.failure or '')
    assert restarted(run, osd_id) == DEFAULT
    others = {restarted(run, n) for n in range(3) if n != osd_id}
    early = osd_id == 0 and step not in {VERIFIED, COLLAPSED}
    assert others == ({DEFAULT} if early else {NEW})


def is_verified(state: RolloutState) -> bool:
    return state.osds[1].step is VERIFIED


def is_shared(state: RolloutState) -> bool:
    return state.entries_done == 1


def is_collapsing(state: RolloutState) -> bool:
    return state.osds[1].step is COLLAPSING


def is_collapsed(state: RolloutState) -> bool:
    return state.osds[1].step is COLLAPSED


@pytest.mark.parametrize('device_class', ['hdd', 'ssd'])
@pytest.mark.parametrize('request_of', [set_profile, remove_override])
@pytest.mark.parametrize('when', [is_verified, is_shared, is_collapsing, is_collapsed])
def test_joining_osd_is_not_changed_by_the_shared_entry(
    one_step_a_tick: None,
    request_of: Callable[[FakeCluster], ChangeRequest],
    when: Callable[[RolloutState], bool],
    device_class: str,
) -> None:
    cluster = overridden(ALL)
    run = Run(cluster)
    run.start(request_of(cluster))
    run.until(when)
    # It started with what was there before.
    shared = cluster.store.pop((ALL, OPTION), None)
    cluster.store[ALL, OPTION] = OLD
    cluster.add_osd(FakeOsd(7, 'node7', device_class=device_class))
    del cluster.store[ALL, OPTION]
    if shared is not None:
        cluster.store[ALL, OPTION] = shared
    state = run.run_to_end()
    assert state.outcome is Outcome.DONE
    kept = 'the entries of single OSDs are kept: the entry of osd would also change osd.7'
    assert kept in (state.failure or '')
    target = dict(state.request.targets)[0]
    assert cluster.entries_of() == {ALL: OLD, **{f'osd.{n}': target for n in range(3)}}
    assert [restarted(run, n) for n in (0, 1, 2, 7)] == [target, target, target, OLD]
    run.roll_back()
    assert cluster.entries_of() == {ALL: OLD}
    assert run.running == [OLD] * 4


def test_rollback_does_not_restart_a_recreated_osd(run: Run) -> None:
    run.start()
    run.run_to_end()
    recreated = run.cluster.recreate(1, 'hdd')
    boots = recreated.boots
    state = run.roll_back()
    assert state.osds[1].step is LEFT
    assert 'left behind: osd.1 was removed and recreated' in (state.failure or '')
    assert recreated.boots == boots
    assert [run.cluster.runs(n) for n in (0, 2)] == [DEFAULT] * 2
    assert state.phase is Phase.ROLLED_BACK


def test_map_is_scanned_once_for_all_absent_osds_and_steps() -> None:
    """With 10,000 OSDs, a scan for each of them took seconds of every step."""
    times = 0

    class Counted(tuple[OsdInfo, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[OsdInfo]:
            nonlocal times
            times += 1
            return super().__iter__()

    cluster = FakeCluster(6)
    cluster.mark_out(2)
    cluster.purge(4)
    seen = cluster.cluster_map()
    seen = replace(seen, osds=Counted(seen.osds))
    for _ in range(2):
        assert absent_of(seen, range(6)) == (2, 4)
        # One index of all OSDs, and one of those that are down and out.
        assert times == 2
    assert absent_of(replace(seen, osds=()), range(6)) == ()


@pytest.mark.parametrize(
    ('uuid', 'head'),
    [
        ('AB-12-CD-34', 'ab12cd'),
        ('ab12c', None),
        ('ab12cd', 'ab12cd'),
        ('ab12cg00', None),
        ('000000ff', None),
        ('000001ff', '000001'),
    ],
)
def test_first_digits_of_a_uuid_are_stored(uuid: str, head: Optional[str]) -> None:
    assert uuid_head(uuid) == head
