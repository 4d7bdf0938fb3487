"""RocksDB version and default option string by Ceph release."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Mapping, Optional

from ..knowledge import loader
from ..notes import Named

_VERSION = re.compile(r'(?:ceph version )?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?!\d)', re.ASCII)


@dataclass(frozen=True)
class KnownRelease:
    """A range of point releases that share RocksDB and default options."""

    name: Annotated[str, Named('release'), 'Name of the release.']
    #: The first point release with these defaults, "18.2.4".
    since: Annotated[str, 'First point release with these defaults.']
    #: Major and minor number of the RocksDB built in, "7.9".
    rocksdb_version: Annotated[str, 'Version of its RocksDB.']
    default_options: str
    default_annex: str
    default_cfs: str
    #: "measured" on a running daemon, "published", or "inferred".
    confidence: str
    source: str

    @property
    def label(self) -> str:
        """Display name: "Reef (from 18.2.4)"."""
        return f'{self.name.capitalize()} (from {self.since})'


@dataclass(frozen=True)
class AnnouncedRelease:
    """A published release without measurements."""

    #: "umbrella"
    name: str
    major: int
    rocksdb_version: str
    #: The published default option string.
    options: str
    source: str
    #: The closest measured release.
    judge_as: str

    @property
    def label(self) -> str:
        return f'{self.name.capitalize()} ({self.major})'


@dataclass(frozen=True)
class _Line:
    """The stable releases of one name, "reef" or 18.2."""

    name: str
    numbers: tuple[int, int]
    counters_measured: bool
    renamed_counters: Mapping[str, Optional[str]]
    #: Oldest first.
    releases: tuple[KnownRelease, ...]


def release_of(version_short: Optional[str], release: Optional[str]) -> Optional[KnownRelease]:
    """The release of a daemon, from `ceph_version_short` and `ceph_release` of its metadata.

    None if unknown: a newer release, a development version, or a name without a version if the
    defaults changed between point releases. The version takes precedence.
    """
    match = _VERSION.match(version_short) if version_short else None
    if match:
        numbers = (int(match[1]), int(match[2]), int(match[3]))
        line = next((line for line in _lines() if line.numbers == numbers[:2]), None)
        candidates = line.releases if line else ()
        return next((r for r in reversed(candidates) if _numbers(r.since) <= numbers), None)
    line = next((line for line in _lines() if line.name == release), None)
    return line.releases[0] if line and len(line.releases) == 1 else None


def renamed_counters(release: Optional[str]) -> Mapping[str, Optional[str]]:
    """Counters with a different path in this release than in the newest: field name to path.

    None: the release does not send it by default.
    """
    line = next((line for line in _lines() if line.name == release), None)
    return line.renamed_counters if line else {}


@lru_cache(maxsize=16)
def counters_measured(release: Optional[str]) -> bool:
    """Whether the counter names of this release were measured."""
    return any(line.counters_measured for line in _lines() if line.name == release)


def renamed_in_any_release() -> Mapping[str, str]:
    """Counters with a different path in any older release: field name to that path."""
    return {
        field: path for line in _lines() for field, path in line.renamed_counters.items() if path
    }


def known_releases() -> tuple[KnownRelease, ...]:
    """All known releases, oldest first."""
    return tuple(release for line in _lines() for release in line.releases)


@lru_cache(maxsize=1)
def announced_releases() -> tuple[AnnouncedRelease, ...]:
    """Published releases without measurements."""
    return tuple(
        AnnouncedRelease(
            name=entry['name'],
            major=entry['major'],
            rocksdb_version=entry['rocksdb_version'],
            options=entry['options'],
            source=entry['rocksdb_source'],
            judge_as=entry['judge_as'],
        )
        for entry in loader.load('releases')['announced']
    )


def announced_release(text: Optional[str]) -> Optional[AnnouncedRelease]:
    """By name, or by a version such as "21.1.0"; None if nothing is published."""
    major = (text or '').partition('.')[0].lower()
    return next((r for r in announced_releases() if major in (r.name, str(r.major))), None)


@lru_cache(maxsize=1)
def _lines() -> tuple[_Line, ...]:
    return tuple(
        _Line(
            name=entry['name'],
            numbers=_numbers(entry['version'])[:2],
            counters_measured=entry['counters_measured_on'] is not None,
            renamed_counters=entry['renamed_counters'],
            releases=tuple(
                KnownRelease(
                    name=entry['name'],
                    since=default['since'],
                    rocksdb_version=entry['rocksdb_version'],
                    default_options=default['options'],
                    default_annex=default['annex'],
                    default_cfs=default['cfs'],
                    confidence=default['confidence'],
                    source=default['source'],
                )
                for default in entry['defaults']
            ),
        )
        for entry in loader.load('releases')['releases']
    )


def _numbers(version: str) -> tuple[int, int, int]:
    numbers = [int(part) for part in version.split('.')]
    return (numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 0)
