"""Warnings about an option string with which an OSD would start.

Each rule checks one property and returns its problems; `knowledge/check_rules.json` has the source
of each.

Options that do not fit the hardware of an OSD.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from ..units import format_bytes, natural
from .effective import effective
from .hardware import Hardware
from .problems import Problem, problem
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

_GIB = 1 << 30
#: The default of all releases.
_MEMORY_TARGET_BYTES = 4 * _GIB


def level_0_bytes(values: Mapping[str, str]) -> int:
    """Size of level 0 when its compaction starts."""
    names = (
        'write_buffer_size',
        'min_write_buffer_number_to_merge',
        'level0_file_num_compaction_trigger',
    )
    return math.prod(int(values.get(name, '0')) for name in names)


def _memtable_bytes(
    option_set: OptionSet, values: Mapping[str, str], version: str, hardware: Hardware
) -> int:
    """All full memtables of all column families."""
    one = full_bytes(values)
    if hardware.families is None:
        return DEFAULT_FAMILIES * one
    return sum(
        _full_of_family(option_set, family, version, one) if len(family) else one
        for family in hardware.families
    )


def _full_of_family(
    option_set: OptionSet, family: OptionSet, version: str, of_database: int
) -> int:
    try:
        own = effective(option_set.replaced(family.as_dict()), version)
        return full_bytes(own)
    except (ValueRefusedError, KeyError):
        # No OSD has such a family, or its effective options are unknown.
        return of_database


def memtables_beyond_memory(
    option_set: OptionSet, values: Mapping[str, str], version: str, hardware: Hardware
) -> Iterator[Problem]:
    full = _memtable_bytes(option_set, values, version, hardware)
    number = DEFAULT_FAMILIES if hardware.families is None else len(hardware.families)
    bound, limiting = bound_bytes(values, full, number), limits(values, number)
    target = hardware.memory_target_bytes or _MEMORY_TARGET_BYTES
    left = left_of_target(target)
    if bound <= left:
        return
    if bound <= DEFAULT_BOUND_BYTES:
        yield problem(
            'memory-target-small',
            'osd_memory_target',
            f'{format_bytes(target)} leaves {format_bytes(left)} for memtables and all caches; '
            f'memtables can use {format_bytes(bound)}, and {format_bytes(DEFAULT_BOUND_BYTES)} '
            "with each release's default: the OSD exceeds the target with any of them",
        )
    else:
        yield problem(
            'memtables-beyond-memory',
            min(limiting, key=lambda name: limiting[name]) if limiting else 'write_buffer_size',
            f'Memtables can use {format_bytes(bound)}; osd_memory_target of '
            f'{format_bytes(target)} leaves {format_bytes(left)} for memtables and all caches, so '
            'the OSD exceeds the target',
        )


def wal_beyond_device(
    option_set: OptionSet, values: Mapping[str, str], version: str, hardware: Hardware
) -> Iterator[Problem]:
    # Without a dedicated WAL device BlueFS puts the log on the DB device.
    on_wal = hardware.wal_device_bytes is not None
    device = hardware.wal_device_bytes if on_wal else hardware.db_device_bytes
    if device is None:
        return
    number = DEFAULT_FAMILIES if hardware.families is None else len(hardware.families)
    log = wal_of(values, _memtable_bytes(option_set, values, version, hardware), number)
    if log.fits(device):
        return
    yield problem(
        'wal-beyond-device',
        'max_total_wal_size',
        f'The files of a WAL of {format_bytes(log.limit_bytes)} use '
        f'{format_bytes(log.device_bytes)}, but the {"WAL" if on_wal else "DB"} device has '
        f'{format_bytes(device)}: the rest spills over to '
        f'{"the DB device or " if on_wal else ""}the slow device'
        # With a single family RocksDB ignores the limit.
        + ('' if number == 1 else _limit_that_fits(log, device, int(values['write_buffer_size']))),
    )


def _limit_that_fits(log: Wal, device_bytes: int, write_buffer_bytes: int) -> str:
    """The limit that fits depends on the memtable size, which is preallocated per WAL file."""
    fits = log.limit_that_fits(device_bytes)
    prefix = f'; with memtables of {format_bytes(write_buffer_bytes)} '
    if not fits:
        return f'{prefix}no limit fits'
    larger = (
        ', and a larger one with smaller memtables' if log.file_bytes > device_bytes / 8 else ''
    )
    return f'{prefix}a limit of up to {format_bytes(fits)} fits{larger}'


def levels_beyond_device(values: Mapping[str, str], hardware: Hardware) -> Iterator[Problem]:
    device = hardware.db_device_bytes
    if device is None or values.get('level_compaction_dynamic_level_bytes') == 'true':
        return
    upper = level_0_bytes(values) + int(values['max_bytes_for_level_base'])
    if upper > device:
        yield problem(
            'levels-beyond-device',
            'max_bytes_for_level_base',
            f'Levels 0 and 1 use {format_bytes(upper)}, but the DB device has '
            f'{format_bytes(device)}: the most frequently written data spills over to the slow '
            'device',
        )


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
    for rule in _ABOUT_THE_STRING:
        yield from rule(option_set, values)
    if values:
        yield from _periodic_rewrites(option_set, values, version)
        yield from _too_many_compactions(option_set, values, hardware)
        yield from memtables_beyond_memory(option_set, values, version, hardware)
        yield from wal_beyond_device(option_set, values, version, hardware)
        yield from levels_beyond_device(values, hardware)
    yield from related_options_advice(dict(hardware.related_options))


def _jobs_switched_off(option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    older = [
        name
        for name in ('max_background_compactions', 'max_background_flushes')
        if name in option_set and values.get(name) != '-1'
    ]
    if older and 'max_background_jobs' in option_set and values:
        yield problem(
            'jobs-switched-off',
            'max_background_jobs',
            f'No effect: {" and ".join(older)} overrides it'
            if len(older) == 1
            else f'No effect: {" and ".join(older)} override it',
        )


def _too_many_compactions(
    option_set: OptionSet, values: Mapping[str, str], hardware: Hardware
) -> Iterator[Problem]:
    cores = hardware.cores
    most = _COMPACTION_THREADS_WITHOUT_REASON if cores is None else max(cores, _FEWEST_JOBS)
    for name in ('max_background_compactions', 'compaction_threads', 'max_background_jobs'):
        number = int(values.get(name, '0')) if name in option_set else 0
        if number > most:
            usual = 'OSDs usually have 6 to 10 cores'
            has = usual if cores is None else f'the OSD has {cores} cores'
            yield problem(
                'many-threads',
                name,
                f'{number} concurrent compactions: {has}, which clients need as well',
            )


def _no_wal_limit(_option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    if values.get('max_total_wal_size') == '0':
        yield problem(
            'no-wal-limit',
            'max_total_wal_size',
            'Not set: with column families the WAL grows to eight times the size of all memtables, '
            'far beyond the 1 GiB that WAL devices are sized for',
        )


def _level_0_unlike_level_1(_option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    level_0 = level_0_bytes(values)
    level_1 = int(values.get('max_bytes_for_level_base', '0'))
    if level_0 > 0 < level_1 and not 1 / _UNLIKE_FACTOR < level_0 / level_1 < _UNLIKE_FACTOR:
        yield problem(
            'level0-unlike-level1',
            'max_bytes_for_level_base',
            f'Level 0 has {format_bytes(level_0)} and level 1 {format_bytes(level_1)}: RocksDB '
            'performs best if they have about the same size',
        )


def _small_memtables(_option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    """Tombstones that reach level 1 because the deleted keys were flushed before."""
    memtable = int(values.get('write_buffer_size', '0'))
    merge = int(values.get('min_write_buffer_number_to_merge', '0'))
    level_0 = level_0_bytes(values)
    wal = int(values.get('max_total_wal_size', '0')) or DEFAULT_BOUND_BYTES
    if not 0 < memtable <= _SMALL_MEMTABLE_BYTES or not 0 < level_0 <= _LEVEL_0_PART_OF_WAL * wal:
        return
    if merge == 1:
        yield problem(
            'small-memtables',
            'min_write_buffer_number_to_merge',
            f'Memtables of {format_bytes(memtable)} are flushed one by one, including short-lived '
            'keys: 16 x 64 MiB without merging wrote 3.7 times as much to the DB as 4 x 256 MiB on '
            'Pacific, 32 x 32 MiB 2.9 times in 2016',
        )
    else:
        yield problem(
            'small-memtables',
            'level0_file_num_compaction_trigger',
            f'With memtables of {format_bytes(memtable)} level 0 is compacted at '
            f'{format_bytes(level_0)}, and deletions reach level 1: 16 x 64 MiB with merge 2 wrote '
            '1.9 times as much to the DB as 4 x 256 MiB, but no more than that after '
            'level0_file_num_compaction_trigger and max_bytes_for_level_base were raised as well',
        )


def _no_readahead(_option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    if values.get('compaction_readahead_size') == '0':
        yield problem(
            'no-readahead',
            'compaction_readahead_size',
            "Not set: compactions read each key separately; all of Ceph's defaults use 2 MiB",
        )


def _write_buffer_copy(_option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    size = int(values.get('writable_file_max_buffer_size', '0'))
    if size > 0:
        yield problem(
            'write-buffer-copy',
            'writable_file_max_buffer_size',
            f'{format_bytes(size)}: RocksDB copies data once more before it passes the data to '
            "BlueFS, which has its own buffer; all of Ceph's defaults use 0",
        )


def _slowdown_at_trigger(_option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    slowdown = int(values.get('level0_slowdown_writes_trigger', '0'))
    trigger = int(values.get('level0_file_num_compaction_trigger', '-1'))
    if 0 < slowdown <= trigger:
        yield problem(
            'slowdown-at-trigger',
            'level0_slowdown_writes_trigger',
            f'Writes are slowed down from {slowdown} files in level 0, when its compaction has '
            'only started: published tunings leave at least 12 files between the two',
        )


def _periodic_rewrites(
    option_set: OptionSet, values: Mapping[str, str], version: str
) -> Iterator[Problem]:
    if int(version.split('.', maxsplit=1)[0]) < _COMPACTS_ON_DELETION_FROM:
        return
    for name in ('ttl', 'periodic_compaction_seconds'):
        seconds = int(values.get(name, '0'))
        if name in option_set and 0 < seconds < _USUAL_PERIOD_S:
            yield problem(
                'periodic-rewrites',
                name,
                f'All data is rewritten every {seconds}s; compaction on deletion replaces the '
                'original purpose of this option',
            )


def _few_memtables(_option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    buffers = int(values.get('max_write_buffer_number', '2'))
    merge = int(values.get('min_write_buffer_number_to_merge', '1'))
    if buffers < 2 * merge:
        yield problem(
            'few-memtables',
            'max_write_buffer_number',
            f'{buffers} memtables are fewer than two flushes of {merge}: writes wait for flushes',
        )


def related_options_advice(settings: Mapping[str, str]) -> Iterator[Problem]:
    """Warnings about related options; ``settings``: those that are set."""
    for name in ('osd_min_pg_log_entries', 'osd_max_pg_log_entries'):
        entries = natural(settings.get(name))
        if entries is not None and entries < _PG_LOG_LEAST:
            yield problem(
                'short-pg-log',
                name,
                f'{settings[name]} entries: a restarted OSD has missed more than the PG logs hold, '
                'and needs a backfill instead of log-based recovery; published benchmarks with 10 '
                'did not restart OSDs',
            )
    dups = natural(settings.get('osd_pg_log_dups_tracked'))
    if dups is not None and dups < _PG_LOG_LEAST:
        yield problem(
            'short-pg-log',
            'osd_pg_log_dups_tracked',
            f'{dups} entries: a PG may no longer detect that a request, resent by a client after '
            'peering, was already executed',
        )
    if not _is_on(settings, 'bluestore_cache_autotune'):
        yield problem(
            'cache-autotune-off',
            'bluestore_cache_autotune',
            'Disabled: osd_memory_target has no effect, and caches keep their initial sizes',
        )
    for name in ('bluestore_cache_kv_ratio', 'bluestore_cache_meta_ratio'):
        if name in settings:
            autotuned = _is_on(settings, 'bluestore_cache_autotune')
            yield problem(
                'cache-ratio-set',
                name,
                f'Set to {settings[name]}: '
                + (
                    'only the initial value, since bluestore_cache_autotune is enabled'
                    if autotuned
                    else 'a fixed ratio, since bluestore_cache_autotune is disabled'
                ),
            )

    if 'bluestore_cache_size_ssd' in settings and _is_on(settings, 'bluestore_cache_autotune'):
        yield problem(
            'cache-size-set',
            'bluestore_cache_size_ssd',
            f'Set to {settings["bluestore_cache_size_ssd"]}: no effect, since osd_memory_target '
            'determines the caches while bluestore_cache_autotune is enabled',
        )


def _is_on(settings: Mapping[str, str], name: str) -> bool:
    return settings.get(name, 'true').lower() in ('true', '1')


_ABOUT_THE_STRING: tuple[Callable[[OptionSet, Mapping[str, str]], Iterator[Problem]], ...] = (
    _jobs_switched_off,
    _no_wal_limit,
    _level_0_unlike_level_1,
    _few_memtables,
    _small_memtables,
    _no_readahead,
    _write_buffer_copy,
    _slowdown_at_trigger,
)
