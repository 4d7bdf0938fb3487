"""`bluestore_rocksdb_cfs` is read as OSDs read it when they are made."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.options.checks import check
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.options.sharding import (
    ShardedColumn,
    ShardingSyntaxError,
    format_sharding,
    options_of_column,
    parse_sharding,
    sharding_problems,
)
from rocksdb_tuner.options.syntax import combine

from .oracle import ROCKSDB_VERSIONS
from .osd_oracle import RECORDING, annex_starts, sharding_starts

RECORDED: dict[str, Any] = json.loads(RECORDING.read_text(encoding='utf-8'))
#: A run repeats one in so many with the binary, to stay short.
ONE_IN = 5


def would_start(text: str, release: str) -> bool:
    return not sharding_problems(text, ROCKSDB_VERSIONS[release])


@pytest.mark.parametrize('text', RECORDED['shardings'])
def test_osd_creation(text: str) -> None:
    """Each text was given to `ceph-osd --mkfs` of three releases."""
    real = RECORDED['shardings'][text]
    assert {release: would_start(text, release) for release in real} == real


def test_recording_has_both_outcomes() -> None:
    for release in ROCKSDB_VERSIONS:
        output = [real[release] for real in RECORDED['shardings'].values()]
        assert min(output.count(True), output.count(False)) > 15


@pytest.mark.parametrize(('main', 'annex', 'real'), RECORDED['annexes'])
def test_osd_creation_with_an_annex(main: str, annex: str, real: dict[str, bool]) -> None:
    predicted = {
        release: check(combine(main, annex), ROCKSDB_VERSIONS[release]).accepted for release in real
    }
    assert predicted == real


@pytest.mark.integration
@pytest.mark.oracle
def test_real_osds_still_behave_as_recorded() -> None:
    for text, real in list(RECORDED['shardings'].items())[::ONE_IN]:
        assert sharding_starts('pacific', text) == real['pacific'], text
    for main, annex, real in RECORDED['annexes'][:3]:
        assert annex_starts('pacific', main, annex) == real['pacific'], (main, annex)


def test_default_of_the_releases() -> None:
    text = 'm(3) p(3,0-12) O(3,0-13)=block_cache={type=binned_lru} L=ttl=5 P'
    assert parse_sharding(text) == (
        ShardedColumn('m', 3),
        ShardedColumn('p', 3, 0, 12),
        ShardedColumn('O', 3, 0, 13, 'block_cache={type=binned_lru}'),
        ShardedColumn('L', 1, options='ttl=5'),
        ShardedColumn('P', 1),
    )
    assert format_sharding(parse_sharding(text)) == text
    for release in known_releases():
        assert sharding_problems(release.default_cfs, '7.9') == ()


def test_names_of_column_families() -> None:
    assert parse_sharding('m(2) L')[0].families == ('m-0', 'm-1')
    assert parse_sharding('m(2) L')[1].families == ('L',)


def test_error_has_its_position() -> None:
    with pytest.raises(ShardingSyntaxError, match='at character 7') as error:
        parse_sharding('L m(3,0)')
    assert error.value.position == 7


@given(st.text('mpOL(3),-=0 x\t{};', max_size=30))
def test_what_can_be_parsed_is_the_same_after_format(text: str) -> None:
    try:
        found = parse_sharding(text)
    except ShardingSyntaxError:
        return
    assert parse_sharding(format_sharding(found)) == found


@given(st.text(max_size=30) | st.text('mpOL(3),-=0 x\t{};', max_size=30))
def test_any_text_is_judged(text: str) -> None:
    for version in ('6.8', '7.9', '9.10'):
        assert all(p.message and p.severity == 'error' for p in sharding_problems(text, version))


def test_number_with_thousands_of_digits_is_the_maximum() -> None:
    """Python refuses to read it, with an error that is none of column families."""
    for sign, shards in (('', (1 << 63) - 1), ('-', -(1 << 63))):
        (column,) = parse_sharding(f'm({sign}{"9" * 5000})')
        assert column.shards == shards


def test_column_options_reach_rocksdb_except_those_of_ceph() -> None:
    (column,) = parse_sharding('L=ttl=5,block_cache={type=lru},write_buffer_size=block_cache')
    assert options_of_column(column).items == (('ttl', '5'), ('write_buffer_size', 'block_cache'))
