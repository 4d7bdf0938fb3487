"""Whether OSDs have reported since they changed, and how long one manager has seen something."""

from __future__ import annotations

from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.operations.reported import (
    GAP_MAX_S,
    MAP_S,
    TICK_S,
    ReportedSince,
    Stopwatch,
)
from rocksdb_tuner.operations.rollout.observer import RecentChanges
from rocksdb_tuner.tests.fake_cluster import MGR_TICK_S, FakeCluster


class Osds:
    def __init__(self, osds: int) -> None:
        self.last: dict[int, Optional[float]] = dict.fromkeys(range(osds), 1.0)
        self.reads = 0

    def report_times(self, osd_id: int) -> tuple[float, ...]:
        raise AssertionError

    def last_report_s(self, osd_id: int) -> Optional[float]:
        self.reads += 1
        return self.last[osd_id]


def test_every_osd_must_report_after_the_new_map_has_reached_it() -> None:
    osds, since = Osds(3), ReportedSince()
    assert not since.update(1, osds, range(3), 0.0)
    # Reports of this time may be of the map before.
    osds.last = dict.fromkeys(range(3), 2.0)
    assert not since.update(1, osds, range(3), MAP_S)
    osds.last.update({0: 9.0, 1: 9.0})
    assert not since.update(1, osds, range(3), 10.0)
    assert not since.update(1, osds, range(3), 30.0)
    # A clock that was set back is no reason to wait for an hour.
    osds.last[2] = 1.5
    assert not since.update(1, osds, range(3), 40.0)
    assert not since.update(1, osds, range(3), 40.0 + TICK_S - 0.1)
    assert since.update(1, osds, range(3), 40.0 + TICK_S)
    osds.reads = 0
    assert since.update(1, osds, range(3), 60.0)
    assert osds.reads == 0
    # Another change.
    assert not since.update(2, osds, range(3), 61.0)


def test_osd_that_went_down_is_not_waited_for_and_a_new_one_must_report_once() -> None:
    osds, since = Osds(3), ReportedSince()
    osds.last[1] = None
    since.update(1, osds, range(3), 0.0)
    since.update(1, osds, range(3), 5.0)
    osds.last[0] = 6.0
    since.update(1, osds, (0, 1), 7.0)
    assert not since.update(1, osds, (0, 1), 20.0)
    osds.last[1] = 21.0
    since.update(1, osds, (0, 1), 22.0)
    assert since.update(1, osds, (0, 1), 26.0)


def test_steps_of_one_tick_read_once() -> None:
    osds, since = Osds(3), ReportedSince()
    since.update(1, osds, range(3), 0.0)
    for _ in range(10):
        since.update(1, osds, range(3), 5.0)
    assert osds.reads == 3


@given(
    intervals_s=st.lists(st.sampled_from((5.0, 15.0, 36.0, 60.0, 75.0)), min_size=4, max_size=4),
    step_s=st.sampled_from((1.0, 2.0, 5.0)),
    recover_s=st.floats(0.0, 90.0),
)
def test_clean_as_reported_is_clean_in_truth(
    intervals_s: list[float], step_s: float, recover_s: float
) -> None:
    """Whenever OSDs change, and whatever happens to the interval of reports before and after."""
    cluster, since = FakeCluster(4), ReportedSince()
    cluster.recover_s = recover_s
    for number, interval_s in enumerate(intervals_s):
        cluster.pg_report_s = interval_s
        cluster.restart_by_hand(number)
        waited_s = 0.0
        while True:
            seen = cluster.cluster_map().osds
            up = [osd.osd_id for osd in seen if osd.up]
            changed = tuple((osd.up, osd.nonce) for osd in seen)
            reported = since.update(changed, cluster, up, cluster.now_s)
            pgs = cluster.pg_summary()
            if reported and len(up) == 4 and pgs.active_clean == pgs.total:
                assert cluster.clean
                break
            cluster.advance(step_s)
            waited_s += step_s
            # As soon as that can be known.
            longest_s = max(intervals_s[: number + 1]) + max(recover_s, MAP_S) + interval_s
            assert waited_s <= longest_s + TICK_S + MGR_TICK_S + 5 * step_s + 10.0


# -- how long something has lasted


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
