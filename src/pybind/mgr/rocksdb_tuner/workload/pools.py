"""What the pools of a cluster say about who can be at work on a device class, and who is."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Mapping, NamedTuple, Optional

from ..mgr.records import ClusterMap, PoolInfo
from ..observe.pool_rates import PoolRates

RBD = 'rbd'
RGW = 'rgw'
CEPHFS_METADATA = 'cephfs_metadata'
CEPHFS_DATA = 'cephfs_data'
#: Pools of other applications, and of none; not the manager's own.
OTHER = 'other'
_NAMES = {
    RBD: "of RBD's",
    RGW: "of the object gateway's",
    CEPHFS_METADATA: "of CephFS's metadata",
    CEPHFS_DATA: "of CephFS's data",
    OTHER: "of other applications'",
}
#: Of the changes that OSDs count, the share that the pools' statistics must tell of.
MIN_TOLD_SHARE = 0.5
#: Writes to a pool of a file system's data with fewer bytes than this on average carry none.
MIN_DATA_BYTES = 512.0

#: Pools of the manager's modules (device health, their stores): nobody's clients.
_OWN_APPLICATIONS = frozenset({'mgr', 'mgr_devicehealth'})


class Share(NamedTuple):
    """Of one kind of pools, 0..1: in the changes, and in the bytes that they write."""

    changes: float
    write_bytes: float


class Leading(NamedTuple):
    """The kind of pools with the most changes, its share of them, and what all have in words."""

    kind: str
    share: float
    statement: str


class PoolContext(NamedTuple):
    """Which kinds of pools can place data on OSDs of a device class."""

    rbd: bool
    rgw: bool
    cephfs_metadata: bool
    #: What each kind has of the changes that clients make; None where that is not known.
    shares: Optional[Mapping[str, Share]] = None
    #: Follows from ``shares``; here, for it is the same for each OSD of a class.
    leading: Optional[Leading] = None


def pool_context(
    cluster_map: ClusterMap,
    device_class: str,
    pool_rates: Mapping[int, PoolRates],
    changes_per_s: float,
) -> PoolContext:
    """The kinds of pools that reach ``device_class``, and what each does of the changes.

    ``changes_per_s`` are the operations that write of all OSDs of the class.
    """
    reaching = [pool for pool in cluster_map.pools if _reaches(pool, device_class)]
    shares = _shares(reaching, pool_rates, changes_per_s)
    return PoolContext(
        rbd=any('rbd' in pool.applications for pool in reaching),
        rgw=any('rgw' in pool.applications for pool in reaching),
        cephfs_metadata=any(pool.cephfs_metadata for pool in reaching),
        shares=shares,
        leading=leading(shares) if shares else None,
    )


def leading(shares: Mapping[str, Share]) -> Leading:
    """Which kind of at least one makes most of the changes."""
    ordered = sorted(
        ((name, share.changes) for name, share in shares.items()), key=itemgetter(1), reverse=True
    )
    kind, share = ordered[0]
    parts = ', '.join(
        f'{100 * value:.0f}% {_NAMES[name]}' for name, value in ordered if value > 0.005
    )
    return Leading(kind, share, f'By their pools the changes on the device class are {parts}.')


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
    # For each file a metadata server sets its backtrace, an attribute, in the pool of the data.
    if written.get(CEPHFS_DATA, 0.0) < MIN_DATA_BYTES * writes.get(CEPHFS_DATA, 0.0):
        writes[CEPHFS_METADATA] = writes.get(CEPHFS_METADATA, 0.0) + writes.pop(CEPHFS_DATA)
    # A pool's statistics count the parts of an operation. Those of block devices and file systems
    # have one; those of a gateway, which calls classes that set keys, have some five. What the
    # others leave of the OSDs' operations is the gateway's.
    if RGW in writes:
        others = sum(value for kind, value in writes.items() if kind != RGW)
        writes[RGW] = min(writes[RGW], max(0.0, changes_per_s - others))
    total, total_bytes = sum(writes.values()), sum(written.values())
    # Statistics of pools lag behind the counters of OSDs: at a begin they tell nothing yet.
    if not total or total < MIN_TOLD_SHARE * changes_per_s:
        return None
    return {
        kind: Share(value / total, written.get(kind, 0.0) / total_bytes if total_bytes else 0.0)
        for kind, value in writes.items()
    }


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
