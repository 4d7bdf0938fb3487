"""Signals: rates, means and sizes of one OSD."""

from __future__ import annotations

from typing import NamedTuple, Optional


class Signals(NamedTuple):
    """Rates, means and sizes of one OSD over its newest window.

    None is "unknown": the counter was never reported, is stale, or was reset in the window. A mean
    (``*_ms``, ``*_avg``, ``*_per_client_byte``) is also None without any event in the window; a
    rate is then 0.0.

    ``*_iops`` and ``*_bytes_per_s`` count client operations to this OSD as a primary; BlueFS and
    kv_sync signals include its work as a replica.
    """

    osd_id: int
    #: Length of the short window between two reports. None: no window yet.
    window_s: Optional[float] = None
    #: Time of the newest report, on the mgr's clock.
    sampled_s: Optional[float] = None

    #: Mean duration of one round of BlueStore's kv_sync thread, and of its device flush.
    kv_sync_ms: Optional[float] = None
    #: Busy time of the kv_sync thread over wall time, 0..1: at 1 it limits the OSD's writes.
    kv_sync_busy: Optional[float] = None
    kv_flush_ms: Optional[float] = None
    #: Mean time from a transaction's submission to its commit.
    commit_ms: Optional[float] = None

    #: Client operations: `osd.op_w`, `osd.op_r`, and `osd.op_rw` (class calls that read and write,
    #: such as bucket index updates, and RGW's overwrites of objects with their data). Bytes are
    #: counted with their operation: ``write_bytes_*`` are of op_w alone.
    write_iops: Optional[float] = None
    read_iops: Optional[float] = None
    rw_iops: Optional[float] = None
    write_bytes_per_s: Optional[float] = None
    read_bytes_per_s: Optional[float] = None
    rw_bytes_per_s: Optional[float] = None
    write_bytes_avg: Optional[float] = None
    read_bytes_avg: Optional[float] = None
    op_w_latency_ms: Optional[float] = None
    recovery_ops_per_s: Optional[float] = None
    recovery_bytes_per_s: Optional[float] = None

    #: BlueFS writes for RocksDB. ``slow`` is a part of the other two and must not be added to them.
    wal_bytes_per_s: Optional[float] = None
    sst_bytes_per_s: Optional[float] = None
    slow_bytes_per_s: Optional[float] = None
    #: WAL bytes per byte, and per operation, of client writes (op_w and op_rw).
    wal_bytes_per_client_byte: Optional[float] = None
    wal_bytes_per_write_op: Optional[float] = None

    #: Compaction writes without flushes: "measured" from RocksDB's tickers, or "estimated" from SST
    #: and WAL bytes.
    compaction_bytes_per_s: Optional[float] = None
    compaction_source: Optional[str] = None
    compaction_window_s: Optional[float] = None
    #: (WAL + SST bytes) / WAL bytes over the long window.
    db_write_amp: Optional[float] = None
    db_write_amp_window_s: Optional[float] = None

    #: True: DB and data share a device, so its size is no limit for the DB, and ``db_total_bytes``
    #: is None.
    db_device_shared: Optional[bool] = None
    db_used_bytes: Optional[int] = None
    db_total_bytes: Optional[int] = None
    wal_used_bytes: Optional[int] = None
    wal_total_bytes: Optional[int] = None
    slow_used_bytes: Optional[int] = None
    slow_total_bytes: Optional[int] = None

    def age_s(self, now_s: Optional[float]) -> Optional[float]:
        """Age of the newest report; None without one, or if the time is unknown."""
        if self.sampled_s is None or now_s is None:
            return None
        return max(0.0, now_s - self.sampled_s)
