"""Maximum memory of memtables for effective options. Pure.

An upper bound, for rules about whether an OSD can afford a string. `lsm/memory.py` models their
size under load, including how much larger than the WAL they are.
"""

from __future__ import annotations

from typing import Mapping

#: Defaults of all releases: the reserve for everything but caches (osd_memory_base), and the
#: minimum of the caches (osd_memory_cache_min).
_MEMORY_BASE_BYTES = 768 << 20
_CACHE_LEAST_BYTES = 128 << 20
#: m, p and O with three shards, L, P and the rest: the column families of all releases.
DEFAULT_FAMILIES = 12
#: Maximum of every release default, sharded or not: four memtables of 256 MiB, 64 of 16 MiB, or a
#: WAL of 1 GiB.
DEFAULT_BOUND_BYTES = 1 << 30


def left_of_target(memory_target_bytes: int) -> int:
    """Part of ``osd_memory_target`` for memtables and for caches above their minimum."""
    return max(0, memory_target_bytes - _MEMORY_BASE_BYTES - _CACHE_LEAST_BYTES)


def full_bytes(values: Mapping[str, str]) -> int:
    """All full memtables of one column family; KeyError if an option is missing."""
    return int(values['write_buffer_size']) * int(values['max_write_buffer_number'])


def bound_bytes(values: Mapping[str, str], all_full_bytes: int, column_families: int) -> int:
    """Of all column families, which take ``all_full_bytes`` without another limit.

    Data in memtables is also in the WAL: its limit flushes them. With one column family RocksDB
    ignores that limit (DBImpl::PreprocessWrite() in db/db_impl/db_impl_write.cc).
    """
    return min([all_full_bytes, *limits(values, column_families).values()])


def limits(values: Mapping[str, str], column_families: int) -> dict[str, int]:
    """The options that limit all memtables together, by name; 0: no limit."""
    names = ['db_write_buffer_size']
    if column_families > 1:
        names.append('max_total_wal_size')
    found = {name: int(values.get(name, '0')) for name in names}
    return {name: limit for name, limit in found.items() if limit > 0}
