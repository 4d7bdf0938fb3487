"""Which subjects of conditions there are in a cluster. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Mapping, NamedTuple, Optional

from ...observe.details import Details
from ...observe.signals import Signals
from ...options.memtables import DEFAULT_BOUND_BYTES, left_of_target
from ..records import OsdFacts
from .facts import ClusterFacts
from .registry import conditions
from .subjects import METADATA_WORK, Subject


class Least(NamedTuple):
    """From which value on a signal is a subject: the least that a condition asks of it."""

    db_used_bytes: float
    kv_sync_busy: float
    kv_sync_ms: float
    omap_seek_ms: float
    sst_bytes_per_s: float
    away_s: float
    #: The most that is still a subject.
    onode_hit_share: float


def least_of(limits: Mapping[str, float]) -> Least:
    """``limits`` are the operator's thresholds, by module option."""
    known = conditions()
    return Least(
        db_used_bytes=known['metadata-fills-device'].limit('least_bytes', limits),
        kv_sync_busy=known['kv-sync-bound'].limit('busy', limits),
        kv_sync_ms=known['slow-sync'].limit('round_ms', limits),
        omap_seek_ms=known['slow-iterators'].limit('seek_ms', limits),
        sst_bytes_per_s=known['compaction-storm'].limit('sst_bytes_per_s', limits),
        away_s=known['slow-start'].limit('away_s', limits),
        onode_hit_share=known['onode-cache-misses'].limit('hit_share', limits),
    )


def subjects_of_the_setup(osds: Iterable[OsdFacts]) -> frozenset[Subject]:
    """What there is by what OSDs are, and by what is set for them."""
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


def subjects_of_the_present(cluster: ClusterFacts, least: Least) -> frozenset[Subject]:
    """What there is by what OSDs do: one look at each, instead of one for each condition."""
    found = set()
    if cluster.health_codes:
        found.add(Subject.HEALTH_CHECK)
    for osd in cluster.osds:
        if osd.workload is not None and osd.workload.workload_class in METADATA_WORK:
            found.add(Subject.METADATA_WORK)
        if osd.rocksdb_times is not None:
            found.add(Subject.STATISTICS)
        if osd.details is not None:
            found.update(_of_details(osd.details, least))
        if osd.signals is not None:
            found.update(_of_signals(osd.signals, osd.info.db_rotational, least))
        if osd.last_start is not None and osd.last_start.away_s >= least.away_s:
            found.add(Subject.LONG_ABSENCE)
    return frozenset(found)


def _of_details(details: Details, least: Least) -> Iterator[Subject]:
    if (details.omap_seek_ms or 0.0) >= least.omap_seek_ms:
        yield Subject.SLOW_SEEKS
    target = details.memory_target_bytes
    if target is not None and left_of_target(target) < DEFAULT_BOUND_BYTES:
        yield Subject.SMALL_MEMORY_TARGET
    if details.bluefs_fallbacks:
        yield Subject.SMALL_UNITS
    hits, misses = details.onode_hits, details.onode_misses
    if hits is not None and misses and hits < least.onode_hit_share * (hits + misses):
        yield Subject.CACHE_MISSES


def _of_signals(signals: Signals, rotational: Optional[bool], least: Least) -> Iterator[Subject]:
    if (signals.db_used_bytes or 0.0) >= least.db_used_bytes:
        yield Subject.LARGE_DB
    if (signals.kv_sync_busy or 0.0) >= least.kv_sync_busy:
        yield Subject.BUSY_KV_SYNC
    if rotational is False and (signals.kv_sync_ms or 0.0) >= least.kv_sync_ms:
        yield Subject.SLOW_KV_SYNC
    if (signals.sst_bytes_per_s or 0.0) >= least.sst_bytes_per_s:
        yield Subject.MANY_SST_BYTES
