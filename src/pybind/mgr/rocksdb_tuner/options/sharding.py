"""`bluestore_rocksdb_cfs`: BlueStore's sharding into column families.

The grammar is that of RocksDBStore::parse_sharding_def() (src/kv/RocksDBStore.cc), which parses
numbers with strtol() and is therefore lenient: it accepts blanks before a number, and anything
after the ")". An OSD reads it once, at creation; later only `ceph-bluestore-tool reshard` changes
its column families.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .syntax import OptionSet, parse

#: Ceph's own, besides RocksDB's options of a column family.
_BLOCK_CACHE = 'block_cache'
_NUMBER = re.compile(r'[ \t\n\v\f\r]*([+-]?)0*(\d+)', re.ASCII)
_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1
_LONG_DIGITS = 20
_UINT32_SPAN = 1 << 32
_UINT32_MAX = _UINT32_SPAN - 1


class ShardingSyntaxError(ValueError):
    """A definition that Ceph cannot parse; ``position``: in characters from 0."""

    def __init__(self, text: str, position: int, expected: str) -> None:
        super().__init__(
            f'at character {position}, {text[position : position + 20]!r}: expected {expected}, as '
            'in "m(3) p(3,0-12) L=min_write_buffer_number_to_merge=32"'
        )
        self.position = position


@dataclass(frozen=True)
class ShardedColumn:
    """One key prefix, with its number of column families."""

    name: str
    shards: int
    #: Range of key characters that are hashed; the end is excluded.
    hash_low: int = 0
    hash_high: int = _UINT32_MAX
    #: Verbatim: RocksDB options, and Ceph's block_cache.
    options: str = ''


def parse_sharding(text: str) -> tuple[ShardedColumn, ...]:
    """Parse a definition like Ceph; raises ShardingSyntaxError if Ceph cannot."""
    return tuple(_columns(text))


def _columns(text: str) -> Iterator[ShardedColumn]:
    start = 0
    while start < len(text):
        blank = text.find(' ', start)
        end = len(text) if blank < 0 else blank
        definition, _, options = text[start:end].partition('=')
        name, bracket, _ = definition.partition('(')
        if bracket:
            yield _sharded(text, name, start + len(name) + 1, options)
        else:
            yield ShardedColumn(name, 1, options=options)
        start = end + 1


def _sharded(text: str, name: str, position: int, options: str) -> ShardedColumn:
    # strtol() reads the whole text, not only this piece.
    shards, position = _number(text, position)
    low, high = 0, _UINT32_MAX
    if text.startswith(',', position):
        low, position = _number(text, position + 1)
        if not text.startswith('-', position):
            raise ShardingSyntaxError(text, position, '"-"')
        position += 1
        if _NUMBER.match(text, position):
            high, position = _number(text, position)
    if not text.startswith(')', position):
        raise ShardingSyntaxError(text, position, '")"')
    return ShardedColumn(name, shards, low % _UINT32_SPAN, high % _UINT32_SPAN, options)


def _number(text: str, position: int) -> tuple[int, int]:
    match = _NUMBER.match(text, position)
    if match is None:
        raise ShardingSyntaxError(text, position, 'a whole number')
    # strtol() clamps to the range of a long.
    digits = match[2] if len(match[2]) <= _LONG_DIGITS else '9' * _LONG_DIGITS
    return min(max(int(match[1] + digits), _LONG_MIN), _LONG_MAX), match.end()


def options_of_column(column: ShardedColumn) -> OptionSet:
    """RocksDB's own options of a column, without Ceph's block_cache; raises OptionSyntaxError."""
    return OptionSet(tuple(i for i in parse(column.options).items if i[0] != _BLOCK_CACHE))
