"""Workloads of all OSDs and groups, with the memory that keeps a class from flapping."""

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


#: What is left of a group's confidence for an OSD of which only its group's clients are known.
_INHERITED = 0.6


class Memories(NamedTuple):
    """What is believed of OSDs, and of device classes."""

    osds: Mapping[int, Memory]
    groups: Mapping[str, Memory]


class Classifier:
    """Times are seconds of one clock. One thread drives it.

    ``known`` is what another one believed, and why.
    """

    def __init__(self, known: Optional[Memories] = None) -> None:
        self._osds: dict[int, Memory] = dict(known.osds) if known else {}
        self._groups: dict[str, Memory] = dict(known.groups) if known else {}

    @property
    def memories(self) -> Memories:
        """What is believed; with it, the same look gives the same answer."""
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

        ``pool_rates`` is what clients do to each pool, where that is known; ``details`` finds the
        newest close look at an OSD.
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
            looks = (details(seen.osd_id) for seen in of_class)
            now = with_pressure(
                classify(work, pools[name]), of_class, (look for look in looks if look is not None)
            )
            groups[name] = remember(self._groups.get(name), now, now_s)
        self._groups = groups
        own: dict[int, tuple[Signals, Workload, Optional[str]]] = {}
        for osd in cluster_map.osds:
            seen = signals.get(osd.osd_id)
            if seen is None:
                continue
            context = pools[osd.device_class] if osd.device_class is not None else _NO_POOLS
            own[osd.osd_id] = (seen, classify(activity((seen,)), context), osd.device_class)
        osds: dict[int, Memory] = {}
        for osd_id, (seen, now, device_class) in own.items():
            group = self._groups[device_class].shown if device_class is not None else None
            osds[osd_id] = remember(self._osds.get(osd_id), _with_replicas(now, seen, group), now_s)
        self._osds = osds
        return Recognition(
            per_osd={osd_id: memory.shown for osd_id, memory in osds.items()},
            per_group={name: memory.shown for name, memory in self._groups.items()},
        )


def _with_replicas(own: Workload, seen: Signals, group: Optional[Workload]) -> Workload:
    """The group's workload where an OSD without clients of its own works as their replica.

    What replicas write shows in the WAL, but not in `osd.op_*`; nor does `osd.recovery_ops` count
    on the OSD that is recovered. Where the group is idle too, it is trimming or scrubbing that
    writes, and "idle" is true.
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
        '{:.0f} KiB/s of WAL without clients of its own: it works as a replica.',
        (wal / 1024,),
    )
    confidence = group.confidence * _INHERITED
    return group._replace(confidence=confidence, evidence=(evidence, *own.evidence))
