"""Write and space amplification of the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from .calibration import Calibration, WorkloadCalibration
from .levels import filled_levels, level_targets
from .memory import Family
from .records import Amplification, ColumnFamilyModel, Estimate
from .tree_options import TreeOptions

__all__ = [
    'amplification',
    'assumed_data_bytes',
    'compaction_bytes_per_level0_byte',
    'data_by_family',
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
    options: TreeOptions, level0_bytes: float, data_bytes: float, overlap: float
) -> float:
    """Bytes that compactions write for each byte that a flush wrote, in one column family.

    ``level0_bytes``: level 0 when it is compacted; ``data_bytes``: all SST files of the family.

    A compaction of level 0 writes itself and level 1, but no more than there is: what was
    overwritten is gone. A byte that moves on from a full level rewrites a part ``overlap`` of as
    many bytes of the next one as that is larger. Only what is below a level moved on from it.
    """
    if level0_bytes <= 0 or data_bytes <= 0:
        return 0.0
    sizes = filled_levels(options, max(0.0, data_bytes - level0_bytes / 2))
    total = min(level0_bytes + sizes[0], data_bytes) / level0_bytes
    below = sum(sizes)
    for upper, lower in zip(sizes, sizes[1:]):
        if upper <= 0 or lower <= 0:
            break
        moved = (below - upper) / below
        total += moved * (1 + overlap * lower / upper)
        below -= upper
    return total


@dataclass(frozen=True)
class _Part:
    """One column with what flows into it."""

    family: Family
    shards: int
    share: float
    survival: float
    level0_bytes: float
    data_bytes: float


def data_by_family(
    families: Sequence[Family], workload: WorkloadCalibration, data_bytes: float
) -> tuple[float, ...]:
    """SST bytes of one shard of each column."""
    return tuple(
        _data_share(family, workload) * data_bytes / family.column.shards for family in families
    )


def assumed_data_bytes(families: Sequence[Family], workload: WorkloadCalibration) -> float:
    """As much as fills levels 1 and 2 of the column family that holds most."""
    needed = []
    for family in families:
        share = _data_share(family, workload) / family.column.shards
        if share > 0:
            needed.append(sum(level_targets(family.options)[:2]) / share)
    return min(needed, default=0.0)


def amplification(
    families: Sequence[Family],
    columns: Sequence[ColumnFamilyModel],
    workload: Optional[WorkloadCalibration],
    data_bytes: Optional[float],
    known: Calibration,
) -> Amplification:
    """None where the workload is not known; a database that is not known is no amplification."""
    if workload is None or not data_bytes:
        return Amplification(None, None)
    parts = _parts(families, columns, workload, data_bytes)
    written = 1.0
    stale = 0.0
    for part in parts:
        compacted = compaction_bytes_per_level0_byte(
            part.family.options, part.level0_bytes, part.data_bytes, known.overlap
        )
        flow = part.share * part.survival * workload.memory_per_wal_byte
        written += part.shards * flow * (1 + compacted)
        # Level 0 is half full on average, and part of it is newer values of what is below.
        stale += part.shards * min(part.level0_bytes, part.data_bytes) / 2
    # At most half of a family is counted as stale, so something is left of any.
    space = data_bytes / (data_bytes - workload.stale * stale)
    return Amplification(
        write=_at_least_one(known.quantities['write_amplification'].around(written)),
        space=_at_least_one(known.quantities['space_amplification'].around(space)),
    )


def _parts(
    families: Sequence[Family],
    columns: Sequence[ColumnFamilyModel],
    workload: WorkloadCalibration,
    data_bytes: float,
) -> list[_Part]:
    of_shards = data_by_family(families, workload, data_bytes)
    return [
        _Part(
            family=family,
            shards=column.shards,
            share=column.share or 0.0,
            survival=workload.survival(column.name, family.options.compression)
            if column.name in workload.columns
            else 0.0,
            level0_bytes=level0_compacted_bytes(
                family.options, column.level0_file_bytes.value if column.level0_file_bytes else 0.0
            ),
            data_bytes=data,
        )
        for family, column, data in zip(families, columns, of_shards)
    ]


def _data_share(family: Family, workload: WorkloadCalibration) -> float:
    column = workload.columns.get(family.column.name)
    return column.data_share if column else 0.0


def _at_least_one(estimate: Estimate) -> Estimate:
    """Nothing is written, or kept, less than once."""
    return Estimate(*(max(1.0, end) for end in (estimate.low, estimate.value, estimate.high)))
