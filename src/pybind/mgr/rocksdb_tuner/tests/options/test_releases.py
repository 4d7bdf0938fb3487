"""A daemon's version leads to the right RocksDB and the right default string."""

from __future__ import annotations

from typing import Optional

import pytest

from rocksdb_tuner.options.releases import (
    announced_release,
    announced_releases,
    counters_measured,
    known_releases,
    release_of,
    renamed_counters,
    renamed_in_any_release,
)
from rocksdb_tuner.options.verdict import BadQuestionError, find_release


@pytest.mark.parametrize(
    ('version', 'name', 'since', 'rocksdb'),
    [
        ('16.2.15', None, '16.2.0', '6.8'),
        ('16.2.15', 'pacific', '16.2.0', '6.8'),
        ('17.2.9', None, '17.2.0', '6.15'),
        ('18.2.0', 'reef', '18.2.0', '7.9'),
        ('18.2.2', 'reef', '18.2.0', '7.9'),
        ('18.2.4', 'reef', '18.2.4', '7.9'),
        ('18.2.7-0ubuntu1', 'reef', '18.2.4', '7.9'),
        ('19.2.1-222.el9cp', 'squid', '19.2.0', '7.9'),
        ('20.2.4', 'tentacle', '20.2.0', '7.9'),
        ('ceph version 18.2.7 (6b0e988) reef (stable)', None, '18.2.4', '7.9'),
        (None, 'pacific', '16.2.0', '6.8'),
    ],
)
def test_known_versions(
    version: Optional[str], name: Optional[str], since: str, rocksdb: str
) -> None:
    release = release_of(version, name)
    assert release is not None
    assert (release.since, release.rocksdb_version) == (since, rocksdb)


@pytest.mark.parametrize(
    ('version', 'name'),
    [
        ('21.2.0', 'umbrella'),
        ('20.3.0-12-gabcdef', 'tentacle'),
        ('15.2.17', 'octopus'),
        ('16.1.0', 'pacific'),
        (None, 'umbrella'),
        (None, None),
        # Between 18.2.2 and 18.2.4 the default changed: the name alone is ambiguous.
        (None, 'reef'),
    ],
)
def test_unknown_is_none(version: Optional[str], name: Optional[str]) -> None:
    assert release_of(version, name) is None


def test_lz4_is_the_default_from_18_2_4() -> None:
    by_version = {r.since: r.default_options for r in known_releases()}
    assert 'kNoCompression' in by_version['18.2.0']
    assert 'kLZ4Compression' in by_version['18.2.4']
    assert by_version['18.2.4'] == by_version['19.2.0'] == by_version['20.2.0']


@pytest.mark.parametrize('version', ['18.2', '1234567890.2.0', 'x 18.2.7', '18.2.1234567890'])
def test_invalid_version_falls_back_to_the_name(version: str) -> None:
    assert release_of(version, None) is None
    by_name = release_of(version, 'quincy')
    assert by_name is not None
    assert (by_name.name, by_name.label) == ('quincy', 'Quincy (from 17.2.0)')


def test_pacific_has_other_counter_names_and_lacks_some() -> None:
    pacific = renamed_counters('pacific')
    assert pacific['commit'] == 'bluestore.commit_lat'
    assert pacific['kv_queued'] is None
    assert renamed_counters('reef') == renamed_counters('nope') == renamed_counters(None) == {}
    named = {field: path for field, path in pacific.items() if path is not None}
    assert renamed_in_any_release() == named
    assert len(named) < len(pacific)


def test_counter_names_are_certain_if_measured() -> None:
    sure = {name: counters_measured(name) for name in ('pacific', 'quincy', 'reef', 'squid', 'x')}
    assert sure == {'pacific': True, 'quincy': False, 'reef': True, 'squid': False, 'x': False}
    assert counters_measured('tentacle')
    assert not counters_measured(None)


def test_published_release_is_not_considered_measured() -> None:
    announced = announced_release('21.1.0')
    assert announced is announced_release('umbrella')
    assert announced is not None
    assert (announced.rocksdb_version, announced.judge_as) == ('7.10', 'tentacle')
    assert release_of('21.1.0', 'umbrella') is None
    assert announced_release('20.2.4') is None
    assert announced_release(None) is None
    assert announced.judge_as in {release.name for release in known_releases()}
    assert not {r.name for r in announced_releases()} & {r.name for r in known_releases()}
    with pytest.raises(BadQuestionError, match='not been measured'):
        find_release('umbrella')
