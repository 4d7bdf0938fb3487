"""Column families of an OSD with their shards and options.

`options/sharding.py` parses `bluestore_rocksdb_cfs`. Keys without a column are in "default".
"""

from __future__ import annotations

from dataclasses import dataclass

from ..options.sharding import (
    ShardedColumn,
    ShardingSyntaxError,
    options_of_column,
    parse_sharding,
)
from ..options.syntax import OptionSet

__all__ = ['DEFAULT', 'Column', 'ColumnsSyntaxError', 'columns', 'options_of']

DEFAULT = 'default'
#: Ceph has no upper bound; nobody uses more.
MAX_SHARDS = 1024


class ColumnsSyntaxError(ValueError):
    """Invalid sharding definition; the message names the piece and the expected syntax."""


@dataclass(frozen=True)
class Column:
    """One column: the prefix of its keys, its shards, and its own options."""

    name: str
    shards: int
    options: OptionSet


def columns(text: str) -> tuple[Column, ...]:
    """The columns, "default" first, then in the order of the text.

    Raises ColumnsSyntaxError, or OptionSyntaxError for the options of a column.
    """
    try:
        found = parse_sharding(text)
    except ShardingSyntaxError as error:
        raise ColumnsSyntaxError(str(error)) from None
    return (Column(DEFAULT, 1, OptionSet(())), *(_column(column) for column in found))


def _column(column: ShardedColumn) -> Column:
    if not column.name or not 1 <= column.shards <= MAX_SHARDS:
        raise ColumnsSyntaxError(
            f'column {column.name!r} with {column.shards} shards: expected a name and 1 to '
            f'{MAX_SHARDS} shards'
        )
    return Column(column.name, column.shards, options_of_column(column))


def options_of(column: Column, database: OptionSet) -> OptionSet:
    """Options that a column is opened with: the database's, overridden by its own.

    RocksDBStore::create_and_open() and update_column_family_options().
    """
    return database.replaced(column.options.as_dict())
