"""The complete model of one OSD's LSM tree.

Number of objects that clients write to, estimated from the write amplification.

The model has one parameter that no daemon reports: the number of objects that are written to. The
prior is log-uniform up to the maximum for the size of the database. Each number predicts a write
amplification; its likelihood follows from the measured one and the model's calibration error
(Bayes). The length of the PG log, which is still growing on a young OSD, is a second parameter.

Every estimate uses the whole long window, so there is no state to carry over, and another mgr gets
the same result after a failover.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple, Optional

from ..options.syntax import OptionSet
from .amplification import Busiest, amplification, stalls
from .calibration import Calibration, Quantity, WorkloadCalibration, calibration
from .cpu import cpu, cpu_work, kv_sync_time
from .keys import Population
from .levels import Column, TreeOptions, db_device, levels, options_of, tree_options
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
    Estimate,
    Load,
    Stall,
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


#: Numbers of objects that are modeled, evenly spaced on a log scale.
_STEPS = 12
#: Interpolated numbers per modeled one.
_FINER = 7
#: Length of the PG log relative to its target, with its prior probability.
_LOG_PARTS = ((1.0, 0.7), (0.3, 0.1), (0.1, 0.1), (0.03, 0.1))
#: Fewer objects make no difference.
_LEAST_OBJECTS = 10.0
#: Minimum number of level 0 compactions in a window for a meaningful amplification.
_LEAST_COMPACTIONS = 3
#: Standard deviations from every number beyond which the model does not explain the measurement.
_FARTHEST = 3.0
#: The ends of an 80% interval.
_LOW, _HIGH = 0.1, 0.9


@dataclass(frozen=True)
class Measured:
    """Writes of an OSD over its long window under its running options."""

    #: (WAL + SST bytes) / WAL bytes
    write_amplification: float
    window_s: float


@dataclass(frozen=True)
class WorkingSet:
    #: Without a measurement.
    prior: Estimate
    #: With the measurement; None: insufficient or inconclusive.
    fitted: Optional[Estimate]
    #: Most likely length of all PG logs together; None without ``fitted``.
    log_entries: Optional[float] = None


class _Case(NamedTuple):
    """A number of objects and a PG log length, with their weight."""

    objects: float
    log_entries: float
    weight: float


@lru_cache(maxsize=64)
def working_set(inputs: TreeInputs, measured: Optional[Measured]) -> Optional[WorkingSet]:
    """Prior and posterior number of objects; ``inputs``: the OSD's running options.

    None if the writes do not depend on it, or the database size is unknown. Raises what `model`
    raises.
    """
    rooms = {entries: most_objects(_with_log(inputs, entries)) for entries in _logs(inputs)}
    known_rooms = [room for room in rooms.values() if room is not None]
    most = max(known_rooms, default=0.0)
    if most <= _LEAST_OBJECTS:
        return None
    numbers = _evenly(most, _STEPS * _FINER)
    # A shorter PG log leaves room for more objects.
    before = [
        _Case(number, entries, part)
        for entries, part in _logs(inputs).items()
        for number in numbers
        if number <= (rooms[entries] or 0.0) * (1 + 1e-9)
    ]
    prior = _objects(numbers, before)
    if measured is None or not _long_enough(model(inputs), measured.window_s):
        return WorkingSet(prior, None)
    middle, spread = _error_of(calibration().quantities['write_amplification'])
    written = math.log(measured.write_amplification) - middle
    predicted = {n: _Predicted(_with_log(inputs, n), most) for n in _logs(inputs)}
    distances = [
        (written - predicted[case.log_entries].logarithm(case.objects)) / spread for case in before
    ]
    if min(map(abs, distances)) > _FARTHEST:
        return WorkingSet(prior, None)
    after = [
        case._replace(weight=case.weight * math.exp(-d * d / 2))
        for case, d in zip(before, distances)
    ]
    likeliest = max(
        _logs(inputs), key=lambda n: sum(case.weight for case in after if case.log_entries == n)
    )
    return WorkingSet(prior, _objects(numbers, after), likeliest)


def _evenly(most: float, steps: int) -> list[float]:
    """Numbers up to ``most``, evenly spaced on a log scale."""
    span = math.log(most / _LEAST_OBJECTS)
    return [_LEAST_OBJECTS * math.exp(span * i / (steps - 1)) for i in range(steps)]


class _Predicted:
    """Write amplification by number of objects: modeled at some, interpolated in between."""

    def __init__(self, inputs: TreeInputs, most: float) -> None:
        numbers = _evenly(most, _STEPS)
        self._step = math.log(numbers[1] / numbers[0])
        self._logarithms = [math.log(self._modeled(inputs, number)) for number in numbers]

    @staticmethod
    def _modeled(inputs: TreeInputs, objects: float) -> float:
        load = replace(inputs.load, objects=objects)
        write = amplification_of(replace(inputs, load=load)).write
        # Workload and database size are known here.
        assert write is not None
        return write.value

    def logarithm(self, objects: float) -> float:
        place = math.log(objects / _LEAST_OBJECTS) / self._step
        lower = min(int(place), len(self._logarithms) - 2)
        low, high = self._logarithms[lower], self._logarithms[lower + 1]
        return low + (high - low) * (place - lower)


def _logs(inputs: TreeInputs) -> Mapping[float, float]:
    """Possible lengths of all PG logs together, with their prior probabilities.

    Logs grow to their target length; those of young OSDs and new pools are shorter.
    """
    given = inputs.load.log_entries
    if given is not None:
        return {given: 1.0}
    return {part * LOG_ENTRIES: weight for part, weight in _LOG_PARTS}


def _with_log(inputs: TreeInputs, log_entries: float) -> TreeInputs:
    return replace(inputs, load=replace(inputs.load, log_entries=log_entries))


def _objects(numbers: Sequence[float], cases: Sequence[_Case]) -> Estimate:
    """The marginal distribution over all log lengths."""
    weights = dict.fromkeys(numbers, 0.0)
    for case in cases:
        weights[case.objects] += case.weight
    return _estimate(numbers, list(weights.values()))


def _long_enough(tree: TreeModel, window_s: float) -> bool:
    """Whether the window has enough level 0 compactions of the busiest column family."""
    busiest = max(tree.column_families, key=lambda column: column.share or 0.0)
    if busiest.flush_every_s is None:
        return False
    return window_s >= _LEAST_COMPACTIONS * tree.levels.level0_files * busiest.flush_every_s


def _error_of(quantity: Quantity) -> tuple[float, float]:
    """Mean and standard deviation of log(measured / predicted), assumed normal."""
    low, high = math.log(quantity.low), math.log(quantity.high)
    return (low + high) / 2, (high - low) / 2 / NormalDist().inv_cdf(_HIGH)


def _estimate(numbers: Sequence[float], weights: Sequence[float]) -> Estimate:
    """Median and 80% interval of weighted numbers.

    The weight of a number is spread halfway to its neighbors on a log scale.
    """
    step = math.log(numbers[1] / numbers[0])

    def quantile(part: float) -> float:
        left = part * sum(weights)
        for number, weight in zip(numbers, weights):
            if weight and left <= weight:
                found = number * math.exp(step * (left / weight - 0.5))
                return min(max(found, numbers[0]), numbers[-1])
            left -= weight
        return numbers[-1]

    return Estimate(quantile(_LOW), quantile(0.5), quantile(_HIGH))
