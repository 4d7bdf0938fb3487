"""What only OSDs know, and when they are asked for it.

RocksDB's statistics: rarely, and one OSD at a time.

Whether the RocksDB is sharded into column families: once per OSD process. No release exposes this
in metadata, a health check or an option. A sharded database has a file `sharding/def` in BlueFS
(seen on 16.2.15 and 20.2.4; an OSD created with `bluestore_rocksdb_cf=false` has none).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Mapping, NamedTuple, Optional, TypeVar

from ..notes import Amount, Named
from .kv_stats import KvStats, KvStatsUnavailableError, parse_kv_stats, parse_memtable_time

#: The command (`ceph tell osd.N ...`) for statistics, and the second one, for OSDs that have some.
KV_STATS_COMMAND = 'dump_objectstore_kv_stats'
PERF_DUMP_COMMAND = 'perf dump'
PERF_DUMP_ARGUMENTS = {'logger': 'rocksdb'}
#: Between two requests in the cluster.
CLUSTER_SPACING_S = 15.0
#: Between two requests to the same OSD; two answers give one rate.
OSD_SPACING_S = 300.0
#: Retry of an OSD without statistics, in case an operator enabled them at runtime; a restart is
#: detected separately.
UNAVAILABLE_SPACING_S = 6 * 3600.0

FILES_COMMAND = 'bluefs files list'
#: Maximum of OSDs per tick: a file list costs the OSD milliseconds, and the mgr about 100 KB.
FILES_PER_TICK = 4
FILES_RETRY_S = 3600.0
_SHARDING_FILE = 'sharding/def'

_Number = TypeVar('_Number', int, float)


class Request(NamedTuple):
    """Ask this OSD; the answer belongs to this nonce."""

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


class Asked(NamedTuple):
    """What one OSD process was asked, and its answers."""

    nonce: int
    asked_s: float = -math.inf
    #: Why the last answer had no statistics.
    unavailable: Optional[str] = None
    answers: Answers = Answers()
    files_asked_s: Optional[float] = None
    #: Whether its RocksDB is sharded into column families; None: no answer, or an unusable one.
    sharded: Optional[bool] = None


class OsdAnswers:
    """Schedules requests and keeps the answers. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._osds: dict[int, Asked] = {}
        self._last_asked_s = -math.inf

    def of(self, osd_id: int, nonce: Optional[int]) -> Optional[Asked]:
        """The answers of this process; None if it was not asked."""
        asked = self._osds.get(osd_id)
        return asked if asked is not None and asked.nonce == nonce else None

    def all(self) -> Mapping[int, Asked]:
        """A snapshot."""
        return dict(self._osds)

    def forget(self, osd_id: int) -> None:
        self._osds.pop(osd_id, None)

    def next_statistics(
        self, up_osds: Iterable[Request], now_s: float, able: Callable[[int], bool] = lambda _: True
    ) -> tuple[Request, ...]:
        """OSDs to send `KV_STATS_COMMAND` to, usually none; only those that are ``able``."""
        if now_s - self._last_asked_s < CLUSTER_SPACING_S:
            return ()
        due = []
        for osd_id, nonce in up_osds:
            asked = self.of(osd_id, nonce) or Asked(nonce)
            spacing_s = UNAVAILABLE_SPACING_S if asked.unavailable else OSD_SPACING_S
            if now_s - asked.asked_s >= spacing_s and able(osd_id):
                due.append((asked.asked_s, osd_id, nonce))
        if not due:
            return ()
        # The one that waited longest; OSDs without a request come first.
        _, osd_id, nonce = min(due)
        self._last_asked_s = now_s
        self._update(Request(osd_id, nonce), asked_s=now_s, unavailable=None)
        return (Request(osd_id, nonce),)

    def accept_statistics(self, request: Request, text: str, now_s: float) -> None:
        """Process an answer of any content."""
        try:
            answer = KvAnswer(now_s, parse_kv_stats(text))
        except KvStatsUnavailableError as error:
            self.fail_statistics(request, str(error), now_s)
            return
        answers = self._answers(request)
        before = tuple(a for a in answers.kv[-1:] if a.time_s < now_s)
        self._update(request, answers=answers._replace(kv=(*before, answer)))

    def accept_perf_dump(self, request: Request, text: str) -> None:
        """Process the RocksDB perf counters of an OSD with statistics."""
        answers, counted = self._answers(request), parse_memtable_time(text)
        memtable = () if counted is None else (*answers.memtable[-1:], MemtableTime(*counted))
        self._update(request, answers=answers._replace(memtable=memtable))

    def fail_statistics(self, request: Request, reason: str, now_s: float) -> None:
        """The OSD has none, or the command failed: retry it much later."""
        self._update(request, asked_s=now_s, unavailable=reason, answers=Answers())

    def next_files(
        self, up_osds: Iterable[Request], now_s: float, able: Callable[[int], bool] = lambda _: True
    ) -> tuple[Request, ...]:
        """OSDs to send `FILES_COMMAND` to, usually none; only those that are ``able``."""
        due: list[Request] = []
        for osd_id, nonce in up_osds:
            asked = self.of(osd_id, nonce)
            is_due = (
                asked is None
                or asked.files_asked_s is None
                or (asked.sharded is None and abs(now_s - asked.files_asked_s) >= FILES_RETRY_S)
            )
            if is_due and able(osd_id):
                due.append(Request(osd_id, nonce))
                if len(due) == FILES_PER_TICK:
                    break
        return tuple(due)

    def accept_files(self, request: Request, text: str, now_s: float) -> None:
        """Process an answer of any content; an empty one of an OSD that did not answer."""
        self._update(request, files_asked_s=now_s, sharded=is_sharded(text))

    def _answers(self, request: Request) -> Answers:
        asked = self.of(*request)
        return asked.answers if asked else Answers()

    def _update(self, request: Request, **changes: Any) -> None:
        asked = self.of(*request) or Asked(request.nonce)
        self._osds[request.osd_id] = asked._replace(**changes)


def is_sharded(text: str) -> Optional[bool]:
    """Whether a list of BlueFS files has the sharding file; None if it is invalid or empty."""
    try:
        files = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(files, list):
        return None
    found = [file.get('name') for file in files if isinstance(file, dict)]
    names = {name for name in found if isinstance(name, str)}
    # An empty list is invalid: RocksDB always has a CURRENT file.
    return _SHARDING_FILE in names if names else None
