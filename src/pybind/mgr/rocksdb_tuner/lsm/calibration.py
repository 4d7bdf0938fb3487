"""Model parameters measured on real OSDs: `knowledge/model.json`.

How much of the written data reaches level 0 depends on the workload, so it is known for measured
workloads only. `qa/bench/bench_model.py` measures it, and the error of the model.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Annotated, Mapping, NamedTuple, Optional

from ..knowledge import loader
from ..options.syntax import DEFAULT
from ..store.codec import OMITTABLE, decode
from .keys import BLOCK_BYTES, Fate, KeyKind, Members, Onodes, Population, left_bytes
from .records import Estimate

ONODES = 'O'


@dataclass(frozen=True)
class Quantity:
    """Error of a prediction: measured over predicted values."""

    #: 80% of the comparisons are within these.
    low: float
    high: float
    comparisons: int

    def around(self, value: float) -> Estimate:
        """The prediction with its interval, which always contains it."""
        return Estimate(min(self.low, 1.0) * value, value, max(self.high, 1.0) * value)


@dataclass(frozen=True)
class ColumnCalibration:
    """Keys that one client write puts into one column of BlueStore, over all its shards."""

    kinds: tuple[KeyKind, ...]

    @cached_property
    def written_bytes(self) -> float:
        """Keys and values in the WAL for each write of a client."""
        return sum(kind.written_bytes for kind in self.kinds)

    def left_bytes(self, writes: float, population: Population, compression: str) -> float:
        """SST bytes left of a window of this many writes."""
        return sum(
            left_bytes(kind, writes, population) * kind.packed(compression) for kind in self.kinds
        )

    def live_bytes(self, population: Population, compression: str) -> float:
        """Live SST bytes of the keys that do not grow with every write."""
        return sum(
            kind.left_bytes * kind.total_keys(population) * kind.packed(compression)
            for kind in self.kinds
            if kind.fate is not Fate.KEPT
        )

    def growth_bytes(self, compression: str) -> float:
        """SST bytes that each write adds permanently."""
        return sum(
            kind.left_bytes * kind.packed(compression)
            for kind in self.kinds
            if kind.fate is Fate.KEPT
        )


@dataclass(frozen=True)
class WorkloadCalibration:
    name: str
    #: Workload classes of the module that this calibration applies to.
    classes: tuple[str, ...]
    columns: Mapping[str, ColumnCalibration]
    #: Contents of the OSDs it was measured on.
    population: Population
    memory_per_wal_byte: float
    #: Part of level 0 that is newer values of keys further down, on average.
    stale: float
    #: Onode sizes by the writes to an object; None: constant, as in `columns`.
    onodes: Optional[Onodes] = field(default=None, metadata=OMITTABLE)

    def of_writes(
        self, write_bytes: Optional[float], writes_per_object: Optional[float]
    ) -> WorkloadCalibration:
        """The same for this write size; None: 4 KiB, and all blocks of an object written."""
        found = self.columns.get(ONODES)
        if self.onodes is None or found is None or not found.kinds:
            return self
        if write_bytes is None and writes_per_object is None:
            return self
        kinds = self.onodes.kinds(write_bytes or BLOCK_BYTES, writes_per_object)
        return replace(self, columns={**self.columns, ONODES: ColumnCalibration(kinds)})

    def without_dups(self) -> WorkloadCalibration:
        """The same for a PG log that is long enough to need no dup entries."""
        columns = {
            name: ColumnCalibration(
                tuple(k for k in column.kinds if k.members is not Members.LOG_DUPS)
            )
            for name, column in self.columns.items()
        }
        return replace(self, columns=columns)

    def over(self, names: Collection[str]) -> WorkloadCalibration:
        """The same for a database with these columns; keys of all others are in "default"."""
        absent = [c for name, c in self.columns.items() if name not in names or name == DEFAULT]
        merged = ColumnCalibration(tuple(kind for c in absent for kind in c.kinds))
        own = {name: c for name, c in self.columns.items() if name in names}
        return replace(self, columns={**own, DEFAULT: merged})

    @cached_property
    def written_bytes(self) -> float:
        """Keys and values in the WAL for each write of a client, over all columns."""
        return sum(column.written_bytes for column in self.columns.values())

    def share(self, name: str) -> float:
        """Part of the WAL bytes that goes to a column."""
        column = self.columns.get(name)
        return column.written_bytes / self.written_bytes if column else 0.0


@dataclass(frozen=True)
class Inserts:
    """Share of memtable inserts in the kv_sync thread's time."""

    #: Memtable size of the measurement.
    memtable_bytes: int
    #: Grows with the number of keys in a write; this one is for few keys.
    share: Estimate
    #: How the time of an insert grows with the size of its memtable.
    exponent: Estimate
    #: Shares by workload, and for a thread with long device waits in each round.
    by_workload: Mapping[str, Estimate] = field(default_factory=dict)
    waiting: Mapping[str, Estimate] = field(default_factory=dict)


class CodecCosts(NamedTuple):
    compressed: Estimate
    decompressed: Estimate


@dataclass(frozen=True)
class CpuCosts:
    """Nanoseconds of OSD CPU per uncompressed byte."""

    #: Per WAL byte, with the memtable size of `Inserts`.
    kv_sync: Estimate
    #: Per byte in flushed memtables, written or dropped.
    flush_taken: Estimate
    flush_written: Estimate
    compaction_read: Estimate
    compaction_written: Estimate
    #: By algorithm, net of the savings from smaller files.
    compression: Mapping[str, CodecCosts]


@dataclass(frozen=True)
class CpuCalibration:
    #: By workload: costs depend on the sizes of keys and values.
    costs: Mapping[str, CpuCosts]
    #: Error of the CPU per WAL byte, and of its change between two option strings.
    total: Quantity
    change: Quantity


@dataclass(frozen=True)
class Formula:
    """A formula in words, with its source."""

    quantity: Annotated[str, 'The quantity.']
    formula: Annotated[str, 'Its formula, in words.']
    source: Annotated[str, 'Source of the formula.']


@dataclass(frozen=True)
class Calibration:
    workloads: Mapping[str, WorkloadCalibration]
    quantities: Mapping[str, Quantity]
    #: Bytes of the next level that a byte moving down rewrites, over the size ratio of the levels.
    overlap: float
    inserts: Inserts
    cpu: CpuCalibration
    #: Bytes of a DB per second that an OSD compacts on command.
    manual_compaction_bytes_per_s: Estimate
    formulas: tuple[Formula, ...]
    source: str

    def inserts_of(self, workload: Optional[str], *, thread_waits: bool = False) -> Inserts:
        """``thread_waits``: for its device, long enough to evict memtables from the CPU caches."""
        name, known = workload or '', self.inserts
        share = known.by_workload.get(name, known.share)
        return replace(known, share=known.waiting.get(name, share) if thread_waits else share)


@lru_cache(maxsize=1)
def calibration() -> Calibration:
    """The installed calibration, read on first use."""
    content = loader.load('model')
    workloads = {entry['name']: entry for entry in content['workloads']}
    return decode(Calibration, {**content, 'workloads': workloads})


def workload_of_class(workload_class: str) -> Optional[str]:
    """The measured workload for a class, None if there is none."""
    return next(
        (name for name, w in calibration().workloads.items() if workload_class in w.classes), None
    )
