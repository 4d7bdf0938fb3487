"""When RocksDB slows or stops writes, and how far that is from normal work.

ColumnFamilyData::GetWriteStallConditionAndCause() in db/column_family.cc.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from .records import Stall
from .tree_options import TreeOptions

__all__ = ['stalls']

#: With this many memtables or fewer the last one is no reason to slow down.
_FEW_MEMTABLES = 3


def stalls(options: TreeOptions, bytes_per_s: Optional[float]) -> tuple[Stall, ...]:
    """Conditions of one column family; ``bytes_per_s`` is what goes to the busiest one."""
    return tuple(_stalls(options, bytes_per_s))


def _stalls(options: TreeOptions, bytes_per_s: Optional[float]) -> Iterator[Stall]:
    def stall(cause: str, effect: str, limit: int, normal: int, unit_bytes: int) -> Stall:
        headroom = max(0, limit - normal)
        in_bytes = headroom * unit_bytes
        return Stall(
            cause=cause,
            effect=effect,
            limit=limit,
            normal=normal,
            headroom=headroom,
            headroom_bytes=in_bytes,
            headroom_s=in_bytes / bytes_per_s if bytes_per_s else None,
        )

    buffers = options.max_write_buffer_number
    merge = options.min_write_buffer_number_to_merge
    if buffers > _FEW_MEMTABLES:
        yield stall('memtables', 'slowdown', buffers - 1, merge, options.write_buffer_bytes)
    yield stall('memtables', 'stop', buffers, merge, options.write_buffer_bytes)
    for effect, files in (('slowdown', options.level0_slowdown), ('stop', options.level0_stop)):
        yield stall('level0-files', effect, files, options.level0_trigger, options.flush_bytes)
    for effect, limit in (
        ('slowdown', options.soft_pending_bytes),
        ('stop', options.hard_pending_bytes),
    ):
        # 0 switches it off.
        if limit:
            yield stall('pending-compaction-bytes', effect, limit, 0, 1)
