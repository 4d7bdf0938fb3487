"""Write and space amplification of the tree.

When RocksDB slows or stops writes, and the distance from normal operation.

ColumnFamilyData::GetWriteStallConditionAndCause() in db/column_family.cc.

Level sizes that keep a database on its DB device.

RocksDB places whole levels on one device (`levels.py`), so the DB device is used up to the last
level that fits, and the next level goes to the slow device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Optional

from .calibration import Calibration, ColumnCalibration, WorkloadCalibration
from .keys import Population
from .levels import TreeOptions, filled_levels, last_level, level_targets
from .memory import Family
from .records import Amplification, ColumnFamilyModel, Estimate, Stall


def level0_compacted_bytes(options: TreeOptions, file_bytes: float) -> float:
    """Size of level 0 when it is compacted: the trigger's number of files, or fewer large ones.

    VersionStorageInfo::ComputeCompactionScore() in db/version_set.cc: level 0 is due when its file
    count reaches the trigger or its size exceeds `max_bytes_for_level_base`, whichever is first.
    """
    by_number = file_bytes * options.level0_trigger
    # The file that reaches the size is part of the compaction.
    by_size = max(options.level_base_bytes, file_bytes) + file_bytes / 2
    return min(by_number, by_size)


def compaction_bytes_per_level0_byte(
    options: TreeOptions,
    level0_bytes: float,
    data_bytes: float,
    active_bytes: float,
    overlap: float,
) -> float:
    """Compaction bytes per flushed byte in one column family.

    ``level0_bytes``: level 0 when it is compacted; ``data_bytes``: all SST files of the family;
    ``active_bytes``: the part of them that clients overwrite.

    A level 0 compaction rewrites level 0 and level 1, at most the live data. Each level keeps the
    active data it has room for and moves the rest down. A byte that moves down rewrites ``overlap``
    times the size ratio of the two levels, whether the data is active or not.
    """
    if level0_bytes <= 0 or data_bytes <= 0:
        return 0.0
    active_bytes = min(active_bytes, data_bytes)
    below_level0 = max(0.0, data_bytes - level0_bytes / 2)
    sizes = filled_levels(options, below_level0)
    total = min(level0_bytes + sizes[0], data_bytes) / level0_bytes
    active = sum(sizes) * active_bytes / data_bytes
    for upper, lower in zip(sizes, sizes[1:]):
        if upper <= 0 or lower <= 0 or active <= upper:
            break
        moved = (active - upper) / active
        total += moved * (1 + overlap * lower / upper)
        active -= upper
    return total


def amplification(
    families: Sequence[Family],
    columns: Sequence[ColumnFamilyModel],
    workload: Optional[WorkloadCalibration],
    held: Optional[Population],
    data_of_shards: Optional[Sequence[float]],
    known: Calibration,
) -> Amplification:
    """None for an unknown workload or database size."""
    if workload is None or held is None or not data_of_shards:
        return Amplification(None, None, None, None)
    flushed = compacted = stale = 0.0
    for family, column, data_bytes in zip(families, columns, data_of_shards):
        known_column = workload.columns.get(column.name)
        if known_column is None or not column.writes_per_flush:
            continue
        flow = _flow(
            family.options, column, known_column, held, data_bytes, workload.stale, known.overlap
        )
        flushed += flow.flushed
        compacted += flow.compacted
        # Level 0 is half full on average; a part of it is newer values of keys further down.
        stale += column.shards * min(flow.level0_bytes, data_bytes) / 2
    total_bytes = sum(data * column.shards for data, column in zip(data_of_shards, columns))
    flushed /= workload.written_bytes
    compacted /= workload.written_bytes
    # At most half of a family counts as stale, so the divisor is never 0.
    space = total_bytes / (total_bytes - workload.stale * stale) if total_bytes else 1.0
    return Amplification(
        write=_at_least_one(
            known.quantities['write_amplification'].around(1.0 + flushed + compacted)
        ),
        flushes=flushed,
        compactions=compacted,
        space=_at_least_one(known.quantities['space_amplification'].around(space)),
    )


@dataclass(frozen=True)
class _Flow:
    """Bytes per client write in one column, over all its shards."""

    flushed: float
    compacted: float
    #: Of one shard, at the time of compaction.
    level0_bytes: float


def _flow(
    options: TreeOptions,
    column: ColumnFamilyModel,
    known: ColumnCalibration,
    held: Population,
    data_bytes: float,
    stale: float,
    overlap: float,
) -> _Flow:
    window = column.writes_per_flush or 0.0
    file_bytes = known.left_bytes(window, held, options.compression) / column.shards
    level0_bytes = level0_compacted_bytes(options, file_bytes)
    if not window or not file_bytes:
        return _Flow(0.0, 0.0, level0_bytes)
    files = level0_bytes / file_bytes
    # Merged files are one window: a key in several of them is kept once.
    merged_bytes = known.left_bytes(files * window, held, options.compression) / column.shards
    # A growing column has no inactive data.
    active_bytes = known.live_bytes(held, options.compression) / column.shards
    if known.growth_bytes(options.compression):
        active_bytes = data_bytes
    # Stale values in level 0 take space, but no compaction writes them again.
    data_bytes = max(min(active_bytes, data_bytes), data_bytes - stale * level0_bytes / 2)
    ratio = compaction_bytes_per_level0_byte(
        options, merged_bytes, data_bytes, active_bytes, overlap
    )
    return _Flow(
        flushed=column.shards * file_bytes / window,
        compacted=column.shards * merged_bytes * ratio / (files * window),
        level0_bytes=level0_bytes,
    )


def _at_least_one(estimate: Estimate) -> Estimate:
    """An amplification is never below 1."""
    return Estimate(*(max(1.0, end) for end in (estimate.low, estimate.value, estimate.high)))


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


#: Sizes of level 1 to try, relative to level 0: the tree works best if both are equal.
_OF_LEVEL0 = (1.0, 0.75, 1.25, 0.6, 1.5, 1.75)
#: RocksDB's default is 10; below 4 there are too many levels.
_MULTIPLIERS = range(4, 17)
_MIB = 1 << 20


@dataclass(frozen=True)
class Fit:
    """Option values and their effect."""

    level_base_bytes: int
    level_multiplier: int
    #: The last level on the DB device, and the bytes of all levels up to it.
    last_level: int
    taken_bytes: int


def holds(options: TreeOptions, usable_bytes: int, data_bytes: float) -> bool:
    """Whether the levels that fit the device have room for the data."""
    last, taken = last_level(options, usable_bytes)
    # RocksDB counts level 0 with the size of level 1; data settles in level 1 and up.
    return bool(last) and taken - options.level_base_bytes >= data_bytes


def fitting_levels(options: TreeOptions, usable_bytes: int, data_bytes: float) -> Optional[Fit]:
    """The values that keep ``data_bytes`` on the device with the least write amplification.

    None if the device is too small for the data. Data is rewritten up to `level_multiplier` times
    per level, so candidates are ranked by levels in use x multiplier.
    """
    found = []
    for order, share in enumerate(_OF_LEVEL0):
        base = max(_MIB, int(options.level0_bytes * share) // _MIB * _MIB)
        for multiplier in _MULTIPLIERS:
            changed = replace(options, level_base_bytes=base, level_multiplier=float(multiplier))
            last, taken = last_level(changed, usable_bytes)
            if last is not None and holds(changed, usable_bytes, data_bytes):
                fit = Fit(base, multiplier, last, taken)
                found.append(((_levels_in_use(fit, data_bytes) * multiplier, order), fit))
    return min(found, key=lambda ranked: ranked[0])[1] if found else None


def _levels_in_use(fit: Fit, data_bytes: float) -> int:
    number, size, held = 1, float(fit.level_base_bytes), float(fit.level_base_bytes)
    while held < data_bytes:
        number += 1
        size *= fit.level_multiplier
        held += size
    return number
