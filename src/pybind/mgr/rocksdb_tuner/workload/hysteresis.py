"""A memory that keeps a class from flapping: one change of class for one change of workload."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, Optional

from .records import Workload, WorkloadClass

#: Another class is taken once it was seen without interruption for this long: at the second look
#: of any interval. With a window that reaches back 30 s, a workload is named within 60 s.
CONFIRM_S = 4.0
#: What is left of the confidence in a class while the newest look speaks against it.
DOUBTED = 0.5

_NOTHING = Workload(WorkloadClass.UNKNOWN, 0.0, ())


class Memory(NamedTuple):
    """The class that is believed, and the one that may replace it."""

    believed: Workload
    candidate: WorkloadClass
    #: Since when the candidate has been seen without interruption.
    since_s: float

    @property
    def shown(self) -> Workload:
        if self.candidate is self.believed.workload_class:
            return self.believed
        return replace(self.believed, confidence=self.believed.confidence * DOUBTED)


def remember(memory: Optional[Memory], now: Workload, now_s: float) -> Memory:
    """The memory after one more look; before the first, nothing is known.

    Idle is taken at once: the window reaches back far enough to tell an end from a pause.
    """
    if memory is None:
        memory = Memory(_NOTHING, WorkloadClass.UNKNOWN, now_s)
    found = now.workload_class
    if found in (memory.believed.workload_class, WorkloadClass.IDLE):
        return Memory(now, found, now_s)
    since_s = memory.since_s if memory.candidate is found else now_s
    return Memory(now if now_s - since_s >= CONFIRM_S else memory.believed, found, since_s)
