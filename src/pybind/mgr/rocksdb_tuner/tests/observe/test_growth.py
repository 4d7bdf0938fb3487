"""When a DB device will be full: an interval where history carries one, and silence elsewhere."""

from __future__ import annotations

import random
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.observe.trend import (
    MIN_HISTORY_S,
    MIN_POINTS,
    POINTS,
    SPACING_S,
    Forecast,
    GrowthHistory,
    Outlook,
    forecast,
    theil_sen,
)

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
        grown.add(time_s, int(gib * GIB), 100 * GIB, 0)
    assert grown.forecast is not None
    return grown.forecast


def test_steady_growth_is_forecast_to_the_hour() -> None:
    found = history(3, gib_per_day=10)
    assert found.outlook is Outlook.FILLING
    assert found.growth_bytes_per_day == pytest.approx(10 * GIB, rel=1e-6)
    assert found.full_in_s == pytest.approx(6 * DAY_S, rel=1e-3)


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


def test_compaction_sawtooth_is_no_growth() -> None:
    grown = GrowthHistory()
    for step in range(POINTS):
        grown.add(step * SPACING_S, (10 + step % 6) * GIB, 100 * GIB, 0)
    assert grown.forecast is not None
    assert grown.forecast.outlook is Outlook.NOT_GROWING
    assert grown.forecast.full_in_s is None


def test_single_jump_is_no_trend() -> None:
    used = [10 * GIB] * 24 + [40 * GIB] + [10 * GIB] * 24
    times = [step * SPACING_S for step in range(len(used))]
    assert forecast(times, used, 100 * GIB, 0).outlook is Outlook.NOT_GROWING


@pytest.mark.parametrize('days', [0.1, 0.3, 2.9])
def test_short_history_is_reported(days: float) -> None:
    """An ingest of 6.5 hours was forecast to fill a device in 5 days."""
    found = history(days, gib_per_day=20)
    assert found.outlook is Outlook.NOT_ENOUGH_HISTORY
    assert found.growth_bytes_per_day is None
    assert found.full_in_s is None


def test_shortest_history_with_a_forecast() -> None:
    points = max(MIN_POINTS, int(MIN_HISTORY_S / SPACING_S) + 1)
    assert history((points - 1) * SPACING_S / DAY_S, gib_per_day=20).outlook is Outlook.FILLING


def test_slow_growth_gives_no_date() -> None:
    found = history(3, gib_per_day=0.1)
    assert found.outlook is Outlook.BEYOND_HORIZON
    assert found.growth_bytes_per_day == pytest.approx(0.1 * GIB, rel=1e-3)
    assert found.full_in_s is None


def test_device_that_spilled_has_no_forecast() -> None:
    assert forecast([0.0], [GIB], GIB, slow_used_bytes=1).outlook is Outlook.SPILLED


def test_full_device_is_full_now() -> None:
    assert history(3, gib_per_day=10, used=92).full_in_s == 0.0


def test_device_change_or_clock_set_back_ends_the_history() -> None:
    grown = GrowthHistory()
    for step in range(POINTS):
        grown.add(step * SPACING_S, step * GIB, 100 * GIB, 0)
    grown.add(POINTS * SPACING_S, 50 * GIB, 200 * GIB, 0)
    assert _points(grown) == 1
    grown.add(0.0, 50 * GIB, 200 * GIB, 0)
    assert _points(grown) == 1


def _points(grown: GrowthHistory) -> Optional[int]:
    return grown.forecast.points if grown.forecast else None


def test_samples_of_a_week_keep_a_bounded_number_of_points() -> None:
    grown = GrowthHistory()
    for step in range(8640 * 7):
        grown.add(step * 10.0, GIB + step, 100 * GIB, 0, stagger_s=111.0)
    assert _points(grown) == POINTS


def test_neighbors_are_computed_at_different_times() -> None:
    def reckoned_s(stagger_s: float) -> list[float]:
        grown, seen, before = GrowthHistory(), [], None
        for step in range(400):
            grown.add(step * 10.0, GIB + step, 100 * GIB, 0, stagger_s)
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
    found = forecast(times, values, 10**13, 0)
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
