"""A memory that keeps a class from flapping: one change of class for one change of workload."""

from __future__ import annotations

from typing import NamedTuple, Optional

from .records import Workload, WorkloadClass

#: Another class is taken once it was seen without interruption for this long. With a window that
#: reaches back 30 s, a workload is named within 60 s of its start.
CONFIRM_S = 15.0


class Memory(NamedTuple):
    """The class that is shown, and the one that may replace it."""

    shown: Workload
    candidate: WorkloadClass
    #: Since when the candidate has been seen without interruption.
    since_s: float


def remember(memory: Optional[Memory], now: Workload, now_s: float) -> Memory:
    """The memory after one more look. Nothing is held back when nothing was known before."""
    if memory is None or memory.shown.workload_class is WorkloadClass.UNKNOWN:
        return Memory(now, now.workload_class, now_s)
    if now.workload_class is memory.shown.workload_class:
        return Memory(now, now.workload_class, now_s)
    since_s = memory.since_s if memory.candidate is now.workload_class else now_s
    if now_s - since_s >= CONFIRM_S:
        return Memory(now, now.workload_class, since_s)
    return Memory(memory.shown, now.workload_class, since_s)
