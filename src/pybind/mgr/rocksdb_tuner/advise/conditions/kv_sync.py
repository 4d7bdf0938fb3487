"""Conditions of the kv_sync thread, which commits all writes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from ...observe.signals import Signals
from ..records import Finding, FindingEvidence
from .declaration import Condition, condition
from .facts import ClusterFacts, Measured, worst_of


@condition('kv-sync-bound')
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


@condition('slow-sync')
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
