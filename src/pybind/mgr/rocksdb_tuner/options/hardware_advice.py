"""Options that do not fit the hardware of an OSD. Pure."""

from __future__ import annotations

import math
from typing import Iterator, Mapping

from ..units import format_bytes
from .effective import effective
from .hardware import Hardware
from .memtables import (
    DEFAULT_BOUND_BYTES,
    DEFAULT_FAMILIES,
    bound_bytes,
    full_bytes,
    left_of_target,
    limits,
)
from .problems import Problem, problem
from .syntax import OptionSet
from .values import ValueRefusedError
from .wal import Wal, wal_of

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
