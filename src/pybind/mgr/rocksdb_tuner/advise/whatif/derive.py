"""Options derived from the published goals, with a reason for each. Pure.

The goals are those of M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022 (New Tuning Candidate): keep
the WAL limit that devices were built for, keep flushes near 128 MiB, make level 1 as large as level
0, and set no option without effect; with the memtables (16 MiB, 96 MiB per flush) and compression
that upstream's QA made the default from Reef on.

Derivation of the WAL limit and the memtables for a situation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Optional

from ...lsm.calibration import calibration
from ...lsm.levels import TreeOptions, tree_options
from ...lsm.records import Load
from ...options.catalogue import LZ4, NO_COMPRESSION, catalogue
from ...options.grammar import OptionDifference, diff, same_meaning
from ...options.releases import KnownRelease
from ...options.syntax import OptionSet, format, parse  # noqa: A004
from ...options.wal import LEAST_LIMIT_BYTES, device_bytes_per_limit
from ...units import format_bytes, format_plural
from ..profiles import Profile, few_cores, profiles, recognize
from ..records import Reason
from .situation import Assumptions, Situation

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
        error = calibration().quantities['wal_device_bytes']
        allocation = error.around(device_bytes_per_limit(4 if few else 64)).high
        # The running limit and the new one share the device.
        beside = 'memtables of a quarter of it' if few else 'memtables as small as these'
        bounds.append(
            (
                int(devices.wal_bytes / allocation),
                (
                    f'It has to fit on the WAL device of {format_bytes(devices.wal_bytes)}: with '
                    f'{beside}, WAL files take up to {allocation:.2g} times the size of their '
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
    even = max(LEAST_LIMIT_BYTES, power_of_two(size + 1) // 2)
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


_LIMITED_CPU = f'{DEEP_DIVE}, The Effects of Limiting CPU'
_LZ4 = 'D. A. Parkes, We Tested RocksDB LZ4 Compression in IBM Storage Ceph, 2025; ceph/ceph#53343'
_GUIDE = 'RocksDB Tuning Guide, Level Style Compaction'

_TRIGGER = 8
_MULTIPLIER = 8
_JOBS = 4


@dataclass(frozen=True)
class Choice:
    """One derived option."""

    option: Annotated[str, 'Name of the option.']
    value: Annotated[str, 'Its value.']
    why: Annotated[str, 'Reason for this value.']
    source: Annotated[str, 'Source of the reason.']


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
    return _like_default(situation) if keeps_default(situation) else _tuned(situation)


def _like_default(situation: Situation) -> tuple[Choice, ...]:
    """The release's default, which tuned profiles do not beat with few cores, scaled to the WAL."""
    wal_bytes, wal_why, wal_source = wal(situation)
    release = situation.release
    shape = defaults(release)
    number = shape.max_write_buffer_number
    cores = format_plural(situation.cores or 0, 'core')
    same = f'As in the default of {release.label}'
    return (
        Choice(
            'compression',
            parse(release.default_options).get('compression') or NO_COMPRESSION,
            f'The OSD has {cores}: with 2 cores all tuned profiles were slower at listing buckets, '
            f'so all is as in the default of {release.label}.',
            _LIMITED_CPU,
        ),
        Choice(
            'max_write_buffer_number',
            str(number),
            f'{same}: as many as fit in the WAL limit.',
            _LIMITED_CPU,
        ),
        Choice(
            'min_write_buffer_number_to_merge',
            str(shape.min_write_buffer_number_to_merge),
            f'{same}: a memtable of this size is flushed by itself.',
            _LIMITED_CPU,
        ),
        Choice(
            'write_buffer_size',
            str(wal_bytes // number),
            f'{same}{"." if wal_bytes == WAL_BYTES else ", scaled down with the WAL."}',
            _LIMITED_CPU,
        ),
        Choice(
            'max_background_compactions',
            str(shape.max_background_compactions),
            f'{same}.',
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
            f'{DEEP_DIVE}, Modern Ceph',
        ),
    )


def _tuned(situation: Situation) -> tuple[Choice, ...]:
    wal_bytes, wal_why, wal_source = wal(situation)
    found = memtables(situation, wal_bytes)
    level0_bytes = found.flush_bytes * _TRIGGER
    base_bytes = power_of_two(level0_bytes)
    buffers = max(2 * found.merge, wal_bytes // found.size_bytes)
    jobs, jobs_why = _jobs(situation)
    return (
        Choice(
            'compression',
            LZ4,
            'Metadata takes a third of the space, with no loss of throughput given enough cores; '
            'the default from Reef 18.2.4 on.',
            _LZ4,
        ),
        Choice(
            'max_write_buffer_number',
            str(buffers),
            'As many memtables as fit in the WAL limit, which triggers flushes before there '
            'are more.',
            f'{DEEP_DIVE}, New Tuning Candidate',
        ),
        Choice(
            'min_write_buffer_number_to_merge',
            str(found.merge),
            found.why_merge,
            found.source,
        ),
        Choice(
            'compaction_style',
            'kCompactionStyleLevel',
            "The only style that BlueStore is tested with; RocksDB's default.",
            f'{DEEP_DIVE}, New Tuning Candidate',
        ),
        Choice('write_buffer_size', str(found.size_bytes), found.why_size, found.source),
        Choice('max_background_jobs', str(jobs), jobs_why, f'{DEEP_DIVE}, New Tuning Candidate'),
        Choice(
            'level0_file_num_compaction_trigger',
            str(_TRIGGER),
            'Eight files in level 0 undo most of the write amplification that smaller memtables '
            'add.',
            f'{DEEP_DIVE}, Pacific Testing (RBD)',
        ),
        Choice(
            'max_bytes_for_level_base',
            str(base_bytes),
            f'Level 1 as large as level 0, which settles at {format_bytes(found.flush_bytes)} x '
            f'{_TRIGGER} = {format_bytes(level0_bytes)}'
            + ('.' if base_bytes == level0_bytes else ', rounded up to a power of two.'),
            _GUIDE,
        ),
        Choice(
            'max_bytes_for_level_multiplier',
            str(_MULTIPLIER),
            'As published: below the default of 10, since level 1 is larger than the default of '
            '256 MiB.',
            f'{DEEP_DIVE}, New Tuning Candidate',
        ),
        *_everywhere(wal_bytes, wal_why, wal_source),
    )


def _jobs(situation: Situation) -> tuple[int, str]:
    cores = situation.cores
    if cores is not None and cores < _JOBS:
        return cores, f'One flush, and no more compactions than {cores} cores can handle.'
    return _JOBS, 'One flush and three compactions at once: OSDs use fewer than 10 cores.'


def agreement(situation: Situation, profile: Profile) -> Reason:
    """Whether ``profile`` agrees with the published goals, in one sentence."""
    # The current load has no effect, and would defeat the cache.
    return _agreement(replace(situation, load=Load(), assumptions=Assumptions()), profile.options)


# Called at every tick with a handful of situations.
@lru_cache(maxsize=64)
def _agreement(situation: Situation, options: str) -> Reason:
    derived = derive(situation)
    version = situation.release.rocksdb_version
    if same_meaning(derived.options, options, version):
        return Reason('The option string derived from the published goals is the same.', RULE)
    known = catalogue()
    names = [
        change.option
        for change in diff(parse(options), parse(derived.options))
        if not known.is_without_effect(change.option, version)
    ]
    return Reason(
        f'The option string derived from the published goals differs in {", ".join(names)}: see '
        '"ceph rocksdb-tuner profile derive".',
        RULE,
    )
