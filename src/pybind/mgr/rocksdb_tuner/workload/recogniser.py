"""Workloads of all OSDs and groups, with the memory that keeps a class from flapping."""

from __future__ import annotations

from typing import Mapping

from ..mgr.records import ClusterMap
from ..observe.signals import Signals
from .activity import activity
from .classify import classify
from .hysteresis import Memory, remember
from .pools import PoolContext, pool_context
from .records import Recognition

_NO_POOLS = PoolContext(rbd=False, rgw=False, cephfs_metadata=False, cephfs_data=False)


class Recogniser:
    """Times are seconds of one clock. One thread drives it."""

    def __init__(self) -> None:
        self._osds: dict[int, Memory] = {}
        self._groups: dict[str, Memory] = {}

    def recognise(
        self, signals: Mapping[int, Signals], cluster_map: ClusterMap, now_s: float
    ) -> Recognition:
        """Classify every OSD in ``signals`` and every device class; call once per tick."""
        pools: dict[str, PoolContext] = {}
        members: dict[str, list[Signals]] = {}
        osds: dict[int, Memory] = {}
        for osd in cluster_map.osds:
            seen = signals.get(osd.osd_id)
            if seen is None:
                continue
            context = _NO_POOLS
            if osd.device_class is not None:
                members.setdefault(osd.device_class, []).append(seen)
                if osd.device_class not in pools:
                    pools[osd.device_class] = pool_context(cluster_map, osd.device_class)
                context = pools[osd.device_class]
            now = classify(activity((seen,)), context)
            osds[osd.osd_id] = remember(self._osds.get(osd.osd_id), now, now_s)
        self._osds = osds
        self._groups = {
            device_class: remember(
                self._groups.get(device_class),
                classify(activity(of_class), pools[device_class]),
                now_s,
            )
            for device_class, of_class in members.items()
        }
        return Recognition(
            per_osd={osd_id: memory.shown for osd_id, memory in osds.items()},
            per_group={name: memory.shown for name, memory in self._groups.items()},
        )
