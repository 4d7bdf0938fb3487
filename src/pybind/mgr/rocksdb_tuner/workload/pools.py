"""Clients of a device class, according to the cluster's pools."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Mapping, NamedTuple, Optional

from ..mgr.records import ClusterMap, PoolInfo
from ..observe.load_history import PoolRates

RBD = 'rbd'
RGW = 'rgw'
CEPHFS_METADATA = 'cephfs_metadata'
CEPHFS_DATA = 'cephfs_data'
#: Pools of other applications or without one, except the mgr's own.
OTHER = 'other'
_NAMES = {
    RBD: 'to RBD',
    RGW: 'to RGW',
    CEPHFS_METADATA: 'to CephFS metadata',
    CEPHFS_DATA: 'to CephFS data',
    OTHER: 'to other',
}
#: Minimum share of the OSDs' writes that pool statistics must cover.
MIN_COVERED_SHARE = 0.5
#: Writes to a CephFS data pool with a smaller mean size carry no data.
MIN_DATA_BYTES = 512.0

#: Pools of mgr modules (device health, their stores) have no clients.
_OWN_APPLICATIONS = frozenset({'mgr', 'mgr_devicehealth'})


class Share(NamedTuple):
    """Share of one kind of pools in the writes and in the written bytes, 0..1."""

    changes: float
    write_bytes: float


class Leading(NamedTuple):
    """The kind of pools with the most writes, its share, and a statement on all kinds."""

    kind: str
    share: float
    statement: str


class PoolContext(NamedTuple):
    """Which kinds of pools can place data on OSDs of a device class."""

    #: Of those whose clients write metadata: `RBD`, `RGW`, `CEPHFS_METADATA`.
    kinds: frozenset[str] = frozenset()
    #: Share of each kind in the client writes; None: unknown.
    shares: Optional[Mapping[str, Share]] = None
    #: Derived from ``shares``, once for all OSDs of a class.
    leading: Optional[Leading] = None


def pool_context(
    cluster_map: ClusterMap,
    device_class: str,
    pool_rates: Mapping[int, PoolRates],
    changes_per_s: float,
) -> PoolContext:
    """The kinds of pools that use ``device_class``, with their shares of the writes.

    ``changes_per_s``: writes and class calls of all OSDs of the class.
    """
    # A rule without a device class uses all of them.
    reaching = [
        pool
        for pool in cluster_map.pools
        if not pool.device_classes or device_class in pool.device_classes
    ]
    shares = _shares(reaching, pool_rates, changes_per_s)
    kinds = {kind for pool in reaching for kind in (RBD, RGW) if kind in pool.applications}
    if any(pool.cephfs_metadata for pool in reaching):
        kinds.add(CEPHFS_METADATA)
    return PoolContext(frozenset(kinds), shares, leading(shares) if shares else None)


def leading(shares: Mapping[str, Share]) -> Leading:
    """The kind with the most writes; ``shares`` is not empty."""
    ordered = sorted(
        ((name, share.changes) for name, share in shares.items()), key=itemgetter(1), reverse=True
    )
    kind, share = ordered[0]
    parts = ', '.join(
        f'{100 * value:.0f}% {_NAMES[name]}' for name, value in ordered if value > 0.005
    )
    return Leading(kind, share, f'Writes to the pools of the device class: {parts}.')


def _shares(
    pools: Iterable[PoolInfo], rates: Mapping[int, PoolRates], changes_per_s: float
) -> Optional[Mapping[str, Share]]:
    writes: dict[str, float] = {}
    written: dict[str, float] = {}
    for pool in pools:
        kind, seen = _kind(pool), rates.get(pool.pool_id)
        if kind is not None and seen is not None:
            writes[kind] = writes.get(kind, 0.0) + seen.writes_per_s
            written[kind] = written.get(kind, 0.0) + seen.write_bytes_per_s
    # An MDS sets the backtrace of each file, an xattr, in the data pool.
    if written.get(CEPHFS_DATA, 0.0) < MIN_DATA_BYTES * writes.get(CEPHFS_DATA, 0.0):
        writes[CEPHFS_METADATA] = writes.get(CEPHFS_METADATA, 0.0) + writes.pop(CEPHFS_DATA)
    # Pool statistics count the parts of an operation: one for RBD and CephFS, about five for RGW's
    # class calls. So RGW gets the OSDs' operations less those of the other pools.
    if RGW in writes:
        others = sum(value for kind, value in writes.items() if kind != RGW)
        writes[RGW] = min(writes[RGW], max(0.0, changes_per_s - others))
    total, total_bytes = sum(writes.values()), sum(written.values())
    # Pool statistics lag behind the OSDs' counters, so they are incomplete at first.
    if not total or total < MIN_COVERED_SHARE * changes_per_s:
        return None
    return {
        kind: Share(value / total, written.get(kind, 0.0) / total_bytes if total_bytes else 0.0)
        for kind, value in writes.items()
    }


def _kind(pool: PoolInfo) -> Optional[str]:
    """None: the mgr's own."""
    if pool.cephfs_metadata:
        return CEPHFS_METADATA
    for application, kind in (('cephfs', CEPHFS_DATA), ('rgw', RGW), ('rbd', RBD)):
        if application in pool.applications:
            return kind
    if pool.applications and set(pool.applications) <= _OWN_APPLICATIONS:
        return None
    return OTHER
