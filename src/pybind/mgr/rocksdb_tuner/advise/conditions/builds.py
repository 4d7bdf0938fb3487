"""Conditions of OSD builds and releases that no option fixes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Optional

from ...options.releases import announced_release
from ...units import natural
from ..facts import release_of_osd
from ..records import FindingEvidence, OsdFacts
from .declaration import At, Case, case, each_osd


@each_osd('unoptimised-build')
def unoptimised_build(osd: OsdFacts, at: At) -> Iterator[Case]:
    """Debian and Ubuntu packages with RocksDB built without optimization."""
    version = numbers_of(osd.info.version)
    fixed = fixed_in(at['fixed'], version)
    if osd.info.distribution in at['distributions'] and fixed and version < numbers_of(fixed):
        evidence = FindingEvidence('ceph_version', osd.info.version, 'version')
        yield case(evidence, group=osd.info.version, version=osd.info.version, fixed=fixed)


def _between(osd: OsdFacts, at: At) -> Iterator[Case]:
    """Point releases with a known bug."""
    (since,), (fixed,) = at['since'], at['fixed']
    affected = numbers_of(since) <= numbers_of(osd.info.version) < numbers_of(fixed)
    if affected and (osd.info.main_rotational or 'rotational' not in at):
        yield case(FindingEvidence('fixed_in', fixed, 'version'))


deferred_write_regression = each_osd('deferred-write-regression')(_between)
misaligned_wal = each_osd('misaligned-wal')(_between)


@each_osd('unknown-release')
def unknown_release(osd: OsdFacts, _at: At) -> Iterator[Case]:
    """Most likely newer than the module."""
    version = osd.info.version
    # Without metadata the release may be a known one.
    if version is None or release_of_osd(osd.info) is not None:
        return
    evidence = [FindingEvidence('ceph_version', version, 'version')]
    announced = announced_release(version)
    if announced is not None:
        evidence += [
            FindingEvidence('rocksdb_version', announced.rocksdb_version, 'published'),
            FindingEvidence('bluestore_rocksdb_options', announced.options, 'published'),
        ]
    yield case(
        *evidence,
        group=version,
        variant='announced' if announced else 'unknown',
        version=version,
        label=announced.label if announced else None,
    )


def fixed_in(releases: Sequence[str], version: tuple[int, ...]) -> Optional[str]:
    """The one of ``releases`` with the major version of ``version``."""
    return next((text for text in releases if numbers_of(text)[:1] == version[:1]), None)


# Called for every OSD at every tick, with a handful of versions.
@lru_cache(maxsize=64)
def numbers_of(text: Optional[str]) -> tuple[int, ...]:
    """(16, 2, 15) for "16.2.15-1"; empty, and below all others, if it is no version."""
    numbers = (text or '').split('-')[0].split('.')
    found = tuple(natural(n) for n in numbers)
    return () if None in found else tuple(n for n in found if n is not None)
