"""Conditions of builds that no option fixes, and of devices: DB, WAL, column families."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Optional

from ...observe.trend import Outlook
from ...options.releases import announced_release
from ...options.syntax import columns
from ...options.wal import DEFAULT_FAMILIES, Wal, full_bytes, wal_of
from ...units import format_bytes, natural
from ..facts import release_of_osd, with_wal_room
from ..records import FindingEvidence, OsdFacts, Severity
from ..strings import check
from ..whatif.situation import column_families
from .declaration import At, Case, case, each_osd, effective_options, writes_metadata

_DAY_S = 86400.0


@each_osd('unoptimised-build')
def unoptimised_build(osd: OsdFacts, at: At) -> Iterator[Case]:
    """Debian and Ubuntu packages with RocksDB built without optimization."""
    version = osd.info.version
    fixed = fixed_in(at['fixed'], numbers_of(version))
    affected = fixed is not None and numbers_of(version) < numbers_of(fixed)
    if affected and osd.info.distribution in at['distributions']:
        yield case(group=version, version=version, fixed=fixed)


@each_osd('deferred-write-regression', 'misaligned-wal')
def between(osd: OsdFacts, at: At) -> Iterator[Case]:
    """Point releases with a known bug."""
    (since,), (fixed,) = at['since'], at['fixed']
    affected = numbers_of(since) <= numbers_of(osd.info.version) < numbers_of(fixed)
    if affected and (osd.info.main_rotational or 'rotational' not in at):
        yield case(FindingEvidence('fixed_in', fixed, 'version'))


@each_osd('unknown-release')
def unknown_release(osd: OsdFacts, _at: At) -> Iterator[Case]:
    """Most likely newer than the module; without metadata the release may be a known one."""
    version = osd.info.version
    if version is None or release_of_osd(osd.info) is not None:
        return
    announced = announced_release(version)
    evidence = [FindingEvidence('ceph_version', version, 'version')]
    if announced is not None:
        evidence += [
            FindingEvidence('rocksdb_version', announced.rocksdb_version, 'published'),
            FindingEvidence('bluestore_rocksdb_options', announced.options, 'published'),
        ]
    variant, label = ('announced', announced.label) if announced else ('unknown', None)
    yield case(*evidence, group=version, variant=variant, version=version, label=label)


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


@each_osd('spillover', 'level-does-not-fit')
def spillover(osd: OsdFacts, at: At) -> Iterator[Case]:
    """Despite free space, too: RocksDB places each level on one device."""
    signals = osd.signals
    if signals is None or not osd.info.dedicated_db or not signals.slow_used_bytes:
        return
    severity = None
    if 'used_share' not in at:
        # From one flash device to another it costs little.
        flash = osd.info.main_rotational is False
        severity = Severity.INFO if flash else Severity.WARNING
    elif (_used_share(osd) or 0.0) >= at['used_share'] or _used_share(osd) is None:
        return
    # RocksDB needs room to compact.
    used = signals.slow_used_bytes + (signals.db_used_bytes or 0)
    size = f'{math.ceil(used / 0.7 / (1 << 30))}G'
    yield case(rank=signals.slow_used_bytes, size=size, severity=severity)


def _used_share(osd: OsdFacts) -> Optional[float]:
    signals = osd.signals
    if signals is None or signals.db_used_bytes is None or not signals.db_total_bytes:
        return None
    return signals.db_used_bytes / signals.db_total_bytes


@each_osd('db-device-small')
def db_device_small(osd: OsdFacts, at: At) -> Iterator[Case]:
    info = osd.info
    advised = at['share_rgw'] if writes_metadata(osd) else at['share_other']
    if info.dedicated_db and info.db_device_bytes and info.main_device_bytes:
        share = info.db_device_bytes / info.main_device_bytes
        if share < advised:
            yield case(group=advised, rank=-share, share=f'{advised:.0%}')


@each_osd('db-device-nearly-full')
def db_device_nearly_full(osd: OsdFacts, at: At) -> Iterator[Case]:
    """Without spillover so far."""
    share = _used_share(osd) if osd.info.dedicated_db else None
    spilled = osd.signals is not None and osd.signals.slow_used_bytes
    if share is not None and share >= at['used_share'] and not spilled:
        yield case(rank=share)


@each_osd('db-device-filling')
def db_device_filling(osd: OsdFacts, at: At) -> Iterator[Case]:
    """There is no forecast for an OSD without current signals."""
    forecast = osd.forecast
    if forecast is None or osd.signals is None or forecast.outlook is not Outlook.FILLING:
        return
    if forecast.full_in_s is not None and forecast.full_in_s <= at['horizon_s']:
        yield case(
            rank=-forecast.full_in_s,
            days=f'{forecast.full_in_s / _DAY_S:.1f}',
            history=f'{forecast.history_s / _DAY_S:.0f}',
        )


@each_osd('metadata-fills-device')
def metadata_fills_device(osd: OsdFacts, at: At) -> Iterator[Case]:
    """The DB takes most of a device that it shares with the data."""
    used = osd.signals.db_used_bytes if osd.signals else None
    size = osd.info.main_device_bytes if osd.info.dedicated_db is False else None
    if used is not None and size and used >= max(at['least_bytes'], at['used_share'] * size):
        yield case(rank=used / size)


# Called for every OSD at every tick, with a handful of strings.
@lru_cache(maxsize=64)
def _wal(text: str, version: str, families: int) -> Optional[Wal]:
    checked = check(text, version)
    if not checked.accepted:
        return None
    return wal_of(checked.effective, families * full_bytes(checked.effective), families)


@each_osd('wal-device-small')
def wal_device_small(osd: OsdFacts, _at: At) -> Iterator[Case]:
    """A dedicated WAL device that is smaller than the possible size of the WAL."""
    info, release, options = with_wal_room(osd).info, release_of_osd(osd.info), osd.options
    size = info.db_device_bytes if info.dedicated_db else None
    size = info.wal_device_bytes if info.dedicated_wal else size
    if not size or release is None or options is None:
        return
    families = 1 if osd.sharded is False else DEFAULT_FAMILIES
    log = _wal(options.running, release.rocksdb_version, families)
    if log is not None and not log.fits(size):
        fits = str(log.limit_that_fits(size) or 'none fits')
        if families == 1:
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
    made, seen = numbers_of(osd.info.created_version), osd.signals
    used = seen.db_used_bytes + (seen.slow_used_bytes or 0) if seen and seen.db_used_bytes else 0
    if not used or used < at['least_bytes'] or not made or made >= numbers_of(at['since'][0]):
        return
    if effective_options(osd).get('compression') == 'kLZ4Compression':
        after = format_bytes(used * at['packed'])
        yield case(rank=used, used=format_bytes(used), after=after)


@each_osd('large-min-alloc-size')
def large_min_alloc_size(osd: OsdFacts, at: At) -> Iterator[Case]:
    size = osd.info.min_alloc_size_bytes
    if size is not None and size > at['expected_bytes']:
        yield case(group=size, size=size // 1024)


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
        made_by = osd.info.created_version
        running = osd.options.running if osd.options else None
        yield case(
            FindingEvidence('ceph_version_when_created', made_by, 'version'),
            FindingEvidence('column families', known.definition, 'definition'),
            FindingEvidence('default of the release', release.default_cfs, 'definition'),
            group=(known.definition, release, made_by, running),
            made_by=made_by or 'another release',
            sharding=release.default_cfs,
        )
