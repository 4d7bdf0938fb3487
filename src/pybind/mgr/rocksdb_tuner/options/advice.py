"""Warnings about an option string with which an OSD would start.

A row of a table is a rule: whether it applies, its id, the option, and the message;
`knowledge/check_rules.json` has the source of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache

from ..units import format_bytes, natural
from .effective import effective
from .hardware import Hardware
from .problems import Problem, problem, problems_of
from .syntax import OptionSet
from .values import ValueRefusedError
from .wal import (
    DEFAULT_BOUND_BYTES,
    DEFAULT_FAMILIES,
    Wal,
    bound_bytes,
    full_bytes,
    left_of_target,
    limits,
    wal_of,
)

#: The default of all releases.
_MEMORY_TARGET_BYTES = 4 << 30
#: Without a known number of cores per OSD: published clusters gave it 6 to 10.
_COMPACTION_THREADS_WITHOUT_REASON = 8
# The advice is "similar"; nobody would call twice or half the size similar.
_UNLIKE_FACTOR = 2.0
#: RocksDB's own default of max_background_jobs: no OSD is too small for it.
_FEWEST_JOBS = 2
#: Memtables up to this size were measured to write more to the DB if level 0 is small: 16 x 64 MiB
#: wrote 3.7 times as much as 4 x 256 MiB, and 1.9 times with merge 2; with levels 0 and 1 raised
#: too, no more than those (M. Nelson, 2022, Pacific Testing (RBD)).
_SMALL_MEMTABLE_BYTES = 64 << 20
#: That level 0 held half of the WAL; the published tunings hold three quarters or all of it.
_LEVEL_0_PART_OF_WAL = 0.5
#: From this version on compaction on deletion replaces shorter periods.
_COMPACTS_ON_DELETION_FROM = 7
#: RocksDB's own default for ttl since 6.6; from here on it is not a choice of the operator.
_USUAL_PERIOD_S = 30 * 24 * 3600
#: Fewer entries than this are gone before a restarted OSD is back.
_PG_LOG_LEAST = 100

#: Ceph options that published tunings change together with the option string.
RELATED_OPTIONS = (
    'osd_min_pg_log_entries',
    'osd_max_pg_log_entries',
    'bluestore_cache_autotune',
    'bluestore_cache_kv_ratio',
    'bluestore_cache_meta_ratio',
    'osd_pg_log_dups_tracked',
    'osd_pg_log_trim_min',
    'bluestore_cache_size_ssd',
)


def advice(
    option_set: OptionSet, values: Mapping[str, str], version: str, hardware: Hardware
) -> Iterator[Problem]:
    """All warnings; ``values``: effective values, empty if the string is refused."""
    if values:
        yield from _about_the_string(option_set, version)
        yield from _about_the_hardware(option_set, values, version, hardware)
    if hardware.related_options:
        yield from related_options_advice(dict(hardware.related_options))


def level_0_bytes(values: Mapping[str, str]) -> int:
    """Size of level 0 when its compaction starts."""
    names = (
        'write_buffer_size',
        'min_write_buffer_number_to_merge',
        'level0_file_num_compaction_trigger',
    )
    return math.prod(int(values.get(name, '0')) for name in names)


# Each OSD of a cluster asks, with its own hardware.
@lru_cache(maxsize=64)
def _about_the_string(option_set: OptionSet, version: str) -> tuple[Problem, ...]:
    values = effective(option_set, version)

    def number(name: str, unknown: int = 0) -> int:
        return int(values.get(name, unknown))

    older = [
        name
        for name in ('max_background_compactions', 'max_background_flushes')
        if name in option_set and values.get(name) != '-1'
    ]
    memtable, merge = number('write_buffer_size'), number('min_write_buffer_number_to_merge', 1)
    buffers, copied = number('max_write_buffer_number', 2), number('writable_file_max_buffer_size')
    level_0, level_1 = level_0_bytes(values), number('max_bytes_for_level_base')
    slowdown = number('level0_slowdown_writes_trigger')
    wal = number('max_total_wal_size') or DEFAULT_BOUND_BYTES
    small = 0 < memtable <= _SMALL_MEMTABLE_BYTES and 0 < level_0 <= _LEVEL_0_PART_OF_WAL * wal
    compacts_on_deletion = int(version.partition('.')[0]) >= _COMPACTS_ON_DELETION_FROM
    return tuple(
        problems_of(
            (
                (
                    bool(older) and 'max_background_jobs' in option_set,
                    'jobs-switched-off',
                    'max_background_jobs',
                    f'No effect: {" and ".join(older)} override{"s" * (len(older) == 1)} it',
                ),
                (
                    values.get('max_total_wal_size') == '0',
                    'no-wal-limit',
                    'max_total_wal_size',
                    (
                        'Not set: with column families the WAL grows to eight times the size of '
                        'all memtables, far beyond the 1 GiB that WAL devices are sized for'
                    ),
                ),
                (
                    level_0 > 0 < level_1
                    and not 1 / _UNLIKE_FACTOR < level_0 / level_1 < _UNLIKE_FACTOR,
                    'level0-unlike-level1',
                    'max_bytes_for_level_base',
                    (
                        f'Level 0 has {format_bytes(level_0)} and level 1 {format_bytes(level_1)}: '
                        'RocksDB performs best if they have about the same size'
                    ),
                ),
                (
                    buffers < 2 * merge,
                    'few-memtables',
                    'max_write_buffer_number',
                    (
                        f'{buffers} memtables are fewer than two flushes of {merge}: writes wait '
                        'for flushes'
                    ),
                ),
                # Tombstones that reach level 1 because the deleted keys were flushed before.
                (
                    small and merge == 1,
                    'small-memtables',
                    'min_write_buffer_number_to_merge',
                    (
                        f'Memtables of {format_bytes(memtable)} are flushed one by one, including '
                        'short-lived keys: on Pacific compactions of 16 x 64 MiB without merging '
                        'wrote 3.7 times as much as those of 4 x 256 MiB, in 2016 of 32 x 32 MiB '
                        '2.9 times; "model" predicts all writes of an OSD, with WAL and flushes'
                    ),
                ),
                (
                    small and merge > 1,
                    'small-memtables',
                    'level0_file_num_compaction_trigger',
                    (
                        f'With memtables of {format_bytes(memtable)} level 0 is compacted at '
                        f'{format_bytes(level_0)}, and deletions reach level 1: compactions of 16 '
                        'x 64 MiB with merge 2 wrote 1.9 times as much as those of 4 x 256 MiB, '
                        'but no more than that after level0_file_num_compaction_trigger and '
                        'max_bytes_for_level_base were raised as well'
                    ),
                ),
                (
                    values.get('compaction_readahead_size') == '0',
                    'no-readahead',
                    'compaction_readahead_size',
                    (
                        'Not set: compactions read each key separately; all of '
                        "Ceph's defaults use 2 MiB"
                    ),
                ),
                (
                    copied > 0,
                    'write-buffer-copy',
                    'writable_file_max_buffer_size',
                    (
                        f'{format_bytes(copied)}: RocksDB copies data once more before it passes '
                        "the data to BlueFS, which has its own buffer; all of Ceph's defaults use "
                        '0'
                    ),
                ),
                (
                    0 < slowdown <= number('level0_file_num_compaction_trigger', -1),
                    'slowdown-at-trigger',
                    'level0_slowdown_writes_trigger',
                    (
                        f'Writes are slowed down from {slowdown} files in level 0, when its '
                        'compaction has only started: published tunings leave at least 12 files '
                        'between the two'
                    ),
                ),
                *(
                    (
                        compacts_on_deletion
                        and name in option_set
                        and 0 < number(name) < _USUAL_PERIOD_S,
                        'periodic-rewrites',
                        name,
                        (
                            f'All data is rewritten every {number(name)}s; compaction on deletion '
                            'replaces the original purpose of this option'
                        ),
                    )
                    for name in ('ttl', 'periodic_compaction_seconds')
                ),
            )
        )
    )


def _about_the_hardware(
    option_set: OptionSet, values: Mapping[str, str], version: str, hardware: Hardware
) -> Iterator[Problem]:
    cores = hardware.cores
    most = _COMPACTION_THREADS_WITHOUT_REASON if cores is None else max(cores, _FEWEST_JOBS)
    for name in ('max_background_compactions', 'compaction_threads', 'max_background_jobs'):
        if name in option_set and int(values.get(name, '0')) > most:
            has = 'OSDs usually have 6 to 10' if cores is None else f'the OSD has {cores}'
            yield problem(
                'many-threads',
                name,
                f'{values[name]} concurrent compactions: {has} cores, which clients need as well',
            )
    full = _memtable_bytes(option_set, values, version, hardware)
    number = DEFAULT_FAMILIES if hardware.families is None else len(hardware.families)
    bound = bound_bytes(values, full, number)
    target = hardware.memory_target_bytes or _MEMORY_TARGET_BYTES
    left = left_of_target(target)
    if bound > left:
        leaves = f'leaves {format_bytes(left)} for memtables and all caches'
        limiting = limits(values, number)
        yield from problems_of(
            (
                (
                    bound <= DEFAULT_BOUND_BYTES,
                    'memory-target-small',
                    'osd_memory_target',
                    (
                        f'{format_bytes(target)} {leaves}; memtables can use '
                        f'{format_bytes(bound)}, and {format_bytes(DEFAULT_BOUND_BYTES)} with each '
                        "release's default: the OSD exceeds the target with any of them"
                    ),
                ),
                (
                    bound > DEFAULT_BOUND_BYTES,
                    'memtables-beyond-memory',
                    min(limiting, key=lambda name: limiting[name], default='write_buffer_size'),
                    (
                        f'Memtables can use {format_bytes(bound)}; osd_memory_target of '
                        f'{format_bytes(target)} {leaves}, so the OSD exceeds the target'
                    ),
                ),
            )
        )
    # Without a dedicated WAL device BlueFS puts the log on the DB device.
    wal_device, db_device = hardware.wal_device_bytes, hardware.db_device_bytes
    device = db_device if wal_device is None else wal_device
    log = wal_of(values, full, number)
    upper = level_0_bytes(values) + int(values['max_bytes_for_level_base'])
    dynamic = values.get('level_compaction_dynamic_level_bytes') == 'true'
    with_wal = wal_device is None and device is not None and log.fits(device)
    taken = upper + (log.device_bytes if with_wal else 0)
    if device is not None and not log.fits(device):
        yield problem(
            'wal-beyond-device',
            'max_total_wal_size',
            f'The files of a WAL of {format_bytes(log.limit_bytes)} use '
            f'{format_bytes(log.device_bytes)}, but the {"DB" if wal_device is None else "WAL"} '
            f'device has {format_bytes(device)}: the rest spills over to '
            f'{"" if wal_device is None else "the DB device or "}the slow device'
            # With a single family RocksDB ignores the limit.
            + ('' if number == 1 else _limit_that_fits(log, device, values)),
        )
    if db_device is not None and taken > db_device and not dynamic:
        yield problem(
            'levels-beyond-device',
            'max_bytes_for_level_base',
            f'{"WAL files and levels" if with_wal else "Levels"} 0 and 1 use '
            f'{format_bytes(taken)}, but the DB device has {format_bytes(db_device)}: the most '
            'frequently written data spills over to the slow device',
        )


def _memtable_bytes(
    option_set: OptionSet, values: Mapping[str, str], version: str, hardware: Hardware
) -> int:
    """All full memtables of all column families."""
    one = full_bytes(values)
    if hardware.families is None:
        return DEFAULT_FAMILIES * one
    total = 0
    for family in hardware.families:
        try:
            own = effective(option_set.replaced(family.as_dict()), version) if family else values
            total += full_bytes(own)
        except (ValueRefusedError, KeyError):
            # No OSD has such a family, or its effective options are unknown.
            total += one
    return total


def _limit_that_fits(log: Wal, device_bytes: int, values: Mapping[str, str]) -> str:
    """The limit that fits depends on the memtable size, which is preallocated per WAL file."""
    fits = log.limit_that_fits(device_bytes)
    larger = ', and a larger one with smaller memtables' * (log.file_bytes > device_bytes / 8)
    return f'; with memtables of {format_bytes(int(values["write_buffer_size"]))} ' + (
        f'a limit of up to {format_bytes(fits)} fits{larger}' if fits else 'no limit fits'
    )


def related_options_advice(settings: Mapping[str, str]) -> Iterator[Problem]:
    """Warnings about related options; ``settings``: those that are set."""

    def short(name: str) -> bool:
        entries = natural(settings.get(name))
        return entries is not None and entries < _PG_LOG_LEAST

    dups, size = 'osd_pg_log_dups_tracked', 'bluestore_cache_size_ssd'
    autotune = settings.get('bluestore_cache_autotune', 'true').lower() in ('true', '1')
    return problems_of(
        (
            *(
                (
                    short(name),
                    'short-pg-log',
                    name,
                    (
                        f'{settings.get(name)} entries: a restarted OSD has missed more than the '
                        'PG logs hold, and needs a backfill instead of log-based recovery; '
                        'published benchmarks with 10 did not restart OSDs'
                    ),
                )
                for name in ('osd_min_pg_log_entries', 'osd_max_pg_log_entries')
            ),
            (
                short(dups),
                'short-pg-log',
                dups,
                (
                    f'{natural(settings.get(dups))} entries: a PG may no longer detect that a '
                    'request, resent by a client after peering, was already executed'
                ),
            ),
            (
                not autotune,
                'cache-autotune-off',
                'bluestore_cache_autotune',
                'Disabled: osd_memory_target has no effect, and caches keep their initial sizes',
            ),
            *(
                (
                    name in settings,
                    'cache-ratio-set',
                    name,
                    f'Set to {settings.get(name)}: '
                    + (
                        'only the initial value, since bluestore_cache_autotune is enabled'
                        if autotune
                        else 'a fixed ratio, since bluestore_cache_autotune is disabled'
                    ),
                )
                for name in ('bluestore_cache_kv_ratio', 'bluestore_cache_meta_ratio')
            ),
            (
                size in settings and autotune,
                'cache-size-set',
                size,
                (
                    f'Set to {settings.get(size)}: no effect, since osd_memory_target determines '
                    'the caches while bluestore_cache_autotune is enabled'
                ),
            ),
        )
    )
