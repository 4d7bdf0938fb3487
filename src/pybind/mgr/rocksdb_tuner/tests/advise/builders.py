"""Builders of OSDs and groups for tests of recommendations."""

from __future__ import annotations

from typing import Optional

from rocksdb_tuner.advise.facts import osd_options
from rocksdb_tuner.advise.records import GroupFacts, OsdFacts
from rocksdb_tuner.advise.whatif.situation import Situation
from rocksdb_tuner.lsm.model import model
from rocksdb_tuner.lsm.records import TreeModel
from rocksdb_tuner.mgr.records import ConfigEntry, FailureDomain, OsdInfo, RunningOption
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.options.releases import KnownRelease, release_of
from rocksdb_tuner.plan.records import ANNEX, OPTION
from rocksdb_tuner.workload.pressure import KV_SYNC_BUSY
from rocksdb_tuner.workload.records import Evidence, Workload, WorkloadClass

from ..fake_cluster import DEFAULTS, VERSIONS

ALL = 'osd'
PACIFIC = DEFAULTS['pacific']
#: The last option is never set by the module, although it is no objection to a running string.
UNMENDABLE = f'{PACIFIC},min_write_buffer_number_to_merge=16,allow_fallocate=false'


def osd_info(osd_id: int = 0, release: Optional[str] = 'pacific', **changes: object) -> OsdInfo:
    values: dict[str, object] = {
        'osd_id': osd_id,
        'up': True,
        'in_cluster': True,
        'nonce': 100 + osd_id,
        'host': f'node{osd_id}',
        'device_class': 'ssd',
        'version': VERSIONS.get(release or '', '99.0.0'),
        'release': release,
        'dedicated_db': False,
        'dedicated_wal': False,
        'db_device_bytes': None,
        'objectstore': 'bluestore',
    }
    values |= changes
    values.setdefault('failure_domain', FailureDomain('host', str(values['host'])))
    return OsdInfo(**values)  # type: ignore[arg-type]


def release(version: str) -> KnownRelease:
    found = release_of(version, None)
    assert found is not None
    return found


def entry(who: str, value: str, name: str = OPTION) -> ConfigEntry:
    return ConfigEntry(who, name, value)


def running(value: str, source: str = 'default', annex: str = '') -> dict[str, RunningOption]:
    return {
        OPTION: RunningOption(value, source, ignores_mon=False),
        ANNEX: RunningOption(annex, 'mon' if annex else 'default', ignores_mon=False),
    }


def facts(
    info: OsdInfo,
    value: str = PACIFIC,
    source: str = 'default',
    entries: tuple[ConfigEntry, ...] = (),
    annex: str = '',
    write_iops: Optional[float] = None,
) -> OsdFacts:
    return OsdFacts(
        info=info,
        signals=Signals(osd_id=info.osd_id, write_iops=write_iops),
        workload=None,
        options=osd_options(info, entries, running(value, source, annex)),
    )


def workload(
    workload_class: WorkloadClass = WorkloadClass.RBD_SMALL_WRITE,
    confidence: float = 0.95,
    busy: Optional[float] = 0.72,
) -> Workload:
    """``busy`` is the share of time that the kv_sync threads work; None: not measured."""
    evidence = [Evidence('write_bytes_avg', 4096.0, 'bytes', 30.0, 'Writes are of 4 KiB.')]
    if busy is not None:
        text = 'The kv_sync threads are {:.0f}% busy.'
        evidence.append(Evidence(KV_SYNC_BUSY, busy, 'ratio', 30.0, text, (100 * busy,)))
    return Workload(workload_class, confidence, tuple(evidence))


def group(*osds: OsdFacts, does: Optional[Workload] = None) -> GroupFacts:
    return GroupFacts('ssd', does, osds)


def model_in(situation: Situation, options: str) -> TreeModel:
    """The model of valid options; raises the same as `model`."""
    return model(situation.tree_inputs(options))
