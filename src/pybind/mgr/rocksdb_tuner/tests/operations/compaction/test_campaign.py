"""A compaction campaign: one OSD at a time, watched, and nothing started with a closed gate."""

from __future__ import annotations

import pytest

from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.operations.compaction.records import CompactionStep
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


def test_osd_that_never_reports_is_skipped_and_the_others_compact(run: Run) -> None:
    """Its guards cannot be evaluated; those of the others can, without it."""
    run.unmeasured = frozenset({1})
    run.start()
    run.to_a_wait('no current sample of client writes on osd.1')
    assert run.cluster.compactions.requested == []
    state = run.run_to_end()
    assert run.steps() == {0: 'done', 1: 'skipped', 2: 'done', 3: 'done'}
    assert state.outcome is Outcome.DONE


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
