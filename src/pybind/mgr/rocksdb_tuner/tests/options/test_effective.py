"""Computed effective values match those printed by real daemons."""

from __future__ import annotations

from typing import Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.options.catalogue import UnknownRocksDBVersionError, catalogue
from rocksdb_tuner.options.checks import check
from rocksdb_tuner.options.effective import effective, read_option
from rocksdb_tuner.options.syntax import parse
from rocksdb_tuner.options.values import ValueRefusedError

from .oracle import differences, recorded

RELEASES = {'pacific': '6.8', 'reef': '7.9', 'tentacle': '7.9'}
PRINTS = recorded('daemon_prints')


@pytest.mark.parametrize('release', RELEASES)
def test_defaults_are_those_a_daemon_prints_for_an_empty_string(release: str) -> None:
    printed = PRINTS['defaults'][release]
    computed = effective(parse(''), RELEASES[release])
    assert not differences(computed, printed)
    assert len(computed.keys() & printed.keys()) >= 100


@pytest.mark.parametrize('release', RELEASES)
def test_each_recorded_string_has_the_recorded_effect(release: str) -> None:
    """Over 300 strings per release: defaults, clamps, lenient numbers, refusals."""
    judged = 0
    for case in PRINTS['cases']:
        result = check(case['string'], RELEASES[release])
        changed = case['changed'][release]
        if changed is None:
            assert not result.accepted, case
        elif result.accepted:
            printed = {**PRINTS['defaults'][release], **changed}
            assert not differences(result.effective, printed), case
            judged += 1
        else:
            assert is_stricter_than_a_scratch_database(result), (case, result.problems)
    assert judged >= 180


def is_stricter_than_a_scratch_database(result: Any) -> bool:
    """Options refused by an OSD's existing database, and options not checked at all."""
    return any(
        problem.rule == 'not-judged'
        or (problem.rule == 'not-usable' and problem.option == 'compaction_style')
        or (problem.rule == 'refused-combination' and problem.option == 'error_if_exists')
        for problem in result.problems
    )


# Of the least int RocksDB takes one away, and that overflows: the least is left out.
@given(st.integers(-(2**31) + 1, 2**31 - 1), st.integers(-(2**31), 2**31 - 1))
def test_memtable_counts_are_corrected_as_rocksdb_does(buffers: int, merge: int) -> None:
    text = f'max_write_buffer_number={buffers},min_write_buffer_number_to_merge={merge}'
    values = effective(parse(text), '6.8')
    in_effect = int(values['max_write_buffer_number'])
    assert in_effect == max(buffers, 2)
    assert 1 <= int(values['min_write_buffer_number_to_merge']) < in_effect


@given(*[st.integers(0, 2**31 - 1)] * 3)
def test_level_0_triggers_come_out_in_order(trigger: int, slowdown: int, stop: int) -> None:
    text = (
        f'level0_file_num_compaction_trigger={trigger},'
        f'level0_slowdown_writes_trigger={slowdown},level0_stop_writes_trigger={stop}'
    )
    values = effective(parse(text), '7.9')
    assert (
        1
        <= int(values['level0_file_num_compaction_trigger'])
        <= int(values['level0_slowdown_writes_trigger'])
        <= int(values['level0_stop_writes_trigger'])
    )


def test_only_agreed_effects_are_reported_between_two_measured_versions() -> None:
    """Quincy's 6.15: arena_block_size changed between 6.8 and 7.9, write_buffer_size did not."""
    values = effective(parse('write_buffer_size=32MB'), '6.15')
    assert values['write_buffer_size'] == '33554432'
    assert 'arena_block_size' not in values


@pytest.mark.parametrize('version', ['6.7', '9.11', '12.0', '', 'seven', '7'])
def test_unmeasured_version_has_no_effects(version: str) -> None:
    with pytest.raises(UnknownRocksDBVersionError):
        effective(parse(''), version)


def test_refused_value_names_its_option() -> None:
    with pytest.raises(ValueRefusedError, match='write_buffer_size'):
        effective(parse('write_buffer_size=abc'), '6.8')


def test_struct_with_an_element_in_braces_keeps_all_members() -> None:
    """Found by the oracle of 18.2.7."""
    text = 'compaction_options_universal={compression_size_percent=7;size_ratio=16},{ttl=5}'
    values = effective(parse(text), '7.9')
    assert values['compaction_options_universal.size_ratio'] == '16'
    assert values['compaction_options_universal.compression_size_percent'] == '7'
    assert values['ttl'] == '5'


@pytest.mark.parametrize('version', ['6.8', '7.9'])
def test_braces_with_a_blank_are_not_empty(version: str) -> None:
    """Found by the oracle of 16.2.15, and the same on 18.2.7."""
    assert check('compaction_options_universal={}', version).accepted
    for text in ('{ }', '{  }', '{{ }}'):
        assert check(f'compaction_options_universal={text}', version).accepted is False
        assert check(f'compression_per_level={text}', version).accepted is False


@pytest.mark.parametrize(
    ('text', 'name', 'value'),
    [
        (
            'max_write_buffer_number=14G,min_write_buffer_number_to_merge=6',
            'min_write_buffer_number_to_merge',
            '6',
        ),
        (
            'compaction_style=kCompactionStyleUniversal,periodic_compaction_seconds=15382829',
            'periodic_compaction_seconds',
            '2592000',
        ),
        (
            'compaction_style=kCompactionStyleUniversal,ttl=0,periodic_compaction_seconds=7',
            'periodic_compaction_seconds',
            '7',
        ),
        ('compaction_style=kCompactionStyleFIFO,ttl=9,periodic_compaction_seconds=7', 'ttl', '7'),
        ('compaction_style=kCompactionStyleFIFO,ttl=9,periodic_compaction_seconds=0', 'ttl', '9'),
        (
            'allow_2pc=true,avoid_flush_during_recovery=true',
            'avoid_flush_during_recovery',
            'false',
        ),
    ],
)
def test_corrections_found_by_the_oracle(text: str, name: str, value: str) -> None:
    """Printed alike by 16.2.15 and 18.2.7."""
    for version in ('6.8', '7.9'):
        assert effective(parse(text), version)[name] == value


def test_negative_dictionary_size_is_shown_as_each_version_shows_it() -> None:
    """Printed by 16.2.15, and by 18.2.7 and 20.2.4."""
    for version, shown in (('6.8', '4294967282'), ('7.9', '-14'), ('9.10', '-14')):
        for name in ('compression_opts', 'bottommost_compression_opts'):
            values = effective(parse(f'{name}=1:2:3:-14'), version)
            assert values[f'{name}.max_dict_bytes'] == shown


def test_ambiguous_duplicate_value_is_unknown() -> None:
    """Ceph hands the pieces over in the order of a hash table."""
    for text in ('{ttl=1},ttl=2', 'compression_opts.level=5,compression_opts={level=6}'):
        values = effective(parse(text), '7.9')
        assert not {'ttl', 'compression_opts.level'} <= values.keys()
        assert 'write_buffer_size' in values
    # RocksDB 6.8 knows no braces around pieces: the later one wins.
    assert effective(parse('ttl=1,ttl=2'), '6.8')['ttl'] == '2'


@pytest.mark.parametrize('version', ['6.8', '7.9'])
def test_struct_members_are_read_in_alphabetical_order(version: str) -> None:
    universal = catalogue().options['compaction_options_universal']
    written = '{size_ratio=5;max_merge_width=7;}'
    assert read_option(universal, written, version).text == '{max_merge_width=7;size_ratio=5}'


@pytest.mark.parametrize(
    ('text', 'version', 'shown'),
    [
        ('memtable=skip_list:16', '7.9', 'SkipListFactory:16'),
        ('memtable_factory=skip_list:016', '7.9', 'SkipListFactory:16'),
        ('memtable=skip_list:0', '7.9', 'SkipListFactory'),
        ('memtable=skip_list', '7.9', 'SkipListFactory'),
        ('memtable=SkipListFactory:16', '7.9', 'SkipListFactory:16'),
        ('memtable=nullptr', '7.9', None),
        ('memtable=skip_list:16,memtable_factory=skip_list:4', '7.9', None),
        # RocksDB 6.8 shows the name alone.
        ('memtable=skip_list:16', '6.8', 'SkipListFactory'),
    ],
)
def test_memtable_is_shown_as_by_the_binary(text: str, version: str, shown: Optional[str]) -> None:
    assert effective(parse(text), version).get('memtable_factory') == shown
