"""Compound values: lists, and structs such as ``compression_opts``.

RocksDB 6 and 7 parse them with different code, and both accept unexpected spellings
(ParseCompressionOptions(), ParseStructOptions() and OptionTypeInfo::ParseStruct() in
facebook/rocksdb options/; the recordings of `tests/options` show the behavior of the binaries).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Mapping, Optional

from .syntax import BLANKS, split_piece
from .values import ValueRefusedError, ValueType, read_value

__all__ = ['MemberTypes', 'read_list', 'read_struct']

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
    pieces = []
    for piece in value.removeprefix('{').split(';'):
        if piece.startswith('}'):
            break
        pieces.append(piece)
    if pieces and pieces[-1] == '':
        pieces.pop()
    found = []
    for piece in pieces:
        member, equals, text = piece.partition('=')
        # Without "=" RocksDB looks for a member with the name of the whole piece.
        found.append((member, text if equals else piece))
    return found


def _without_braces(value: str) -> str:
    """Strip braces like RocksDB 7: all of them, but "{}" is kept."""
    inner, rest = value, value.strip(BLANKS)
    while len(rest) > 2 and rest[0] == '{' and rest[-1] == '}':
        inner = rest[1:-1]
        rest = inner.strip(BLANKS)
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
    if 'parallel_threads' in names and len(pieces) == names.index('parallel_threads') + 1:
        names[-1] = 'enabled'
    found = {}
    for member, piece in zip(names, pieces):
        member_type = ValueType.INT
        if member in ('enabled', 'use_zstd_dict_trainer'):
            member_type = ValueType.BOOL
        elif member == 'max_dict_buffer_bytes':
            member_type = ValueType.UINT64
        text = read_value(piece, member_type).text
        if member in unsigned:
            # Parsed as an int.
            text = str(int(text) % _UINT32_SPAN)
        found[member] = text
    return found
