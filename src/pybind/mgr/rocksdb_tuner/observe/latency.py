"""Breakdown of a client write's latency, from the OSD's counters. Pure.

After Li Xiaoyan, Performance tuning in BlueStore & RocksDB, 2018, "Write IO time span": the client
operation contains BlueStore's transaction, which contains the queue of the kv_sync thread and its
rounds.

The means have different populations: ``client_op`` covers client writes to this OSD, BlueStore's
latencies cover all its transactions, replicated writes included, and flush, commit and WAL sync are
per round of the kv_sync thread, which many transactions share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple, Optional

from ..notes import Amount, Unbounded

#: Below this no part of a write is worth reporting as its bottleneck.
MIN_CLIENT_OP_MS = 0.05


@dataclass(frozen=True)
class LatencyPart:
    """One part of the write path."""

    part: Annotated[str, 'Stable name of the part, such as "kv-queue".']
    within: Annotated[Optional[str], 'The part that contains it; null for the whole write.']
    ms: Annotated[Optional[Amount], 'Mean in milliseconds; null if the release does not report it.']
    signal: Annotated[str, 'Source of the value.']
    share: Annotated[Optional[Amount], 'Share of the whole write; null: unknown.'] = None


@dataclass(frozen=True)
class Bottleneck:
    """The largest known part."""

    part: Annotated[str, 'Name of the part.']
    ms: Annotated[Amount, 'Mean in milliseconds.']
    share: Annotated[Optional[Amount], 'Share of the whole write, 0..1.']
    statement: Annotated[str, 'Interpretation, as a sentence.']


#: Name of each part, of the one that contains it, of its field, and its source.
_PARTS = (
    ('client-op', None, 'client_op_ms', 'osd.op_w_latency'),
    ('osd-queue', 'client-op', 'osd_queue_ms', 'osd.op_w_latency - osd.op_w_process_latency'),
    ('osd-prepare', 'client-op', 'osd_prepare_ms', 'osd.op_w_prepare_latency'),
    ('bluestore', 'client-op', 'bluestore_ms', 'bluestore.txc_commit_lat'),
    ('prepare', 'bluestore', 'prepare_ms', 'bluestore.state_prepare_lat'),
    ('throttle', 'prepare', 'throttle_ms', 'bluestore.txc_throttle_lat'),
    ('data-write', 'bluestore', 'data_write_ms', 'bluestore.state_aio_wait_lat'),
    ('kv', 'bluestore', 'kv_ms', 'bluestore.txc_commit_lat, the rest'),
    ('kv-queue', 'kv', 'kv_queue_ms', 'bluestore.state_kv_queued_lat'),
    ('kv-flush', 'kv', 'kv_flush_ms', 'bluestore.kv_flush_lat'),
    ('kv-commit', 'kv', 'kv_commit_ms', 'bluestore.kv_sync_lat - bluestore.kv_flush_lat'),
    ('wal-sync', 'kv-commit', 'wal_sync_ms', 'rocksdb.wal.file.sync.micros'),
    (
        'memtable-insert',
        'kv-commit',
        'memtable_insert_ms',
        'rocksdb.rocksdb_write_memtable_time',
    ),
    ('replicas', 'client-op', 'replicas_ms', 'osd.op_w_latency, the rest'),
)


class WriteLatency(NamedTuple):
    """Breakdown of client write latency.

    Means over ``window_s`` seconds, in milliseconds; None: not sent by the release.
    """

    window_s: Annotated[Amount, Unbounded(), 'Seconds between the two samples.']
    #: `osd.op_w_latency`: from the arrival of a client write to its reply.
    client_op_ms: Optional[float] = None
    #: Time in the OSD's queue: `op_w_latency` - `op_w_process_latency`.
    osd_queue_ms: Optional[float] = None
    #: `osd.op_w_prepare_latency`: until the transaction is submitted.
    osd_prepare_ms: Optional[float] = None
    #: BlueStore's `txc_commit_lat` (`commit_lat` before Reef): from submission to commit.
    bluestore_ms: Optional[float] = None
    #: `state_prepare_lat`; before Reef `submit_lat`, which includes a little more.
    prepare_ms: Optional[float] = None
    #: The part of ``prepare_ms`` spent in the throttle.
    throttle_ms: Optional[float] = None
    #: `state_aio_wait_lat`: the data write, which precedes the metadata commit.
    data_write_ms: Optional[float] = None
    #: `state_kv_queued_lat`: waiting for the kv_sync thread.
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
        times = ((*part, getattr(self, part[2])) for part in _PARTS)
        return tuple(
            LatencyPart(name, within, ms, signal, None if ms is None else _share(ms, whole_ms))
            for name, within, _, signal, ms in times
        )

    @property
    def bottleneck(
        self,
    ) -> Annotated[
        Optional[Bottleneck],
        'The part with the highest latency; null without writes or with too little data.',
    ]:
        """The largest known part."""
        if self.client_op_ms is None or self.client_op_ms < MIN_CLIENT_OP_MS:
            return None
        if self.bluestore_ms is None:
            return None
        known = {p.part: p.ms for p in self.parts if p.ms is not None and math.isfinite(p.ms)}
        throttle_ms = known.get('throttle', 0.0)
        if 'prepare' in known:
            # Preparation without the throttle.
            known['prepare'] = max(0.0, known['prepare'] - throttle_ms)
        if 'kv-queue' in known:
            # Queue and round are known per transaction, so the sum of both is redundant.
            known.pop('kv', None)
            if self.kv_round_ms is not None:
                known.update(_round_of_a_write(self.kv_round_ms, self))
        else:
            known.pop('kv-flush', None)
            known.pop('kv-commit', None)
        named = {part: ms for part, ms in known.items() if part in _WHAT_IT_MEANS}
        if not named:
            return None
        part, ms = max(named.items(), key=lambda item: item[1])
        share = min(1.0, ms / self.client_op_ms)
        return Bottleneck(part, ms, share, _statement(part, self))


def _share(ms: float, whole_ms: Optional[float]) -> Optional[float]:
    return ms / whole_ms if whole_ms else None


_WHAT_IT_MEANS = {
    'osd-queue': "the OSD's own queue: its threads, or the CPU they run on, are behind",
    'osd-prepare': 'preparing the operation: reading object metadata, mostly',
    'prepare': "preparing BlueStore's transaction: reading object metadata, or CPU",
    'throttle': "BlueStore's throttle: the device is slower than the clients",
    'data-write': 'writing the data to its device',
    'kv': 'the kv_sync thread: waiting for it, and the round that includes the write',
    'kv-queue': 'waiting for the one kv_sync thread, which is busy with earlier rounds',
    'kv-flush': 'flushing the data device before metadata is written',
    'kv-commit': 'committing to RocksDB: writing and syncing the WAL, and memtable inserts',
    'replicas': 'waiting for replicas, or for the placement group',
}


def _round_of_a_write(round_ms: float, latency: WriteLatency) -> dict[str, float]:
    """A write's round, split into flush and commit like the average round."""
    flush_ms, commit_ms = latency.kv_flush_ms, latency.kv_commit_ms
    if flush_ms is None or commit_ms is None or flush_ms + commit_ms <= 0:
        return {'kv-commit': round_ms}
    share = flush_ms / (flush_ms + commit_ms)
    return {'kv-flush': round_ms * share, 'kv-commit': round_ms * (1 - share)}


def _statement(part: str, latency: WriteLatency) -> str:
    text = _WHAT_IT_MEANS[part]
    if part == 'kv-commit' and latency.wal_sync_ms is not None and latency.kv_commit_ms:
        of_it = min(1.0, latency.wal_sync_ms / latency.kv_commit_ms)
        text += f' ({of_it:.0%} of a commit is the sync of the WAL)'
    if part == 'kv' and latency.kv_flush_ms is not None and latency.kv_commit_ms:
        larger = 'flush' if latency.kv_flush_ms > latency.kv_commit_ms else 'commit to RocksDB'
        text += f'; the larger part of a round is its {larger}'
    return text
