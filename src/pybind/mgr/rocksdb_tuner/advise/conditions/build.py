"""Conditions of OSD builds and releases that no option fixes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Optional

from ...options.releases import AnnouncedRelease, announced_release
from ...units import natural
from ..facts import release_of_osd
from ..naming import name_osds
from ..records import Finding, FindingEvidence
from .declaration import Condition, condition
from .facts import ClusterFacts

_Version = tuple[int, ...]


@condition('unoptimised-build')
def unoptimised_build(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Debian and Ubuntu packages with RocksDB built without optimization."""
    fixed = {numbers_of(text)[:1]: text for text in condition.values['fixed']}
    affected: dict[tuple[str, str], list[int]] = {}
    for osd in cluster.osds:
        text = osd.info.version
        if text is None or osd.info.distribution not in condition.values['distributions']:
            continue
        number = numbers_of(text)
        needed = fixed.get(number[:1])
        if needed is not None and number < numbers_of(needed):
            affected.setdefault((text, needed), []).append(osd.info.osd_id)
    for (text, needed), ids in affected.items():
        yield condition.finding(
            f'{name_osds(ids)} run {text} from packages of their distribution, whose RocksDB was '
            'probably built without optimization',
            tuple(ids),
            (FindingEvidence('ceph_version', text, 'version', None),),
            fixed=needed,
        )


@condition('deferred-write-regression')
def deferred_write_regression(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """Point releases that defer all writes to HDDs through RocksDB."""
    (since,), (fixed,) = condition.values['since'], condition.values['fixed']
    ids = [
        osd.info.osd_id
        for osd in cluster.osds
        if osd.info.main_rotational
        and osd.info.version is not None
        and numbers_of(since) <= numbers_of(osd.info.version) < numbers_of(fixed)
    ]
    if ids:
        yield condition.finding(
            f'{name_osds(ids)} send all writes through RocksDB',
            tuple(ids),
            (FindingEvidence('fixed_in', fixed, 'version', None),),
        )


@condition('unknown-release')
def unknown_release(cluster: ClusterFacts, condition: Condition) -> Iterable[Finding]:
    """OSDs of an unknown release, most likely newer than the module."""
    unknown: dict[str, list[int]] = {}
    for osd in cluster.osds:
        # Without metadata the release may be a known one.
        if osd.info.version is not None and release_of_osd(osd.info) is None:
            unknown.setdefault(osd.info.version, []).append(osd.info.osd_id)
    for version, ids in unknown.items():
        announced = announced_release(version)
        yield condition.finding(
            f'{name_osds(ids)} run {version}, which this version of the module does not know'
            if announced is None
            else f'{name_osds(ids)} run {version}: {announced.label} was not measured with this '
            'version of the module',
            tuple(ids),
            (
                FindingEvidence('ceph_version', version, 'version', None),
                *_published_of(announced),
            ),
        )


def _published_of(announced: Optional[AnnouncedRelease]) -> tuple[FindingEvidence, ...]:
    if announced is None:
        return ()
    return (
        FindingEvidence('rocksdb_version', announced.rocksdb_version, 'published', None),
        FindingEvidence('bluestore_rocksdb_options', announced.options, 'published', None),
    )


# Called for every OSD at every tick, with a handful of versions.
@lru_cache(maxsize=64)
def numbers_of(text: Optional[str]) -> _Version:
    """(16, 2, 15) for "16.2.15-1"; empty, and below all others, if it is no version."""
    numbers = (text or '').split('-')[0].split('.')
    found = tuple(natural(n) for n in numbers)
    return () if None in found else tuple(n for n in found if n is not None)
