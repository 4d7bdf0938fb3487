"""The complete model of one OSD's LSM tree, and the number of objects that clients write to.

No daemon reports that number, but it decides how much of the written data a longer flush window
saves. It is the number with which the model gives the write amplification that was measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import NamedTuple, Optional

from ..options import wal as rocksdb_wal
from ..options.syntax import Column, OptionSet
from .amplification import LOG_ENTRIES, Contents, Flow, flow_of, population_of
from .calibration import Calibration, WorkloadCalibration, calibration
from .cpu import cpu, kv_sync_time
from .keys import Population
from .levels import Family, db_device, levels, options_of, tree_options
from .records import (
    Amplification,
    ColumnFamilyModel,
    Devices,
    Estimate,
    Load,
    MemtableModel,
    TreeModel,
    VolumeSelection,
    WalModel,
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
    tree = _Tree(inputs, known)
    database, families, load = tree.database, tree.families, tree.load
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
    # Concurrent flushes and compactions: DBImpl::GetBGJobLimits().
    flushes, compactions = database.max_background_flushes, database.max_background_compactions
    if flushes == compactions == -1:
        flushes = max(1, database.max_background_jobs // 4)
        compactions = database.max_background_jobs - flushes
    shards = [data for data, f in zip(tree.of_shards, families) for _ in range(f.column.shards)]
    return TreeModel(
        rocksdb_version=inputs.rocksdb_version,
        wal=tree.wal(),
        memtables=tree.memtables(),
        column_families=tree.columns,
        levels=levels(database, inputs.devices, inputs.selection),
        db_device=db_device(database, inputs.devices, inputs.selection, shards or None),
        amplification=tree.amplification(),
        kv_sync_time=kv_sync_time(
            tree.columns, known.inserts_of(load.workload, thread_waits=load.thread_waits)
        ),
        cpu=cpu(families, tree.columns, tree.flows, tree.workload, tree.held, known),
        background_flushes=max(1, flushes),
        background_compactions=max(1, compactions),
        cores=inputs.cores,
        assumptions=tuple(assumptions),
    )


def amplification_of(inputs: TreeInputs) -> Amplification:
    """The amplification of `model` in a third of the time; raises the same."""
    return _Tree(inputs, calibration()).amplification()


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


class _Tree:
    """Flushes and contents of one tree, of which all parts of the model are made."""

    def __init__(self, inputs: TreeInputs, known: Calibration) -> None:
        self.inputs, self.known = inputs, known
        self.database = tree_options(inputs.options, inputs.rocksdb_version)
        self.families, self.workload = _families(inputs), _workload(inputs, known)
        #: With the known or assumed size of the database.
        self.load = inputs.load
        self.contents: Optional[Contents] = None
        self.held: Optional[Population] = None
        if self.workload is not None:
            self.contents = Contents(self.families, self.workload)
            if self.load.data_bytes is None:
                self.load = replace(self.load, data_bytes=self.contents.assumed_bytes)
            self.held = self.contents.held(self.load, self.load.data_bytes)
        #: The log, whose limit flushes the column families that keep its oldest file.
        self.log = rocksdb_wal.wal(
            write_buffer_bytes=self.database.write_buffer_bytes,
            max_total_wal_bytes=self.database.max_total_wal_bytes,
            db_write_buffer_bytes=self.database.db_write_buffer_bytes,
            all_full_bytes=sum(family.ceiling_bytes for family in self.families),
            column_families=sum(family.column.shards for family in self.families),
        )
        self.columns = tuple(map(self._column, self.families))

    @cached_property
    def of_shards(self) -> tuple[float, ...]:
        """SST bytes of one shard of each column; empty: unknown."""
        if self.contents is None or self.held is None or not self.load.data_bytes:
            return ()
        return self.contents.of_shards(self.held, self.load.data_bytes)

    @cached_property
    def flows(self) -> list[Flow]:
        """The flow through each column; empty: unknown."""
        workload, held = self.workload, self.held
        if workload is None or held is None:
            return []
        overlap, ratio = self.known.overlap, self.load.written_ratio
        return [
            flow_of(family.options, column, workload, held, data, overlap, ratio)
            for family, column, data in zip(self.families, self.columns, self.of_shards)
        ]

    def amplification(self) -> Amplification:
        """None for an unknown workload or database size."""
        workload, flows = self.workload, self.flows
        if workload is None or not flows:
            return Amplification(None, None, None, None)
        flushed = sum(flow.flushed for flow in flows) / workload.written_bytes
        compacted = sum(flow.compacted for flow in flows) / workload.written_bytes
        # Level 0 is half full on average; a part of it is newer values of keys further down.
        stale = workload.stale * sum(
            column.shards * min(flow.level0_bytes, data) / 2
            for flow, column, data in zip(flows, self.columns, self.of_shards)
        )
        total = sum(data * column.shards for data, column in zip(self.of_shards, self.columns))
        return Amplification(
            write=self._at_least_one('write_amplification', 1.0 + flushed + compacted),
            flushes=flushed,
            compactions=compacted,
            # At most half of a family counts as stale, so the divisor is never 0.
            space=self._at_least_one(
                'space_amplification', total / (total - stale) if total else 1.0
            ),
        )

    def _around(self, quantity: str, value: float) -> Estimate:
        return self.known.quantities[quantity].around(value)

    def _at_least_one(self, quantity: str, value: float) -> Estimate:
        """An amplification is never below 1."""
        return Estimate(*(max(1.0, end) for end in self._around(quantity, value).ends))

    def wal(self) -> WalModel:
        devices, log, rate = self.inputs.devices, self.log, self.load.wal_bytes_per_s
        total = devices.wal_bytes if devices.dedicated_wal else None
        if total is None and devices.dedicated_wal is False and devices.dedicated_db:
            total = devices.db_bytes
        return WalModel(
            limit_bytes=log.limit_bytes,
            limited_by='max_total_wal_size' if log.by_option else 'memtables',
            file_bytes=log.file_bytes,
            device_bytes=self._around('wal_device_bytes', log.device_bytes),
            device_total_bytes=total,
            fits_device=None if total is None else log.fits(total),
            fill_s=log.limit_bytes / rate if rate else None,
        )

    def memtables(self) -> MemtableModel:
        """Memory of all memtables. Their data is also in the WAL, so the WAL limit bounds them.

        A memtable is freed at the end of its flush; its WAL file counts until then.
        """
        ceiling = sum(family.ceiling_bytes for family in self.families)
        ratios = [w.memory_per_wal_byte for w in self.known.workloads.values()]
        ratio = self.workload.memory_per_wal_byte if self.workload else max(ratios)
        limit, target = self.log.limit_bytes, self.inputs.memory_target_bytes
        bounded, by = float(ceiling), 'max_write_buffer_number'
        for bound, name in (
            (limit * ratio, 'wal'),
            (float(self.database.db_write_buffer_bytes), 'db_write_buffer_size'),
        ):
            if 0 < bound < bounded:
                bounded, by = bound, name
        lowest = min([bounded, *(limit * r for r in ratios)]) if by == 'wal' else bounded
        return MemtableModel(
            ceiling_bytes=ceiling,
            bounded_bytes=Estimate(lowest, bounded, bounded),
            bounded_by=by,
            memory_target_bytes=target,
            share_of_memory_target=bounded / target if target else None,
        )

    def _column(self, family: Family) -> ColumnFamilyModel:
        """Flushes of one column: of full memtables, or earlier because of the WAL limit.

        DBImpl::SwitchWAL() in db/db_impl/db_impl_write.cc flushes every family that keeps the
        oldest WAL file, even if its memtables are small: each flush has its share of a full WAL.
        """
        options, name, shards = family.options, family.column.name, family.column.shards
        workload, held, load = self.workload, self.held, self.load
        full = self._around('full_flush_bytes', options.full_flush_bytes)
        share = expected = flushed_by = file_bytes = writes = every_s = None
        if workload is not None and held is not None:
            share, ratio = workload.share(name) / shards, workload.memory_per_wal_byte
            if share:
                at_limit = share * self.log.limit_bytes * ratio
                flushed_by = 'memtables' if full.value <= at_limit else 'wal'
                early = flushed_by == 'wal'
                expected = self._around('early_flush_bytes', at_limit) if early else full
                writes = expected.value / (share * workload.written_bytes * ratio)
                left = workload.columns[name].left_bytes(writes, held, options.compression)
                file_bytes = self._around('level0_file_bytes', left / shards)
            if writes and load.wal_bytes_per_s:
                every_s = writes * workload.written_bytes / load.wal_bytes_per_s
        return ColumnFamilyModel(
            name=name,
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
            flush_every_s=every_s,
        )


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
    tree = _Tree(replace(inputs, load=replace(inputs.load, objects=None)), calibration())
    if tree.contents is None or tree.held is None or tree.contents.grows:
        return None
    return tree.held.objects


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
