"""The model of an OSD uses its known values, and lists its assumptions."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Any

import pytest

from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.records import OsdFacts
from rocksdb_tuner.advise.whatif.situation import Situation, find_situation, read_overrides
from rocksdb_tuner.advise.whatif.tree import fill_s, tree
from rocksdb_tuner.lsm.records import Load
from rocksdb_tuner.mgr.records import OsdInfo
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.options.verdict import BadQuestionError
from rocksdb_tuner.plan.records import ANNEX
from rocksdb_tuner.workload.records import Workload, WorkloadClass

from ..builders import entry, facts, model_in, release

GIB = 1 << 30
LZ4 = profile('lz4-2025').options

INFO = OsdInfo(
    osd_id=3,
    up=True,
    in_cluster=True,
    nonce=1,
    host='a',
    device_class='ssd',
    version='18.2.7',
    release='reef',
    dedicated_db=True,
    dedicated_wal=False,
    db_device_bytes=60 * GIB,
    objectstore='bluestore',
)
FACTS = OsdFacts(
    INFO,
    Signals(osd_id=3, wal_bytes_per_s=2e6, db_used_bytes=20 * GIB, slow_used_bytes=GIB),
    Workload(WorkloadClass.RGW_METADATA, 0.9, ()),
    None,
    sharded=True,
)


def ask(
    *osds: OsdFacts, osd_id: int | None = None, release: str | None = None, **message: Any
) -> Situation:
    return find_situation(osds, osd_id, release, read_overrides(**message))


def test_osd_is_modeled_with_its_known_values() -> None:
    answer = tree(LZ4, ask(FACTS, osd_id=3))
    situation, model = answer.situation, answer.model
    assert answer.profile == 'lz4-2025'
    assert situation.release.name == 'reef'
    assert situation.load.data_bytes == 21 * GIB
    assert model.db_device is not None
    assert model.db_device.last_level == 2
    assert model.amplification.write is not None
    assert model.wal.device_total_bytes == 60 * GIB


def test_options_are_modeled_with_the_annex_of_the_osd() -> None:
    entries = (entry('osd', 'foo=1', ANNEX),)
    osd = FACTS._replace(options=facts(INFO, LZ4, entries=entries).options)
    with pytest.raises(BadQuestionError, match='would not start with these options'):
        tree(LZ4, ask(osd, osd_id=3))
    larger = (entry('osd', 'write_buffer_size=64M', ANNEX),)
    osd = FACTS._replace(options=facts(INFO, LZ4, entries=larger).options)
    assert tree(LZ4, ask(osd, osd_id=3)).options.endswith(',write_buffer_size=64M')


def test_osd_of_unknown_release_requires_a_named_one() -> None:
    newer = FACTS._replace(info=replace(INFO, version='99.1.0', release='zebra'))
    with pytest.raises(BadQuestionError, match='--release'):
        ask(newer, osd_id=3)
    assert ask(newer, osd_id=3, release='tentacle').release.name == 'tentacle'


def test_overrides_of_devices_memory_and_load_are_modeled() -> None:
    """Without any OSD: all inputs that the model has."""
    situation = ask(
        release='reef',
        workload=WorkloadClass.RGW_METADATA,
        db_size='60G',
        wal_size='2GiB',
        memory='8G',
        data='20G',
        ingest='5M',
        key_size='250',
        cfs='m(3) O(3,0-13)=block_cache={type=binned_lru} P=write_buffer_size=8M',
    )
    model = tree(LZ4, situation).model
    assert (situation.devices.db_bytes, situation.devices.wal_bytes) == (60 * GIB, 2 * GIB)
    assert [c.name for c in model.column_families] == ['default', 'm', 'O', 'P']
    assert model.column_families[3].write_buffer_bytes == 8 << 20
    assert model.memtables.memory_target_bytes == 8 * GIB
    assert model.wal.device_total_bytes == 2 * GIB
    assert model.wal.fill_s == GIB / (5 << 20)
    assert model.column_families[0].keys_per_flush is not None
    assert model.db_device is not None
    assert len(model.assumptions) == 2


def test_options_without_a_tree_are_reported_in_full() -> None:
    def refused(options: str, **message: Any) -> str:
        with pytest.raises(BadQuestionError) as refusal:
            tree(options, ask(release='reef', **message))
        assert refusal.value.errno == errno.EINVAL
        return str(refusal.value)

    begin = 'an OSD of Reef (from 18.2.4) would not start with these options'
    unknown = refused('no_such=1')
    assert unknown.startswith(f'{begin}, so there is no model. no_such: ')
    assert unknown.endswith('; see "ceph rocksdb-tuner check" for all problems')
    assert refused('a=1,,').startswith(f'{begin}, so there is no model. ')
    assert 'None' not in refused('a=1,,')
    own = refused(LZ4, cfs='O P=no_such=1')
    assert own.startswith(f'{begin} of column P, so there is no model. no_such: ')
    assert refused('compaction_style=kCompactionStyleUniversal').startswith('there is no model of ')


def test_column_that_inherits_database_options_is_checked_with_them() -> None:
    """Alone they would start, and with each other they do not, or the other way round."""
    assert tree(LZ4, ask(cfs='O P=write_buffer_size=8M')).profile == 'lz4-2025'
    assert tree('ttl=60', ask(cfs='O P')).profile is None


# -- how long memtables take to fill


PACIFIC = release('16.2.15')
MIB = 1 << 20
RGW = Situation(
    PACIFIC, WorkloadClass.RGW_METADATA, load=Load(workload='omap-heavy', wal_bytes_per_s=2.0 * MIB)
)
LARGE = 'write_buffer_size=268435456,max_total_wal_size=1073741824'
SMALL = 'write_buffer_size=16777216,max_total_wal_size=1073741824'


def busiest_s(options: str) -> float:
    families = model_in(RGW, options).column_families
    found = max(families, key=lambda family: family.share or 0.0).flush_every_s
    assert found is not None
    return found


def test_slower_of_both_sets_counts() -> None:
    assert busiest_s(SMALL) < busiest_s(LARGE)
    expected = pytest.approx(busiest_s(LARGE), rel=0.05)
    assert fill_s(SMALL, LARGE, RGW) == fill_s(LARGE, SMALL, RGW) == expected


def test_half_the_load_takes_twice_as_long() -> None:
    half = replace(RGW, load=replace(RGW.load, wal_bytes_per_s=1.0 * MIB))
    whole = fill_s(LARGE, SMALL, RGW)
    assert whole is not None
    assert fill_s(LARGE, SMALL, half) == pytest.approx(2 * whole, rel=0.05)


def test_wal_limit_counts_if_the_workload_is_unknown() -> None:
    unknown = replace(RGW, workload=None, load=Load(wal_bytes_per_s=2.0 * MIB))
    assert fill_s(SMALL, LARGE, unknown) == pytest.approx(512, rel=0.05)


@pytest.mark.parametrize('rate', [None, 0.0])
def test_no_time_without_a_load(rate: float | None) -> None:
    idle = replace(RGW, load=replace(RGW.load, wal_bytes_per_s=rate))
    assert fill_s(SMALL, LARGE, idle) is None


def test_set_without_a_model_makes_the_time_unknown() -> None:
    assert fill_s('compaction_style=kCompactionStyleUniversal', LARGE, RGW) is None
    assert fill_s(LARGE, 'write_buffer_size=x', RGW) is None
