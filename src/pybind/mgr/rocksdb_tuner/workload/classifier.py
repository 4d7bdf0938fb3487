"""Workloads of all OSDs and groups; a class changes once per change of the workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Optional

from ..mgr.records import ClusterMap
from ..observe.details import Details
from ..observe.load_history import PoolRates
from ..observe.report_interval import DEFAULT, ReportInterval
from ..observe.signals import Signals
from .classify import activity, classify
from .pools import PoolContext, pool_context
from .pressure import with_pressure
from .records import (
    UNKNOWN_WORKLOAD,
    Recognition,
    Workload,
    WorkloadClass,
    evidence_of,
    thresholds,
)

#: With this confidence a class needs no second sample if the current class is in doubt already.
SURE = 0.9
#: Factor on the confidence while the newest sample contradicts the class.
DOUBTED = 0.5


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
        memory = Memory(UNKNOWN_WORKLOAD, WorkloadClass.UNKNOWN, now_s, now_s)
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


_NO_POOLS = PoolContext()
#: Factor on the group's confidence for an OSD that inherits the group's workload.
_INHERITED = 0.6


class Classifier:
    """Times are seconds of one clock. Not thread-safe."""

    def __init__(self) -> None:
        self._osds: dict[int, Memory] = {}
        self._groups: dict[str, Memory] = {}
        #: By device class, from the newest samples.
        self._pools: Mapping[str, PoolContext] = {}

    @property
    def unsettled_osds(self) -> frozenset[int]:
        """OSDs whose class is unknown, or about to change."""
        return frozenset(
            osd_id
            for osd_id, memory in self._osds.items()
            if memory.candidate is not memory.believed.workload_class
            or memory.candidate is WorkloadClass.UNKNOWN
        )

    @property
    def group_about_to_change(self) -> bool:
        """Whether a further sample may change the class of a device class."""
        return any(
            memory.candidate is not memory.believed.workload_class
            for memory in self._groups.values()
        )

    def recognize(
        self, signals: Mapping[int, Signals], cluster_map: ClusterMap, now_s: float, **known: Any
    ) -> Recognition:
        """`recognize_groups` by what else is ``known``, then `recognize_osds`."""
        per_group = self.recognize_groups(signals, cluster_map, now_s, **known)
        return Recognition(self.recognize_osds(signals, cluster_map, now_s), per_group)

    def recognize_groups(
        self,
        signals: Mapping[int, Signals],
        cluster_map: ClusterMap,
        now_s: float,
        pool_rates: Mapping[int, PoolRates] = MappingProxyType({}),
        details: Callable[[int], Optional[Details]] = lambda _: None,
        reports: ReportInterval = DEFAULT,
    ) -> Mapping[str, Workload]:
        """Classify every device class; call once per tick.

        ``pool_rates``: client I/O per pool, if known. ``details`` returns the newest details of an
        OSD.
        """
        members: dict[str, list[Signals]] = {}
        for osd in cluster_map.osds:
            seen = signals.get(osd.osd_id)
            if seen is not None and osd.device_class is not None:
                members.setdefault(osd.device_class, []).append(seen)
        pools: dict[str, PoolContext] = {}
        groups: dict[str, Memory] = {}
        for name, of_class in members.items():
            work = activity(of_class)
            changes_per_s = work.changes_per_s if work else 0.0
            pools[name] = pool_context(cluster_map, name, pool_rates, changes_per_s)
            found = (details(seen.osd_id) for seen in of_class)
            now = with_pressure(
                classify(work, pools[name]), of_class, (d for d in found if d is not None)
            )
            groups[name] = remember(self._groups.get(name), now, now_s, reports)
        self._groups, self._pools = groups, pools
        return {name: memory.shown for name, memory in groups.items()}

    def recognize_osds(
        self,
        signals: Mapping[int, Signals],
        cluster_map: ClusterMap,
        now_s: float,
        reports: ReportInterval = DEFAULT,
    ) -> Mapping[int, Workload]:
        """Classify every OSD in ``signals``, of which `recognize_groups` has classified the groups.

        Not needed in each tick: a class that `remember` has seen once makes them `unsettled`.
        """
        per_group = {name: memory.shown for name, memory in self._groups.items()}
        osds: dict[int, Memory] = {}
        per_osd: dict[int, Workload] = {}
        for osd in cluster_map.osds:
            osd_id, device_class = osd.osd_id, osd.device_class
            seen = signals.get(osd_id)
            if seen is None:
                continue
            context, group = _NO_POOLS, None
            if device_class is not None:
                # The class of an OSD may have changed since its group was classified.
                context = self._pools.get(device_class, _NO_POOLS)
                group = per_group.get(device_class)
            now = _with_replicas(classify(activity((seen,)), context), seen, group)
            memory = osds[osd_id] = remember(self._osds.get(osd_id), now, now_s, reports)
            per_osd[osd_id] = memory.shown
        self._osds = osds
        return per_osd


def _with_replicas(own: Workload, seen: Signals, group: Optional[Workload]) -> Workload:
    """The group's workload for an OSD that only serves replicated writes.

    Replicated writes show in the WAL, but not in `osd.op_*`, and `osd.recovery_ops` does not count
    on the OSD that is recovered. If the group is idle too, the writes are from trimming or
    scrubbing, and the OSD is idle.
    """
    wal = seen.wal_bytes_per_s
    if (
        own.workload_class is not WorkloadClass.IDLE
        or group is None
        or group.workload_class is WorkloadClass.IDLE
        or wal is None
        or seen.window_s is None
        or wal < thresholds().replica_wal_bytes_per_s
    ):
        return own
    evidence = evidence_of('wal_bytes_per_s', wal, seen.window_s, wal / 1024)
    confidence = group.confidence * _INHERITED
    return group._replace(confidence=confidence, evidence=(evidence, *own.evidence))
