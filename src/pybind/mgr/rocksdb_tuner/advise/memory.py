"""The last client workload of each group: advice must not vanish with the evening's load."""

from __future__ import annotations

from typing import Mapping

from ..workload.records import Recognition, Workload, WorkloadClass
from .recommend import MIN_CONFIDENCE, NO_ADVICE_FOR

_NO_WRITES = frozenset({WorkloadClass.IDLE, WorkloadClass.RECOVERY, WorkloadClass.READ_MOSTLY})


#: Work that lasted no longer than this is no reason to restart OSDs: a gateway that starts looks
#: like bucket index work for half a minute.
LASTING_S = 30.0


class WorkloadMemory:
    """Remembers, per device class, the last workload that could be a reason for advice.

    A group that is idle, recovers or only reads keeps it for a time: option sets are about
    writes. Work that has just begun is no reason yet. Nothing outlives the manager: after a
    failover it is measured again.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, Workload]] = {}
        #: What is going on, and since when without interruption.
        self._present: dict[str, tuple[float, WorkloadClass]] = {}

    def recall(
        self, recognition: Recognition, now_s: float, memory_s: float
    ) -> Mapping[str, Workload]:
        """The workload to advise on, by device class. Times are seconds of one clock."""
        return {
            device_class: self._advised_on(device_class, workload, now_s, memory_s)
            for device_class, workload in recognition.per_group.items()
        }

    def _advised_on(
        self, device_class: str, workload: Workload, now_s: float, memory_s: float
    ) -> Workload:
        since_s, known = self._present.get(device_class, (now_s, None))
        if known is not workload.workload_class:
            since_s = now_s
        self._present[device_class] = (since_s, workload.workload_class)
        writes = workload.workload_class not in NO_ADVICE_FOR | _NO_WRITES
        remembered = self._last.get(device_class)
        if writes and now_s - since_s >= LASTING_S:
            if workload.confidence >= MIN_CONFIDENCE:
                self._last[device_class] = (now_s, workload)
                return workload
            # Work that ends, or is doubted for a moment, is what it was until another one lasts.
            if remembered is None or remembered[1].workload_class is not workload.workload_class:
                return workload
        if (
            remembered
            and (writes or workload.workload_class in _NO_WRITES)
            and now_s - remembered[0] <= memory_s
        ):
            return remembered[1]
        if writes:
            return Workload(WorkloadClass.UNKNOWN, 0.0, workload.evidence)
        return workload
