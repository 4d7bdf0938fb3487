"""`bluestore_rocksdb_cfs` is divided as BlueStore divides it."""

from __future__ import annotations

import pytest

from rocksdb_tuner.lsm.levels import ColumnsSyntaxError, columns, options_of
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.options.syntax import parse

from .samples import REEF_CFS


def test_default_of_reef() -> None:
    found = columns(REEF_CFS)
    assert [(c.name, c.shards) for c in found] == [
        ('default', 1),
        ('m', 3),
        ('p', 3),
        ('O', 3),
        ('L', 1),
        ('P', 1),
    ]
    assert found[4].options.as_dict() == {'min_write_buffer_number_to_merge': '32'}


def test_block_cache_options_are_those_of_ceph() -> None:
    assert columns(REEF_CFS)[3].options.items == ()


def test_unsharded_database_has_one_family() -> None:
    assert [(c.name, c.shards) for c in columns('')] == [('default', 1)]


def test_defaults_of_all_releases_are_twelve_families() -> None:
    for release in known_releases():
        assert sum(c.shards for c in columns(release.default_cfs)) == 12


def test_column_options_override_database_options() -> None:
    column = columns('P=write_buffer_size=1M')[1]
    combined = options_of(column, parse('write_buffer_size=2M,ttl=5')).as_dict()
    assert combined == {'write_buffer_size': '1M', 'ttl': '5'}


@pytest.mark.parametrize('text', ['m(', 'm(0)', 'm(2,', '=x', 'm(99999999)', 'm)3(', 'm(x)', ' '])
def test_invalid_column_is_named(text: str) -> None:
    with pytest.raises(ColumnsSyntaxError, match='expected'):
        columns(f'O {text}')
