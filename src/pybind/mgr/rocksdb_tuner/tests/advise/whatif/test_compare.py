"""Two option sets, or an OSD and a profile, option by option."""

from __future__ import annotations

import json
from typing import Optional

import pytest

from rocksdb_tuner.advise.profiles import profile, profiles
from rocksdb_tuner.advise.whatif.compare import Comparison, Side, compare, sides
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.options.verdict import BadQuestionError, find_release
from rocksdb_tuner.plan.records import ANNEX
from rocksdb_tuner.present import views

from ..builders import entry, facts, osd_info

REEF = find_release('reef')
LZ4 = profile('lz4-2025')


def compared(a: str, b: str, release: str = 'reef') -> Comparison:
    return compare(Side('a', a), Side('b', b), find_release(release))


def changed(found: Comparison) -> dict[str, tuple[Optional[str], Optional[str]]]:
    return {c.option: (c.effective_from, c.effective_to) for c in found.changes}


def test_string_does_not_differ_from_itself() -> None:
    for release in known_releases():
        for one in profiles():
            assert compare(Side('a', one.options), Side('b', one.options), release).changes == ()


def test_other_spelling_of_a_value_is_no_difference() -> None:
    assert compared('write_buffer_size=2MB', 'write_buffer_size=2097152').changes == ()
    assert compared('write_buffer_size=64M', '').changes == ()


def test_effects_of_other_options_are_reported() -> None:
    found = compared('write_buffer_size=64M', 'write_buffer_size=4M', 'pacific')
    assert changed(found) == {
        'write_buffer_size': ('67108864', '4194304'),
        'arena_block_size': ('8388608', '524288'),
    }
    assert {c.option: c.follows for c in found.changes} == {
        'write_buffer_size': False,
        'arena_block_size': True,
    }


def test_side_that_prevents_an_osd_start_is_reported() -> None:
    found = compared('foo=1', 'ttl=5')
    assert found.refused == ('a',)
    assert {c.option for c in found.changes} == {'foo', 'ttl'}
    assert 'OSDs do not start with a.' in views.show('profile-diff', found, 'plain')


def test_side_that_cannot_be_checked_is_not_called_refused() -> None:
    untold = f'{LZ4.options},block_based_table_factory={{block_cache=1M}}'
    for release in ('pacific', 'reef', 'tentacle'):
        found = compared(untold, LZ4.options, release)
        assert (found.refused, found.not_judged) == ((), ('a',)), release
        assert {c.option for c in found.changes} == {'block_based_table_factory'}
        plain = views.show('profile-diff', found, 'plain')
        assert 'OSDs do not start with' not in plain
        assert 'It is unknown whether an OSD starts with a.' in plain
        document = json.loads(views.show('profile-diff', found))
        assert (document['refused'], document['not_judged']) == ([], ['a'])
    assert compared('foo=1', LZ4.options).not_judged == ()


def test_running_options_of_an_osd_are_compared_with_a_profile() -> None:
    osd = facts(osd_info(0, 'reef'), 'ttl=60', 'mon', annex='write_buffer_size=4M')
    before, after, release = sides([osd], profile, 'lz4-2025', None, 0, None)
    assert (before.name, before.options) == ('osd.0', 'ttl=60,write_buffer_size=4M')
    assert (after.options, release.name) == (LZ4.options, 'reef')
    entries = (entry('osd', 'ttl=90', ANNEX),)
    pending = facts(osd_info(0, 'reef'), entries=entries)
    assert (
        sides([pending], profile, 'lz4-2025', None, 0, None)[1].options == f'{LZ4.options},ttl=90'
    )


def test_profiles_are_compared_for_the_running_or_newest_known_release() -> None:
    osd = facts(osd_info(0, 'pacific'))
    assert sides([osd], profile, 'lz4-2025', 'lz4-2025', None, None)[2].name == 'pacific'
    assert sides([], profile, 'lz4-2025', 'lz4-2025', None, None)[2] == known_releases()[-1]
    assert sides([osd], profile, 'lz4-2025', 'lz4-2025', None, 'reef')[2].name == 'reef'


def test_invalid_comparison_is_reported_in_full() -> None:
    unknown = facts(osd_info(0, None))
    silent = facts(osd_info(1))._replace(options=None)

    def refused(other: Optional[str], osd_id: Optional[int]) -> str:
        with pytest.raises(BadQuestionError) as error:
            sides([unknown, silent], profile, 'lz4-2025', other, osd_id, None)
        return str(error.value)

    both = 'name either a second profile, or an OSD with --osd, to compare with'
    assert refused(None, None) == refused('lz4-2025', 0) == both
    assert refused(None, 1) == 'the running options of osd.1 are not known yet'
    assert refused(None, 0) == 'osd.0 runs an unknown release: name one with --release'
    chosen = sides([unknown], profile, 'lz4-2025', None, 0, 'tentacle')
    assert chosen[2].name == 'tentacle'
