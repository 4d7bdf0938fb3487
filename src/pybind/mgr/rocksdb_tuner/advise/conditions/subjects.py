"""What conditions of the present are about."""

from __future__ import annotations

from enum import Enum

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
    LARGE_DB = 'an OSD with a large DB'
    BUSY_KV_SYNC = 'an OSD whose kv_sync thread is busy'
    SLOW_KV_SYNC = 'an OSD whose rounds of kv_sync take long for flash'
    SLOW_SEEKS = 'an OSD that places iterators slowly'
    CACHE_MISSES = 'an OSD that often misses onodes in its cache'
    SMALL_UNITS = 'an OSD whose BlueFS had to take small pieces of its device'
    MANY_SST_BYTES = 'an OSD that writes many SST bytes'
    LONG_ABSENCE = 'an OSD that was away for long before its last start ended'
