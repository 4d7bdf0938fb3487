"""How RocksDB and Ceph read one value of an option string.

RocksDB's parser is far more lenient than an operator expects: ``4.5G`` is 4, ``64 MB`` is 64,
``-1`` for an unsigned option is 2**64 - 1, and ``3G`` for an int wraps to a negative number. These
rules were measured on 16.2.15 (RocksDB 6.8), 18.2.7 and 20.2.4 (7.9), as recorded in
`tests/options/data`. `structs` parses values with several members.

Compound values: lists, and structs such as ``compression_opts``.

RocksDB 6 and 7 parse them with different code, and both accept unexpected spellings
(ParseCompressionOptions(), ParseStructOptions() and OptionTypeInfo::ParseStruct() in
facebook/rocksdb options/; the recordings of `tests/options` show the behavior of the binaries).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from itertools import takewhile
from typing import Optional

from .syntax import BLANKS, split_piece, without_braces


class ValueType(str, Enum):
    """How the value of an option is read."""

    UINT64 = 'uint64'
    UINT32 = 'uint32'
    UINT8 = 'uint8'
    INT = 'int'
    INT64 = 'int64'
    DOUBLE = 'double'
    BOOL = 'bool'
    ENUM = 'enum'
    STRING = 'string'
    #: Elements with ":" between them.
    INT_LIST = 'int-list'
    ENUM_LIST = 'enum-list'
    STRUCT = 'struct'
    #: A RocksDB component by name; its syntax is only partly known.
    OBJECT = 'object'
    #: Ceph's own numbers: digits and an IEC suffix, nothing else.
    CEPH_COUNT = 'ceph-count'
    #: Ceph's own booleans: true or false in any case, or an integer.
    CEPH_BOOL = 'ceph-bool'


class ValueRefusedError(ValueError):
    """A value with which the database does not open, so the OSD does not start."""


class ValueNotJudgedError(ValueRefusedError):
    """A value of a form that is not modeled here: whether it is refused is unknown."""


@dataclass(frozen=True)
class Reading:
    """A parsed value: its canonical text, and its number if it is one."""

    text: str
    number: Optional[float] = None
    #: How the value differs from its text, in a sentence; None if it does not.
    surprise: Optional[str] = None
    #: Of a struct: the members that are set.
    members: Mapping[str, str] = field(default_factory=dict)


# strtoull() and strtol() skip C's blanks and take a sign.
_INTEGER = re.compile(r'[ \t\n\v\f\r]*([+-]?)0*(\d+)', re.ASCII)
_DOUBLE = re.compile(
    r'[ \t\n\v\f\r]*([+-]?(?:0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?\d+)?'
    r'|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?|nan(?:\(\w*\))?))',
    re.ASCII | re.IGNORECASE,
)
_BINARY_SHIFT = {'k': 10, 'm': 20, 'g': 30, 't': 40}
# Operators write 2MB and 2MiB for RocksDB's 2M; the result is the same.
_USUAL_SUFFIX = re.compile(r'(?:[kmgt](?:i?b)?)?', re.IGNORECASE)
_CEPH_COUNT = re.compile(r'([+]?)0*(\d+)(?:(B)|([KMGTPE])i?)?', re.ASCII)
_CEPH_SHIFT = {'K': 10, 'M': 20, 'G': 30, 'T': 40, 'P': 50, 'E': 60}
_UINT64_SPAN = 1 << 64
_BOOLS = {'true': ('true', 1), '1': ('true', 1), 'false': ('false', 0), '0': ('false', 0)}
#: Digits of the largest 64-bit number; Python refuses to parse numbers of thousands of digits.
_MOST_DIGITS = 20


def read_value(value: str, value_type: ValueType, choices: tuple[str, ...] = ()) -> Reading:
    """Parse a value like the daemon; raises `ValueRefusedError` if the daemon refuses it.

    ``choices`` are the names of an enum. ``Reading.text`` is equal for two values that mean the
    same: ``2MB``, ``2m`` and ``2097152`` all give ``2097152``.
    """
    if value_type is ValueType.ENUM:
        if value not in choices:
            raise ValueRefusedError(f'{value!r} is not one of {", ".join(choices)}')
        return Reading(value)
    if value_type in _COMPOUND_TYPES:
        raise ValueNotJudgedError(f'{value!r} cannot be validated without a RocksDB version')
    if value_type in INTEGER_TYPES:
        return _read_integer(value, value_type)
    return _READERS[value_type](value)


def _read_bool(value: str) -> Reading:
    if value not in _BOOLS:
        raise ValueRefusedError(f'{value!r} is not one of true, false, 1, 0 (lowercase)')
    return Reading(*_BOOLS[value])


def _read_ceph_bool(value: str) -> Reading:
    lowered = value.lower()
    if lowered in ('true', 'false'):
        return Reading(lowered, int(lowered == 'true'))
    match = re.fullmatch(r'([+-]?)0*(\d{1,20})', value, re.ASCII)
    number = int(match[1] + match[2]) if match else None
    if number is None or number != _wrapped(number, 32):
        raise ValueRefusedError(f'{value!r} is neither true, false nor an integer')
    return Reading('true' if number else 'false', int(bool(number)))


def _read_ceph_count(value: str) -> Reading:
    match = _CEPH_COUNT.fullmatch(value)
    if not match:
        raise ValueRefusedError(f'{value!r} is not a number such as 4 or 4K')
    digits = match[2] if len(match[2]) <= _MOST_DIGITS else '9' * _MOST_DIGITS
    number = int(digits) << _CEPH_SHIFT.get(match[4] or '', 0)
    if int(digits) >= 1 << 63 or number >= _UINT64_SPAN:
        raise ValueRefusedError(f'{value!r} is too large')
    # Ceph stores it in an int.
    kept = _wrapped(number, 32)
    surprise = None if kept == number else f'{value!r} does not fit and becomes {kept}'
    return Reading(str(kept), kept, surprise)


def _read_double(value: str) -> Reading:
    match = _DOUBLE.match(value)
    if not match:
        raise ValueRefusedError(f'{value!r} is not a number')
    text = match[1]
    lowered = text.lower()
    if 'nan' in lowered:
        number = math.nan
    elif 'x' in lowered:
        try:
            number = float.fromhex(text)
        except OverflowError:
            raise ValueRefusedError(f'{value!r} is too large') from None
    else:
        number = float(text)
    if math.isinf(number) and 'inf' not in lowered:
        raise ValueRefusedError(f'{value!r} is too large')
    mantissa = lowered.partition('p' if 'x' in lowered else 'e')[0]
    if number == 0 and re.search(r'[1-9a-f]', mantissa):
        raise ValueRefusedError(f'{value!r} is too small')
    surprise = None
    if match.end() < len(value):
        surprise = f'{value!r} is parsed as {number:g}: this option does not accept a suffix'
    elif not math.isfinite(number):
        surprise = f'{value!r} is parsed as a number'
    return Reading(f'{number:f}', number, surprise)


def _read_integer(value: str, value_type: ValueType) -> Reading:
    match = _INTEGER.match(value)
    if not match:
        raise ValueRefusedError(f'{value!r} is not an integer')
    bits, signed = _INTEGERS[value_type]
    does_not_fit = ValueRefusedError(f'{value!r} does not fit into {value_type.value}')
    if len(match[2]) > _MOST_DIGITS:
        raise does_not_fit
    written, rest = int(match[1] + match[2]), value[match.end() :]
    # strtoull() also accepts a sign, but the digits alone must fit.
    if abs(written) >= _UINT64_SPAN or (signed and written != _wrapped(written, bits)):
        raise does_not_fit
    suffix = rest[:1].lower()
    # "t" has no effect on a 32-bit int: RocksDB does not shift by 40 there.
    ignored = suffix == 't' and value_type is ValueType.INT
    shift = 0 if ignored else _BINARY_SHIFT.get(suffix, 0)
    meant = written << shift
    kept = _wrapped(meant, bits) if signed else meant % _UINT64_SPAN
    if not signed and kept >> bits:
        raise does_not_fit
    surprise = None
    if kept != meant:
        surprise = f'{value!r} wraps around to {kept}'
    elif rest and not (shift and _USUAL_SUFFIX.fullmatch(rest)):
        surprise = f'{value!r} is parsed as {kept}: text after the number is ignored'
    return Reading(str(kept), kept, surprise)


def _wrapped(number: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (number + half) % (1 << bits) - half


#: Bits of each type of integer, and whether it is signed.
_INTEGERS = {
    ValueType.UINT64: (64, False),
    ValueType.UINT32: (32, False),
    ValueType.UINT8: (8, False),
    ValueType.INT: (32, True),
    ValueType.INT64: (64, True),
}
INTEGER_TYPES = frozenset(_INTEGERS)
_COMPOUND_TYPES = (
    ValueType.INT_LIST,
    ValueType.ENUM_LIST,
    ValueType.STRUCT,
    ValueType.OBJECT,
)
_READERS: Mapping[ValueType, Callable[[str], Reading]] = {
    ValueType.STRING: Reading,
    ValueType.BOOL: _read_bool,
    ValueType.DOUBLE: _read_double,
    ValueType.CEPH_BOOL: _read_ceph_bool,
    ValueType.CEPH_COUNT: _read_ceph_count,
}


#: Type of each member that a version knows; None for a member that it accepts and ignores.
MemberTypes = Mapping[str, Optional[ValueType]]

_COMPRESSION_FIELDS = ('window_bits', 'level', 'strategy', 'max_dict_bytes', 'zstd_max_train_bytes')
_FIELDS_OF_6 = (*_COMPRESSION_FIELDS, 'enabled')
_FIELDS_OF_7 = (
    *_COMPRESSION_FIELDS,
    *('parallel_threads', 'enabled', 'max_dict_buffer_bytes', 'use_zstd_dict_trainer'),
)
#: Fields that RocksDB shows as unsigned. Since 7 max_dict_bytes is shown as an int.
_UNSIGNED_OF_6 = frozenset({'max_dict_bytes', 'zstd_max_train_bytes'})
_UNSIGNED_OF_7 = frozenset({'zstd_max_train_bytes', 'parallel_threads'})
_LEAST_FIELDS = 3
_UINT32_SPAN = 1 << 32


# A check reads each list for several releases, and repeatedly for each.
@lru_cache(maxsize=32)
def read_list(value: str, element: ValueType, choices: tuple[str, ...], *, trims: bool) -> str:
    """A list with ":" between its elements, in canonical form; it may end with one ":".

    ``trims``: RocksDB 7 and later accept blanks around an element.
    """
    pieces = (_without_braces(value) if trims else value).split(':')
    if pieces[-1] == '':
        pieces.pop()
    if trims:
        pieces = [piece.strip(BLANKS) for piece in pieces]
    return ':'.join(read_value(piece, element, choices).text for piece in pieces)


def read_struct(
    name: str, value: str, members: MemberTypes, choices: Mapping[str, tuple[str, ...]], major: int
) -> dict[str, str]:
    """The members that ``value`` sets; raises `ValueRefusedError`.

    ``choices`` are the names of the members that are enums.
    """
    if name.endswith('compression_opts') and (major < 7 or '=' not in value):
        if major < 7:
            return _read_positions(value, _FIELDS_OF_6, _UNSIGNED_OF_6)
        return _read_positions(value, _FIELDS_OF_7, _UNSIGNED_OF_7)
    if name == 'compaction_options_fifo' and '=' not in value:
        # An older form: a single number is the size.
        return {'max_table_files_size': read_value(value, ValueType.UINT64).text}
    pieces = _pieces_of_6(value) if major < 7 else _pieces_of_7(value)
    found: dict[str, str] = {}
    for member, text in pieces:
        if member not in members:
            raise ValueRefusedError(f'{name} has no member {member!r}')
        member_type = members[member]
        if member_type is not None:
            try:
                found[member] = read_value(text, member_type, choices.get(member, ())).text
            except ValueRefusedError as refusal:
                raise ValueRefusedError(f'{member}: {refusal}') from None
    return found


def _pieces_of_6(value: str) -> list[tuple[str, str]]:
    """Split like RocksDB 6: blanks belong to names and values, and it may end with one ";"."""
    pieces = value.removeprefix('{').split(';')
    kept = list(takewhile(lambda piece: not piece.startswith('}'), pieces))
    if kept and kept[-1] == '':
        kept.pop()
    split = [(piece, *piece.partition('=')) for piece in kept]
    # Without "=" RocksDB looks for a member with the name of the whole piece.
    return [(member, text if equals else piece) for piece, member, equals, text in split]


def _without_braces(value: str) -> str:
    """Strip braces like RocksDB 7."""
    rest, inner = without_braces(value)
    if inner and not rest:
        raise ValueRefusedError(f'{value!r} contains only whitespace')
    return rest


def _pieces_of_7(value: str) -> list[tuple[str, str]]:
    rest = _without_braces(value)
    found = []
    while rest:
        end = _end_of_piece(rest)
        split = split_piece(rest[:end])
        if split is None:
            raise ValueRefusedError(f'{rest[:end]!r} is not member=value')
        found.append(split)
        begin = end + 1
        rest = rest[begin:]
    return found


def _end_of_piece(text: str) -> int:
    """Position of the first ";" outside the braces of a value; else the end."""
    depth, in_value, braced = 0, False, False
    for place, mark in enumerate(text):
        if braced:
            if mark in '{}':
                depth += 1 if mark == '{' else -1
                braced = depth > 0
        elif mark == ';':
            return place
        elif mark == '=' and not in_value:
            in_value = True
            begin = place + 1
            braced = text[begin:].lstrip(BLANKS).startswith('{')
    return len(text)


def _read_positions(
    value: str, fields: tuple[str, ...], unsigned: frozenset[str]
) -> dict[str, str]:
    """The older form of compression options, by position: ``-14:32767:0:0:0:false``."""
    pieces = value.split(':')
    if not _LEAST_FIELDS <= len(pieces) <= len(fields):
        raise ValueRefusedError(
            f'{value!r} has {len(pieces)} parts; expected {_LEAST_FIELDS} to {len(fields)}'
        )
    names = list(fields[: len(pieces)])
    if names[-1] == 'parallel_threads':
        names[-1] = 'enabled'
    types = {
        **dict.fromkeys(('enabled', 'use_zstd_dict_trainer'), ValueType.BOOL),
        'max_dict_buffer_bytes': ValueType.UINT64,
    }
    found = {
        member: read_value(piece, types.get(member, ValueType.INT)).text
        for member, piece in zip(names, pieces)
    }
    # Parsed as an int.
    shown = {m: str(int(text) % _UINT32_SPAN) for m, text in found.items() if m in unsigned}
    return {**found, **shown}
