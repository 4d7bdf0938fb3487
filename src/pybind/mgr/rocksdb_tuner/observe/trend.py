"""Charts of the last hours, never for a decision, and the forecast of when a DB device is full.

An OSD takes a two-byte number for each of `TREND_SIGNALS` and each of `OSD_POINTS` times (1.1 KiB),
a device class for each of `CLASS_POINTS` (25 KiB). Written by the serve thread, read by others.

The slope is the Theil-Sen estimator: the median of the slopes between all pairs of points. It is
robust against the sawtooth of compaction and against a single jump. The interval is from P. K. Sen,
Estimates of the Regression Coefficient Based on Kendall's Tau, 1968.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from statistics import fmean, median
from threading import RLock
from typing import Annotated, NamedTuple, Optional

from ..notes import Amount, AsTime, Count, Named, Unbounded
from .load_history import Key, Series
from .signals import Signals

TREND_SIGNALS = (
    'kv_sync_ms',
    'kv_sync_busy',
    'commit_ms',
    'write_iops',
    'wal_bytes_per_s',
    'sst_bytes_per_s',
    'compaction_bytes_per_s',
    'db_write_amp',
    'db_used_bytes',
)
_values_of = attrgetter(*TREND_SIGNALS)
#: Minimum spacing of points; an OSD has an hour of them, a device class a day.
SPACING_OF_CHARTS_S = 60.0
OSD_POINTS = 60
CLASS_POINTS = 1440
CLASSES_MAX = 32
#: A class shows the median of these over its OSDs, and the mean of all others.
_MEDIAN = frozenset({'kv_sync_ms', 'kv_sync_busy', 'commit_ms', 'db_write_amp'})
_Row = Sequence[Optional[float]]


class Trend(NamedTuple):
    """Time series of one OSD or device class; None: unknown at that time."""

    times_s: tuple[float, ...]
    #: Values by signal. For a class: the median over its OSDs for times, shares and ratios, the
    #: mean for all others.
    values: Mapping[str, tuple[Optional[float], ...]]


class Trends:
    """The trends of a cluster; one thread writes, any thread may read."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._osds: Series[int] = Series(len(TREND_SIGNALS))
        self._classes: Series[str] = Series(len(TREND_SIGNALS))

    def add(
        self,
        signals: Mapping[int, Signals],
        device_classes: Mapping[int, Optional[str]],
        time_s: float,
    ) -> None:
        """Add the newest signals if a point is due.

        ``device_classes`` covers all existing OSDs; the points of others are dropped.
        """
        if not self._osds.due(time_s, SPACING_OF_CHARTS_S):
            return
        if not self._osds.times_s and not any(found.window_s for found in signals.values()):
            # Right after startup no OSD has reported twice: an empty first point would only delay
            # the next one.
            return
        rows: dict[int, _Row] = {n: _values_of(found) for n, found in signals.items()}
        by_class: dict[str, list[_Row]] = {}
        for osd_id, row in rows.items():
            name = device_classes.get(osd_id)
            if name is not None:
                by_class.setdefault(name, []).append(row)
        shown = {name: _together(by_class[name]) for name in sorted(by_class)[:CLASSES_MAX]}
        with self._lock:
            if self._osds.times_s and time_s < self._osds.times_s[-1]:
                # The clock went backwards.
                self.clear()
            self._osds.append(time_s, rows, OSD_POINTS)
            self._classes.append(time_s, shown, CLASS_POINTS)
            self._osds.keep_only(device_classes)
            self._classes.keep_only(set(device_classes.values()))

    def of_osd(self, osd_id: int) -> Optional[Trend]:
        """None for an OSD without samples, or before any OSD reported twice."""
        return self._read(self._osds, osd_id)

    def of_class(self, device_class: str) -> Optional[Trend]:
        """None for a class without samples, or before any OSD reported twice."""
        return self._read(self._classes, device_class)

    def _read(self, series: Series[Key], key: Key) -> Optional[Trend]:
        with self._lock:
            columns = series.read(key)
            if columns is None:
                return None
            return Trend(tuple(series.times_s), dict(zip(TREND_SIGNALS, columns)))

    def clear(self) -> None:
        with self._lock:
            self._osds.clear()
            self._classes.clear()


def _together(rows: Sequence[_Row]) -> _Row:
    """One row for the OSDs of a class, each signal over the OSDs that report it."""
    combined: list[Optional[float]] = []
    for name, values in zip(TREND_SIGNALS, zip(*rows)):
        known = [value for value in values if value is not None]
        middle = median if name in _MEDIAN else fmean
        combined.append(middle(known) if known else None)
    return combined


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
    NOT_GROWING = 'not-growing'
    #: It grows too slowly for a forecast from this history.
    BEYOND_HORIZON = 'beyond-horizon'
    FILLING = 'filling'
    #: Data has already spilled over to the slow device.
    SPILLED = 'spilled'


@dataclass(frozen=True)
class Forecast:
    """Forecast of a full DB device.

    Spillover starts when the device is full, at the latest. Times are seconds from ``time_s``.
    """

    outlook: Annotated[Outlook, 'Result of the forecast.']
    time_s: Annotated[
        float,
        Named('time'),
        AsTime(),
        'Time of the newest point, the start of the intervals below.',
    ]
    history_s: Annotated[Amount, Unbounded(), 'Length of the history, in seconds.']
    points: Annotated[Count, 'Number of points in the history.']
    growth_bytes_per_day: Annotated[Optional[float], 'Median growth.'] = None
    growth_low_bytes_per_day: Annotated[Optional[float], 'Lower end of its 90% interval.'] = None
    growth_high_bytes_per_day: Annotated[Optional[float], 'Upper end of its 90% interval.'] = None
    full_in_s: Annotated[
        Optional[Amount], 'Seconds until the device is full; null unless it is filling.'
    ] = None
    full_earliest_s: Annotated[Optional[Amount], 'Lower bound of full_in_s.'] = None
    full_latest_s: Annotated[Optional[Amount], 'Upper bound of full_in_s.'] = None


@dataclass(frozen=True)
class GrowthPoints:
    """The points of a history, oldest first, and the device at the last point."""

    times_s: tuple[float, ...]
    used_bytes: tuple[int, ...]
    total_bytes: int
    slow_used_bytes: int

    def forecast(self) -> Forecast:
        """From at least one point."""
        times_s, used_bytes = self.times_s, self.used_bytes
        so_far = (times_s[-1], times_s[-1] - times_s[0], len(times_s))
        if self.slow_used_bytes > 0:
            return Forecast(Outlook.SPILLED, *so_far)
        if len(times_s) < MIN_POINTS or so_far[1] < MIN_HISTORY_S:
            return Forecast(Outlook.NOT_ENOUGH_HISTORY, *so_far)
        slope, low, high = theil_sen(times_s, used_bytes)
        growth = (slope * _DAY_S, low * _DAY_S, high * _DAY_S)
        if low <= 0:
            return Forecast(Outlook.NOT_GROWING, *so_far, *growth)
        likely, earliest, latest = map(self._full_in_s, (slope, high, low))
        if likely > HORIZON * so_far[1]:
            return Forecast(Outlook.BEYOND_HORIZON, *so_far, *growth)
        return Forecast(Outlook.FILLING, *so_far, *growth, likely, earliest, latest)

    def _full_in_s(self, slope: float) -> float:
        # From the median line of that slope: the last point can be a peak before a compaction.
        used_now = median(
            used + slope * (self.times_s[-1] - time_s)
            for time_s, used in zip(self.times_s, self.used_bytes)
        )
        return max(0.0, self.total_bytes - used_now) / slope


class GrowthHistory(NamedTuple):
    """Used bytes of one DB device over some days, in 0.9 KiB.

    It survives OSD restarts, which do not change the contents of the device. The arrays are never
    modified: other threads read them.
    """

    times_s: array[float] = array('d')
    used_bytes: array[int] = array('Q')
    total_bytes: int = 0
    slow_used_bytes: int = 0
    #: The newest one; None before the first point.
    forecast: Optional[Forecast] = None

    @property
    def points(self) -> GrowthPoints:
        return GrowthPoints(
            tuple(self.times_s), tuple(self.used_bytes), self.total_bytes, self.slow_used_bytes
        )

    def added(
        self,
        time_s: float,
        used_bytes: int,
        total_bytes: int,
        slow_used_bytes: int,
        stagger_s: float = 0.0,
    ) -> GrowthHistory:
        """With a point if the last one is old enough.

        ``stagger_s`` spreads the forecasts of all OSDs over several ticks.
        """
        times_s, used = self.times_s, self.used_bytes
        slot = (time_s + stagger_s) // SPACING_S
        if total_bytes != self.total_bytes or (times_s and time_s < times_s[-1]):
            # Another device, or the clock went backwards: start over.
            times_s, used = array('d'), array('Q')
        elif times_s and (times_s[-1] + stagger_s) // SPACING_S == slot:
            return self
        # `append` would reserve space for more.
        times_s = times_s[-(POINTS - 1) :] + array('d', (time_s,))
        used = used[-(POINTS - 1) :] + array('Q', (used_bytes,))
        points = GrowthPoints(tuple(times_s), tuple(used), total_bytes, slow_used_bytes)
        return GrowthHistory(times_s, used, total_bytes, slow_used_bytes, points.forecast())


def theil_sen(times_s: Sequence[float], values: Sequence[int]) -> tuple[float, float, float]:
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
