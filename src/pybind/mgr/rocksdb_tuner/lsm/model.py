"""The complete model of one OSD's LSM tree, and the number of objects that clients write to.

No daemon reports that number, but it decides how much of the written data a longer flush window
saves. It is the number with which the model gives the write amplification that was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple, Optional

from ..options.syntax import Column, OptionSet
from ..options.wal import Wal
from .amplification import (
    LOG_ENTRIES,
    Contents,
    Flow,
    amplification,
    background_jobs,
    column_family,
    flow_of,
    memtables,
    population_of,
    wal,
    wal_of,
)
from .calibration import Calibration, WorkloadCalibration, calibration
from .cpu import cpu, kv_sync_time
from .keys import Population
from .levels import Family, TreeOptions, db_device, levels, options_of, tree_options
from .records import (
    Amplification,
    ColumnFamilyModel,
    Devices,
    Estimate,
    Load,
    TreeModel,
    VolumeSelection,
)


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
    load, workload = shape.load, shape.workload
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
    flushes, compactions = background_jobs(database)
    return TreeModel(
        rocksdb_version=inputs.rocksdb_version,
        wal=wal(shape.log, inputs.devices, load, known),
        memtables=memtables(
            database, families, shape.log, workload, known, inputs.memory_target_bytes
        ),
        column_families=columns,
        levels=levels(database, inputs.devices, inputs.selection),
        db_device=db_device(
            database,
            inputs.devices,
            inputs.selection,
            [
                data
                for data, family in zip(shape.of_shards, families)
                for _ in range(family.column.shards)
            ]
            or None,
        ),
        amplification=amplification(columns, shape.flows, workload, shape.of_shards, known),
        kv_sync_time=kv_sync_time(
            columns, known.inserts_of(load.workload, thread_waits=load.thread_waits)
        ),
        cpu=cpu(families, columns, shape.flows, workload, shape.held, known),
        background_flushes=flushes,
        background_compactions=compactions,
        cores=inputs.cores,
        assumptions=tuple(assumptions),
    )


def amplification_of(inputs: TreeInputs) -> Amplification:
    """The amplification of `model` in a third of the time; raises the same."""
    known = calibration()
    shape = _shape(inputs, known)
    return amplification(shape.columns, shape.flows, shape.workload, shape.of_shards, known)


def packing(before: TreeInputs, after: TreeInputs) -> Optional[float]:
    """Ratio of SST bytes of the same data, after to before: the effect of compression.

    None if the workload is unknown, or without data.
    """
    workload = _workload(before, calibration())
    if workload is None:
        return None
    contents = [Contents(_families(inputs), workload) for inputs in (before, after)]
    held = contents[0].held(before.load, before.load.data_bytes)
    sizes = [sum(c.growth if contents[0].grows else c.live(held)) for c in contents]
    return sizes[1] / sizes[0] if sizes[0] > 0 else None


class _Shape(NamedTuple):
    """Intermediate results that all parts of the model use."""

    database: TreeOptions
    families: Sequence[Family]
    log: Wal
    columns: tuple[ColumnFamilyModel, ...]
    #: With the known or assumed size of the database.
    load: Load
    workload: Optional[WorkloadCalibration]
    held: Optional[Population]
    #: SST bytes of one shard of each column, and the flow through it; empty: unknown.
    of_shards: Sequence[float]
    flows: Sequence[Flow]


def _shape(inputs: TreeInputs, known: Calibration) -> _Shape:
    database = tree_options(inputs.options, inputs.rocksdb_version)
    families, load, workload = _families(inputs), inputs.load, _workload(inputs, known)
    log = wal_of(database, families)
    contents = held = None
    if workload is not None:
        contents = Contents(families, workload)
        if load.data_bytes is None:
            load = replace(load, data_bytes=contents.assumed_bytes)
        held = contents.held(load, load.data_bytes)
    columns = tuple(
        column_family(family, log.limit_bytes, load, workload, held, known) for family in families
    )
    if contents is None or workload is None or held is None or not load.data_bytes:
        return _Shape(database, families, log, columns, load, workload, held, (), ())
    of_shards = contents.of_shards(held, load.data_bytes)
    flows = [
        flow_of(family.options, column, workload, held, data, known.overlap, load.written_ratio)
        for family, column, data in zip(families, columns, of_shards)
    ]
    return _Shape(database, families, log, columns, load, workload, held, of_shards, flows)


# One decision evaluates dozens of option sets, each several times.
@lru_cache(maxsize=256)
def _families_of(
    columns: tuple[Column, ...], options: OptionSet, rocksdb_version: str
) -> tuple[Family, ...]:
    return tuple(
        Family(column, tree_options(options_of(column, options), rocksdb_version))
        for column in columns
    )


def _families(inputs: TreeInputs) -> tuple[Family, ...]:
    return _families_of(inputs.columns, inputs.options, inputs.rocksdb_version)


def _workload(inputs: TreeInputs, known: Calibration) -> Optional[WorkloadCalibration]:
    load = inputs.load
    if load.workload is None:
        return None
    measured = known.workloads[load.workload]
    if population_of(measured, load).log_dups <= 0:
        # The PG log holds all requests that the OSD tracks.
        measured = measured.without_dups()
    names = {column.name for column in inputs.columns}
    return measured.of_writes(load.write_bytes, load.writes_per_object).over(names)


#: Fewer objects make no difference.
_LEAST_OBJECTS = 10.0
#: Lengths of the PG log relative to its target: those of young OSDs and new pools still grow.
_LOG_PARTS = (1.0, 0.3, 0.1, 0.03)
#: Minimum number of level 0 compactions in a window for a meaningful amplification.
_LEAST_COMPACTIONS = 3
#: Halvings of the range of objects on a log scale: precise to a few percent.
_HALVINGS = 9


class Measured(NamedTuple):
    """Writes of an OSD over its long window under its running options."""

    #: (WAL + SST bytes) / WAL bytes
    write_amplification: float
    window_s: float


class WorkingSet(NamedTuple):
    """What clients write to, by the writes of the OSD."""

    #: None if no number explains the writes, or if they do not depend on it.
    objects: Optional[Estimate]
    #: Length of all PG logs together; None: as assumed.
    log_entries: Optional[float]
    #: Measured over predicted bytes of flushes and compactions with this number.
    written_ratio: float


@lru_cache(maxsize=64)
def working_set(inputs: TreeInputs, measured: Measured) -> Optional[WorkingSet]:
    """The contents with which the model writes as measured; ``inputs``: the running options.

    None without a prediction, or for a window of too few compactions. Raises what `model` raises.
    """
    tree, load = model(inputs), inputs.load
    busiest = max(tree.column_families, key=lambda column: column.share or 0.0)
    write, seen = tree.amplification.write, measured.write_amplification
    if write is None or load.data_bytes is None or not busiest.flush_every_s or seen <= 1:
        return None
    if measured.window_s < _LEAST_COMPACTIONS * tree.levels.level0_files * busiest.flush_every_s:
        return None
    error = calibration().quantities['write_amplification']
    likely = seen / math.sqrt(error.low * error.high)
    logs = [part * LOG_ENTRIES for part in _LOG_PARTS]
    for entries in logs if load.log_entries is None else [load.log_entries]:
        asked = replace(inputs, load=replace(load, log_entries=entries))
        most = _most_objects(asked)
        if most is None or most <= _LEAST_OBJECTS:
            continue
        ends = [_written_with(asked, number) for number in (_LEAST_OBJECTS, most)]
        if ends[0] <= seen / error.low and seen / error.high <= ends[1]:
            numbers = [
                _objects_of(asked, amount, most)
                for amount in (seen / error.high, likely, seen / error.low)
            ]
            return WorkingSet(Estimate(*numbers), entries, 1.0)
    # Writes beyond the model are others: a reshard, a requested compaction.
    ratio = min(1.0, max(0.0, likely - 1) / (write.value - 1)) if write.value > 1 else 1.0
    return WorkingSet(None, None, ratio)


def _most_objects(inputs: TreeInputs) -> Optional[float]:
    """Maximum number of objects for the database size; None if it does not grow with objects."""
    workload = _workload(inputs, calibration())
    if workload is None:
        return None
    contents = Contents(_families(inputs), workload)
    load = replace(inputs.load, objects=None)
    return None if contents.grows else contents.held(load, load.data_bytes).objects


def _written_with(inputs: TreeInputs, objects: float) -> float:
    write = amplification_of(replace(inputs, load=replace(inputs.load, objects=objects))).write
    return 1.0 if write is None else write.value


def _objects_of(inputs: TreeInputs, written: float, most: float) -> float:
    """The number with which the model writes this much: more objects are written no less for."""
    low, high = _LEAST_OBJECTS, most
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if _written_with(inputs, middle) < written:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)
