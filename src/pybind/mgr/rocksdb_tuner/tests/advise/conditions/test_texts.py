"""The texts of each condition: every word, figure and command."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Optional

import pytest

from rocksdb_tuner.advise.conditions import ClusterFacts, findings
from rocksdb_tuner.advise.conditions.declaration import conditions
from rocksdb_tuner.advise.limit import DISK_FLUSH, SYNC
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.records import (
    Finding,
    GroupFacts,
    Limit,
    OsdFacts,
    Resource,
    Setting,
)
from rocksdb_tuner.mgr.records import ConfigEntry
from rocksdb_tuner.observe.deep import RocksdbTimes
from rocksdb_tuner.observe.details import AlertingOsd, Details, WriteLatency
from rocksdb_tuner.observe.starts import LastStart
from rocksdb_tuner.observe.trend import Forecast, Outlook
from rocksdb_tuner.workload.records import Evidence, WorkloadClass

from ...fake_cluster import DEFAULTS
from ..builders import PACIFIC, entry, facts, osd_info, workload
from ..golden_texts import kept, write
from .builders import GIB, seen

RECORDED_TEXTS = Path(__file__).parent / 'data/findings.txt'
MIB = 1 << 20
DAY_S = 86400.0
RGW, CEPHFS = WorkloadClass.RGW_METADATA, WorkloadClass.CEPHFS_METADATA
RBD = WorkloadClass.RBD_SMALL_WRITE
REEF = DEFAULTS['reef']
LZ4 = 'compression=kLZ4Compression'
ALTERNATE = profile('alternate-2019').options
VARIANT_D = profile('variant-2022-d').options
UNJUDGED = PACIFIC + ',block_based_table_factory={block_cache=1M}'
#: Short names of long strings in these texts.
NAMED = {'Pacific': PACIFIC, 'Reef': REEF, 'of 2019': ALTERNATE, 'variant D': VARIANT_D}


@dataclass(frozen=True)
class Scenario:
    #: Ids of the conditions that it is about.
    about: str
    title: str
    osds: tuple[OsdFacts, ...]
    entries: tuple[ConfigEntry, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


def with_db(osd_id: int, info: Optional[dict[str, Any]] = None, **changes: Any) -> OsdFacts:
    """On a DB device of 100 GiB with data of 4000 GiB, half used."""
    known = {'dedicated_db': True, 'db_device_bytes': 100 * GIB, 'main_device_bytes': 4000 * GIB}
    values = {'db_used_bytes': 50 * GIB, 'db_total_bytes': 100 * GIB, 'slow_used_bytes': 0}
    return seen(osd_id, info={**known, **(info or {})}, **{**values, **changes})


def on(osd_id: int, text: str, who: str = 'osd', release: str = 'pacific', **more: Any) -> OsdFacts:
    """Runs what an entry sets."""
    info = more.pop('info', {})
    osd = facts(osd_info(osd_id, release, **info), text, 'mon', (entry(who, text),))
    return osd._replace(**more)


def filling(osd_id: int, days: float, hours: float = 24.0) -> OsdFacts:
    expected = Forecast(
        Outlook.FILLING, 0.0, hours * 3600, 49, 1.0, 0.5, 2.0, days * DAY_S, DAY_S, 9 * DAY_S
    )
    return with_db(osd_id, more={'forecast': expected})


def seeking(
    osd_id: int, seek_ms: float, seeks: int = 10, window_s: Optional[float] = None, **info: Any
) -> OsdFacts:
    latency = None if window_s is None else WriteLatency(window_s)
    details = Details(0.0, latency, seek_ms, seeks, None, None)
    return seen(osd_id, info=info, more={'details': details})


def settings(**values: tuple[str, Optional[str]]) -> dict[str, Any]:
    return {'settings': {name: Setting(*value) for name, value in values.items()}}


def memory(target: int, mapped: Optional[int] = None) -> Details:
    return Details(0.0, None, None, None, mapped, target)


def limited(about: str, title: str, limit: Limit, *osds: OsdFacts) -> Scenario:
    return Scenario(about, title, osds, more={'groups': (GroupFacts('ssd', None, osds, limit),)})


def flushing(osd_id: int, dedicated_db: bool = False, rgw: bool = False) -> OsdFacts:
    info = {'dedicated_db': dedicated_db, 'main_device_bytes': 4000 * GIB}
    found = seen(osd_id, info=info, kv_sync_ms=8.2, kv_flush_ms=7.9 - osd_id)
    return found._replace(workload=workload(RGW) if rgw else None)


def missing(
    osd_id: int,
    hits: Optional[int] = 10,
    misses: Optional[int] = 9000,
    mapped: Optional[int] = 4 * GIB,
    target: Optional[int] = 4 * GIB,
    fallbacks: Optional[int] = 3,
) -> OsdFacts:
    """Its caches miss, as far as that is known of it."""
    details = Details(
        0.0, None, None, None, mapped, target, hits, misses, fallbacks, 0.75, window_s=80.0
    )
    times = RocksdbTimes(300.0, None, None, None, hits, misses)
    return seen(osd_id, more={'details': details, 'rocksdb_times': times})


ONE_FAMILY = 'write_buffer_size=64M,max_write_buffer_number=16,max_total_wal_size=64M'
WAITS = entry('osd', LZ4)

SCENARIOS = (
    # -- devices
    Scenario(
        'spillover',
        'one OSD that spilled',
        (with_db(3, slow_used_bytes=GIB, db_used_bytes=90 * GIB),),
    ),
    Scenario(
        'spillover',
        'OSDs that spilled, to slow devices, to flash, and to what is not known',
        (
            with_db(0, slow_used_bytes=2 * GIB, db_used_bytes=90 * GIB),
            with_db(1, {'main_rotational': False}, slow_used_bytes=5 * GIB, db_used_bytes=91 * GIB),
            with_db(2, {'main_rotational': True}, slow_used_bytes=9 * GIB, db_used_bytes=92 * GIB),
            with_db(4, {'dedicated_db': False}, slow_used_bytes=GIB, db_used_bytes=90 * GIB),
        ),
    ),
    Scenario(
        'uncompressed-old-data',
        'data of older releases under LZ4',
        tuple(
            seen(n, 'reef', REEF, info={'created_version': made_by}, db_used_bytes=used)
            for n, (made_by, used) in enumerate(
                [
                    ('16.2.15', 40 * GIB),
                    ('18.2.2', GIB),
                    ('18.2.2', GIB - 1),
                    ('18.2.4', 40 * GIB),
                    (None, 40 * GIB),
                ]
            )
        ),
    ),
    Scenario(
        'level-does-not-fit',
        'levels that do not fit, of one OSD the worst',
        (
            with_db(0, slow_used_bytes=GIB, db_used_bytes=10 * GIB),
            with_db(1, slow_used_bytes=56 * GIB, db_used_bytes=69 * GIB),
            with_db(2, slow_used_bytes=90 * GIB, db_used_bytes=70 * GIB),
            with_db(3, slow_used_bytes=GIB, db_used_bytes=None),
            with_db(5, slow_used_bytes=GIB, db_total_bytes=0),
            with_db(6, slow_used_bytes=GIB)._replace(signals=None),
            with_db(7, slow_used_bytes=None),
            with_db(8, slow_used_bytes=GIB, db_total_bytes=None),
        ),
    ),
    Scenario(
        'db-device-small',
        'small DB devices, for metadata and for other work',
        (
            with_db(0, {'db_device_bytes': 39 * GIB}),
            with_db(1, {'db_device_bytes': 20 * GIB}),
            with_db(2, {'db_device_bytes': 40 * GIB}),
            with_db(3, {'db_device_bytes': 100 * GIB}, does=RGW),
            with_db(4, {'db_device_bytes': 159 * GIB}, does=CEPHFS),
            with_db(5, {'db_device_bytes': 160 * GIB}, does=RGW),
            with_db(6, {'db_device_bytes': 30 * GIB}, does=RBD),
            with_db(7, {'db_device_bytes': 1, 'main_device_bytes': 0}),
            with_db(8, {'db_device_bytes': 1, 'main_device_bytes': None}),
            with_db(9, {'db_device_bytes': 1, 'dedicated_db': False}),
        ),
    ),
    Scenario(
        'db-device-nearly-full',
        'DB devices that are nearly full',
        (
            with_db(0, db_used_bytes=85 * GIB),
            with_db(1, db_used_bytes=95 * GIB),
            with_db(2, db_used_bytes=84 * GIB),
            with_db(3, {'dedicated_db': False}, db_used_bytes=99 * GIB),
            with_db(4, db_used_bytes=99 * GIB, db_total_bytes=0),
            with_db(5)._replace(signals=None),
        ),
    ),
    Scenario('db-device-filling', 'a DB device that fills', (filling(4, 3.25, 36.0),)),
    Scenario(
        'db-device-filling',
        'DB devices that fill',
        (
            filling(0, 14.0),
            filling(1, 2.0),
            filling(2, 14.01),
            filling(3, 1.0)._replace(signals=None),
            with_db(4),
            with_db(5, more={'forecast': Forecast(Outlook.SPILLED, 0.0, DAY_S, 9, full_in_s=1.0)}),
            with_db(6, more={'forecast': Forecast(Outlook.FILLING, 0.0, DAY_S, 9)}),
        ),
    ),
    Scenario(
        'metadata-fills-device',
        'an OSD that holds metadata',
        (seen(7, info={'main_device_bytes': 20 * GIB}, db_used_bytes=10 * GIB),),
    ),
    Scenario(
        'metadata-fills-device',
        'OSDs that hold metadata',
        (
            seen(0, info={'main_device_bytes': 20 * GIB}, db_used_bytes=10 * GIB),
            seen(1, info={'main_device_bytes': 20 * GIB}, db_used_bytes=15 * GIB),
            seen(2, info={'main_device_bytes': 20 * GIB}, db_used_bytes=10 * GIB - 1),
            seen(3, info={'main_device_bytes': 0}, db_used_bytes=10 * GIB),
            seen(4, info={'main_device_bytes': 20 * GIB, 'dedicated_db': None}, db_used_bytes=GIB),
            with_db(5, {'main_device_bytes': 60 * GIB, 'db_device_bytes': 60 * GIB}),
            seen(6, info={'main_device_bytes': 40 * GIB}, db_used_bytes=25 * GIB),
            seen(7, info={'main_device_bytes': 10 * GIB}, db_used_bytes=9 * GIB),
            seen(8, info={'main_device_bytes': 90 * GIB}, db_used_bytes=44 * GIB),
            seen(9, info={'main_device_bytes': 90 * GIB}),
            seen(10, info={'main_device_bytes': 90 * GIB})._replace(signals=None),
            seen(11, info={'main_device_bytes': None}, db_used_bytes=44 * GIB),
        ),
    ),
    Scenario(
        'wal-device-small',
        'WAL devices that are too small',
        (
            seen(0, info={'dedicated_wal': True, 'wal_device_bytes': GIB - 1}),
            seen(1, info={'dedicated_wal': True, 'wal_device_bytes': GIB // 2}),
            seen(2, info={'dedicated_wal': True, 'wal_device_bytes': GIB}),
            seen(3, info={'dedicated_wal': False, 'wal_device_bytes': 1}),
            seen(4, 'zebra', info={'dedicated_wal': True, 'wal_device_bytes': 1}),
            seen(5, info={'dedicated_wal': True, 'wal_device_bytes': 0}),
        ),
    ),
    Scenario(
        'wal-device-small',
        'a WAL device that no limit fits',
        (seen(0, info={'dedicated_wal': True, 'wal_device_bytes': 64 * MIB}),),
    ),
    Scenario(
        'wal-device-small',
        'WAL files on a DB device that has no room for them, or a WAL device beside it',
        (
            seen(0, info={'dedicated_db': True, 'db_device_bytes': GIB}),
            seen(1, info={'dedicated_db': True, 'db_device_bytes': None}),
            seen(2, info={'dedicated_db': False, 'db_device_bytes': GIB}),
            seen(
                3,
                info={
                    'dedicated_db': True,
                    'db_device_bytes': GIB,
                    'dedicated_wal': True,
                    'wal_device_bytes': 4 * GIB,
                },
            ),
            seen(
                4,
                info={
                    'dedicated_db': True,
                    'db_device_bytes': 4 * GIB,
                    'dedicated_wal': True,
                    'wal_device_bytes': GIB,
                },
            ),
        ),
    ),
    Scenario(
        'wal-device-small',
        'the WAL of one column family, which memtables bound and not its limit',
        (
            seen(
                0,
                options=ONE_FAMILY,
                info={'dedicated_wal': True, 'wal_device_bytes': GIB},
                more={'sharded': False},
            ),
            seen(
                1,
                options=ONE_FAMILY,
                info={'dedicated_wal': True, 'wal_device_bytes': GIB},
                more={'sharded': True},
            ),
        ),
    ),
    Scenario(
        'wal-device-small',
        'a WAL without a limit on a device of its own',
        (
            seen(
                6,
                options='write_buffer_size=67108864',
                info={'dedicated_wal': True, 'wal_device_bytes': 10 * GIB},
            ),
        ),
    ),
    Scenario(
        'large-min-alloc-size',
        'allocation units of two sizes',
        (
            seen(0, info={'min_alloc_size_bytes': 65536}),
            seen(1, info={'min_alloc_size_bytes': 16384}),
            seen(2, info={'min_alloc_size_bytes': 65536}),
            seen(3, info={'min_alloc_size_bytes': 4096}),
        ),
    ),
    Scenario(
        'unsharded',
        'OSDs without column families, of three releases',
        (
            seen(0, more={'sharded': False}),
            seen(1, more={'sharded': False}),
            seen(2, 'reef', REEF, more={'sharded': False}),
            seen(3, 'zebra', more={'sharded': False}),
            seen(4, more={'sharded': True}),
        ),
    ),
    # -- what OSDs do
    Scenario(
        'uncompressed-metadata',
        'metadata that nothing compresses',
        (
            seen(0, does=RGW, db_used_bytes=5 * GIB),
            seen(1, does=CEPHFS, db_used_bytes=7 * GIB),
            seen(2, does=RGW)._replace(signals=None),
            seen(3)._replace(workload=workload(RGW, 0.8)),
            seen(4)._replace(workload=workload(RGW, 0.79)),
            seen(5, 'zebra', does=RGW),
            seen(6, does=RBD),
            seen(7, does=RGW)._replace(options=None),
            seen(8, 'reef', REEF, does=RGW),
        ),
    ),
    Scenario(
        'compact-on-deletion-off',
        'deletes that nothing compacts',
        (
            seen(0, does=RGW, options=LZ4, more=settings()),
            seen(
                1,
                'reef',
                REEF,
                does=CEPHFS,
                more=settings(rocksdb_cf_compact_on_deletion=('false', 'osd')),
            ),
            seen(
                2,
                does=RGW,
                options=LZ4,
                more=settings(rocksdb_cf_compact_on_deletion=(' Yes ', 'osd')),
            ),
            seen(3, does=RGW, options=LZ4),
            seen(4, 'zebra', does=RGW, more=settings()),
            seen(5, does=RBD, options=LZ4, more=settings()),
            seen(6, 'reef', REEF, does=RGW, more=settings()),
        ),
    ),
    Scenario(
        'buffered-io-off',
        'reads around the page cache, by an entry and by a file',
        (
            seen(0, more=settings(bluefs_buffered_io=('false', 'osd/host:a'))),
            seen(1, more=settings(bluefs_buffered_io=('off', None))),
            seen(2, more=settings(bluefs_buffered_io=('0', 'osd/host:a'))),
            seen(3, more=settings(bluefs_buffered_io=('1', 'osd'))),
            seen(4, more=settings(bluefs_buffered_io=('on', 'osd'))),
        ),
    ),
    Scenario(
        'kv-sync-bound',
        'small writes behind one thread',
        (
            seen(0, kv_sync_busy=0.9, write_bytes_avg=16384.0, write_iops=900.0),
            seen(1, kv_sync_busy=0.95, write_bytes_avg=4096.0),
            seen(2, kv_sync_busy=0.99, write_bytes_avg=16385.0),
            seen(3, kv_sync_busy=0.89, write_bytes_avg=4096.0),
            seen(4, write_bytes_avg=4096.0),
            seen(5, kv_sync_busy=0.99),
            seen(6)._replace(signals=None),
        ),
    ),
    Scenario(
        'slow-iterators',
        'slow iterators on flash and on a disk',
        (
            seeking(0, 20.0),
            seeking(1, 99.0, db_rotational=True),
            seeking(2, 150.0, 12, db_rotational=True),
            seeking(3, 19.9),
            seeking(4, 999.0, 9),
            seen(5),
            seen(6, more={'details': Details(0.0, None, None, 99, None, None)}),
            seen(7, more={'details': Details(0.0, None, 99.0, None, None, None)}),
        ),
    ),
    Scenario(
        'compaction-storm',
        'two classes, of which one compacts at once',
        (
            *(seen(n, sst_bytes_per_s=(32 + n) * MIB, wal_bytes_per_s=2 * MIB) for n in range(3)),
            *(seen(n, sst_bytes_per_s=0.0, wal_bytes_per_s=0.0) for n in range(3, 6)),
            *(
                seen(
                    n, info={'device_class': 'hdd'}, sst_bytes_per_s=64.0 * MIB, wal_bytes_per_s=0.0
                )
                for n in range(6, 8)
            ),
            seen(8, info={'device_class': None}, sst_bytes_per_s=64.0 * MIB, wal_bytes_per_s=0.0),
            seen(9)._replace(signals=None),
            seen(10, sst_bytes_per_s=64.0 * MIB),
            *(
                seen(n, info={'device_class': None}, sst_bytes_per_s=2.0**30, wal_bytes_per_s=0.0)
                for n in range(12, 16)
            ),
            seen(11, wal_bytes_per_s=64.0 * MIB),
        ),
    ),
    Scenario(
        'compaction-storm',
        'half of many, and one less than half',
        (
            *(seen(n, sst_bytes_per_s=64.0 * MIB, wal_bytes_per_s=0.0) for n in range(4)),
            *(seen(n, sst_bytes_per_s=0.0, wal_bytes_per_s=0.0) for n in range(4, 8)),
            *(
                seen(n, info={'device_class': 'hdd'}, sst_bytes_per_s=rate, wal_bytes_per_s=0.0)
                for n, rate in enumerate([64.0 * MIB] * 4 + [0.0] * 5, 10)
            ),
        ),
    ),
    Scenario(
        'write-stalls',
        'stalls',
        (
            *(
                seen(n, more={'rocksdb_times': RocksdbTimes(300.0, share, None, None)})
                for n, share in enumerate((0.01, 0.25, 0.0099, None))
            ),
            seen(4),
        ),
    ),
    Scenario(
        'slow-sync',
        'commits that wait for flash',
        (
            seen(0, info={'db_rotational': False}, kv_sync_ms=5.0, kv_flush_ms=4.5),
            seen(1, info={'db_rotational': False}, kv_sync_ms=7.0),
            seen(2, info={'db_rotational': False}, kv_sync_ms=4.9),
            seen(3, info={'db_rotational': True}, kv_sync_ms=50.0),
            seen(4, info={'db_rotational': None}, kv_sync_ms=50.0),
            seen(5, info={'db_rotational': False}),
            seen(6, info={'db_rotational': False})._replace(signals=None),
        ),
    ),
    limited(
        'slow-sync',
        'flash that clients wait for',
        Limit(Resource.DB_DEVICE, 0.7, (), SYNC),
        seen(0, info={'devices': ('sda',)}, kv_sync_ms=2.5, kv_flush_ms=0.9),
        seen(1),
    ),
    limited(
        'slow-flush',
        'hard disks that clients wait for',
        Limit(Resource.DATA_DEVICE, 0.8, (), DISK_FLUSH),
        *(flushing(0), flushing(1), flushing(2, rgw=True), flushing(3, dedicated_db=True)),
        seen(4)._replace(signals=None),
    ),
    limited(
        'few-cores',
        'cores that clients wait for',
        Limit(Resource.CORES, 0.6, (Evidence('kv_sync_busy', 0.9, 'ratio', 30.0, ''),)),
        *(seen(1), seen(0)),
    ),
    Scenario(
        'slow-op-alert legacy-omap',
        "Ceph's own alerts",
        (seen(0),),
        more={
            'health_codes': frozenset(
                {
                    'BLUESTORE_SLOW_OP_ALERT',
                    'BLUESTORE_NO_PER_PG_OMAP',
                    'BLUESTORE_NO_PER_POOL_OMAP',
                }
            )
        },
    ),
    Scenario(
        'slow-op-alert',
        'a live alert and a latched one on one device',
        tuple(seen(n, info={'host': 'a', 'devices': ('nvme0n1',)}) for n in range(2)),
        more={
            'health_codes': frozenset({'BLUESTORE_SLOW_OP_ALERT'}),
            'alerting': {0: AlertingOsd(9e4, 8e4), 1: AlertingOsd(9e4, 30.0)},
        },
    ),
    # -- builds
    Scenario(
        'unoptimised-build',
        'packages built without optimization',
        (
            seen(0, info={'version': '16.2.11', 'distribution': 'debian'}),
            seen(1, info={'version': '16.2.11', 'distribution': 'ubuntu'}),
            seen(2, 'reef', info={'version': '18.2.1', 'distribution': 'ubuntu'}),
            seen(3, info={'version': '16.2.15', 'distribution': 'debian'}),
            seen(4, info={'version': '16.2.11', 'distribution': 'centos'}),
            seen(5, info={'version': '16.2.11', 'distribution': None}),
            seen(6, info={'version': None, 'distribution': 'debian'}),
            seen(7, info={'version': 'main', 'distribution': 'debian'}),
            seen(8, info={'version': '19.2.0', 'distribution': 'debian'}),
            seen(9, info={'version': '16.2.9-1~bpo', 'distribution': 'debian'}),
            seen(10, info={'version': '16.2.x', 'distribution': 'debian'}),
        ),
    ),
    Scenario(
        'deferred-write-regression misaligned-wal',
        'deferred writes',
        tuple(
            seen(n, info={'version': version, 'main_rotational': True})
            for n, version in enumerate(('16.2.0', '16.2.5', '16.2.6', '20.2.2', 'main', None))
        ),
    ),
    Scenario(
        'unknown-release',
        'releases that are not known',
        (
            seen(0, 'zebra'),
            seen(1, 'yak', info={'version': '98.1.0'}),
            seen(2, 'zebra'),
            seen(3, 'zebra', info={'version': None}),
        ),
    ),
    # -- option strings
    Scenario(
        'unstartable-options',
        'strings with which OSDs would not start, and did not',
        (
            facts(osd_info(0), entries=(entry('osd', 'foo=1'),)),
            facts(osd_info(1), entries=(entry('osd', 'foo=1'),)),
            facts(osd_info(2), entries=(entry('osd.2', 'bar=1'),)),
            facts(osd_info(3, up=False))._replace(options=None),
            facts(osd_info(4))._replace(options=None),
            facts(osd_info(5, 'zebra'), entries=(entry('osd', 'foo=1'),)),
            facts(osd_info(6), PACIFIC, 'file', (entry('osd', 'foo=1'),)),
            facts(osd_info(7), PACIFIC, 'mon', (entry('osd/rack:r1', 'foo=1'),)),
            facts(osd_info(8)),
            facts(osd_info(9, up=False))._replace(options=None),
        ),
        (entry('osd', 'foo=1'), entry('osd.2', 'bar=1')),
    ),
    Scenario(
        'unstartable-options',
        'an annex with which an OSD did not start',
        (facts(osd_info(3, up=False))._replace(options=None),),
        (entry('osd', LZ4), entry('osd', 'foo=1', 'bluestore_rocksdb_options_annex')),
    ),
    Scenario(
        'options-outside-config-store',
        'strings of ceph.conf and of other places, with and without an entry that they overrule',
        (
            facts(osd_info(2), LZ4, 'file', (entry('osd.2', PACIFIC),)),
            facts(osd_info(1), LZ4, 'file'),
            facts(osd_info(3), LZ4, 'cmdline'),
            facts(osd_info(4), LZ4, 'env'),
            facts(osd_info(5), LZ4, 'override'),
            facts(osd_info(6), LZ4, 'mon', (entry('osd.6', LZ4),)),
        ),
        (entry('osd.2', PACIFIC), entry('osd.6', LZ4)),
    ),
    Scenario(
        'options-outside-config-store',
        'an entry of which is unknown whether ceph.conf overrules it',
        (facts(osd_info(1), LZ4, 'file'),),
        (entry('osd/rack:r1', LZ4),),
    ),
    Scenario(
        'class-entry-without-effect',
        'entries for a device class',
        (
            facts(osd_info(0)),
            facts(osd_info(1, device_class='hdd')),
            facts(osd_info(2)),
        ),
        (
            entry('osd/class:ssd/host:node0', LZ4),
            entry('osd/host:node0/class:hdd', LZ4),
            entry('osd/class:ssd', '1', 'another_option'),
            entry('osd/class:nvme', LZ4),
        ),
    ),
    Scenario(
        'restart-pending',
        'restarts that are waited for, some for more than a day',
        (
            facts(osd_info(2), entries=(WAITS,)),
            facts(osd_info(1), entries=(WAITS,)),
            facts(osd_info(0), entries=(entry('osd.0', 'ttl=60'),)),
            facts(osd_info(3), entries=(WAITS,)),
            facts(osd_info(4)),
        ),
        (WAITS, entry('osd.0', 'ttl=60')),
        {'pending_s': {0: 86400.0, 1: 99999.0, 2: 60.0}},
    ),
    Scenario(
        'restart-pending',
        'restarts that are waited for since now, for many strings',
        tuple(facts(osd_info(n), entries=(entry('osd', f'ttl={9 - n}'),)) for n in range(7)),
    ),
    Scenario(
        'different-options',
        'OSDs of a class and a release that run different strings',
        (
            facts(osd_info(0)),
            facts(osd_info(1)),
            on(2, LZ4, 'osd.2'),
            on(3, LZ4, 'osd.3', info={'device_class': 'hdd'}),
            on(4, 'ttl=60', 'osd.4', info={'device_class': None}),
            on(6, 'ttl=61', 'osd.6', info={'device_class': None}),
            facts(osd_info(5, 'reef'), REEF),
        ),
    ),
    Scenario(
        'own-entry-shadows',
        'entries of single OSDs that hide others',
        (facts(osd_info(0)), facts(osd_info(1)), facts(osd_info(2, 'zebra'))),
        (
            entry('osd.1', LZ4),
            entry('osd/host:node1', 'ttl=61'),
            entry('osd', 'ttl=60'),
            entry('global', LZ4),
            entry('osd.1/host:node1', 'ttl=63'),
            entry('osd/host:node2', 'ttl=62'),
            entry('osd.2/class:ssd', LZ4),
            entry('osd.7', LZ4),
            entry('osd', '1', 'another_option'),
            entry('osd.0', '1', 'another_option'),
        ),
    ),
    Scenario(
        'redundant-override',
        'entries that equal the default',
        (
            on(0, PACIFIC, 'osd.0'),
            on(1, PACIFIC, 'osd.1'),
            on(2, LZ4, 'osd.2'),
            facts(
                osd_info(3), PACIFIC, 'mon', (entry('osd.3', PACIFIC),), annex='compression=kSnappy'
            ),
            on(4, PACIFIC, 'osd.4', 'zebra'),
        ),
        (
            entry('osd.0', PACIFIC),
            entry('osd.1', PACIFIC),
            entry('osd.2', LZ4),
            entry('osd.3', PACIFIC),
            entry('osd.4', PACIFIC),
            entry('osd.5', PACIFIC),
            entry('osd.0', '1', 'another_option'),
            entry('osd', '1', 'another_option'),
        ),
    ),
    Scenario(
        'redundant-override',
        'an entry that equals the default of one of two releases',
        (on(0, PACIFIC), on(1, PACIFIC, release='reef')),
        (entry('osd', PACIFIC),),
    ),
    Scenario(
        'superseded-options published-options unlimited-wal too-many-compactions',
        'published strings, one superseded',
        (
            on(3, ALTERNATE, 'osd.3'),
            on(1, ALTERNATE, 'osd.1'),
            on(0, VARIANT_D, 'osd.0'),
            on(2, VARIANT_D, 'osd.2', 'zebra'),
        ),
    ),
    Scenario(
        'dangerous-options',
        'what may lose data, by a file',
        (facts(osd_info(0), 'disableWAL=true,max_total_wal_size=1G', 'file'),),
    ),
    Scenario(
        'dangerous-options too-many-compactions unlimited-wal options-without-effect '
        'periodic-rewrites memtables-exceed-memory',
        'a string that runs though the catalogue does not know it',
        (
            on(
                0,
                'foo=1,disableWAL=true,max_background_jobs=32,ttl=60,write_buffer_size=4.5G,'
                'max_write_buffer_number=64',
                release='reef',
                details=memory(GIB),
            ),
        ),
    ),
    Scenario('dangerous-options', 'what may lose data', (on(0, PACIFIC + ',disableWAL=true'),)),
    Scenario(
        'too-many-compactions unlimited-wal',
        'compactions beyond the cores, and a WAL without a limit',
        (on(0, 'compression=kLZ4Compression,max_background_jobs=32', 'osd/host:node0'),),
    ),
    Scenario(
        'dangerous-options options-without-effect',
        'several values without effect',
        (
            on(
                0,
                'max_total_wal_size=1G,max_write_buffer_number=4,'
                'min_write_buffer_number_to_merge=16,write_buffer_size=4.5G',
            ),
        ),
    ),
    Scenario(
        'periodic-rewrites',
        'rewrites by the clock',
        (
            on(0, REEF + ',ttl=21600,periodic_compaction_seconds=86400', 'osd', 'reef'),
            on(1, REEF + ',ttl=2592000', 'osd', 'reef'),
            on(2, REEF + ',ttl=1', 'osd', 'reef'),
            on(3, REEF + ',ttl=60', 'osd', 'zebra'),
            on(4, REEF + ',ttl=60'),
        ),
    ),
    Scenario(
        'memtables-exceed-memory',
        'memtables beyond the memory of an OSD',
        (
            on(0, 'write_buffer_size=16M,max_write_buffer_number=64', details=memory(4 * GIB, GIB)),
            on(1, 'write_buffer_size=16M,max_write_buffer_number=64', details=memory(12 * GIB)),
            on(2, 'write_buffer_size=16M,max_write_buffer_number=64', details=memory(GIB)),
            on(
                3,
                'write_buffer_size=16M,max_write_buffer_number=64',
                details=memory(GIB),
                sharded=False,
            ),
            on(4, 'write_buffer_size=16M,max_write_buffer_number=64'),
            on(
                5,
                'write_buffer_size=16M,max_write_buffer_number=64',
                'osd',
                'zebra',
                details=memory(GIB),
            ),
            on(
                6,
                'write_buffer_size=16M,max_write_buffer_number=64',
                details=Details(0.0, None, None, None, GIB, None),
            ),
        ),
    ),
    Scenario(
        'iterator-bounds-off compact-on-start short-pg-log cache-autotune-off cache-ratios',
        'options beside the string',
        (
            seen(
                0,
                more=settings(
                    osd_rocksdb_iterator_bounds_enabled=('false', 'osd'),
                    osd_compact_on_start=('true', 'osd.0'),
                    osd_min_pg_log_entries=('10', 'osd'),
                    osd_max_pg_log_entries=('10', None),
                    bluestore_cache_autotune=('false', 'osd'),
                    bluestore_cache_kv_ratio=('0.2', 'osd'),
                    bluestore_cache_meta_ratio=('0.8', 'osd'),
                ),
            ),
            seen(1, more=settings(bluestore_cache_kv_ratio=('0.3', 'osd.1'))),
            seen(2, more=settings(bluestore_cache_meta_ratio=('0.9', 'global'))),
            seen(3, more=settings(osd_compact_on_start=('false', 'osd'))),
        ),
    ),
    Scenario(
        'slow-start',
        'an OSD that was away for long, beside others that restarted',
        (
            seen(0, more={'last_start': LastStart(250.0, 260.0, False)}),
            seen(1, more={'last_start': LastStart(0.0, 10.0, None)}),
            seen(2, more={'last_start': LastStart(10.0, 30.0, False)}),
            seen(3, more={'last_start': LastStart(900.0, 920.0, True)}),
        ),
    ),
    Scenario(
        'slow-start',
        'OSDs that were away for long, of which some are alone on their hosts',
        (
            seen(0, more={'last_start': LastStart(4000.0, 4010.0, None)}),
            seen(1, more={'last_start': LastStart(200.0, 210.0, False)}),
            seen(2, more={'last_start': LastStart(300.0, 310.0, None)}),
        ),
    ),
    Scenario(
        'outdated-sharding',
        'OSDs that Pacific made',
        (
            seen(0, 'reef', REEF, info={'created_version': '16.2.15'}, more={'sharded': True}),
            seen(1, 'reef', REEF, info={'created_version': '16.2.15'}, more={'sharded': True}),
            seen(2, 'reef', REEF, info={'created_version': '18.2.7'}, more={'sharded': True}),
            seen(3, 'reef', REEF, info={'sharding': 'm(3) P'}, more={'sharded': True}),
        ),
    ),
    Scenario(
        'onode-cache-misses kv-cache-misses bluefs-small-units',
        'caches that miss',
        tuple(
            seen(
                osd_id,
                more={
                    'details': Details(
                        0.0, None, None, None, 4 * GIB, 4 * GIB, hits, 9000, fallbacks, 0.75, 80.0
                    ),
                    'rocksdb_times': RocksdbTimes(300.0, None, None, None, hits, 6000),
                },
            )
            for osd_id, (hits, fallbacks) in enumerate(((1000, 0), (600, 17), (90000, 2)))
        ),
    ),
    Scenario(
        'onode-cache-misses kv-cache-misses bluefs-small-units',
        'caches that miss, among OSDs of which too little is known',
        (
            missing(0),
            missing(1, hits=None),
            missing(2, misses=None),
            missing(3, mapped=None),
            missing(4, mapped=0),
            missing(5, target=None),
            missing(6, target=0),
            missing(7, fallbacks=None),
            missing(8)._replace(details=None),
            missing(9)._replace(rocksdb_times=None),
            seen(10),
        ),
    ),
    Scenario(
        'hot-index-shard',
        'an index shard that is written more than the others',
        tuple(
            seen(
                osd_id,
                does=RGW,
                wal_bytes_per_s=float(rate * MIB),
                kv_sync_busy=0.75,
            )
            for osd_id, rate in enumerate((8, 9, 64, 8, 10))
        ),
    ),
    Scenario(
        'large-omap-objects',
        'objects with too many keys',
        (seen(0),),
        more={'health_codes': frozenset({'LARGE_OMAP_OBJECTS'})},
    ),
    Scenario(
        'unwise-options',
        'what the checks warn of, by itself and on small devices',
        (
            on(0, PACIFIC + ',write_buffer_size=64M', 'osd.0'),
            on(1, PACIFIC + ',write_buffer_size=64M', 'osd.1'),
            on(2, VARIANT_D, 'osd.2', info={'dedicated_db': True, 'db_device_bytes': GIB}),
            on(3, PACIFIC + ',compaction_readahead_size=0', 'osd.3'),
            on(4, PACIFIC, 'osd.4'),
            on(5, PACIFIC + ',write_buffer_size=64M', 'osd.5', 'zebra'),
        ),
    ),
    Scenario(
        'memory-target-small memtables-exceed-memory',
        'a memory target below what any default needs',
        (
            facts(osd_info(0))._replace(details=memory(GIB, GIB)),
            on(1, PACIFIC + ',max_total_wal_size=512M', details=memory(GIB)),
            on(2, PACIFIC, details=memory(2 * GIB)),
        ),
    ),
    Scenario(
        'unjudged-options unstartable-options redundant-override',
        'a value of a form that was not measured',
        (
            on(0, UNJUDGED, 'osd'),
            on(1, UNJUDGED, 'osd'),
            facts(osd_info(2), PACIFIC, 'default', (entry('osd', UNJUDGED),)),
            facts(osd_info(3, up=False))._replace(options=None),
        ),
        (entry('osd', UNJUDGED),),
    ),
)


def words(found: Finding) -> str:
    named = ' '.join(str(n) for n in found.osds)
    return '\n'.join(
        (
            f'{found.severity.value} {found.finding_id} [{named}]',
            f'  {found.summary}',
            *(
                f'  {e.signal} = {e.value} {e.unit}'.rstrip()
                + ('' if e.window_s is None else f' in {e.window_s:g} s')
                for e in found.evidence
            ),
            f'  -> {found.remedy}',
            *(f'  $ {command}' for command in found.commands),
        )
    )


def findings_in(scenario: Scenario) -> list[Finding]:
    cluster = ClusterFacts(scenario.osds, scenario.entries, **scenario.more)
    return [found for found in findings(cluster) if found.finding_id in scenario.about.split()]


def reported(scenario: Scenario) -> str:
    text = '\n'.join(map(words, findings_in(scenario)))
    for name, options in NAMED.items():
        text = text.replace(options, f'<{name}>')
    return text


@pytest.mark.parametrize('scenario', SCENARIOS, ids=[scenario.title for scenario in SCENARIOS])
def test_condition_texts_match_the_recorded_ones(scenario: Scenario) -> None:
    assert reported(scenario) == kept(RECORDED_TEXTS)[scenario.title]


def test_every_condition_has_a_recorded_text_and_no_text_is_unused() -> None:
    assert list(kept(RECORDED_TEXTS)) == [scenario.title for scenario in SCENARIOS]
    named = {found.finding_id for scenario in SCENARIOS for found in findings_in(scenario)}
    assert named == set(conditions())


if __name__ == '__main__':
    write(RECORDED_TEXTS, {scenario.title: reported(scenario) for scenario in SCENARIOS})
