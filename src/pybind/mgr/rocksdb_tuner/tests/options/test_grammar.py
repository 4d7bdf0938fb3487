"""Option strings are split as Ceph splits them, and compared by meaning."""

from __future__ import annotations

from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.options.catalogue import catalogue
from rocksdb_tuner.options.grammar import (
    OptionDifference,
    OptionSet,
    OptionSyntaxError,
    combine,
    diff,
    difference,
    format,  # noqa: A004
    in_force,
    normalize,
    parse,
    same_meaning,
)

VERSIONS = ['6.8', '6.15', '7.9']
#: Enough of the grammar's own marks that random text hits every branch.
NOISE = st.text(alphabet='ab=,;{} \t\n\r0123456789MGkm-.', max_size=40)
NAMES = st.sampled_from(sorted(catalogue().options))
VALUES = st.one_of(
    st.integers(-(2**70), 2**70).map(str),
    st.sampled_from(
        ['2MB', '2m', '4.5G', 'true', 'kNoCompression', 'kLZ4Compression', '', '64 MB']
    ),
    st.text(alphabet='abk0123456789.:-', max_size=8),
)
PAIRS = st.lists(st.tuples(NAMES, VALUES), max_size=6)


def text_of(pairs: list[tuple[str, str]]) -> str:
    return ','.join(f'{name}={value}' for name, value in pairs)


def test_values_are_replaced_added_and_removed() -> None:
    changed = parse('a=1,b=2').replaced({'a': None, 'c': '3', 'b': '4', 'd': None})
    assert changed.items == (('b', '4'), ('c', '3'))
    assert (len(changed), 'a' in changed, 'b' in changed, changed.get('c')) == (2, False, True, '3')


@given(NOISE)
def test_any_text_is_parsed_or_refused_and_nothing_else(text: str) -> None:
    option_set, position = parsed_or_refused(text)
    if option_set is None:
        assert 0 <= position <= len(text)
    else:
        assert parse(format(option_set)) == option_set


def parsed_or_refused(text: str) -> tuple[Optional[OptionSet], int]:
    try:
        return parse(text), 0
    except OptionSyntaxError as error:
        return None, error.position


@given(PAIRS)
def test_format_and_parse_are_each_others_inverse(pairs: list[tuple[str, str]]) -> None:
    option_set = OptionSet.of(pairs)
    assert parse(format(option_set)) == option_set
    assert not parse(format(option_set)).overridden


@given(PAIRS)
def test_normalize_twice_is_normalize_once(pairs: list[tuple[str, str]]) -> None:
    once = normalize(OptionSet.of(pairs))
    assert normalize(once) == once


@pytest.mark.parametrize('version', VERSIONS)
@given(data=st.data(), pairs=PAIRS)
def test_order_does_not_matter(
    version: str, data: st.DataObject, pairs: list[tuple[str, str]]
) -> None:
    items = list(OptionSet.of(pairs).items)
    shuffled = data.draw(st.permutations(items))
    assert same_meaning(text_of(items), text_of(shuffled), version)


@given(NOISE, NOISE, st.sampled_from([*VERSIONS, '7.9.2', '99.9', 'x', None]))
def test_comparing_garbage_never_raises_and_is_symmetric(a: str, b: str, version: str) -> None:
    assert same_meaning(a, b, version) == same_meaning(b, a, version)
    assert same_meaning(a, a, version)


@given(PAIRS, PAIRS)
def test_what_is_written_alike_means_the_same_in_every_version(
    a: list[tuple[str, str]], b: list[tuple[str, str]]
) -> None:
    alike = normalize(OptionSet.of(a)) == normalize(OptionSet.of(b))
    for version in VERSIONS:
        assert same_meaning(text_of(a), text_of(b), version) or not alike


@pytest.mark.parametrize(
    ('a', 'b', 'version', 'same'),
    [
        ('write_buffer_size=2MB', 'write_buffer_size=2097152', '6.8', True),
        ('write_buffer_size=2m', ' write_buffer_size = 2048k;', '7.9', True),
        ('write_buffer_size=2m', 'write_buffer_size=2m,max_write_buffer_number=2', '7.9', True),
        ('', 'write_buffer_size=64MB', '6.8', True),
        ('', 'recycle_log_file_num=4', '6.8', True),
        ('disable_auto_compactions=1', 'disable_auto_compactions=true', '6.8', True),
        ('write_buffer_size=2MB', 'write_buffer_size=3MB', '6.8', False),
        ('write_buffer_size=2MB', '', '6.8', False),
        ('foo=1', '', '6.8', False),
        # Its name is accepted and ignored.
        ('soft_rate_limit=1', '', '6.8', True),
        ('soft_rate_limit=1', 'soft_rate_limit=2;ttl=5', '6.8', False),
        # Without effect, but a daemon reads it, and refuses this value.
        ('create_if_missing=x', '', '7.9', False),
        ('create_if_missing=0', '', '7.9', True),
        ('foo=1', 'foo=1;', '6.8', True),
        ('foo=1', 'foo=2', '6.8', False),
        ('a=1,,', 'a=1', '6.8', False),
        ('compaction_threads=32', '', '6.8', False),
        ('', 'write_buffer_size=64MB', None, False),
        ('write_buffer_size=2MB', 'write_buffer_size=2m', None, True),
        ('', 'write_buffer_size=64MB', '99.9', False),
    ],
)
def test_meaning(a: str, b: str, version: str, same: bool) -> None:
    assert same_meaning(a, b, version) is same


def test_diff_lists_only_changes() -> None:
    assert diff(
        parse('write_buffer_size=2MB,max_write_buffer_number=4,ttl=0'),
        parse('max_write_buffer_number=8,write_buffer_size=2097152,num_levels=7'),
    ) == (
        OptionDifference('max_write_buffer_number', '4', '8'),
        OptionDifference('num_levels', None, '7'),
        OptionDifference('ttl', '0', None),
    )
    assert difference('ttl=1', 'ttl=2') == (OptionDifference('ttl', '1', '2'),)
    assert difference('ttl=1', 'ttl=2,,') is None


@given(PAIRS)
def test_nothing_differs_from_itself(pairs: list[tuple[str, str]]) -> None:
    option_set = OptionSet.of(pairs)
    assert diff(option_set, parse(format(option_set))) == ()


@given(PAIRS, PAIRS)
def test_the_annex_wins(main: list[tuple[str, str]], annex: list[tuple[str, str]]) -> None:
    combined = parse(combine(text_of(main), text_of(annex)))
    assert combined.as_dict() == {**dict(main), **dict(annex)}


@pytest.mark.parametrize(
    ('main', 'annex', 'whole'),
    [
        ('ttl=1,num_levels=7', '', 'ttl=1,num_levels=7'),
        ('ttl=1,num_levels=7', 'ttl=2', 'num_levels=7,ttl=2'),
        ('ttl=1', 'ttl=2', 'ttl=2'),
        # Nothing of it is overruled: it stays as it was written.
        (' ttl = 1;', 'num_levels=7', ' ttl = 1;,num_levels=7'),
        (' ttl = 1,', 'num_levels=7', ' ttl = 1,num_levels=7'),
        # Self-overriding options and values in braces have no known precedence.
        ('ttl=1,ttl=3', 'ttl=2', 'ttl=1,ttl=3,ttl=2'),
        ('ttl={1}', 'ttl=2', 'ttl={1},ttl=2'),
        # Refused, apart or together.
        ('ttl', 'ttl=2', 'ttl,ttl=2'),
        ('ttl=1', 'ttl', 'ttl=1,ttl'),
        ('ttl=1', ',ttl=2', 'ttl=1,,ttl=2'),
    ],
)
def test_options_overridden_by_the_annex_are_dropped_if_known(
    main: str, annex: str, whole: str
) -> None:
    """All else is the text that an OSD parses."""
    assert in_force(main, annex) == whole
