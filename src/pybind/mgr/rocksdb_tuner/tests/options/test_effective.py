"""Computed effective values match those printed by real daemons."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.options.catalogue import UnknownRocksDBVersionError, catalogue
from rocksdb_tuner.options.checks import check
from rocksdb_tuner.options.effective import effective, read_option
from rocksdb_tuner.options.syntax import parse

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


@pytest.mark.parametrize('version', ['6.7', '9.11', '12.0', '', 'seven', '7'])
def test_unmeasured_version_has_no_effects(version: str) -> None:
    with pytest.raises(UnknownRocksDBVersionError):
        effective(parse(''), version)


@pytest.mark.parametrize('version', ['6.8', '7.9'])
def test_struct_members_are_read_in_alphabetical_order(version: str) -> None:
    universal = catalogue().options['compaction_options_universal']
    written = '{size_ratio=5;max_merge_width=7;}'
    assert read_option(universal, written, version).text == '{max_merge_width=7;size_ratio=5}'
