"""OSDs that are removed, or down and out, never make a rollout wait for ever."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from rocksdb_tuner.judge.records import Inconclusive, SoakPlan
from rocksdb_tuner.mgr.records import OsdInfo
from rocksdb_tuner.operations.gates import Away, absent_of
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import ALL, NEW, OLD, Run, overridden, set_profile

GONE, OUT = Away.GONE, Away.DOWN_AND_OUT


def at_step(run: Run, osd_id: int, *steps: OsdStep) -> None:
    run.until(lambda state: state.osds[osd_id].step in steps)


def away(run: Run, osd_id: int, how: Away) -> None:
    if how is GONE:
        run.cluster.purge(osd_id)
    else:
        run.cluster.mark_out(osd_id)


@pytest.fixture
def five() -> Run:
    return Run(overridden(ALL, osds=5))


@pytest.mark.parametrize('how', [GONE, OUT])
def test_absent_pending_osd_is_left_behind_and_the_others_continue(five: Run, how: Away) -> None:
    five.start(set_profile(five.cluster))
    at_step(five, 1, OsdStep.VERIFIED)
    away(five, 3, how)
    ended = five.run_to_end(within_s=1500)
    assert ended.outcome is Outcome.DONE
    assert ended.osds[3].step is OsdStep.LEFT_BEHIND
    assert [five.cluster.runs(n) for n in (0, 1, 2, 4)] == [NEW] * 4
    reported = f'left behind: osd.3 {how.value}'
    assert reported in (ended.failure or '')
    assert reported in (five.driver.history[-1].reason or '')
    # One that may return must not start with unchecked options.
    kept = {ALL: OLD, **{f'osd.{n}': NEW for n in (0, 1, 2, 4)}}
    assert five.cluster.entries_of() == ({ALL: NEW} if how is GONE else kept)


def test_osd_that_returns_before_its_turn_is_changed_with_the_others(five: Run) -> None:
    five.start(set_profile(five.cluster))
    at_step(five, 1, OsdStep.VERIFIED)
    away(five, 4, OUT)
    at_step(five, 2, OsdStep.VERIFIED)
    osd = five.cluster.osds[4]
    osd.broken, osd.in_cluster = False, True
    five.cluster.start_osd(4)
    ended = five.run_to_end()
    assert ended.failure is None
    assert {o.step for o in ended.osds} == {OsdStep.COLLAPSED}


@pytest.mark.parametrize('how', [GONE, OUT])
def test_absent_canary_ends_the_rollout_before_any_change(five: Run, how: Away) -> None:
    five.start(set_profile(five.cluster))
    away(five, 0, how)
    ended = five.run_to_end(within_s=1000)
    assert ended.outcome is Outcome.FAILED
    assert f'osd.0 {how.value}; it is the canary' in (ended.failure or '')
    assert 'nothing was changed' in (ended.failure or '')
    assert five.cluster.entries_of() == {ALL: OLD}


@pytest.mark.parametrize('step', [OsdStep.RESTARTING, OsdStep.CHECKING, OsdStep.SETTLING])
def test_osd_removed_during_its_change_loses_its_entry_and_the_others_continue(
    five: Run, step: OsdStep
) -> None:
    """A later OSD with this id must not inherit the entry."""
    five.start(set_profile(five.cluster))
    at_step(five, 2, step)
    five.cluster.purge(2)
    ended = five.run_to_end(within_s=1500)
    assert ended.outcome is Outcome.DONE
    assert ended.osds[2].step is OsdStep.LEFT_BEHIND
    assert five.cluster.entries_of() == {ALL: NEW}


def test_canary_removed_during_its_change_ends_the_rollout(five: Run) -> None:
    five.start(set_profile(five.cluster))
    at_step(five, 0, OsdStep.RESTARTING)
    five.cluster.purge(0)
    ended = five.run_to_end(within_s=600)
    assert ended.outcome is Outcome.FAILED
    assert 'osd.0 was removed from the cluster' in (ended.failure or '')
    assert five.cluster.entries_of() == {ALL: OLD}


@pytest.mark.parametrize('step', [OsdStep.RESTARTING, OsdStep.CHECKING, OsdStep.SETTLING])
@pytest.mark.parametrize('mode_off', [False, True])
def test_abort_ends_though_the_osd_in_flight_was_removed(
    five: Run, step: OsdStep, mode_off: bool
) -> None:
    five.start(set_profile(five.cluster))
    at_step(five, 1, step)
    five.cluster.purge(1)
    five.may_act = not mode_off
    five.driver.abort('client.a', five.cluster.now_s)
    ended = five.run_to_end(within_s=600)
    assert ended.outcome is Outcome.ABORTED
    assert 'osd.1' not in five.cluster.entries_of()
    assert 'the change stays on osd.0' in (ended.failure or '')


@pytest.mark.parametrize('how', [GONE, OUT])
def test_osd_absent_during_rollback_leaves_no_mixed_state(five: Run, how: Away) -> None:
    """It fails the change: all others go back, too."""
    five.start(set_profile(five.cluster))
    at_step(five, 2, OsdStep.RESTARTING)
    five.cluster.osds[2].broken = True
    five.until(lambda state: state.direction is Direction.RECOVER)
    away(five, 2, how)
    ended = five.run_to_end(within_s=4000)
    assert ended.outcome is Outcome.ROLLED_BACK
    assert five.cluster.entries_of() == {ALL: OLD}
    assert [five.cluster.runs(n) for n in (0, 1, 3, 4)] == [OLD] * 4
    assert 'left behind: osd.2' in (ended.failure or '')


@pytest.mark.parametrize('how', [GONE, OUT])
@pytest.mark.parametrize('orchestrated', [True, False])
def test_rollback_ends_without_an_absent_osd(five: Run, how: Away, orchestrated: bool) -> None:
    five.start(set_profile(five.cluster))
    at_step(five, 3, OsdStep.VERIFIED)
    away(five, 1, how)
    if not orchestrated:
        five.cluster.orchestrator_reason = 'No orchestrator configured'
    five.driver.rollback(None, 'client.a', five.cluster.now_s)
    for _ in range(2500):
        five.tick()
        reason = five.state.paused_reason or ''
        for n in (0, 2, 3, 4):
            if not orchestrated and f'restart osd.{n} next' in reason:
                five.cluster.restart_by_hand(n)
                five.cluster.advance(30)
        if five.state.ended:
            break
    assert five.state.outcome is Outcome.ROLLED_BACK
    assert five.cluster.entries_of() == {ALL: OLD}
    assert [five.cluster.runs(n) for n in (0, 2, 3, 4)] == [OLD] * 4


def test_removed_verified_osd_keeps_no_own_entry() -> None:
    run = Run(FakeCluster(4))
    run.cluster.osds[3].device_class = 'hdd'
    run.start(set_profile(run.cluster))
    at_step(run, 1, OsdStep.VERIFIED)
    run.cluster.purge(0)
    ended = run.run_to_end()
    assert ended.outcome is Outcome.DONE
    assert run.cluster.entries_of() == {'osd.1': NEW, 'osd.2': NEW}
    assert 'left behind: osd.0' in (ended.failure or '')


def test_previous_entry_is_restored_for_a_removed_osd() -> None:
    run = Run(FakeCluster(3))
    run.cluster.operator_sets('osd.2', OLD)
    request = set_profile(run.cluster, final_entries=(('osd.2', None), (ALL, NEW)))
    run.start(request)
    at_step(run, 2, OsdStep.RESTARTING)
    run.cluster.purge(2)
    run.run_to_end()
    assert run.cluster.entries_of() == {'osd.2': OLD, ALL: NEW}


BATCHES = SoakPlan(0.0, 240.0, Inconclusive.PROMOTE, SoakPlan(0.0, 240.0, Inconclusive.PROMOTE))


def soaked() -> Run:
    run = Run(overridden(ALL, osds=6))
    run.start(set_profile(run.cluster, batches=((0,), (1, 2), (3,), (4, 5))), BATCHES)
    return run


def test_purge_of_a_watched_osd_is_no_crash() -> None:
    run = soaked()
    run.until(lambda state: len(state.verdicts) == 1 and state.osds[2].step is OsdStep.VERIFIED)
    run.cluster.purge(2)
    ended = run.run_to_end()
    assert ended.outcome is Outcome.DONE
    assert ended.osds[2].step is OsdStep.LEFT_BEHIND
    assert len(ended.verdicts) == 4


def test_batches_after_an_absent_one_are_still_watched() -> None:
    run = soaked()
    run.until(lambda state: state.osds[1].step is OsdStep.VERIFIED)
    run.cluster.purge(3)
    ended = run.run_to_end()
    assert ended.outcome is Outcome.DONE
    assert len(ended.verdicts) == 4
    assert ended.batch_soaked_s == 0.0


def test_removal_of_an_unjudged_canary_ends_the_rollout() -> None:
    run = soaked()
    run.until(lambda state: state.stage is Phase.SOAKING)
    run.cluster.purge(0)
    ended = run.run_to_end()
    assert ended.outcome is Outcome.FAILED
    assert run.cluster.entries_of() == {ALL: OLD}


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
    assert absent_of(seen, range(6)) == (2, 4)
    # One index of all OSDs, and one of those that are down and out.
    assert times == 2
    assert absent_of(seen, range(6)) == (2, 4)
    assert times == 2
    assert absent_of(replace(seen, osds=()), range(6)) == ()


def test_nobody_is_left_behind_before_the_osd_map_is_read(five: Run) -> None:
    five.start(set_profile(five.cluster))
    at_step(five, 1, OsdStep.VERIFIED)
    osds, five.cluster.osds = five.cluster.osds, {}
    for _ in range(60):
        five.tick()
    five.cluster.osds = osds
    ended = five.run_to_end()
    assert ended.failure is None
    assert ended.outcome is Outcome.DONE
