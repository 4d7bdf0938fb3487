"""`bluestore_rocksdb_cfs` is read as OSDs read it when they are made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rocksdb_tuner.options.checks import check
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.options.sharding import (
    ShardedColumn,
    ShardingSyntaxError,
    options_of_column,
    parse_sharding,
)
from rocksdb_tuner.options.syntax import combine

from .oracle import ROCKSDB_VERSIONS
from .osd_oracle import RECORDING, annex_starts

RECORDED: dict[str, Any] = json.loads(RECORDING.read_text(encoding='utf-8'))


@pytest.mark.parametrize(('main', 'annex', 'real'), RECORDED['annexes'])
def test_osd_creation_with_an_annex(main: str, annex: str, real: dict[str, bool]) -> None:
    predicted = {
        release: check(combine(main, annex), ROCKSDB_VERSIONS[release]).accepted for release in real
    }
    assert predicted == real


@pytest.mark.integration
@pytest.mark.oracle
def test_real_osds_still_behave_as_recorded() -> None:
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
    assert [parse_sharding(release.default_cfs) for release in known_releases()]


def test_error_has_its_position() -> None:
    with pytest.raises(ShardingSyntaxError, match='at character 7') as error:
        parse_sharding('L m(3,0)')
    assert error.value.position == 7


def test_number_with_thousands_of_digits_is_the_maximum() -> None:
    """Python refuses to read it, with an error that is none of column families."""
    for sign, shards in (('', (1 << 63) - 1), ('-', -(1 << 63))):
        (column,) = parse_sharding(f'm({sign}{"9" * 5000})')
        assert column.shards == shards


def test_column_options_reach_rocksdb_except_those_of_ceph() -> None:
    (column,) = parse_sharding('L=ttl=5,block_cache={type=lru},write_buffer_size=block_cache')
    assert options_of_column(column).items == (('ttl', '5'), ('write_buffer_size', 'block_cache'))
