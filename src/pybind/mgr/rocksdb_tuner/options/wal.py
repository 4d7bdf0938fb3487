"""Size of the write-ahead log, and maximum memory of memtables, for effective options. Pure.

Checks, the model of the tree and findings all use it, so that they never disagree on whether a
device holds the log. The memory is an upper bound; the model has the size under load.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

#: DBImpl::GetMaxTotalWalSize() in db/db_impl/db_impl_write.cc.
_WAL_TO_MEMTABLES = 4
#: DBImpl::Recover() adds up the memtables of all column families, and DBImpl::Open() adds each of
#: them again with its first super version. Only a newly created database counts them once, and
#: BlueStore reopens its database after mkfs. Seen on 16.2.15, 18.2.7 and 20.2.4.
_COUNTED_AT_OPEN = 2
_MIB = 1 << 20
#: Preallocation of a WAL file over the size of a memtable.
_BLOCKS = 1.1
#: Less is never advised: memtables would be smaller than any that were tested.
LEAST_LIMIT_BYTES = 64 * _MIB


@dataclass(frozen=True)
class Wal:
    """Limit of the log, and size of its files."""

    #: At this size RocksDB flushes the column families that hold the oldest WAL file.
    limit_bytes: int
    file_bytes: int
    #: Allocated over used bytes of all files.
    allocation: float
    #: Whether max_total_wal_size is the limit, which RocksDB ignores with one column family.
    by_option: bool

    @property
    def device_bytes(self) -> float:
        """Space of the files on the device, preallocation included."""
        return self.limit_bytes * self.allocation + self.file_bytes

    def fits(self, device_bytes: float) -> bool:
        return self.device_bytes <= device_bytes

    def limit_that_fits(self, device_bytes: float) -> int:
        """The largest limit, in whole MiB, whose files fit; 0 if none that is advised does."""
        room = math.floor((device_bytes - self.file_bytes) / self.allocation / _MIB) * _MIB
        return room if room >= LEAST_LIMIT_BYTES else 0


def limit_bytes(max_total_wal_bytes: int, all_full_bytes: int, column_families: int) -> int:
    """The size at which RocksDB flushes the column families that hold the oldest WAL file.

    DBImpl::GetMaxTotalWalSize() and PreprocessWrite() in db/db_impl/db_impl_write.cc: applied
    only with more than one column family; with one, the memtables are the limit.
    ``all_full_bytes``: all memtables of all column families full.
    """
    if column_families == 1:
        return all_full_bytes
    return max_total_wal_bytes or _WAL_TO_MEMTABLES * _COUNTED_AT_OPEN * all_full_bytes


def wal(
    *,
    write_buffer_bytes: int,
    max_total_wal_bytes: int,
    db_write_buffer_bytes: int,
    all_full_bytes: int,
    column_families: int,
) -> Wal:
    """The log of a database; the first three arguments are effective options.

    Files are preallocated by DBImpl::GetWalPreallocateBlockSize() in db/db_impl/db_impl_write.cc.
    """
    bounds = [limit for limit in (max_total_wal_bytes, db_write_buffer_bytes) if limit]
    file_bytes = min([write_buffer_bytes + write_buffer_bytes // 10, *bounds])
    return Wal(
        limit_bytes=limit_bytes(max_total_wal_bytes, all_full_bytes, column_families),
        file_bytes=file_bytes,
        allocation=_allocation(file_bytes / write_buffer_bytes, single=column_families == 1),
        by_option=bool(max_total_wal_bytes) and column_families != 1,
    )


def wal_of(values: Mapping[str, str], all_full_bytes: int, column_families: int) -> Wal:
    """The same by option names; KeyError if an option is missing."""
    return wal(
        write_buffer_bytes=int(values['write_buffer_size']),
        max_total_wal_bytes=int(values['max_total_wal_size']),
        db_write_buffer_bytes=int(values['db_write_buffer_size']),
        all_full_bytes=all_full_bytes,
        column_families=column_families,
    )


def _allocation(blocks: float, *, single: bool) -> float:
    """Allocated over used bytes of WAL files; ``blocks``: preallocation over memtable size.

    Each memtable of any column family that fills starts a new WAL file (DBImpl::SwitchMemtable()),
    and a file grows by whole preallocated blocks (FSWritableFile::PrepareWrite()). With one family
    every file holds one memtable. If many fill independently of one another, the data between two
    switches is distributed exponentially around one memtable, and the mean of the next whole
    number of blocks is 1 / (1 - e^-blocks).
    """
    if single:
        return max(1.0, blocks)
    return blocks / -math.expm1(-blocks)


def device_bytes_per_limit(memtables: int) -> float:
    """Space of all WAL files over their limit, with memtables that are this part of it."""
    return _allocation(_BLOCKS, single=False) + _BLOCKS / memtables


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
    names = ('db_write_buffer_size', 'max_total_wal_size')[: 1 + (column_families > 1)]
    found = {name: int(values.get(name, '0')) for name in names}
    return {name: limit for name, limit in found.items() if limit > 0}
