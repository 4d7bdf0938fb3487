"""Option sets derived from the published goals are safe, explained, and mostly those published."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rocksdb_tuner.advise.whatif.derive import derive
from rocksdb_tuner.advise.whatif.situation import Situation
from rocksdb_tuner.advise.whatif.tree import tree
from rocksdb_tuner.lsm.levels import TreeOptions, options_of, tree_options
from rocksdb_tuner.lsm.records import Devices
from rocksdb_tuner.options.checks import check, safe_to_apply
from rocksdb_tuner.options.problems import Hardware
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.options.syntax import columns, parse
from rocksdb_tuner.workload.records import WorkloadClass

from ..builders import release

MIB = 1 << 20
GIB = 1 << 30


PACIFIC, REEF, TENTACLE = map(release, ('16.2.15', '18.2.7', '20.2.4'))


def shape(situation: Situation) -> TreeOptions:
    return tree_options(parse(derive(situation).options), situation.release.rocksdb_version)


situations = st.builds(
    Situation,
    release=st.sampled_from(known_releases()),
    workload=st.one_of(st.none(), st.sampled_from(list(WorkloadClass))),
    devices=st.builds(
        Devices,
        dedicated_db=st.sampled_from([None, False, True]),
        dedicated_wal=st.sampled_from([None, False, True]),
        db_bytes=st.one_of(st.none(), st.integers(1, 1 << 43)),
        wal_bytes=st.one_of(st.none(), st.integers(1, 1 << 43)),
    ),
    memory_target_bytes=st.one_of(st.none(), st.integers(896 * MIB, 1 << 38)),
    cores=st.one_of(st.none(), st.integers(1, 128)),
)


@given(situations)
def test_what_is_derived_passes_the_module_s_own_checks(situation: Situation) -> None:
    text = derive(situation).options
    assert safe_to_apply(text, situation.release.rocksdb_version) == ()


@given(situations)
def test_the_goals_hold_in_every_situation(situation: Situation) -> None:
    found = shape(situation)
    assert found.max_total_wal_bytes <= GIB
    # Two flushes at least fit into the memtables.
    assert found.max_write_buffer_number >= 2 * found.min_write_buffer_number_to_merge
    if situation.cores is not None:
        assert found.max_background_jobs <= max(2, situation.cores)
    if situation.cores in {1, 2} and situation.release.name in {'pacific', 'quincy'}:
        # The four memtables of the default, which did not lose, fill the WAL, each flushed alone.
        assert found.flush_bytes == found.write_buffer_bytes == found.max_total_wal_bytes // 4
        assert found.level0_bytes == found.max_total_wal_bytes
        return
    # Flushes keep the part of the WAL that the published ones have.
    assert found.max_total_wal_bytes / 16 <= found.flush_bytes <= found.max_total_wal_bytes / 8
    # Level 1 is as large as level 0, up to the next power of two.
    assert found.level0_bytes <= found.level_base_bytes < 2 * found.level0_bytes


@given(situations)
def test_every_option_has_a_reason_and_a_source(situation: Situation) -> None:
    derived = derive(situation)
    assert [choice.option for choice in derived.choices] == [n for n, _ in parse(derived.options)]
    assert all(choice.why.endswith('.') and choice.source for choice in derived.choices)


@given(situations)
def test_the_column_families_of_the_release_take_it_as_it_is(situation: Situation) -> None:
    """No option of a column family is corrected by RocksDB because of what was derived."""
    database = parse(derive(situation).options)
    for column in columns(situation.release.default_cfs):
        own = column.options.get('min_write_buffer_number_to_merge')
        if own is not None and situation.memory_target_bytes is None:
            options = options_of(column, database)
            found = tree_options(options, situation.release.rocksdb_version)
            assert found.min_write_buffer_number_to_merge <= int(own)


@pytest.mark.parametrize('field', ['db_bytes', 'wal_bytes'])
@given(situation=situations, least=st.integers(1, 1 << 40))
def test_a_device_that_is_there_bounds_the_wal_whatever_other_device_there_is(
    field: str, situation: Situation, least: int
) -> None:
    devices = replace(situation.devices, dedicated_db=True, dedicated_wal=True, **{field: least})
    found = shape(replace(situation, devices=devices))
    assert found.max_total_wal_bytes <= max(64 * MIB, least)


@given(situations, st.integers(115 * MIB, 1 << 42))
def test_the_wal_fits_the_device_it_was_derived_for(situation: Situation, size: int) -> None:
    """By the model of the same module, to the end of its interval."""
    # Of four memtables the files of the least limit take more than of many.
    assume(situation.cores not in {1, 2} or size >= 135 * MIB)
    devices = Devices(dedicated_db=False, dedicated_wal=True, wal_bytes=size)
    situation = replace(situation, devices=devices)
    wal = tree(derive(situation).options, situation).model.wal
    assert wal.fits_device is True
    assert wal.device_bytes.high <= size


@pytest.mark.parametrize('field', ['memory_target_bytes', 'wal_bytes', 'db_bytes', 'cores'])
@given(situation=situations, factor=st.integers(1, 64))
def test_more_of_anything_makes_nothing_smaller(
    field: str, situation: Situation, factor: int
) -> None:
    """WAL, memtables, flushes, level 1 and jobs grow with memory, devices and cores."""
    devices = situation.devices
    if field in {'memory_target_bytes', 'cores'}:
        before = getattr(situation, field)
        more = replace(situation, **{field: before and before * factor})
    else:
        before = getattr(devices, field)
        more = replace(situation, devices=replace(devices, **{field: before and before * factor}))
    small, large = shape(situation), shape(more)
    if field == 'cores' and situation.cores in {1, 2} and more.cores not in {1, 2}:
        # Another layout, of more and smaller memtables.
        assert large.max_background_jobs >= small.max_background_compactions
        return
    assert large.max_total_wal_bytes >= small.max_total_wal_bytes
    assert large.write_buffer_bytes >= small.write_buffer_bytes
    assert large.flush_bytes >= small.flush_bytes
    assert large.level_base_bytes >= small.level_base_bytes
    assert large.max_background_jobs >= small.max_background_jobs


@pytest.mark.parametrize('dedicated_wal', [False, True])
@given(db_mib=st.integers(512, 8192))
def test_sizes_differ_from_the_later_default_only_where_check_objects_to_them(
    dedicated_wal: bool, db_mib: int
) -> None:
    devices = Devices(
        dedicated_db=True,
        dedicated_wal=dedicated_wal,
        db_bytes=db_mib * MIB,
        wal_bytes=8 * GIB if dedicated_wal else None,
    )
    hardware = Hardware(db_device_bytes=devices.db_bytes, wal_device_bytes=devices.wal_bytes)
    rules = {p.rule for p in check(TENTACLE.default_options, '7.9', hardware).problems}
    differs = derive(Situation(TENTACLE, devices=devices)).equals is None
    assert differs == bool(rules & {'levels-beyond-device', 'wal-beyond-device'})
