"""The operator's daily limit of restarts: it counts all rollouts, outlives managers, and waits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.operations.rollout.storage import (
    CLOCK,
    CURRENT,
    DAY_S,
    ClockState,
    PersistentClock,
    RolloutStorage,
)
from rocksdb_tuner.tests.fake_cluster import FakeStore
from rocksdb_tuner.tests.store.as_text import as_text

from .conftest import NEW, OLD, Run, refusing, set_profile

NOW_S = 1_700_000_000.0


def clock_with(now_s: float, *restarts: float) -> PersistentClock:
    storage = RolloutStorage(FakeStore())
    storage.store.set(CLOCK, as_text(ClockState(now_s, restarts=restarts)))
    clock = PersistentClock(storage)
    clock.load()
    return clock


def test_reached_limit_names_the_option_and_the_next_possible_time() -> None:
    clock = clock_with(8000.0, 800.0, 4400.0)
    assert clock.limit_reason(0, NOW_S) is None
    assert clock.limit_reason(3, NOW_S) is None
    limit_reason = 'restarts_per_day (2) is exhausted until 2023-11-15T20:13:20Z'
    assert clock.limit_reason(2, NOW_S) == limit_reason
    limit_reason = 'restarts_per_day (1) is exhausted until 2023-11-15T21:13:20Z'
    assert clock.limit_reason(1, NOW_S) == limit_reason
    assert (clock.limit_reason(1, 1e300) or '').endswith('until -')


def test_restart_counts_for_a_day_to_the_second() -> None:
    clock = clock_with(5.0, 0.0, 1.0)
    clock.update(0.0)
    clock.update(DAY_S - 5.5)
    assert clock.limit_reason(2, NOW_S) is not None
    clock.update(DAY_S - 5.0)
    assert clock.limit_reason(2, NOW_S) is None
    assert clock.limit_reason(1, NOW_S) is not None
    clock.update(DAY_S - 4.0)
    assert clock.limit_reason(1, NOW_S) is None


def test_time_since_the_last_rollout_is_the_uptime_of_managers(run: Run) -> None:
    run.start()
    run.run_to_end()
    assert run.driver.time.since_end_s == 0.0
    run.clock_offset_s = DAY_S
    run.tick()
    run.tick()
    run.cluster.now_s += 3600.0
    run.tick()
    assert run.driver.time.since_end_s == pytest.approx(3604.0, abs=5.0)
    run.cluster.now_s += DAY_S
    run.fail_over()
    run.tick()
    assert run.driver.time.since_end_s == pytest.approx(3604.0, abs=5.0)


def test_end_of_any_operation_counts(run: Run) -> None:
    """A campaign that ended after the rollout, also if its time was lost with its manager."""
    run.start()
    run.run_to_end()
    run.cluster.now_s += DAY_S
    run.tick()
    record = replace(run.driver.history[0], rollout_id='c2')
    run.driver.add_record(record)
    assert (run.driver.time.ended_id, run.driver.time.since_end_s) == ('c2', 0.0)
    run.tick()
    run.cluster.now_s += 600.0
    run.tick()
    waited_s = run.driver.time.since_end_s
    assert waited_s is not None
    assert waited_s >= 600.0
    # Recorded again, as an experiment whose winner could not be stored.
    run.driver.add_record(record)
    assert run.driver.time.since_end_s == waited_s
    run.fail_over()
    run.tick()
    assert run.driver.time.ended_id == 'c2'
    assert (run.driver.time.since_end_s or 0.0) >= 600.0
    del run.store.values[CLOCK]
    run.fail_over()
    run.tick()
    assert (run.driver.time.ended_id, run.driver.time.since_end_s) == ('c2', 0.0)


def test_lost_state_of_the_last_rollout_is_reported(run: Run) -> None:
    run.start()
    run.run_to_end()
    assert run.driver.broken == ()
    del run.store.values[CURRENT]
    run.fail_over()
    reported = '; '.join(run.driver.broken)
    assert 'the stored state of the last rollout in the history is lost' in reported


def test_limit_applies_across_rollouts_and_managers_and_not_to_rollbacks(run: Run) -> None:
    run.restarts_per_day = 4
    run.start()
    run.run_to_end()
    run.fail_over()
    run.start(set_profile(run.cluster, OLD, recommendation_id='other'))
    state = run.to_a_wait('restarts_per_day (4) is exhausted until')
    assert [osd.step.value for osd in state.osds] == ['verified', 'pending', 'pending']
    run.fail_over()
    for _ in range(50):
        run.tick()
    assert run.state.phase is Phase.WAITING
    # The change is rolled back at once, though the daily limit is reached.
    run.driver.rollback(None, 'client.a', run.cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert run.cluster.runs(0) == NEW


def test_unreadable_count_is_quarantined_and_reported(run: Run) -> None:
    run.store.values[CLOCK] = '{}'
    run.fail_over()
    assert any('rollout/clock' in problem for problem in run.driver.problems)
    run.start()
    assert run.run_to_end().phase is Phase.DONE


def test_count_that_cannot_be_stored_blocks_no_restart(run: Run) -> None:
    """The state was stored just before: an OSD that waits for its restart is worse off."""
    run.start()
    keep = run.store.set

    def refuse(key: str, value: str | None) -> None:
        if key == CLOCK:
            raise refusing('no space')
        keep(key, value)

    run.store.set = refuse  # type: ignore[method-assign]
    assert run.run_to_end().phase is Phase.DONE
