"""Conditions of shared and WAL devices."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Mapping

from ...options.memtables import DEFAULT_FAMILIES, full_bytes
from ...options.wal import Wal, wal_of
from ...units import format_bytes
from ..naming import name_osds
from ..records import Finding, FindingEvidence, OsdFacts, Severity
from .declaration import Condition, HealthPolicy, Threshold, condition
from .facts import ClusterFacts, Measured, effective_options, worst_of
from .subjects import Figure, Reaches


@condition(
    'metadata-fills-device',
    title='Metadata takes up most of an OSD',
    severity=Severity.WARNING,
    needs=Reaches(Figure.DB_USED_BYTES, 'least_bytes'),
    thresholds={
        'used_share': Threshold(
            0.5,
            'share of the device',
            'metadata is the main use of the device',
            source='chosen: the reported RGW index OSDs held metadata almost exclusively',
        ),
        'least_bytes': Threshold(
            10737418240,
            'bytes',
            'RocksDB preallocates less than this, or has not compacted it yet',
            source='chosen: ten times max_total_wal_size',
        ),
    },
    remedy=(
        'Spread the pool with omap data (RGW index, CephFS metadata) over more OSDs and placement '
        'groups, and shard large buckets. LZ4 reduces the space ("ceph rocksdb-tuner recommend").'
    ),
    commands=('ceph osd df',),
    do_not='Do not wait for the full ratio: it does not stop BlueFS.',
    stops_osds=False,
    source=(
        'ceph-devel, April 2023, How to control omap capacity: OSDs of an index pool reached '
        '99.9% while the pool looked empty'
    ),
    health=HealthPolicy('hold mostly metadata', raise_after_s=600, clear_after_s=600),
    tests=('tests/advise/conditions/test_device.py',),
)
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


@condition(
    'wal-device-small',
    title='The WAL may outgrow its device',
    severity=Severity.WARNING,
    remedy=(
        'Give the WAL at least {needs}, the maximum size of its files, or lower '
        'max_total_wal_size to a limit that fits with the running memtables ({fits}); smaller '
        'memtables allow more. The excess goes to the DB device or the slow device.'
    ),
    source=(
        'ceph/ceph#35277; bluestore_block_wal_size is 96 MiB by default, max_total_wal_size 1 '
        'GiB; "ceph rocksdb-tuner model" shows the size of the files'
    ),
    health=HealthPolicy(
        'have a WAL that may outgrow its device', raise_after_s=300, clear_after_s=60
    ),
    tests=('tests/advise/conditions/test_device.py',),
)
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


@condition(
    'large-min-alloc-size',
    title='The allocation unit is larger than the current default',
    severity=Severity.INFO,
    thresholds={
        'expected_bytes': Threshold(
            4096,
            'bytes',
            'the unit of OSDs created since Pacific',
            source='options of 16.2.15, 18.2.7 and 20.2.4',
        ),
    },
    remedy='Redeploy the OSDs, one failure domain at a time. Nothing else changes it.',
    do_not='Do not set bluestore_min_alloc_size for existing OSDs: they do not read it.',
    source=(
        'bluestore_min_alloc_size_hdd and _ssd are 4096 since Pacific, and fixed when an OSD is '
        'created'
    ),
    tests=(
        'tests/advise/conditions/test_device.py',
        'qa/tests/integration/test_conditions.py',
    ),
)
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
