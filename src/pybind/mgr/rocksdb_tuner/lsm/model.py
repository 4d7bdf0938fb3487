"""The complete model of one OSD's LSM tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Optional

from ..options.syntax import OptionSet
from .amplification import amplification
from .calibration import Calibration, WorkloadCalibration, calibration
from .columns import Column, options_of
from .cpu import cpu, cpu_work
from .fates import Population
from .kv_sync import kv_sync_time
from .levels import db_device, levels
from .memory import Family, background_jobs, column_family, memtables, wal, wal_limit_bytes
from .population import (
    LOG_ENTRIES,
    assumed_data_bytes,
    data_by_family,
    grows,
    population,
    stored_ratio,
)
from .records import (
    Amplification,
    ColumnFamilyModel,
    Devices,
    Load,
    Stall,
    TreeModel,
    VolumeSelection,
)
from .stalls import Busiest, stalls
from .tree_options import TreeOptions, tree_options

__all__ = ['TreeInputs', 'amplification_of', 'model', 'most_objects', 'packing']


@dataclass(frozen=True)
class TreeInputs:
    """Inputs of the model; None and the defaults of the parts mean "unknown"."""

    options: OptionSet
    rocksdb_version: str
    #: "default" first, see `columns`.
    columns: tuple[Column, ...]
    devices: Devices = field(default_factory=Devices)
    selection: VolumeSelection = field(default_factory=VolumeSelection)
    load: Load = field(default_factory=Load)
    memory_target_bytes: Optional[int] = None
    cores: Optional[int] = None
    #: The caller's assumptions, as sentences.
    assumptions: tuple[str, ...] = ()


def model(inputs: TreeInputs, known: Optional[Calibration] = None) -> TreeModel:
    """The LSM tree that results from the options.

    ``known`` defaults to the installed calibration. Raises NotModeledError for a tree without
    levels, KeyError for a workload that was not measured, and what `options.effective` raises for
    options with which no OSD starts.
    """
    known = known or calibration()
    shape = _shape(inputs, known)
    database, families, columns = shape.database, shape.families, shape.columns
    load, workload, held, of_shards = shape.load, shape.workload, shape.held, shape.of_shards
    limit_bytes, version = shape.limit_bytes, inputs.rocksdb_version
    assumptions = list(inputs.assumptions)
    if load != inputs.load:
        assumptions.append(
            'The size of the database is unknown: assumed to fill levels 1 and 2 of its largest '
            'column family.'
        )
    if database.db_write_buffer_bytes:
        assumptions.append(
            'db_write_buffer_size is considered for memory only: RocksDB flushes the oldest '
            'memtable earlier than the flush sizes shown here.'
        )
    all_shards = of_shards and [
        data for data, family in zip(of_shards, families) for _ in range(family.column.shards)
    ]
    flushes, compactions = background_jobs(database)
    return TreeModel(
        rocksdb_version=version,
        wal=wal(database, families, inputs.devices, load, known),
        memtables=memtables(
            database, families, limit_bytes, workload, known, inputs.memory_target_bytes
        ),
        column_families=columns,
        levels=levels(
            database, inputs.devices, inputs.selection, max(of_shards) if of_shards else None
        ),
        db_device=db_device(database, inputs.devices, inputs.selection, all_shards),
        stalls=_stalls(version, families, columns, of_shards, load),
        amplification=amplification(families, columns, workload, held, of_shards, known),
        kv_sync_time=kv_sync_time(
            columns, known.inserts_of(load.workload, thread_waits=load.thread_waits)
        ),
        cpu=cpu(
            cpu_work(families, columns, workload, held, of_shards, known),
            columns,
            workload,
            known,
        ),
        background_flushes=flushes,
        background_compactions=compactions,
        cores=inputs.cores,
        assumptions=tuple(assumptions),
    )


def amplification_of(inputs: TreeInputs) -> Amplification:
    """The amplification of `model` in a third of the time; raises the same."""
    known = calibration()
    shape = _shape(inputs, known)
    return amplification(
        shape.families, shape.columns, shape.workload, shape.held, shape.of_shards, known
    )


def most_objects(inputs: TreeInputs) -> Optional[float]:
    """Maximum number of objects for the database size; None if it does not grow with objects."""
    load, families = inputs.load, _families(inputs)
    workload = _workload(inputs, calibration())
    if workload is None or load.data_bytes is None or grows(families, workload):
        return None
    asked = replace(load, objects=None)
    return population(families, workload, asked, load.data_bytes).objects


def packing(before: TreeInputs, after: TreeInputs) -> Optional[float]:
    """Ratio of SST bytes of the same data, after to before: the effect of compression.

    None if the workload is unknown.
    """
    families = _families(before)
    workload = _workload(before, calibration())
    if workload is None:
        return None
    held = population(families, workload, before.load, before.load.data_bytes)
    return stored_ratio(families, _families(after), workload, held)


@dataclass(frozen=True)
class _Shape:
    """Intermediate results that all parts of the model use."""

    database: TreeOptions
    families: Sequence[Family]
    columns: tuple[ColumnFamilyModel, ...]
    #: With the known or assumed size of the database.
    load: Load
    limit_bytes: int
    workload: Optional[WorkloadCalibration]
    held: Optional[Population]
    #: SST bytes of one shard of each column; None: unknown.
    of_shards: Optional[Sequence[float]]


def _shape(inputs: TreeInputs, known: Calibration) -> _Shape:
    database = _tree_options(inputs.options, inputs.rocksdb_version)
    families = _families(inputs)
    load = inputs.load
    workload = _workload(inputs, known)
    if workload is not None and load.data_bytes is None:
        load = replace(load, data_bytes=assumed_data_bytes(families, workload))
    limit_bytes = wal_limit_bytes(database, families)
    held = None if workload is None else population(families, workload, load, load.data_bytes)
    columns = tuple(
        column_family(family, limit_bytes, load, workload, held, known) for family in families
    )
    of_shards = (
        data_by_family(families, workload, held, load.data_bytes)
        if workload is not None and held is not None and load.data_bytes
        else None
    )
    return _Shape(database, families, columns, load, limit_bytes, workload, held, of_shards)


def _families(inputs: TreeInputs) -> Sequence[Family]:
    return _families_of(inputs.columns, inputs.options, inputs.rocksdb_version)


# One decision evaluates dozens of option sets, each several times.
@lru_cache(maxsize=256)
def _families_of(
    columns: tuple[Column, ...], options: OptionSet, rocksdb_version: str
) -> tuple[Family, ...]:
    return tuple(
        Family(column, _tree_options(options_of(column, options), rocksdb_version))
        for column in columns
    )


_tree_options = lru_cache(maxsize=256)(tree_options)


def _workload(inputs: TreeInputs, known: Calibration) -> Optional[WorkloadCalibration]:
    if inputs.load.workload is None:
        return None
    names = {column.name for column in inputs.columns}
    measured = known.workloads[inputs.load.workload]
    load = inputs.load
    if not _has_dups(load, measured.population):
        measured = measured.without_dups()
    return measured.of_writes(load.write_bytes, load.writes_per_object).over(names)


def _has_dups(load: Load, measured: Population) -> bool:
    """Whether the OSD tracks requests that the PG log no longer holds."""
    entries = LOG_ENTRIES if load.log_entries is None else load.log_entries
    groups = load.placement_groups or measured.placement_groups
    return replace(measured, log_entries=entries, placement_groups=groups).log_dups > 0


def _stalls(
    rocksdb_version: str,
    families: Sequence[Family],
    columns: Sequence[ColumnFamilyModel],
    of_shards: Optional[Sequence[float]],
    load: Load,
) -> tuple[Stall, ...]:
    """Stall conditions of the busiest column family; of "default" if the workload is unknown."""
    place = max(range(len(columns)), key=lambda number: columns[number].share or 0.0)
    column = columns[place]
    busiest = Busiest(
        bytes_per_s=None
        if column.share is None or load.wal_bytes_per_s is None
        else column.share * load.wal_bytes_per_s,
        flush_bytes=column.expected_flush_bytes.value if column.expected_flush_bytes else None,
        data_bytes=of_shards[place] if of_shards else None,
    )
    return stalls(families[place].options, rocksdb_version, busiest)
