"""Time of the kv_sync thread per write, by memtable size. Pure.

One thread inserts all keys of an OSD's writes. A memtable is a skip list: the larger it is, the
more nodes an insert visits, and the fewer of them are in the CPU cache. The rest of the thread's
work (the WAL, batches, callbacks) does not depend on memtables. Let f be the inserts' share of the
time with memtables of the reference size r, and let the cost of an insert grow with the power e of
the size. The time per write, relative to that with memtables of size r, is

    (1 - f) + f x sum over column families of share x (memtable / r)^e
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from .calibration import Inserts
from .records import ColumnFamilyModel, Estimate

__all__ = ['kv_sync_change', 'kv_sync_time']


def kv_sync_time(columns: Sequence[ColumnFamilyModel], inserts: Inserts) -> Optional[Estimate]:
    """Time per write relative to the memtable size of the measurement.

    None if the written column families are unknown.
    """
    times = _times_by_parameters(columns, inserts)
    return None if times is None else Estimate(min(times), times[0], max(times))


def kv_sync_change(
    before: Sequence[ColumnFamilyModel], after: Sequence[ColumnFamilyModel], inserts: Inserts
) -> Optional[Estimate]:
    """Ratio of the time per write after to before a change of options."""
    old_times, new_times = (
        _times_by_parameters(before, inserts),
        _times_by_parameters(after, inserts),
    )
    if old_times is None or new_times is None:
        return None
    ratios = [new / old for old, new in zip(old_times, new_times)]
    return Estimate(min(ratios), ratios[0], max(ratios))


def _times_by_parameters(
    columns: Sequence[ColumnFamilyModel], inserts: Inserts
) -> Optional[list[float]]:
    """The expected value first, then the values at the ends of both parameters."""
    written = [
        (column.share * column.shards, _memtable_bytes(column) / inserts.memtable_bytes)
        for column in columns
        if column.share
    ]
    total = sum(part for part, _ in written)
    if not total:
        return None
    share, exponent = inserts.share, inserts.exponent
    parameters = [
        (share.value, exponent.value),
        *((f, e) for f in (share.low, share.high) for e in (exponent.low, exponent.high)),
    ]
    return [
        1 - f + f * sum(part / total * size**e for part, size in written) for f, e in parameters
    ]


def _memtable_bytes(column: ColumnFamilyModel) -> float:
    """Size of a memtable when it is sealed, or flushed early because the WAL is full."""
    if column.expected_flush_bytes is None:
        return float(column.write_buffer_bytes)
    merged = max(1, column.min_write_buffer_number_to_merge)
    if column.flushed_by == 'memtables':
        return column.expected_flush_bytes.value / merged
    return min(float(column.write_buffer_bytes), column.expected_flush_bytes.value)
