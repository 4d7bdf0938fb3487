"""Conditions of shared and WAL devices."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Mapping

from ...options.memtables import DEFAULT_FAMILIES, full_bytes
from ...options.wal import Wal, wal_of
from ...units import format_bytes
from ..naming import name_osds
from ..records import Finding, FindingEvidence, OsdFacts
from .declaration import Condition, condition
from .facts import ClusterFacts, Measured, effective_options, worst_of


@condition('metadata-fills-device')
def metadata_fills_device(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """The DB takes most of a device that it shares with the data."""
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


@condition('wal-device-small')
def wal_device_small(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """A dedicated WAL device that is smaller than the possible size of the WAL."""
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
        return 'none fits: with one column family the memtables are the limit'
    return str(log.limit_that_fits(device_bytes) or 'none fits')


def _wal_of(effective: Mapping[str, str], osd: OsdFacts) -> Wal:
    number = 1 if osd.sharded is False else DEFAULT_FAMILIES
    return wal_of(effective, number * full_bytes(effective), number)


def _wal(device_bytes: int, log: Wal) -> tuple[FindingEvidence, ...]:
    return (
        FindingEvidence('wal_device_bytes', device_bytes, 'bytes', None),
        FindingEvidence('wal_limit_bytes', log.limit_bytes, 'bytes', None),
        FindingEvidence('wal_files_bytes', int(log.device_bytes), 'bytes', None),
    )


@condition('large-min-alloc-size')
def large_min_alloc_size(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """An OSD with larger allocation units than the current default."""
    expected = condition.limit('expected_bytes', cluster.limits)
    by_size: dict[int, list[int]] = {}
    for osd in cluster.osds:
        size = osd.info.min_alloc_size_bytes
        if size is not None and size > expected:
            by_size.setdefault(size, []).append(osd.info.osd_id)
    for size, ids in by_size.items():
        yield condition.finding(
            f'{name_osds(ids)} allocate space in units of {size // 1024} KiB',
            tuple(ids),
            (FindingEvidence('bluestore_min_alloc_size', size, 'bytes', None),),
        )
