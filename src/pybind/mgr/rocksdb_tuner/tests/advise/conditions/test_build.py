"""Conditions of builds: known by the version, silent where it is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from .builders import found, seen


@pytest.mark.parametrize(
    ('version', 'distribution', 'fixed'),
    [
        ('16.2.14', 'debian', '16.2.15'),
        ('16.2.15', 'debian', None),
        ('17.2.7', 'ubuntu', '17.2.8'),
        ('17.2.8', 'ubuntu', None),
        ('18.2.2', 'debian', '18.2.4'),
        ('18.2.4', 'debian', None),
        ('18.2.2', 'centos', None),
        ('18.2.2', None, None),
        ('19.2.0', 'debian', None),
        ('20.2.4', 'debian', None),
        (None, 'debian', None),
        ('main', 'debian', None),
        ('16.2.9-1', 'debian', '16.2.15'),
    ],
)
def test_packages_built_without_optimization(
    version: Optional[str], distribution: Optional[str], fixed: Optional[str]
) -> None:
    names = found(seen(info={'version': version, 'distribution': distribution}))
    assert ('unoptimised-build' in names) is (fixed is not None)
    if fixed is not None:
        assert fixed in names['unoptimised-build'].remedy


@pytest.mark.parametrize(
    ('version', 'rotational', 'fires'),
    [
        ('16.2.0', True, True),
        ('16.2.5', True, True),
        ('16.2.6', True, False),
        ('15.2.17', True, False),
        ('16.2.5', False, False),
        ('16.2.5', None, False),
        (None, True, False),
    ],
)
def test_the_deferred_writes_of_16_2_0_to_16_2_5(
    version: Optional[str], rotational: Optional[bool], fires: bool
) -> None:
    names = found(seen(info={'version': version, 'main_rotational': rotational}))
    assert ('deferred-write-regression' in names) is fires


@pytest.mark.parametrize(
    ('version', 'release', 'fires'),
    [
        ('16.2.15', 'pacific', False),
        ('20.2.4', 'tentacle', False),
        ('23.1.0', 'wombat', True),
        ('15.2.17', 'octopus', True),
        (None, None, False),
    ],
)
def test_unknown_release_is_reported_but_missing_metadata_is_not(
    version: Optional[str], release: Optional[str], fires: bool
) -> None:
    osd = seen()
    info = replace(osd.info, version=version, release=release)
    names = found(osd._replace(info=info))
    assert ('unknown-release' in names) is fires
    if fires:
        assert f'{version}' in names['unknown-release'].summary


def test_published_but_unmeasured_release_is_marked_as_such() -> None:
    finding = found(seen(0, 'umbrella', info={'version': '21.1.0'}))['unknown-release']
    assert 'Umbrella (21) was not measured' in finding.summary
    published = {e.signal: e.value for e in finding.evidence}
    assert published['rocksdb_version'] == '7.10'
    assert 'kLZ4Compression' in str(published['bluestore_rocksdb_options'])
    nobody = found(seen(0, 'zebra', info={'version': '99.1.0'}))['unknown-release']
    assert 'does not know' in nobody.summary


@pytest.mark.parametrize(
    ('version', 'fires'),
    [('20.2.0', True), ('20.2.2', True), ('20.2.3', False), ('19.2.3', False), (None, False)],
)
def test_wal_of_20_2_0_to_20_2_2_is_misaligned(version: Optional[str], fires: bool) -> None:
    assert ('misaligned-wal' in found(seen(info={'version': version}))) is fires
