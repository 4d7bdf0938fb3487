"""Prerequisites of conditions of the present state, and whether a cluster meets them. Pure."""

from __future__ import annotations

from enum import Enum

from ...options.wal import DEFAULT_BOUND_BYTES, left_of_target
from ...workload.records import WorkloadClass
from .facts import ClusterFacts

#: Workloads that mainly write metadata.
METADATA_WORK = frozenset({WorkloadClass.RGW_METADATA, WorkloadClass.CEPHFS_METADATA})


class Subject(Enum):
    """Prerequisites of conditions: without its subject a condition has no findings."""

    DB_DEVICE = 'an OSD with a dedicated DB device'
    SMALL_MEMORY_TARGET = 'an OSD whose osd_memory_target is too small for a default'
    HEALTH_CHECK = "one of Ceph's own health checks"
    METADATA_WORK = 'an OSD whose clients write metadata'
    STATISTICS = "an OSD with RocksDB's statistics enabled"
    SIGNALS = 'an OSD with counters'
    DETAILS = 'an OSD with details'
    LAST_START = 'an OSD that started while the module watched'
    SMALL_UNITS = 'an OSD whose BlueFS fell back to small allocation units'


def subjects_of_the_present(cluster: ClusterFacts) -> frozenset[Subject]:
    """Subjects by the OSDs' present state, in one pass instead of one per condition."""
    found = {Subject.DB_DEVICE} if any(o.info.dedicated_db for o in cluster.osds) else set()
    if cluster.health_codes:
        found.add(Subject.HEALTH_CHECK)
    for osd in cluster.osds:
        if osd.workload is not None and osd.workload.workload_class in METADATA_WORK:
            found.add(Subject.METADATA_WORK)
        if osd.signals is not None:
            found.add(Subject.SIGNALS)
        if osd.last_start is not None:
            found.add(Subject.LAST_START)
        if osd.rocksdb_times is not None:
            found.add(Subject.STATISTICS)
        if osd.details is not None:
            found.add(Subject.DETAILS)
            target = osd.details.memory_target_bytes
            if target is not None and left_of_target(target) < DEFAULT_BOUND_BYTES:
                found.add(Subject.SMALL_MEMORY_TARGET)
            if osd.details.bluefs_fallbacks:
                found.add(Subject.SMALL_UNITS)
    return frozenset(found)
