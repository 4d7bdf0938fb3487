"""Signals of one OSD from its windows. Pure."""

from __future__ import annotations

from typing import Optional

from ..mgr.records import OsdInfo
from .deep import CompactionRate
from .history import OsdHistory, WrittenBytes
from .signals import Signals
from .window import Window

#: Minimum SST bytes for a write amplification; with less it depends on how full the memtables are.
#: RocksDB's default size of a memtable and of an SST file.
MIN_SST_BYTES = 64 * 1024 * 1024

#: A window without counters; its length is never a divisor.
_NO_WINDOW = Window(0.0, *(None for _ in Window._fields[1:]))


def signals(osd: OsdInfo, history: OsdHistory, compaction: Optional[CompactionRate]) -> Signals:
    """Signals of ``osd``; ``compaction``: RocksDB's own figure if available."""
    newest = history.newest
    if newest is None:
        return Signals(osd_id=osd.osd_id)
    # One pass without a call for each field: this is for every OSD at every tick.
    window = history.short() or _NO_WINDOW
    window_s, kv_sync, kv_flush, commit, op_w, op_w_in, op_w_latency, op_r, op_r_out = window[:9]
    op_rw, op_rw_in, recovered, recovered_bytes, wal_bytes, sst_bytes, slow_bytes = window[9:]
    written = history.written()
    shared = None if osd.dedicated_db is None else not osd.dedicated_db
    write_amp = _write_amplification(written)
    rate, source, rate_window_s = _compaction(compaction, written)
    write_ops = None if op_w is None or op_rw is None else op_w + op_rw
    client_bytes = None if op_w_in is None or op_rw_in is None else op_w_in + op_rw_in
    # By position, in half the time of by name; the comments are checked by a test.
    return Signals(
        osd.osd_id,
        window_s or None,
        newest.time_s,
        kv_sync.mean_ms if kv_sync else None,  # kv_sync_ms
        # A round that ends in the window may have started before it.
        min(1.0, kv_sync.total_s / window_s) if kv_sync else None,  # kv_sync_busy
        kv_flush.mean_ms if kv_flush else None,  # kv_flush_ms
        commit.mean_ms if commit else None,  # commit_ms
        None if op_w is None else op_w / window_s,  # write_iops
        None if op_r is None else op_r / window_s,  # read_iops
        None if op_rw is None else op_rw / window_s,  # rw_iops
        None if op_w_in is None else op_w_in / window_s,  # write_bytes_per_s
        None if op_r_out is None else op_r_out / window_s,  # read_bytes_per_s
        None if op_rw_in is None else op_rw_in / window_s,  # rw_bytes_per_s
        op_w_in / op_w if op_w_in is not None and op_w else None,  # write_bytes_avg
        op_r_out / op_r if op_r_out is not None and op_r else None,  # read_bytes_avg
        op_w_latency.mean_ms if op_w_latency else None,  # op_w_latency_ms
        None if recovered is None else recovered / window_s,  # recovery_ops_per_s
        None if recovered_bytes is None else recovered_bytes / window_s,  # recovery_bytes_per_s
        None if wal_bytes is None else wal_bytes / window_s,  # wal_bytes_per_s
        None if sst_bytes is None else sst_bytes / window_s,  # sst_bytes_per_s
        None if slow_bytes is None else slow_bytes / window_s,  # slow_bytes_per_s
        wal_bytes / client_bytes if wal_bytes is not None and client_bytes else None,
        wal_bytes / write_ops if wal_bytes is not None and write_ops else None,
        rate,
        source,
        rate_window_s,
        write_amp,
        written.window_s if written and write_amp is not None else None,
        shared,
        newest.db_used_bytes,
        # On a shared device db_total is the whole device, which is no limit for the DB.
        newest.db_total_bytes if shared is False else None,
        # BlueFS reports 0 without such a device.
        newest.wal_used_bytes if newest.wal_total_bytes else None,
        newest.wal_total_bytes or None,
        newest.slow_used_bytes if newest.slow_total_bytes else None,
        newest.slow_total_bytes or None,
    )


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
