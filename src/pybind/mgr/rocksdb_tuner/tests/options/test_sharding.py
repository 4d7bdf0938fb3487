"""`bluestore_rocksdb_cfs` is read as OSDs read it when they are made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rocksdb_tuner.options.checks import check
from rocksdb_tuner.options.releases import known_releases
from rocksdb_tuner.options.syntax import ShardingSyntaxError, columns, combine

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


def test_number_with_thousands_of_digits_is_too_large() -> None:
    """Python refuses to read it, with an error that is none of column families."""
    for sign in ('', '-'):
        with pytest.raises(ShardingSyntaxError, match='1 to 1024 shards'):
            columns(f'm({sign}{"9" * 5000})')


def test_defaults_of_all_releases_are_twelve_families() -> None:
    assert [(c.name, c.shards) for c in columns('')] == [('default', 1)]
    for release in known_releases():
        assert sum(c.shards for c in columns(release.default_cfs)) == 12
