"""What was measured on real OSDs, for what no formula gives: `knowledge/model.json`.

How much of what is written reaches level 0 depends on what is written, so it is known only for the
workloads that were measured; `qa/bench/bench_model.py` measures it, and how far the model is off.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Mapping, Optional

from ..knowledge import loader
from .columns import DEFAULT
from .records import Estimate

__all__ = [
    'Calibration',
    'ColumnCalibration',
    'Formula',
    'Quantity',
    'WorkloadCalibration',
    'calibration',
    'parse_calibration',
    'workload_of_class',
]

_NO_COMPRESSION = 'kNoCompression'


@dataclass(frozen=True)
class Quantity:
    """How measured values lay to predicted ones."""

    #: Measured over predicted: between these in 80 % of the comparisons.
    low: float
    high: float
    comparisons: int

    def around(self, value: float) -> Estimate:
        """The prediction with its interval, which contains it in any case."""
        return Estimate(min(self.low, 1.0) * value, value, max(self.high, 1.0) * value)


@dataclass(frozen=True)
class ColumnCalibration:
    """One column of BlueStore under one workload; parts of the whole, over all its shards."""

    name: str
    #: Of the keys and values that are written.
    ingest_share: float
    #: Of the bytes in SST files.
    data_share: float
    #: Level 0 bytes for each byte in the memtables that are flushed, uncompressed.
    survival: float
    #: Compressed over uncompressed, with LZ4 or Snappy.
    compressed: float


@dataclass(frozen=True)
class WorkloadCalibration:
    name: str
    #: Workload classes of the module that it stands for.
    classes: tuple[str, ...]
    columns: Mapping[str, ColumnCalibration]
    #: Bytes that the memtables take for a byte in the WAL.
    memory_per_wal_byte: float
    #: Of what level 0 holds on average, the part that is a newer value of what is below it.
    stale: float
    description: str

    def over(self, names: Collection[str]) -> WorkloadCalibration:
        """The same for a database with these columns: what has none of its own is in "default"."""
        absent = [c for name, c in self.columns.items() if name not in names or name == DEFAULT]
        ingest = sum(column.ingest_share for column in absent)
        survived = sum(c.ingest_share * c.survival for c in absent)
        packed = sum(c.ingest_share * c.survival * c.compressed for c in absent)
        merged = ColumnCalibration(
            name=DEFAULT,
            ingest_share=ingest,
            data_share=sum(column.data_share for column in absent),
            survival=survived / ingest if ingest else 0.0,
            compressed=packed / survived if survived else 1.0,
        )
        own = {name: c for name, c in self.columns.items() if name in names}
        return replace(self, columns={**own, DEFAULT: merged})

    def survival(self, column: str, compression: str) -> float:
        known = self.columns[column]
        return known.survival * (1.0 if compression == _NO_COMPRESSION else known.compressed)


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
    formulas: tuple[Formula, ...]
    source: str


@lru_cache(maxsize=1)
def calibration() -> Calibration:
    """The calibration that is installed, read on first use."""
    return parse_calibration(loader.load('model'))


def parse_calibration(content: Mapping[str, Any]) -> Calibration:
    """A calibration from the content of ``knowledge/model.json``."""
    return Calibration(
        workloads={
            entry['name']: WorkloadCalibration(
                name=entry['name'],
                classes=tuple(entry['classes']),
                columns={
                    column['name']: ColumnCalibration(**column) for column in entry['columns']
                },
                memory_per_wal_byte=entry['memory_per_wal_byte'],
                stale=entry['stale'],
                description=entry['description'],
            )
            for entry in content['workloads']
        },
        quantities={
            entry['quantity']: Quantity(entry['low'], entry['high'], entry['comparisons'])
            for entry in content['intervals']
        },
        overlap=content['overlap'],
        formulas=tuple(Formula(**entry) for entry in content['formulas']),
        source=content['source'],
    )


def workload_of_class(workload_class: str) -> Optional[str]:
    """The measured workload that stands for a class, None where none does."""
    for name, workload in calibration().workloads.items():
        if workload_class in workload.classes:
            return name
    return None
