"""Contents of an OSD, estimated from the size of its database. Pure.

The mgr does not know how many objects clients write to, but the database grows with them: the part
that is not PG log is their onodes, or data that grows with every write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

from .calibration import ColumnCalibration, WorkloadCalibration
from .keys import Population
from .levels import level_targets
from .memory import Family
from .records import Load

#: `osd_target_pg_log_entries_per_osd` in all releases, for OSDs with 30 to 1,200 PGs
#: (PG::get_target_pg_log_entries() in src/osd/PeeringState.cc).
LOG_ENTRIES = 300_000.0


def population(
    families: Sequence[Family],
    workload: WorkloadCalibration,
    load: Load,
    data_bytes: Optional[float],
) -> Population:
    """Overrides or known values, otherwise the number of objects estimated from ``data_bytes``."""
    found = replace(
        workload.population,
        log_entries=LOG_ENTRIES if load.log_entries is None else load.log_entries,
        placement_groups=load.placement_groups or workload.population.placement_groups,
    )
    if load.objects is not None:
        return replace(found, objects=load.objects)
    if data_bytes is None:
        return found
    without = replace(found, objects=0.0)
    rest_bytes = data_bytes - _live_bytes(families, workload, without)
    if rest_bytes < 0:
        # The PG log is still below its full length.
        share = data_bytes / (data_bytes - rest_bytes)
        return replace(found, objects=1.0, log_entries=found.log_entries * share)
    if grows(families, workload):
        return found
    of_one = sum(_rates(families, workload, found))
    return replace(found, objects=max(1.0, rest_bytes / of_one)) if of_one > 0 else found


def data_by_family(
    families: Sequence[Family],
    workload: WorkloadCalibration,
    held: Population,
    data_bytes: float,
) -> tuple[float, ...]:
    """SST bytes of one shard of each column, written to by clients or not."""
    live = [_live_of(family, workload, held) for family in families]
    rest_bytes = data_bytes - sum(live)
    rates = _rates(families, workload, held)
    if rest_bytes > 0 and sum(rates) > 0:
        live = [kept + rest_bytes * rate / sum(rates) for kept, rate in zip(live, rates)]
    scale = data_bytes / sum(live) if sum(live) > 0 else 0.0
    return tuple(size * scale / family.column.shards for size, family in zip(live, families))


def _rates(
    families: Sequence[Family], workload: WorkloadCalibration, held: Population
) -> list[float]:
    """Growth of each column per write, or else per object."""
    if grows(families, workload):
        return [_growth_of(family, workload) for family in families]
    none, one = replace(held, objects=0.0), replace(held, objects=1.0)
    return [
        _live_of(family, workload, one) - _live_of(family, workload, none) for family in families
    ]


def assumed_data_bytes(families: Sequence[Family], workload: WorkloadCalibration) -> float:
    """Data that fills levels 1 and 2 of the fastest growing column."""
    held = replace(workload.population, log_entries=LOG_ENTRIES)
    if not grows(families, workload):
        held = replace(held, objects=0.0)
    rates = _rates(families, workload, held)
    most = max(rates)
    if most <= 0:
        return _live_bytes(families, workload, held)
    family = families[rates.index(most)]
    levels_bytes = sum(level_targets(family.options)[:2]) * family.column.shards
    return _live_bytes(families, workload, held) + levels_bytes * sum(rates) / most


def _column_of(family: Family, workload: WorkloadCalibration) -> Optional[ColumnCalibration]:
    return workload.columns.get(family.column.name)


def _live_of(family: Family, workload: WorkloadCalibration, held: Population) -> float:
    column = _column_of(family, workload)
    return column.live_bytes(held, family.options.compression) if column else 0.0


def _growth_of(family: Family, workload: WorkloadCalibration) -> float:
    """SST bytes that a client write adds permanently."""
    column = _column_of(family, workload)
    return column.growth_bytes(family.options.compression) if column else 0.0


def _live_bytes(
    families: Sequence[Family], workload: WorkloadCalibration, held: Population
) -> float:
    return sum(_live_of(family, workload, held) for family in families)


def grows(families: Sequence[Family], workload: WorkloadCalibration) -> bool:
    """Whether every write adds to the database permanently."""
    return any(_growth_of(family, workload) > 0 for family in families)


def stored_ratio(
    before: Sequence[Family],
    after: Sequence[Family],
    workload: WorkloadCalibration,
    held: Population,
) -> Optional[float]:
    """Ratio of SST bytes of the same data, after to before; None without data."""
    if grows(before, workload):
        sizes = [sum(_growth_of(family, workload) for family in of) for of in (before, after)]
    else:
        sizes = [_live_bytes(families, workload, held) for families in (before, after)]
    return sizes[1] / sizes[0] if sizes[0] > 0 else None
