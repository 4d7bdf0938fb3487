"""Forecast of when a DB device is full. Pure.

The slope is the Theil-Sen estimator: the median of the slopes between all pairs of points. It is
robust against the sawtooth of compaction and against a single jump. The interval is from P. K. Sen,
Estimates of the Regression Coefficient Based on Kendall's Tau, 1968.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from enum import Enum
from statistics import median
from typing import NamedTuple, Optional

from .packed import appended

#: Spacing and number of points in the history: three and a half days.
SPACING_S = 5400.0
POINTS = 57
#: Minimum for a forecast: an ingest of some hours, or of one day of the week, is no trend.
MIN_POINTS = 12
MIN_HISTORY_S = 3 * 86400.0
#: Maximum forecast relative to the length of the history.
HORIZON = 30.0
#: Quantile of the standard normal distribution for a 90% interval.
_Z_90_PERCENT = 1.645
_DAY_S = 86400.0


class Outlook(str, Enum):
    """State of a DB device."""

    NOT_ENOUGH_HISTORY = 'not-enough-history'
    #: No significant growth.
    NOT_GROWING = 'not-growing'
    #: It grows too slowly for a forecast from this history.
    BEYOND_HORIZON = 'beyond-horizon'
    FILLING = 'filling'
    #: Data has already spilled over to the slow device.
    SPILLED = 'spilled'


@dataclass(frozen=True)
class Forecast:
    """Forecast for the DB device of one OSD.

    Spillover starts when the device is full, at the latest. Times are seconds from ``time_s``.
    """

    outlook: Outlook
    time_s: float
    history_s: float
    points: int
    #: Median slope and its interval (90%).
    growth_bytes_per_day: Optional[float] = None
    growth_low_bytes_per_day: Optional[float] = None
    growth_high_bytes_per_day: Optional[float] = None
    #: Only with `Outlook.FILLING`: by the median slope, earliest and latest.
    full_in_s: Optional[float] = None
    full_earliest_s: Optional[float] = None
    full_latest_s: Optional[float] = None


@dataclass(frozen=True)
class GrowthPoints:
    """The points of a history, oldest first, and the device at the last point."""

    times_s: tuple[float, ...]
    used_bytes: tuple[int, ...]
    total_bytes: int
    slow_used_bytes: int

    def forecast(self) -> Forecast:
        return forecast(
            list(self.times_s), list(self.used_bytes), self.total_bytes, self.slow_used_bytes
        )


class KeptGrowth(NamedTuple):
    """The same in compact form; the arrays are never modified."""

    times_s: array[float]
    used_bytes: array[int]
    total_bytes: int
    slow_used_bytes: int

    @property
    def points(self) -> Optional[GrowthPoints]:
        """None before the first point."""
        if not self.times_s:
            return None
        return GrowthPoints(
            tuple(self.times_s), tuple(self.used_bytes), self.total_bytes, self.slow_used_bytes
        )


class GrowthHistory:
    """Used bytes of one DB device over some days, in 0.9 KiB.

    It survives OSD restarts, which do not change the contents of the device.
    """

    __slots__ = ('_forecast', '_kept')

    def __init__(self) -> None:
        self._kept = KeptGrowth(array('d'), array('Q'), 0, 0)
        self._forecast: Optional[Forecast] = None

    @property
    def forecast(self) -> Optional[Forecast]:
        """The newest one; None before the first point."""
        return self._forecast

    @property
    def kept(self) -> KeptGrowth:
        """The points of the forecast, immutable."""
        return self._kept

    @property
    def points(self) -> Optional[GrowthPoints]:
        """The same as `GrowthPoints`; None before the first point."""
        return self._kept.points

    def add(
        self,
        time_s: float,
        used_bytes: int,
        total_bytes: int,
        slow_used_bytes: int,
        stagger_s: float = 0.0,
    ) -> None:
        """Add a point if the last one is old enough.

        ``stagger_s`` spreads the forecasts of all OSDs over several ticks.
        """
        kept = self._kept
        if total_bytes != kept.total_bytes or (kept.times_s and time_s < kept.times_s[-1]):
            # Another device, or the clock went backwards: start over.
            self.clear()
            kept = self._kept = self._kept._replace(total_bytes=total_bytes)
        if kept.times_s and not self._is_due(time_s, stagger_s):
            return
        times_s = appended(kept.times_s, time_s, POINTS)
        used = appended(kept.used_bytes, used_bytes, POINTS)
        self._kept = KeptGrowth(times_s, used, total_bytes, slow_used_bytes)
        self._forecast = forecast(list(times_s), list(used), total_bytes, slow_used_bytes)

    def clear(self) -> None:
        """Forget everything."""
        self._kept = self._kept._replace(times_s=array('d'), used_bytes=array('Q'))
        self._forecast = None

    def _is_due(self, time_s: float, stagger_s: float) -> bool:
        slot = math.floor((time_s + stagger_s) / SPACING_S)
        return slot != math.floor((self._kept.times_s[-1] + stagger_s) / SPACING_S)


def forecast(
    times_s: list[float], used_bytes: list[int], total_bytes: int, slow_used_bytes: int
) -> Forecast:
    """Forecast from at least one point, oldest first."""
    now_s, points = times_s[-1], len(times_s)
    history_s = now_s - times_s[0]
    if slow_used_bytes > 0:
        return Forecast(Outlook.SPILLED, now_s, history_s, points)
    if points < MIN_POINTS or history_s < MIN_HISTORY_S:
        return Forecast(Outlook.NOT_ENOUGH_HISTORY, now_s, history_s, points)
    slope, low, high = theil_sen(times_s, used_bytes)
    growth = (slope * _DAY_S, low * _DAY_S, high * _DAY_S)
    if low <= 0:
        return Forecast(Outlook.NOT_GROWING, now_s, history_s, points, *growth)

    def full_in_s(by_slope: float) -> float:
        # From the fitted line, since the last point can be a peak before a compaction.
        return max(0.0, total_bytes - _level_now(times_s, used_bytes, by_slope)) / by_slope

    if full_in_s(slope) > HORIZON * history_s:
        return Forecast(Outlook.BEYOND_HORIZON, now_s, history_s, points, *growth)
    return Forecast(
        Outlook.FILLING,
        now_s,
        history_s,
        points,
        *growth,
        full_in_s=full_in_s(slope),
        full_earliest_s=full_in_s(high),
        full_latest_s=full_in_s(low),
    )


def theil_sen(times_s: list[float], values: list[int]) -> tuple[float, float, float]:
    """(slope, lower bound, upper bound) per second; at least two points, times ascending."""
    n = len(times_s)
    slopes = sorted(
        (values[j] - values[i]) / (times_s[j] - times_s[i]) for i in range(n) for j in range(i)
    )
    pairs = len(slopes)
    middle = pairs // 2
    slope = slopes[middle] if pairs % 2 else (slopes[middle - 1] + slopes[middle]) / 2
    spread = _Z_90_PERCENT * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    lower = max(0, math.floor((pairs - spread) / 2))
    upper = min(pairs - 1, math.ceil((pairs + spread) / 2))
    return slope, slopes[lower], slopes[upper]


def _level_now(times_s: list[float], values: list[int], slope: float) -> float:
    """Value of the median line of ``slope`` at the last point."""
    return median(value + slope * (times_s[-1] - time_s) for time_s, value in zip(times_s, values))
