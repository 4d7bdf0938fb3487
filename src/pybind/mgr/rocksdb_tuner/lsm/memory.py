"""Memtables, WAL and flushes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from ..options import wal as rocksdb_wal
from .calibration import Calibration, WorkloadCalibration
from .keys import Population
from .levels import Family, TreeOptions
from .records import ColumnFamilyModel, Devices, Estimate, Load, MemtableModel, WalModel


def wal_limit_bytes(database: TreeOptions, families: Sequence[Family]) -> int:
    """WAL size at which RocksDB flushes the column families that keep the oldest WAL file."""
    return rocksdb_wal.limit_bytes(
        database.max_total_wal_bytes, _all_full_bytes(families), _number_of(families)
    )


def _all_full_bytes(families: Sequence[Family]) -> int:
    return sum(family.ceiling_bytes for family in families)


def _number_of(families: Sequence[Family]) -> int:
    return sum(family.column.shards for family in families)


def wal(
    database: TreeOptions,
    families: Sequence[Family],
    devices: Devices,
    load: Load,
    known: Calibration,
) -> WalModel:
    log = rocksdb_wal.wal(
        write_buffer_bytes=database.write_buffer_bytes,
        max_total_wal_bytes=database.max_total_wal_bytes,
        db_write_buffer_bytes=database.db_write_buffer_bytes,
        all_full_bytes=_all_full_bytes(families),
        column_families=_number_of(families),
    )
    by_size = bool(database.max_total_wal_bytes) and _number_of(families) > 1
    total = devices.wal_bytes if devices.dedicated_wal else None
    if total is None and devices.dedicated_wal is False and devices.dedicated_db:
        total = devices.db_bytes
    return WalModel(
        limit_bytes=log.limit_bytes,
        limited_by='max_total_wal_size' if by_size else 'memtables',
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
    workload: Optional[WorkloadCalibration],
    known: Calibration,
    memory_target_bytes: Optional[int],
) -> MemtableModel:
    """Memory of all memtables. Their data is also in the WAL, so the WAL limit bounds them.

    A memtable is freed at the end of its flush; its WAL file counts until then.
    """
    ceiling, limit_bytes = _all_full_bytes(families), wal_limit_bytes(database, families)
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
    """Concurrent flushes and compactions: DBImpl::GetBGJobLimits()."""
    if database.max_background_flushes == -1 and database.max_background_compactions == -1:
        flushes = max(1, database.max_background_jobs // 4)
        return flushes, max(1, database.max_background_jobs - flushes)
    return max(1, database.max_background_flushes), max(1, database.max_background_compactions)
