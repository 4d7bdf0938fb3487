"""Hysteresis of the workload class: it changes once per change of the workload."""

from __future__ import annotations

from typing import NamedTuple, Optional

from ..observe.report_interval import DEFAULT, ReportInterval
from .records import Workload, WorkloadClass

#: With this confidence a class needs no second sample if the current class is in doubt already.
SURE = 0.9
#: Factor on the confidence while the newest sample contradicts the class.
DOUBTED = 0.5

_NOTHING = Workload(WorkloadClass.UNKNOWN, 0.0, ())


class Memory(NamedTuple):
    """The current class, and the one that may replace it."""

    believed: Workload
    candidate: WorkloadClass
    #: Since when the candidate was seen without interruption.
    since_s: float
    #: Since when the current class was not seen.
    doubted_s: float

    @property
    def shown(self) -> Workload:
        if self.candidate is self.believed.workload_class:
            return self.believed
        return self.believed._replace(confidence=self.believed.confidence * DOUBTED)


def remember(
    memory: Optional[Memory], now: Workload, now_s: float, reports: ReportInterval = DEFAULT
) -> Memory:
    """The state after another sample; ``memory`` is None before the first.

    A new class needs two reports without interruption. With a 30 s window a workload is classified
    within 60 s. A window across a change of workload looks mixed for about 12 of its 30 s, so MIXED
    needs longer.

    Idle is accepted at once, since the window is long enough to bridge pauses. So is recovery,
    which has its own counter.
    """
    if memory is None:
        memory = Memory(_NOTHING, WorkloadClass.UNKNOWN, now_s, now_s)
    found, believed = now.workload_class, memory.believed.workload_class
    if found in (believed, WorkloadClass.IDLE, WorkloadClass.RECOVERY):
        return Memory(now, found, now_s, now_s)
    since_s = memory.since_s if memory.candidate is found else now_s
    in_doubt = memory.candidate is not believed and believed is not WorkloadClass.UNKNOWN
    doubted_s = memory.doubted_s if in_doubt else now_s
    unsure = believed is WorkloadClass.MIXED or now_s - doubted_s >= reports.confirm_s
    taken = _taken(now, now_s - since_s, reports, unsure=unsure)
    return Memory(now if taken else memory.believed, found, since_s, doubted_s)


def _taken(now: Workload, seen_s: float, reports: ReportInterval, *, unsure: bool) -> bool:
    if now.workload_class is WorkloadClass.MIXED:
        return seen_s >= reports.confirm_change_s
    # Between two workloads samples show others, mostly MIXED: one with high confidence is the new
    # workload.
    return seen_s >= reports.confirm_s or (now.confidence >= SURE and unsure)
