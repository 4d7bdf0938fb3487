"""The counters of one OSD at one time: each read costs the mgr microseconds.

Those of `Sample` are read for every full sample, those of `DetailSample` for one OSD in four. The
priority of all of them is high enough to be sent to the mgr by default, according to the perf
schemas of 16.2.15, 18.2.7 and 20.2.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, Optional, get_type_hints

from ..mgr.protocols import CounterReader
from ..mgr.records import CounterPoint
from ..options.releases import counters_measured, renamed_counters, renamed_in_any_release
from .report_interval import DEFAULT, ReportInterval


class Counter(NamedTuple):
    """A note on a field: its counter in the newest release."""

    path: str


#: Sum in nanoseconds, and number of operations; None: never reported, or stale.
Pair = Optional[tuple[int, int]]
Number = Optional[int]


class Sample(NamedTuple):
    """Raw values since the OSD started."""

    #: When the mgr received the report.
    time_s: float
    nonce: int
    kv_sync: Annotated[Pair, Counter('bluestore.kv_sync_lat')]
    kv_flush: Annotated[Pair, Counter('bluestore.kv_flush_lat')]
    commit: Annotated[Pair, Counter('bluestore.txc_commit_lat')]
    op_w: Annotated[Number, Counter('osd.op_w')]
    op_w_in_bytes: Annotated[Number, Counter('osd.op_w_in_bytes')]
    op_w_latency: Annotated[Pair, Counter('osd.op_w_latency')]
    op_r: Annotated[Number, Counter('osd.op_r')]
    op_r_out_bytes: Annotated[Number, Counter('osd.op_r_out_bytes')]
    #: Read-modify-write operations: class calls, such as bucket index updates.
    op_rw: Annotated[Number, Counter('osd.op_rw')]
    op_rw_in_bytes: Annotated[Number, Counter('osd.op_rw_in_bytes')]
    recovery_ops: Annotated[Number, Counter('osd.recovery_ops')]
    recovery_bytes: Annotated[Number, Counter('osd.recovery_bytes')]
    bytes_written_wal: Annotated[Number, Counter('bluefs.bytes_written_wal')]
    bytes_written_sst: Annotated[Number, Counter('bluefs.bytes_written_sst')]
    bytes_written_slow: Annotated[Number, Counter('bluefs.bytes_written_slow')]
    db_total_bytes: Annotated[Number, Counter('bluefs.db_total_bytes')]
    db_used_bytes: Annotated[Number, Counter('bluefs.db_used_bytes')]
    wal_total_bytes: Annotated[Number, Counter('bluefs.wal_total_bytes')]
    wal_used_bytes: Annotated[Number, Counter('bluefs.wal_used_bytes')]
    slow_total_bytes: Annotated[Number, Counter('bluefs.slow_total_bytes')]
    slow_used_bytes: Annotated[Number, Counter('bluefs.slow_used_bytes')]


class DetailSample(NamedTuple):
    """Counters that are read less often, with those of `Sample` that they are compared with."""

    time_s: float
    nonce: int
    op_w_latency: Pair
    kv_sync: Pair
    kv_flush: Pair
    commit: Pair
    throttle: Annotated[Pair, Counter('bluestore.txc_throttle_lat')]
    prepare: Annotated[Pair, Counter('bluestore.state_prepare_lat')]
    aio_wait: Annotated[Pair, Counter('bluestore.state_aio_wait_lat')]
    kv_queued: Annotated[Pair, Counter('bluestore.state_kv_queued_lat')]
    kv_commiting: Annotated[Pair, Counter('bluestore.state_kv_commiting_lat')]
    op_w_process: Annotated[Pair, Counter('osd.op_w_process_latency')]
    op_w_prepare: Annotated[Pair, Counter('osd.op_w_prepare_latency')]
    omap_lower_bound: Annotated[Pair, Counter('bluestore.omap_lower_bound_lat')]
    omap_upper_bound: Annotated[Pair, Counter('bluestore.omap_upper_bound_lat')]
    onode_hits: Annotated[Number, Counter('bluestore.onode_hits')]
    onode_misses: Annotated[Number, Counter('bluestore.onode_misses')]
    memory_mapped_bytes: Annotated[Number, Counter('bluestore-pricache.mapped_bytes')]
    memory_target_bytes: Annotated[Number, Counter('bluestore-pricache.target_bytes')]
    #: Allocations of pieces smaller than bluefs_shared_alloc_size.
    bluefs_fallbacks: Annotated[Number, Counter('bluefs.alloc_slow_size_fallback')]
    fragmentation_micros: Annotated[Number, Counter('bluestore.fragmentation_micros')]
    pgs: Annotated[Number, Counter('osd.numpg')]


def _paths_of(record: Any) -> Mapping[str, str]:
    hints = get_type_hints(record, include_extras=True)
    notes = {name: getattr(hint, '__metadata__', ()) for name, hint in hints.items()}
    return {name: note[0].path for name, note in notes.items() if note}


_SAMPLED, DETAILED = _paths_of(Sample), _paths_of(DetailSample)
#: The path of each counter in a release; of details None: not sent.
CounterNames: Any = NamedTuple('CounterNames', [(n, str) for n in _SAMPLED])  # type: ignore[misc]
DetailNames: Any = NamedTuple('DetailNames', [(n, str) for n in DETAILED])  # type: ignore[misc]
#: The sum of op_w, op_r and op_rw.
ALL_OPERATIONS = 'osd.op'


@lru_cache(maxsize=16)
def names_for(release: Optional[str]) -> Any:
    """`CounterNames` in ``release`` ("pacific"); the newest ones for an unknown release."""
    other = renamed_counters(release)
    return CounterNames(*(other.get(field) or path for field, path in _SAMPLED.items()))


@lru_cache(maxsize=16)
def details_for(release: Optional[str]) -> Any:
    """The same for `DetailNames`."""
    other = renamed_counters(release)
    return DetailNames(*(other.get(field, path) for field, path in DETAILED.items()))


def by_any_name(reader: CounterReader, release: Optional[str]) -> CounterReader:
    """``reader`` for an OSD of ``release``, with older names as fallback in unmeasured releases.

    These are Quincy, Squid and all unknown releases.
    """
    return reader if counters_measured(release) else _ByAnyName(reader)


class _ByAnyName:
    """Reads a counter by its newest name, with the previous name as fallback."""

    def __init__(self, reader: CounterReader) -> None:
        self._reader = reader

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        points, older = self._reader.latest(osd_id, paths), _older_names()
        return [
            self._reader.latest(osd_id, (older[path],))[0]
            if point is None and path in older
            else point
            for path, point in zip(paths, points)
        ]


@lru_cache(maxsize=1)
def _older_names() -> Mapping[str, str]:
    newest = {**_SAMPLED, **DETAILED}
    return {newest[field]: path for field, path in renamed_in_any_release().items()}


#: All counters of a report have one timestamp. A counter that is older by more than this was not in
#: the report: the OSD stopped sending it, so its value is stale.
SAME_REPORT_S = 1.0

LATENCIES = frozenset(
    name
    for record in (Sample, DetailSample)
    for name, hint in get_type_hints(record).items()
    if hint == Pair
)
#: An OSD counts each operation as one of three kinds, with its bytes and latency, and in
#: ALL_OPERATIONS (`PrimaryLogPG::log_op_stats` in all releases). So the number of writes is the
#: count of their latency, and if ALL_OPERATIONS did not change, no kind did.
_OF_WRITES = ('op_w_latency', 'op_w_in_bytes')
_OF_OTHERS = ('op_r', 'op_r_out_bytes', 'op_rw', 'op_rw_in_bytes')
_KINDS = slice(Sample._fields.index('op_w'), Sample._fields.index('op_rw_in_bytes') + 1)
#: The kv_sync thread counts the flush of each round beside the round itself, and nothing else
#: writes to the WAL (`BlueStore::_kv_sync_thread` in all releases): without a round both are as
#: they were.
_OF_ROUNDS = ('kv_flush', 'bytes_written_wal')
#: Sizes of devices do not change while the process runs.
_SIZES = ('db_total_bytes', 'wal_total_bytes', 'slow_total_bytes')
#: BlueFS reports 0 for a missing device, by the size of that device.
_OF_MISSING = {
    'wal_used_bytes': 'wal_total_bytes',
    'slow_used_bytes': 'slow_total_bytes',
    'bytes_written_slow': 'slow_total_bytes',
}
_UNKNOWN = Sample(0.0, 0, *(None for _ in _SAMPLED))

_Fields = tuple[str, ...]
_Points = dict[str, Optional[CounterPoint]]


@lru_cache(maxsize=64)
def _always_read(settled: _Fields) -> _Fields:
    """The counters that no other one tells to be unchanged."""
    told = {*settled, *Sample._fields[_KINDS], *_OF_ROUNDS}
    return tuple(field for field in _SAMPLED if field not in told)


@lru_cache(maxsize=256)
def _paths(names: Any, fields: _Fields) -> tuple[str, ...]:
    return tuple(getattr(names, field) for field in fields)


def _value(field: str, point: Optional[CounterPoint], time_s: float) -> Any:
    """What the report of this time has; None for a counter of another kind with the same name."""
    is_latency = field in LATENCIES
    if (
        point is None
        or abs(point.time_s - time_s) > SAME_REPORT_S
        or is_latency is (point.avgcount is None)
    ):
        return None
    return point[1:] if is_latency else point.value


def take_sample(
    reader: CounterReader,
    osd_id: int,
    nonce: int,
    names: Any,
    now_s: float,
    not_before_s: float = 0.0,
    known: Optional[Sample] = None,
    reports: ReportInterval = DEFAULT,
) -> Optional[Sample]:
    """The OSD's newest report; None if there is none or it is stale.

    ``not_before_s``: when this process was first seen. After a restart the mgr holds the old
    process's counters until the new one reports. Constant values are taken from ``known``, an
    earlier sample of the same process.
    """
    if known is None or known.nonce != nonce:
        known = _UNKNOWN
        found = dict(zip(_SAMPLED, reader.latest(osd_id, names)))
    else:
        found = _read_changed(reader, osd_id, names, known)
    times = [point.time_s for point in found.values() if point is not None]
    # Usually all counters are from one report, with one timestamp.
    if times and min(times) < max(times) - SAME_REPORT_S:
        # A report arrived during the read: start over.
        found = dict(zip(_SAMPLED, reader.latest(osd_id, names)))
        times = [point.time_s for point in found.values() if point is not None]
    time_s = max(times, default=0.0)
    if not times or time_s <= not_before_s or now_s - time_s > reports.stale_s:
        return None
    values = {field: _value(field, point, time_s) for field, point in found.items()}
    if 'op_w_latency' in values and 'op_w' not in values:
        latency = values['op_w_latency']
        values['op_w'] = None if latency is None else latency[1]
    return known._replace(time_s=time_s, nonce=nonce, **values)


def take_details(reader: CounterReader, osd_id: int, names: Any, sample: Sample) -> DetailSample:
    """Read the details of the report that ``sample`` was taken from."""
    sent = {field: path for field, path in zip(DETAILED, names) if path}
    shared = {f: getattr(sample, f) for f in DetailSample._fields if f not in DETAILED}
    points = dict(zip(sent, reader.latest(osd_id, [*sent.values()])))
    found = {field: _value(field, points.get(field), sample.time_s) for field in DETAILED}
    return DetailSample(**shared, **found)


def _read_changed(reader: CounterReader, osd_id: int, names: Any, known: Sample) -> _Points:
    """The counters that may have changed: reading dominates a sample's cost."""
    found: _Points = {}

    def read(fields: _Fields) -> None:
        found.update(zip(fields, reader.latest(osd_id, _paths(names, fields))))

    done: Any = reader.latest(osd_id, (ALL_OPERATIONS,))[0]
    sizes = [field for field in _SIZES if getattr(known, field) is not None]
    missing = (
        field
        for field, size in _OF_MISSING.items()
        if getattr(known, size) == 0 and getattr(known, field) is not None
    )
    read(_always_read((*sizes, *missing)))
    kv_sync: Any = found['kv_sync']
    # Only counters of one report can be compared.
    alike = done and done.avgcount is None and kv_sync and kv_sync.time_s == done.time_s
    rounds_known = alike and None not in (known.kv_flush, known.bytes_written_wal)
    if not rounds_known or kv_sync[1:] != known.kv_sync:
        read(_OF_ROUNDS)
    kinds: Any = known[_KINDS]
    others = kinds[3] + kinds[5] if alike and None not in kinds else None
    if others is None or done.value != others + known.op_w:
        read(_OF_WRITES)
        latency = found['op_w_latency']
        if latency is None or latency.avgcount is None:
            read((*_OF_OTHERS, 'op_w'))
        elif others is None or done.value != others + latency.avgcount:
            read(_OF_OTHERS)
    return found
