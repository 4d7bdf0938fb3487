"""`bluestore_rocksdb_cfs`: into which column families BlueStore divides its database.

The grammar is that of RocksDBStore::parse_sharding_def() (src/kv/RocksDBStore.cc, 16.2 to 20.2):
columns with blanks between them, each ``NAME``, ``NAME(SHARDS)`` or ``NAME(SHARDS,LOW-HIGH)``,
and after ``=`` options of RocksDB for it. What names no column is in the family "default".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..options.syntax import OptionSet, parse

__all__ = ['DEFAULT', 'Column', 'ColumnsSyntaxError', 'columns', 'options_of']

DEFAULT = 'default'
#: Ceph's own, beside the options of RocksDB.
_CEPH_KEYS = frozenset({'block_cache'})
#: Ceph has no bound; more than this is no sharding that anybody uses.
MAX_SHARDS = 1024
_COLUMN = re.compile(r'([^\s=()]+)(?:\((\d+)(?:,(\d+)?-(\d+)?)?\))?(?:=(\S*))?', re.ASCII)


class ColumnsSyntaxError(ValueError):
    """A text that is no division into column families; says which piece, and what would be."""


@dataclass(frozen=True)
class Column:
    """One column: the prefix of its keys, its shards, and its own options."""

    name: str
    shards: int
    options: OptionSet


def columns(text: str) -> tuple[Column, ...]:
    """The columns, "default" first, then in the order of the text; an empty text has only that.

    Raises ColumnsSyntaxError, or OptionSyntaxError for the options of a column.
    """
    found = [Column(DEFAULT, 1, OptionSet(()))]
    for piece in text.split():
        match = _COLUMN.fullmatch(piece)
        shards = int(match[2]) if match and match[2] else 1
        if match is None or not 1 <= shards <= MAX_SHARDS:
            raise ColumnsSyntaxError(
                f'{piece!r} is no column: expected NAME, NAME(SHARDS) or NAME(SHARDS,LOW-HIGH), '
                'and options after "="'
            )
        found.append(Column(match[1], shards, _without_ceph_keys(match[5] or '')))
    return tuple(found)


def _without_ceph_keys(text: str) -> OptionSet:
    return OptionSet(tuple(item for item in parse(text).items if item[0] not in _CEPH_KEYS))


def options_of(column: Column, database: OptionSet) -> OptionSet:
    """What a column is opened with: the options of the database, and its own over them.

    RocksDBStore::create_and_open() and update_column_family_options().
    """
    return database.replaced(column.options.as_dict())
