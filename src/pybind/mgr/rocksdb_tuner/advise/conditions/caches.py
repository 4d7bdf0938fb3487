"""Conditions of an OSD's caches, and of BlueFS allocation units."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Optional

from ...observe.deep import RocksdbTimes
from ...observe.details import Details
from ..records import Finding, FindingEvidence, OsdFacts
from .declaration import Condition, condition
from .facts import ClusterFacts, Measured, worst_of


@condition('onode-cache-misses')
def onode_cache_misses(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A low onode cache hit ratio in caches that cannot grow."""
    limit = condition.limit('hit_share', cluster.limits)
    least = condition.limit('lookups', cluster.limits)
    measured = []
    for osd in cluster.osds:
        details = osd.details
        if details is None or details.onode_hits is None or details.onode_misses is None:
            continue
        share = _share(details.onode_hits, details.onode_misses, least)
        if share is not None and share < limit and _is_full(osd, condition, cluster):
            measured.append(Measured(-share, osd, partial(_onodes, details, share)))
    worst = worst_of(measured)
    if worst:
        yield condition.finding(
            f'{worst.names} read most onodes from RocksDB', worst.ids, worst.evidence
        )


def _onodes(details: Details, share: float) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('onode cache hits', share, 'ratio', details.window_s),
        FindingEvidence('onode_misses', details.onode_misses, 'onodes', details.window_s),
        *_memory(details),
    )


@condition('kv-cache-misses')
def kv_cache_misses(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """The same for RocksDB's block cache, if its statistics are enabled."""
    limit = condition.limit('hit_share', cluster.limits)
    least = condition.limit('lookups', cluster.limits)
    measured = []
    for osd in cluster.osds:
        times = osd.rocksdb_times
        if times is None or times.cache_hits is None or times.cache_misses is None:
            continue
        share = _share(times.cache_hits, times.cache_misses, least)
        if share is not None and share < limit and _is_full(osd, condition, cluster):
            evidence = partial(_blocks, times, share, osd.details)
            measured.append(Measured(-share, osd, evidence))
    worst = worst_of(measured)
    if worst:
        yield condition.finding(
            f'{worst.names} read most RocksDB blocks from the device', worst.ids, worst.evidence
        )


def _blocks(
    times: RocksdbTimes, share: float, details: Optional[Details]
) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('block cache hits', share, 'ratio', times.window_s),
        FindingEvidence('block_cache_misses', times.cache_misses, 'blocks', times.window_s),
        *(() if details is None else _memory(details)),
    )


def _share(hits: int, misses: int, least: float) -> Optional[float]:
    """None for too few lookups."""
    return hits / (hits + misses) if hits + misses >= least else None


def _is_full(osd: OsdFacts, condition: Condition, cluster: ClusterFacts) -> bool:
    """Whether the OSD has used up its memory target; until then its caches grow."""
    details = osd.details
    if details is None or not details.memory_mapped_bytes or not details.memory_target_bytes:
        return False
    share = details.memory_mapped_bytes / details.memory_target_bytes
    return share >= condition.limit('memory_share', cluster.limits)


def _memory(details: Details) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('memory_mapped', details.memory_mapped_bytes, 'bytes', None),
        FindingEvidence('osd_memory_target', details.memory_target_bytes, 'bytes', None),
    )


@condition('bluefs-small-units')
def bluefs_small_units(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """BlueFS fell back to small allocation units on the shared device."""
    measured = [
        Measured(osd.details.bluefs_fallbacks, osd, partial(_fallbacks, osd.details))
        for osd in cluster.osds
        if osd.details is not None and osd.details.bluefs_fallbacks
    ]
    worst = worst_of(measured)
    if worst:
        yield condition.finding(
            f'BlueFS of {worst.names} had to use smaller allocation units on a fragmented device',
            worst.ids,
            worst.evidence,
        )


def _fallbacks(details: Details) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('alloc_slow_size_fallback', details.bluefs_fallbacks, 'allocations', None),
        FindingEvidence('fragmentation', details.fragmentation, 'ratio', None),
    )
