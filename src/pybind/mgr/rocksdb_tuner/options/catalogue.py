"""The catalog of RocksDB options: type, default, bounds, risk.

Kept by RocksDB version (major and minor), since daemons of one cluster can run different ones
during an upgrade. For a version between two measured ones (Quincy's 6.15) it has what both
neighbors agree on, and nothing for a version outside the measured range.

Ceph options related to the option string, which are often changed together with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Literal, Optional

from ..kinds import Signed
from ..knowledge import loader
from ..notes import Among, Named, NotEmpty
from ..store.codec import OMITTABLE, decode
from ..units import format_bytes
from .values import ValueType

_VERSION = re.compile(r'(\d+)\.(\d+)(?:\.\d+)*', re.ASCII)
_PLAIN_NAME = re.compile(r'[\w.:-]*', re.ASCII)


class UnknownRocksDBVersionError(ValueError):
    """A RocksDB version outside the measured range."""


@dataclass(frozen=True)
class VersionFacts:
    """An option in one RocksDB version."""

    default: Annotated[
        Optional[str], 'Effective value if the option is unset; null: unknown, or several.'
    ]
    #: Whether the daemon parses the value; otherwise any text is valid.
    value_read: bool
    no_effect: Annotated[
        Optional[str], 'Why setting it has no effect in a Ceph daemon; null: it has one.'
    ]


@dataclass(frozen=True)
class Bounds:
    """RocksDB silently clamps the value to these, both inclusive."""

    minimum: Annotated[int, 'RocksDB raises smaller values to this.']
    maximum: Annotated[Optional[int], 'RocksDB lowers larger values to this; null: unlimited.']
    exempt: Annotated[
        Optional[Annotated[int, Signed()]], 'Value that is not changed; null: none.'
    ] = field(default=None, metadata=OMITTABLE)


@dataclass(frozen=True)
class SaneRange:
    """Sensible values of an option."""

    minimum: Annotated[int, Signed(), 'Smallest sensible value.']
    maximum: Annotated[int, Signed(), 'Largest sensible value.']
    why: Annotated[str, 'Reason for the limits.']


@dataclass(frozen=True)
class Choice:
    """One value of an enum."""

    name: Annotated[str, 'The value as written in an option string.']
    #: As RocksDB prints it in a daemon's log.
    printed: str
    #: Whether an OSD starts with it; false for codecs that are not in Ceph's builds.
    starts: Annotated[bool, 'Whether an OSD starts with it.']
    since: Annotated[Optional[str], 'First RocksDB version with this value; null: all known.']


@dataclass(frozen=True)
class Danger:
    """Why setting an option is dangerous."""

    level: Annotated[
        Annotated[str, Among(('forbidden', 'caution'))],
        'Level; "forbidden": the module never sets it.',
    ]
    why: Annotated[str, 'Reason.']
    #: Harmless values without effect.
    harmless_values: tuple[str, ...] = field(default=(), metadata=OMITTABLE)


@dataclass(frozen=True)
class Member:
    """A member of a struct; RocksDB prints it as ``option.member``."""

    name: Annotated[str, 'Name of the member.']
    value_type: Annotated[
        Optional[ValueType], Named('type'), 'Type of its value; null: RocksDB ignores it.'
    ]
    defaults: Annotated[
        Mapping[str, str], 'Defaults by RocksDB version; the name is unknown to others.'
    ]
    choices: tuple[Choice, ...] = field(default=(), metadata=OMITTABLE)


@dataclass(frozen=True)
class ObjectRule:
    """Valid names of an object (a memtable, a comparator) in one version."""

    #: Regular expressions for the whole value.
    accepted: str
    refused: str
    #: For any other plain name; None: unknown.
    otherwise: Optional[bool]
    #: For a value with members, ``{id=...;...}``; None: unknown.
    with_members: Optional[bool]
    #: Types of the members of ``{member=value;...}`` whose values are checked.
    members: Mapping[str, ValueType] = field(default_factory=dict, metadata=OMITTABLE)

    def takes(self, value: str) -> Optional[bool]:
        """Whether a daemon opens its database with ``value``; None: unknown."""
        if re.fullmatch(self.refused, value, re.ASCII):
            return False
        if re.fullmatch(self.accepted, value, re.ASCII):
            return True
        if '=' in value or '{' in value:
            return self.with_members
        return self.otherwise if _PLAIN_NAME.fullmatch(value) or not self.otherwise else None


@dataclass(frozen=True)
class OptionInfo:
    """An option of the string."""

    name: Annotated[str, Named('option'), 'Name of the option.']
    scope: Annotated[
        Annotated[str, Among(('db', 'cf', 'ceph'))],
        '"db": the whole database; "cf": each column family; "ceph": a key of Ceph.',
    ]
    value_type: Annotated[ValueType, Named('type'), 'Type of its value.']
    unit: Annotated[Optional[str], 'Unit of its value; null: none.']
    versions: Annotated[
        Mapping[str, VersionFacts], 'By RocksDB version; the name is unknown to others.'
    ]
    bounds: Annotated[Optional[Bounds], 'RocksDB changes values outside of these; null: none.']
    sane: Annotated[Optional[SaneRange], 'Range of sensible values; null: unknown.']
    choices: Annotated[
        tuple[Choice, ...], Named('values'), 'Valid values, if it has a fixed set of them.'
    ]
    danger: Annotated[Optional[Danger], 'Danger of setting it; null: none.']
    assessed: Annotated[
        bool,
        Named('set_by_module'),
        'Whether the module may set it, because its effect is understood.',
    ]
    mutable_in_rocksdb: Annotated[
        bool, 'RocksDB can change it at runtime, but Ceph offers no way to do so.'
    ]
    needs_restart: Annotated[bool, 'Whether a change requires an OSD restart.']
    deprecated: Annotated[
        Optional[str], 'Version since which it is deprecated; null: not deprecated.'
    ]
    meaning: Annotated[str, 'Description of the option.']
    change_when: Annotated[str, NotEmpty(), 'When to change it.']
    leave_when: Annotated[str, NotEmpty(), 'When not to change it.']
    source: Annotated[str, 'Source of this information.']
    members: Annotated[tuple[Member, ...], 'Members, if it is a struct.'] = field(
        default=(), metadata=OMITTABLE
    )
    #: Of an object, by RocksDB version.
    object_rules: Mapping[str, ObjectRule] = field(default_factory=dict, metadata=OMITTABLE)

    def spelled(self, value: float) -> str:
        """Human-readable value: "16 MiB" for bytes."""
        return format_bytes(value) if self.unit == 'bytes' else str(value)

    def choice_names(self, version: str) -> tuple[str, ...]:
        """The values of an enum that this (measured) version knows."""
        return tuple(
            c.name for c in self.choices if c.since is None or _order(c.since) <= _order(version)
        )

    def member(self, name: str) -> Optional[Member]:
        return next((m for m in self.members if m.name == name), None)

    def choice(self, name: str) -> Optional[Choice]:
        return next((c for c in self.choices if c.name == name), None)


@dataclass(frozen=True)
class Catalogue:
    #: The versions that were measured, oldest first.
    measured_versions: tuple[str, ...]
    options: Mapping[str, OptionInfo]

    def versions_for(self, rocksdb_version: str) -> tuple[str, ...]:
        """The measured versions that together describe this one: itself, or its two neighbors.

        Accepts "7.9" as well as "7.9.2". Raises `UnknownRocksDBVersionError` for a version older or
        newer than all measured ones.
        """
        match = _VERSION.fullmatch(rocksdb_version)
        wanted = (int(match[1]), int(match[2])) if match else ()
        known = self.measured_versions
        below = [v for v in known if _order(v) <= wanted]
        above = [v for v in known if _order(v) >= wanted]
        if not below or not above:
            raise UnknownRocksDBVersionError(
                f'RocksDB {rocksdb_version!r} is unknown; known versions: {known[0]} to {known[-1]}'
            )
        return tuple(dict.fromkeys((below[-1], above[0])))

    def is_without_effect(self, name: str, rocksdb_version: str) -> bool:
        """Whether setting this option is known to change nothing, with any value."""
        versions = self.options[name].versions if name in self.options else {}
        facts = (versions.get(v) for v in self.versions_for(rocksdb_version))
        return all(known is not None and known.no_effect is not None for known in facts)


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """The catalog, read on first use and cached."""
    content = loader.load('options')
    options = [decode(OptionInfo, {**_NOT_NAMED, **entry}) for entry in content['options']]
    return Catalogue(
        tuple(content['rocksdb_versions']), {option.name: option for option in options}
    )


_NOT_NAMED: Mapping[str, object] = {'bounds': None, 'sane': None, 'choices': [], 'danger': None}


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split('.'))


@dataclass(frozen=True)
class RelatedOption:
    """A Ceph option outside the string."""

    name: Annotated[str, Named('option'), 'Name of the option.']
    value_type: Annotated[str, Named('type'), 'Type of its value.']
    unit: Annotated[Optional[str], 'Unit of its value; null: none.']
    defaults: Annotated[
        Mapping[str, Optional[str]], 'Defaults by release; null: the release has no such option.'
    ]
    takes_effect: Annotated[
        Annotated[str, Among(('at-once', 'restart', 'mkfs'))],
        'When a change takes effect; "restart": at the next start of the OSD; "mkfs": only in '
        'new OSDs.',
    ]
    meaning: Annotated[str, 'Description of the option.']
    change_when: Annotated[str, NotEmpty(), 'When to change it.']
    leave_when: Annotated[str, NotEmpty(), 'When not to change it.']
    danger: Annotated[Optional[Danger], 'Danger of setting it; null: none.']
    source: Annotated[str, 'Source of this information.']

    @property
    def scope(self) -> Annotated[Literal['neighbour'], 'A related Ceph option.']:
        return 'neighbour'


@lru_cache(maxsize=1)
def related_options() -> Mapping[str, RelatedOption]:
    """All known related options, by name."""
    entries = loader.load('related_options')['related_options']
    return {entry['name']: decode(RelatedOption, entry) for entry in entries}


#: The name of a compression, as in option strings (rocksdb/convenience.h).
NO_COMPRESSION = 'kNoCompression'
