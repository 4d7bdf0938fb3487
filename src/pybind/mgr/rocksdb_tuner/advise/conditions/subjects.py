"""Subjects of conditions of the present state."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Union

from ...workload.records import WorkloadClass

#: Workloads that mainly write metadata.
METADATA_WORK = frozenset({WorkloadClass.RGW_METADATA, WorkloadClass.CEPHFS_METADATA})


class Subject(Enum):
    """Prerequisites of conditions: without its subject a condition has no findings."""

    DB_DEVICE = 'an OSD with a dedicated DB device'
    CHOSEN_STRING = 'an OSD with a configured option string'
    SMALL_MEMORY_TARGET = 'an OSD whose osd_memory_target is too small for a default'
    PENDING_RESTART = 'an OSD with a pending restart'
    HEALTH_CHECK = "one of Ceph's own health checks"
    METADATA_WORK = 'an OSD whose clients write metadata'
    STATISTICS = "an OSD with RocksDB's statistics enabled"
    SMALL_UNITS = 'an OSD whose BlueFS fell back to small allocation units'


class Figure(Enum):
    """Figures whose worst value in the cluster is computed once for all conditions."""

    DB_USED_BYTES = 'bytes used by the DB of an OSD'
    KV_SYNC_BUSY = 'share of time for which the kv_sync thread is busy'
    FLASH_KV_SYNC_MS = 'mean kv_sync commit time of a DB on flash'
    OMAP_SEEK_MS = 'mean iterator seek time'
    SST_BYTES_PER_S = 'SST write rate'
    AWAY_S = 'downtime of an OSD until its last start completed'
    ONODE_HIT_SHARE = 'onode cache hit ratio'


@dataclass(frozen=True)
class Reaches:
    """The highest figure has to reach this threshold of the condition."""

    figure: Figure
    threshold: str


@dataclass(frozen=True)
class Below:
    """The lowest figure has to be below this threshold of the condition."""

    figure: Figure
    threshold: str


#: Prerequisite of a condition of the present state.
Needs = Union[Subject, Reaches, Below]
