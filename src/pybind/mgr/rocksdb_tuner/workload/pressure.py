"""How busy a device class is with its clients' work, beside what that work is. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

from ..observe.details import Details
from ..observe.signals import Signals
from .limits import limit_thresholds
from .records import Evidence, Workload, WorkloadClass
from .thresholds import thresholds

__all__ = [
    'KV_SYNC_BUSY',
    'KV_SYNC_MS',
    'ONODE_MISSES',
    'PRESSURE',
    'THREAD_SHARE',
    'measured',
    'with_pressure',
]

KV_SYNC_BUSY = 'kv_sync_busy'
KV_SYNC_MS = 'kv_sync_ms'
#: Only where writes wait for the OSD's own threads as they do where cores are short.
THREAD_SHARE = 'osd_thread_share'
#: Beside it, only where so many onodes are read from RocksDB that this may be why.
ONODE_MISSES = 'onode_miss_share'
#: What `with_pressure` adds.
PRESSURE = frozenset({KV_SYNC_BUSY, KV_SYNC_MS, THREAD_SHARE, ONODE_MISSES})
#: Nobody's clients: what the thread does then bounds none of them.
_NO_CLIENTS = frozenset({WorkloadClass.IDLE, WorkloadClass.RECOVERY})


def with_pressure(
    workload: Workload, signals: Iterable[Signals], looks: Iterable[Details] = ()
) -> Workload:
    """``workload`` with what it makes of the threads of its OSDs, where that is known.

    It is evidence like any other, so it is remembered with the workload: how busy the threads are
    at night says nothing of what bounds the clients of the day.
    """
    if workload.workload_class in _NO_CLIENTS:
        return workload
    window_s = busy = round_ms = writes = written = 0.0
    known = rounds = 0
    for seen in signals:
        writes += seen.write_iops or 0.0
        written += seen.write_bytes_per_s or 0.0
        if seen.kv_sync_busy is not None and seen.window_s is not None:
            known += 1
            busy += seen.kv_sync_busy
            window_s = seen.window_s
            if seen.kv_sync_ms is not None:
                rounds += 1
                round_ms += seen.kv_sync_ms
    if not known:
        return workload
    mean = busy / known
    evidence = [
        *workload.evidence,
        Evidence(
            KV_SYNC_BUSY,
            mean,
            'ratio',
            window_s,
            'The kv_sync threads are {:.0f}% busy.',
            (100 * mean,),
        ),
    ]
    if rounds:
        mean_ms = round_ms / rounds
        text = 'A commit takes {:.2f} ms.'
        evidence.append(Evidence(KV_SYNC_MS, mean_ms, 'ms', window_s, text, (mean_ms,)))
    if not writes or written / writes < thresholds().large_write_bytes:
        # Large writes take CPU to be prepared.
        evidence += _of_threads(looks)
    return workload._replace(evidence=tuple(evidence))


def _of_threads(looks: Iterable[Details]) -> list[Evidence]:
    """Until a write is handed out it needs a thread, a core and cached onodes, but no device."""
    limits = limit_thresholds()
    window_s = waited_ms = prepare_ms = share = 0.0
    known = hits = misses = 0
    for look in looks:
        latency = look.latency
        if latency is None or look.onode_hits is None or look.onode_misses is None:
            continue
        whole_ms, queue_ms = latency.client_op_ms, latency.osd_queue_ms
        if not whole_ms or queue_ms is None or latency.osd_prepare_ms is None:
            continue
        known += 1
        window_s = latency.window_s
        hits, misses = hits + look.onode_hits, misses + look.onode_misses
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
    text = 'Writes spend {:.1f} ms, {:.0f}% of their time, on the OSD threads that prepare them.'
    figures = (waited_ms / known, 100 * share)
    found = [Evidence(THREAD_SHARE, share, 'ratio', window_s, text, figures)]
    if missed > limits.cores_onode_misses:
        text = 'Of the onodes that they need {:.0f}% are not cached.'
        found.append(Evidence(ONODE_MISSES, missed, 'ratio', window_s, text, (100 * missed,)))
    return found


def measured(workload: Optional[Workload], signal: str) -> Optional[Evidence]:
    """What the evidence of a workload has of one signal."""
    if workload is None:
        return None
    return next((e for e in workload.evidence if e.signal == signal), None)
