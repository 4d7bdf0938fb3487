"""A compaction campaign: one OSD at a time, watched, and nothing started with a closed gate."""

from __future__ import annotations

import pytest

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.operations.compaction.records import CompactionStep
from rocksdb_tuner.operations.errors import OperationRefused
from rocksdb_tuner.operations.phases import Outcome, Phase

from .conftest import USED_BYTES, Run


def test_every_osd_is_compacted_once_in_order_and_freed_space_reported(run: Run) -> None:
    run.start()
    state = run.run_to_end()
    assert (state.stage, state.outcome, state.failure) == (Phase.DONE, Outcome.DONE, None)
    assert run.cluster.compactions.requested == [0, 1, 2, 3]
    assert run.cluster.compactions.most_at_once == 1
    assert state.used_bytes == (4 * USED_BYTES, 4 * int(USED_BYTES * 0.6))
    assert {osd.freed_bytes for osd in state.osds} == {USED_BYTES - int(USED_BYTES * 0.6)}
    assert run.ended == [state]
    assert run.cluster.progress == {}
    assert run.cluster.progress_ended == [('rocksdb_tuner-c1', None)]
    assert run.cluster.logged[-1][0].endswith('DB 400 MiB -> 240 MiB (-40%)')


def ever_together(run: Run) -> set[frozenset[int]]:
    """Which OSDs compacted at once, in a campaign of which two may."""
    run.start(parallel=2)
    together = set()
    while not run.state.ended:
        run.tick()
        together.add(frozenset(run.cluster.compactions.running()))
    return together


def test_parallel_compactions_stay_within_one_host_and_follow_the_first_osd(run: Run) -> None:
    assert {n for n in ever_together(run) if len(n) > 1} == {frozenset({2, 3})}


def test_parallel_compactions_stay_within_one_rack() -> None:
    run = Run(osds=6, per_host=1)
    for n, osd in run.cluster.osds.items():
        osd.domain = FailureDomain('rack', 'r1' if n < 3 else 'r2')
    together = {n for n in ever_together(run) if len(n) > 1}
    assert together == {frozenset(pair) for pair in ((1, 2), (3, 4))}


@pytest.mark.parametrize('flag', ['noout', 'nobackfill'])
def test_closed_gate_blocks_the_next_osd_and_is_named(run: Run, flag: str) -> None:
    run.start()
    run.until(lambda state: state.osds[0].step is CompactionStep.DONE)
    run.cluster.flags.add(flag)
    reported = list(run.cluster.compactions.requested)
    state = run.to_a_wait(flag)
    assert state.phase is Phase.WAITING
    for _ in range(100):
        run.tick()
    assert len(run.cluster.compactions.requested) <= len(reported) + 1
    assert run.cluster.compactions.running() == set()
    run.cluster.flags.clear()
    assert run.run_to_end().outcome is Outcome.DONE


def test_osd_that_never_reports_is_skipped_and_the_others_compact(run: Run) -> None:
    """Its guards cannot be evaluated; those of the others can, without it."""
    run.unmeasured = frozenset({1})
    run.start()
    run.to_a_wait('no current sample of client writes on osd.1')
    assert run.cluster.compactions.requested == []
    state = run.run_to_end()
    assert run.steps() == {0: 'done', 1: 'skipped', 2: 'done', 3: 'done'}
    assert state.outcome is Outcome.DONE


def test_slow_clients_block_the_next_osd_until_the_operator_resumes(
    run: Run,
) -> None:
    run.start()
    run.until(lambda state: bool(state.in_flight))
    run.latency_ms = 9.0
    state = run.to_a_wait('more than 1.5 times the baseline of 5.0 ms')
    assert run.cluster.compactions.requested == [0]
    assert state.osds[0].latency_ms == 9.0
    run.driver.resume(run.cluster.now_s)
    state = run.run_to_end()
    assert state.outcome is Outcome.DONE
    assert state.baseline_ms == 9.0


def test_abort_waits_for_the_running_compaction_and_ends(run: Run) -> None:
    run.start()
    run.until(lambda state: bool(state.in_flight))
    run.driver.abort('operator', run.cluster.now_s)
    assert not run.state.ended
    state = run.run_to_end()
    assert (state.stage, state.outcome) == (Phase.FAILED, Outcome.ABORTED)
    assert run.cluster.compactions.requested == [0]
    assert state.osds[0].step is CompactionStep.DONE
    assert 'aborted by operator' in (state.failure or '')


def test_mode_off_starts_nothing_more_within_a_tick(run: Run) -> None:
    run.start()
    run.until(lambda state: state.osds[0].step is CompactionStep.SETTLING)
    run.may_act = False
    for _ in range(100):
        run.tick()
    assert run.cluster.compactions.requested == [0]
    assert 'mode' in (run.state.paused_reason or '')
    run.may_act = True
    assert run.run_to_end().outcome is Outcome.DONE


@pytest.mark.parametrize('at', list(CompactionStep)[:4])
def test_manager_taking_over_only_watches_the_running_compaction(
    run: Run, at: CompactionStep
) -> None:
    run.start()
    run.until(lambda state: state.osds[1].step is at)
    run.fail_over()
    state = run.run_to_end()
    assert state.outcome is Outcome.DONE
    assert run.cluster.compactions.requested == [0, 1, 2, 3]
    assert run.cluster.compactions.most_at_once == 1


def test_request_lost_in_a_failover_is_repeated(run: Run) -> None:
    run.cluster.compactions.loses.add(0)
    run.start()
    run.until(lambda state: bool(state.in_flight))
    run.cluster.compactions.loses.clear()
    run.fail_over()
    assert run.run_to_end().outcome is Outcome.DONE
    assert run.cluster.compactions.requested == [0, 0, 1, 2, 3]


def test_osd_that_refuses_is_skipped_after_two_requests_with_its_answer(run: Run) -> None:
    run.cluster.compactions.refuses.add(1)
    run.start()
    state = run.run_to_end()
    assert run.cluster.compactions.requested == [0, 1, 1, 2, 3]
    assert state.osds[1].step is CompactionStep.SKIPPED
    assert 'did not start compacting after 2 requests (osd.1: no)' in (state.failure or '')


def test_osd_restarted_during_its_compaction_is_asked_again(run: Run) -> None:
    run.start()
    run.until(lambda state: bool(run.cluster.compactions.running()))
    run.cluster.restart_by_hand(0)
    state = run.run_to_end()
    assert state.outcome is Outcome.DONE
    assert run.cluster.compactions.requested == [0, 0, 1, 2, 3]


def test_commands_without_a_campaign_are_refused() -> None:
    run = Run()
    refused = 'no compaction campaign is under way'
    with pytest.raises(OperationRefused, match=refused):
        run.driver.pause('operator', 0.0)
    with pytest.raises(OperationRefused, match=refused):
        run.driver.resume(0.0)
    with pytest.raises(OperationRefused, match=refused):
        run.driver.abort('operator', 0.0)


def test_refusing_store_leaves_the_state_unchanged(run: Run) -> None:
    run.store.error = CommandError(30, 'read-only')
    with pytest.raises(OperationRefused, match='read-only'):
        run.start()
    assert run.driver.state is None
    run.store.error = None
    run.start()
    run.until(lambda state: state.stage is Phase.CANARY)
    run.store.error = CommandError(30, 'read-only')
    reported = list(run.cluster.compactions.requested)
    for _ in range(100):
        run.tick()
    assert run.cluster.compactions.requested == reported
    assert 'read-only' in run.driver.problems[0]
    run.store.error = None
    assert run.run_to_end().outcome is Outcome.DONE
