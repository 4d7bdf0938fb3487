"""How busy a device class is with its clients' work, beside what that work is. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

from ..observe.signals import Signals
from .records import Evidence, Workload, WorkloadClass

__all__ = ['KV_SYNC_BUSY', 'KV_SYNC_MS', 'measured', 'with_pressure']

KV_SYNC_BUSY = 'kv_sync_busy'
KV_SYNC_MS = 'kv_sync_ms'
#: Nobody's clients: what the thread does then bounds none of them.
_NO_CLIENTS = frozenset({WorkloadClass.IDLE, WorkloadClass.RECOVERY})


def with_pressure(workload: Workload, signals: Iterable[Signals]) -> Workload:
    """``workload`` with what it makes of the kv_sync threads of its OSDs, where that is known.

    It is evidence like any other, so it is remembered with the workload: how busy the threads are
    at night says nothing of what bounds the clients of the day.
    """
    if workload.workload_class in _NO_CLIENTS:
        return workload
    window_s = busy = round_ms = 0.0
    known = rounds = 0
    for seen in signals:
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
    return workload._replace(evidence=tuple(evidence))


def measured(workload: Optional[Workload], signal: str) -> Optional[Evidence]:
    """What the evidence of a workload has of one signal."""
    if workload is None:
        return None
    return next((e for e in workload.evidence if e.signal == signal), None)
