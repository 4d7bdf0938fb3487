"""Windows and signals by their plain definitions, which the faster ones are compared with."""

from __future__ import annotations

from typing import Optional, Union

from rocksdb_tuner.observe.history import OsdHistory
from rocksdb_tuner.observe.sample import Sample
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.observe.window import MIN_WINDOW_S, Latency, Window

_Counter = Union[None, int, tuple[int, int]]


def _difference(old: _Counter, new: _Counter) -> Union[int, Latency, None]:
    """Raises ValueError for a counter that was reset."""
    if old is None or new is None:
        return None
    if isinstance(old, tuple) and isinstance(new, tuple):
        total, count = new[0] - old[0], new[1] - old[1]
        if min(total, count) < 0:
            raise ValueError
        return Latency(total / 1e9, count)
    assert isinstance(old, int)
    assert isinstance(new, int)
    if new < old:
        raise ValueError
    return new - old


def plain_window(before: Sample, after: Sample) -> Optional[Window]:
    """The difference of each counter by its name."""
    window_s = after.time_s - before.time_s
    if before.nonce != after.nonce or window_s < MIN_WINDOW_S:
        return None
    try:
        found = {
            field: _difference(getattr(before, field), getattr(after, field))
            for field in Window._fields[1:]
        }
    except ValueError:
        return None
    return Window(window_s=window_s, **found)  # type: ignore[arg-type]


def _over(amount: Optional[float], whole: Optional[float]) -> Optional[float]:
    return None if amount is None or not whole else amount / whole


def _sum(a: Optional[int], b: Optional[int]) -> Optional[int]:
    return None if a is None or b is None else a + b


def _ms(latency: Optional[Latency]) -> Optional[float]:
    return None if latency is None else latency.mean_ms


def plain_signals(history: OsdHistory, dedicated_db: Optional[bool]) -> Signals:
    """The signals that come from the newest window and the newest sample, by their names."""
    newest, w = history.newest, history.short()
    assert newest is not None
    alone = dedicated_db is True
    found = Signals(
        osd_id=0,
        sampled_s=newest.time_s,
        db_device_shared=None if dedicated_db is None else not dedicated_db,
        db_used_bytes=newest.db_used_bytes,
        db_total_bytes=newest.db_total_bytes if alone else None,
        wal_used_bytes=newest.wal_used_bytes if newest.wal_total_bytes else None,
        wal_total_bytes=newest.wal_total_bytes or None,
        slow_used_bytes=newest.slow_used_bytes if newest.slow_total_bytes else None,
        slow_total_bytes=newest.slow_total_bytes or None,
    )
    if w is None:
        return found
    return found._replace(
        window_s=w.window_s,
        kv_sync_ms=_ms(w.kv_sync),
        kv_sync_busy=None if w.kv_sync is None else min(1.0, w.kv_sync.total_s / w.window_s),
        kv_flush_ms=_ms(w.kv_flush),
        commit_ms=_ms(w.commit),
        op_w_latency_ms=_ms(w.op_w_latency),
        write_iops=_over(w.op_w, w.window_s),
        read_iops=_over(w.op_r, w.window_s),
        rw_iops=_over(w.op_rw, w.window_s),
        write_bytes_per_s=_over(w.op_w_in_bytes, w.window_s),
        read_bytes_per_s=_over(w.op_r_out_bytes, w.window_s),
        rw_bytes_per_s=_over(w.op_rw_in_bytes, w.window_s),
        write_bytes_avg=_over(w.op_w_in_bytes, w.op_w),
        read_bytes_avg=_over(w.op_r_out_bytes, w.op_r),
        recovery_ops_per_s=_over(w.recovery_ops, w.window_s),
        recovery_bytes_per_s=_over(w.recovery_bytes, w.window_s),
        wal_bytes_per_s=_over(w.bytes_written_wal, w.window_s),
        sst_bytes_per_s=_over(w.bytes_written_sst, w.window_s),
        slow_bytes_per_s=_over(w.bytes_written_slow, w.window_s),
        wal_bytes_per_client_byte=_over(
            w.bytes_written_wal, _sum(w.op_w_in_bytes, w.op_rw_in_bytes)
        ),
        wal_bytes_per_write_op=_over(w.bytes_written_wal, _sum(w.op_w, w.op_rw)),
    )


#: Signals of the long window, or of RocksDB's own statistics.
OTHERS = frozenset(
    {
        'compaction_bytes_per_s',
        'compaction_source',
        'compaction_window_s',
        'db_write_amp',
        'db_write_amp_window_s',
    }
)
