"""One collection with something of each kind in it, as an operator's cluster may have it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from rocksdb_tuner.collection.records import Collection, ModuleState, OsdCollection
from rocksdb_tuner.mgr.records import (
    ClusterMap,
    ConfigEntry,
    FailureDomain,
    ManagerInfo,
    OsdInfo,
    PoolInfo,
    RunningOption,
)
from rocksdb_tuner.observe.deep import KvAnswer
from rocksdb_tuner.observe.details import AlertingOsd
from rocksdb_tuner.observe.kv_stats import KvStats
from rocksdb_tuner.observe.observer import Evidence as Observed
from rocksdb_tuner.observe.report_interval import Reports
from rocksdb_tuner.observe.starts import LastStart
from rocksdb_tuner.observe.trend import GrowthPoints
from rocksdb_tuner.observe.window import Anchor
from rocksdb_tuner.operations.history import HistoryRecord
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.plan.records import ANNEX, OPTION
from rocksdb_tuner.snapshot import Mode, Sampling
from rocksdb_tuner.workload.records import Evidence, Recognition, Workload, WorkloadClass

from ..observe.samples import sample

#: Its `report`, with names and without.
GOLDEN = Path(__file__).parent / 'data'

_OSD = OsdInfo(
    osd_id=0,
    up=True,
    in_cluster=True,
    nonce=4711,
    host='node7.example.com',
    device_class='ssd',
    version='18.2.7',
    release='reef',
    dedicated_db=True,
    dedicated_wal=False,
    db_device_bytes=1 << 36,
    objectstore='bluestore',
    wal_device_bytes=1 << 31,
    main_device_bytes=1 << 42,
    main_rotational=True,
    db_rotational=False,
    min_alloc_size_bytes=4096,
    created_version='16.2.15',
    distribution='debian',
    failure_domain=FailureDomain('rack', 'berlin-4'),
    devices=('nvme0n1', 'alice-7'),
)
_UNKNOWN = OsdInfo(12, False, False, None, None, None, None, None, None, None, None, None)
_BUSY = Workload(
    WorkloadClass.RBD_SMALL_WRITE,
    0.9,
    (
        Evidence('write_iops', 500.0, 'operations/s', 30.0, '{:.0f} of {:.0f}.', (500.0, 600.0)),
        Evidence('pools', 0.7, 'share', 30.0, 'Most of it to pools of RBD.'),
    ),
)
_IDLE = Workload(WorkloadClass.IDLE, 0.95, ())


def _pool(pool_id: int, name: str, *applications: str, metadata: bool = False) -> PoolInfo:
    return PoolInfo(
        pool_id, name, applications, 3, 2, ('gold',), cephfs_metadata=metadata, crush_rule=1
    )


def _module() -> ModuleState:
    return ModuleState(
        sampled_s=1795217595.0,
        mode=next(iter(Mode)),
        manager_version='18.2.7',
        manager_release='reef',
        managers=(
            ManagerInfo('node7.abcdef', 'node7.example.com', active=True, has_module=True),
            ManagerInfo('y', None, active=False, has_module=False),
        ),
        sampling=Sampling(10.0, 2, 2.25, 12.5, 60.25, Reports.OK),
        rollout_under_way=False,
        limits={'min_gain': 0.9},
        notices=('Lost the history of node8: see https://alice@wiki.example.com/x',),
        pending_since_s={0: 1795210000.0},
        advised_on={'gold': _BUSY, 'ssd': _IDLE},
        workloads=Recognition({0: _BUSY, 3: _IDLE}, {'gold': _BUSY}),
        growth={0: GrowthPoints((1.0, 2.0), (10, 20), 100, 7)},
        starts={0: LastStart(250.0, 260.5, None), 3: LastStart(0.0, 5.0, False)},
    )


def _history(actor: str, **changes: Any) -> HistoryRecord:
    return HistoryRecord(
        **{
            'rollout_id': 'r1',
            'time_s': 1795000000.0,
            'recommendation_id': 'gold-0a1b2c',
            'who': 'osd/class:gold/host:node7.example.com',
            'options_from': 'ttl=1',
            'options_to': 'ttl=2,bobs=1',
            'actor': actor,
            'outcome': next(iter(Outcome)),
            'reason': None,
            'prediction': None,
            'measured': None,
            **changes,
        }
    )


def whole() -> Collection:
    gold = replace(
        _OSD,
        osd_id=3,
        host='node8.example.com',
        device_class='gold',
        dedicated_db=False,
        db_device_bytes=None,
        main_rotational=False,
        failure_domain=FailureDomain('host', 'node8.example.com'),
    )
    evidence = Observed(
        4711,
        (sample(1795217570.0, 100, nonce=4711), sample(1795217600.25, 300, nonce=4711)),
        (Anchor(1795217000.0, 1, 2),),
        (),
        (KvAnswer(1795217000.0, KvStats(1, 2, 3, 4, 5, (6, 7), memtable_insert=(0.25, 9))),),
    )
    running = {
        OPTION: RunningOption('ttl=1,alice=2', 'mon', ignores_mon=False),
        ANNEX: RunningOption('', 'file', ignores_mon=True),
    }
    return Collection(
        taken_s=1795217600.5,
        cluster_map=ClusterMap(
            epoch=42,
            flags=frozenset({'noout', 'sortbitwise'}),
            require_osd_release='reef',
            osds=(_OSD, gold, _UNKNOWN),
            pools=(
                _pool(1, 'alices.mail', 'rbd'),
                _pool(2, 'files.meta', 'cephfs', metadata=True),
                _pool(3, 'files.data', 'cephfs'),
                _pool(4, 'osd'),
            ),
        ),
        osds={3: OsdCollection(sharded=False), 0: OsdCollection(evidence, running, sharded=True)},
        entries=(
            ConfigEntry('global', OPTION, 'ttl=1'),
            ConfigEntry('osd/class:gold', OPTION, 'ttl=2'),
            ConfigEntry('osd/host:node9', OPTION, 'ttl=3'),
            ConfigEntry('osd/closet:cellar', ANNEX, 'ttl=4'),
            ConfigEntry('osd/odd', ANNEX, 'ttl=5'),
            ConfigEntry('osd.3', ANNEX, 'ttl=6'),
            ConfigEntry('mon.node7', OPTION, 'ttl=7'),
            ConfigEntry('mgr', OPTION, 'ttl=8'),
        ),
        health_codes=frozenset({'OSD_DOWN', 'MON_DOWN'}),
        alerting={0: AlertingOsd(3600.0, 60.0), 3: AlertingOsd(None, None)},
        orchestrated=True,
        module=_module(),
        history=(
            _history('operator'),
            _history('dashboard:alice', reason='alice paused it on NODE7', rollout_id='r2'),
            _history('bob', who='osd.3', recommendation_id='node8.example.com-0a1b2c'),
            _history('dashboard:', who='global', recommendation_id='elsewhere', measured='7 of 9'),
        ),
    )
