"""Derivation of the WAL limit and the memtables for a situation. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ...lsm.tree_options import TreeOptions, tree_options
from ...options.releases import KnownRelease
from ...options.syntax import parse
from ...units import format_bytes
from ..profiles import few_cores
from .situation import Situation

DEEP_DIVE = 'M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022'
QA = 'ceph/ceph#51821, the default from Reef on'
RULE = 'rule of this module'
MIB = 1 << 20
GIB = 1 << 30

#: WAL devices are sized for four memtables of 256 MiB (ceph/ceph#35277).
WAL_BYTES = GIB
#: Published profiles have a WAL, and so memtables, of 1 GiB with the default target of 4 GiB.
_WAL_PART_OF_MEMORY = 4
#: Maximum share of the DB device for the WAL, or for levels 0 and 1, which scale with it.
_WAL_PART_OF_DB = 4
#: Device space of a WAL at its limit with memtables of a 64th of it: the upper end of the model's
#: `wal_device`.
_WAL_FILES_PER_LIMIT = 1.8
#: The same with memtables of a quarter of it: one preallocated file each.
_WAL_FILES_PER_LIMIT_OF_FEW = 2.1
_LEAST_WAL_BYTES = 64 * MIB
#: Tested flush sizes: 96 MiB by QA, 128 MiB in 2022.
_FLUSH_WINDOW = (96 * MIB, 128 * MIB)
#: Memtable sizes with a gain: most of it at 16 MiB, the rest at 8 MiB.
_SMALL_MEMTABLES = (8 * MIB, 16 * MIB)


@dataclass(frozen=True)
class _Memtables:
    """Size and number of memtables, with the reason."""

    size_bytes: int
    merge: int
    why_size: str
    why_merge: str
    source: str

    @property
    def flush_bytes(self) -> int:
        return self.size_bytes * self.merge


def keeps_default(situation: Situation) -> bool:
    """Whether the OSDs have too few cores for smaller memtables than those of their default."""
    own = defaults(situation.release)
    return few_cores(situation.cores) and own.write_buffer_bytes not in _SMALL_MEMTABLES


def wal_bound_bytes(situation: Situation) -> int:
    """The largest WAL limit that fits devices and memory, at most the published one."""
    return wal(situation)[0]


def wal(situation: Situation) -> tuple[int, str, str]:
    """The WAL limit with its reason and source."""
    bounds = [
        (
            WAL_BYTES,
            'The 1 GiB that WAL devices are sized for.',
            f'{DEEP_DIVE}, New Tuning Candidate; ceph/ceph#35277',
        )
    ]
    devices = situation.devices
    if devices.dedicated_wal and devices.wal_bytes:
        few = keeps_default(situation)
        allocation = _WAL_FILES_PER_LIMIT_OF_FEW if few else _WAL_FILES_PER_LIMIT
        # The running limit and the new one share the device.
        beside = 'memtables of a quarter of it' if few else 'memtables as small as these'
        bounds.append(
            (
                int(devices.wal_bytes / allocation),
                (
                    f'It has to fit on the WAL device of {format_bytes(devices.wal_bytes)}: with '
                    f'{beside}, WAL files take up to {allocation:g} times the size of their '
                    'content.'
                ),
                RULE,
            )
        )
    if devices.dedicated_db and devices.db_bytes:
        bounds.append(
            (
                devices.db_bytes // _WAL_PART_OF_DB,
                (
                    'A quarter of the DB device, which is small: levels 0 and 1 are each about as '
                    'large as the WAL, and a compaction rewrites both.'
                    if devices.dedicated_wal
                    else 'A quarter of the DB device, which is small and also holds the WAL.'
                ),
                RULE,
            )
        )
    if situation.memory_target_bytes:
        bounds.append(
            (
                situation.memory_target_bytes // _WAL_PART_OF_MEMORY,
                (
                    'Data in the WAL is also in memtables: a quarter of osd_memory_target, like '
                    'the published 1 GiB with the default of 4 GiB.'
                ),
                RULE,
            )
        )
    size, why, source = min(bounds, key=lambda bound: bound[0])
    # A power of two keeps derived values even.
    even = max(_LEAST_WAL_BYTES, power_of_two(size + 1) // 2)
    return even, why if even >= size else f'{why} Rounded down to a power of two.', source


def memtables(situation: Situation, wal_bytes: int) -> _Memtables:
    """A measured pair of size and merge, scaled down with the WAL."""
    pair = _published_memtables(situation)
    scale = WAL_BYTES // wal_bytes
    if scale <= 1:
        return pair
    # The number of memtables per flush has no cost, so smaller memtables keep it.
    size = max(MIB, pair.size_bytes // scale)
    return _Memtables(
        size_bytes=size,
        merge=max(1, pair.flush_bytes // scale // size),
        why_size=f'The published {format_bytes(pair.size_bytes)}, scaled down with the WAL.',
        why_merge='As published: flushes keep the same share of the WAL.',
        source=RULE,
    )


def _published_memtables(situation: Situation) -> _Memtables:
    own = defaults(situation.release)
    if own.write_buffer_bytes in _SMALL_MEMTABLES and (
        _FLUSH_WINDOW[0] <= own.flush_bytes <= _FLUSH_WINDOW[1]
    ):
        size, merge = own.write_buffer_bytes, own.min_write_buffer_number_to_merge
        return _Memtables(
            size_bytes=size,
            merge=merge,
            why_size=f'The default of {situation.release.label} is {format_bytes(size)}, small '
            'enough for the gain and proven by QA.',
            why_merge=f'{merge} x {format_bytes(size)} = {format_bytes(size * merge)} per flush; '
            'more would lower write amplification at the expense of the kv_sync thread and of tail '
            'latency.',
            source=QA,
        )
    return _Memtables(
        size_bytes=16 * MIB,
        merge=6,
        why_size='16 MiB gives most of the gain of small memtables, and upstream tested it in QA '
        'for all workloads.',
        why_merge='6 x 16 MiB = 96 MiB per flush, near the 128 MiB of 2022.',
        source=QA,
    )


@lru_cache(maxsize=32)
def defaults(release: KnownRelease) -> TreeOptions:
    return tree_options(parse(release.default_options), release.rocksdb_version)


def power_of_two(number: int) -> int:
    """The smallest power of two that is at least ``number``."""
    return 1 << max(0, number - 1).bit_length()
