"""Conditions of what OSDs do: found beyond their thresholds, silent where nothing is known."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from rocksdb_tuner.advise.facts import COMPACT_ON_DELETION, settings_in_force
from rocksdb_tuner.advise.limit import CPU, DISK_FLUSH, SYNC, finding_of
from rocksdb_tuner.advise.records import (
    GroupFacts,
    Limit,
    OsdFacts,
    Resource,
    Setting,
    Severity,
)
from rocksdb_tuner.mgr.records import ConfigEntry, RunningOption
from rocksdb_tuner.observe.deep import RocksdbTimes
from rocksdb_tuner.observe.details import AlertingOsd, Details
from rocksdb_tuner.workload.records import WorkloadClass

from ...fake_cluster import DEFAULTS
from ..builders import osd_info
from .builders import GIB, found, seen

RGW = WorkloadClass.RGW_METADATA
MIB = 1 << 20


@pytest.mark.parametrize(
    ('does', 'options', 'fires'),
    [
        (RGW, None, True),
        (WorkloadClass.CEPHFS_METADATA, None, True),
        (WorkloadClass.RBD_SMALL_WRITE, None, False),
        (None, None, False),
        (RGW, 'compression=kLZ4Compression', False),
        # RocksDB's own default is Snappy.
        (RGW, 'max_total_wal_size=1GB', False),
    ],
)
def test_uncompressed_metadata_is_informational(
    does: Optional[WorkloadClass], options: Optional[str], fires: bool
) -> None:
    names = found(seen(does=does, options=options, db_used_bytes=5 * GIB))
    assert ('uncompressed-metadata' in names) is fires
    if fires:
        assert names['uncompressed-metadata'].severity is Severity.INFO


def set_to(**values: str) -> dict[str, Any]:
    return {'settings': {name: Setting(value, 'osd') for name, value in values.items()}}


@pytest.mark.parametrize(
    ('release', 'more', 'fires'),
    [
        ('pacific', set_to(), True),
        ('pacific', set_to(rocksdb_cf_compact_on_deletion='true'), False),
        ('reef', set_to(), False),
        ('reef', set_to(rocksdb_cf_compact_on_deletion='false'), True),
        # Nothing is reported before the OSD was queried.
        ('pacific', {}, False),
    ],
)
def test_deletes_without_compaction_are_informational(
    release: str, more: dict[str, Any], fires: bool
) -> None:
    default = DEFAULTS[release]
    assert (
        'compact-on-deletion-off' in found(seen(0, release, default, does=RGW, more=more))
    ) is fires
    assert 'compact-on-deletion-off' not in found(seen(0, release, default, more=more))


def test_disabled_buffered_io_is_reported() -> None:
    finding = found(seen(more=set_to(bluefs_buffered_io='false')))['buffered-io-off']
    assert finding.commands == ('ceph config rm osd bluefs_buffered_io',)
    assert 'buffered-io-off' not in found(seen(more=set_to(bluefs_buffered_io='true')))
    assert 'buffered-io-off' not in found(seen(more=set_to()))
    assert 'buffered-io-off' not in found(seen())


@pytest.mark.parametrize(
    ('entries', 'running', 'expected'),
    [
        ((), {}, None),
        ((('osd', 'false'),), {}, Setting('false', 'osd')),
        # Masks reach a running OSD, and a host beats a class.
        ((('osd/class:ssd', 'false'),), {}, Setting('false', 'osd/class:ssd')),
        (
            (('osd/class:ssd', 'true'), ('osd/host:node0', 'false'), ('osd', 'true')),
            {},
            Setting('false', 'osd/host:node0'),
        ),
        (
            (('osd.0', 'true'), ('osd/host:node0', 'false')),
            {},
            Setting('true', 'osd.0'),
        ),
        ((('osd/class:hdd', 'false'), ('osd.1', 'false')), {}, None),
        # The entry was removed since the OSD started.
        ((), {'bluefs_buffered_io': RunningOption('false', 'mon', False)}, None),
        (
            (('osd', 'true'),),
            {'bluefs_buffered_io': RunningOption('false', 'file', True)},
            Setting('false', None),
        ),
    ],
)
def test_last_setting_is_in_effect(
    entries: tuple[tuple[str, str], ...],
    running: dict[str, RunningOption],
    expected: Optional[Setting],
) -> None:
    stored = [ConfigEntry(who, 'bluefs_buffered_io', value) for who, value in entries]
    in_force = settings_in_force(osd_info(0), stored, running)
    assert in_force.get('bluefs_buffered_io') == expected


@pytest.mark.parametrize(
    ('busy', 'size', 'fires'),
    [
        (0.9, 4096.0, True),
        (0.89, 4096.0, False),
        (0.99, 16384.0, True),
        (0.99, 16385.0, False),
        (None, 4096.0, False),
        (0.99, None, False),
    ],
)
def test_small_writes_bound_by_one_thread_are_informational(
    busy: Optional[float], size: Optional[float], fires: bool
) -> None:
    names = found(seen(kv_sync_busy=busy, write_bytes_avg=size, write_iops=900.0))
    assert ('kv-sync-bound' in names) is fires


def looked_at(
    seek_ms: Optional[float], seeks: Optional[int], rotational: Optional[bool] = False
) -> OsdFacts:
    details = Details(0.0, None, seek_ms, seeks, None, None)
    return seen(info={'db_rotational': rotational}, more={'details': details})


@pytest.mark.parametrize(
    ('osd', 'fires'),
    [
        (looked_at(20.0, 10), True),
        (looked_at(19.9, 10), False),
        (looked_at(20.0, 9), False),
        (looked_at(20.0, 10, None), True),
        (looked_at(49.0, 10, True), False),
        # As on Pacific after mass deletion.
        (looked_at(60.0, 10, True), True),
        (looked_at(None, None), False),
        (seen(), False),
    ],
)
def test_slow_iterators_are_reported(osd: OsdFacts, fires: bool) -> None:
    names = found(osd)
    assert ('slow-iterators' in names) is fires
    if fires:
        assert names['slow-iterators'].commands == ('ceph tell osd.0 compact',)


def compacting(osd_id: int, sst_mib: Optional[float], wal_mib: Optional[float] = 1.0) -> OsdFacts:
    return seen(
        osd_id,
        sst_bytes_per_s=None if sst_mib is None else sst_mib * MIB,
        wal_bytes_per_s=None if wal_mib is None else wal_mib * MIB,
    )


@pytest.mark.parametrize(
    ('osds', 'fires'),
    [
        ([compacting(i, 32) for i in range(3)] + [compacting(i, 0) for i in range(3, 6)], True),
        ([compacting(i, 32) for i in range(3)] + [compacting(i, 0) for i in range(3, 7)], False),
        ([compacting(i, 32) for i in range(2)], False),
        ([compacting(i, 31.9) for i in range(6)], False),
        # Clients write that much.
        ([compacting(i, 100, 20) for i in range(6)], False),
        ([compacting(i, 100, None) for i in range(6)], False),
        ([compacting(i, None) for i in range(6)], False),
    ],
)
def test_simultaneous_compactions_are_reported(osds: list[OsdFacts], fires: bool) -> None:
    assert ('compaction-storm' in found(*osds)) is fires


@pytest.mark.parametrize(('share', 'fires'), [(0.01, True), (0.0099, False), (None, False)])
def test_rocksdb_stalls_are_reported(share: Optional[float], fires: bool) -> None:
    times = RocksdbTimes(300.0, share, None, None)
    assert ('write-stalls' in found(seen(more={'rocksdb_times': times}))) is fires
    assert 'write-stalls' not in found(seen())


@pytest.mark.parametrize(
    ('rotational', 'sync_ms', 'fires'),
    [(False, 5.0, True), (False, 4.9, False), (True, 50.0, False), (None, 50.0, False)],
)
def test_slow_syncs_of_flash_are_informational(
    rotational: Optional[bool], sync_ms: float, fires: bool
) -> None:
    names = found(seen(info={'db_rotational': rotational}, kv_sync_ms=sync_ms))
    assert ('slow-sync' in names) is fires


@pytest.mark.parametrize(
    ('code', 'condition_id'),
    [
        ('BLUESTORE_SLOW_OP_ALERT', 'slow-op-alert'),
        ('BLUESTORE_NO_PER_POOL_OMAP', 'legacy-omap'),
        ('BLUESTORE_NO_PER_PG_OMAP', 'legacy-omap'),
        ('LARGE_OMAP_OBJECTS', 'large-omap-objects'),
    ],
)
def test_alert_raised_by_ceph_is_explained(code: str, condition_id: str) -> None:
    assert set(found(seen(), health_codes=frozenset({code, 'OSD_DOWN'}))) == {condition_id}
    assert found(seen(), health_codes=frozenset({'OSD_DOWN'})) == {}


@pytest.mark.parametrize(
    ('alerting', 'reported'),
    [
        (
            {1: AlertingOsd(90.0, 5.0), 2: AlertingOsd(3600.0, 601.0)},
            '{1} slow within the last 10m; {2} latched, {none}; {1}, {2} share nvme0n1 of a',
        ),
        (
            {1: AlertingOsd(6e2, None), 2: AlertingOsd(601.0, None), 3: AlertingOsd(None, None)},
            '{2} latched, {none}; {1}, {3} not watched for 10m; {1}, {2} share nvme0n1 of a',
        ),
        ({3: AlertingOsd(9e4, 600.0)}, '{3} slow within the last 10m'),
        (
            {4: AlertingOsd(9e4, 600.0), 5: AlertingOsd(9e4, 1.0)},
            'osd.4, osd.5 slow within the last 10m',
        ),
    ],
)
def test_alert_for_slow_operations_is_explained_by_osd(
    alerting: dict[int, AlertingOsd], reported: str
) -> None:
    """Whether it is live, since it stays for a day, and which device the OSDs share."""
    osds = (
        seen(1, info={'host': 'a', 'devices': ('sda', 'nvme0n1')}),
        seen(2, info={'host': 'a', 'devices': ('sdb', 'nvme0n1')}),
        seen(3, info={'host': 'b', 'devices': ('sda', 'nvme0n1')}),
        seen(4, info={'host': None, 'devices': ('sda',)}),
        seen(5, info={'host': None, 'devices': ('sda',)}),
        # On the same device, but without an alert.
        seen(6, info={'host': 'b', 'devices': ('nvme0n1',)}),
    )
    codes = frozenset({'BLUESTORE_SLOW_OP_ALERT'})
    finding = found(*osds, health_codes=codes, alerting=alerting)['slow-op-alert']
    names = (f'osd.{n}' for n in range(6))
    reported = reported.format(*names, none='without a slow operation within the last 10m')
    assert finding.summary == f'Ceph warns of slow operations in BlueStore: {reported}'
    assert set(finding.osds) == set(alerting)
    assert 'BLUESTORE_SLOW_OP_ALERT 1d' in finding.remedy


def indexing(
    osd_id: int, mib_per_s: Optional[float], busy: Optional[float] = 0.9, does: Any = RGW
) -> OsdFacts:
    rate = None if mib_per_s is None else mib_per_s * 2**20
    # On a release that needs no advice of its own for such clients.
    return seen(osd_id, 'reef', DEFAULTS['reef'], does, wal_bytes_per_s=rate, kv_sync_busy=busy)


@pytest.mark.parametrize(
    ('osds', 'hot'),
    [
        ([indexing(0, 40), *(indexing(i, 10) for i in range(1, 5))], (0,)),
        ([indexing(0, 39.9), *(indexing(i, 10) for i in range(1, 5))], ()),
        ([indexing(0, 80), indexing(1, 50), *(indexing(i, 10) for i in range(2, 7))], (0, 1)),
        ([indexing(0, 40, 0.5), *(indexing(i, 10) for i in range(1, 5))], (0,)),
        # No client waits for it.
        ([indexing(0, 40, 0.49), *(indexing(i, 10) for i in range(1, 5))], ()),
        ([indexing(0, 40, None), *(indexing(i, 10) for i in range(1, 5))], ()),
        # Too few for a typical value.
        ([indexing(0, 40), indexing(1, 10), indexing(2, 10)], ()),
        ([indexing(0, 40), *(indexing(i, 0) for i in range(1, 5))], ()),
        ([indexing(0, 40), *(indexing(i, None) for i in range(1, 5))], ()),
        # Data, not metadata.
        (
            [
                indexing(i, 40 if i == 0 else 10, does=WorkloadClass.RBD_SMALL_WRITE)
                for i in range(5)
            ],
            (),
        ),
    ],
)
def test_osd_with_the_busiest_index_shard_is_named(
    osds: list[OsdFacts], hot: tuple[int, ...]
) -> None:
    finding = found(*osds).get('hot-index-shard')
    assert (() if finding is None else finding.osds) == hot
    if finding is not None:
        assert finding.severity is Severity.INFO


@pytest.mark.parametrize(
    ('version', 'release', 'sharded', 'first'),
    [
        ('16.2.13', 'pacific', True, '16.2.14'),
        ('16.2.14', 'pacific', True, None),
        ('17.2.6', 'quincy', True, '17.2.7'),
        ('17.2.7', 'quincy', True, None),
        ('16.2.15', 'pacific', False, 'reshard'),
        ('17.2.7', 'quincy', False, '17.2.8'),
        ('17.2.8', 'quincy', False, None),
        ('18.2.4', 'reef', False, '18.2.5'),
        ('18.2.7', 'reef', False, None),
        ('20.2.4', 'tentacle', False, None),
    ],
)
def test_compaction_on_deletion_requires_a_release_that_supports_it_database_wide(
    version: str, release: str, sharded: bool, first: Optional[str]
) -> None:
    off = {COMPACT_ON_DELETION: Setting('false', 'osd')}
    osd = seen(
        0,
        release,
        does=RGW,
        info={'version': version},
        more={'settings': off, 'sharded': sharded},
    )
    remedy = found(osd)['compact-on-deletion-off'].remedy
    command = 'ceph config set osd rocksdb_cf_compact_on_deletion true'
    assert command in remedy
    assert remedy.startswith(command) is (first is None)
    assert first is None or first in remedy


@pytest.mark.parametrize(
    ('resource', 'part', 'name'),
    [
        (Resource.DATA_DEVICE, DISK_FLUSH, 'slow-flush'),
        (Resource.DB_DEVICE, SYNC, 'slow-sync'),
        (Resource.CORES, None, 'few-cores'),
        (Resource.KV_SYNC, CPU, None),
    ],
)
def test_what_limits_clients_outside_the_options_has_a_finding(
    resource: Resource, part: Optional[str], name: Optional[str]
) -> None:
    """`findings` has the commands that a decision refers to."""
    osd, limit = seen(0, kv_sync_ms=2.0), Limit(resource, 0.8, (), part)
    names = found(osd, groups=(GroupFacts('ssd', None, (osd,), limit),))
    assert ({'slow-flush', 'slow-sync', 'few-cores'} & set(names)) == ({name} - {None})
    assert finding_of(limit) == name
