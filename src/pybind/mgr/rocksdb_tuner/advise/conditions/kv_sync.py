"""Conditions of the kv_sync thread, which commits all writes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from ...observe.signals import Signals
from ...workload.limits import limit_thresholds
from ..records import Finding, FindingEvidence, Severity
from .declaration import Condition, ModuleOption, Threshold, condition
from .facts import ClusterFacts, Measured, worst_of
from .subjects import Figure, Reaches


@condition(
    'kv-sync-bound',
    title='The kv_sync thread limits small writes',
    severity=Severity.INFO,
    needs=Reaches(Figure.KV_SYNC_BUSY, 'busy'),
    thresholds={
        'busy': Threshold(
            0.9,
            'share of time',
            'at 1 the single thread limits the writes of the OSD',
            source="inferred from BlueStore's one kv_sync thread",
            option=ModuleOption('kv_sync_busy_limit', 0.1, 1.0),
        ),
        'small_write_bytes': Threshold(
            16384,
            'bytes',
            'a mean write up to this size costs more metadata than data',
            source='published conditions for RBD small writes: mean write size of at most 16 KiB',
        ),
    },
    remedy=(
        'Use more OSDs per fast device, smaller memtables (the default since Reef), or Quincy and '
        'later, which keep the allocation map out of RocksDB. Devices with power loss protection '
        'shorten each round.'
    ),
    source=(
        'M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022, Profiling an OSD: the thread spends most '
        'of its time on memtable inserts; Quincy Testing: 10 to 20% more without the allocation '
        'map'
    ),
    tests=(
        'tests/advise/conditions/test_load.py',
        'tests/advise/conditions/test_recordings.py',
    ),
)
def kv_sync_bound(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """The kv_sync thread is saturated by small writes."""
    busy = condition.limit('busy', cluster.limits)
    small_bytes = condition.limit('small_write_bytes', cluster.limits)
    measured = []
    for osd in cluster.osds:
        signals = osd.signals
        if signals is None or signals.kv_sync_busy is None or signals.kv_sync_busy < busy:
            continue
        if signals.write_bytes_avg is not None and signals.write_bytes_avg <= small_bytes:
            measured.append(Measured(signals.kv_sync_busy, osd, partial(_kv_sync, signals)))
    worst = worst_of(measured)
    if worst:
        yield condition.finding(
            f'the kv_sync thread of {worst.names} limits small writes', worst.ids, worst.evidence
        )


def _kv_sync(signals: Signals) -> tuple[FindingEvidence, ...]:
    window_s = signals.window_s
    return (
        FindingEvidence('kv_sync_busy', signals.kv_sync_busy, 'ratio', window_s),
        FindingEvidence('write_bytes_avg', signals.write_bytes_avg, 'bytes', window_s),
        FindingEvidence('write_iops', signals.write_iops, 'operations/s', window_s),
    )


@condition(
    'slow-sync',
    title='Commits to flash are slow',
    severity=Severity.INFO,
    needs=Reaches(Figure.FLASH_KV_SYNC_MS, 'round_ms'),
    thresholds={
        'round_ms': Threshold(
            limit_thresholds().slow_round_ms,
            'ms',
            'mean round of the kv_sync thread on a non-rotational device',
            source='chosen: ten times the time of flash with power loss protection',
        ),
    },
    remedy=(
        'Devices with power loss protection sync in well below a millisecond; no RocksDB option '
        'helps.'
    ),
    do_not=(
        'Do not set bluefs_preextend_wal_files: 15.2.3 disabled it after corruption (tracker '
        '45613).'
    ),
    stops_osds=False,
    source=(
        'ceph-users, March 2019: two syncs for each small write, +50 to 100% IOPS without them on '
        'slow media'
    ),
    tests=('tests/advise/conditions/test_load.py',),
)
def slow_sync(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A flash device that takes milliseconds to sync a commit."""
    limit_ms = condition.limit('round_ms', cluster.limits)
    measured = []
    for osd in cluster.osds:
        signals = osd.signals
        if osd.info.db_rotational is not False or signals is None or signals.kv_sync_ms is None:
            continue
        if signals.kv_sync_ms >= limit_ms:
            measured.append(Measured(signals.kv_sync_ms, osd, partial(_commits, signals)))
    worst = worst_of(measured)
    if worst:
        yield condition.finding(
            f'commits of {worst.names} to flash are slow', worst.ids, worst.evidence
        )


def _commits(signals: Signals) -> tuple[FindingEvidence, ...]:
    window_s = signals.window_s
    return (
        FindingEvidence('kv_sync_ms', signals.kv_sync_ms, 'ms', window_s),
        FindingEvidence('kv_flush_ms', signals.kv_flush_ms, 'ms', window_s),
    )
