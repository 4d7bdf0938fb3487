"""The operator's daily limit of restarts: it counts all rollouts, outlives managers, and waits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.rollout.record_codec import decode_restarts, encode_restarts
from rocksdb_tuner.rollout.records import Phase
from rocksdb_tuner.rollout.restart_log import DAY_S, RestartLog
from rocksdb_tuner.rollout.storage import RESTARTS

from .conftest import NEW, OLD, Run, refusing, set_profile

NOW_S = 1_700_000_000.0


def test_a_used_up_day_names_the_option_and_when_the_next_one_may_begin() -> None:
    log = RestartLog((NOW_S - 7200.0, NOW_S - 3600.0))
    assert log.used_up(0) is None
    assert log.used_up(3) is None
    assert log.used_up(2) == 'restarts_per_day (2) is used up until 2023-11-15T20:13:20Z'
    assert log.used_up(1) == 'restarts_per_day (1) is used up until 2023-11-15T21:13:20Z'


@given(st.lists(st.floats(0, 4e9)), st.floats(0, 4e9), st.integers(1, 5))
def test_whatever_the_clock_did_restarts_are_held_back_for_a_day_at_most(
    times_s: list[float], now_s: float, per_day: int
) -> None:
    log = RestartLog(tuple(times_s)).looked_at(now_s)
    assert all(now_s - DAY_S < at_s <= now_s for at_s in log.times_s)
    assert list(log.times_s) == sorted(log.times_s)
    assert log.looked_at(now_s + DAY_S + 1).used_up(per_day) is None


@given(st.lists(st.integers(0, 4_000_000_000)))
def test_what_was_stored_is_read_back(times_s: list[int]) -> None:
    log = RestartLog(tuple(map(float, times_s)))
    assert decode_restarts(encode_restarts(log)) == log


def test_the_limit_holds_over_rollouts_and_managers_and_lets_a_rollback_through(run: Run) -> None:
    run.restarts_per_day = 4
    run.start()
    run.to_the_end()
    run.fail_over()
    run.start(set_profile(run.cluster, OLD, recommendation_id='other'))
    state = run.to_a_wait('restarts_per_day (4) is used up until')
    assert [osd.step.value for osd in state.osds] == ['verified', 'pending', 'pending']
    run.fail_over()
    for _ in range(50):
        run.tick()
    assert run.state.phase is Phase.WAITING
    # What was changed goes back at once, though the day is used up.
    run.driver.rollback(None, 'client.a', run.cluster.now_s)
    assert run.to_the_end().phase is Phase.ROLLED_BACK
    assert run.cluster.runs(0) == NEW


def test_the_next_day_it_goes_on_by_itself(run: Run) -> None:
    run.restarts_per_day = 2
    run.start()
    run.to_a_wait('restarts_per_day')
    run.cluster.now_s += DAY_S
    assert run.to_the_end().phase is Phase.DONE


def test_a_limit_that_is_raised_or_removed_holds_nothing_back_any_more(run: Run) -> None:
    run.restarts_per_day = 1
    run.start()
    run.to_a_wait('restarts_per_day')
    run.restarts_per_day = 0
    assert run.to_the_end().phase is Phase.DONE


def test_a_count_that_cannot_be_read_is_set_aside_and_said(run: Run) -> None:
    run.store.values[RESTARTS] = '{}'
    run.fail_over()
    assert any('rollout/restarts' in problem for problem in run.driver.problems)
    run.start()
    assert run.to_the_end().phase is Phase.DONE


def test_a_count_that_cannot_be_stored_holds_up_no_restart(run: Run) -> None:
    """The state was stored just before: an OSD that waits for its restart is worse off."""
    run.start()
    keep = run.store.set

    def refuse(key: str, value: str | None) -> None:
        if key == RESTARTS:
            raise refusing('no space')
        keep(key, value)

    run.store.set = refuse  # type: ignore[method-assign]
    assert run.to_the_end().phase is Phase.DONE
