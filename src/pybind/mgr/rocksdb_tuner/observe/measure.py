"""Signals of one OSD from its windows. Pure."""

from __future__ import annotations

from typing import Optional

from ..mgr.records import OsdInfo
from .deep import CompactionRate
from .history import OsdHistory, WrittenBytes
from .signals import Signals
from .window import Latency, Window

#: Minimum SST bytes for a write amplification; with less it depends on how full the memtables are.
#: RocksDB's default size of a memtable and of an SST file.
MIN_SST_BYTES = 64 * 1024 * 1024

#: A window without counters; its length is never a divisor.
_NO_WINDOW = Window(0.0, *(None for _ in Window._fields[1:]))


def signals(
    osd: OsdInfo, history: OsdHistory, compaction: Optional[CompactionRate], now_s: float
) -> Signals:
    """Signals of ``osd``; ``compaction``: RocksDB's own figure if available."""
    newest = history.newest
    if newest is None:
        return Signals(osd_id=osd.osd_id)
    window = history.short or _NO_WINDOW
    window_s = window.window_s
    written = history.written()
    shared = None if osd.dedicated_db is None else not osd.dedicated_db
    kv_sync, wal_bytes = window.kv_sync, window.bytes_written_wal
    write_ops = _sum(window.op_w, window.op_rw)
    client_bytes = _sum(window.op_w_in_bytes, window.op_rw_in_bytes)
    write_amp = _write_amplification(written)
    rate, source, rate_window_s = _compaction(compaction, written)
    return Signals(
        osd_id=osd.osd_id,
        window_s=window_s or None,
        sample_age_s=max(0.0, now_s - newest.time_s),
        kv_sync_ms=_mean_ms(kv_sync),
        # A round that ends in the window may have started before it.
        kv_sync_busy=min(1.0, kv_sync.total_s / window_s) if kv_sync else None,
        kv_flush_ms=_mean_ms(window.kv_flush),
        commit_ms=_mean_ms(window.commit),
        write_iops=_rate(window.op_w, window_s),
        read_iops=_rate(window.op_r, window_s),
        rw_iops=_rate(window.op_rw, window_s),
        write_bytes_per_s=_rate(window.op_w_in_bytes, window_s),
        read_bytes_per_s=_rate(window.op_r_out_bytes, window_s),
        rw_bytes_per_s=_rate(window.op_rw_in_bytes, window_s),
        write_bytes_avg=_mean(window.op_w_in_bytes, window.op_w),
        read_bytes_avg=_mean(window.op_r_out_bytes, window.op_r),
        op_w_latency_ms=_mean_ms(window.op_w_latency),
        recovery_ops_per_s=_rate(window.recovery_ops, window_s),
        recovery_bytes_per_s=_rate(window.recovery_bytes, window_s),
        wal_bytes_per_s=_rate(wal_bytes, window_s),
        sst_bytes_per_s=_rate(window.bytes_written_sst, window_s),
        slow_bytes_per_s=_rate(window.bytes_written_slow, window_s),
        wal_bytes_per_client_byte=_mean(wal_bytes, client_bytes),
        wal_bytes_per_write_op=_mean(wal_bytes, write_ops),
        compaction_bytes_per_s=rate,
        compaction_source=source,
        compaction_window_s=rate_window_s,
        db_write_amp=write_amp,
        db_write_amp_window_s=written.window_s if written and write_amp is not None else None,
        db_device_shared=shared,
        db_used_bytes=newest.db_used_bytes,
        # On a shared device db_total is the whole device, which is no limit for the DB.
        db_total_bytes=newest.db_total_bytes if shared is False else None,
        # BlueFS reports 0 without such a device.
        wal_used_bytes=newest.wal_used_bytes if newest.wal_total_bytes else None,
        wal_total_bytes=newest.wal_total_bytes or None,
        slow_used_bytes=newest.slow_used_bytes if newest.slow_total_bytes else None,
        slow_total_bytes=newest.slow_total_bytes or None,
    )


def _rate(amount: Optional[int], window_s: float) -> Optional[float]:
    return None if amount is None else amount / window_s


def _mean_ms(latency: Optional[Latency]) -> Optional[float]:
    return latency.mean_ms if latency is not None else None


def _mean(total: Optional[int], count: Optional[int]) -> Optional[float]:
    return total / count if total is not None and count else None


def _sum(a: Optional[int], b: Optional[int]) -> Optional[int]:
    return None if a is None or b is None else a + b


def _write_amplification(written: Optional[WrittenBytes]) -> Optional[float]:
    """(WAL + SST) / WAL: device writes per byte that BlueStore writes to RocksDB.

    ``bytes_written_slow`` is not a third term: WAL and SST bytes already include it.
    """
    if written is None or written.sst_bytes < MIN_SST_BYTES or written.wal_bytes <= 0:
        return None
    return (written.wal_bytes + written.sst_bytes) / written.wal_bytes


def _compaction(
    measured: Optional[CompactionRate], written: Optional[WrittenBytes]
) -> tuple[Optional[float], Optional[str], Optional[float]]:
    """(bytes per second, "measured" or "estimated", window in seconds).

    SST files are written by flushes and compaction, and flushes write at most the WAL bytes, so
    SST - WAL bytes is a lower bound for compaction. It is meaningless with fewer SST than WAL
    bytes, unless no SST was written at all.
    """
    if measured is not None:
        return measured.bytes_per_s, 'measured', measured.window_s
    if written is None:
        return None, None, None
    least_bytes = written.sst_bytes - written.wal_bytes
    if least_bytes > 0 or written.sst_bytes == 0:
        return max(0, least_bytes) / written.window_s, 'estimated', written.window_s
    return None, None, None
