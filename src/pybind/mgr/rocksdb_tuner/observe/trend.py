"""Time series of the last hours in bounded memory: for charts only, never for a decision.

All OSDs are sampled in the same tick, so they share one list of times. An OSD takes `WIDTH`
two-byte numbers for each of `OSD_POINTS` times (1.1 KiB), a device class for each of
`CLASS_POINTS` (25 KiB). Written by the serve thread, read by others.

Forecast of when a DB device is full.

The slope is the Theil-Sen estimator: the median of the slopes between all pairs of points. It is
robust against the sawtooth of compaction and against a single jump. The interval is from P. K. Sen,
Estimates of the Regression Coefficient Based on Kendall's Tau, 1968.
"""

from __future__ import annotations

import math
import statistics
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from statistics import median
from threading import Lock
from typing import Annotated, Generic, NamedTuple, Optional, TypeVar

from ..notes import Amount, AsTime, Count, Named, Unbounded
from .history import UNKNOWN, appended, decode, encode
from .signals import Signals

#: Signals with a trend.
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
WIDTH = len(TREND_SIGNALS)
_values_of = attrgetter(*TREND_SIGNALS)
#: Minimum spacing of points; an OSD has an hour of them, a device class a day.
SPACING_OF_CHARTS_S = 60.0
OSD_POINTS = 60
CLASS_POINTS = 1440
#: Maximum number of device classes with a trend.
CLASSES_MAX = 32
#: A class shows the median of these over its OSDs, and the mean of all others.
_MEDIAN = frozenset({'kv_sync_ms', 'kv_sync_busy', 'commit_ms', 'db_write_amp'})
#: Known from a single report; all others need two.
_OF_ONE_REPORT = frozenset({'db_used_bytes'})
_OF_TWO_REPORTS = tuple(i for i, name in enumerate(TREND_SIGNALS) if name not in _OF_ONE_REPORT)

Key = TypeVar('Key')

_NOTHING_KNOWN = array('H', [UNKNOWN] * WIDTH)
#: One point: a number for each signal.
_Row = Sequence[Optional[float]]


class Trend(NamedTuple):
    """Time series of one OSD or device class; None: unknown at that time."""

    #: Seconds since the epoch, oldest first.
    times_s: tuple[float, ...]
    #: Values by signal. For a class: the median over its OSDs for times, shares and ratios, the
    #: mean for all others.
    values: Mapping[str, tuple[Optional[float], ...]]


class _Points(Generic[Key]):
    """Ring buffers of several keys with common times."""

    def __init__(self, points: int) -> None:
        self._points = points
        self._times_s: array[float] = array('d')
        self._next = 0
        self._rows: dict[Key, array[int]] = {}

    def due(self, time_s: float) -> bool:
        if not self._times_s:
            return True
        newest_s = self._times_s[self._next - 1]
        # If the clock went backwards, `add` starts over. Ticks jitter a little.
        return not 0 <= time_s - newest_s < 0.9 * SPACING_OF_CHARTS_S

    def add(self, time_s: float, rows: Mapping[Key, _Row]) -> None:
        if self._times_s and time_s < self._times_s[self._next - 1]:
            self.clear()
        if not self._times_s and not any(_has_rates(row) for row in rows.values()):
            # Right after startup no OSD has reported twice: an empty first point would only delay
            # the next one.
            return
        slot = self._next
        if len(self._times_s) < self._points:
            self._times_s.append(time_s)
        else:
            self._times_s[slot] = time_s
        self._next = (slot + 1) % self._points
        for key in rows:
            if key not in self._rows:
                self._rows[key] = _NOTHING_KNOWN * self._points
        begin, end = slot * WIDTH, (slot + 1) * WIDTH
        for key, kept in self._rows.items():
            kept[begin:end] = encode(rows[key]) if key in rows else _NOTHING_KNOWN

    def keep_only(self, keys: Iterable[Key]) -> None:
        gone = self._rows.keys() - set(keys)
        for key in gone:
            del self._rows[key]

    def clear(self) -> None:
        del self._times_s[:]
        self._rows.clear()
        self._next = 0

    def read(self, key: Key) -> Optional[Trend]:
        kept = self._rows.get(key)
        if kept is None:
            return None
        count = len(self._times_s)
        oldest = self._next if count == self._points else 0
        order = [(oldest + i) % self._points for i in range(count)]
        return Trend(
            tuple(self._times_s[slot] for slot in order),
            {
                name: tuple(decode(kept[slot * WIDTH + column]) for slot in order)
                for column, name in enumerate(TREND_SIGNALS)
            },
        )


class Trends:
    """The trends of a cluster; one thread writes, any thread may read."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._osds: _Points[int] = _Points(OSD_POINTS)
        self._classes: _Points[str] = _Points(CLASS_POINTS)

    def add(
        self,
        signals: Mapping[int, Signals],
        device_classes: Mapping[int, Optional[str]],
        time_s: float,
    ) -> None:
        """Add the newest signals if a point is due.

        ``device_classes`` covers all existing OSDs; the points of others are dropped.
        """
        osds_due, classes_due = self._osds.due(time_s), self._classes.due(time_s)
        if not (osds_due or classes_due):
            return
        rows: dict[int, _Row] = {n: _values_of(found) for n, found in signals.items()}
        with self._lock:
            if osds_due:
                self._osds.keep_only(device_classes)
                self._osds.add(time_s, rows)
            if classes_due:
                by_class: dict[str, list[_Row]] = {}
                for osd_id, row in rows.items():
                    name = device_classes.get(osd_id)
                    if name is not None:
                        by_class.setdefault(name, []).append(row)
                named = sorted(by_class)[:CLASSES_MAX]
                present = {name for name in device_classes.values() if name is not None}
                self._classes.keep_only(present)
                self._classes.add(time_s, {name: _together(by_class[name]) for name in named})

    def of_osd(self, osd_id: int) -> Optional[Trend]:
        """None for an OSD without samples, or before any OSD reported twice."""
        with self._lock:
            return self._osds.read(osd_id)

    def of_class(self, device_class: str) -> Optional[Trend]:
        """None for a class without samples, or before any OSD reported twice."""
        with self._lock:
            return self._classes.read(device_class)

    def clear(self) -> None:
        with self._lock:
            self._osds.clear()
            self._classes.clear()


def _has_rates(row: _Row) -> bool:
    values = (row[column] for column in _OF_TWO_REPORTS)
    return any(value is not None and math.isfinite(value) for value in values)


def _together(rows: Sequence[_Row]) -> _Row:
    """One row for the OSDs of a class, each signal over the OSDs that report it."""
    combined: list[Optional[float]] = []
    for column, name in enumerate(TREND_SIGNALS):
        values = (row[column] for row in rows)
        known = [value for value in values if value is not None and not math.isnan(value)]
        if not known:
            combined.append(None)
        else:
            combined.append(
                statistics.median(known) if name in _MEDIAN else math.fsum(known) / len(known)
            )
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
    #: No significant growth.
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
