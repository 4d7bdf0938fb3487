"""A memory that keeps a class from flapping: one change of class for one change of workload."""

from __future__ import annotations

from typing import NamedTuple, Optional

from .records import Workload, WorkloadClass

#: Another class is taken once it was seen without interruption for this long: at the second look
#: of any interval. With a window that reaches back 30 s, a workload is named within 60 s.
CONFIRM_S = 4.0
#: A window that lies across a change of workload holds some of both and looks mixed, while neither
#: has most of it: some 12 s of the 30 s that it reaches back. Only what looks so for longer is.
CONFIRM_MIXED_S = 15.0
#: With this confidence a class needs no second look where the one before was in doubt already.
SURE = 0.9
#: What is left of the confidence in a class while the newest look speaks against it.
DOUBTED = 0.5

_NOTHING = Workload(WorkloadClass.UNKNOWN, 0.0, ())


class Memory(NamedTuple):
    """The class that is believed, and the one that may replace it."""

    believed: Workload
    candidate: WorkloadClass
    #: Since when the candidate has been seen without interruption.
    since_s: float
    #: Since when something else than the believed class has been seen without interruption.
    doubted_s: float

    @property
    def shown(self) -> Workload:
        if self.candidate is self.believed.workload_class:
            return self.believed
        return self.believed._replace(confidence=self.believed.confidence * DOUBTED)


def remember(memory: Optional[Memory], now: Workload, now_s: float) -> Memory:
    """The memory after one more look; before the first, nothing is known.

    Idle is taken at once: the window reaches back far enough to tell an end from a pause. So is
    recovery, which has a counter of its own: what clients did before must not stand for it.
    """
    if memory is None:
        memory = Memory(_NOTHING, WorkloadClass.UNKNOWN, now_s, now_s)
    found, believed = now.workload_class, memory.believed.workload_class
    if found in (believed, WorkloadClass.IDLE, WorkloadClass.RECOVERY):
        return Memory(now, found, now_s, now_s)
    since_s = memory.since_s if memory.candidate is found else now_s
    in_doubt = memory.candidate is not believed and believed is not WorkloadClass.UNKNOWN
    doubted_s = memory.doubted_s if in_doubt else now_s
    unsure = believed is WorkloadClass.MIXED or now_s - doubted_s >= CONFIRM_S
    taken = _taken(now, now_s - since_s, unsure=unsure)
    return Memory(now if taken else memory.believed, found, since_s, doubted_s)


def _taken(now: Workload, seen_s: float, *, unsure: bool) -> bool:
    if now.workload_class is WorkloadClass.MIXED:
        return seen_s >= CONFIRM_MIXED_S
    # Between two workloads the looks pass through others, mixed above all: what is sure then is
    # the second one.
    return seen_s >= CONFIRM_S or (now.confidence >= SURE and unsure)
