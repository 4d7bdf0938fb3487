"""Trends hold what was measured; forecasts of a full device have an interval or say nothing."""

from __future__ import annotations

import random
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.observe.trend import (
    CLASSES_MAX,
    OSD_POINTS,
    POINTS,
    SPACING_OF_CHARTS_S,
    SPACING_S,
    Forecast,
    GrowthHistory,
    GrowthPoints,
    Outlook,
    Trend,
    Trends,
    theil_sen,
)

LATER_S = SPACING_OF_CHARTS_S


def signals(osd_id: int, kv_sync_ms: Optional[float]) -> Signals:
    return Signals(osd_id, 30.0, kv_sync_ms=kv_sync_ms, wal_bytes_per_s=kv_sync_ms)


def shown(found: Optional[Trend], signal: str = 'kv_sync_ms') -> list[Optional[float]]:
    """The numbers of the tests are whole ones up to 1,000: more precise than what is kept."""
    assert found is not None
    return [None if value is None else round(value) for value in found.values[signal]]


def add(trends: Trends, time_s: float, values: dict[int, Optional[float]]) -> None:
    found = {osd_id: signals(osd_id, value) for osd_id, value in values.items()}
    trends.add(found, dict.fromkeys(values, 'ssd'), time_s)


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


def test_class_has_the_median_of_times_and_the_mean_of_rates_of_known_osds() -> None:
    trends = Trends()
    add(trends, 0, {0: 1.0, 1: 2.0, 2: 9.0, 3: None})
    found = trends.of_class('ssd')
    assert found is not None
    assert shown(found) == [2.0]
    assert shown(found, 'wal_bytes_per_s') == [4.0]
    assert found.values['db_write_amp'] == (None,)


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


GIB = 1 << 30
HOUR_S = 3600.0
DAY_S = 24 * HOUR_S


def history(
    days: float, gib_per_day: float, noise_gib: float = 0.0, used: int = 10, seed: int = 7
) -> Forecast:
    """A forecast for a device of 100 GiB after ``days`` of points."""
    dice, grown = random.Random(seed), GrowthHistory()
    per_day = int(DAY_S / SPACING_S)
    for step in range(int(days * per_day) + 1):
        time_s = 1e9 + step * SPACING_S
        gib = used + gib_per_day * step / per_day + dice.uniform(-noise_gib, noise_gib)
        grown = grown.added(time_s, int(gib * GIB), 100 * GIB, 0)
    assert grown.forecast is not None
    return grown.forecast


@pytest.mark.parametrize(
    ('days', 'gib_per_day', 'used', 'outlook', 'full_in_s'),
    [
        (3, 10, 10, Outlook.FILLING, 6 * DAY_S),
        # Full already
        (3, 10, 92, Outlook.FILLING, 0.0),
        (3, 0.1, 10, Outlook.BEYOND_HORIZON, None),
        # An ingest of 6.5 hours was forecast to fill a device in 5 days.
        (0.3, 20, 10, Outlook.NOT_ENOUGH_HISTORY, None),
        (2.9, 20, 10, Outlook.NOT_ENOUGH_HISTORY, None),
    ],
)
def test_only_steady_growth_of_days_has_a_date(
    days: float, gib_per_day: float, used: int, outlook: Outlook, full_in_s: Optional[float]
) -> None:
    found = history(days, gib_per_day, used=used)
    assert (found.outlook, found.full_in_s is None) == (outlook, full_in_s is None)
    assert (found.full_in_s or 0.0) == pytest.approx(full_in_s or 0.0, rel=1e-3)
    growth = 0.0 if outlook is Outlook.NOT_ENOUGH_HISTORY else gib_per_day * GIB
    assert (found.growth_bytes_per_day or 0.0) == pytest.approx(growth, rel=1e-3)


def test_interval_covers_the_truth_in_nine_of_ten_noisy_series() -> None:
    right = 0
    for seed in range(100):
        found = history(3, gib_per_day=10 / 3, noise_gib=2, seed=seed)
        assert found.full_earliest_s is not None
        assert found.full_in_s is not None
        assert found.full_latest_s is not None
        assert found.full_earliest_s < found.full_in_s < found.full_latest_s
        right += found.full_earliest_s <= 24 * DAY_S <= found.full_latest_s
    assert right >= 88


def test_compaction_sawtooth_is_no_growth_and_spillover_no_forecast() -> None:
    times_s = tuple(step * SPACING_S for step in range(POINTS))
    used = tuple((10 + step % 6) * GIB for step in range(POINTS))
    found = GrowthPoints(times_s, used, 100 * GIB, 0).forecast()
    assert (found.outlook, found.full_in_s) == (Outlook.NOT_GROWING, None)
    spilled = GrowthPoints(times_s, used, 100 * GIB, slow_used_bytes=1)
    assert spilled.forecast().outlook is Outlook.SPILLED


def test_device_change_or_clock_set_back_ends_a_history_of_bounded_length() -> None:
    """Samples of a week."""
    grown = GrowthHistory()
    for step in range(8640 * 7):
        grown = grown.added(step * 10.0, GIB + step, 100 * GIB, 0, stagger_s=111.0)
    kept = [grown]
    kept.append(grown.added(604800.0, 50 * GIB, 200 * GIB, 0))
    kept.append(kept[-1].added(0.0, 50 * GIB, 200 * GIB, 0))
    assert [one.forecast and one.forecast.points for one in kept] == [POINTS, 1, 1]


def test_neighbors_are_computed_at_different_times() -> None:
    def reckoned_s(stagger_s: float) -> list[float]:
        grown, seen, before = GrowthHistory(), [], None
        for step in range(400):
            grown = grown.added(step * 10.0, GIB + step, 100 * GIB, 0, stagger_s)
            if grown.forecast is not before:
                before = grown.forecast
                seen.append(step * 10.0)
        return seen[1:]

    assert not set(reckoned_s(0.0)) & set(reckoned_s(37.0))


@given(
    slope=st.integers(-1000, 1000),
    start=st.integers(0, 10**12),
    gaps=st.lists(st.integers(1, 7200), min_size=12, max_size=30),
)
def test_a_straight_line_is_found_exactly(slope: int, start: int, gaps: list[int]) -> None:
    times = [float(sum(gaps[:i])) for i in range(len(gaps))]
    values = [start + slope * int(t) for t in times]
    assert theil_sen(times, values) == (slope, slope, slope)


@given(values=st.lists(st.integers(0, 10**13), min_size=12, max_size=POINTS))
def test_whatever_was_used_the_interval_is_in_order_and_no_date_is_past(values: list[int]) -> None:
    times = [i * SPACING_S for i in range(len(values))]
    found = GrowthPoints(tuple(times), tuple(values), 10**13, 0).forecast()
    if found.growth_bytes_per_day is not None:
        assert found.growth_low_bytes_per_day is not None
        assert found.growth_high_bytes_per_day is not None
        assert found.growth_low_bytes_per_day <= found.growth_bytes_per_day
        assert found.growth_bytes_per_day <= found.growth_high_bytes_per_day
    if found.outlook is Outlook.FILLING:
        assert found.full_earliest_s is not None
        assert found.full_in_s is not None
        assert found.full_latest_s is not None
        assert 0 <= found.full_earliest_s <= found.full_in_s <= found.full_latest_s
    else:
        assert found.full_in_s is None
