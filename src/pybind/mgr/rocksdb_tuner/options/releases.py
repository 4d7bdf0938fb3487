"""RocksDB version and default option string by Ceph release."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Mapping, Optional

from ..knowledge import loader
from ..notes import Named
from ..store.codec import decode

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

    name: str
    major: int
    rocksdb_version: str
    options: str
    source: str
    judge_as: str

    @property
    def label(self) -> str:
        return f'{self.name.capitalize()} ({self.major})'


@dataclass(frozen=True)
class _Line:
    """The stable releases of one name, "reef" or 18.2."""

    name: str
    version: str
    #: A point release; None: the names of the counters are those of the releases around it.
    counters_measured_on: Optional[str]
    renamed_counters: Mapping[str, Optional[str]]
    #: Releases with the same defaults, oldest first.
    defaults: tuple[KnownRelease, ...]


def release_of(version_short: Optional[str], release: Optional[str]) -> Optional[KnownRelease]:
    """The release of a daemon, from `ceph_version_short` and `ceph_release` of its metadata.

    None if unknown: a newer release, a development version, or a name without a version if the
    defaults changed between point releases. The version takes precedence.
    """
    match = _VERSION.match(version_short) if version_short else None
    if match:
        numbers = tuple(map(int, match.groups()))
        same = [r for n in _lines() if _numbers(n.version) == numbers[:2] for r in n.defaults]
        return next((r for r in reversed(same) if _numbers(r.since) <= numbers), None)
    line = _line(release)
    return line.defaults[0] if line and len(line.defaults) == 1 else None


def renamed_counters(release: Optional[str]) -> Mapping[str, Optional[str]]:
    """Counters with a different path in this release than in the newest: field name to path.

    None: the release does not send it by default.
    """
    line = _line(release)
    return line.renamed_counters if line else {}


def counters_measured(release: Optional[str]) -> bool:
    """Whether the counter names of this release were measured."""
    line = _line(release)
    return line is not None and line.counters_measured_on is not None


def renamed_in_any_release() -> Mapping[str, str]:
    """Counters with a different path in any older release: field name to that path."""
    return {
        field: path for line in _lines() for field, path in line.renamed_counters.items() if path
    }


def known_releases() -> tuple[KnownRelease, ...]:
    """All known releases, oldest first."""
    return tuple(release for line in _lines() for release in line.defaults)


@lru_cache(maxsize=1)
def announced_releases() -> tuple[AnnouncedRelease, ...]:
    """Published releases without measurements."""
    return tuple(decode(AnnouncedRelease, entry) for entry in loader.load('releases')['announced'])


def announced_release(text: Optional[str]) -> Optional[AnnouncedRelease]:
    """By name, or by a version such as "21.1.0"; None if nothing is published."""
    major = (text or '').partition('.')[0].lower()
    return next((r for r in announced_releases() if major in (r.name, str(r.major))), None)


@lru_cache(maxsize=1)
def _lines() -> tuple[_Line, ...]:
    return tuple(
        decode(_Line, {**entry, 'defaults': [{**entry, **row} for row in entry['defaults']]})
        for entry in loader.load('releases')['releases']
    )


@lru_cache(maxsize=16)
def _line(release: Optional[str]) -> Optional[_Line]:
    return next((line for line in _lines() if line.name == release), None)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split('.')))
