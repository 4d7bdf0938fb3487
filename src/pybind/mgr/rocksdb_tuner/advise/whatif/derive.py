"""Options derived from the published goals, with a reason for each. Pure.

The goals are those of M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022 (New Tuning Candidate): keep
the limit of the WAL that devices were built for, keep flushes near 128 MiB, make level 1 as large
as level 0, use the smallest memtable that still pays, set no option without effect; with later
changes by upstream's QA (96 MiB, 16 MiB memtables) and published results on compression.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Optional

from ...lsm.records import Load
from ...lsm.tree_options import TreeOptions, tree_options
from ...options.catalogue import catalogue
from ...options.compression import NO_COMPRESSION
from ...options.grammar import OptionDifference, diff, same_meaning
from ...options.releases import KnownRelease
from ...options.syntax import OptionSet, format, parse  # noqa: A004
from ...units import format_plural
from ...workload.records import WorkloadClass
from ..objections import METADATA
from ..profiles import Profile, default_for_few_cores, few_cores, profiles, recognize
from ..records import Reason
from .situation import Assumptions, Situation

__all__ = ['Choice', 'Derivation', 'agreement', 'derive', 'wal_bound_bytes']

_DEEP_DIVE = 'M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022'
_LIMITED_CPU = f'{_DEEP_DIVE}, The Effects of Limiting CPU'
_QA = 'ceph/ceph#51821, the default from Reef on'
_LZ4 = 'D. A. Parkes, We Tested RocksDB LZ4 Compression in IBM Storage Ceph, 2025; ceph/ceph#53343'
_GUIDE = 'RocksDB Tuning Guide, Level Style Compaction'
_RULE = 'rule of this module'

_MIB = 1 << 20
_GIB = 1 << 30
#: WAL devices are sized for four memtables of 256 MiB (ceph/ceph#35277).
_WAL_BYTES = _GIB
#: Published profiles have a WAL, and so memtables, of 1 GiB with the default target of 4 GiB.
_WAL_PART_OF_MEMORY = 4
#: Maximum share of the DB device for the WAL, or for levels 0 and 1, which grow with it.
_WAL_PART_OF_DB = 4
#: Device space of a WAL at its limit with memtables of a 64th of it: the upper end of the model's
#: `wal_device`.
_WAL_FILES_PER_LIMIT = 1.8
#: The same with memtables of a quarter of it: one preallocated file each.
_WAL_FILES_PER_LIMIT_OF_FEW = 2.1
_LEAST_WAL_BYTES = 64 * _MIB
_TRIGGER = 8
_MULTIPLIER = 8
_JOBS = 4
#: Tested flush sizes: 96 MiB by QA, 128 MiB in 2022.
_FLUSH_WINDOW = (96 * _MIB, 128 * _MIB)
#: Memtable sizes with a gain: most of it at 16 MiB, the rest at 8 MiB.
_SMALL_MEMTABLES = (8 * _MIB, 16 * _MIB)


@dataclass(frozen=True)
class Choice:
    """One derived option."""

    option: str
    value: str
    why: str
    source: str


@dataclass(frozen=True)
class Derivation:
    """Options for a situation, and the nearest published profile."""

    situation: Situation
    options: str
    choices: tuple[Choice, ...]
    #: Name of the equivalent profile; None if there is none.
    equals: Optional[str]
    #: The nearest profile, and the differences from it.
    nearest: str
    differences: tuple[OptionDifference, ...]

    @property
    def assumptions(self) -> tuple[str, ...]:
        assumed = self.situation.assumptions
        return (*assumed.common, *assumed.derivation)


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


def derive(situation: Situation) -> Derivation:
    """Derive options that pass `options.checks.safe_to_apply` for the release."""
    choices = _choices(situation)
    option_set = OptionSet(tuple((c.option, c.value) for c in choices))
    text = format(option_set)
    equal = recognize(text, situation.release)
    candidates = [p for p in profiles() if p.options]
    nearest = equal or min(candidates, key=lambda p: _distance(p, option_set))
    return Derivation(
        situation=situation,
        options=text,
        choices=choices,
        equals=equal.name if equal else None,
        nearest=nearest.name,
        differences=() if equal else diff(parse(nearest.options), option_set),
    )


def _distance(profile: Profile, option_set: OptionSet) -> int:
    return len(diff(parse(profile.options), option_set))


def _choices(situation: Situation) -> tuple[Choice, ...]:
    return _for_few_cores(situation) if few_cores(situation.cores) else _tuned(situation)


def _for_few_cores(situation: Situation) -> tuple[Choice, ...]:
    """The default that was as fast as tuned profiles with few cores, scaled to the WAL."""
    wal_bytes, wal_why, wal_source = _wal(situation)
    known = default_for_few_cores()
    shape = tree_options(parse(known.options), situation.release.rocksdb_version)
    number = shape.max_write_buffer_number
    compression, compression_why, compression_source = _compression(situation)
    return (
        Choice('compression', compression, compression_why, compression_source),
        Choice(
            'max_write_buffer_number',
            str(number),
            f'As in the {known.title}: as many as the limit of the WAL holds.',
            _LIMITED_CPU,
        ),
        Choice(
            'min_write_buffer_number_to_merge',
            str(shape.min_write_buffer_number_to_merge),
            f'As in the {known.title}: so large a memtable is flushed by itself.',
            _LIMITED_CPU,
        ),
        Choice(
            'write_buffer_size',
            str(wal_bytes // number),
            'With few cores all sets of smaller memtables lost at listing buckets, and brought '
            f'nothing elsewhere; the {known.title} did not lose'
            + ('.' if wal_bytes == _WAL_BYTES else ': its size, in proportion to the smaller WAL.'),
            _LIMITED_CPU,
        ),
        Choice(
            'max_background_compactions',
            str(shape.max_background_compactions),
            f'As in the {known.title}.',
            _LIMITED_CPU,
        ),
        *_everywhere(wal_bytes, wal_why, wal_source),
    )


def _everywhere(wal_bytes: int, wal_why: str, wal_source: str) -> tuple[Choice, ...]:
    return (
        Choice(
            'compaction_readahead_size',
            '2MB',
            'Compactions read sequentially; without it each key is a separate read.',
            'ceph/ceph#14932',
        ),
        Choice('max_total_wal_size', str(wal_bytes), wal_why, wal_source),
        Choice(
            'writable_file_max_buffer_size',
            '0',
            'BlueFS has its own buffer, so RocksDB needs none.',
            f'{_DEEP_DIVE}, Modern Ceph',
        ),
    )


def _tuned(situation: Situation) -> tuple[Choice, ...]:
    wal_bytes, wal_why, wal_source = _wal(situation)
    memtables = _memtables(situation, wal_bytes)
    level0_bytes = memtables.flush_bytes * _TRIGGER
    base_bytes = _power_of_two(level0_bytes)
    buffers = max(2 * memtables.merge, wal_bytes // memtables.size_bytes)
    compression, compression_why, compression_source = _compression(situation)
    jobs, jobs_why = _jobs(situation)
    return (
        Choice('compression', compression, compression_why, compression_source),
        Choice(
            'max_write_buffer_number',
            str(buffers),
            'As many memtables as the limit of the WAL holds; it flushes before there are more.',
            f'{_DEEP_DIVE}, New Tuning Candidate',
        ),
        Choice(
            'min_write_buffer_number_to_merge',
            str(memtables.merge),
            memtables.why_merge,
            memtables.source,
        ),
        Choice(
            'compaction_style',
            'kCompactionStyleLevel',
            "The only style that BlueStore is tested with; RocksDB's default.",
            f'{_DEEP_DIVE}, New Tuning Candidate',
        ),
        Choice(
            'write_buffer_size', str(memtables.size_bytes), memtables.why_size, memtables.source
        ),
        Choice('max_background_jobs', str(jobs), jobs_why, f'{_DEEP_DIVE}, New Tuning Candidate'),
        Choice(
            'level0_file_num_compaction_trigger',
            str(_TRIGGER),
            'Eight files in level 0 undo most of the write amplification that smaller memtables '
            'add.',
            f'{_DEEP_DIVE}, Pacific Testing (RBD)',
        ),
        Choice(
            'max_bytes_for_level_base',
            str(base_bytes),
            f'Level 1 as large as level 0, which settles at {_mib(memtables.flush_bytes)} x '
            f'{_TRIGGER} = {_mib(level0_bytes)}'
            + ('.' if base_bytes == level0_bytes else ', rounded up to a power of two.'),
            _GUIDE,
        ),
        Choice(
            'max_bytes_for_level_multiplier',
            str(_MULTIPLIER),
            'As published: less than the 10 of RocksDB, since level 1 was made larger than its '
            '256 MiB.',
            f'{_DEEP_DIVE}, New Tuning Candidate',
        ),
        *_everywhere(wal_bytes, wal_why, wal_source),
    )


def wal_bound_bytes(situation: Situation) -> int:
    """The largest WAL limit that fits devices and memory, at most the published one."""
    return _wal(situation)[0]


def _wal(situation: Situation) -> tuple[int, str, str]:
    """The WAL limit with its reason and source."""
    bounds = [
        (
            _WAL_BYTES,
            'The 1 GiB that WAL devices were built for.',
            f'{_DEEP_DIVE}, New Tuning Candidate; ceph/ceph#35277',
        )
    ]
    devices = situation.devices
    if devices.dedicated_wal and devices.wal_bytes:
        few = few_cores(situation.cores)
        allocation = _WAL_FILES_PER_LIMIT_OF_FEW if few else _WAL_FILES_PER_LIMIT
        # The running limit and the new one share the device.
        beside = 'memtables of a quarter of it' if few else 'memtables as small as these'
        bounds.append(
            (
                int(devices.wal_bytes / allocation),
                (
                    f'The WAL device of {_mib(devices.wal_bytes)} is to hold it: beside {beside}, '
                    f'WAL files take up to {allocation:g} times what is in them.'
                ),
                _RULE,
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
                    else 'A quarter of the DB device, which holds the WAL too, and is small.'
                ),
                _RULE,
            )
        )
    if situation.memory_target_bytes:
        bounds.append(
            (
                situation.memory_target_bytes // _WAL_PART_OF_MEMORY,
                (
                    'What is in the WAL is in memtables too: a quarter of osd_memory_target, '
                    'as the published 1 GiB is of the default of 4 GiB.'
                ),
                _RULE,
            )
        )
    size, why, source = min(bounds, key=lambda bound: bound[0])
    # A power of two keeps derived values even.
    even = max(_LEAST_WAL_BYTES, _power_of_two(size + 1) // 2)
    return even, why if even >= size else f'{why} Rounded down to a power of two.', source


def _memtables(situation: Situation, wal_bytes: int) -> _Memtables:
    """A measured pair of size and merge, scaled down with the WAL."""
    pair = _published_memtables(situation)
    scale = _WAL_BYTES // wal_bytes
    if scale <= 1:
        return pair
    # The number of memtables per flush has no cost, so smaller memtables keep it.
    size = max(_MIB, pair.size_bytes // scale)
    return _Memtables(
        size_bytes=size,
        merge=max(1, pair.flush_bytes // scale // size),
        why_size=f'The published {_mib(pair.size_bytes)}, in proportion to the smaller WAL.',
        why_merge='As published: flushes stay the same part of the WAL.',
        source=_RULE,
    )


def _published_memtables(situation: Situation) -> _Memtables:
    own = _defaults(situation.release)
    if own.write_buffer_bytes in _SMALL_MEMTABLES and (
        _FLUSH_WINDOW[0] <= own.flush_bytes <= _FLUSH_WINDOW[1]
    ):
        size, merge = own.write_buffer_bytes, own.min_write_buffer_number_to_merge
        return _Memtables(
            size_bytes=size,
            merge=merge,
            why_size=f'The default of {situation.release.label} is {_mib(size)}, small enough to '
            'pay, and has been through QA.',
            why_merge=f'{merge} x {_mib(size)} = {_mib(size * merge)} in a flush; more would lower '
            'write amplification at the expense of the kv_sync thread and of tail latency.',
            source=_QA,
        )
    if situation.workload is WorkloadClass.RBD_SMALL_WRITE:
        return _Memtables(
            size_bytes=8 * _MIB,
            merge=16,
            why_size='Small random writes are bound by the kv_sync thread, and inserting into a '
            'small memtable is cheaper: 8 MiB was the smallest that still gained.',
            why_merge='16 x 8 MiB = 128 MiB in a flush, as published with memtables of 8 MiB.',
            source=f'{_DEEP_DIVE}, New Tuning Candidate, variant D',
        )
    return _Memtables(
        size_bytes=16 * _MIB,
        merge=6,
        why_size='Most of the gain of small memtables came with 16 MiB; upstream took that through '
        'QA for all workloads.',
        why_merge='6 x 16 MiB = 96 MiB in a flush, near the 128 MiB of 2022.',
        source=_QA,
    )


@lru_cache(maxsize=32)
def _defaults(release: KnownRelease) -> TreeOptions:
    return tree_options(parse(release.default_options), release.rocksdb_version)


def _compression(situation: Situation) -> tuple[str, str, str]:
    cores, release = situation.cores, situation.release
    known = situation.workload not in {None, WorkloadClass.UNKNOWN}
    if cores is not None and few_cores(cores):
        return (
            NO_COMPRESSION,
            (
                f'The OSD has {format_plural(cores, "core")}: with 2 cores all tuned sets lost at '
                'listing buckets, and compression is the work to leave out.'
            ),
            _LIMITED_CPU,
        )
    if situation.workload in METADATA:
        return (
            'kLZ4Compression',
            (
                'Metadata of this workload compresses well (2.68 times less for small objects), '
                'without a loss of throughput where there are cores.'
            ),
            _LZ4,
        )
    if _defaults(release).compression == 'kLZ4Compression':
        return (
            'kLZ4Compression',
            f'The default of {release.label}: nothing was published against it.',
            _LZ4,
        )
    return (
        NO_COMPRESSION,
        f'The default of {release.label}, and nothing was published for LZ4 with '
        + ('this workload.' if known else 'a workload that is not known.'),
        f'{_DEEP_DIVE}, Conclusion',
    )


def _jobs(situation: Situation) -> tuple[int, str]:
    cores = situation.cores
    if cores is not None and cores < _JOBS:
        return cores, f'One flush, and compactions no more than {cores} cores can bear.'
    return _JOBS, 'One flush and three compactions at once: OSDs use fewer than 10 cores.'


def _power_of_two(number: int) -> int:
    """The smallest power of two that is at least ``number``."""
    return 1 << max(0, number - 1).bit_length()


def _mib(size_bytes: int) -> str:
    if size_bytes % _GIB == 0:
        return f'{size_bytes // _GIB} GiB'
    return f'{size_bytes // _MIB} MiB'


def agreement(situation: Situation, profile: Profile) -> Reason:
    """Whether ``profile`` agrees with the published goals, in one sentence."""
    # The present load has no effect, and would defeat the cache.
    return _agreement(replace(situation, load=Load(), assumptions=Assumptions()), profile.options)


# Called at every tick with a handful of situations.
@lru_cache(maxsize=64)
def _agreement(situation: Situation, options: str) -> Reason:
    derived = derive(situation)
    version = situation.release.rocksdb_version
    if same_meaning(derived.options, options, version):
        return Reason('Derived from the published goals, the option set is the same.', _RULE)
    known = catalogue()
    names = [
        change.option
        for change in diff(parse(options), parse(derived.options))
        if not known.is_without_effect(change.option, version)
    ]
    return Reason(
        f'Derived from the published goals, the option set differs in {", ".join(names)}: see '
        '"ceph rocksdb-tuner profile derive".',
        _RULE,
    )
