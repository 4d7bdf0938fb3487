"""Every condition is one function and one entry of data, and says what to do about it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rocksdb_tuner.advise.conditions import (
    OF_THE_PRESENT,
    OF_THE_SETUP,
    ClusterFacts,
    findings,
)
from rocksdb_tuner.advise.conditions.catalogue import Condition, conditions
from rocksdb_tuner.knowledge import loader

from ...present.test_health import FILL

ROOT = Path(__file__).parents[7]
TESTS = Path(__file__).parent


def test_functions_and_entries_are_the_same() -> None:
    of_the_present = [name for functions in OF_THE_PRESENT.values() for name in functions]
    assert sorted([*OF_THE_SETUP, *of_the_present]) == sorted(conditions())


def test_all_of_the_23_conditions_are_built_or_dropped_with_a_reason() -> None:
    content = loader.load('conditions')
    numbers = {n for entry in content['conditions'] for n in entry['numbers']}
    dropped = {entry['number'] for entry in content['dropped']}
    assert numbers | dropped == {f'C{n}' for n in range(1, 24)}
    assert not numbers & dropped


@pytest.mark.parametrize('known', conditions().values(), ids=list(conditions()))
def test_a_remedy_leaves_nothing_open(known: Condition) -> None:
    finding = known.finding('It is so.', (3,), (), **FILL)
    text = ' '.join((finding.remedy, *finding.commands))
    assert not re.search(r'\{[a-z]+\}', text)
    assert finding.remedy
    assert finding.source


@pytest.mark.parametrize('known', conditions().values(), ids=list(conditions()))
def test_commands_are_commands(known: Condition) -> None:
    finding = known.finding('It is so.', (3,), (), **FILL)
    programs = ('ceph ', 'ceph-bluestore-tool ', 'radosgw-admin ')
    assert all(command.startswith(programs) for command in finding.commands)


def test_nothing_advises_to_compact_or_restart_all_at_once() -> None:
    for known in conditions().values():
        assert 'osd.*' not in ' '.join((known.remedy, *known.commands))


def test_a_reshard_and_a_compaction_say_what_not_to_do() -> None:
    assert 'Never interrupt a reshard' in (conditions()['unsharded'].do_not or '')
    for known in conditions().values():
        if any(command.endswith(' compact') for command in known.commands):
            assert known.do_not, known.condition_id


def test_where_a_condition_is_shown_is_there() -> None:
    for entry in loader.load('conditions')['conditions']:
        place = entry['shown']['where'].split(';')[0].split(',')[0].strip()
        if place.startswith('qa/'):
            assert (ROOT / place).is_file(), place
        else:
            assert (TESTS.parents[1] / place.removeprefix('tests/')).is_file(), place


def test_the_manual_names_every_finding() -> None:
    manual = (ROOT / 'doc/mgr/rocksdb_tuner.rst').read_text()
    assert [name for name in conditions() if f'``{name}``' not in manual] == []


def test_an_empty_cluster_has_nothing_to_point_out() -> None:
    assert findings(ClusterFacts((), ())) == ()


def test_a_condition_can_be_told_apart_in_a_set() -> None:
    """It holds mappings, which cannot."""
    assert len(set(conditions().values())) == len(conditions())
