"""Scheduling of requests for RocksDB's statistics: rarely, and one OSD at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Mapping, NamedTuple, Optional, TypeVar

from ..notes import Amount, Named
from .kv_stats import KvStats, KvStatsUnavailableError, parse_kv_stats, parse_memtable_time

#: Between two requests in the cluster.
CLUSTER_SPACING_S = 15.0
#: Between two requests to the same OSD; two answers give one rate.
OSD_SPACING_S = 300.0
#: Retry of an OSD without statistics, in case an operator enabled them at runtime; a restart is
#: detected separately.
UNAVAILABLE_SPACING_S = 6 * 3600.0

_Number = TypeVar('_Number', int, float)


class DeepRequest(NamedTuple):
    """Request RocksDB's statistics from this OSD; the answer belongs to this nonce."""

    osd_id: int
    nonce: int


class KvAnswer(NamedTuple):
    """RocksDB's tickers at one time."""

    time_s: float
    stats: KvStats


class MemtableTime(NamedTuple):
    """Time spent on memtable inserts, and the number of writes."""

    total_s: float
    writes: int


class Answers(NamedTuple):
    """The last two answers of one process with their memtable times, oldest first."""

    kv: tuple[KvAnswer, ...] = ()
    memtable: tuple[MemtableTime, ...] = ()


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


def compaction_of(answers: Answers, now_s: float) -> Optional[CompactionRate]:
    """The newest rate; None if there is none or it is stale."""
    if not _are_new(answers, now_s):
        return None
    before, after = answers.kv
    written = _grown(before.stats.compact_write_bytes, after.stats.compact_write_bytes)
    window_s = after.time_s - before.time_s
    return None if written is None else CompactionRate(written / window_s, window_s)


def times_of(answers: Answers, now_s: float) -> Optional[RocksdbTimes]:
    """The newest timings; None if there are none or they are stale."""
    if not _are_new(answers, now_s):
        return None
    (before_s, before), (after_s, after) = answers.kv
    window_s = after_s - before_s
    stalled = _grown(before.stall_micros, after.stall_micros)
    (old_micros, old_syncs), (micros, syncs) = (
        stats.wal_sync or (None, None) for stats in (before, after)
    )
    inserts = answers.memtable if len(answers.memtable) > 1 else ((None, None), (None, None))
    return RocksdbTimes(
        window_s,
        # Several writers can stall at the same time.
        None if stalled is None else min(1.0, stalled / 1e6 / window_s),
        _mean(_grown(old_micros, micros), _grown(old_syncs, syncs), 1e-3),
        _mean(_grown(inserts[0][0], inserts[1][0]), _grown(inserts[0][1], inserts[1][1]), 1e3),
        _grown(before.cache_hits, after.cache_hits),
        _grown(before.cache_misses, after.cache_misses),
    )


def _are_new(answers: Answers, now_s: float) -> bool:
    return len(answers.kv) > 1 and now_s - answers.kv[-1].time_s <= 2 * OSD_SPACING_S


def _grown(before: Optional[_Number], after: Optional[_Number]) -> Optional[_Number]:
    """None if unknown, or if the counter was reset."""
    return None if before is None or after is None or after < before else after - before


def _mean(total: Optional[float], number: Optional[int], factor: float) -> Optional[float]:
    return total * factor / number if total is not None and number else None


class KeptOsd(NamedTuple):
    """Requests to one OSD process, and its answers."""

    nonce: int
    asked_s: float = -math.inf
    #: Why the last answer had no statistics.
    unavailable: Optional[str] = None
    answers: Answers = Answers()


class DeepStatistics:
    """Schedules requests and keeps the answers. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._osds: dict[int, KeptOsd] = {}
        self._last_asked_s = -math.inf

    def waits(self, now_s: float) -> bool:
        """Whether no request is due, since the last one is too recent."""
        return now_s - self._last_asked_s < CLUSTER_SPACING_S

    def next_requests(
        self, up_osds: Iterable[tuple[int, int]], now_s: float
    ) -> tuple[DeepRequest, ...]:
        """The requests that are due, usually none; ``up_osds`` are (OSD id, nonce)."""
        if self.waits(now_s):
            return ()
        due = []
        for osd_id, nonce in up_osds:
            known = self._of(osd_id, nonce)
            spacing_s = UNAVAILABLE_SPACING_S if known.unavailable else OSD_SPACING_S
            if now_s - known.asked_s >= spacing_s:
                due.append((known.asked_s, osd_id, nonce))
        if not due:
            return ()
        # The one that waited longest; OSDs without a request come first.
        _, osd_id, nonce = min(due)
        self._last_asked_s = now_s
        self._osds[osd_id] = self._of(osd_id, nonce)._replace(asked_s=now_s, unavailable=None)
        return (DeepRequest(osd_id, nonce),)

    def accept(self, osd_id: int, nonce: int, text: str, now_s: float) -> None:
        """Process an answer of any content."""
        try:
            answer = KvAnswer(now_s, parse_kv_stats(text))
        except KvStatsUnavailableError as error:
            self.fail(osd_id, nonce, str(error), now_s)
            return
        known = self._of(osd_id, nonce)
        before = tuple(a for a in known.answers.kv[-1:] if a.time_s < now_s)
        answers = known.answers._replace(kv=(*before, answer))
        self._osds[osd_id] = known._replace(answers=answers)

    def accept_perf_dump(self, osd_id: int, nonce: int, text: str) -> None:
        """Process the RocksDB perf counters of an OSD with statistics."""
        known, counted = self._of(osd_id, nonce), parse_memtable_time(text)
        before = known.answers.memtable[-1:]
        memtable = () if counted is None else (*before, MemtableTime(*counted))
        answers = known.answers._replace(memtable=memtable)
        self._osds[osd_id] = known._replace(answers=answers)

    def kept(self) -> Mapping[int, KeptOsd]:
        """A snapshot of the newest answers of all OSDs."""
        return dict(self._osds)

    def times(self, osd_id: int, nonce: int, now_s: float) -> Optional[RocksdbTimes]:
        """The newest timings of this process; None if there are none or they are stale."""
        return times_of(self._of(osd_id, nonce).answers, now_s)

    def compaction(self, osd_id: int, nonce: int, now_s: float) -> Optional[CompactionRate]:
        """The newest rate of this process; None if there is none or it is stale."""
        known = self._osds.get(osd_id)
        if known is None or known.nonce != nonce:
            return None
        return compaction_of(known.answers, now_s)

    def fail(self, osd_id: int, nonce: int, reason: str, now_s: float) -> None:
        self._osds[osd_id] = KeptOsd(nonce, now_s, reason)

    def unavailable(self, osd_id: int) -> Optional[str]:
        known = self._osds.get(osd_id)
        return known.unavailable if known else None

    def forget(self, osd_id: int) -> None:
        self._osds.pop(osd_id, None)

    def _of(self, osd_id: int, nonce: int) -> KeptOsd:
        known = self._osds.get(osd_id)
        return known if known is not None and known.nonce == nonce else KeptOsd(nonce)
