"""Detail counters, read for some OSDs per full sample: the parts of a write, memory, caches.

Reading a counter costs the mgr 2.5 us, too much at every tick for values that change slowly or are
only displayed. The first sample of a process has them too.

Slow operations of OSDs, read for the few OSDs under comparison or with an alert of Ceph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Optional, Protocol

from ..mgr.protocols import ClusterReader, CounterReader
from ..notes import Amount, Count
from .latency import WriteLatency
from .sample import SAME_REPORT_S, DetailNames, Sample
from .window import MAX_GAP_S, MIN_WINDOW_S, Latency, differences

#: All OSDs have had their turn after this many rounds; a full sample is one or two of them.
ROUNDS = 4
#: Minimum per round, for small clusters.
LEAST_PER_ROUND = 2

#: All other details have a sum and a count.
_NUMBERS = frozenset(
    {
        'memory_mapped_bytes',
        'memory_target_bytes',
        'onode_hits',
        'onode_misses',
        'bluefs_fallbacks',
        'fragmentation_micros',
        'pgs',
    }
)
_IS_NUMBER = tuple(field in _NUMBERS for field in DetailNames._fields)


class Details(NamedTuple):
    """Details of one OSD between two detail samples; None: unknown."""

    #: Time of the newer sample, on the clock of the reports.
    time_s: float
    #: None until there are two samples.
    latency: Optional[WriteLatency]
    omap_seek_ms: Annotated[
        Optional[Amount],
        'Mean time to place an iterator in RocksDB, in milliseconds; null before Reef.',
    ]
    omap_seeks: Optional[int]
    #: Mapped memory according to tcmalloc (None without it), and the memory target of the OSD's
    #: cache autotuning.
    memory_mapped_bytes: Annotated[Optional[Count], 'Mapped memory; null without tcmalloc.']
    memory_target_bytes: Annotated[Optional[Count], 'Target of memory autotuning.']
    #: Onode cache hits and misses in the window.
    onode_hits: Optional[int] = None
    onode_misses: Optional[int] = None
    #: BlueFS allocations below bluefs_shared_alloc_size since the OSD started.
    bluefs_fallbacks: Optional[int] = None
    #: Fragmentation of the data device's free space, 0..1; Pacific does not send it.
    fragmentation: Optional[float] = None
    #: Between the two samples.
    window_s: Optional[float] = None
    #: Placement groups on the OSD.
    pgs: Optional[int] = None
    #: Transactions that share a round of the kv_sync thread.
    transactions_per_round: Optional[float] = None


class DetailSample(NamedTuple):
    """Detail counters at one time, with the counters of `Sample` they are compared with."""

    time_s: float
    nonce: int
    op_w_latency: Optional[tuple[int, int]]
    kv_sync: Optional[tuple[int, int]]
    kv_flush: Optional[tuple[int, int]]
    commit: Optional[tuple[int, int]]
    throttle: Optional[tuple[int, int]]
    prepare: Optional[tuple[int, int]]
    aio_wait: Optional[tuple[int, int]]
    kv_queued: Optional[tuple[int, int]]
    kv_commiting: Optional[tuple[int, int]]
    op_w_process: Optional[tuple[int, int]]
    op_w_prepare: Optional[tuple[int, int]]
    omap_lower_bound: Optional[tuple[int, int]]
    omap_upper_bound: Optional[tuple[int, int]]
    onode_hits: Optional[int]
    onode_misses: Optional[int]
    memory_mapped_bytes: Optional[int]
    memory_target_bytes: Optional[int]
    bluefs_fallbacks: Optional[int]
    fragmentation_micros: Optional[int]
    pgs: Optional[int]


#: The counters whose differences are used, which are adjacent.
_FIRST = DetailSample._fields.index('op_w_latency')
_END = DetailSample._fields.index('onode_misses') + 1
_COUNTERS = DetailSample._fields[_FIRST:_END]


def take_details(
    reader: CounterReader, osd_id: int, names: DetailNames, sample: Sample
) -> DetailSample:
    """Read the details of the report that ``sample`` was taken from."""
    values: list[object] = []
    points = iter(reader.latest(osd_id, [path for path in names if path]))
    for path, is_number in zip(names, _IS_NUMBER):
        point = next(points) if path else None
        if (
            point is None
            or abs(point.time_s - sample.time_s) > SAME_REPORT_S
            or is_number != (point.avgcount is None)
        ):
            values.append(None)
        else:
            values.append(point.value if is_number else (point.value, point.avgcount))
    return DetailSample(
        sample.time_s,
        sample.nonce,
        sample.op_w_latency,
        sample.kv_sync,
        sample.kv_flush,
        sample.commit,
        *values,  # type: ignore[arg-type]  # by the order of the names
    )


def details(before: Optional[DetailSample], after: DetailSample) -> Details:
    """Differences of two detail samples; sizes only if they cannot be compared."""
    found = _differences(before, after)
    window_s = after.time_s - before.time_s if before and found else None
    lower, upper = found.get('omap_lower_bound'), found.get('omap_upper_bound')
    seek = Latency(lower[0] + upper[0], lower[1] + upper[1]) if lower and upper else None
    rounds, transactions = found.get('kv_sync'), found.get('commit')
    return Details(
        after.time_s,
        None if window_s is None else _write_latency(window_s, found),
        seek.mean_ms if seek else None,
        seek.operations if seek else None,
        # An OSD without tcmalloc reports 0.
        after.memory_mapped_bytes or None,
        after.memory_target_bytes or None,
        found.get('onode_hits'),
        found.get('onode_misses'),
        after.bluefs_fallbacks,
        None if after.fragmentation_micros is None else after.fragmentation_micros / 1e6,
        window_s,
        after.pgs,
        transactions.operations / rounds.operations
        if transactions and rounds and rounds.operations
        else None,
    )


def _differences(before: Optional[DetailSample], after: DetailSample) -> Mapping[str, Any]:
    """By counter; empty for samples of two processes, or with a counter reset between them."""
    if (
        before is None
        or before.nonce != after.nonce
        or not MIN_WINDOW_S <= after.time_s - before.time_s <= MAX_GAP_S
    ):
        return {}
    return dict(zip(_COUNTERS, differences(before[_FIRST:_END], after[_FIRST:_END]) or ()))


def choose(osd_ids: Sequence[int], round_number: int) -> frozenset[int]:
    """The OSDs to read details of in this round; all OSDs within ``ROUNDS`` rounds."""
    per_round = max(LEAST_PER_ROUND, -(-len(osd_ids) // ROUNDS))
    rounds = max(1, -(-len(osd_ids) // per_round))
    first = round_number % rounds * per_round
    return frozenset(osd_ids[first : first + per_round])


def _write_latency(window_s: float, found: Mapping[str, Any]) -> WriteLatency:
    mean_ms = {n: seen.mean_ms for n, seen in found.items() if isinstance(seen, Latency)}.get
    client_op_ms = mean_ms('op_w_latency')
    return WriteLatency(
        window_s=window_s,
        client_op_ms=client_op_ms,
        osd_queue_ms=_difference(client_op_ms, mean_ms('op_w_process')),
        osd_prepare_ms=mean_ms('op_w_prepare'),
        bluestore_ms=mean_ms('commit'),
        prepare_ms=mean_ms('prepare'),
        throttle_ms=mean_ms('throttle'),
        data_write_ms=mean_ms('aio_wait'),
        kv_queue_ms=mean_ms('kv_queued'),
        kv_round_ms=mean_ms('kv_commiting'),
        kv_flush_ms=mean_ms('kv_flush'),
        # Reef's kv_commit_lat: kv_sync_lat is the sum of both.
        kv_commit_ms=_difference(mean_ms('kv_sync'), mean_ms('kv_flush')),
    )


def _difference(whole: Optional[float], part: Optional[float]) -> Optional[float]:
    return None if whole is None or part is None else max(0.0, whole - part)


#: Sent to the mgr from Reef on, by this name; Pacific has no such counter.
SLOW_COMMITS = 'bluestore.slow_committed_kv_count'
SLOW_OP_ALERT = 'BLUESTORE_SLOW_OP_ALERT'
#: All that BlueStore counts of what raises its alert for slow operations.
SLOW_COUNTERS = (
    'bluestore.slow_aio_wait_count',
    SLOW_COMMITS,
    'bluestore.slow_read_onode_meta_count',
    'bluestore.slow_read_wait_aio_count',
)


class SlowEvents(NamedTuple):
    """Slow events of one OSD at one time; None: unknown."""

    #: Current slow requests.
    slow_ops: Optional[int] = None
    #: Slow commits since the OSD started.
    slow_commits: Optional[int] = None


class SlowEventReader(ClusterReader, CounterReader, Protocol):
    """The source of slow events."""


def read_slow_events(cluster: SlowEventReader, osd_ids: Iterable[int]) -> Mapping[int, SlowEvents]:
    slow_ops = cluster.slow_ops()
    points = {n: cluster.latest(n, (SLOW_COMMITS,))[0] for n in osd_ids}
    return {
        n: SlowEvents(slow_ops.get(n), None if point is None else point.value)
        for n, point in points.items()
    }


class AlertingOsd(NamedTuple):
    """An OSD with Ceph's alert for slow operations, which stays for a day after the last one."""

    #: For how long its counters were watched; None: it has none.
    watched_s: Optional[float]
    #: Since they grew; None: not while they were watched.
    quiet_s: Optional[float]


class SlowOps(NamedTuple):
    """Slow operations of an OSD while it was watched; times are seconds of one clock."""

    #: Number since it started; None: it has no such counters.
    seen: Optional[int]
    since_s: float
    grew_s: Optional[float] = None

    def at(self, now_s: float) -> AlertingOsd:
        watched_s = None if self.seen is None else max(0.0, now_s - self.since_s)
        quiet_s = None if self.grew_s is None else max(0.0, now_s - self.grew_s)
        return AlertingOsd(watched_s, quiet_s)


def count_slow_ops(reader: CounterReader, osd_id: int) -> Optional[int]:
    known = [point.value for point in reader.latest(osd_id, SLOW_COUNTERS) if point is not None]
    return sum(known) if known else None


def watch_slow_ops(
    known: Mapping[int, SlowOps], counts: Mapping[int, Optional[int]], now_s: float
) -> Mapping[int, SlowOps]:
    """The state after these counts; an OSD that restarted is watched anew."""
    found = {}
    for osd_id, count in counts.items():
        before = known.get(osd_id)
        if before is None or before.seen is None or count is None or count < before.seen:
            found[osd_id] = SlowOps(count, now_s)
        else:
            grew_s = now_s if count > before.seen else before.grew_s
            found[osd_id] = SlowOps(count, before.since_s, grew_s)
    return found
