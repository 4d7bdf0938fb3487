"""Memtables, WAL and flushes; contents of the database, and its amplification. Pure.

The mgr does not know how many objects clients write to, but the database grows with them: the part
that is not PG log is their onodes, or data that grows with every write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Optional

from ..options import wal as rocksdb_wal
from .calibration import Calibration, WorkloadCalibration
from .keys import Population
from .levels import Family, TreeOptions, filled_levels, level_targets
from .records import (
    Amplification,
    ColumnFamilyModel,
    Devices,
    Estimate,
    Load,
    MemtableModel,
    WalModel,
)

#: `osd_target_pg_log_entries_per_osd` in all releases, for OSDs with 30 to 1,200 PGs
#: (PG::get_target_pg_log_entries() in src/osd/PeeringState.cc).
LOG_ENTRIES = 300_000.0


def population_of(workload: WorkloadCalibration, load: Load) -> Population:
    """What the OSD holds as far as it is known, else as on the measured OSDs."""
    return replace(
        workload.population,
        log_entries=LOG_ENTRIES if load.log_entries is None else load.log_entries,
        placement_groups=load.placement_groups or workload.population.placement_groups,
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
        if load.objects is not None:
            return replace(found, objects=load.objects)
        if data_bytes is None:
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


def amplification(
    columns: Sequence[ColumnFamilyModel],
    flows: Sequence[Flow],
    workload: Optional[WorkloadCalibration],
    of_shards: Sequence[float],
    known: Calibration,
) -> Amplification:
    """None for an unknown workload or database size."""
    if workload is None or not flows:
        return Amplification(None, None, None, None)
    flushed = sum(flow.flushed for flow in flows) / workload.written_bytes
    compacted = sum(flow.compacted for flow in flows) / workload.written_bytes
    # Level 0 is half full on average; a part of it is newer values of keys further down.
    stale = workload.stale * sum(
        column.shards * min(flow.level0_bytes, data) / 2
        for flow, column, data in zip(flows, columns, of_shards)
    )
    total = sum(data * column.shards for data, column in zip(of_shards, columns))
    # At most half of a family counts as stale, so the divisor is never 0.
    space = total / (total - stale) if total else 1.0
    return Amplification(
        write=_at_least_one(
            known.quantities['write_amplification'].around(1.0 + flushed + compacted)
        ),
        flushes=flushed,
        compactions=compacted,
        space=_at_least_one(known.quantities['space_amplification'].around(space)),
    )


def _at_least_one(estimate: Estimate) -> Estimate:
    """An amplification is never below 1."""
    return Estimate(*(max(1.0, end) for end in estimate.ends))


def wal_of(database: TreeOptions, families: Sequence[Family]) -> rocksdb_wal.Wal:
    """The log, whose limit flushes the column families that keep its oldest file."""
    return rocksdb_wal.wal(
        write_buffer_bytes=database.write_buffer_bytes,
        max_total_wal_bytes=database.max_total_wal_bytes,
        db_write_buffer_bytes=database.db_write_buffer_bytes,
        all_full_bytes=sum(family.ceiling_bytes for family in families),
        column_families=sum(family.column.shards for family in families),
    )


def wal(log: rocksdb_wal.Wal, devices: Devices, load: Load, known: Calibration) -> WalModel:
    total = devices.wal_bytes if devices.dedicated_wal else None
    if total is None and devices.dedicated_wal is False and devices.dedicated_db:
        total = devices.db_bytes
    return WalModel(
        limit_bytes=log.limit_bytes,
        limited_by='max_total_wal_size' if log.by_option else 'memtables',
        file_bytes=log.file_bytes,
        device_bytes=known.quantities['wal_device_bytes'].around(log.device_bytes),
        device_total_bytes=total,
        fits_device=None if total is None else log.fits(total),
        fill_s=log.limit_bytes / load.wal_bytes_per_s if load.wal_bytes_per_s else None,
    )


def column_family(
    family: Family,
    limit_bytes: int,
    load: Load,
    workload: Optional[WorkloadCalibration],
    held: Optional[Population],
    known: Calibration,
) -> ColumnFamilyModel:
    """Flushes of one column: of full memtables, or earlier because of the WAL limit.

    DBImpl::SwitchWAL() in db/db_impl/db_impl_write.cc flushes every family that keeps the oldest
    WAL file, even if its memtables are small: each flush has its share of a full WAL.
    """
    options, shards = family.options, family.column.shards
    full = known.quantities['full_flush_bytes'].around(options.full_flush_bytes)
    column = workload.columns.get(family.column.name) if workload else None
    share = expected = flushed_by = file_bytes = writes = None
    if workload is not None:
        share = workload.share(family.column.name) / shards
    if workload is not None and held is not None and column is not None and share:
        at_limit = share * limit_bytes * workload.memory_per_wal_byte
        flushed_by = 'memtables' if full.value <= at_limit else 'wal'
        expected = (
            full
            if flushed_by == 'memtables'
            else known.quantities['early_flush_bytes'].around(at_limit)
        )
        writes = expected.value / (share * workload.written_bytes * workload.memory_per_wal_byte)
        file_bytes = known.quantities['level0_file_bytes'].around(
            column.left_bytes(writes, held, options.compression) / shards
        )
    return ColumnFamilyModel(
        name=family.column.name,
        shards=shards,
        write_buffer_bytes=options.write_buffer_bytes,
        max_write_buffer_number=options.max_write_buffer_number,
        min_write_buffer_number_to_merge=options.min_write_buffer_number_to_merge,
        memtable_ceiling_bytes=options.memtable_ceiling_bytes,
        full_flush_bytes=full,
        share=share,
        expected_flush_bytes=expected,
        flushed_by=flushed_by,
        level0_file_bytes=file_bytes,
        writes_per_flush=writes,
        keys_per_flush=expected.value / load.bytes_per_key
        if expected and load.bytes_per_key
        else None,
        flush_every_s=writes * workload.written_bytes / load.wal_bytes_per_s
        if workload and writes and load.wal_bytes_per_s
        else None,
    )


def memtables(
    database: TreeOptions,
    families: Sequence[Family],
    log: rocksdb_wal.Wal,
    workload: Optional[WorkloadCalibration],
    known: Calibration,
    memory_target_bytes: Optional[int],
) -> MemtableModel:
    """Memory of all memtables. Their data is also in the WAL, so the WAL limit bounds them.

    A memtable is freed at the end of its flush; its WAL file counts until then.
    """
    ceiling = sum(family.ceiling_bytes for family in families)
    ratios = [w.memory_per_wal_byte for w in known.workloads.values()]
    ratio = workload.memory_per_wal_byte if workload else max(ratios)
    bounded, by = float(ceiling), 'max_write_buffer_number'
    for bound, name in (
        (log.limit_bytes * ratio, 'wal'),
        (float(database.db_write_buffer_bytes), 'db_write_buffer_size'),
    ):
        if 0 < bound < bounded:
            bounded, by = bound, name
    lowest = min([bounded, *(log.limit_bytes * r for r in ratios)]) if by == 'wal' else bounded
    return MemtableModel(
        ceiling_bytes=ceiling,
        bounded_bytes=Estimate(lowest, bounded, bounded),
        bounded_by=by,
        memory_target_bytes=memory_target_bytes,
        share_of_memory_target=bounded / memory_target_bytes if memory_target_bytes else None,
    )


def background_jobs(database: TreeOptions) -> tuple[int, int]:
    """Concurrent flushes and compactions: DBImpl::GetBGJobLimits()."""
    if database.max_background_flushes == -1 and database.max_background_compactions == -1:
        flushes = max(1, database.max_background_jobs // 4)
        return flushes, max(1, database.max_background_jobs - flushes)
    return max(1, database.max_background_flushes), max(1, database.max_background_compactions)
