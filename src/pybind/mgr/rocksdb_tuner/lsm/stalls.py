"""When RocksDB slows or stops writes, and the distance from normal operation.

ColumnFamilyData::GetWriteStallConditionAndCause() in db/column_family.cc.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

from .levels import filled_levels, level_targets
from .records import Stall
from .tree_options import TreeOptions

__all__ = ['Busiest', 'pending_compaction_bytes', 'stalls']

#: With at most this many memtables RocksDB has no slowdown for memtables.
_FEW_MEMTABLES = 3
#: From this version on memtables slow writes down only if one more than a flush needs is full
#: (facebook/rocksdb#7921: not in v6.18.1, in v6.19.3).
_AFTER_A_FLUSH = (6, 19)
#: Precise to one in a million.
_HALVINGS = 40


@dataclass(frozen=True)
class Busiest:
    """The column family with most of the writes; None: unknown."""

    #: Write rate.
    bytes_per_s: Optional[float] = None
    #: Size of one flush.
    flush_bytes: Optional[float] = None
    #: Size of its SST files.
    data_bytes: Optional[float] = None


def stalls(options: TreeOptions, rocksdb_version: str, busiest: Busiest) -> tuple[Stall, ...]:
    """Stall conditions of the busiest column family."""
    return tuple(_stalls(options, rocksdb_version, busiest))


def pending_compaction_bytes(
    level0_bytes: float, sizes: Sequence[float], targets: Sequence[float]
) -> float:
    """RocksDB's estimate of pending compaction bytes once level 0 is due.

    ``sizes`` and ``targets``: level 1 and up.
    VersionStorageInfo::EstimateCompactionBytesNeeded() in db/version_set.cc.
    """
    needed = level0_bytes + sizes[0]
    moved = level0_bytes
    for size, target, following in zip(sizes, targets, [*sizes[1:], 0.0]):
        full = size + moved
        moved = max(0.0, full - target)
        if following > 0 and full > 0:
            needed += moved * (following / full + 1)
    return needed


def _level0_at(limit: int, sizes: Sequence[float], targets: Sequence[float]) -> float:
    """Size of level 0 at which ``limit`` bytes are pending, by bisection."""
    low, high = 0.0, float(limit)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if pending_compaction_bytes(middle, sizes, targets) < limit:
            low = middle
        else:
            high = middle
    return high


def _stalls(options: TreeOptions, rocksdb_version: str, busiest: Busiest) -> Iterator[Stall]:
    def stall(
        cause: str,
        effect: str,
        limit: int,
        normal: Optional[int],
        headroom_bytes: Optional[float],
    ) -> Stall:
        rate = busiest.bytes_per_s
        return Stall(
            cause=cause,
            effect=effect,
            limit=limit,
            normal=normal,
            headroom=None if normal is None else max(0, limit - normal),
            headroom_bytes=None if headroom_bytes is None else int(headroom_bytes),
            headroom_s=headroom_bytes / rate if headroom_bytes is not None and rate else None,
        )

    size = options.write_buffer_bytes
    buffers, merge = options.max_write_buffer_number, options.min_write_buffer_number_to_merge
    slow = buffers - 1
    if _numbers(rocksdb_version) >= _AFTER_A_FLUSH:
        slow = max(slow, merge + 1)
    if buffers > _FEW_MEMTABLES and slow < buffers:
        yield stall('memtables', 'slowdown', slow, merge, max(0, slow - merge) * size)
    yield stall('memtables', 'stop', buffers, merge, max(0, buffers - merge) * size)

    flush_bytes = busiest.flush_bytes or options.flush_bytes
    trigger = options.level0_trigger
    for effect, files in (('slowdown', options.level0_slowdown), ('stop', options.level0_stop)):
        yield stall('level0-files', effect, files, trigger, max(0, files - trigger) * flush_bytes)

    level0_bytes = flush_bytes * trigger
    targets = level_targets(options)
    sizes = None
    if busiest.data_bytes is not None:
        sizes = filled_levels(options, busiest.data_bytes)
    for effect, limit in (
        ('slowdown', options.soft_pending_bytes),
        ('stop', options.hard_pending_bytes),
    ):
        # 0 disables the limit.
        if not limit:
            continue
        if sizes is None:
            yield stall('pending-compaction-bytes', effect, limit, None, None)
            continue
        normal = pending_compaction_bytes(level0_bytes, sizes, targets)
        more = max(0.0, _level0_at(limit, sizes, targets) - level0_bytes)
        yield stall('pending-compaction-bytes', effect, limit, int(normal), more)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split('.')))
