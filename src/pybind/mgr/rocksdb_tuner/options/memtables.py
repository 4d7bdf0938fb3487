"""The most memory that memtables take, by the options in effect. Pure.

A bound, for rules that say whether a string can be afforded. What they take under a load is
modelled in `lsm/memory.py`, which also knows how much larger than the WAL they are.
"""

from __future__ import annotations

from typing import Mapping


def full_bytes(values: Mapping[str, str]) -> int:
    """All memtables of one column family full; KeyError where the options do not say."""
    return int(values['write_buffer_size']) * int(values['max_write_buffer_number'])


def bound_bytes(values: Mapping[str, str], all_full_bytes: int, column_families: int) -> int:
    """Of all column families, which take ``all_full_bytes`` where nothing else limits them.

    What fills memtables stands in the WAL: its limit flushes them. With one column family RocksDB
    does not look at that limit (DBImpl::PreprocessWrite() in db/db_impl/db_impl_write.cc).
    """
    return min([all_full_bytes, *limits(values, column_families).values()])


def limits(values: Mapping[str, str], column_families: int) -> dict[str, int]:
    """The options that limit all memtables together, by name; one of 0 is none."""
    names = ['db_write_buffer_size']
    if column_families > 1:
        names.append('max_total_wal_size')
    found = {name: int(values.get(name, '0')) for name in names}
    return {name: limit for name, limit in found.items() if limit > 0}
