"""Detail counters, read for some OSDs per full sample: the parts of a write, memory, caches.

Reading a counter costs the mgr 2.5 us, too much at every tick for values that change slowly or are
only displayed. The first sample of a process has them too.

The parts of a write are those of Li Xiaoyan, Performance tuning in BlueStore & RocksDB, 2018,
"Write IO time span": the client operation contains BlueStore's transaction, which contains the
queue of the kv_sync thread and its rounds. The means have different populations: ``client_op``
covers client writes to this OSD, BlueStore's latencies cover all its transactions, replicated
writes included, and flush, commit and WAL sync are per round of the kv_sync thread, which many
transactions share.

Slow operations of OSDs are read for the few OSDs under comparison or with an alert of Ceph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Optional

from ..knowledge import loader
from ..mgr.protocols import Cluster, CounterReader
from ..notes import Amount, Count, Unbounded
from .sample import DetailSample
from .window import MAX_GAP_S, MIN_WINDOW_S, Latency, differences

#: All OSDs have had their turn after this many rounds; a full sample is one or two of them.
ROUNDS = 4
#: Minimum per round, for small clusters.
LEAST_PER_ROUND = 2


@dataclass(frozen=True)
class LatencyPart:
    """One part of the write path."""

    part: Annotated[str, 'Stable name of the part, such as "kv-queue".']
    within: Annotated[Optional[str], 'The part that contains it; null for the whole write.']
    ms: Annotated[Optional[Amount], 'Mean in milliseconds; null if the release does not report it.']
    signal: Annotated[str, 'Source of the value.']
    share: Annotated[Optional[Amount], 'Share of the whole write; null: unknown.'] = None


def _parts() -> Any:
    """Each part with the one that contains it, its field and its source."""
    return loader.load('workload')['write_parts']


class WriteLatency(NamedTuple):
    """Breakdown of client write latency.

    Means over ``window_s`` seconds, in milliseconds; None: not sent by the release.
    """

    window_s: Annotated[Amount, Unbounded(), 'Seconds between the two samples.']
    #: From the arrival of a client write to its reply.
    client_op_ms: Optional[float] = None
    osd_queue_ms: Optional[float] = None
    #: Until the transaction is submitted.
    osd_prepare_ms: Optional[float] = None
    #: From submission to commit.
    bluestore_ms: Optional[float] = None
    #: Before Reef `submit_lat`, which includes a little more.
    prepare_ms: Optional[float] = None
    #: The part of ``prepare_ms`` spent in the throttle.
    throttle_ms: Optional[float] = None
    #: It precedes the metadata commit.
    data_write_ms: Optional[float] = None
    kv_queue_ms: Optional[float] = None
    #: `state_kv_commiting_lat`: the round of the kv_sync thread that commits the transaction.
    kv_round_ms: Optional[float] = None
    #: Per round: the flush of the data device, and the commit to RocksDB.
    kv_flush_ms: Optional[float] = None
    kv_commit_ms: Optional[float] = None
    #: From RocksDB's statistics, if enabled: fsync of the WAL, and the insert of one write.
    wal_sync_ms: Optional[float] = None
    memtable_insert_ms: Optional[float] = None

    @property
    def replicas_ms(self) -> Optional[float]:
        """The rest besides queue, preparation and local BlueStore: replicas and the PG.

        None if the rest is negative: the local commit took longer.
        """
        parts = (self.osd_queue_ms, self.osd_prepare_ms, self.bluestore_ms)
        if self.client_op_ms is None or None in parts:
            return None
        rest_ms = self.client_op_ms - sum(part for part in parts if part is not None)
        return rest_ms if rest_ms >= 0 else None

    @property
    def kv_ms(self) -> Optional[float]:
        """From the end of the data write to the commit."""
        if self.kv_queue_ms is not None and self.kv_round_ms is not None:
            return self.kv_queue_ms + self.kv_round_ms
        if self.bluestore_ms is None or self.prepare_ms is None or self.data_write_ms is None:
            return None
        rest_ms = self.bluestore_ms - self.prepare_ms - self.data_write_ms
        return rest_ms if rest_ms >= 0 else None

    @property
    def parts(self) -> Annotated[tuple[LatencyPart, ...], 'Parts in the order of the write path.']:
        """Unknown ones are included."""
        whole_ms = self.client_op_ms
        times = ((part, getattr(self, part['field'])) for part in _parts())
        return tuple(
            LatencyPart(
                part['part'],
                part['within'],
                ms,
                part['signal'],
                ms / whole_ms if ms is not None and whole_ms else None,
            )
            for part, ms in times
        )


class Details(NamedTuple):
    """Details of one OSD between two detail samples; None: unknown."""

    #: Time of the newer sample, on the clock of the reports.
    time_s: float
    latency: Optional[WriteLatency]
    omap_seek_ms: Annotated[
        Optional[Amount],
        'Mean time to place an iterator in RocksDB, in milliseconds; null before Reef.',
    ]
    omap_seeks: Optional[int]
    memory_mapped_bytes: Annotated[Optional[Count], 'Mapped memory; null without tcmalloc.']
    memory_target_bytes: Annotated[Optional[Count], 'Target of memory autotuning.']
    onode_hits: Optional[int] = None
    onode_misses: Optional[int] = None
    #: BlueFS allocations below bluefs_shared_alloc_size since the OSD started.
    bluefs_fallbacks: Optional[int] = None
    #: Fragmentation of the data device's free space, 0..1; Pacific does not send it.
    fragmentation: Optional[float] = None
    window_s: Optional[float] = None
    pgs: Optional[int] = None
    transactions_per_round: Optional[float] = None


#: The counters whose differences are used, which are adjacent.
_FIRST = DetailSample._fields.index('op_w_latency')
_END = DetailSample._fields.index('onode_misses') + 1
_COUNTERS = DetailSample._fields[_FIRST:_END]


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

    slow_ops: Optional[int] = None
    slow_commits: Optional[int] = None


def read_slow_events(cluster: Cluster, osd_ids: Iterable[int]) -> Mapping[int, SlowEvents]:
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
