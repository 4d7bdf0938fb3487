"""Warnings about an option string with which an OSD would start.

`knowledge/check_rules.json` has the message and the source of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain

from ..units import format_bytes, natural
from .effective import effective
from .problems import Hardware, Problem, problem, problem_if
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
    alike = 1 / _UNLIKE_FACTOR < level_0 / level_1 < _UNLIKE_FACTOR if level_1 else True
    rewrites = int(version.partition('.')[0]) >= _COMPACTS_ON_DELETION_FROM
    small_option, small_text = _small_memtables(memtable, merge, level_0)
    by_kind = f'{" and ".join(older)} override{"s" * (len(older) == 1)} it'
    periods = {
        name: number(name) for name in ('ttl', 'periodic_compaction_seconds') if name in option_set
    }
    rows = (
        problem_if(
            older and 'max_background_jobs' in option_set,
            *('jobs-switched-off', 'max_background_jobs'),
            older=by_kind,
        ),
        problem_if(values.get('max_total_wal_size') == '0', 'no-wal-limit', 'max_total_wal_size'),
        problem_if(
            level_0 > 0 and not alike,
            *('level0-unlike-level1', 'max_bytes_for_level_base'),
            level_0=format_bytes(level_0),
            level_1=format_bytes(level_1),
        ),
        problem_if(
            buffers < 2 * merge,
            *('few-memtables', 'max_write_buffer_number'),
            buffers=buffers,
            merge=merge,
        ),
        problem_if(small, 'small-memtables', small_option, text=small_text),
        problem_if(
            values.get('compaction_readahead_size') == '0',
            *('no-readahead', 'compaction_readahead_size'),
        ),
        problem_if(
            copied > 0,
            *('write-buffer-copy', 'writable_file_max_buffer_size'),
            copied=format_bytes(copied),
        ),
        problem_if(
            0 < slowdown <= number('level0_file_num_compaction_trigger', -1),
            *('slowdown-at-trigger', 'level0_slowdown_writes_trigger'),
            slowdown=slowdown,
        ),
        *(
            problem_if(
                rewrites and 0 < seconds < _USUAL_PERIOD_S,
                *('periodic-rewrites', name),
                seconds=seconds,
            )
            for name, seconds in periods.items()
        ),
    )
    return tuple(chain.from_iterable(rows))


def _small_memtables(memtable: int, merge: int, level_0: int) -> tuple[str, str]:
    """Tombstones reach level 1 if the deleted keys were flushed before: option and text."""
    size = format_bytes(memtable)
    if merge == 1:
        text = (
            f'Memtables of {size} are flushed one by one, including short-lived keys: on Pacific '
            'compactions of 16 x 64 MiB without merging wrote 3.7 times as much as those of 4 x '
            '256 MiB, in 2016 of 32 x 32 MiB 2.9 times; "model" predicts all writes of an OSD, '
            'with WAL and flushes'
        )
        return 'min_write_buffer_number_to_merge', text
    text = (
        f'With memtables of {size} level 0 is compacted at {format_bytes(level_0)}, and deletions '
        'reach level 1: compactions of 16 x 64 MiB with merge 2 wrote 1.9 times as much as those '
        'of 4 x 256 MiB, but no more than that after level0_file_num_compaction_trigger and '
        'max_bytes_for_level_base were raised as well'
    )
    return 'level0_file_num_compaction_trigger', text


def _about_the_hardware(
    option_set: OptionSet, values: Mapping[str, str], version: str, hardware: Hardware
) -> Iterator[Problem]:
    cores = hardware.cores
    most = _COMPACTION_THREADS_WITHOUT_REASON if cores is None else max(cores, _FEWEST_JOBS)
    for name in ('max_background_compactions', 'compaction_threads', 'max_background_jobs'):
        if name in option_set and int(values.get(name, '0')) > most:
            has = 'OSDs usually have 6 to 10' if cores is None else f'the OSD has {cores}'
            yield problem('many-threads', name, threads=values[name], cores=has)
    full = _memtable_bytes(option_set, values, version, hardware)
    number = DEFAULT_FAMILIES if hardware.families is None else len(hardware.families)
    bound = bound_bytes(values, full, number)
    target = hardware.memory_target_bytes or _MEMORY_TARGET_BYTES
    left = left_of_target(target)
    if bound > left:
        rule, option = 'memory-target-small', 'osd_memory_target'
        if bound > DEFAULT_BOUND_BYTES:
            limiting = limits(values, number)
            rule = 'memtables-beyond-memory'
            option = min(limiting, key=lambda name: limiting[name], default='write_buffer_size')
        yield problem(
            rule,
            option,
            target=format_bytes(target),
            left=format_bytes(left),
            bound=format_bytes(bound),
            default=format_bytes(DEFAULT_BOUND_BYTES),
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
            limit=format_bytes(log.limit_bytes),
            files=format_bytes(log.device_bytes),
            device='DB' if wal_device is None else 'WAL',
            size=format_bytes(device),
            spills=f'{"" if wal_device is None else "the DB device or "}the slow device',
            # With a single family RocksDB ignores the limit.
            fitting='' if number == 1 else _limit_that_fits(log, device, values),
        )
    if db_device is not None and taken > db_device and not dynamic:
        yield problem(
            'levels-beyond-device',
            'max_bytes_for_level_base',
            what='WAL files and levels' if with_wal else 'Levels',
            taken=format_bytes(taken),
            size=format_bytes(db_device),
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
    size = 'bluestore_cache_size_ssd'
    autotune = settings.get('bluestore_cache_autotune', 'true').lower() in ('true', '1')
    why = 'only the initial value' if autotune else 'a fixed ratio'
    for name, consequence in _SHORT_LOGS.items():
        entries = natural(settings.get(name))
        short = entries is not None and entries < _PG_LOG_LEAST
        yield from problem_if(short, 'short-pg-log', name, entries=entries, consequence=consequence)
    yield from problem_if(not autotune, 'cache-autotune-off', 'bluestore_cache_autotune')
    for name in ('bluestore_cache_kv_ratio', 'bluestore_cache_meta_ratio'):
        yield from problem_if(
            name in settings,
            *('cache-ratio-set', name),
            value=settings.get(name),
            why=why,
            autotune='enabled' if autotune else 'disabled',
        )
    yield from problem_if(
        size in settings and autotune, 'cache-size-set', size, value=settings.get(size)
    )


_SHORT_LOGS = {
    **dict.fromkeys(
        ('osd_min_pg_log_entries', 'osd_max_pg_log_entries'),
        'a restarted OSD has missed more than the PG logs hold, and needs a backfill instead of '
        'log-based recovery; published benchmarks with 10 did not restart OSDs',
    ),
    'osd_pg_log_dups_tracked': (
        'a PG may no longer detect that a request, resent by a client after peering, was already '
        'executed'
    ),
}
