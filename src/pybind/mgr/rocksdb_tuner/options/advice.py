"""What is unwise in an option string that an OSD would start with.

Each rule looks at one thing and gives the problems that it finds; `knowledge/check_rules.json`
says of each where it comes from.
"""

from __future__ import annotations

import math
from typing import Callable, Iterator, Mapping

from ..units import format_bytes, natural
from .effective import effective
from .hardware import Hardware
from .memtables import bound_bytes, full_bytes, limits
from .problems import Problem, problem
from .syntax import OptionSet
from .values import ValueRefusedError

__all__ = ['NEIGHBOURS', 'advice', 'related_options_advice']

_GIB = 1 << 30
#: Where nobody said how many cores an OSD has: published clusters gave it 6 to 10.
_COMPACTION_THREADS_WITHOUT_REASON = 8
# The advice is "similar"; twice or half as large is the least that anyone would call unlike.
_UNLIKE_FACTOR = 2.0
#: Defaults of all releases, and what BlueStore keeps of the target for everything but its caches
#: (osd_memory_base) and for the caches at least (osd_memory_cache_min).
_MEMORY_TARGET_BYTES = 4 * _GIB
_MEMORY_BASE_BYTES = 768 << 20
_CACHE_LEAST_BYTES = 128 << 20
#: m, p and O with three shards, L, P and the rest: the default of all releases.
_FAMILIES = 12
#: Without a limit of its own the log may be four times the memtables, which RocksDB counts twice
#: when it opens (`lsm/memory.py`).
_WAL_FACTOR = 8
#: Fewer entries than this are gone before an OSD is back from a restart.
_PG_LOG_LEAST = 100

#: Ceph options that published tunings change together with the string.
NEIGHBOURS = (
    'osd_min_pg_log_entries',
    'osd_max_pg_log_entries',
    'bluestore_cache_autotune',
    'bluestore_cache_kv_ratio',
    'bluestore_cache_meta_ratio',
)


def advice(
    option_set: OptionSet, values: Mapping[str, str], version: str, hardware: Hardware
) -> Iterator[Problem]:
    """All that is unwise; ``values`` is what is in effect, empty where the string is refused."""
    for rule in _ABOUT_THE_STRING:
        yield from rule(option_set, values)
    if values:
        yield from _too_many_compactions(option_set, values, hardware)
        yield from _memtables_beyond_memory(option_set, values, version, hardware)
        yield from _wal_beyond_device(option_set, values, version, hardware)
        yield from _levels_beyond_device(values, hardware)
    yield from related_options_advice(dict(hardware.neighbours))


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
            f'Has no effect beside {" and ".join(older)}',
        )


def _too_many_compactions(
    option_set: OptionSet, values: Mapping[str, str], hardware: Hardware
) -> Iterator[Problem]:
    cores = hardware.cores
    most = _COMPACTION_THREADS_WITHOUT_REASON if cores is None else cores
    for name in ('max_background_compactions', 'compaction_threads', 'max_background_jobs'):
        number = int(values.get(name, '0')) if name in option_set else 0
        if number > most:
            has = 'OSDs have 6 to 10 cores' if cores is None else f'the OSD has {cores} cores'
            yield problem(
                'many-threads', name, f'{number} at once: {has}, and clients need them too'
            )


def _no_wal_limit(_option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    if values.get('max_total_wal_size') == '0':
        yield problem(
            'no-wal-limit',
            'max_total_wal_size',
            'Not set: with column families the WAL grows to eight times the memtables of all of '
            'them, far beyond the 1 GiB that WAL devices are built for',
        )


def _level_0_unlike_level_1(_option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    level_0 = _level_0_bytes(values)
    level_1 = int(values.get('max_bytes_for_level_base', '0'))
    if level_0 > 0 < level_1 and not 1 / _UNLIKE_FACTOR < level_0 / level_1 < _UNLIKE_FACTOR:
        yield problem(
            'level0-unlike-level1',
            'max_bytes_for_level_base',
            f'Level 0 settles at {format_bytes(level_0)} and level 1 at {format_bytes(level_1)}: '
            'the tree works best where they are alike',
        )


def _level_0_bytes(values: Mapping[str, str]) -> int:
    names = (
        'write_buffer_size',
        'min_write_buffer_number_to_merge',
        'level0_file_num_compaction_trigger',
    )
    return math.prod(int(values.get(name, '0')) for name in names)


def _few_memtables(_option_set: OptionSet, values: Mapping[str, str]) -> Iterator[Problem]:
    buffers = int(values.get('max_write_buffer_number', '2'))
    merge = int(values.get('min_write_buffer_number_to_merge', '1'))
    if buffers < 2 * merge:
        yield problem(
            'few-memtables',
            'max_write_buffer_number',
            f'{buffers} memtables hold less than two flushes of {merge}: writes wait for flushes',
        )


def _memtable_bytes(
    option_set: OptionSet, values: Mapping[str, str], version: str, hardware: Hardware
) -> int:
    """All memtables of all column families full."""
    one = full_bytes(values)
    if hardware.families is None:
        return _FAMILIES * one
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
        # No OSD has such a family, or what is in effect in it is not known.
        return of_database


def _memtables_beyond_memory(
    option_set: OptionSet, values: Mapping[str, str], version: str, hardware: Hardware
) -> Iterator[Problem]:
    full = _memtable_bytes(option_set, values, version, hardware)
    number = _FAMILIES if hardware.families is None else len(hardware.families)
    bound, limiting = bound_bytes(values, full, number), limits(values, number)
    target = hardware.memory_target_bytes or _MEMORY_TARGET_BYTES
    left = target - _MEMORY_BASE_BYTES - _CACHE_LEAST_BYTES
    if bound > left:
        yield problem(
            'memtables-beyond-memory',
            min(limiting, key=lambda name: limiting[name], default='write_buffer_size'),
            f'Memtables can take {format_bytes(bound)}; osd_memory_target of '
            f'{format_bytes(target)} leaves {format_bytes(left)} for them and for all caches, '
            'so the OSD grows beyond it',
        )


def _wal_beyond_device(
    option_set: OptionSet, values: Mapping[str, str], version: str, hardware: Hardware
) -> Iterator[Problem]:
    # BlueFS puts the log on the DB device where it has none of its own.
    on_wal = hardware.wal_device_bytes is not None
    device = hardware.wal_device_bytes if on_wal else hardware.db_device_bytes
    if device is None:
        return
    limit = int(values['max_total_wal_size'])
    bound = limit or _WAL_FACTOR * _memtable_bytes(option_set, values, version, hardware)
    if bound > device:
        yield problem(
            'wal-beyond-device',
            'max_total_wal_size',
            f'The WAL can grow to {format_bytes(bound)} and {"its" if on_wal else "the DB"} device '
            f'has {format_bytes(device)}: the rest goes to '
            f'{"the DB device or " if on_wal else ""}the slow one',
        )


def _levels_beyond_device(values: Mapping[str, str], hardware: Hardware) -> Iterator[Problem]:
    device = hardware.db_device_bytes
    if device is None or values.get('level_compaction_dynamic_level_bytes') == 'true':
        return
    upper = _level_0_bytes(values) + int(values['max_bytes_for_level_base'])
    if upper > device:
        yield problem(
            'levels-beyond-device',
            'max_bytes_for_level_base',
            f'Levels 0 and 1 take {format_bytes(upper)} and the DB device has '
            f'{format_bytes(device)}: what is written most spills over to the slow device',
        )


def related_options_advice(settings: Mapping[str, str]) -> Iterator[Problem]:
    """What is unwise in options beside the string; ``settings`` are those that somebody set."""
    for name in ('osd_min_pg_log_entries', 'osd_max_pg_log_entries'):
        entries = natural(settings.get(name))
        if entries is not None and entries < _PG_LOG_LEAST:
            yield problem(
                'short-pg-log',
                name,
                f'{settings[name]} entries: an OSD that restarts has missed more than its PGs '
                'remember, and is filled anew instead of catching up; published benchmarks that '
                'set 10 restarted nothing',
            )
    if settings.get('bluestore_cache_autotune', 'true').lower() in ('false', '0'):
        yield problem(
            'cache-autotune-off',
            'bluestore_cache_autotune',
            'Off: osd_memory_target bounds nothing, and memory stays with the cache that was '
            'given it',
        )
    for name in ('bluestore_cache_kv_ratio', 'bluestore_cache_meta_ratio'):
        if name in settings:
            autotuned = settings.get('bluestore_cache_autotune', 'true').lower() in ('true', '1')
            yield problem(
                'cache-ratio-set',
                name,
                f'Set to {settings[name]}: '
                + (
                    'a starting point only while bluestore_cache_autotune moves it'
                    if autotuned
                    else 'it decides alone, since bluestore_cache_autotune is off'
                ),
            )


_ABOUT_THE_STRING: tuple[Callable[[OptionSet, Mapping[str, str]], Iterator[Problem]], ...] = (
    _jobs_switched_off,
    _no_wal_limit,
    _level_0_unlike_level_1,
    _few_memtables,
)
