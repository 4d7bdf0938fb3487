"""The last client workload of each group: advice must not vanish with the evening's load."""

from __future__ import annotations

from typing import Mapping

from ..workload.pressure import KV_SYNC_BUSY, PRESSURE
from ..workload.records import Evidence, Recognition, Workload, WorkloadClass
from ..workload.writer import writer_of
from .case import MIN_CONFIDENCE
from .no_change import NO_ADVICE_FOR

_NO_WRITES = frozenset({WorkloadClass.IDLE, WorkloadClass.RECOVERY, WorkloadClass.READ_MOSTLY})


#: Work that lasted no longer than this is no reason to restart OSDs: a gateway that starts looks
#: like bucket index work for half a minute.
LASTING_S = 30.0


class WorkloadMemory:
    """Remembers, per device class, the last workload that could be a reason for advice.

    A group that is idle, recovers or only reads keeps it for a time: option sets are about
    writes. Work that has just begun is no reason yet. How busy the kv_sync threads were is
    remembered of the busiest time: the end of a load says nothing of what bounded its clients.
    Nothing outlives the manager: after a failover it is measured again.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, Workload]] = {}
        #: Who writes, or what is going on, and since when without interruption.
        self._present: dict[str, tuple[float, WorkloadClass]] = {}
        #: When they were busiest with the work of one kind of clients, and how busy.
        self._busiest: dict[str, tuple[float, WorkloadClass, tuple[Evidence, ...]]] = {}

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
        who = _who(workload)
        since_s, known = self._present.get(device_class, (now_s, None))
        if known is not who:
            since_s = now_s
        self._present[device_class] = (since_s, who)
        writer = writer_of(workload)
        writes = who not in NO_ADVICE_FOR | _NO_WRITES
        confidence = workload.confidence if writer is None else writer.confidence
        remembered = self._last.get(device_class)
        if writes and now_s - since_s >= LASTING_S:
            if confidence >= MIN_CONFIDENCE:
                workload = self._at_its_busiest(device_class, who, workload, now_s, memory_s)
                self._last[device_class] = (now_s, workload)
                return workload
            # Work that ends, or is doubted for a moment, is what it was until another one lasts.
            if remembered is None or _who(remembered[1]) is not who:
                return workload
        if remembered and (writes or who in _NO_WRITES) and now_s - remembered[0] <= memory_s:
            return remembered[1]
        if writes:
            return Workload(WorkloadClass.UNKNOWN, 0.0, workload.evidence)
        return workload

    def _at_its_busiest(
        self,
        device_class: str,
        who: WorkloadClass,
        workload: Workload,
        now_s: float,
        memory_s: float,
    ) -> Workload:
        now = tuple(e for e in workload.evidence if e.signal in PRESSURE)
        known = self._busiest.get(device_class)
        if known and known[1] is who and now_s - known[0] <= memory_s and _busy(known[2], now):
            others = tuple(e for e in workload.evidence if e.signal not in PRESSURE)
            return workload._replace(evidence=(*others, *known[2]))
        if now:
            self._busiest[device_class] = (now_s, who, now)
        return workload


def _who(workload: Workload) -> WorkloadClass:
    writer = writer_of(workload)
    return workload.workload_class if writer is None else writer.workload_class


def _busy(before: tuple[Evidence, ...], now: tuple[Evidence, ...]) -> bool:
    """Whether the threads were busier before."""
    busy_now = next((e.value for e in now if e.signal == KV_SYNC_BUSY), None)
    return busy_now is None or any(e.signal == KV_SYNC_BUSY and e.value > busy_now for e in before)
