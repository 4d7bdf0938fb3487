"""What advice keeps from one evaluation to the next. Pure.

The last client workload of each group, so that recommendations outlast the load, and the last
choice, so that they do not change with each tick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Optional

from ..plan.records import Purpose
from ..workload.classify import writer_of
from ..workload.pressure import KV_SYNC_BUSY, PRESSURE, measured
from ..workload.records import Evidence, Recognition, Workload, WorkloadClass
from .case import MIN_CONFIDENCE
from .decision import wait_for
from .recommend import NO_ADVICE_FOR
from .records import Recommendation
from .weighing import Assessment

_NO_WRITES = frozenset({WorkloadClass.IDLE, WorkloadClass.RECOVERY, WorkloadClass.READ_MOSTLY})
#: For so long a choice has to be the same after it changed.
STEADY_S = 30.0
#: A choice that never stays the same is shown as often.
LONGEST_WAIT_S = 300.0
#: A shorter workload is no reason to restart OSDs: the startup of a gateway looks like bucket index
#: work for half a minute.
LASTING_S = 30.0


class _Choice(NamedTuple):
    running: str
    #: None: nothing to change for a gain.
    options: Optional[str]
    since_s: float
    #: When one was last shown.
    shown_s: float


class SteadyChoice:
    """Holds back a choice that differs from the one before, until it stays the same.

    In the first minutes of a load the figures of the candidates move with each tick. The first
    choice is shown at once, and what has an objection to the running options always is.
    """

    def __init__(self) -> None:
        self._by_group: dict[str, _Choice] = {}

    def of(self, assessments: Sequence[Assessment], now_s: float) -> tuple[Assessment, ...]:
        return tuple(self._of(found, now_s) for found in assessments)

    def _of(self, found: Assessment, now_s: float) -> Assessment:
        if found.weighing is None:
            self._by_group.pop(found.who, None)
            return found
        running = found.weighing.weighed[0].options
        # The winner of an experiment is recommended whatever the model prefers
        others = tuple(r for r in found.recommendations if not _is_for_gain(r))
        options = next((r.options_to for r in found.recommendations if _is_for_gain(r)), None)
        choice = self._by_group.get(found.who)
        if choice is None or choice.running != running:
            choice = _Choice(running, options, now_s - STEADY_S, now_s)
        elif choice.options != options:
            choice = choice._replace(options=options, since_s=now_s)
        new = 0 <= now_s - choice.since_s < STEADY_S
        waits = new and 0 <= now_s - choice.shown_s < LONGEST_WAIT_S
        self._by_group[found.who] = choice if waits else choice._replace(shown_s=now_s)
        # Only "nothing to change" names a limit; any other decision has a reason of its own
        decided = options is None and (bool(others) or found.conclusion.limit is None)
        if not waits or decided:
            return found
        wait = wait_for(
            found.who,
            'the figures of the candidates still change',
            'The model preferred other options a moment ago; a recommendation has to last.',
            'ceph rocksdb-tuner recommend --all',
        )
        return replace(found, conclusion=wait, recommendations=others)


def _is_for_gain(recommendation: Recommendation) -> bool:
    change = recommendation.change
    return change is not None and change.purpose is Purpose.GAIN


class WorkloadMemory:
    """Keeps the last workload per device class that can be a reason for a recommendation.

    A group keeps it for a time while it is idle, recovers or only reads, since options matter for
    writes. A workload has to last before it counts. The load of the kv_sync threads is kept from
    the busiest time, since the end of a load does not show what limited the clients. Nothing is
    stored: after a failover the workload is measured again.
    """

    def __init__(self) -> None:
        self.choices = SteadyChoice()
        self._last: dict[str, tuple[float, Workload]] = {}
        #: Start and class of the current workload.
        self._present: dict[str, tuple[float, WorkloadClass]] = {}
        #: Time, workload class and evidence of the busiest kv_sync threads.
        self._busiest: dict[str, tuple[float, WorkloadClass, tuple[Evidence, ...]]] = {}

    def recall(
        self, recognition: Recognition, now_s: float, memory_s: float
    ) -> Mapping[str, Workload]:
        """The workload for recommendations by device class. Times are seconds of one clock."""
        return {
            device_class: self._recall(device_class, workload, now_s, memory_s)
            for device_class, workload in recognition.per_group.items()
        }

    def _recall(self, group: str, workload: Workload, now_s: float, memory_s: float) -> Workload:
        who, confidence = _writer(workload)
        since_s, known = self._present.get(group, (now_s, None))
        if known is not who:
            since_s = now_s
        self._present[group] = (since_s, who)
        writes = who not in NO_ADVICE_FOR | _NO_WRITES
        remembered = self._last.get(group)
        if writes and now_s - since_s >= LASTING_S:
            if confidence >= MIN_CONFIDENCE:
                workload = self._at_its_busiest(group, who, workload, now_s - memory_s, now_s)
                self._last[group] = (now_s, workload)
                return workload
            # A workload that ends or briefly loses confidence stays until another one lasts.
            if remembered is None or _writer(remembered[1])[0] is not who:
                return workload
        if remembered and (writes or who in _NO_WRITES) and now_s - remembered[0] <= memory_s:
            return remembered[1]
        return Workload(WorkloadClass.UNKNOWN, 0.0, workload.evidence) if writes else workload

    def _at_its_busiest(
        self, group: str, who: WorkloadClass, workload: Workload, oldest_s: float, now_s: float
    ) -> Workload:
        now = tuple(e for e in workload.evidence if e.signal in PRESSURE)
        time_s, known, before = self._busiest.get(group, (now_s, None, ()))
        busy, was = (measured(workload._replace(evidence=e), KV_SYNC_BUSY) for e in (now, before))
        if (
            known is who
            and time_s >= oldest_s
            and (busy is None or (was and was.value > busy.value))
        ):
            others = tuple(e for e in workload.evidence if e.signal not in PRESSURE)
            return workload._replace(evidence=(*others, *before))
        if now:
            self._busiest[group] = (now_s, who, now)
        return workload


def _writer(workload: Workload) -> tuple[WorkloadClass, float]:
    """The kind of writes if it is known, or else the workload, with its confidence."""
    found = writer_of(workload) or workload
    return found.workload_class, found.confidence
