"""Conditions of an OSD's caches, and of BlueFS allocation units."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Optional

from ...observe.deep import RocksdbTimes
from ...observe.details import Details
from ..records import Finding, FindingEvidence, OsdFacts, Severity
from .declaration import Condition, Threshold, condition
from .facts import ClusterFacts, Measured, worst_of
from .subjects import Below, Figure, Subject


@condition(
    'onode-cache-misses',
    title='Most onodes are read from RocksDB',
    severity=Severity.INFO,
    needs=Below(Figure.ONODE_HIT_SHARE, 'hit_share'),
    thresholds={
        'hit_share': Threshold(
            0.5,
            'share of lookups',
            'with more hits the cache is effective',
            source=(
                'chosen; 16.2.15, 18.2.7 and 20.2.4 under clients that write new objects: '
                '0.65 to 0.86'
            ),
        ),
        'lookups': Threshold(
            1000,
            'lookups in a window',
            'fewer are not significant',
            source='chosen',
        ),
        'memory_share': Threshold(
            0.85,
            'share of osd_memory_target',
            'below it the caches still grow',
            source='chosen: BlueStore keeps its mapped memory within a few percent of the target',
        ),
    },
    remedy=(
        'Give these OSDs more memory if the hosts have it: ceph config set osd osd_memory_target '
        '<bytes>. Many small objects need more onodes, and so do random reads over more objects '
        'than the cache holds.'
    ),
    commands=('ceph config get osd.{osd} osd_memory_target',),
    stops_osds=False,
    source=(
        'src/os/bluestore/BlueStore.cc, onode_hits and onode_misses, sent by default since '
        'Pacific; Ceph documentation, Automatic Cache Sizing'
    ),
    tests=('tests/advise/conditions/test_caches.py',),
)
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


@condition(
    'kv-cache-misses',
    title='Most RocksDB blocks are read from the device',
    severity=Severity.INFO,
    needs=Subject.STATISTICS,
    thresholds={
        'hit_share': Threshold(
            0.3,
            'share of lookups',
            'with more hits the cache is effective',
            source=(
                'chosen; healthy OSDs of 16.2.15, 18.2.7 and 20.2.4 after a short load: 0.52, '
                '0.72 and 0.33'
            ),
        ),
        'lookups': Threshold(
            1000,
            'lookups in a window',
            'fewer are not significant',
            source='chosen',
        ),
        'memory_share': Threshold(
            0.85,
            'share of osd_memory_target',
            'below it the caches still grow',
            source='chosen: BlueStore keeps its mapped memory within a few percent of the target',
        ),
    },
    remedy=(
        'Give these OSDs more memory if the hosts have it: ceph config set osd osd_memory_target '
        '<bytes>. Check that bluestore_cache_autotune is enabled and no cache ratio is set.'
    ),
    commands=('ceph config get osd.{osd} osd_memory_target',),
    stops_osds=False,
    source=(
        'RocksDB, tickers block.cache.hit and block.cache.miss; available only while rocksdb_perf '
        'and rocksdb_collect_extended_stats are enabled'
    ),
    tests=('tests/advise/conditions/test_caches.py',),
)
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


@condition(
    'bluefs-small-units',
    title='BlueFS had to use smaller allocation units',
    severity=Severity.INFO,
    needs=Subject.SMALL_UNITS,
    remedy=(
        'The free space of the device is fragmented: RocksDB files consist of many small extents, '
        'which take time to allocate. Keep the OSD emptier, keep rocksdb_cf_compact_on_deletion '
        'enabled, or redeploy the OSD; a dedicated DB device does not have this problem. For the '
        'score, run: ceph tell osd.{osd} bluestore allocator score block'
    ),
    commands=('ceph tell osd.{osd} bluestore allocator score block',),
    do_not=(
        'Do not raise bluefs_shared_alloc_size after it was lowered, and do not downgrade to a '
        'release without 4 KiB units: BlueFS could not read its files.'
    ),
    source=(
        'ceph/ceph#48854 (BlueFS falls back to min_alloc_size) and #53250 (such OSDs had slow '
        'operations until bluefs_shared_alloc_size was 4096 and compaction on deletion was '
        'enabled); #57015 (the size may only shrink)'
    ),
    tests=('tests/advise/conditions/test_caches.py',),
)
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
