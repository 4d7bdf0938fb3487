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
from typing import Annotated

from ..notes import Count, Named
from .syntax import OptionSet, parse

#: Ceph's own, besides RocksDB's options of a column family.
_BLOCK_CACHE = 'block_cache'
_NUMBER = re.compile(r'[ \t\n\v\f\r]*([+-]?)0*(\d+)', re.ASCII)
_LONG_DIGITS = 20
DEFAULT = 'default'
#: Ceph has no upper bound; nobody uses more.
MAX_SHARDS = 1024


class ShardingSyntaxError(ValueError):
    """A definition that Ceph cannot parse; ``position``: in characters from 0."""

    def __init__(self, text: str, position: int, expected: str) -> None:
        super().__init__(
            f'at character {position}, {text[position : position + 20]!r}: expected {expected}, as '
            'in "m(3) p(3,0-12) L=min_write_buffer_number_to_merge=32"'
        )
        self.position = position


@dataclass(frozen=True)
class Column:
    """One column: the prefix of its keys, its shards, and its own RocksDB options."""

    name: Annotated[str, Named('column'), 'Name of the column; "default" for all other keys.']
    shards: Annotated[Count, 'Number of its column families.']
    options: OptionSet


def columns(text: str) -> tuple[Column, ...]:
    """The columns, "default" first, then in the order of the text.

    Raises ShardingSyntaxError if Ceph cannot parse it, OptionSyntaxError for the options of a
    column.
    """
    return (Column(DEFAULT, 1, OptionSet(())), *_columns(text))


def _columns(text: str) -> Iterator[Column]:
    start = 0
    while start < len(text):
        blank = text.find(' ', start)
        end = len(text) if blank < 0 else blank
        definition, _, options = text[start:end].partition('=')
        name, bracket, _ = definition.partition('(')
        shards = _shards(text, start + len(name) + 1) if bracket else 1
        if not name or not 1 <= shards <= MAX_SHARDS:
            raise ShardingSyntaxError(text, start, f'a name and 1 to {MAX_SHARDS} shards')
        own = tuple(item for item in parse(options).items if item[0] != _BLOCK_CACHE)
        yield Column(name, shards, OptionSet(own))
        start = end + 1


def _shards(text: str, position: int) -> int:
    """The number at ``position``, before the range of key characters that are hashed."""
    # strtol() reads the whole text, not only this piece.
    shards, position = _number(text, position)
    if text.startswith(',', position):
        _, position = _number(text, position + 1)
        if not text.startswith('-', position):
            raise ShardingSyntaxError(text, position, '"-"')
        position += 1
        if _NUMBER.match(text, position):
            _, position = _number(text, position)
    if not text.startswith(')', position):
        raise ShardingSyntaxError(text, position, '")"')
    return shards


def _number(text: str, position: int) -> tuple[int, int]:
    match = _NUMBER.match(text, position)
    if match is None:
        raise ShardingSyntaxError(text, position, 'a whole number')
    # strtol() clamps to the range of a long; Python refuses thousands of digits.
    return int(match[1] + match[2][:_LONG_DIGITS]), match.end()
