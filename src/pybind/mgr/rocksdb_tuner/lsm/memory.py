"""Memtables, WAL and flushes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from .calibration import Calibration, WorkloadCalibration
from .columns import Column
from .records import ColumnFamilyModel, Devices, Estimate, Load, MemtableModel, WalModel
from .tree_options import TreeOptions

__all__ = ['Family', 'background_jobs', 'column_family', 'memtables', 'wal', 'wal_limit_bytes']

#: DBImpl::GetMaxTotalWalSize() in db/db_impl/db_impl_write.cc.
_WAL_TO_MEMTABLES = 4
#: DBImpl::Recover() adds the memtables of all column families up, and DBImpl::Open() adds each once
#: more as it gets its first super version. Only a database that is just being made counts them
#: once, and BlueStore opens its own anew after mkfs. Seen on 16.2.15, 18.2.7 and 20.2.4.
_COUNTED_AT_OPEN = 2


@dataclass(frozen=True)
class Family:
    """A column with the options that its column families are opened with."""

    column: Column
    options: TreeOptions

    @property
    def ceiling_bytes(self) -> int:
        return self.options.memtable_ceiling_bytes * self.column.shards


def wal_limit_bytes(database: TreeOptions, families: Sequence[Family]) -> int:
    """The size at which RocksDB flushes what keeps the oldest WAL file.

    DBImpl::GetMaxTotalWalSize() and PreprocessWrite() in db/db_impl/db_impl_write.cc: looked at
    only where there is more than one column family; with one, the memtables are the limit.
    """
    ceiling = sum(family.ceiling_bytes for family in families)
    if sum(family.column.shards for family in families) == 1:
        return ceiling
    return database.max_total_wal_bytes or _WAL_TO_MEMTABLES * _COUNTED_AT_OPEN * ceiling


def wal(
    database: TreeOptions,
    families: Sequence[Family],
    devices: Devices,
    load: Load,
    known: Calibration,
) -> WalModel:
    limit = wal_limit_bytes(database, families)
    single = sum(family.column.shards for family in families) == 1
    by_size = bool(database.max_total_wal_bytes) and not single
    file_bytes = _preallocated_bytes(database)
    device_bytes = known.quantities['wal_device_bytes'].around(
        limit * _allocation(file_bytes / database.write_buffer_bytes, single=single) + file_bytes
    )
    total = devices.wal_bytes if devices.dedicated_wal else None
    if total is None and devices.dedicated_wal is False and devices.dedicated_db:
        total = devices.db_bytes
    return WalModel(
        limit_bytes=limit,
        limited_by='max_total_wal_size' if by_size else 'memtables',
        file_bytes=file_bytes,
        device_bytes=device_bytes,
        device_total_bytes=total,
        fits_device=None if total is None else device_bytes.value <= total,
        fill_s=_seconds(limit, load.wal_bytes_per_s),
    )


def _preallocated_bytes(database: TreeOptions) -> int:
    """DBImpl::GetWalPreallocateBlockSize() in db/db_impl/db_impl_write.cc."""
    size = database.write_buffer_bytes + database.write_buffer_bytes // 10
    for bound in (database.max_total_wal_bytes, database.db_write_buffer_bytes):
        if bound:
            size = min(size, bound)
    return size


def _allocation(blocks: float, *, single: bool) -> float:
    """Allocated over held bytes of WAL files; ``blocks``: preallocation over memtable size.

    Each memtable of any column family that fills begins a new WAL file
    (DBImpl::SwitchMemtable()), and a file grows by whole preallocated blocks
    (FSWritableFile::PrepareWrite()). Of one family every file holds one memtable. Where many fill
    independently of one another, what lies between two such moments is distributed exponentially
    around one memtable, and the mean of the next whole number of blocks is 1 / (1 - e^-blocks).
    """
    if single:
        return max(1.0, blocks)
    return blocks / -math.expm1(-blocks)


def column_family(
    family: Family,
    limit_bytes: int,
    load: Load,
    workload: Optional[WorkloadCalibration],
    known: Calibration,
) -> ColumnFamilyModel:
    """One column's flushes: of full memtables, or earlier, where the limit of the WAL asks.

    DBImpl::SwitchWAL() in db/db_impl/db_impl_write.cc flushes every family that keeps the oldest
    WAL file, however few memtables it has: one that gets a part of all writes holds that part of
    a full WAL by then.
    """
    options, shards = family.options, family.column.shards
    full = known.quantities['full_flush_bytes'].around(options.full_flush_bytes)
    column = workload.columns.get(family.column.name) if workload else None
    share = expected = flushed_by = file_bytes = None
    if workload is not None:
        share = column.ingest_share / shards if column else 0.0
    if workload is not None and column is not None and share:
        at_limit = share * limit_bytes * workload.memory_per_wal_byte
        flushed_by = 'memtables' if full.value <= at_limit else 'wal'
        expected = (
            full
            if flushed_by == 'memtables'
            else known.quantities['early_flush_bytes'].around(at_limit)
        )
        survival = workload.survival(column.name, options.compression)
        file_bytes = known.quantities['level0_file_bytes'].around(expected.value * survival)
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
        keys_per_flush=_keys(expected, load.bytes_per_key),
        flush_every_s=_flush_every_s(expected, share, load, workload),
    )


def _keys(expected: Optional[Estimate], bytes_per_key: Optional[float]) -> Optional[float]:
    return expected.value / bytes_per_key if expected and bytes_per_key else None


def _flush_every_s(
    expected: Optional[Estimate],
    share: Optional[float],
    load: Load,
    workload: Optional[WorkloadCalibration],
) -> Optional[float]:
    if expected is None or not share or not load.wal_bytes_per_s or workload is None:
        return None
    return expected.value / (share * load.wal_bytes_per_s * workload.memory_per_wal_byte)


def memtables(
    database: TreeOptions,
    families: Sequence[Family],
    limit_bytes: int,
    workload: Optional[WorkloadCalibration],
    known: Calibration,
    memory_target_bytes: Optional[int],
) -> MemtableModel:
    """Memory of all memtables: what is in them is in the WAL too, so its limit bounds them.

    A memtable is freed when its flush ends; the WAL file that it keeps counts until then.
    """
    ceiling = sum(family.ceiling_bytes for family in families)
    ratios = [w.memory_per_wal_byte for w in known.workloads.values()]
    ratio = workload.memory_per_wal_byte if workload else max(ratios)
    bounded, by = float(ceiling), 'max_write_buffer_number'
    for bound, name in (
        (limit_bytes * ratio, 'wal'),
        (float(database.db_write_buffer_bytes), 'db_write_buffer_size'),
    ):
        if 0 < bound < bounded:
            bounded, by = bound, name
    lowest = min([bounded, *(limit_bytes * r for r in ratios)]) if by == 'wal' else bounded
    return MemtableModel(
        ceiling_bytes=ceiling,
        bounded_bytes=Estimate(lowest, bounded, bounded),
        bounded_by=by,
        memory_target_bytes=memory_target_bytes,
        share_of_memory_target=bounded / memory_target_bytes if memory_target_bytes else None,
    )


def background_jobs(database: TreeOptions) -> tuple[int, int]:
    """Flushes and compactions at once: DBImpl::GetBGJobLimits() in db_impl_compaction_flush.cc."""
    if database.max_background_flushes == -1 and database.max_background_compactions == -1:
        flushes = max(1, database.max_background_jobs // 4)
        return flushes, max(1, database.max_background_jobs - flushes)
    return max(1, database.max_background_flushes), max(1, database.max_background_compactions)


def _seconds(amount: float, per_s: Optional[float]) -> Optional[float]:
    return amount / per_s if per_s else None
