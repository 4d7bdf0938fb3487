"""The model of an OSD uses its known values, and lists its assumptions."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Any

import pytest

from rocksdb_tuner.advise.facts import RESERVED, RESERVED_FACTOR, SELECTION_POLICY
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.records import OsdFacts, Setting
from rocksdb_tuner.advise.whatif.overrides import read_overrides
from rocksdb_tuner.advise.whatif.situation import Situation, find_situation
from rocksdb_tuner.advise.whatif.tree import tree
from rocksdb_tuner.mgr.records import OsdInfo
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.options.verdict import BadQuestionError
from rocksdb_tuner.plan.records import ANNEX
from rocksdb_tuner.workload.records import Workload, WorkloadClass

from ..builders import entry, facts

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
    assert answer.profile == 'bluestore-default-reef'
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


def test_override_takes_precedence_over_the_classified_workload() -> None:
    situation = ask(
        FACTS, osd_id=3, workload=WorkloadClass.RBD_SMALL_WRITE, cores=8, release='tentacle'
    )
    assert situation.workload is WorkloadClass.RBD_SMALL_WRITE
    assert situation.cores == 8
    assert situation.release.name == 'tentacle'


def test_unsharded_osd_has_one_column_family() -> None:
    answer = tree(LZ4, ask(FACTS._replace(sharded=False), osd_id=3))
    assert [c.name for c in answer.model.column_families] == ['default']


def test_volume_selection_of_the_osd_is_used() -> None:
    settings = {
        SELECTION_POLICY: Setting('rocksdb_original', 'osd'),
        RESERVED_FACTOR: Setting('3', 'osd'),
    }
    answer = tree(LZ4, ask(FACTS._replace(settings=settings), osd_id=3))
    assert answer.situation.selection.reserved_factor == 3
    assert answer.model.db_device is not None
    assert answer.model.db_device.extra_bytes == 0


def test_nothing_is_invented_for_an_osd_without_data() -> None:
    unknown = OsdFacts(
        replace(INFO, dedicated_db=None, dedicated_wal=None, db_device_bytes=None), None, None, None
    )
    model = tree(LZ4, ask(unknown, osd_id=3)).model
    assert model.db_device is None
    assert model.amplification.write is None
    assert model.wal.fits_device is None
    assert any('assumed to be 4 GiB' in text for text in model.assumptions)
    assert any('workload is unknown' in text for text in model.assumptions)


def test_assumptions_are_stated_without_an_osd() -> None:
    answer = tree(LZ4, ask(workload=WorkloadClass.RGW_METADATA))
    assert answer.model.assumptions[0].startswith('No OSD was named')
    assert answer.model.amplification.write is not None


def test_unmeasured_workload_is_marked_as_such() -> None:
    model = tree(LZ4, ask(workload=WorkloadClass.LARGE_WRITE)).model
    assert model.amplification.write is None
    assert any('large-write, which was not measured' in text for text in model.assumptions)


def test_newest_release_of_the_cluster_is_used_without_an_osd() -> None:
    old = FACTS._replace(info=replace(INFO, version='16.2.15', release='pacific'))
    assert ask(old).release.name == 'pacific'


@pytest.mark.parametrize(
    ('options', 'named'),
    [
        ('x=1', 'x: '),
        ('write_buffer_size=abc', 'write_buffer_size'),
        ('compaction_style=kCompactionStyleUniversal', 'kCompactionStyleLevel'),
        ('max_bytes_for_level_multiplier=nan', 'max_bytes_for_level_multiplier'),
        ('a=1,,b=2', 'would not start'),
    ],
)
def test_options_without_a_tree_are_refused_by_name(options: str, named: str) -> None:
    with pytest.raises(BadQuestionError, match=named) as refusal:
        tree(options, ask())
    assert refusal.value.errno == errno.EINVAL


@pytest.mark.parametrize(
    ('message', 'code', 'named'),
    [
        ({'osd_id': 4}, errno.ENOENT, 'osd.4 does not exist; known OSDs: osd.3'),
        ({'release': 'nope'}, errno.EINVAL, 'nope'),
        ({'cores': 0}, errno.EINVAL, 'not 0'),
        ({'cores': -3}, errno.EINVAL, 'not -3'),
    ],
)
def test_missing_objects_are_named(message: dict[str, Any], code: int, named: str) -> None:
    with pytest.raises(BadQuestionError, match=named) as refusal:
        ask(FACTS, **message)
    assert refusal.value.errno == code


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


def test_overrides_take_precedence_over_the_osd() -> None:
    situation = ask(FACTS, osd_id=3, db_size='0', wal_size='1G', memory='2G', data='7G')
    assert situation.devices.dedicated_db is False
    assert situation.devices.db_bytes is None
    assert situation.devices.dedicated_wal is True
    assert situation.memory_target_bytes == 2 * GIB
    assert situation.load.data_bytes == 7 * GIB
    assert not any('BlueFS' in text for text in situation.assumptions.model)


def test_column_options_that_prevent_a_start_are_refused_with_the_column_name() -> None:
    with pytest.raises(BadQuestionError, match='column P: no_such_option'):
        tree(LZ4, ask(cfs='O P=no_such_option=1'))


def test_unknown_options_of_a_column_are_not_called_refused() -> None:
    with pytest.raises(BadQuestionError) as refusal:
        tree(LZ4, ask(release='reef', cfs='O P=block_based_table_factory={block_cache=1M}'))
    assert str(refusal.value).startswith(
        'whether an OSD of Reef (from 18.2.4) starts with these options of column P is unknown:'
    )


def test_no_compactions_means_no_levels_to_model() -> None:
    with pytest.raises(BadQuestionError, match='disable_auto_compactions'):
        tree('disable_auto_compactions=true', ask())


@pytest.mark.parametrize(
    ('factor', 'reserved'), [('inf', '0'), ('nan', '-1'), ('-1e308', '9' * 5000), ('1e308', 'x')]
)
def test_invalid_volume_selection_falls_back_to_the_default(factor: str, reserved: str) -> None:
    settings = {
        RESERVED_FACTOR: Setting(factor, 'mon'),
        RESERVED: Setting(reserved, 'mon'),
    }
    odd = FACTS._replace(settings=settings)
    assert tree(LZ4, ask(odd, osd_id=3)).model == tree(LZ4, ask(FACTS, osd_id=3)).model


@pytest.mark.parametrize('multiplier', ['1e308', '0x1p1023', '1e19', '-1e308', '5e-324'])
def test_levels_beyond_every_device_are_modeled(multiplier: str) -> None:
    found = tree(f'max_bytes_for_level_multiplier={multiplier}', ask(FACTS, osd_id=3)).model
    assert found.db_device is not None
    assert 0 <= found.db_device.unused_bytes <= 60 * GIB


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
    assert own.startswith(f'{begin} of column P: no_such: ')
    assert refused('compaction_style=kCompactionStyleUniversal').startswith('there is no model of ')


def test_column_that_inherits_database_options_is_checked_with_them() -> None:
    """Alone they would start, and with each other they do not, or the other way round."""
    assert tree(LZ4, ask(cfs='O P=write_buffer_size=8M')).profile == 'bluestore-default-reef'
    assert tree('ttl=60', ask(cfs='O P')).profile is None
