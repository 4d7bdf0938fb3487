"""Prerequisites of conditions that a cluster meets. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Mapping

from ...observe.details import Details
from ...options.memtables import DEFAULT_BOUND_BYTES, left_of_target
from ..records import OsdFacts
from .declaration import Condition
from .facts import ClusterFacts
from .subjects import METADATA_WORK, Below, Figure, Reaches, Subject


def subjects_of_the_setup(osds: Iterable[OsdFacts]) -> frozenset[Subject]:
    """Subjects by the OSDs' setup and configuration."""
    found = set()
    for osd in osds:
        options = osd.options
        if osd.info.dedicated_db:
            found.add(Subject.DB_DEVICE)
        if options is not None and options.source != 'default':
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
    measured = [(osd.signals, osd.info.db_rotational) for osd in osds if osd.signals is not None]
    signals = [known for known, _ in measured]
    on_flash = [known for known, rotational in measured if rotational is False]
    details = [osd.details for osd in osds if osd.details is not None]
    starts = [osd.last_start for osd in osds if osd.last_start is not None]
    return {
        Figure.DB_USED_BYTES: max((known.db_used_bytes or 0.0 for known in signals), default=0.0),
        Figure.KV_SYNC_BUSY: max((known.kv_sync_busy or 0.0 for known in signals), default=0.0),
        Figure.FLASH_KV_SYNC_MS: max((known.kv_sync_ms or 0.0 for known in on_flash), default=0.0),
        Figure.OMAP_SEEK_MS: max((known.omap_seek_ms or 0.0 for known in details), default=0.0),
        Figure.SST_BYTES_PER_S: max(
            (known.sst_bytes_per_s or 0.0 for known in signals), default=0.0
        ),
        Figure.AWAY_S: max((known.away_s for known in starts), default=0.0),
        Figure.ONODE_HIT_SHARE: min(map(_onode_hit_share, details), default=1.0),
    }


def _onode_hit_share(details: Details) -> float:
    hits, misses = details.onode_hits, details.onode_misses
    return hits / (hits + misses) if hits is not None and misses else 1.0


def is_reached(
    known: Condition, extremes: Mapping[Figure, float], limits: Mapping[str, float]
) -> bool:
    """Whether any OSD has the figure that the condition needs; ``limits``: see `limit`."""
    needs = known.needs
    if isinstance(needs, Reaches):
        return extremes[needs.figure] >= known.limit(needs.threshold, limits)
    if isinstance(needs, Below):
        return extremes[needs.figure] < known.limit(needs.threshold, limits)
    return True
