"""Load of a device class: how busy its OSD threads are. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

from ..observe.details import Details
from ..observe.signals import Signals
from .records import (
    Evidence,
    Workload,
    WorkloadClass,
    evidence_of,
    limit_thresholds,
    thresholds,
)

KV_SYNC_BUSY = 'kv_sync_busy'
KV_SYNC_MS = 'kv_sync_ms'
KV_FLUSH_MS = 'kv_flush_ms'
TRANSACTIONS = 'transactions_per_round'
#: Only if writes wait for OSD threads as with a shortage of cores.
THREAD_SHARE = 'osd_thread_share'
#: With it, only if onode misses are frequent enough to be the cause.
ONODE_MISSES = 'onode_miss_share'
PRESSURE = frozenset(
    {KV_SYNC_BUSY, KV_SYNC_MS, KV_FLUSH_MS, TRANSACTIONS, THREAD_SHARE, ONODE_MISSES}
)
#: No client work, so nothing limits clients.
_NO_CLIENTS = frozenset({WorkloadClass.IDLE, WorkloadClass.RECOVERY})


def with_pressure(
    workload: Workload, signals: Iterable[Signals], osd_details: Iterable[Details] = ()
) -> Workload:
    """``workload`` with evidence of how busy the threads of its OSDs are, if known.

    The evidence stays with the workload: thread load at night does not show what limits clients
    during the day.
    """
    if workload.workload_class in _NO_CLIENTS:
        return workload
    seen, osd_details = tuple(signals), tuple(osd_details)
    known = [s for s in seen if s.kv_sync_busy is not None and s.window_s is not None]
    if not known:
        return workload
    window_s = known[-1].window_s or 0.0
    evidence = list(workload.evidence)
    for signal, scale, values in (
        (KV_SYNC_BUSY, 100, [s.kv_sync_busy for s in known]),
        (KV_SYNC_MS, 1, [s.kv_sync_ms for s in known]),
        (KV_FLUSH_MS, 1, [s.kv_flush_ms for s in known]),
        (TRANSACTIONS, 1, [d.transactions_per_round for d in osd_details]),
    ):
        measurements = [value for value in values if value is not None]
        if measurements:
            mean = sum(measurements) / len(measurements)
            evidence.append(evidence_of(signal, mean, window_s, scale * mean))
    writes = sum(s.write_iops or 0.0 for s in seen)
    written = sum(s.write_bytes_per_s or 0.0 for s in seen)
    if not writes or written / writes < thresholds().large_write_bytes:
        # Preparing large writes takes CPU anyway.
        evidence += _of_threads(osd_details)
    return workload._replace(evidence=tuple(evidence))


def _of_threads(osd_details: Iterable[Details]) -> list[Evidence]:
    """Queue and preparation of a write need a thread, a core and cached onodes, but no device."""
    limits = limit_thresholds()
    window_s = waited_ms = prepare_ms = share = 0.0
    known = hits = misses = 0
    for found in osd_details:
        latency = found.latency
        if latency is None or found.onode_hits is None or found.onode_misses is None:
            continue
        whole_ms, queue_ms = latency.client_op_ms, latency.osd_queue_ms
        if not whole_ms or queue_ms is None or latency.osd_prepare_ms is None:
            continue
        known += 1
        window_s = latency.window_s
        hits, misses = hits + found.onode_hits, misses + found.onode_misses
        prepare_ms += latency.osd_prepare_ms
        waited_ms += queue_ms + latency.osd_prepare_ms
        share += min(1.0, (queue_ms + latency.osd_prepare_ms) / whole_ms)
    if (
        not known
        or prepare_ms < known * limits.cores_prepare_ms
        or waited_ms < known * limits.cores_thread_ms
        or share < known * limits.cores_thread_share
    ):
        return []
    share, missed = share / known, misses / max(1, hits + misses)
    evidence = [evidence_of(THREAD_SHARE, share, window_s, waited_ms / known, 100 * share)]
    if missed > limits.cores_onode_misses:
        evidence.append(evidence_of(ONODE_MISSES, missed, window_s, 100 * missed))
    return evidence


def measured(workload: Optional[Workload], signal: str) -> Optional[Evidence]:
    """The evidence of a workload for one signal."""
    if workload is None:
        return None
    return next((e for e in workload.evidence if e.signal == signal), None)
