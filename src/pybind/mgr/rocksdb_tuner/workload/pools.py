"""What the pools of a cluster say about who can be at work on a device class."""

from __future__ import annotations

from typing import NamedTuple

from ..mgr.records import ClusterMap, PoolInfo


class PoolContext(NamedTuple):
    """Which kinds of pools can place data on OSDs of a device class."""

    rbd: bool
    rgw: bool
    cephfs_metadata: bool
    cephfs_data: bool


def pool_context(cluster_map: ClusterMap, device_class: str) -> PoolContext:
    reaching = [pool for pool in cluster_map.pools if _reaches(pool, device_class)]
    return PoolContext(
        rbd=any('rbd' in pool.applications for pool in reaching),
        rgw=any('rgw' in pool.applications for pool in reaching),
        cephfs_metadata=any(pool.cephfs_metadata for pool in reaching),
        cephfs_data=any(
            'cephfs' in pool.applications and not pool.cephfs_metadata for pool in reaching
        ),
    )


def _reaches(pool: PoolInfo, device_class: str) -> bool:
    # A rule that names no class takes from all of them.
    return not pool.device_classes or device_class in pool.device_classes
