"""The last client workload of each group: advice must not vanish with the evening's load."""

from __future__ import annotations

from typing import Mapping, Optional

from ..workload.records import Recognition, Workload, WorkloadClass
from .recommend import MIN_CONFIDENCE, NO_ADVICE_FOR

_NO_WRITES = frozenset({WorkloadClass.IDLE, WorkloadClass.RECOVERY, WorkloadClass.READ_MOSTLY})


class WorkloadMemory:
    """Remembers, per device class, the last workload that could be a reason for advice.

    A group that is idle, recovers or only reads keeps it for a time: option sets are about
    writes. Any other present workload replaces it or speaks for itself. Nothing outlives the
    manager: after a failover it is measured again.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, Workload]] = {}

    def recall(
        self, recognition: Recognition, now_s: float, memory_s: float
    ) -> Mapping[str, Workload]:
        """The workload to advise on, by device class. Times are seconds of one clock."""
        advised: dict[str, Workload] = {}
        for device_class, workload in recognition.per_group.items():
            if (
                workload.workload_class not in NO_ADVICE_FOR | _NO_WRITES
                and workload.confidence >= MIN_CONFIDENCE
            ):
                self._last[device_class] = (now_s, workload)
            advised[device_class] = self._instead_of(device_class, workload, now_s, memory_s)
        return advised

    def _instead_of(
        self, device_class: str, workload: Workload, now_s: float, memory_s: float
    ) -> Workload:
        remembered: Optional[tuple[float, Workload]] = self._last.get(device_class)
        if (
            remembered
            and workload.workload_class in _NO_WRITES
            and now_s - remembered[0] <= memory_s
        ):
            return remembered[1]
        return workload
