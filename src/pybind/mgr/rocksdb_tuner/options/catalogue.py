"""What is known of every RocksDB option: how it is read, its default, its bounds, its danger.

Kept by RocksDB version (major and minor), since daemons of one cluster can run different ones
during an upgrade. A version between two measured ones (Quincy's 6.15) is described by what both
neighbours agree on; nothing is claimed of a version outside the measured range.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Mapping, Optional

from ..knowledge import loader
from .values import ValueType

__all__ = [
    'Bounds',
    'Catalogue',
    'Choice',
    'Danger',
    'OptionInfo',
    'SaneRange',
    'UnknownRocksDBVersionError',
    'VersionFacts',
    'catalogue',
]

_VERSION = re.compile(r'(\d+)\.(\d+)(?:\.\d+)*')


class UnknownRocksDBVersionError(ValueError):
    """A RocksDB version outside the range that was measured."""


@dataclass(frozen=True)
class VersionFacts:
    """What holds of an option in one RocksDB version."""

    #: Effective value where the option is not set; None where it is not known, or is no one text.
    default: Optional[str]
    #: Whether the daemon reads the value at all; it takes any text where it does not.
    value_read: bool
    #: Why setting it changes nothing in a Ceph daemon; None where it has an effect.
    no_effect: Optional[str]


@dataclass(frozen=True)
class Bounds:
    """RocksDB silently moves the value into these, both inclusive; None is no bound."""

    minimum: Optional[int]
    maximum: Optional[int]
    #: A value that is left alone.
    exempt: Optional[int]


@dataclass(frozen=True)
class SaneRange:
    """Outside of these, both inclusive, the module calls a value dangerous."""

    minimum: int
    maximum: int
    why: str


@dataclass(frozen=True)
class Choice:
    """One value of an enum."""

    name: str
    #: As RocksDB prints it in a daemon's log.
    printed: str
    #: An OSD starts with it; false for codecs that Ceph's builds leave out.
    starts: bool
    #: The RocksDB version that brought it, None where all known ones have it.
    since: Optional[str]


@dataclass(frozen=True)
class Danger:
    #: "forbidden" or "caution".
    level: str
    why: str
    #: Values that change nothing, and so harm nothing.
    harmless_values: tuple[str, ...]


@dataclass(frozen=True)
class OptionInfo:
    name: str
    #: "db" for the whole database, "cf" by column family, "ceph" for Ceph's own four.
    scope: str
    value_type: ValueType
    unit: Optional[str]
    #: By RocksDB version; the name is unknown to versions that are not in it.
    versions: Mapping[str, VersionFacts]
    bounds: Optional[Bounds]
    sane: Optional[SaneRange]
    choices: tuple[Choice, ...]
    danger: Optional[Danger]
    #: Whether the module may set it at all: its effect on BlueStore is understood.
    assessed: bool
    needs_restart: bool
    meaning: str
    source: str

    def choice_names(self, version: str) -> tuple[str, ...]:
        """The values of an enum that this (measured) version knows."""
        return tuple(
            c.name for c in self.choices if c.since is None or _order(c.since) <= _order(version)
        )

    def choice(self, name: str) -> Optional[Choice]:
        return next((c for c in self.choices if c.name == name), None)


@dataclass(frozen=True)
class Catalogue:
    #: The versions that were measured, oldest first.
    measured_versions: tuple[str, ...]
    options: Mapping[str, OptionInfo]

    def versions_for(self, rocksdb_version: str) -> tuple[str, ...]:
        """The measured versions that together describe this one: itself, or its two neighbours.

        Takes "7.9" as well as "7.9.2". Raises `UnknownRocksDBVersionError` for one that is older
        or newer than all measured ones.
        """
        match = _VERSION.fullmatch(rocksdb_version)
        wanted = (int(match[1]), int(match[2])) if match else None
        known = self.measured_versions
        for version in known:
            if _order(version) == wanted:
                return (version,)
        if wanted and _order(known[0]) < wanted < _order(known[-1]):
            below = max((v for v in known if _order(v) < wanted), key=_order)
            above = min((v for v in known if _order(v) > wanted), key=_order)
            return (below, above)
        raise UnknownRocksDBVersionError(
            f'RocksDB {rocksdb_version!r} is not known; known are {known[0]} to {known[-1]}'
        )

    def get(self, name: str, rocksdb_version: str) -> Optional[OptionInfo]:
        """The option, None where (a neighbour of) this version does not know the name."""
        info = self.options.get(name)
        if info and all(v in info.versions for v in self.versions_for(rocksdb_version)):
            return info
        return None

    def is_without_effect(self, name: str, rocksdb_version: str) -> bool:
        """Whether setting this option is known to change nothing, whatever the value."""
        info = self.get(name, rocksdb_version)
        return info is not None and all(
            info.versions[v].no_effect is not None for v in self.versions_for(rocksdb_version)
        )


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """The catalogue, read on first use and kept."""
    content = loader.load('options')
    options = [_option(entry) for entry in content['options']]
    return Catalogue(
        measured_versions=tuple(content['rocksdb_versions']),
        options={option.name: option for option in options},
    )


def _option(entry: Mapping[str, Any]) -> OptionInfo:
    clamped, sane, danger = entry.get('clamped_to'), entry.get('sane'), entry.get('danger')
    return OptionInfo(
        name=entry['name'],
        scope=entry['scope'],
        value_type=ValueType(entry['type']),
        unit=entry['unit'],
        versions={
            version: VersionFacts(facts['default'], facts['value_read'], facts['no_effect'])
            for version, facts in entry['versions'].items()
        },
        bounds=Bounds(clamped['minimum'], clamped['maximum'], clamped.get('except'))
        if clamped
        else None,
        sane=SaneRange(sane['minimum'], sane['maximum'], sane['why']) if sane else None,
        choices=tuple(
            Choice(c['name'], c['printed'], c['starts'], c['since'])
            for c in entry.get('values', ())
        ),
        danger=Danger(danger['level'], danger['why'], tuple(danger['harmless_values']))
        if danger
        else None,
        assessed=entry['assessed'],
        needs_restart=entry['needs_restart'],
        meaning=entry['meaning'],
        source=entry['source'],
    )


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split('.'))
