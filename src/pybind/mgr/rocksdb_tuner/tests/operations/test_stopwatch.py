"""How time is counted by what one manager saw, and a day of restarts by that."""

from __future__ import annotations

import pytest

from rocksdb_tuner.operations.reported import (
    GAP_MAX_S,
    RecentChanges,
    SteadyClock,
    Stopwatch,
)
from rocksdb_tuner.operations.rollout.storage import DAY_S, Restart, RestartLog


def test_steady_clock_continues_from_the_stored_value_and_never_goes_back() -> None:
    clock = SteadyClock(100.0)
    assert clock.now_s == 100.0
    seen = [clock.update(at_s) for at_s in (5000.0, 5002.5, 4000.0, 4001.0, 90000.0)]
    assert seen == [100.0, 102.5, 102.5, 103.5, 86102.5]
    assert clock.now_s == seen[-1]
    assert SteadyClock().update(7.0) == 0.0


@pytest.mark.parametrize(
    ('step_s', 'counted_s'), [(29.0, 29.0), (30.0, 30.0), (31.0, 30.0), (1e6, 30.0), (-5.0, 0.0)]
)
def test_at_most_half_a_minute_counts_between_two_samples(step_s: float, counted_s: float) -> None:
    watch = Stopwatch()
    assert watch.update('a', 1000.0) == 0.0
    assert watch.update('a', 1000.0 + step_s) == counted_s
    assert watch.update('a', 1001.0 + step_s) == counted_s + 1.0
    assert watch.update('b', 1002.0 + step_s) == 0.0
    assert watch.update('a', 1003.0 + step_s) == 0.0


def test_none_is_a_valid_key() -> None:
    watch = Stopwatch()
    assert [watch.update(None, at_s) for at_s in (10.0, 14.0)] == [0.0, 4.0]


def test_restart_counts_for_a_day_to_the_second() -> None:
    log = RestartLog((Restart(1.0, 0.0), Restart(2.0, 1.0)))
    assert log.pruned(86399.5).restarts == log.restarts
    assert log.pruned(86400.0).restarts == log.restarts[1:]
    assert log.pruned(86401.0).restarts == ()


def test_restarts_are_in_order_and_none_is_in_the_future() -> None:
    stored = (Restart(1.0, 500.0), Restart(2.0, None), Restart(3.0, 0.0), Restart(4.0, 900.0))
    log = RestartLog(stored).pruned(600.0)
    assert log.restarts == (
        Restart(3.0, 0.0),
        Restart(1.0, 500.0),
        Restart(2.0, 600.0),
        Restart(4.0, 600.0),
    )
    early = RestartLog((Restart(1.0, 0.5), Restart(2.0, 0.0)))
    assert early.pruned(600.0).restarts == early.restarts[::-1]
    assert log.with_restart(9.0, 700.0).restarts == (*log.restarts, Restart(9.0, 700.0))


@pytest.mark.parametrize(
    ('per_day', 'until'),
    [(-1, None), (0, None), (1, '1970-01-02T00:01:40Z'), (2, '1970-01-02T00:00:30Z'), (3, None)],
)
def test_limit_is_reached_until_the_oldest_counted_restart_is_a_day_old(
    per_day: int, until: str
) -> None:
    log = RestartLog((Restart(0.0, 1030.0), Restart(0.0, 1100.0)))
    reported = log.limit_reason(per_day, 200.0, 1200.0)
    assert reported == (until and f'restarts_per_day ({per_day}) is exhausted until {until}')


def test_unknown_time_is_a_day_from_now_or_not_named() -> None:
    unknown = RestartLog((Restart(0.0, None),))
    assert (unknown.limit_reason(1, 100.0, 5.0) or '').endswith('until 1970-01-02T00:01:40Z')
    assert (unknown.limit_reason(1, 1e300, 5.0) or '').endswith('until -')
    assert RestartLog((Restart(0.0, 10.0),)).pruned(10.0 + DAY_S).limit_reason(1, 0.0, 0.0) is None


def test_stopwatch_counts_while_nothing_changes() -> None:
    watch = Stopwatch()
    assert [watch.update('a', t) for t in (10.0, 12.0, 15.0)] == [0.0, 2.0, 5.0]
    assert [watch.update('b', t) for t in (16.0, 18.0)] == [0.0, 2.0]


def test_stopwatch_ignores_clock_jumps() -> None:
    watch = Stopwatch()
    watch.update('a', 100.0)
    assert watch.update('a', 50.0) == 0.0
    assert watch.update('a', 1e9) == GAP_MAX_S


def test_changed_value_is_recent_for_a_while_and_a_new_one_is_not() -> None:
    changes: RecentChanges[int] = RecentChanges()
    changes.update({1: 'a', 2: 'a'}, 100.0)
    assert changes.within(60.0) == frozenset()
    changes.update({1: 'a', 2: 'b', 3: 'c'}, 110.0)
    assert changes.within(60.0) == {2}
    # Unchanged, also where nothing was read again.
    changes.update(None, 125.0)
    assert changes.within(15.0) == frozenset()
    assert changes.within(15.1) == {2}
    # A value that was missing for a while is compared with the one before.
    changes.update({1: 'z'}, 130.0)
    changes.update({1: 'z', 2: 'b', 3: 'd'}, 131.0)
    assert changes.within(2.0) == {1, 3}


def test_clock_jump_does_not_age_a_change() -> None:
    changes: RecentChanges[int] = RecentChanges()
    for value, at_s in (('a', 0.0), ('b', 1.0)):
        changes.update({1: value}, at_s)
    changes.update(None, 1e9)
    assert changes.within(GAP_MAX_S) == frozenset()
    assert changes.within(GAP_MAX_S + 0.1) == {1}
