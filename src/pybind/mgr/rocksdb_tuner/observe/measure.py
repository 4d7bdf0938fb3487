"""Signals of one OSD from its windows. Pure."""

from __future__ import annotations

from typing import Optional

from ..mgr.records import OsdInfo
from .deep import CompactionRate
from .history import OsdHistory, WrittenBytes
from .signals import Signals
from .window import Window

#: SST bytes below which a write amplification says only how full the memtables were: RocksDB's
#: default for one memtable and one SST file.
MIN_SST_BYTES = 64 * 1024 * 1024


def signals(
    osd: OsdInfo, history: OsdHistory, compaction: Optional[CompactionRate], now_s: float
) -> Signals:
    """What ``osd`` does; ``compaction`` is RocksDB's own figure where the OSD offers it."""
    newest = history.newest
    if newest is None:
        return Signals(osd_id=osd.osd_id)
    window = history.short
    written = history.written()
    shared = None if osd.dedicated_db is None else not osd.dedicated_db
    kv_sync = window.kv_sync if window else None
    wal_bytes = window.bytes_written_wal if window else None
    write_ops = _sum(window.op_w, window.op_rw) if window else None
    client_bytes = _sum(window.op_w_in_bytes, window.op_rw_in_bytes) if window else None
    rate, source, rate_window_s = _compaction(compaction, written)
    return Signals(
        osd_id=osd.osd_id,
        window_s=window.window_s if window else None,
        sample_age_s=max(0.0, now_s - newest.time_s),
        kv_sync_ms=kv_sync.mean_ms if kv_sync else None,
        # Rounds that end just inside the window may have begun before it.
        kv_sync_busy=min(1.0, kv_sync.total_s / window.window_s) if window and kv_sync else None,
        kv_flush_ms=window.kv_flush.mean_ms if window and window.kv_flush else None,
        commit_ms=window.commit.mean_ms if window and window.commit else None,
        write_iops=_rate(window, window.op_w if window else None),
        read_iops=_rate(window, window.op_r if window else None),
        rw_iops=_rate(window, window.op_rw if window else None),
        write_bytes_per_s=_rate(window, window.op_w_in_bytes if window else None),
        read_bytes_per_s=_rate(window, window.op_r_out_bytes if window else None),
        rw_bytes_per_s=_rate(window, window.op_rw_in_bytes if window else None),
        write_bytes_avg=_mean(window.op_w_in_bytes, window.op_w) if window else None,
        read_bytes_avg=_mean(window.op_r_out_bytes, window.op_r) if window else None,
        op_w_latency_ms=window.op_w_latency.mean_ms if window and window.op_w_latency else None,
        recovery_ops_per_s=_rate(window, window.recovery_ops if window else None),
        recovery_bytes_per_s=_rate(window, window.recovery_bytes if window else None),
        wal_bytes_per_s=_rate(window, wal_bytes),
        sst_bytes_per_s=_rate(window, window.bytes_written_sst if window else None),
        slow_bytes_per_s=_rate(window, window.bytes_written_slow if window else None),
        wal_bytes_per_client_byte=_mean(wal_bytes, client_bytes),
        wal_bytes_per_write_op=_mean(wal_bytes, write_ops),
        compaction_bytes_per_s=rate,
        compaction_source=source,
        compaction_window_s=rate_window_s,
        db_write_amp=_write_amplification(written),
        db_write_amp_window_s=written.window_s
        if _write_amplification(written) and written
        else None,
        db_device_shared=shared,
        db_used_bytes=newest.db_used_bytes,
        # On a shared device db_total is the whole device, which the DB may not fill: no limit.
        db_total_bytes=newest.db_total_bytes if shared is False else None,
        # BlueFS says 0 where there is no such device.
        wal_used_bytes=newest.wal_used_bytes if newest.wal_total_bytes else None,
        wal_total_bytes=newest.wal_total_bytes or None,
        slow_used_bytes=newest.slow_used_bytes if newest.slow_total_bytes else None,
        slow_total_bytes=newest.slow_total_bytes or None,
    )


def _rate(window: Optional[Window], amount: Optional[int]) -> Optional[float]:
    return None if window is None or amount is None else amount / window.window_s


def _mean(total: Optional[int], count: Optional[int]) -> Optional[float]:
    return total / count if total is not None and count else None


def _sum(a: Optional[int], b: Optional[int]) -> Optional[int]:
    return None if a is None or b is None else a + b


def _write_amplification(written: Optional[WrittenBytes]) -> Optional[float]:
    """(WAL + SST) / WAL: what the device takes for every byte that BlueStore gives RocksDB.

    ``bytes_written_slow`` is not a third term: it says on which device WAL and SST bytes went.
    """
    if written is None or written.sst_bytes < MIN_SST_BYTES or written.wal_bytes <= 0:
        return None
    return (written.wal_bytes + written.sst_bytes) / written.wal_bytes


def _compaction(
    measured: Optional[CompactionRate], written: Optional[WrittenBytes]
) -> tuple[Optional[float], Optional[str], Optional[float]]:
    """(bytes per second, "measured" or "estimated", window in seconds).

    SST files are written by flushes and by compaction, and a flush writes no more than went
    through the WAL: SST - WAL bytes is the least that compaction wrote. Where SST bytes are
    fewer than WAL bytes that bound says nothing, unless no SST was written at all.
    """
    if measured is not None:
        return measured.bytes_per_s, 'measured', measured.window_s
    if written is None:
        return None, None, None
    least_bytes = written.sst_bytes - written.wal_bytes
    if least_bytes > 0 or written.sst_bytes == 0:
        return max(0, least_bytes) / written.window_s, 'estimated', written.window_s
    return None, None, None
