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
    """What level 0 holds when it is compacted: the trigger's files, or fewer of a large size.

    VersionStorageInfo::ComputeCompactionScore() in db/version_set.cc: level 0 is due by the
    number of its files or by their size over `max_bytes_for_level_base`, whichever is first.
    """
    by_number = file_bytes * options.level0_trigger
    # Due with the file that reaches the size.
    by_size = max(options.level_base_bytes, file_bytes) + file_bytes / 2
    return min(by_number, by_size)


def compaction_bytes_per_level0_byte(
    options: TreeOptions,
    level0_bytes: float,
    data_bytes: float,
    active_bytes: float,
    overlap: float,
) -> float:
    """Bytes that compactions write for each byte that a flush wrote, in one column family.

    ``level0_bytes``: level 0 when it is compacted; ``data_bytes``: all SST files of the family;
    ``active_bytes``: those of them that clients write anew.

    A compaction of level 0 writes itself and level 1, but no more than there is: what was
    overwritten is gone. Of what is written anew, a level holds as much as it has room for, and the
    rest moves on: a byte of it rewrites a part ``overlap`` of as many bytes of the next level as
    that is larger, whether they are written anew or not.
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
    """None where the workload is not known; a database that is not known is no amplification."""
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
        # Level 0 is half full on average, and part of it is newer values of what is below.
        stale += column.shards * min(flow.level0_bytes, data_bytes) / 2
    total_bytes = sum(data * column.shards for data, column in zip(data_of_shards, columns))
    flushed /= workload.written_bytes
    compacted /= workload.written_bytes
    # At most half of a family is counted as stale, so something is left of any.
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
    """Of one column; bytes for each write of a client, over all its shards."""

    flushed: float
    compacted: float
    #: Of one shard, when it is compacted.
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
    # Merged, the files are one window: what several of them have is left once.
    merged_bytes = known.left_bytes(files * window, held, options.compression) / column.shards
    # All that grows is written anew.
    active_bytes = known.live_bytes(held, options.compression) / column.shards
    if known.growth_bytes(options.compression):
        active_bytes = data_bytes
    # What is old in level 0 is part of the files that there are, but no compaction writes it.
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
    """Nothing is written, or kept, less than once."""
    return Estimate(*(max(1.0, end) for end in (estimate.low, estimate.value, estimate.high)))
