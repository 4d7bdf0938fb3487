"""What only OSDs know, and when they are asked for it.

RocksDB's statistics: rarely, and one OSD at a time.

Whether the RocksDB is sharded into column families: once per OSD process. No release exposes this
in metadata, a health check or an option. A sharded database has a file `sharding/def` in BlueFS
(seen on 16.2.15 and 20.2.4; an OSD created with `bluestore_rocksdb_cf=false` has none).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Mapping, NamedTuple, Optional, TypeVar

from ..notes import Amount, Named
from .kv_stats import KvStats, KvStatsUnavailableError, Timed, parse_kv_stats

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
    #: Compaction writes without flushes.
    compaction_bytes_per_s: Optional[float] = None


def times_of(answers: Sequence[KvAnswer], now_s: float) -> Optional[RocksdbTimes]:
    """Between the last two answers of one process; None without two, or if they are stale."""
    if len(answers) < 2 or now_s - answers[-1].time_s > 2 * OSD_SPACING_S:
        return None
    (before_s, before), (after_s, after) = answers[-2:]
    window_s = after_s - before_s
    stalled = _grown(before.stall_micros, after.stall_micros)
    compacted = _grown(before.compact_write_bytes, after.compact_write_bytes)
    return RocksdbTimes(
        window_s,
        # Several writers can stall at the same time.
        None if stalled is None else min(1.0, stalled / 1e6 / window_s),
        _mean(before.wal_sync, after.wal_sync, 1e-3),
        _mean(before.memtable_insert, after.memtable_insert, 1e3),
        _grown(before.cache_hits, after.cache_hits),
        _grown(before.cache_misses, after.cache_misses),
        None if compacted is None else compacted / window_s,
    )


def _grown(before: Optional[_Number], after: Optional[_Number]) -> Optional[_Number]:
    """None if unknown, or if the counter was reset."""
    return None if before is None or after is None or after < before else after - before


def _mean(before: Optional[Timed], after: Optional[Timed], factor: float) -> Optional[float]:
    if before is None or after is None:
        return None
    total, number = _grown(before[0], after[0]), _grown(before[1], after[1])
    return total * factor / number if total is not None and number else None


class Asked(NamedTuple):
    """What one OSD process was asked, and its answers."""

    nonce: int
    asked_s: float = -math.inf
    #: Why the last answer had no statistics.
    unavailable: Optional[str] = None
    #: The last two, oldest first.
    answers: tuple[KvAnswer, ...] = ()
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

    def accept_statistics(
        self, request: Request, text: str, now_s: float, perf_dump: str = ''
    ) -> None:
        """Process an answer of any content, with the RocksDB perf counters of the OSD.

        An OSD without statistics is asked again much later.
        """
        try:
            answer = KvAnswer(now_s, parse_kv_stats(text, perf_dump))
        except KvStatsUnavailableError as error:
            self._update(request, asked_s=now_s, unavailable=str(error), answers=())
            return
        asked = self.of(*request) or Asked(request.nonce)
        before = tuple(a for a in asked.answers[-1:] if a.time_s < now_s)
        self._update(request, answers=(*before, answer))

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
