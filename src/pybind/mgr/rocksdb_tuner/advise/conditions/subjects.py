"""What conditions of the present are about, and what of that there is in a cluster. Pure."""

from __future__ import annotations

from enum import Enum

from ...workload.records import WorkloadClass
from .facts import ClusterFacts

#: Work that puts its weight on metadata.
METADATA_WORK = frozenset({WorkloadClass.RGW_METADATA, WorkloadClass.CEPHFS_METADATA})


class Subject(Enum):
    """Without its subject, a condition cannot be found."""

    OSD = 'an OSD'
    DB_DEVICE = 'an OSD with a DB device of its own'
    CHOSEN_STRING = 'an OSD with an option string that somebody set'
    PENDING_RESTART = 'an OSD whose option string was changed since it started'
    METADATA_WORK = 'an OSD whose clients write metadata'
    STATISTICS = "an OSD whose RocksDB's own statistics are on"
    HEALTH_CHECK = 'a health check that Ceph raises'


def subjects(cluster: ClusterFacts) -> frozenset[Subject]:
    """All that there are: one look at each OSD, instead of one for each condition."""
    found = {Subject.OSD}
    if cluster.health_codes:
        found.add(Subject.HEALTH_CHECK)
    for osd in cluster.osds:
        options, workload = osd.options, osd.workload
        if osd.info.dedicated_db:
            found.add(Subject.DB_DEVICE)
        if options is not None and options.source != 'default':
            found.add(Subject.CHOSEN_STRING)
        if options is not None and options.pending_restart:
            found.add(Subject.PENDING_RESTART)
        if workload is not None and workload.workload_class in METADATA_WORK:
            found.add(Subject.METADATA_WORK)
        if osd.rocksdb_times is not None:
            found.add(Subject.STATISTICS)
    return frozenset(found)
