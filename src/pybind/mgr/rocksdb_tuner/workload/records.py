"""The client workload of an OSD: class, confidence, evidence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Mapping, NamedTuple


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
    """One measured value in support of a conclusion.

    ``signal`` is a field name of `Signals`, or ``pools`` for pool statistics (``value`` is then the
    largest share of one kind of pools).
    """

    signal: str
    value: float
    unit: str
    window_s: float
    #: Statement, or its format for ``figures``: formatted on demand only, since every tick creates
    #: evidence for every OSD.
    wording: str
    figures: tuple[float, ...] = ()

    @property
    def statement(self) -> str:
        return self.wording.format(*self.figures) if self.figures else self.wording


class Workload(NamedTuple):
    workload_class: WorkloadClass
    #: 0..1, 0 for UNKNOWN
    confidence: float
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Recognition:
    """Workloads of all OSDs and groups at one time."""

    per_osd: Mapping[int, Workload]
    #: By device class; OSDs without one are in no group.
    per_group: Mapping[str, Workload]
