"""How time is counted by what one manager saw, and a day of restarts by that."""

from __future__ import annotations

import pytest

from rocksdb_tuner.operations.reported import (
    GAP_MAX_S,
    Stopwatch,
)
from rocksdb_tuner.operations.rollout.observer import RecentChanges


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


def test_stopwatch_ignores_clock_jumps() -> None:
    watch = Stopwatch()
    watch.update('a', 100.0)
    assert watch.update('a', 50.0) == 0.0
    assert watch.update('a', 1e9) == GAP_MAX_S


def test_changed_value_is_recent_for_a_while_and_a_new_one_is_not() -> None:
    changes: RecentChanges = RecentChanges()
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
    changes: RecentChanges = RecentChanges()
    for value, at_s in (('a', 0.0), ('b', 1.0)):
        changes.update({1: value}, at_s)
    changes.update(None, 1e9)
    assert changes.within(GAP_MAX_S) == frozenset()
    assert changes.within(GAP_MAX_S + 0.1) == {1}
