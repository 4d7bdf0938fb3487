"""The client workload of an OSD: class, confidence, evidence.

Thresholds of the workload classification: data, each with its source.

Thresholds for the resource that limits clients: data, each with its source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
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


class Thresholds(NamedTuple):
    """Meaning, unit and source: ``knowledge/workload.json``."""

    noise_ops_per_s: float
    noise_bytes_per_s: float
    small_write_bytes: float
    large_write_bytes: float
    read_share: float
    write_share: float
    class_call_share: float
    recovery_ops_share: float
    dominant_kind_share: float
    full_confidence_ops_per_s: float
    replica_wal_bytes_per_s: float


@lru_cache(maxsize=1)
def thresholds() -> Thresholds:
    entries = loader.load('workload')['thresholds']
    return Thresholds(**{name: float(entry['value']) for name, entry in entries.items()})


class LimitThresholds(NamedTuple):
    """Meaning, unit and source: ``knowledge/limits.json``."""

    kv_sync_bound: float
    kv_sync_idle: float
    slow_round_ms: float
    spilled_share: float
    db_full_share: float
    wal_full_share: float
    stall_share: float
    memory_over_target: float
    data_write_share: float
    cores_thread_ms: float
    cores_prepare_ms: float
    cores_thread_share: float
    cores_onode_misses: float


@lru_cache(maxsize=1)
def limit_thresholds() -> LimitThresholds:
    entries = loader.load('limits')['thresholds']
    return LimitThresholds(**{name: float(entry['value']) for name, entry in entries.items()})
