"""Work of each OSD over the last hours, the noise in experiments, and client I/O of each pool.

All OSDs are read in the same tick, so they share one list of times. While there is room, intervals
are short, so that a plan is possible soon after a failover; then adjacent ones are merged. An OSD
takes one two-byte number for each field of `Work` and each of `INTERVALS` (1.7 KiB). Written by the
serve thread, read by others.
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Generic, NamedTuple, Optional, TypeVar

from ..mgr.records import PoolCounters
from .report_interval import DEFAULT, ReportInterval
from .sample import Sample
from .window import MAX_GAP_S, MIN_WINDOW_S, SHORT_WINDOW_S, window

#: Numbers that are not negative, in 16 bits, for series that are noisy anyway. A code stands for a
#: logarithm, so the error is a share of the number. Less is 0, more is the most: a millionth of a
#: second or of a share, and 10 PB.
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


def _outside(value: Optional[float]) -> int:
    # Not a number is not within, either.
    if value is None or not 0 <= value < math.inf:
        return UNKNOWN
    return _ZERO if value < LEAST else _LAST


def decode(code: int) -> Optional[float]:
    """The number of a code, with the digits that are known; None: unknown."""
    if code == UNKNOWN:
        return None
    return 0.0 if code == _ZERO else float(f'{math.exp(_ORIGIN + (code - _FIRST) / _SCALE):.5g}')


Key = TypeVar('Key')


class Series(Generic[Key]):
    """Rows of a few numbers at common times, oldest first; each key has a row at each time."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.times_s: list[float] = []
        self.rows: dict[Key, array[int]] = {}

    def due(self, time_s: float, spacing_s: float) -> bool:
        """Whether the last row is old enough; ticks jitter a little."""
        return not self.times_s or not 0 <= time_s - self.times_s[-1] < 0.9 * spacing_s

    def append(
        self,
        time_s: float,
        rows: Mapping[Key, Iterable[Optional[float]]],
        most: Optional[int] = None,
    ) -> None:
        """Add a row of each key, of unknown numbers for one without; keep at most ``most``."""
        unknown = array('H', [UNKNOWN] * self.width)
        for key in rows:
            if key not in self.rows:
                self.rows[key] = unknown * len(self.times_s)
        self.times_s.append(time_s)
        for key, kept in self.rows.items():
            kept.extend(encode(rows[key]) if key in rows else unknown)
        if most is not None and len(self.times_s) > most:
            self.drop_oldest()

    def drop_oldest(self) -> None:
        del self.times_s[0]
        for kept in self.rows.values():
            del kept[: self.width]

    def keep_only(self, keys: Container[object]) -> None:
        for gone in [key for key in self.rows if key not in keys]:
            del self.rows[gone]

    def clear(self) -> None:
        self.times_s.clear()
        self.rows.clear()

    def read(self, key: Key) -> Optional[list[tuple[Optional[float], ...]]]:
        """The numbers of each column; None for an unknown key."""
        kept = self.rows.get(key)
        if kept is None:
            return None
        return [tuple(map(decode, kept[column :: self.width])) for column in range(self.width)]


#: Length of an interval; each is a multiple of the previous one.
SPACINGS_S = (30.0, 60.0, 300.0)
INTERVALS = 144
#: Twelve hours of the longest intervals.
LONGEST_S = INTERVALS * SPACINGS_S[-1]


class Work(NamedTuple):
    """Work of one OSD in one interval; None: unknown, as after a restart."""

    kv_sync_s: Optional[float]
    #: Transactions, as a primary and as a replica.
    txns: Optional[float]
    #: Client writes as a primary, and their total time.
    writes: Optional[float]
    write_s: Optional[float]
    db_bytes: Optional[float]
    db_used_bytes: Optional[float]


_UNKNOWN_WORK = Work(*(None for _ in Work._fields))


@dataclass(frozen=True)
class KeptWork:
    """The history of some OSDs at one time."""

    #: Ends of the intervals, with the start of the first; seconds since the epoch, oldest first.
    times_s: tuple[float, ...]
    #: Shortest length of a block of time that intervals can be merged into.
    spacing_s: float
    #: As many as there are intervals.
    by_osd: Mapping[int, tuple[Work, ...]]


class WorkHistory:
    """The histories of all OSDs; one thread writes, any thread may read."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._spacing = 0
        #: Each interval must have a report at its end that is newer than at its start.
        self._least_s = 0.0
        #: The first row is the start of the first interval.
        self._series: Series[int] = Series(len(Work._fields))
        self._last: Mapping[int, Optional[Sample]] = {}

    def due(self, time_s: float, reports: ReportInterval = DEFAULT) -> bool:
        """Whether `add` would use samples of that time."""
        with self._lock:
            self._least_s = reports.two_reports_s
            return self._series.due(time_s, self._spacing_s)

    def add(self, samples: Mapping[int, Optional[Sample]], time_s: float) -> None:
        """Add the newest samples of all existing OSDs if an interval is over."""
        with self._lock:
            times_s = self._series.times_s
            if times_s and not 0 <= time_s - times_s[-1] <= MAX_GAP_S:
                self.clear()
            if not self._series.due(time_s, self._spacing_s):
                return
            self._series.keep_only(samples)
            self._series.append(
                time_s, {n: _work(self._last.get(n), sample) for n, sample in samples.items()}
            )
            self._last = dict(samples)
            if len(times_s) > INTERVALS + 1:
                self._make_room()

    def read(self, osd_ids: Iterable[int]) -> KeptWork:
        with self._lock:
            found = {n: self._series.read(n) for n in osd_ids}
            times_s, spacing_s = tuple(self._series.times_s), self._spacing_s
        unknown = (_UNKNOWN_WORK,) * max(0, len(times_s) - 1)
        works = {n: tuple(map(Work._make, zip(*read)))[1:] for n, read in found.items() if read}
        return KeptWork(times_s, spacing_s, {n: works.get(n, unknown) for n in found})

    def clear(self) -> None:
        with self._lock:
            self._spacing = 0
            self._series.clear()
            self._last = {}

    @property
    def _spacing_s(self) -> float:
        return max(SPACINGS_S[self._spacing], self._least_s)

    def _make_room(self) -> None:
        """Merge intervals, or drop the oldest of the longest ones."""
        series = self._series
        if self._spacing + 1 == len(SPACINGS_S):
            series.drop_oldest()
            return
        count = round(SPACINGS_S[self._spacing + 1] / SPACINGS_S[self._spacing])
        self._spacing += 1
        # The oldest ones that are left over are dropped.
        extra = (len(series.times_s) - 1) % count
        series.times_s[:] = series.times_s[extra::count]
        for osd_id, row in series.rows.items():
            first = (extra + 1) * series.width
            series.rows[osd_id] = row[: series.width] + _merged(row[first:], count)


def _work(first: Optional[Sample], last: Optional[Sample]) -> Work:
    done = window(first, last) if first is not None and last is not None else None
    if done is None or last is None:
        return _UNKNOWN_WORK
    kv_sync, commit, writes = done.kv_sync, done.commit, done.op_w_latency
    wal, sst = done.bytes_written_wal, done.bytes_written_sst
    return Work(
        kv_sync_s=kv_sync.total_s if kv_sync else None,
        txns=commit.operations if commit else None,
        writes=writes.operations if writes else None,
        write_s=writes.total_s if writes else None,
        db_bytes=None if wal is None or sst is None else wal + sst,
        db_used_bytes=last.db_used_bytes,
    )


def _merged(row: Sequence[int], count: int) -> array[int]:
    """Each ``count`` intervals as one; unknown if one of them is."""
    found, width = array('H'), len(Work._fields)
    for begin in range(0, len(row), count * width):
        piece = row[begin : begin + count * width]
        found.extend(encode(_sum(piece[column::width]) for column in range(width - 1)))
        # A gauge, not a sum.
        found.append(piece[-1])
    return found


def _sum(codes: Iterable[int]) -> Optional[float]:
    numbers = [decode(code) for code in codes]
    return None if None in numbers else sum(n for n in numbers if n is not None)


class PoolRates(NamedTuple):
    """Rates of one pool. Each part of an operation counts (see `PoolCounters`)."""

    reads_per_s: float
    read_bytes_per_s: float
    writes_per_s: float
    write_bytes_per_s: float


class PoolHistory:
    """The readings within an OSD's short window. Times are of one clock."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, Mapping[int, PoolCounters]]] = deque()

    def add(
        self,
        pools: Mapping[int, PoolCounters],
        now_s: float,
        reports: ReportInterval = DEFAULT,
    ) -> None:
        """Add a reading. If the clock went backwards, earlier readings are dropped.

        Counters of a pool change with each report, in a reading those of some OSDs.
        """
        if self._recent:
            apart_s = now_s - self._recent[-1][0]
            if 0 <= apart_s < MIN_WINDOW_S:
                return
            if not 0 <= apart_s <= MAX_GAP_S:
                self._recent.clear()
        self._recent.append((now_s, pools))
        most_s = max(SHORT_WINDOW_S, reports.two_reports_s)
        while len(self._recent) > 2 and now_s - self._recent[0][0] > most_s:
            self._recent.popleft()

    def rates(self) -> Mapping[int, PoolRates]:
        """By pool id, without pools whose counters decreased (after a repair) or were missing."""
        if len(self._recent) < 2:
            return {}
        (before_s, before), (after_s, after) = self._recent[0], self._recent[-1]
        newest, found = max(before, default=None), {}
        for pool_id, new in after.items():
            # Pool ids are ascending and never reused: one beyond all of before is new.
            is_new = newest is not None and pool_id > newest
            old = PoolCounters(0, 0, 0, 0) if is_new else before.get(pool_id)
            if old is None:
                continue
            amounts = [
                getattr(new, name) - getattr(old, name)
                for name in ('reads', 'read_bytes', 'writes', 'write_bytes')
            ]
            if min(amounts) >= 0:
                found[pool_id] = PoolRates(*(amount / (after_s - before_s) for amount in amounts))
        return found
