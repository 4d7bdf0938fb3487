"""Options derived from the published goals, with a reason for each. Pure.

The goals are those of M. Nelson, Ceph RocksDB Tuning Deep-Dive, 2022 (New Tuning Candidate): keep
the WAL limit that devices were built for, keep flushes near 128 MiB, make level 1 as large as level
0, and set no option without effect; with the memtables (16 MiB, 96 MiB per flush) and compression
that upstream's QA made the default from Reef on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Optional

from ...knowledge import loader
from ...lsm.calibration import calibration
from ...lsm.levels import TreeOptions, tree_options
from ...notes import InPlace
from ...options.catalogue import catalogue
from ...options.grammar import OptionDifference, diff
from ...options.releases import KnownRelease
from ...options.syntax import OptionSet, format, parse  # noqa: A004
from ...options.wal import LEAST_LIMIT_BYTES, device_bytes_per_limit
from ...units import format_bytes, format_plural
from ..profiles import few_cores, profiles, recognize
from .situation import Situation

MIB = 1 << 20
GIB = 1 << 30
#: WAL devices are sized for four memtables of 256 MiB (ceph/ceph#35277).
WAL_BYTES = GIB
#: Share of a DB device that is too small for the usual WAL and levels 0 and 1.
_WAL_PART_OF_DB = 4
#: Levels 0 and 1 relative to the WAL, tuned and as in the default of Pacific.
_OF_TUNED, _OF_DEFAULT = 1.75, 1.25
#: Most of the gain of small memtables; smaller ones gain a little more. Six of them make a flush of
#: 96 MiB, near the 128 MiB of 2022.
_MEMTABLE_BYTES = 16 * MIB
_MERGE = 6
_TRIGGER = 8
_JOBS = 4


def _keeps_default(situation: Situation) -> bool:
    """Whether the OSDs have too few cores for smaller memtables than those of their default."""
    own = _defaults(situation.release)
    return few_cores(situation.cores) and own.write_buffer_bytes > _MEMTABLE_BYTES


def wal(situation: Situation) -> tuple[int, str, str]:
    """The largest WAL limit that fits the devices, at most the published one; reason, source.

    Less memory than for it is no reason for a smaller one: every default has it, and the finding
    memory-target-small names the remedy.
    """
    devices, few = situation.devices, _keeps_default(situation)
    per_limit = device_bytes_per_limit(4 if few else 64)
    bounds = [(WAL_BYTES, 'usual')]
    allocation = calibration().quantities['wal_device_bytes'].around(per_limit).high
    if devices.dedicated_wal and devices.wal_bytes:
        # The running limit and the new one share the device.
        bounds.append((int(devices.wal_bytes / allocation), 'wal-device'))
    # WAL files, level 0 and level 1 of the usual size, as `check` adds them up.
    usual = (0.0 if devices.dedicated_wal else per_limit) + (_OF_DEFAULT if few else _OF_TUNED)
    if devices.dedicated_db and devices.db_bytes and devices.db_bytes < usual * WAL_BYTES:
        name = 'db-device' if devices.dedicated_wal else 'db-device-with-wal'
        bounds.append((devices.db_bytes // _WAL_PART_OF_DB, name))
    size, name = min(bounds, key=lambda bound: bound[0])
    why, source = _why(
        name,
        size=format_bytes(devices.wal_bytes or 0),
        beside='memtables of a quarter of it' if few else 'memtables as small as these',
        allocation=allocation,
    )
    # A power of two keeps derived values even.
    even = max(LEAST_LIMIT_BYTES, _power_of_two(size + 1) // 2)
    return even, why if even >= size else f'{why} Rounded down to a power of two.', source


def _why(name: str, **fill: object) -> tuple[str, str]:
    """A reason of ``knowledge/derivation.json`` with its source."""
    entry = loader.load('derivation')['why'][name]
    return entry['why'].format_map(fill), entry['source']


@lru_cache(maxsize=32)
def _defaults(release: KnownRelease) -> TreeOptions:
    return tree_options(parse(release.default_options), release.rocksdb_version)


def _power_of_two(number: int) -> int:
    """The smallest power of two that is at least ``number``."""
    return 1 << max(0, number - 1).bit_length()


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

    situation: Annotated[Situation, InPlace('osd_id', 'release', 'workload')]
    options: Annotated[str, 'bluestore_rocksdb_options']
    choices: Annotated[tuple[Choice, ...], 'Options with their reasons.']
    equals: Annotated[Optional[str], 'Equivalent profile; null: none.']
    nearest: Annotated[str, 'Most similar profile.']
    differences: Annotated[
        tuple[OptionDifference, ...], 'Differences from the most similar profile.'
    ]

    @property
    def assumptions(
        self,
    ) -> Annotated[tuple[str, ...], 'Assumptions in place of unknown inputs.']:
        return (*self.situation.assumptions.common, *self.situation.assumptions.derivation)


def derive(situation: Situation) -> Derivation:
    """Derive options that pass `options.checks.safe_to_apply` for the release."""
    choices = _like_default(situation) if _keeps_default(situation) else _tuned(situation)
    option_set = OptionSet(tuple((c.option, c.value) for c in choices))
    text = format(option_set)
    equal = recognize(text, situation.release)
    nearest = equal or min(
        (p for p in profiles() if p.options), key=lambda p: len(diff(parse(p.options), option_set))
    )
    return Derivation(
        situation=situation,
        options=text,
        choices=choices,
        equals=equal.name if equal else None,
        nearest=nearest.name,
        differences=() if equal else diff(parse(nearest.options), option_set),
    )


def _like_default(situation: Situation) -> tuple[Choice, ...]:
    """The release's default, which tuned profiles do not beat with few cores, scaled to the WAL."""
    wal_bytes, *wal_why = wal(situation)
    release, shape = situation.release, _defaults(situation.release)
    size = wal_bytes // shape.max_write_buffer_number
    sizes = {'write_buffer_size': str(size), 'max_total_wal_size': str(wal_bytes)}
    if size * shape.level0_trigger < shape.level_base_bytes:
        # Else level 1 alone could take more than a small device.
        sizes['max_bytes_for_level_base'] = str(size * shape.level0_trigger)
    scaled = '' if wal_bytes == WAL_BYTES else ', scaled down with the WAL'
    fill = {'label': release.label, 'cores': format_plural(situation.cores or 0, 'core')}
    options = parse(release.default_options).replaced(sizes).items
    return tuple(
        Choice(name, value, *wal_why)
        if name == 'max_total_wal_size'
        else Choice(name, value, *_why('few-cores', scaled=scaled if name in sizes else '', **fill))
        for name, value in options
        if not catalogue().is_without_effect(name, release.rocksdb_version)
    )


def _tuned(situation: Situation) -> tuple[Choice, ...]:
    """The options of ``knowledge/derivation.json`` with their values for a situation."""
    wal_bytes, wal_why, wal_source = wal(situation)
    # A flush keeps its share of the WAL, and its number of memtables, which costs nothing.
    scale = WAL_BYTES // wal_bytes
    size = max(MIB, _MEMTABLE_BYTES // scale)
    merge = max(1, _MERGE * _MEMTABLE_BYTES // scale // size)
    level0_bytes = merge * size * _TRIGGER
    base_bytes = _power_of_two(level0_bytes)
    jobs = min(situation.cores or _JOBS, _JOBS)
    fill = {
        'size': size,
        'merge': merge,
        'buffers': max(2 * merge, wal_bytes // size),
        'trigger': _TRIGGER,
        'base': base_bytes,
        'flush': format_bytes(merge * size),
        'level0': format_bytes(level0_bytes),
        'rounded': '' if base_bytes == level0_bytes else ', rounded up to a power of two',
        'scaled': '' if scale == 1 else ' Scaled down with the WAL.',
        'jobs': jobs,
        'jobs_why': f'One flush, and no more compactions than {jobs} cores can handle.'
        if jobs < _JOBS
        else 'One flush and three compactions at once: OSDs use fewer than 10 cores.',
        'wal': wal_bytes,
        'wal_why': wal_why,
        'wal_source': wal_source,
    }
    return tuple(
        Choice(**{name: text.format_map(fill) for name, text in entry.items()})
        for entry in loader.load('derivation')['options']
    )
