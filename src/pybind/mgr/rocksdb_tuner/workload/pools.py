"""What the pools of a cluster say about who can be at work on a device class, and who is."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Mapping, NamedTuple, Optional

from ..mgr.records import ClusterMap, PoolInfo
from ..observe.pool_rates import PoolRates

RBD = 'rbd'
RGW = 'rgw'
CEPHFS_METADATA = 'cephfs_metadata'
CEPHFS_DATA = 'cephfs_data'
#: Pools of other applications, and of none; not the manager's own.
OTHER = 'other'

#: Pools of the manager's modules (device health, their stores): nobody's clients.
_OWN_APPLICATIONS = frozenset({'mgr', 'mgr_devicehealth'})


class KindRates(NamedTuple):
    """What clients do to all pools of one kind, per second.

    Writes and reads are parts of operations: see `PoolCounters`.
    """

    writes_per_s: float
    write_bytes_per_s: float
    reads_per_s: float


class PoolContext(NamedTuple):
    """Which kinds of pools can place data on OSDs of a device class."""

    rbd: bool
    rgw: bool
    cephfs_metadata: bool
    cephfs_data: bool
    #: What is done to the pools of each kind; None where that is not known.
    work: Optional[Mapping[str, KindRates]] = None


def pool_context(
    cluster_map: ClusterMap,
    device_class: str,
    pool_rates: Mapping[int, PoolRates] = MappingProxyType({}),
) -> PoolContext:
    """The kinds of pools that reach ``device_class``, with ``pool_rates`` summed by kind."""
    reaching = [pool for pool in cluster_map.pools if _reaches(pool, device_class)]
    kinds = {kind for pool in reaching for kind in (_kind(pool),) if kind is not None}
    return PoolContext(
        rbd=any('rbd' in pool.applications for pool in reaching),
        rgw=any('rgw' in pool.applications for pool in reaching),
        cephfs_metadata=CEPHFS_METADATA in kinds,
        cephfs_data=CEPHFS_DATA in kinds,
        work=_work(reaching, pool_rates),
    )


def _work(
    pools: Iterable[PoolInfo], rates: Mapping[int, PoolRates]
) -> Optional[Mapping[str, KindRates]]:
    if not rates:
        return None
    sums: dict[str, list[float]] = {}
    for pool in pools:
        kind, seen = _kind(pool), rates.get(pool.pool_id)
        if kind is None or seen is None:
            continue
        total = sums.setdefault(kind, [0.0, 0.0, 0.0])
        total[0] += seen.writes_per_s
        total[1] += seen.write_bytes_per_s
        total[2] += seen.reads_per_s
    return {kind: KindRates(*total) for kind, total in sums.items()}


def _kind(pool: PoolInfo) -> Optional[str]:
    """None: the manager's own."""
    if pool.cephfs_metadata:
        return CEPHFS_METADATA
    for application, kind in (('cephfs', CEPHFS_DATA), ('rgw', RGW), ('rbd', RBD)):
        if application in pool.applications:
            return kind
    if pool.applications and set(pool.applications) <= _OWN_APPLICATIONS:
        return None
    return OTHER


def _reaches(pool: PoolInfo, device_class: str) -> bool:
    # A rule that names no class takes from all of them.
    return not pool.device_classes or device_class in pool.device_classes
