"""Conditions of what OSDs do: found beyond their thresholds, silent where nothing is known."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from rocksdb_tuner.advise.facts import COMPACT_ON_DELETION, settings_in_force
from rocksdb_tuner.advise.limit import CPU, DISK_FLUSH, SYNC, finding_of
from rocksdb_tuner.advise.records import (
    GroupFacts,
    Limit,
    Resource,
    Setting,
)
from rocksdb_tuner.mgr.records import ConfigEntry, RunningOption
from rocksdb_tuner.observe.details import AlertingOsd
from rocksdb_tuner.workload.records import WorkloadClass

from ...fake_cluster import DEFAULTS
from ..builders import osd_info
from .builders import GIB, found, seen

RGW = WorkloadClass.RGW_METADATA


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


# -- devices


REEF_SHARDING = (
    'm(3) p(3,0-12) O(3,0-13)=block_cache={type=binned_lru} '
    'L=min_write_buffer_number_to_merge=32 P=min_write_buffer_number_to_merge=32'
)


def made_by(
    version: Optional[str], release: str = 'reef', sharded: Optional[bool] = True, **info: Any
) -> Any:
    known = {'created_version': version, **info}
    return seen(release=release, options=DEFAULTS[release], info=known, more={'sharded': sharded})


@pytest.mark.parametrize(
    'osd',
    [
        made_by('18.2.7'),
        # The definition did not change between these.
        made_by('18.2.0'),
        made_by('16.2.15', 'pacific'),
        made_by(None),
        made_by('15.2.17'),
        made_by('16.2.15', sharded=False),
        made_by('16.2.15', sharded=None),
        # It reports itself that it was resharded.
        made_by('16.2.15', sharding=REEF_SHARDING),
        made_by('16.2.15', sharding='not a definition ('),
    ],
)
def test_reshard_is_offered_only_for_a_known_change(osd: Any) -> None:
    assert 'outdated-sharding' not in found(osd)


@pytest.mark.parametrize(('used_gib', 'small'), [(30, False), (299, True)])
def test_wal_that_continues_on_a_roomy_db_device_is_not_small(used_gib: int, small: bool) -> None:
    """BlueFS puts what outgrows the WAL device there, which costs nothing."""
    info = {
        'dedicated_db': True,
        'db_device_bytes': 300 * GIB,
        'dedicated_wal': True,
        'wal_device_bytes': GIB,
    }
    osd = seen(info=info, db_total_bytes=300 * GIB, db_used_bytes=used_gib * GIB)
    assert ('wal-device-small' in found(osd)) is small


def test_finding_names_a_recommendation_only_where_there_is_one() -> None:
    osd = seen(0, options='max_total_wal_size=0,write_buffer_size=256M')
    texts = [found(osd, advised=ids)['unlimited-wal'] for ids in ({0}, {1})]
    assert [f.commands for f in texts] == [
        ('ceph rocksdb-tuner recommend',),
        ('ceph rocksdb-tuner recommend --all',),
    ]
    assert 'says why no change is recommended' in texts[1].remedy
