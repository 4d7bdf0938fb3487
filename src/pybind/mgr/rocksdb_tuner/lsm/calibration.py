"""What was measured on real OSDs, for what no formula gives: `knowledge/model.json`.

How much of what is written reaches level 0 depends on what is written, so it is known only for the
workloads that were measured; `qa/bench/bench_model.py` measures it, and how far the model is off.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Mapping, Optional

from ..knowledge import loader
from ..options.compression import NO_COMPRESSION
from .columns import DEFAULT
from .fates import Fate, KeyKind, Members, Population, left_bytes
from .onodes import BLOCK_BYTES, Onodes
from .records import Estimate

__all__ = [
    'Calibration',
    'ColumnCalibration',
    'CompressionCost',
    'CpuCalibration',
    'CpuCosts',
    'Formula',
    'Inserts',
    'Quantity',
    'WorkloadCalibration',
    'calibration',
    'parse_calibration',
    'parse_cpu',
    'workload_of_class',
]

#: The column of objects.
ONODES = 'O'


@dataclass(frozen=True)
class Quantity:
    """How measured values lay to predicted ones."""

    #: Measured over predicted: between these in 80% of the comparisons.
    low: float
    high: float
    comparisons: int

    def around(self, value: float) -> Estimate:
        """The prediction with its interval, which contains it in any case."""
        return Estimate(min(self.low, 1.0) * value, value, max(self.high, 1.0) * value)


@dataclass(frozen=True)
class ColumnCalibration:
    """What one write of a client puts into one column of BlueStore, over all its shards."""

    name: str
    kinds: tuple[KeyKind, ...]

    @cached_property
    def written_bytes(self) -> float:
        """Keys and values in the WAL for each write of a client."""
        return sum(kind.written_bytes for kind in self.kinds)

    def left_bytes(self, writes: float, population: Population, compression: str) -> float:
        """SST bytes that a window of so many writes leaves."""
        return sum(
            left_bytes(kind, writes, population) * _packed(kind, compression) for kind in self.kinds
        )

    def live_bytes(self, population: Population, compression: str) -> float:
        """SST bytes without what is old, of all that does not grow."""
        return sum(
            kind.left_bytes * kind.total_keys(population) * _packed(kind, compression)
            for kind in self.kinds
            if kind.fate is not Fate.KEPT
        )

    def growth_bytes(self, compression: str) -> float:
        """SST bytes that each write adds for good."""
        return sum(
            kind.left_bytes * _packed(kind, compression)
            for kind in self.kinds
            if kind.fate is Fate.KEPT
        )


def _packed(kind: KeyKind, compression: str) -> float:
    return 1.0 if compression == NO_COMPRESSION else kind.compressed


@dataclass(frozen=True)
class WorkloadCalibration:
    name: str
    #: Workload classes of the module that it stands for.
    classes: tuple[str, ...]
    columns: Mapping[str, ColumnCalibration]
    #: What the OSDs held that it was measured on.
    population: Population
    #: Bytes that the memtables take for a byte in the WAL.
    memory_per_wal_byte: float
    #: Of what level 0 holds on average, the part that is a newer value of what is below it.
    stale: float
    description: str
    #: How large onodes are by what is written to an object; None: as `columns` says, always.
    onodes: Optional[Onodes] = None

    def of_writes(
        self, write_bytes: Optional[float], writes_per_object: Optional[float]
    ) -> WorkloadCalibration:
        """The same for writes of this size; None: of 4 KiB, and to all blocks of an object."""
        found = self.columns.get(ONODES)
        if self.onodes is None or found is None or not found.kinds:
            return self
        if write_bytes is None and writes_per_object is None:
            return self
        kinds = self.onodes.kinds(write_bytes or BLOCK_BYTES, writes_per_object)
        return replace(self, columns={**self.columns, ONODES: ColumnCalibration(ONODES, kinds)})

    def remembering_nothing(self) -> WorkloadCalibration:
        """The same where the PG log is as long as what is remembered of its requests."""
        return replace(
            self,
            columns={
                name: replace(
                    column,
                    kinds=tuple(k for k in column.kinds if k.members is not Members.LOG_DUPS),
                )
                for name, column in self.columns.items()
            },
        )

    def over(self, names: Collection[str]) -> WorkloadCalibration:
        """The same for a database with these columns: what has none of its own is in "default"."""
        absent = [c for name, c in self.columns.items() if name not in names or name == DEFAULT]
        merged = ColumnCalibration(DEFAULT, tuple(kind for c in absent for kind in c.kinds))
        own = {name: c for name, c in self.columns.items() if name in names}
        return replace(self, columns={**own, DEFAULT: merged})

    @cached_property
    def written_bytes(self) -> float:
        """Keys and values in the WAL for each write of a client, over all columns."""
        return sum(column.written_bytes for column in self.columns.values())

    def share(self, name: str) -> float:
        """Of all that is written, the part that goes to a column."""
        column = self.columns.get(name)
        return column.written_bytes / self.written_bytes if column else 0.0


@dataclass(frozen=True)
class Inserts:
    """What inserts into memtables take of the kv_sync thread's time."""

    #: Size of the memtables that the share was measured with.
    memtable_bytes: int
    #: Part of the thread's time for a write: the more keys a write has, the larger.
    share: Estimate
    #: How the time of an insert grows with the size of its memtable.
    exponent: Estimate
    source: str


@dataclass(frozen=True)
class CompressionCost:
    """Nanoseconds of CPU for each byte, as it is uncompressed."""

    compress: Estimate
    decompress: Estimate


@dataclass(frozen=True)
class CpuCosts:
    """Nanoseconds of CPU for each byte, as it is uncompressed, of the threads of an OSD."""

    #: Of a byte in the WAL, with memtables of the size of `Inserts`.
    kv_sync: Estimate
    #: Of a byte in memtables that are flushed, whatever is left of it.
    flush_taken: Estimate
    flush_written: Estimate
    compaction_read: Estimate
    compaction_written: Estimate
    #: By the name of the algorithm, less what smaller files spare.
    compression: Mapping[str, CompressionCost]


@dataclass(frozen=True)
class CpuCalibration:
    #: By workload: keys and values of another size cost otherwise.
    costs: Mapping[str, CpuCosts]
    #: Of the CPU for a byte in the WAL, and of a change of it from one option set to another.
    total: Quantity
    change: Quantity


@dataclass(frozen=True)
class Formula:
    """How a quantity is computed, in words, and whose formula that is."""

    quantity: str
    formula: str
    source: str


@dataclass(frozen=True)
class Calibration:
    workloads: Mapping[str, WorkloadCalibration]
    quantities: Mapping[str, Quantity]
    #: Part of the next level that a byte moving down rewrites, over their ratio of sizes.
    overlap: float
    #: Under writes of few keys, and by the workload where that was measured to be otherwise.
    inserts: Inserts
    inserts_by_workload: Mapping[str, Inserts]
    #: By the workload, of a thread that waits for its device for long in each round.
    waiting_inserts: Mapping[str, Inserts]
    cpu: CpuCalibration
    formulas: tuple[Formula, ...]
    source: str

    def inserts_of(self, workload: Optional[str], *, thread_waits: bool = False) -> Inserts:
        """``thread_waits``: for its device, so long that memtables leave the caches meanwhile."""
        name = workload or ''
        busy = self.inserts_by_workload.get(name, self.inserts)
        return self.waiting_inserts.get(name, busy) if thread_waits else busy


@lru_cache(maxsize=1)
def calibration() -> Calibration:
    """The calibration that is installed, read on first use."""
    return parse_calibration(loader.load('model'))


def parse_calibration(content: Mapping[str, Any]) -> Calibration:
    """A calibration from the content of ``knowledge/model.json``."""
    inserts = Inserts(
        memtable_bytes=content['inserts']['memtable_bytes'],
        share=Estimate(**content['inserts']['share']),
        exponent=Estimate(**content['inserts']['exponent']),
        source=content['inserts']['source'],
    )
    return Calibration(
        workloads={
            entry['name']: WorkloadCalibration(
                name=entry['name'],
                classes=tuple(entry['classes']),
                columns={
                    column['name']: ColumnCalibration(
                        column['name'], tuple(_kind(kind) for kind in column['kinds'])
                    )
                    for column in entry['columns']
                },
                population=Population(**entry['population']),
                memory_per_wal_byte=entry['memory_per_wal_byte'],
                stale=entry['stale'],
                description=entry['description'],
                onodes=Onodes(**entry['onodes']) if 'onodes' in entry else None,
            )
            for entry in content['workloads']
        },
        quantities={
            entry['quantity']: Quantity(entry['low'], entry['high'], entry['comparisons'])
            for entry in content['intervals']
        },
        overlap=content['overlap'],
        inserts=inserts,
        inserts_by_workload=_inserts_of(inserts, content['inserts']['workloads']),
        waiting_inserts=_inserts_of(inserts, content['inserts']['waiting']),
        cpu=parse_cpu(content['cpu']),
        formulas=tuple(Formula(**entry) for entry in content['formulas']),
        source=content['source'],
    )


def _inserts_of(inserts: Inserts, entries: Sequence[Mapping[str, Any]]) -> dict[str, Inserts]:
    return {
        entry['workload']: replace(
            inserts, share=Estimate(**entry['share']), source=entry['source']
        )
        for entry in entries
    }


def parse_cpu(content: Mapping[str, Any]) -> CpuCalibration:
    """The part "cpu" of ``knowledge/model.json``."""
    return CpuCalibration(
        costs={entry['workload']: _cpu_costs(entry) for entry in content['workloads']},
        total=Quantity(**content['total']),
        change=Quantity(**content['change']),
    )


def _cpu_costs(entry: Mapping[str, Any]) -> CpuCosts:
    return CpuCosts(
        kv_sync=_estimate(entry['kv_sync']['wal_byte']),
        flush_taken=_estimate(entry['flush']['memtable_byte']),
        flush_written=_estimate(entry['flush']['written_byte']),
        compaction_read=_estimate(entry['compaction']['read_byte']),
        compaction_written=_estimate(entry['compaction']['written_byte']),
        compression={
            cost['name']: CompressionCost(
                _estimate(cost['compressed_byte']), _estimate(cost['decompressed_byte'])
            )
            for cost in entry['compression']
        },
    )


def _estimate(entry: Mapping[str, Any]) -> Estimate:
    """With the interval; where its value comes from is for those who read the file."""
    return Estimate(entry['low'], entry['value'], entry['high'])


def _kind(entry: Mapping[str, Any]) -> KeyKind:
    return KeyKind(**{**entry, 'fate': Fate(entry['fate']), 'members': Members(entry['members'])})


def workload_of_class(workload_class: str) -> Optional[str]:
    """The measured workload that stands for a class, None where none does."""
    for name, workload in calibration().workloads.items():
        if workload_class in workload.classes:
            return name
    return None
