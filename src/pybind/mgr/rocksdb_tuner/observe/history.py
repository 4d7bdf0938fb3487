"""Bounded history of one OSD's samples, for a short and a long window.

The sampling interval: short enough to see a workload, long enough to spare the mgr.

Samples in a fifth of the memory, for those that are kept for long and seldom used.

Numbers that are not negative, in 16 bits: for histories that are read with noise anyway.

A code stands for a logarithm, so the error is a share of the number: up to 0.05%.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from sys import intern
from typing import NamedTuple, Optional, TypeVar, Union

from .report_interval import DEFAULT, ReportInterval
from .sample import Sample
from .window import Window, comparable, window

#: OSDs report every 5 s by default: sampling faster reads the same report twice.
MIN_INTERVAL_S = 5.0
DEFAULT_INTERVAL_S = 10.0
MAX_INTERVAL_S = 3600.0
#: Expected CPU time per OSD and tick before the first measurement.
EXPECTED_OSD_S = 150e-6
#: Maximum share of one core for sampling.
MAX_SHARE = 0.02


def choose_interval(osds: int, tick_s: Optional[float], configured_s: float) -> float:
    """Seconds between two samples of every OSD.

    ``tick_s``: CPU time of the last tick, None before the first. ``configured_s``: the operator's
    setting, 0 for automatic; expensive ticks stretch it too.
    """
    wished_s = configured_s if configured_s > 0 else DEFAULT_INTERVAL_S
    cost_s = tick_s if tick_s is not None else osds * EXPECTED_OSD_S
    return min(MAX_INTERVAL_S, max(MIN_INTERVAL_S, wished_s, cost_s / MAX_SHARE))


_Number = TypeVar('_Number', int, float)

#: Unknown, a number, or a sum and a count; numbers have 64 bits without a sign.
Counter = Union[None, int, tuple[int, int]]


class Packed(NamedTuple):
    """The counters of one process at one time. The array is never modified."""

    time_s: float
    nonce: int
    #: How many numbers each counter has, one digit for each; shared by OSDs with the same.
    shape: str
    numbers: array[int]


def pack(time_s: float, nonce: int, counters: Iterable[Counter]) -> Packed:
    """OverflowError for a number without 64 bits."""
    shape: list[str] = []
    numbers: list[int] = []
    for counter in counters:
        if counter is None:
            shape.append('0')
        elif isinstance(counter, tuple):
            shape.append('2')
            numbers.extend(counter)
        else:
            shape.append('1')
            numbers.append(counter)
    return Packed(time_s, nonce, intern(''.join(shape)), array('Q', numbers))


def unpack(packed: Packed) -> list[Counter]:
    """The counters that were packed."""
    numbers = iter(packed.numbers)
    found: list[Counter] = []
    for size in packed.shape:
        first: Optional[int] = None if size == '0' else next(numbers)
        found.append(first if first is None or size == '1' else (first, next(numbers)))
    return found


def appended(kept: array[_Number], newest: _Number, most: int) -> array[_Number]:
    """A new array, since other threads read the old one, of the newest ``most`` numbers."""
    # `append` would reserve space for more.
    return kept[max(0, len(kept) + 1 - most) :] + array(kept.typecode, (newest,))


#: Length of the short window: long enough to smooth, short enough to classify a workload within a
#: minute of its start.
SHORT_WINDOW_S = 30.0
#: Spacing of the two points that the long window starts from: one to two hours.
ANCHOR_SPACING_S = 3600.0
#: Maximum distance of two samples in a window; beyond it the mgr was away in between.
MAX_GAP_S = 2 * MAX_INTERVAL_S


class WrittenBytes(NamedTuple):
    """BlueFS writes for RocksDB over the long window."""

    window_s: float
    wal_bytes: int
    sst_bytes: int


class Anchor(NamedTuple):
    """A point of the long window: bytes written since the OSD started."""

    time_s: float
    wal_bytes: int
    sst_bytes: int


class OsdHistory:
    """Samples of one OSD. An OSD restart or a counter reset clears it."""

    __slots__ = ('_anchors', '_recent')

    def __init__(self) -> None:
        # Replaced, never modified: other threads read them.
        self._recent: tuple[Sample, ...] = ()
        self._anchors: tuple[Anchor, ...] = ()

    @classmethod
    def of(cls, samples: tuple[Sample, ...], anchors: tuple[Anchor, ...]) -> OsdHistory:
        """With the samples of the short window and the points of the long one."""
        history = cls()
        history._recent, history._anchors = samples, anchors
        return history

    @property
    def newest(self) -> Optional[Sample]:
        return self._recent[-1] if self._recent else None

    def short(self) -> Optional[Window]:
        """The newest window, computed; None until there are two comparable samples."""
        recent = self._recent
        return window(recent[0], recent[-1]) if len(recent) > 1 else None

    @property
    def recent(self) -> tuple[Sample, ...]:
        """The samples of the short window, oldest first."""
        return self._recent

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The points of the long window, oldest first."""
        return self._anchors

    def add(self, sample: Sample, reports: ReportInterval = DEFAULT) -> None:
        """Add a sample, unless it is the same report or too close to the last one.

        A sample older than the last one means that the clock went backwards: the history is
        cleared.
        """
        newest = self.newest
        if newest is not None:
            apart_s = sample.time_s - newest.time_s
            if sample.nonce == newest.nonce and 0 <= apart_s < reports.least_window_s:
                return
            if apart_s > MAX_GAP_S or not comparable(newest, sample):
                self.clear()
        recent = (*self._recent, sample)
        # Keep at least two samples, even if reports are rare.
        while len(recent) > 2 and sample.time_s - recent[0].time_s > SHORT_WINDOW_S:
            recent = recent[1:]
        self._recent = recent
        self._anchor(sample)

    def clear(self) -> None:
        self._recent, self._anchors = (), ()

    def written(self) -> Optional[WrittenBytes]:
        """Bytes written over the long window; None without two samples."""
        newest = self.newest
        if newest is None or not self._anchors:
            return None
        first = self._anchors[0]
        window_s = newest.time_s - first.time_s
        wal, sst = newest.bytes_written_wal, newest.bytes_written_sst
        if window_s <= 0 or wal is None or sst is None:
            return None
        return WrittenBytes(window_s, wal - first.wal_bytes, sst - first.sst_bytes)

    def _anchor(self, sample: Sample) -> None:
        wal, sst, before = sample.bytes_written_wal, sample.bytes_written_sst, self._anchors
        if wal is None or sst is None:
            self._anchors = ()
        elif not before or sample.time_s - before[-1].time_s >= ANCHOR_SPACING_S:
            self._anchors = (*before[-1:], Anchor(sample.time_s, wal, sst))


#: Less is 0, more is the most: a millionth of a second or of a share, and 10 PB.
LEAST, MOST = 1e-6, 1e16
MAX_ERROR = 0.0005
_ZERO, UNKNOWN = 0, 0xFFFF
#: Codes between the two, and how many of them a factor of e takes.
_FIRST, _LAST = 1, UNKNOWN - 1
_ORIGIN = math.log(LEAST)
_SCALE = (_LAST - _FIRST) / (math.log(MOST) - _ORIGIN)
#: Rounds to the nearest code.
_OFFSET = _FIRST - _ORIGIN * _SCALE + 0.5


def encode(values: Iterable[Optional[float]]) -> array[int]:
    """None, NaN, infinity and what is negative are unknown."""
    # Without a call for each of the numbers that are usual
    return array(
        'H',
        [
            int(math.log(value) * _SCALE + _OFFSET)
            if value is not None and LEAST <= value <= MOST
            else _outside(value)
            for value in values
        ],
    )


def decode(code: int) -> Optional[float]:
    """The number of a code, with the digits that are known; None: unknown."""
    if code == UNKNOWN:
        return None
    return 0.0 if code == _ZERO else float(f'{math.exp(_ORIGIN + (code - _FIRST) / _SCALE):.5g}')


def _outside(value: Optional[float]) -> int:
    # Not a number is not within, either.
    if value is None or not 0 <= value < math.inf:
        return UNKNOWN
    return _ZERO if value < LEAST else _LAST
