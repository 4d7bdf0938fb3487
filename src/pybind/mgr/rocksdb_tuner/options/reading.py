"""The value of an option as RocksDB's parser reads it."""

from __future__ import annotations

import re

from .catalogue import Member, OptionInfo
from .structs import read_list, read_struct
from .values import Reading, ValueNotJudgedError, ValueRefusedError, ValueType, read_value

__all__ = ['major', 'read_member', 'read_members', 'read_object', 'read_option']


#: Without blanks and braces, which versions read differently.
_PLAIN_MEMBERS = re.compile(r'[a-z_0-9]+=[\w.-]+(?:;[a-z_0-9]+=[\w.-]+)*', re.ASCII)


def read_option(info: OptionInfo, value: str, measured_version: str) -> Reading:
    """Parse the value of an option of the catalog.

    The text of a struct is ``{member=value;...}`` with the members that are set. Raises
    `ValueRefusedError`, or `ValueNotJudgedError` if it is unknown whether the value is refused.
    """
    value_type, choices = info.value_type, info.choice_names(measured_version)
    modern = major(measured_version) >= 7
    if value_type is ValueType.STRUCT:
        members = read_members(info, value, measured_version)
        return Reading('{' + ';'.join(f'{k}={v}' for k, v in sorted(members.items())) + '}')
    if value_type is ValueType.INT_LIST:
        return Reading(read_list(value, ValueType.INT, (), trims=modern))
    if value_type is ValueType.ENUM_LIST:
        return Reading(read_list(value, ValueType.ENUM, choices, trims=modern))
    if value_type is ValueType.OBJECT:
        return read_object(info, value, measured_version)
    return read_value(value, value_type, choices)


def read_object(info: OptionInfo, value: str, version: str) -> Reading:
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


def read_member(info: OptionInfo, member: Member, value: str) -> Reading:
    """Parse a struct member that is given by name, as ``compression_opts.level`` (RocksDB 7)."""
    if member.value_type is None:
        return Reading(value)
    try:
        return read_value(value, member.value_type, tuple(c.name for c in member.choices))
    except ValueNotJudgedError:
        raise ValueNotJudgedError(
            f'the module cannot validate the form of {info.name}.{member.name}'
        ) from None


def read_members(info: OptionInfo, value: str, version: str) -> dict[str, str]:
    known = {m.name: m for m in info.members if version in m.defaults}
    return read_struct(
        info.name,
        value,
        {name: member.value_type for name, member in known.items()},
        {name: tuple(c.name for c in member.choices) for name, member in known.items()},
        major(version),
    )


def major(version: str) -> int:
    """The major version of RocksDB."""
    return int(version.partition('.')[0])
