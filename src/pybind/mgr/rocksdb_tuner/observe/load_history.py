"""Work of each OSD over the last hours in bounded memory: the noise in experiments.

All OSDs are read in the same tick, so they share one list of times. While there is room, intervals
are short, so that a plan is possible soon after a failover; then adjacent ones are merged. An OSD
takes `WIDTH` two-byte numbers for each of `INTERVALS` (1.7 KiB). Written by the serve thread, read
by others.

Client I/O per pool, from the mgr's statistics: it shows which clients load an OSD.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import NamedTuple, Optional

from ..mgr.records import PoolCounters
from .history import (
    MAX_GAP_S,
    SHORT_WINDOW_S,
    UNKNOWN,
    Counter,
    Packed,
    decode,
    encode,
    pack,
    unpack,
)
from .report_interval import DEFAULT, ReportInterval
from .sample import Sample
from .window import MIN_WINDOW_S, differences

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
    #: Bytes written to WAL and SST files.
    db_bytes: Optional[float]
    #: At the end of the interval.
    db_used_bytes: Optional[float]


WIDTH = len(Work._fields)
_UNKNOWN = array('H', [UNKNOWN] * WIDTH)


@dataclass(frozen=True)
class KeptWork:
    """The history of some OSDs at one time."""

    #: Ends of the intervals, with the start of the first; seconds since the epoch, oldest first.
    times_s: tuple[float, ...]
    #: Shortest length of a block of time that intervals can be merged into.
    spacing_s: float
    #: As many as there are intervals.
    by_osd: Mapping[int, tuple[Work, ...]]

    @property
    def span_s(self) -> float:
        return self.times_s[-1] - self.times_s[0] if self.times_s else 0.0


class WorkHistory:
    """The histories of all OSDs; one thread writes, any thread may read."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._spacing = 0
        #: Each interval must have a report at its end that is newer than at its start.
        self._least_s = 0.0
        self._times_s: list[float] = []
        self._rows: dict[int, array[int]] = {}
        #: At the end of the last interval, with the used counters only.
        self._last: dict[int, Packed] = {}

    def due(self, time_s: float, reports: ReportInterval = DEFAULT) -> bool:
        """Whether `add` would use samples of that time."""
        with self._lock:
            self._least_s = reports.two_reports_s
            return self._is_due(time_s)

    def add(self, samples: Mapping[int, Optional[Sample]], time_s: float) -> None:
        """Add the newest samples of all existing OSDs if an interval is over."""
        with self._lock:
            passed_s = time_s - self._times_s[-1] if self._times_s else 0.0
            if passed_s < 0 or passed_s > MAX_GAP_S:
                self._clear()
            if not self._is_due(time_s):
                return
            if self._times_s:
                self._end_interval(samples)
            self._times_s.append(time_s)
            self._last = {
                osd_id: pack(sample.time_s, sample.nonce, _used(sample))
                for osd_id, sample in samples.items()
                if sample is not None
            }
            while len(self._times_s) > INTERVALS + 1:
                self._make_room()

    def read(self, osd_ids: Iterable[int]) -> KeptWork:
        with self._lock:
            unknown = _UNKNOWN * max(0, len(self._times_s) - 1)
            rows = {n: self._rows.get(n, unknown)[:] for n in osd_ids}
            times_s, spacing_s = tuple(self._times_s), self._spacing_s
        return KeptWork(times_s, spacing_s, {n: _works(row) for n, row in rows.items()})

    def clear(self) -> None:
        with self._lock:
            self._clear()

    @property
    def _spacing_s(self) -> float:
        return max(SPACINGS_S[self._spacing], self._least_s)

    def _is_due(self, time_s: float) -> bool:
        if not self._times_s:
            return True
        passed_s = time_s - self._times_s[-1]
        # Ticks jitter a little.
        return not 0 <= passed_s < 0.9 * self._spacing_s

    def _clear(self) -> None:
        self._spacing = 0
        self._times_s.clear()
        self._rows.clear()
        self._last = {}

    def _end_interval(self, samples: Mapping[int, Optional[Sample]]) -> None:
        for gone in self._rows.keys() - samples.keys():
            del self._rows[gone]
        before = len(self._times_s) - 1
        for osd_id, newest in samples.items():
            row = self._rows.get(osd_id)
            if row is None:
                row = self._rows[osd_id] = _UNKNOWN * before
            row.extend(_row(self._last.get(osd_id), newest))

    def _make_room(self) -> None:
        """Merge intervals, or drop the oldest of the longest ones."""
        if self._spacing + 1 == len(SPACINGS_S):
            del self._times_s[0]
            for row in self._rows.values():
                del row[:WIDTH]
            return
        count = round(SPACINGS_S[self._spacing + 1] / SPACINGS_S[self._spacing])
        self._spacing += 1
        # The newest ones stay unmerged.
        extra = (len(self._times_s) - 1) % count
        oldest = extra * WIDTH
        self._times_s = self._times_s[extra::count]
        for osd_id, row in self._rows.items():
            self._rows[osd_id] = _merged(row[oldest:], count)


def _used(sample: Sample) -> tuple[Counter, ...]:
    """The counters whose differences make `Work`."""
    return (
        sample.kv_sync,
        sample.commit,
        sample.op_w_latency,
        sample.bytes_written_wal,
        sample.bytes_written_sst,
    )


def _row(first: Optional[Packed], last: Optional[Sample]) -> array[int]:
    if (
        first is None
        or last is None
        or first.nonce != last.nonce
        or last.time_s - first.time_s < MIN_WINDOW_S
    ):
        return _UNKNOWN
    done = differences(unpack(first), _used(last))
    if done is None:
        return _UNKNOWN
    kv_sync, commit, writes, wal, sst = done
    return encode(
        Work(
            kv_sync_s=kv_sync.total_s if kv_sync else None,
            txns=commit.operations if commit else None,
            writes=writes.operations if writes else None,
            write_s=writes.total_s if writes else None,
            db_bytes=None if wal is None or sst is None else wal + sst,
            db_used_bytes=last.db_used_bytes,
        )
    )


def _merged(row: array[int], count: int) -> array[int]:
    """Each ``count`` intervals as one; unknown if one of them is."""
    found = array('H')
    step = count * WIDTH
    for begin in range(0, len(row), step):
        end = begin + step
        piece = row[begin:end]
        found.extend(encode(_sum(piece[column::WIDTH]) for column in range(WIDTH - 1)))
        # A gauge, not a sum.
        found.append(piece[-1])
    return found


def _sum(codes: Iterable[int]) -> Optional[float]:
    total = 0.0
    for number in map(decode, codes):
        if number is None:
            return None
        total += number
    return total


def _works(row: Sequence[int]) -> tuple[Work, ...]:
    return tuple(
        Work(*(decode(code) for code in islice(row, begin, begin + WIDTH)))
        for begin in range(0, len(row), WIDTH)
    )


class PoolRates(NamedTuple):
    """Rates of one pool. Each part of an operation counts (see `PoolCounters`)."""

    reads_per_s: float
    read_bytes_per_s: float
    writes_per_s: float
    write_bytes_per_s: float


_NOTHING = PoolCounters(reads=0, read_bytes=0, writes=0, write_bytes=0)


class _Reading(NamedTuple):
    time_s: float
    pools: Mapping[int, PoolCounters]


class PoolHistory:
    """The readings within an OSD's short window. Times are of one clock."""

    def __init__(self) -> None:
        self._recent: deque[_Reading] = deque()

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
            apart_s = now_s - self._recent[-1].time_s
            if 0 <= apart_s < MIN_WINDOW_S:
                return
            if not 0 <= apart_s <= MAX_GAP_S:
                self._recent.clear()
        self._recent.append(_Reading(now_s, pools))
        most_s = max(SHORT_WINDOW_S, reports.two_reports_s)
        while len(self._recent) > 2 and now_s - self._recent[0].time_s > most_s:
            self._recent.popleft()

    def rates(self) -> Mapping[int, PoolRates]:
        """By pool id, without pools whose counters decreased (after a repair) or were missing."""
        if len(self._recent) < 2:
            return {}
        before, after = self._recent[0], self._recent[-1]
        window_s = after.time_s - before.time_s
        newest_before = max(before.pools, default=None)
        found = {}
        for pool_id, new in after.pools.items():
            old = before.pools.get(pool_id)
            # Pool ids are ascending and never reused: this pool is new.
            if old is None and newest_before is not None and pool_id > newest_before:
                old = _NOTHING
            rates = _rates(old, new, window_s) if old is not None else None
            if rates is not None:
                found[pool_id] = rates
        return found


def _rates(old: PoolCounters, new: PoolCounters, window_s: float) -> Optional[PoolRates]:
    amounts = (
        new.reads - old.reads,
        new.read_bytes - old.read_bytes,
        new.writes - old.writes,
        new.write_bytes - old.write_bytes,
    )
    if min(amounts) < 0:
        return None
    return PoolRates(*(amount / window_s for amount in amounts))
