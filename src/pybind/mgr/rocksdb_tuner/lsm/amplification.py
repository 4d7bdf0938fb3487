"""Contents of the database, and how often its bytes are written. Pure.

The mgr does not know how many objects clients write to, but the database grows with them: the part
that is not PG log is their onodes, or data that grows with every write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Optional

from .calibration import WorkloadCalibration
from .keys import Population
from .levels import Family, TreeOptions, filled_levels, level_targets
from .records import ColumnFamilyModel, Load

#: `osd_target_pg_log_entries_per_osd` in all releases, for OSDs with 30 to 1,200 PGs
#: (PG::get_target_pg_log_entries() in src/osd/PeeringState.cc).
LOG_ENTRIES = 300_000.0


def population_of(workload: WorkloadCalibration, load: Load) -> Population:
    """What the OSD holds as far as it is known, else as on the measured OSDs."""
    usual = workload.population
    return Population(
        usual.objects if load.objects is None else load.objects,
        load.placement_groups or usual.placement_groups,
        LOG_ENTRIES if load.log_entries is None else load.log_entries,
    )


class Contents:
    """SST bytes of each column of a database under one workload, by what the OSD holds."""

    def __init__(self, families: Sequence[Family], workload: WorkloadCalibration) -> None:
        self._families, self._workload = families, workload
        self._columns = [workload.columns.get(family.column.name) for family in families]
        #: SST bytes that a client write adds permanently.
        self.growth = [
            column.growth_bytes(family.options.compression) if column else 0.0
            for column, family in zip(self._columns, families)
        ]

    @property
    def grows(self) -> bool:
        """Whether every write adds to the database permanently."""
        return any(rate > 0 for rate in self.growth)

    def live(self, held: Population) -> list[float]:
        return [
            column.live_bytes(held, family.options.compression) if column else 0.0
            for column, family in zip(self._columns, self._families)
        ]

    def rates(self, held: Population) -> list[float]:
        """Growth of each column per write, or else per object."""
        if self.grows:
            return self.growth
        pairs = zip(
            *(self.live(replace(held, objects=number)) for number in (0.0, 1.0)),
        )
        return [one - none for none, one in pairs]

    def held(self, load: Load, data_bytes: Optional[float]) -> Population:
        """Overrides or known values, else the number of objects that fills ``data_bytes``."""
        found = population_of(self._workload, load)
        if load.objects is not None or data_bytes is None:
            return found
        rest_bytes = data_bytes - sum(self.live(replace(found, objects=0.0)))
        if rest_bytes < 0:
            # The PG log is still below its full length.
            share = data_bytes / (data_bytes - rest_bytes)
            return replace(found, objects=1.0, log_entries=found.log_entries * share)
        of_one = sum(self.rates(found))
        if self.grows or of_one <= 0:
            return found
        return replace(found, objects=max(1.0, rest_bytes / of_one))

    def of_shards(self, held: Population, data_bytes: float) -> tuple[float, ...]:
        """SST bytes of one shard of each column, written to by clients or not."""
        live, rates = self.live(held), self.rates(held)
        rest_bytes = data_bytes - sum(live)
        if rest_bytes > 0 and sum(rates) > 0:
            live = [kept + rest_bytes * rate / sum(rates) for kept, rate in zip(live, rates)]
        scale = data_bytes / sum(live) if sum(live) > 0 else 0.0
        return tuple(size * scale / f.column.shards for size, f in zip(live, self._families))

    @property
    def assumed_bytes(self) -> float:
        """Data that fills levels 1 and 2 of the fastest growing column."""
        held = replace(self._workload.population, log_entries=LOG_ENTRIES)
        if not self.grows:
            held = replace(held, objects=0.0)
        rates, live_bytes = self.rates(held), sum(self.live(held))
        if max(rates) <= 0:
            return live_bytes
        family = self._families[rates.index(max(rates))]
        levels_bytes = sum(level_targets(family.options)[:2]) * family.column.shards
        return live_bytes + levels_bytes * sum(rates) / max(rates)


class Flow(NamedTuple):
    """Bytes per client write in one column, over all its shards."""

    flushed: float
    compacted: float
    #: Of one shard, at the time of compaction.
    level0_bytes: float


def flow_of(
    options: TreeOptions,
    column: ColumnFamilyModel,
    workload: WorkloadCalibration,
    held: Population,
    data_bytes: float,
    overlap: float,
    written_ratio: float,
) -> Flow:
    """``data_bytes``: of one shard; ``written_ratio``: see `Load`."""
    keys, window = workload.columns.get(column.name), column.writes_per_flush
    if keys is None or not window:
        return Flow(0.0, 0.0, 0.0)
    file_bytes = keys.left_bytes(window, held, options.compression) / column.shards
    # VersionStorageInfo::ComputeCompactionScore() in db/version_set.cc: level 0 is due by its
    # number of files, or with fewer large ones, of which the last is part of the compaction.
    level0_bytes = min(
        file_bytes * options.level0_trigger,
        max(options.level_base_bytes, file_bytes) + file_bytes / 2,
    )
    if not file_bytes:
        return Flow(0.0, 0.0, level0_bytes)
    files = level0_bytes / file_bytes
    # Merged files are one window: a key in several of them is kept once.
    merged_bytes = keys.left_bytes(files * window, held, options.compression) / column.shards
    # A growing column has no inactive data.
    active_bytes = keys.live_bytes(held, options.compression) / column.shards
    if keys.growth_bytes(options.compression):
        active_bytes = data_bytes
    # Stale values in level 0 take space, but no compaction writes them again.
    data_bytes = max(min(active_bytes, data_bytes), data_bytes - workload.stale * level0_bytes / 2)
    ratio = compaction_bytes_per_level0_byte(
        options, merged_bytes, data_bytes, active_bytes, overlap
    )
    return Flow(
        written_ratio * column.shards * file_bytes / window,
        written_ratio * column.shards * merged_bytes * ratio / (files * window),
        level0_bytes,
    )


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
    sizes = filled_levels(options, max(0.0, data_bytes - level0_bytes / 2))
    total = min(level0_bytes + sizes[0], data_bytes) / level0_bytes
    active = sum(sizes) * min(active_bytes, data_bytes) / data_bytes
    for upper, lower in zip(sizes, sizes[1:]):
        if upper <= 0 or lower <= 0 or active <= upper:
            break
        total += (active - upper) / active * (1 + overlap * lower / upper)
        active -= upper
    return total
