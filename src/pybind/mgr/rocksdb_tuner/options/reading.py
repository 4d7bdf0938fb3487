"""The options of a string as a version of RocksDB reads them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple, Optional

from .catalogue import Member, OptionInfo, VersionFacts, catalogue
from .syntax import OptionSet
from .values import (
    Reading,
    ValueNotJudgedError,
    ValueRefusedError,
    ValueType,
    read_list,
    read_struct,
    read_value,
)

#: Without blanks and braces, which versions read differently.
_PLAIN_MEMBERS = re.compile(r'[a-z_0-9]+=[\w.-]+(?:;[a-z_0-9]+=[\w.-]+)*', re.ASCII)


class Piece(NamedTuple):
    """One option of a string, or one member of a struct (``compression_opts.level``)."""

    name: str
    written: str
    #: None: not in the catalog.
    info: Optional[OptionInfo]
    member: Optional[Member]
    #: None for a member, and for a name that the version does not know.
    facts: Optional[VersionFacts]
    #: None if the value is refused, or not read.
    reading: Optional[Reading]
    refusal: Optional[ValueRefusedError]


# A check reads each string several times.
@lru_cache(maxsize=64)
def pieces(option_set: OptionSet, version: str) -> tuple[Piece, ...]:
    """All options of a set as this (measured) version reads them."""
    return tuple(_piece(name, written, version) for name, written in option_set)


def _piece(name: str, written: str, version: str) -> Piece:
    base, dot, rest = name.partition('.')
    info = catalogue().options.get(name)
    facts = info.versions.get(version) if info else None
    member, reading, refusal = None, None, None
    if dot and major(version) >= 7:
        struct = catalogue().options.get(base)
        member = struct.member(rest) if struct else None
        member = member if member and version in member.defaults else None
    try:
        if member is not None:
            reading = _read_member(name, member, written)
        elif info is not None and facts is not None and facts.value_read:
            reading = read_option(info, written, version)
    except ValueRefusedError as error:
        refusal = error
    return Piece(name, written, info, member, facts, reading, refusal)


def read_option(info: OptionInfo, value: str, measured_version: str) -> Reading:
    """Parse the value of an option of the catalog.

    The text of a struct is ``{member=value;...}`` with the members that are set. Raises
    `ValueRefusedError`, or `ValueNotJudgedError` if it is unknown whether the value is refused.
    """
    value_type, choices = info.value_type, info.choice_names(measured_version)
    modern = major(measured_version) >= 7
    if value_type is ValueType.STRUCT:
        known = {m.name: m for m in info.members if measured_version in m.defaults}
        members = read_struct(
            info.name,
            value,
            {name: member.value_type for name, member in known.items()},
            {name: _names(member) for name, member in known.items()},
            major(measured_version),
        )
        text = '{' + ';'.join(f'{k}={v}' for k, v in sorted(members.items())) + '}'
        return Reading(text, members=members)
    if value_type is ValueType.INT_LIST:
        return Reading(read_list(value, ValueType.INT, (), trims=modern))
    if value_type is ValueType.ENUM_LIST:
        return Reading(read_list(value, ValueType.ENUM, choices, trims=modern))
    if value_type is ValueType.OBJECT:
        return _read_object(info, value, measured_version)
    return read_value(value, value_type, choices)


def _read_object(info: OptionInfo, value: str, version: str) -> Reading:
    rule = info.object_rules[version]
    taken = rule.takes(value)
    if taken is None and rule.members and _PLAIN_MEMBERS.fullmatch(value):
        # The last value of a member wins.
        given = dict(piece.split('=') for piece in value.split(';'))
        taken = given.keys() <= rule.members.keys() or None
        for member, text in given.items() if taken else ():
            read_value(text, rule.members[member])
    if taken is None:
        raise ValueNotJudgedError(f'the module cannot validate the form of {value!r}')
    if not taken:
        raise ValueRefusedError(f'RocksDB {version} cannot open a database with {value!r}')
    return Reading(value)


def _read_member(name: str, member: Member, value: str) -> Reading:
    if member.value_type is None:
        return Reading(value)
    try:
        return read_value(value, member.value_type, _names(member))
    except ValueNotJudgedError:
        raise ValueNotJudgedError(f'the module cannot validate the form of {name}') from None


def _names(member: Member) -> tuple[str, ...]:
    return tuple(choice.name for choice in member.choices)


def major(version: str) -> int:
    """The major version of RocksDB."""
    return int(version.partition('.')[0])
