"""Conditions of the devices: where RocksDB's data lies, and how much room it has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Mapping, Optional

from ...observe.growth import Outlook
from ...workload.records import WorkloadClass
from ..facts import release_of_osd
from ..naming import name_osds
from ..records import Finding, FindingEvidence, OsdFacts, Severity
from ..strings import check
from .catalogue import Condition
from .facts import ClusterFacts, Measured, ids_of, worst_evidence, worst_first

#: Work that puts its weight on metadata.
METADATA_WORK = frozenset({WorkloadClass.RGW_METADATA, WorkloadClass.CEPHFS_METADATA})
_DAY_S = 86400.0


def spillover(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """RocksDB data on the slow device although the OSD has a DB device of its own."""
    spilled = _spilled(cluster)
    # From one flash device to another it costs little.
    flash = [m for m in spilled if m.osd.info.main_rotational is False]
    slow = [m for m in spilled if m.osd.info.main_rotational is not False]
    for measured, severity in ((slow, Severity.WARNING), (flash, Severity.INFO)):
        if not measured:
            continue
        found = worst_first(measured)
        signals = found[0].osd.signals
        assert signals is not None
        yield condition.finding(
            f'{name_osds(ids_of(found))} '
            + ('keeps' if len(found) == 1 else 'keep')
            + ' RocksDB data on the device of the data',
            ids_of(found),
            worst_evidence(
                found,
                FindingEvidence('slow_used_bytes', signals.slow_used_bytes, 'bytes', None),
                FindingEvidence('db_used_bytes', signals.db_used_bytes, 'bytes', None),
                FindingEvidence('db_total_bytes', signals.db_total_bytes, 'bytes', None),
            ),
            severity=severity,
        )


def _spilled(cluster: ClusterFacts) -> list[Measured]:
    return [
        Measured(osd.signals.slow_used_bytes, osd)
        for osd in cluster.osds
        if osd.signals is not None and osd.info.dedicated_db and osd.signals.slow_used_bytes
    ]


def level_does_not_fit(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Spillover with room on the DB device: RocksDB places a level on one device as a whole."""
    limit = condition.limit('used_share', cluster.limits)
    found = []
    for measured in _spilled(cluster):
        signals = measured.osd.signals
        assert signals is not None
        if signals.db_used_bytes is None or not signals.db_total_bytes:
            continue
        if signals.db_used_bytes < limit * signals.db_total_bytes:
            found.append(measured)
    if not found:
        return
    found = worst_first(found)
    worst = found[0].osd
    assert worst.signals is not None
    assert worst.signals.db_total_bytes is not None
    sizes = _level_sizes(worst)
    yield condition.finding(
        f'{name_osds(ids_of(found))}: RocksDB data spilled while the DB device has room; '
        + _what_does_not_fit(sizes, worst.signals.db_total_bytes),
        ids_of(found),
        worst_evidence(
            found,
            FindingEvidence('db_used_bytes', worst.signals.db_used_bytes, 'bytes', None),
            FindingEvidence('db_total_bytes', worst.signals.db_total_bytes, 'bytes', None),
            FindingEvidence('slow_used_bytes', worst.signals.slow_used_bytes, 'bytes', None),
            *(
                FindingEvidence(f'level_{number}', size, 'bytes', None)
                for number, size in enumerate(sizes or (), start=1)
            ),
        ),
    )


def _level_sizes(osd: OsdFacts) -> Optional[tuple[int, ...]]:
    """Target sizes from level 1 on, up to the first that does not fit; None if not known."""
    effective = _effective(osd)
    total = osd.signals.db_total_bytes if osd.signals else None
    if effective is None or not total:
        return None
    if effective.get('level_compaction_dynamic_level_bytes') == 'true':
        return None
    try:
        size = float(effective['max_bytes_for_level_base'])
        multiplier = float(effective['max_bytes_for_level_multiplier'])
        levels = int(effective['num_levels'])
    except (KeyError, ValueError):
        return None
    sizes: list[int] = []
    while len(sizes) < levels - 1:
        sizes.append(int(size))
        if sum(sizes) > total:
            break
        size *= multiplier
    return tuple(sizes)


def _what_does_not_fit(sizes: Optional[tuple[int, ...]], total_bytes: int) -> str:
    if sizes is None:
        return 'a level, or a WAL file, does not fit as a whole'
    fits = [n for n in range(1, len(sizes) + 1) if sum(sizes[:n]) <= total_bytes]
    if len(fits) == len(sizes):
        return 'all its levels would fit: it is being compacted, or was before the device grew'
    if not fits:
        return 'not even level 1 fits'
    return f'levels 1 to {fits[-1]} fit, level {fits[-1] + 1} does not'


def _effective(osd: OsdFacts) -> Optional[Mapping[str, str]]:

    release = release_of_osd(osd.info)
    if osd.options is None or release is None:
        return None
    checked = check(osd.options.running, release.rocksdb_version)
    return checked.effective if checked.accepted else None


def db_device_small(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A DB device below what the documentation advises for the size of the OSD."""
    for_metadata = condition.limit('share_rgw', cluster.limits)
    for_others = condition.limit('share_other', cluster.limits)
    by_share: dict[float, list[Measured]] = {}
    for osd in cluster.osds:
        info = osd.info
        if not info.dedicated_db or not info.db_device_bytes or not info.main_device_bytes:
            continue
        metadata = osd.workload is not None and osd.workload.workload_class in METADATA_WORK
        advised = for_metadata if metadata else for_others
        share = info.db_device_bytes / info.main_device_bytes
        if share < advised:
            by_share.setdefault(advised, []).append(Measured(-share, osd))
    for advised, measured in by_share.items():
        found = worst_first(measured)
        worst = found[0].osd.info
        yield condition.finding(
            f'the DB device of {name_osds(ids_of(found))} has less than {advised:.0%} of the '
            "data device's size",
            ids_of(found),
            worst_evidence(
                found,
                FindingEvidence('db_device_bytes', worst.db_device_bytes, 'bytes', None),
                FindingEvidence('main_device_bytes', worst.main_device_bytes, 'bytes', None),
            ),
        )


def db_device_nearly_full(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Little is left on the DB device, and nothing has spilled yet."""
    limit = condition.limit('used_share', cluster.limits)
    measured = []
    for osd in cluster.osds:
        signals = osd.signals
        if signals is None or not osd.info.dedicated_db or signals.slow_used_bytes:
            continue
        if signals.db_used_bytes is None or not signals.db_total_bytes:
            continue
        share = signals.db_used_bytes / signals.db_total_bytes
        if share >= limit:
            measured.append(Measured(share, osd))
    if measured:
        found = worst_first(measured)
        yield condition.finding(
            f'the DB device of {name_osds(ids_of(found))} is nearly full',
            ids_of(found),
            worst_evidence(found, *_db_use(found[0].osd)),
        )


def _db_use(osd: OsdFacts) -> tuple[FindingEvidence, ...]:
    signals = osd.signals
    assert signals is not None
    return (
        FindingEvidence('db_used_bytes', signals.db_used_bytes, 'bytes', None),
        FindingEvidence('db_total_bytes', signals.db_total_bytes, 'bytes', None),
    )


def db_device_filling(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """By its growth of a day, the DB device will be full within the horizon."""
    horizon_s = condition.limit('horizon_s', cluster.limits)
    measured = []
    for osd in cluster.osds:
        forecast = osd.forecast
        # An OSD that is not seen now is not forecast by what it did before.
        if forecast is None or osd.signals is None or forecast.outlook is not Outlook.FILLING:
            continue
        if forecast.full_in_s is not None and forecast.full_in_s <= horizon_s:
            measured.append(Measured(-forecast.full_in_s, osd))
    if measured:
        found = worst_first(measured)
        forecast = found[0].osd.forecast
        assert forecast is not None
        assert forecast.full_in_s is not None
        yield condition.finding(
            f'the DB device of {name_osds(ids_of(found))} will be full in '
            f'{forecast.full_in_s / _DAY_S:.1f} days, if it grows as in the last '
            f'{forecast.history_s / 3600:.0f} hours',
            ids_of(found),
            worst_evidence(
                found,
                FindingEvidence('full_in', forecast.full_in_s, 's', forecast.history_s),
                FindingEvidence('full_earliest', forecast.full_earliest_s, 's', forecast.history_s),
                FindingEvidence('full_latest', forecast.full_latest_s, 's', forecast.history_s),
                *_db_use(found[0].osd),
            ),
        )


def metadata_fills_device(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """On a device that DB and data share, the DB has most of it."""
    limit = condition.limit('used_share', cluster.limits)
    least_bytes = condition.limit('least_bytes', cluster.limits)
    measured = []
    for osd in cluster.osds:
        signals, size = osd.signals, osd.info.main_device_bytes
        if signals is None or osd.info.dedicated_db is not False or not size:
            continue
        used = signals.db_used_bytes
        if used is not None and used >= least_bytes and used >= limit * size:
            measured.append(Measured(used / size, osd))
    if measured:
        found = worst_first(measured)
        worst = found[0].osd
        assert worst.signals is not None
        yield condition.finding(
            f'{name_osds(ids_of(found))} mostly '
            + ('holds' if len(found) == 1 else 'hold')
            + ' metadata',
            ids_of(found),
            worst_evidence(
                found,
                FindingEvidence('db_used_bytes', worst.signals.db_used_bytes, 'bytes', None),
                FindingEvidence('main_device_bytes', worst.info.main_device_bytes, 'bytes', None),
            ),
        )


def wal_device_small(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """max_total_wal_size is more than the WAL device holds, or there is no such limit."""
    measured = []
    for osd in cluster.osds:
        info = osd.info
        size = info.wal_device_bytes
        if not info.dedicated_wal or not size:
            continue
        effective = _effective(osd)
        limit = int(effective.get('max_total_wal_size', '-1')) if effective is not None else -1
        if limit == 0 or limit > size:
            measured.append(Measured(-size, osd))
    if measured:
        found = worst_first(measured)
        worst = found[0].osd.info
        effective = _effective(found[0].osd) or {}
        yield condition.finding(
            f'the WAL of {name_osds(ids_of(found))} may grow beyond its device',
            ids_of(found),
            worst_evidence(
                found,
                FindingEvidence('wal_device_bytes', worst.wal_device_bytes, 'bytes', None),
                FindingEvidence(
                    'max_total_wal_size', int(effective['max_total_wal_size']), 'bytes', None
                ),
            ),
            fits=worst.wal_device_bytes,
        )


def large_min_alloc_size(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """An OSD made with larger allocation units than today's."""
    expected = condition.limit('expected_bytes', cluster.limits)
    by_size: dict[int, list[int]] = {}
    for osd in cluster.osds:
        size = osd.info.min_alloc_size_bytes
        if size is not None and size > expected:
            by_size.setdefault(size, []).append(osd.info.osd_id)
    for size, ids in by_size.items():
        yield condition.finding(
            f'{name_osds(ids)} allocate space in pieces of {size // 1024} KiB',
            tuple(ids),
            (FindingEvidence('bluestore_min_alloc_size', size, 'bytes', None),),
        )


def unsharded(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """RocksDB with the default column family only."""

    by_release: dict[str, list[int]] = {}
    for osd in cluster.osds:
        if osd.sharded is False:
            release = release_of_osd(osd.info)
            by_release.setdefault(release.default_cfs if release else '', []).append(
                osd.info.osd_id
            )
    for sharding, ids in by_release.items():
        yield condition.finding(
            f'the RocksDB of {name_osds(ids)} has no column families',
            tuple(ids),
            (FindingEvidence('sharding/def', 'not in BlueFS', 'file', None),),
            sharding=sharding or '<bluestore_rocksdb_cfs of the release>',
        )
