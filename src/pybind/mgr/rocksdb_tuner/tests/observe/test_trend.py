"""Trends hold the last points of what was measured, no more, and never invent one."""

from __future__ import annotations

from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.observe.trend import (
    CLASS_POINTS,
    CLASSES_MAX,
    OSD_POINTS,
    SPACING_OF_CHARTS_S,
    TREND_SIGNALS,
    Trend,
    Trends,
)

LATER_S = SPACING_OF_CHARTS_S


def signals(osd_id: int, kv_sync_ms: Optional[float]) -> Signals:
    return Signals(osd_id, kv_sync_ms=kv_sync_ms, wal_bytes_per_s=kv_sync_ms)


def shown(found: Optional[Trend], signal: str = 'kv_sync_ms') -> list[Optional[float]]:
    """The numbers of the tests are whole ones up to 1,000: more precise than what is kept."""
    assert found is not None
    return [None if value is None else round(value) for value in found.values[signal]]


def add(trends: Trends, time_s: float, values: dict[int, Optional[float]]) -> None:
    found = {osd_id: signals(osd_id, value) for osd_id, value in values.items()}
    trends.add(found, dict.fromkeys(values, 'ssd'), time_s)


def test_all_points_of_an_osd_are_kept_in_order_with_gaps() -> None:
    trends = Trends()
    values: list[Optional[float]] = [1.0, None, 3.0]
    for step, value in enumerate(values):
        add(trends, 1000 + step * LATER_S, {0: value})
    found = trends.of_osd(0)
    assert found is not None
    assert list(found.times_s) == [1000, 1060, 1120]
    assert shown(found) == values
    assert list(found.values['db_used_bytes']) == [None] * 3
    assert tuple(found.values) == TREND_SIGNALS


def test_first_point_has_the_first_rates() -> None:
    """Nothing, OSDs without a class, then a report without rates do not put it off."""
    trends = Trends()
    trends.add({}, {}, 1000)
    trends.add({0: Signals(0, db_used_bytes=7)}, {0: None}, 1005)
    trends.add({0: Signals(0, db_used_bytes=7)}, {0: 'ssd'}, 1010)
    assert trends.of_osd(0) is None
    assert trends.of_class('ssd') is None
    add(trends, 1015, {0: 2.0})
    for found in (trends.of_osd(0), trends.of_class('ssd')):
        assert found is not None
        assert [*found.times_s] == [1015]
        assert shown(found) == [2]


def kept_of(steps: int, interval_s: float) -> list[int]:
    """The steps whose points an OSD keeps."""
    kept: list[int] = []
    for step in range(steps):
        if not kept or (step - kept[-1]) * interval_s >= 0.9 * LATER_S:
            kept = [*kept, step][-OSD_POINTS:]
    return kept


@given(
    st.integers(1, 6 * OSD_POINTS),
    st.integers(0, 2 * OSD_POINTS),
    st.sampled_from([30, 45, 60, 90]),
)
def test_the_ring_keeps_the_newest_points_whenever_an_osd_came(
    steps: int, came: int, interval_s: float
) -> None:
    trends = Trends()
    for step in range(steps):
        present = {0: float(step)} | ({1: float(step)} if step >= came else {})
        add(trends, step * interval_s, dict(present))
    found = trends.of_osd(0)
    assert found is not None
    kept = kept_of(steps, interval_s)
    assert found.times_s == tuple(step * interval_s for step in kept)
    assert shown(found) == [float(step) for step in kept]
    later = trends.of_osd(1)
    if kept[-1] >= came:
        assert later is not None
        expected = [float(step) if step >= came else None for step in kept]
        assert shown(later) == expected


@pytest.mark.parametrize('interval_s', [10.0, 30.0, 45.0, 60.0, 90.0])
def test_an_osd_has_a_point_in_each_minute_of_the_last_hour(interval_s: float) -> None:
    """Or with each sample, where those are rarer."""
    trends = Trends()
    for step in range(round(4 * 3600 / interval_s)):
        add(trends, step * interval_s, {0: float(step)})
    found = trends.of_osd(0)
    assert found is not None
    assert len(found.times_s) == OSD_POINTS
    apart_s = [b - a for a, b in zip(found.times_s, found.times_s[1:])]
    assert max(apart_s) < 2 * LATER_S
    assert found.times_s[-1] - found.times_s[0] >= 0.9 * 3600


def test_points_closer_than_the_spacing_are_skipped() -> None:
    trends = Trends()
    for step in range(10):
        add(trends, step * 20.0, {0: float(step)})
    found = trends.of_osd(0)
    assert found is not None
    assert found.times_s == (0, 60, 120, 180)


def test_class_has_the_median_of_times_and_the_mean_of_rates_of_known_osds() -> None:
    trends = Trends()
    add(trends, 0, {0: 1.0, 1: 2.0, 2: 9.0, 3: None})
    found = trends.of_class('ssd')
    assert found is not None
    assert shown(found) == [2.0]
    assert shown(found, 'wal_bytes_per_s') == [4.0]
    assert found.values['db_write_amp'] == (None,)


def test_class_has_a_longer_history_than_an_osd() -> None:
    assert CLASS_POINTS * SPACING_OF_CHARTS_S >= 24 * 3600
    assert OSD_POINTS * LATER_S >= 3600


def test_clock_set_back_restarts_the_trend() -> None:
    trends = Trends()
    add(trends, 1000, {0: 1.0})
    add(trends, 500, {0: 2.0})
    found = trends.of_osd(0)
    assert found is not None
    assert (found.times_s, shown(found)) == ((500,), [2.0])


def test_removed_osd_is_dropped_and_one_that_is_down_is_not() -> None:
    trends = Trends()
    add(trends, 0, {0: 1.0, 1: 1.0})
    trends.add({0: signals(0, 2.0)}, {0: 'ssd', 1: 'ssd'}, 60)
    down = trends.of_osd(1)
    assert down is not None
    assert shown(down) == [1.0, None]
    trends.add({0: signals(0, 2.0)}, {0: 'ssd'}, 120)
    assert trends.of_osd(1) is None


def test_memory_is_bounded_for_any_number_of_classes() -> None:
    trends = Trends()
    many = {i: f'class{i:03}' for i in range(CLASSES_MAX + 5)}
    trends.add({i: signals(i, 1.0) for i in many}, dict(many), 0)
    kept = [name for name in many.values() if trends.of_class(name) is not None]
    assert len(kept) == CLASSES_MAX


@pytest.mark.parametrize('bad', [float('inf'), float('nan')])
def test_nan_is_unknown(bad: float) -> None:
    trends = Trends()
    add(trends, 0, {0: 1.0})
    add(trends, LATER_S, {0: bad})
    found = trends.of_osd(0)
    assert found is not None
    assert shown(found) == [1.0, None]


def test_clearing_discards_everything() -> None:
    trends = Trends()
    add(trends, 0, {0: 1.0})
    trends.clear()
    assert trends.of_osd(0) is None
    assert trends.of_class('ssd') is None
