"""A compaction campaign: one OSD at a time, watched, and nothing started with a closed gate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import ClusterMap, FailureDomain
from rocksdb_tuner.operations.compaction.records import CompactionStep
from rocksdb_tuner.operations.errors import OperationRefused
from rocksdb_tuner.operations.phases import Outcome, Phase

from .conftest import LIMITS, USED_BYTES, Run


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


def test_phases_match_those_of_a_rollout(run: Run) -> None:
    run.start()
    phases = [run.state.phase]
    while not run.state.ended:
        run.tick()
        if run.state.phase is not phases[-1]:
            phases.append(run.state.phase)
    # At first it waits for reports to this manager.
    reported = [Phase.PREFLIGHT, Phase.CANARY, Phase.PROMOTING, Phase.DONE]
    assert phases == [Phase.PREFLIGHT, Phase.WAITING, *reported]


def test_client_latency_is_sampled_before_the_first_compaction() -> None:
    run = Run()
    run.fail_over()
    began_s = run.cluster.now_s
    run.start()
    run.until(lambda state: bool(run.cluster.compactions.requested))
    assert run.cluster.now_s - began_s >= LIMITS.baseline_s
    assert run.state.baseline_ms == 5.0


def test_ticks_do_not_wait_for_a_compaction(run: Run) -> None:
    run.cluster.compactions.takes_s = 5000.0
    run.start()
    run.until(lambda state: bool(state.in_flight))
    for _ in range(1000):
        run.tick()
        assert run.cluster.tell_commands == []
    assert run.cluster.compactions.requested == [0]
    assert run.cluster.compactions.running() == {0}
    assert run.state.osds[0].step is CompactionStep.COMPACTING


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


@pytest.mark.parametrize('known', [True, False])
def test_no_parallel_compactions_if_failure_domains_are_single_osds_or_unknown(
    run: Run, known: bool
) -> None:
    cluster_map = run.cluster.cluster_map

    def elsewhere() -> ClusterMap:
        found = cluster_map()
        domains = [FailureDomain('osd', f'osd.{o.osd_id}') if known else None for o in found.osds]
        osds = (replace(o, failure_domain=domain) for o, domain in zip(found.osds, domains))
        return replace(found, osds=tuple(osds))

    run.cluster.cluster_map = elsewhere  # type: ignore[method-assign]
    run.start(parallel=2)
    while not run.state.ended:
        run.tick()
        assert len(run.cluster.compactions.running()) <= 1
    assert run.state.outcome is Outcome.DONE


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


def test_campaign_waits_if_no_osd_reports(run: Run) -> None:
    run.unmeasured = frozenset(run.cluster.osds)
    run.start()
    for _ in range(600):
        run.tick()
    assert set(run.steps().values()) == {'pending'}


def test_nothing_starts_outside_the_maintenance_window(run: Run) -> None:
    run.outside_window = 'outside the maintenance window'
    run.start()
    run.to_a_wait('maintenance window')
    assert run.cluster.compactions.requested == []


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


def test_missing_client_latency_blocks_nothing(run: Run) -> None:
    run.latency_ms = None
    run.start()
    state = run.run_to_end()
    assert (state.outcome, state.baseline_ms) == (Outcome.DONE, None)


def test_db_device_without_space_is_skipped_and_reported(run: Run) -> None:
    run.total_bytes.update({1: 2 * USED_BYTES - 1, 2: 2 * USED_BYTES})
    run.start()
    state = run.run_to_end()
    assert run.cluster.compactions.requested == [0, 2, 3]
    assert state.osds[1].step is CompactionStep.SKIPPED
    assert 'osd.1: its DB device has no room' in (state.failure or '')
    assert state.outcome is Outcome.DONE


def test_pause_lets_running_compactions_finish_and_starts_no_other(run: Run) -> None:
    run.start()
    run.until(lambda state: bool(state.in_flight))
    run.driver.pause('operator', run.cluster.now_s)
    run.until(lambda state: state.osds[0].step is CompactionStep.DONE)
    for _ in range(50):
        run.tick()
    assert run.state.phase is Phase.WAITING
    assert run.cluster.compactions.requested == [0]
    run.driver.resume(run.cluster.now_s)
    assert run.run_to_end().outcome is Outcome.DONE


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


def test_osd_that_stays_down_is_awaited_except_after_abort(run: Run) -> None:
    run.start()
    run.until(lambda state: bool(run.cluster.compactions.running()))
    run.cluster.stop_osd(0)
    run.to_a_wait('osd.0 is down')
    run.cluster.start_osd(0)
    assert run.run_to_end().outcome is Outcome.DONE


def test_foreign_compaction_is_awaited(run: Run) -> None:
    run.cluster.compactions.ask(0, 'compact')
    run.start()
    run.cluster.compactions.takes_s = 300.0
    run.cluster.compactions.ask(0, 'compact')
    state = run.run_to_end()
    assert state.outcome is Outcome.DONE
    assert run.cluster.compactions.most_at_once == 1


def test_campaign_without_a_compacted_osd_failed(run: Run) -> None:
    run.total_bytes = dict.fromkeys(run.cluster.osds, USED_BYTES)
    run.start()
    state = run.run_to_end()
    assert (state.stage, state.outcome) == (Phase.FAILED, Outcome.FAILED)
    assert run.cluster.progress_ended[0][1] is not None


def test_second_concurrent_campaign_is_refused(run: Run) -> None:
    run.start()
    with pytest.raises(OperationRefused, match='c1 is under way'):
        run.start()


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
