"""What conditions of the present are about."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Union

from ...workload.records import WorkloadClass

#: Work that puts its weight on metadata.
METADATA_WORK = frozenset({WorkloadClass.RGW_METADATA, WorkloadClass.CEPHFS_METADATA})


class Subject(Enum):
    """Without its subject, a condition cannot be found."""

    DB_DEVICE = 'an OSD with a DB device of its own'
    CHOSEN_STRING = 'an OSD with an option string that somebody set'
    SMALL_MEMORY_TARGET = 'an OSD whose osd_memory_target leaves less than a default needs'
    PENDING_RESTART = 'an OSD whose option string was changed since it started'
    HEALTH_CHECK = 'a health check that Ceph raises'
    METADATA_WORK = 'an OSD whose clients write metadata'
    STATISTICS = "an OSD whose RocksDB's own statistics are on"
    SMALL_UNITS = 'an OSD whose BlueFS had to take small pieces of its device'


class Figure(Enum):
    """Of the OSDs of a cluster, the highest or the lowest is worked out once for all conditions."""

    DB_USED_BYTES = 'bytes that the DB of an OSD uses'
    KV_SYNC_BUSY = 'share of time in which the kv_sync thread of an OSD is busy'
    FLASH_KV_SYNC_MS = 'mean round of kv_sync on a DB that is not on a rotating disk'
    OMAP_SEEK_MS = 'mean time to place an iterator'
    SST_BYTES_PER_S = 'SST bytes that an OSD writes'
    AWAY_S = 'time for which an OSD was away before its last start ended'
    ONODE_HIT_SHARE = 'share of onodes that an OSD finds in its cache'


@dataclass(frozen=True)
class Reaches:
    """A condition cannot be found before the highest figure reaches its threshold of this name."""

    figure: Figure
    threshold: str


@dataclass(frozen=True)
class Below:
    """A condition cannot be found before the lowest figure is below its threshold of this name."""

    figure: Figure
    threshold: str


#: What a condition of the present cannot be found without.
Needs = Union[Subject, Reaches, Below]
