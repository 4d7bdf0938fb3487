"""Conditions of the devices: where RocksDB's data lies, and how much room it has."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Mapping, Optional

from ...lsm.columns import columns, options_of
from ...lsm.levels import MAX_LEVELS
from ...mgr.records import OsdInfo
from ...observe.growth import Forecast, Outlook
from ...observe.signals import Signals
from ...options.memtables import DEFAULT_FAMILIES, full_bytes
from ...options.releases import KnownRelease
from ...options.syntax import OptionSyntaxError, format, parse  # noqa: A004
from ...options.wal import Wal, wal_of
from ...units import format_bytes
from ..facts import release_of_osd
from ..naming import name_osds
from ..records import Finding, FindingEvidence, OsdFacts, Severity
from ..strings import check
from ..whatif.column_families import column_families
from ..whatif.level_sizes import level_sizes
from .catalogue import Condition
from .facts import ClusterFacts, Measured, effective_options, worst_of
from .subjects import METADATA_WORK

_DAY_S = 86400.0
#: The column family of PG logs, and of omap of PGs' own objects.
_PG_LOG = 'P'


def spillover(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """RocksDB data on the slow device although the OSD has a DB device of its own."""
    spilled = _spilled(cluster)
    # From one flash device to another it costs little.
    flash = [m for m in spilled if m.osd.info.main_rotational is False]
    slow = [m for m in spilled if m.osd.info.main_rotational is not False]
    for measured, severity in ((slow, Severity.WARNING), (flash, Severity.INFO)):
        worst = worst_of(measured)
        if worst:
            yield condition.finding(
                f'{worst.names} '
                + ('keeps' if len(worst.ids) == 1 else 'keep')
                + ' RocksDB data on the data device',
                worst.ids,
                worst.evidence,
                severity=severity,
            )


def _spilled(cluster: ClusterFacts) -> list[Measured]:
    measured = []
    for osd in cluster.osds:
        signals = osd.signals
        if signals is not None and osd.info.dedicated_db and signals.slow_used_bytes:
            evidence = partial(_spillover, signals)
            measured.append(Measured(signals.slow_used_bytes, osd, evidence))
    return measured


def _spillover(signals: Signals) -> tuple[FindingEvidence, ...]:
    slow = FindingEvidence('slow_used_bytes', signals.slow_used_bytes, 'bytes', None)
    return (slow, *_db_use(signals))


def level_does_not_fit(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Spillover with room on the DB device: RocksDB places a level on one device as a whole."""
    limit = condition.limit('used_share', cluster.limits)
    measured = []
    for spilled in _spilled(cluster):
        signals = spilled.osd.signals
        if signals is None or signals.db_used_bytes is None or not signals.db_total_bytes:
            continue
        if signals.db_used_bytes < limit * signals.db_total_bytes:
            measured.append(spilled)
    worst = worst_of(measured)
    total = worst.osd.signals.db_total_bytes if worst and worst.osd.signals else None
    if worst and total:
        proposal = level_sizes(worst.osd)
        sizes = _level_sizes(worst.osd, total)
        yield condition.finding(
            f'{worst.names}: RocksDB data spilled while the DB device has room; '
            + _what_does_not_fit(sizes, total),
            worst.ids,
            (
                *worst.evidence,
                *(
                    FindingEvidence(f'level_{number}', size, 'bytes', None)
                    for number, size in enumerate(sizes or (), start=1)
                ),
                *proposal.evidence,
            ),
            proposal=proposal.remedy,
        )


def _level_sizes(osd: OsdFacts, total: int) -> Optional[tuple[int, ...]]:
    """Target sizes from level 1 on, up to the first that does not fit; None if not known."""
    effective = effective_options(osd)
    if effective is None:
        return None
    if effective.get('level_compaction_dynamic_level_bytes') == 'true':
        return None
    try:
        size = float(effective['max_bytes_for_level_base'])
        multiplier = float(effective['max_bytes_for_level_multiplier'])
        levels = int(effective['num_levels'])
    except (KeyError, ValueError):
        return None
    if not math.isfinite(multiplier):
        return None
    sizes: list[int] = []
    left = total
    while len(sizes) < min(levels, MAX_LEVELS) - 1:
        sizes.append(int(size))
        left -= sizes[-1]
        if left < 0:
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
            by_share.setdefault(advised, []).append(Measured(-share, osd, partial(_sizes, info)))
    for advised, measured in by_share.items():
        worst = worst_of(measured)
        if worst:
            yield condition.finding(
                f"the DB device of {worst.names} has less than {advised:.0%} of the data device's "
                'size',
                worst.ids,
                worst.evidence,
            )


def _sizes(info: OsdInfo) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('db_device_bytes', info.db_device_bytes, 'bytes', None),
        FindingEvidence('main_device_bytes', info.main_device_bytes, 'bytes', None),
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
            measured.append(Measured(share, osd, partial(_db_use, signals)))
    worst = worst_of(measured)
    if worst:
        yield condition.finding(
            f'the DB device of {worst.names} is nearly full', worst.ids, worst.evidence
        )


def _db_use(signals: Signals) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('db_used_bytes', signals.db_used_bytes, 'bytes', None),
        FindingEvidence('db_total_bytes', signals.db_total_bytes, 'bytes', None),
    )


def db_device_filling(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """By its growth of a day, the DB device will be full within the horizon."""
    horizon_s = condition.limit('horizon_s', cluster.limits)
    measured = []
    for osd in cluster.osds:
        forecast, signals = osd.forecast, osd.signals
        # An OSD that is not seen now is not forecast by what it did before.
        if forecast is None or signals is None or forecast.outlook is not Outlook.FILLING:
            continue
        if forecast.full_in_s is not None and forecast.full_in_s <= horizon_s:
            evidence = partial(_growth, forecast, signals)
            measured.append(Measured(-forecast.full_in_s, osd, evidence))
    worst = worst_of(measured)
    forecast = worst.osd.forecast if worst else None
    if worst and forecast and forecast.full_in_s is not None:
        yield condition.finding(
            f'the DB device of {worst.names} will be full in '
            f'{forecast.full_in_s / _DAY_S:.1f} days, if it grows as in the last '
            f'{forecast.history_s / 3600:.0f} hours',
            worst.ids,
            worst.evidence,
        )


def _growth(forecast: Forecast, signals: Signals) -> tuple[FindingEvidence, ...]:
    history_s = forecast.history_s
    return (
        FindingEvidence('full_in', forecast.full_in_s, 's', history_s),
        FindingEvidence('full_earliest', forecast.full_earliest_s, 's', history_s),
        FindingEvidence('full_latest', forecast.full_latest_s, 's', history_s),
        *_db_use(signals),
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
            measured.append(Measured(used / size, osd, partial(_metadata, used, size)))
    worst = worst_of(measured)
    if worst:
        yield condition.finding(
            f'{worst.names} mostly ' + ('holds' if len(worst.ids) == 1 else 'hold') + ' metadata',
            worst.ids,
            worst.evidence,
        )


def _metadata(used_bytes: int, device_bytes: int) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('db_used_bytes', used_bytes, 'bytes', None),
        FindingEvidence('main_device_bytes', device_bytes, 'bytes', None),
    )


def wal_device_small(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """The files of the WAL may take more than the device that holds them, and nothing else."""
    measured = []
    for osd in cluster.osds:
        info = osd.info
        size = info.wal_device_bytes if info.dedicated_wal else None
        if not info.dedicated_wal and info.dedicated_db:
            size = info.db_device_bytes
        effective = effective_options(osd)
        if effective is None or not size:
            continue
        log = _wal_of(effective, osd)
        if not log.fits(size):
            measured.append(Measured(-size, osd, partial(_wal, size, log)))
    worst = worst_of(measured)
    if worst:
        info = worst.osd.info
        size = (info.wal_device_bytes if info.dedicated_wal else info.db_device_bytes) or 0
        log = _wal_of(effective_options(worst.osd) or {}, worst.osd)
        yield condition.finding(
            f'the WAL of {worst.names} may grow beyond its device',
            worst.ids,
            worst.evidence,
            needs=format_bytes(log.device_bytes),
            fits=_limit_that_fits(log, size, worst.osd),
        )


def _limit_that_fits(log: Wal, device_bytes: int, osd: OsdFacts) -> str:
    if osd.sharded is False:
        return 'none does: with one column family the memtables are the limit'
    return str(log.limit_that_fits(device_bytes) or 'no limit does')


def _wal_of(effective: Mapping[str, str], osd: OsdFacts) -> Wal:
    number = 1 if osd.sharded is False else DEFAULT_FAMILIES
    return wal_of(effective, number * full_bytes(effective), number)


def _wal(device_bytes: int, log: Wal) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('wal_device_bytes', device_bytes, 'bytes', None),
        FindingEvidence('wal_limit_bytes', log.limit_bytes, 'bytes', None),
        FindingEvidence('wal_files_bytes', int(log.device_bytes), 'bytes', None),
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


def outdated_sharding(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Column families of the release that made the OSD, which the present one would make otherwise.

    An OSD that was resharded since is known as such only where it reports its definition.
    """
    alike: dict[tuple[str, KnownRelease, Optional[str], Optional[str]], list[int]] = {}
    for osd in cluster.osds:
        release, known = release_of_osd(osd.info), column_families(osd)
        if release is None or not known.definition or osd.sharded is not True:
            continue
        if known.columns != columns(release.default_cfs):
            key = (
                known.definition,
                release,
                osd.info.created_version,
                osd.options.running if osd.options else None,
            )
            alike.setdefault(key, []).append(osd.info.osd_id)
    for (definition, release, made_by, running), ids in alike.items():
        present, version = release.default_cfs, release.rocksdb_version
        yield condition.finding(
            f'{name_osds(ids)} have column families as {made_by or "another release"} made them',
            tuple(ids),
            (
                FindingEvidence('ceph_version_when_created', made_by, 'version', None),
                FindingEvidence('column families', definition, 'definition', None),
                FindingEvidence('default of the release', present, 'definition', None),
                FindingEvidence(
                    'flush of P', _flush_of(definition, running, version), 'bytes', None
                ),
                FindingEvidence(
                    'flush of P then', _flush_of(present, running, version), 'bytes', None
                ),
            ),
            sharding=present,
        )


def _flush_of(definition: str, running: Optional[str], rocksdb_version: str) -> Optional[int]:
    """Memtables of the PG log that are flushed together; None where that is not known."""
    found = [column for column in columns(definition) if column.name == _PG_LOG]
    if running is None or not found:
        return None
    try:
        checked = check(format(options_of(found[0], parse(running))), rocksdb_version)
    except OptionSyntaxError:
        return None
    values = checked.effective
    names = ('write_buffer_size', 'min_write_buffer_number_to_merge')
    if not checked.accepted:
        return None
    return math.prod(int(values[name]) for name in names)
