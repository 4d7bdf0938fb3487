"""Write and space amplification of the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from .calibration import Calibration, ColumnCalibration, WorkloadCalibration
from .fates import Population
from .levels import filled_levels
from .memory import Family
from .records import Amplification, ColumnFamilyModel, Estimate
from .tree_options import TreeOptions

__all__ = [
    'amplification',
    'compaction_bytes_per_level0_byte',
    'level0_compacted_bytes',
]


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
