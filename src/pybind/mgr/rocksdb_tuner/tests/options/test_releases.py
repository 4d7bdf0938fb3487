"""A daemon's version leads to the right RocksDB and the right default string."""

from __future__ import annotations

from typing import Optional

import pytest

from rocksdb_tuner.options.releases import known_releases, release_of


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
        # Between 18.2.2 and 18.2.4 the default changed: the name alone does not tell which.
        (None, 'reef'),
    ],
)
def test_what_is_not_known_is_none(version: Optional[str], name: Optional[str]) -> None:
    assert release_of(version, name) is None


def test_lz4_is_the_default_from_18_2_4() -> None:
    by_version = {r.since: r.default_options for r in known_releases()}
    assert 'kNoCompression' in by_version['18.2.0']
    assert 'kLZ4Compression' in by_version['18.2.4']
    assert by_version['18.2.4'] == by_version['19.2.0'] == by_version['20.2.0']
