"""Options derived from the published goals, with a reason for each. Pure.

The goals are those of M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022 (New Tuning Candidate): keep
the WAL limit that devices were built for, keep flushes near 128 MiB, make level 1 as large as level
0, and set no option without effect; with the memtables (16 MiB, 96 MiB per flush) and compression
that upstream's QA made the default from Reef on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Optional

from ...lsm.records import Load
from ...options.catalogue import catalogue
from ...options.compression import LZ4, NO_COMPRESSION
from ...options.grammar import OptionDifference, diff, same_meaning
from ...options.syntax import OptionSet, format, parse  # noqa: A004
from ...units import format_bytes, format_plural
from ..profiles import Profile, profiles, recognize
from ..records import Reason
from .derive_memtables import (
    DEEP_DIVE,
    RULE,
    WAL_BYTES,
    defaults,
    keeps_default,
    memtables,
    power_of_two,
    wal,
    wal_bound_bytes,
)
from .situation import Assumptions, Situation

__all__ = ['Choice', 'Derivation', 'agreement', 'derive', 'wal_bound_bytes']

_LIMITED_CPU = f'{DEEP_DIVE}, The Effects of Limiting CPU'
_LZ4 = 'D. A. Parkes, We Tested RocksDB LZ4 Compression in IBM Storage Ceph, 2025; ceph/ceph#53343'
_GUIDE = 'RocksDB Tuning Guide, Level Style Compaction'

_TRIGGER = 8
_MULTIPLIER = 8
_JOBS = 4


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
