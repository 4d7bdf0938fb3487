"""Conditions of builds that no option fixes, and of devices: DB, WAL, column families."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Optional

from ...observe.trend import Outlook
from ...options.releases import announced_release
from ...options.sharding import columns
from ...options.wal import DEFAULT_FAMILIES, Wal, full_bytes, wal_of
from ...units import format_bytes, natural
from ..facts import release_of_osd, with_wal_room
from ..records import FindingEvidence, OsdFacts, Severity
from ..strings import check
from ..whatif.overrides import column_families
from .declaration import At, Case, case, each_osd, merged, of_cluster
from .facts import METADATA_WORK, ClusterFacts, effective_options, readings


@each_osd('unoptimised-build')
def unoptimised_build(osd: OsdFacts, at: At) -> Iterator[Case]:
    """Debian and Ubuntu packages with RocksDB built without optimization."""
    version = numbers_of(osd.info.version)
    fixed = fixed_in(at['fixed'], version)
    if osd.info.distribution in at['distributions'] and fixed and version < numbers_of(fixed):
        evidence = FindingEvidence('ceph_version', osd.info.version, 'version')
        yield case(evidence, group=osd.info.version, version=osd.info.version, fixed=fixed)


def _between(osd: OsdFacts, at: At) -> Iterator[Case]:
    """Point releases with a known bug."""
    (since,), (fixed,) = at['since'], at['fixed']
    affected = numbers_of(since) <= numbers_of(osd.info.version) < numbers_of(fixed)
    if affected and (osd.info.main_rotational or 'rotational' not in at):
        yield case(FindingEvidence('fixed_in', fixed, 'version'))


deferred_write_regression = each_osd('deferred-write-regression')(_between)
misaligned_wal = each_osd('misaligned-wal')(_between)


@each_osd('unknown-release')
def unknown_release(osd: OsdFacts, _at: At) -> Iterator[Case]:
    """Most likely newer than the module."""
    version = osd.info.version
    # Without metadata the release may be a known one.
    if version is None or release_of_osd(osd.info) is not None:
        return
    evidence = [FindingEvidence('ceph_version', version, 'version')]
    announced = announced_release(version)
    if announced is not None:
        evidence += [
            FindingEvidence('rocksdb_version', announced.rocksdb_version, 'published'),
            FindingEvidence('bluestore_rocksdb_options', announced.options, 'published'),
        ]
    yield case(
        *evidence,
        group=version,
        variant='announced' if announced else 'unknown',
        version=version,
        label=announced.label if announced else None,
    )


def fixed_in(releases: Sequence[str], version: tuple[int, ...]) -> Optional[str]:
    """The one of ``releases`` with the major version of ``version``."""
    return next((text for text in releases if numbers_of(text)[:1] == version[:1]), None)


# Called for every OSD at every tick, with a handful of versions.
@lru_cache(maxsize=64)
def numbers_of(text: Optional[str]) -> tuple[int, ...]:
    """(16, 2, 15) for "16.2.15-1"; empty, and below all others, if it is no version."""
    numbers = (text or '').split('-')[0].split('.')
    found = tuple(natural(n) for n in numbers)
    return () if None in found else tuple(n for n in found if n is not None)


_DAY_S = 86400.0


def _spilled(osd: OsdFacts, _at: At) -> Iterator[Case]:
    signals = osd.signals
    if signals is not None and osd.info.dedicated_db and signals.slow_used_bytes:
        # From one flash device to another it costs little.
        flash = osd.info.main_rotational is False
        used = signals.slow_used_bytes + (signals.db_used_bytes or 0)
        yield case(
            *readings(signals, 'slow_used_bytes', 'db_used_bytes', 'db_total_bytes'),
            rank=signals.slow_used_bytes,
            # RocksDB needs room to compact.
            size=f'{math.ceil(used / 0.7 / (1 << 30))}G',
            severity=Severity.INFO if flash else Severity.WARNING,
        )


spillover = each_osd('spillover')(_spilled)


@of_cluster('level-does-not-fit')
def level_does_not_fit(cluster: ClusterFacts, at: At) -> Iterator[Case]:
    """Spillover despite free space: RocksDB places each level on one device."""
    found = (
        spilled._replace(osds=(osd.info.osd_id,), severity=None)
        for osd in cluster.osds
        for spilled in _spilled(osd, at)
        if (share := _db_used_share(osd)) is not None and share < at['used_share']
    )
    return merged(found)


def _db_used_share(osd: OsdFacts) -> Optional[float]:
    signals = osd.signals
    if signals is None or signals.db_used_bytes is None or not signals.db_total_bytes:
        return None
    return signals.db_used_bytes / signals.db_total_bytes


@each_osd('db-device-small')
def db_device_small(osd: OsdFacts, at: At) -> Iterator[Case]:
    info = osd.info
    metadata = osd.workload is not None and osd.workload.workload_class in METADATA_WORK
    advised = at['share_rgw'] if metadata else at['share_other']
    if info.dedicated_db and info.db_device_bytes and info.main_device_bytes:
        share = info.db_device_bytes / info.main_device_bytes
        if share < advised:
            yield case(
                *readings(info, 'db_device_bytes', 'main_device_bytes'),
                group=advised,
                rank=-share,
                share=f'{advised:.0%}',
            )


@each_osd('db-device-nearly-full')
def db_device_nearly_full(osd: OsdFacts, at: At) -> Iterator[Case]:
    """Without spillover so far."""
    share, signals = _db_used_share(osd), osd.signals
    if share is None or signals is None or signals.slow_used_bytes or not osd.info.dedicated_db:
        return
    if share >= at['used_share']:
        yield case(*readings(signals, 'db_used_bytes', 'db_total_bytes'), rank=share)


@each_osd('db-device-filling')
def db_device_filling(osd: OsdFacts, at: At) -> Iterator[Case]:
    forecast, signals = osd.forecast, osd.signals
    # No forecast for an OSD without current signals.
    if forecast is None or signals is None or forecast.outlook is not Outlook.FILLING:
        return
    full_in_s, history_s = forecast.full_in_s, forecast.history_s
    if full_in_s is not None and full_in_s <= at['horizon_s']:
        yield case(
            FindingEvidence('full_in', full_in_s, 's', history_s),
            FindingEvidence('full_earliest', forecast.full_earliest_s, 's', history_s),
            FindingEvidence('full_latest', forecast.full_latest_s, 's', history_s),
            *readings(signals, 'db_used_bytes', 'db_total_bytes'),
            rank=-full_in_s,
            days=f'{full_in_s / _DAY_S:.1f}',
            history=f'{history_s / _DAY_S:.0f}',
        )


@each_osd('metadata-fills-device')
def metadata_fills_device(osd: OsdFacts, at: At) -> Iterator[Case]:
    """The DB takes most of a device that it shares with the data."""
    used = osd.signals.db_used_bytes if osd.signals else None
    size = osd.info.main_device_bytes if osd.info.dedicated_db is False else None
    if used is not None and size and used >= max(at['least_bytes'], at['used_share'] * size):
        yield case(
            FindingEvidence('db_used_bytes', used, 'bytes'),
            FindingEvidence('main_device_bytes', size, 'bytes'),
            rank=used / size,
        )


# Called for every OSD at every tick, with a handful of strings.
@lru_cache(maxsize=64)
def _wal(text: str, version: str, families: Optional[int]) -> Optional[Wal]:
    checked, families = check(text, version), families or DEFAULT_FAMILIES
    if not checked.accepted:
        return None
    return wal_of(checked.effective, families * full_bytes(checked.effective), families)


@each_osd('wal-device-small')
def wal_device_small(osd: OsdFacts, _at: At) -> Iterator[Case]:
    """A dedicated WAL device that is smaller than the possible size of the WAL."""
    info = with_wal_room(osd).info if osd.info.dedicated_wal else osd.info
    size = info.db_device_bytes if info.dedicated_db else None
    size = info.wal_device_bytes if info.dedicated_wal else size
    release, options = release_of_osd(osd.info), osd.options
    if not size or release is None or options is None:
        return
    log = _wal(options.running, release.rocksdb_version, 1 if osd.sharded is False else None)
    if log is not None and not log.fits(size):
        fits = str(log.limit_that_fits(size) or 'none fits')
        if osd.sharded is False:
            fits = 'none fits: with one column family the memtables are the limit'
        yield case(
            FindingEvidence('wal_device_bytes', size, 'bytes'),
            FindingEvidence('wal_limit_bytes', log.limit_bytes, 'bytes'),
            FindingEvidence('wal_files_bytes', int(log.device_bytes), 'bytes'),
            rank=-size,
            needs=format_bytes(log.device_bytes),
            fits=fits,
        )


@each_osd('uncompressed-old-data')
def uncompressed_old_data(osd: OsdFacts, at: At) -> Iterator[Case]:
    """Files from before LZ4 stay uncompressed until they are compacted."""
    made, used = numbers_of(osd.info.created_version), osd.signals and osd.signals.db_used_bytes
    if not made or made >= numbers_of(at['since'][0]) or (used or 0) < at['least_bytes']:
        return
    if used and (effective_options(osd) or {}).get('compression') == 'kLZ4Compression':
        yield case(
            FindingEvidence('ceph_version_when_created', osd.info.created_version, 'version'),
            FindingEvidence('db_used_bytes', used, 'bytes'),
            rank=used,
            used=format_bytes(used),
            after=format_bytes(used * at['packed']),
        )


@each_osd('large-min-alloc-size')
def large_min_alloc_size(osd: OsdFacts, at: At) -> Iterator[Case]:
    size = osd.info.min_alloc_size_bytes
    if size is not None and size > at['expected_bytes']:
        evidence = FindingEvidence('bluestore_min_alloc_size', size, 'bytes')
        yield case(evidence, group=size, size=size // 1024)


@each_osd('unsharded')
def unsharded(osd: OsdFacts, _at: At) -> Iterator[Case]:
    if osd.sharded is False:
        release = release_of_osd(osd.info)
        sharding = release.default_cfs if release else '<bluestore_rocksdb_cfs of the release>'
        evidence = FindingEvidence('sharding/def', 'not in BlueFS', 'file')
        yield case(evidence, group=sharding, sharding=sharding)


@each_osd('outdated-sharding')
def outdated_sharding(osd: OsdFacts, _at: At) -> Iterator[Case]:
    """Only OSDs that report their sharding definition are known to be resharded."""
    release, known = release_of_osd(osd.info), column_families(osd)
    if release is None or not known.definition or osd.sharded is not True:
        return
    if known.columns != columns(release.default_cfs):
        made_by, present = osd.info.created_version, release.default_cfs
        running = osd.options.running if osd.options else None
        yield case(
            FindingEvidence('ceph_version_when_created', made_by, 'version'),
            FindingEvidence('column families', known.definition, 'definition'),
            FindingEvidence('default of the release', present, 'definition'),
            group=(known.definition, release, made_by, running),
            made_by=made_by or 'another release',
            sharding=present,
        )
