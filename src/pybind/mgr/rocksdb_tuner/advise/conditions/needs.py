"""Prerequisites of conditions of the present state, and whether a cluster meets them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Mapping, Union

from ...observe.details import Details
from ...options.wal import DEFAULT_BOUND_BYTES, left_of_target
from ...workload.records import WorkloadClass
from ..records import OsdFacts
from .facts import ClusterFacts

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


def subjects_of_the_setup(osds: Iterable[OsdFacts]) -> frozenset[Subject]:
    """Subjects by the OSDs' setup and configuration."""
    found = set()
    for osd in osds:
        options = osd.options
        if osd.info.dedicated_db:
            found.add(Subject.DB_DEVICE)
        if options is not None and (options.source != 'default' or options.annex):
            found.add(Subject.CHOSEN_STRING)
        if options is not None and options.pending_restart:
            found.add(Subject.PENDING_RESTART)
    return frozenset(found)


def subjects_of_the_present(cluster: ClusterFacts) -> frozenset[Subject]:
    """Subjects by the OSDs' present state, in one pass instead of one per condition."""
    found = set()
    if cluster.health_codes:
        found.add(Subject.HEALTH_CHECK)
    for osd in cluster.osds:
        if osd.workload is not None and osd.workload.workload_class in METADATA_WORK:
            found.add(Subject.METADATA_WORK)
        if osd.rocksdb_times is not None:
            found.add(Subject.STATISTICS)
        if osd.details is not None:
            target = osd.details.memory_target_bytes
            if target is not None and left_of_target(target) < DEFAULT_BOUND_BYTES:
                found.add(Subject.SMALL_MEMORY_TARGET)
            if osd.details.bluefs_fallbacks:
                found.add(Subject.SMALL_UNITS)
    return frozenset(found)


def extremes_of(osds: Sequence[OsdFacts]) -> Mapping[Figure, float]:
    """The worst value of each figure, highest or lowest."""
    used_bytes = busy = flash_ms = seek_ms = sst_bytes_per_s = away_s = 0.0
    hit_share = 1.0
    # In one pass, since it is for every OSD at every tick; no figure is negative.
    for osd in osds:
        signals, details = osd.signals, osd.details
        if signals is not None:
            if signals.db_used_bytes is not None and signals.db_used_bytes > used_bytes:
                used_bytes = signals.db_used_bytes
            if signals.kv_sync_busy is not None and signals.kv_sync_busy > busy:
                busy = signals.kv_sync_busy
            if signals.sst_bytes_per_s is not None and signals.sst_bytes_per_s > sst_bytes_per_s:
                sst_bytes_per_s = signals.sst_bytes_per_s
            round_ms = signals.kv_sync_ms
            if round_ms is not None and round_ms > flash_ms and osd.info.db_rotational is False:
                flash_ms = round_ms
        if details is not None:
            if details.omap_seek_ms is not None and details.omap_seek_ms > seek_ms:
                seek_ms = details.omap_seek_ms
            hit_share = min(hit_share, _onode_hit_share(details))
        if osd.last_start is not None:
            away_s = max(away_s, osd.last_start.away_s)
    return {
        Figure.DB_USED_BYTES: used_bytes,
        Figure.KV_SYNC_BUSY: busy,
        Figure.FLASH_KV_SYNC_MS: flash_ms,
        Figure.OMAP_SEEK_MS: seek_ms,
        Figure.SST_BYTES_PER_S: sst_bytes_per_s,
        Figure.AWAY_S: away_s,
        Figure.ONODE_HIT_SHARE: hit_share,
    }


def _onode_hit_share(details: Details) -> float:
    hits, misses = details.onode_hits, details.onode_misses
    return hits / (hits + misses) if hits is not None and misses else 1.0
