"""What an OSD does, in the field's own quantities."""

from __future__ import annotations

from typing import NamedTuple, Optional


class Signals(NamedTuple):
    """Rates, means and sizes of one OSD over its newest window.

    None is "not known": the counter was never reported, is stale, or was reset inside the
    window. A mean (``*_ms``, ``*_avg``, ``*_per_client_byte``) is also None where nothing
    happened that it could be the mean of; a rate is then 0.0.

    Only operations that clients sent to this OSD as a primary are in ``*_iops`` and
    ``*_bytes_per_s``; the BlueFS and kv_sync signals also contain its work as a replica.
    """

    osd_id: int
    #: Length of the short window, between two reports of the OSD. None: no window yet.
    window_s: Optional[float] = None
    #: Age of the newest report that was used.
    sample_age_s: Optional[float] = None

    #: Mean duration of one round of BlueStore's kv_sync thread, and of its device flush.
    kv_sync_ms: Optional[float] = None
    #: Time inside kv_sync over wall time, 0..1: at 1 this one thread bounds the OSD's writes.
    kv_sync_busy: Optional[float] = None
    kv_flush_ms: Optional[float] = None
    #: Mean time from a transaction's submission to BlueStore until it is durable.
    commit_ms: Optional[float] = None

    #: Client operations: `osd.op_w`, `osd.op_r`, and `osd.op_rw` (class calls that read and
    #: write, such as RGW's bucket index, and its puts over objects that are there, with their
    #: data). An operation's bytes are counted with it: ``write_bytes_*`` are those of op_w alone.
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

    #: What BlueFS wrote for RocksDB. ``slow`` is where bytes went, not one more kind: it is
    #: contained in the other two and must not be added to them.
    wal_bytes_per_s: Optional[float] = None
    sst_bytes_per_s: Optional[float] = None
    slow_bytes_per_s: Optional[float] = None
    #: WAL bytes per byte, and per operation, of client writes (op_w and op_rw).
    wal_bytes_per_client_byte: Optional[float] = None
    wal_bytes_per_write_op: Optional[float] = None

    #: Bytes that compaction wrote (without flushes), and how that is known: "measured" from
    #: RocksDB's tickers or "estimated" from SST against WAL bytes.
    compaction_bytes_per_s: Optional[float] = None
    compaction_source: Optional[str] = None
    compaction_window_s: Optional[float] = None
    #: (WAL + SST bytes) / WAL bytes over the long window.
    db_write_amp: Optional[float] = None
    db_write_amp_window_s: Optional[float] = None

    #: True: DB and data share a device, so ``db_total_bytes`` (that device) is no limit of
    #: the DB and is left None.
    db_device_shared: Optional[bool] = None
    db_used_bytes: Optional[int] = None
    db_total_bytes: Optional[int] = None
    wal_used_bytes: Optional[int] = None
    wal_total_bytes: Optional[int] = None
    slow_used_bytes: Optional[int] = None
    slow_total_bytes: Optional[int] = None
