"""Workloads of all OSDs and groups, with hysteresis."""

from __future__ import annotations

from types import MappingProxyType
from typing import Callable, Mapping, NamedTuple, Optional

from ..mgr.records import ClusterMap
from ..observe.details import Details
from ..observe.pool_rates import PoolRates
from ..observe.signals import Signals
from .activity import activity
from .classify import classify
from .hysteresis import Memory, remember
from .pools import PoolContext, pool_context
from .pressure import with_pressure
from .records import Evidence, Recognition, Workload, WorkloadClass
from .thresholds import thresholds

_NO_POOLS = PoolContext(rbd=False, rgw=False, cephfs_metadata=False)


#: A settled class of an OSD is looked at again after this, which is a third of the ticks at the
#: default interval; at once if an OSD or its group is about to change.
REUSE_S = 25.0
#: Factor on the group's confidence for an OSD that inherits the group's workload.
_INHERITED = 0.6


class Memories(NamedTuple):
    """Hysteresis state of OSDs and device classes."""

    osds: Mapping[int, Memory]
    groups: Mapping[str, Memory]


class _Settled(NamedTuple):
    at_s: float
    #: The class that each group was seen with.
    groups: Mapping[str, WorkloadClass]


class Classifier:
    """Times are seconds of one clock. Not thread-safe.

    ``known``: the state of another classifier to continue with.
    """

    def __init__(self, known: Optional[Memories] = None) -> None:
        self._osds: dict[int, Memory] = dict(known.osds) if known else {}
        self._groups: dict[str, Memory] = dict(known.groups) if known else {}
        #: When the OSDs were classified, and the state of the groups then; None: look again.
        self._settled: Optional[_Settled] = None

    @property
    def memories(self) -> Memories:
        """The state, which makes a classification reproducible."""
        return Memories(self._osds, self._groups)

    def recognize(
        self,
        signals: Mapping[int, Signals],
        cluster_map: ClusterMap,
        now_s: float,
        pool_rates: Mapping[int, PoolRates] = MappingProxyType({}),
        details: Callable[[int], Optional[Details]] = lambda _: None,
    ) -> Recognition:
        """Classify every OSD in ``signals`` and every device class; call once per tick.

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
            groups[name] = remember(self._groups.get(name), now, now_s)
        self._groups = groups
        if not self._can_reuse(signals, now_s):
            self._osds = self._remember_osds(signals, cluster_map, pools, now_s)
            changing = any(map(_is_changing, (*self._osds.values(), *groups.values())))
            self._settled = None if changing else _Settled(now_s, _classes(groups))
        return Recognition(
            per_osd={osd_id: memory.shown for osd_id, memory in self._osds.items()},
            per_group={name: memory.shown for name, memory in self._groups.items()},
        )

    def _can_reuse(self, signals: Mapping[int, Signals], now_s: float) -> bool:
        settled = self._settled
        return (
            settled is not None
            and 0 <= now_s - settled.at_s < REUSE_S
            and _classes(self._groups) == settled.groups
            and self._osds.keys() == signals.keys()
            # The history of an OSD that restarted is empty.
            and all(seen.window_s is not None for seen in signals.values())
        )

    def _remember_osds(
        self,
        signals: Mapping[int, Signals],
        cluster_map: ClusterMap,
        pools: Mapping[str, PoolContext],
        now_s: float,
    ) -> dict[int, Memory]:
        osds: dict[int, Memory] = {}
        for osd in cluster_map.osds:
            seen, device_class = signals.get(osd.osd_id), osd.device_class
            if seen is None:
                continue
            context = pools[device_class] if device_class is not None else _NO_POOLS
            group = self._groups[device_class].shown if device_class is not None else None
            now = _with_replicas(classify(activity((seen,)), context), seen, group)
            osds[osd.osd_id] = remember(self._osds.get(osd.osd_id), now, now_s)
        return osds


def _is_changing(memory: Memory) -> bool:
    believed = memory.believed.workload_class
    return believed is WorkloadClass.UNKNOWN or memory.candidate is not believed


def _classes(groups: Mapping[str, Memory]) -> Mapping[str, WorkloadClass]:
    return {name: memory.candidate for name, memory in groups.items()}


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
    evidence = Evidence(
        'wal_bytes_per_s',
        wal,
        'bytes/s',
        seen.window_s,
        '{:.0f} KiB/s of WAL without client operations: it serves replicated writes.',
        (wal / 1024,),
    )
    confidence = group.confidence * _INHERITED
    return group._replace(confidence=confidence, evidence=(evidence, *own.evidence))
