"""Scheduling of requests for RocksDB's statistics: rarely, and one OSD at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Mapping, NamedTuple, Optional

from ..notes import Amount, Named
from .kv_stats import KvStats, KvStatsUnavailableError, parse_kv_stats, parse_memtable_time

#: Between two requests in the cluster.
CLUSTER_SPACING_S = 15.0
#: Between two requests to the same OSD; two answers give one rate.
OSD_SPACING_S = 300.0
#: Retry of an OSD without statistics, in case an operator enabled them at runtime; a restart is
#: detected separately.
UNAVAILABLE_SPACING_S = 6 * 3600.0


class DeepRequest(NamedTuple):
    """Request RocksDB's statistics from this OSD; the answer belongs to this nonce."""

    osd_id: int
    nonce: int


@dataclass(frozen=True)
class _Asked:
    nonce: int
    asked_s: float
    unavailable: Optional[str] = None


class KvAnswer(NamedTuple):
    """RocksDB's tickers at one time."""

    time_s: float
    stats: KvStats


class MemtableTime(NamedTuple):
    """Time spent on memtable inserts, and the number of writes."""

    total_s: float
    writes: int


class Answers(NamedTuple):
    """The last two answers of one process, each with its memtable times."""

    kv: tuple[KvAnswer, ...]
    memtable: tuple[MemtableTime, ...]


@dataclass(frozen=True)
class _Answer:
    nonce: int
    kv: KvAnswer
    before: Optional[KvAnswer] = None


class CompactionRate(NamedTuple):
    """Compaction writes without flushes, measured by RocksDB."""

    bytes_per_s: float
    window_s: float


class RocksdbTimes(NamedTuple):
    """Timings of RocksDB between two answers; None: unknown."""

    window_s: float
    stall_share: Annotated[
        Optional[Amount],
        Named('write_stall_share'),
        "Share of time with RocksDB write stalls, 0..1; null without RocksDB's statistics.",
    ]
    wal_sync_ms: Optional[float]
    memtable_insert_ms: Optional[float]
    #: Block cache hits and misses.
    cache_hits: Optional[int] = None
    cache_misses: Optional[int] = None


@dataclass(frozen=True)
class _Memtable:
    nonce: int
    now: MemtableTime
    before: Optional[MemtableTime] = None

    @property
    def insert_ms(self) -> Optional[float]:
        """Mean time per write between the two answers."""
        if self.before is None or self.now.writes <= self.before.writes:
            return None
        spent_s = self.now.total_s - self.before.total_s
        return spent_s * 1e3 / (self.now.writes - self.before.writes) if spent_s >= 0 else None


@dataclass(frozen=True)
class KeptAnswers:
    """Answers of OSDs at one time."""

    kv: Mapping[int, _Answer]
    memtables: Mapping[int, _Memtable]

    def of(self, osd_id: int, nonce: int) -> Answers:
        """The answers that the rates of this process are based on, oldest first."""
        kv, memtable = self.kv.get(osd_id), self.memtables.get(osd_id)
        return Answers(
            tuple(a for a in (kv.before, kv.kv) if a) if kv and kv.nonce == nonce else (),
            tuple(m for m in (memtable.before, memtable.now) if m)
            if memtable and memtable.nonce == nonce
            else (),
        )


class DeepStatistics:
    """Schedules requests, and computes rates from two answers of one process.

    Times are seconds of one clock.
    """

    def __init__(self) -> None:
        self._asked: dict[int, _Asked] = {}
        self._last_asked_s: Optional[float] = None
        self._answers: dict[int, _Answer] = {}
        self._rates: dict[int, tuple[int, CompactionRate]] = {}
        self._times: dict[int, tuple[int, RocksdbTimes]] = {}
        self._memtables: dict[int, _Memtable] = {}

    def waits(self, now_s: float) -> bool:
        """Whether no request is due, since the last one is too recent."""
        return self._last_asked_s is not None and now_s - self._last_asked_s < CLUSTER_SPACING_S

    def next_requests(
        self, up_osds: Iterable[tuple[int, int]], now_s: float
    ) -> tuple[DeepRequest, ...]:
        """The requests that are due, usually none; ``up_osds`` are (OSD id, nonce)."""
        if self.waits(now_s):
            return ()
        due = [
            (self._asked_s(osd_id), osd_id, nonce)
            for osd_id, nonce in up_osds
            if self._is_due(osd_id, nonce, now_s)
        ]
        if not due:
            return ()
        # The one that waited longest; OSDs without a request come first.
        _, osd_id, nonce = min(due)
        self._last_asked_s = now_s
        self._asked[osd_id] = _Asked(nonce, now_s)
        return (DeepRequest(osd_id, nonce),)

    def accept(self, osd_id: int, nonce: int, text: str, now_s: float) -> None:
        """Process an answer of any content."""
        try:
            stats = parse_kv_stats(text)
        except KvStatsUnavailableError as error:
            self.fail(osd_id, nonce, str(error), now_s)
        else:
            self.accept_stats(osd_id, nonce, stats, now_s)

    def accept_stats(self, osd_id: int, nonce: int, stats: KvStats, now_s: float) -> None:
        """Process the statistics of an answer."""
        known = self._answers.get(osd_id)
        before = known.kv if known is not None and known.nonce == nonce else None
        if before is not None and now_s <= before.time_s:
            before = None
        self._answers[osd_id] = _Answer(nonce, KvAnswer(now_s, stats), before)
        self._rates.pop(osd_id, None)
        self._times.pop(osd_id, None)
        if before is None:
            return
        self._times[osd_id] = (nonce, _times(before.stats, stats, now_s - before.time_s))
        old, new = before.stats.compact_write_bytes, stats.compact_write_bytes
        if old is not None and new is not None and new >= old:
            window_s = now_s - before.time_s
            self._rates[osd_id] = (nonce, CompactionRate((new - old) / window_s, window_s))

    def accept_perf_dump(self, osd_id: int, nonce: int, text: str) -> None:
        """Process the RocksDB perf counters of an OSD with statistics."""
        self.accept_memtable_time(osd_id, nonce, parse_memtable_time(text))

    def accept_memtable_time(
        self, osd_id: int, nonce: int, counted: Optional[tuple[float, int]]
    ) -> None:
        """Process (seconds, writes) since the OSD started; None: not counted."""
        known = self._memtables.pop(osd_id, None)
        if counted is not None:
            before = known.now if known is not None and known.nonce == nonce else None
            self._memtables[osd_id] = _Memtable(nonce, MemtableTime(*counted), before)

    def kept(self) -> KeptAnswers:
        """A snapshot of the newest answers of all OSDs."""
        return KeptAnswers(dict(self._answers), dict(self._memtables))

    def times(self, osd_id: int, nonce: int, now_s: float) -> Optional[RocksdbTimes]:
        """The newest timings of this process; None if there are none or they are stale."""
        timed, answer = self._times.get(osd_id), self._answers.get(osd_id)
        if timed is None or answer is None or timed[0] != nonce:
            return None
        if now_s - answer.kv.time_s > 2 * OSD_SPACING_S:
            return None
        memtable = self._memtables.get(osd_id)
        if memtable is None or memtable.nonce != nonce:
            return timed[1]
        return timed[1]._replace(memtable_insert_ms=memtable.insert_ms)

    def fail(self, osd_id: int, nonce: int, reason: str, now_s: float) -> None:
        self._asked[osd_id] = _Asked(nonce, now_s, unavailable=reason)
        self._drop(osd_id)

    def unavailable(self, osd_id: int) -> Optional[str]:
        asked = self._asked.get(osd_id)
        return asked.unavailable if asked else None

    def compaction(self, osd_id: int, nonce: int, now_s: float) -> Optional[CompactionRate]:
        """The newest rate of this process; None if there is none or it is stale."""
        rated, answer = self._rates.get(osd_id), self._answers.get(osd_id)
        if rated is None or answer is None or rated[0] != nonce:
            return None
        return rated[1] if now_s - answer.kv.time_s <= 2 * OSD_SPACING_S else None

    def forget(self, osd_id: int) -> None:
        self._asked.pop(osd_id, None)
        self._drop(osd_id)

    def _drop(self, osd_id: int) -> None:
        self._answers.pop(osd_id, None)
        self._rates.pop(osd_id, None)
        self._times.pop(osd_id, None)
        self._memtables.pop(osd_id, None)

    def _asked_s(self, osd_id: int) -> float:
        asked = self._asked.get(osd_id)
        return asked.asked_s if asked else float('-inf')

    def _is_due(self, osd_id: int, nonce: int, now_s: float) -> bool:
        asked = self._asked.get(osd_id)
        if asked is None or asked.nonce != nonce:
            return True
        spacing_s = UNAVAILABLE_SPACING_S if asked.unavailable else OSD_SPACING_S
        return now_s - asked.asked_s >= spacing_s


def _times(before: KvStats, after: KvStats, window_s: float) -> RocksdbTimes:
    stall_share = None
    if before.stall_micros is not None and after.stall_micros is not None:
        stalled_s = (after.stall_micros - before.stall_micros) / 1e6
        # Several writers can stall at the same time.
        stall_share = min(1.0, stalled_s / window_s) if stalled_s >= 0 else None
    sync_ms = None
    if before.wal_sync is not None and after.wal_sync is not None:
        micros = after.wal_sync[0] - before.wal_sync[0]
        syncs = after.wal_sync[1] - before.wal_sync[1]
        sync_ms = micros / 1e3 / syncs if syncs > 0 and micros >= 0 else None
    hits = _difference(before.cache_hits, after.cache_hits)
    misses = _difference(before.cache_misses, after.cache_misses)
    return RocksdbTimes(window_s, stall_share, sync_ms, None, hits, misses)


def _difference(before: Optional[int], after: Optional[int]) -> Optional[int]:
    if before is None or after is None or after < before:
        return None
    return after - before
