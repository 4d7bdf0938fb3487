"""The client workload of an OSD: class, confidence, evidence; thresholds are data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Annotated, NamedTuple

from ..knowledge import loader
from ..notes import Amount, Named, Share, Unbounded


class WorkloadClass(str, Enum):
    """Kinds of client work that call for different RocksDB tuning."""

    IDLE = 'idle'
    RBD_SMALL_WRITE = 'rbd-small-write'
    RGW_METADATA = 'rgw-metadata'
    LARGE_WRITE = 'large-write'
    READ_MOSTLY = 'read-mostly'
    CEPHFS_METADATA = 'cephfs-metadata'
    RECOVERY = 'recovery'
    #: Two or more kinds at once, none of them dominant.
    MIXED = 'mixed'
    #: Insufficient or contradictory data.
    UNKNOWN = 'unknown'


class Evidence(NamedTuple):
    """A measurement behind a conclusion.

    ``signal`` is a field name of `Signals`, or ``pools`` for pool statistics (``value`` is then the
    largest share of one kind of pools).
    """

    signal: Annotated[str, 'Name of the signal, or "pools" for the applications of the pools.']
    value: Annotated[float, Unbounded(), 'Measured value, in the given unit.']
    unit: Annotated[str, 'Unit of the value.']
    window_s: Annotated[Amount, Unbounded(), 'Length of the measurement, in seconds.']
    #: Statement, or its format for ``figures``: formatted on demand only, since every tick creates
    #: evidence for every OSD.
    wording: str
    figures: tuple[float, ...] = ()

    @property
    def statement(self) -> Annotated[str, 'Interpretation, as a sentence.']:
        return self.wording.format(*self.figures) if self.figures else self.wording


def evidence_of(name: str, value: float, window_s: float, *figures: float) -> Evidence:
    """In the words of ``knowledge/workload.json``."""
    words = loader.load('workload')['evidence'][name]
    signal = words.get('signal', name)
    return Evidence(signal, value, words['unit'], window_s, words['statement'], figures)


class Workload(NamedTuple):
    """Workload of the clients."""

    workload_class: Annotated[
        WorkloadClass, Named('class'), 'Workload class; "unknown": not enough data.'
    ]
    confidence: Annotated[Share, 'Confidence, 0..1; 0 for the class "unknown".']
    evidence: Annotated[tuple[Evidence, ...], 'Measurements that support the class.']


UNKNOWN_WORKLOAD = Workload(WorkloadClass.UNKNOWN, 0.0, ())


@dataclass(frozen=True)
class Recognition:
    """Workloads of all OSDs and groups at one time."""

    per_osd: Mapping[int, Workload]
    #: By device class; OSDs without one are in no group.
    per_group: Mapping[str, Workload]


@lru_cache(maxsize=4)
def numbers(name: str) -> SimpleNamespace:
    """Thresholds by name; meaning, unit and source: ``knowledge/``."""
    entries = loader.load(name)['thresholds']
    return SimpleNamespace(**{key: float(entry['value']) for key, entry in entries.items()})


thresholds = partial(numbers, 'workload')
limit_thresholds = partial(numbers, 'limits')
