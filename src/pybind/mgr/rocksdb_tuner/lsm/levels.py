"""Column families with the options that shape their trees, levels, and the end of a DB device.

Keys without a column are in "default".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, takewhile
from typing import Optional

from ..options.effective import effective
from ..options.syntax import Column, OptionSet
from .records import DbDeviceModel, Devices, Level, LevelsModel, VolumeSelection

_LEVEL_STYLE = 'kCompactionStyleLevel'


class NotModeledError(ValueError):
    """A possibly valid option set that this model does not cover."""


@dataclass(frozen=True)
class TreeOptions:
    """Effective values, after RocksDB's own corrections."""

    write_buffer_bytes: int
    arena_block_bytes: int
    max_write_buffer_number: int
    min_write_buffer_number_to_merge: int
    level0_trigger: int
    level_base_bytes: int
    level_multiplier: float
    levels: int
    #: None if it differs between the two nearest measured versions.
    dynamic_level_bytes: Optional[bool]
    max_total_wal_bytes: int
    db_write_buffer_bytes: int
    max_background_jobs: int
    max_background_compactions: int
    max_background_flushes: int
    compression: str

    @property
    def flush_bytes(self) -> int:
        """Size of the memtables that are flushed together.

        The RocksDB Tuning Guide's write_buffer_size x min_write_buffer_number_to_merge.
        """
        return self.write_buffer_bytes * self.min_write_buffer_number_to_merge

    @property
    def full_memtable_bytes(self) -> float:
        """Size of a full memtable: less than write_buffer_size by a part of an arena block.

        MemTable::ShouldFlushNow() in db/memtable.cc: it allocates another block while it exceeds
        its size by at most 0.6 blocks, and is full when less than a quarter of the last block is
        left.
        """
        block = max(1, self.arena_block_bytes)
        blocks = max(1, math.ceil(self.write_buffer_bytes / block - 0.4))
        return blocks * block - block / 4

    @property
    def full_flush_bytes(self) -> float:
        return self.full_memtable_bytes * self.min_write_buffer_number_to_merge

    @property
    def level0_bytes(self) -> int:
        """The stable size of level 0 (RocksDB Tuning Guide, Level Style Compaction)."""
        return self.flush_bytes * self.level0_trigger

    @property
    def memtable_ceiling_bytes(self) -> int:
        return self.write_buffer_bytes * self.max_write_buffer_number


_NUMBERS = {
    'write_buffer_bytes': 'write_buffer_size',
    'max_write_buffer_number': 'max_write_buffer_number',
    'min_write_buffer_number_to_merge': 'min_write_buffer_number_to_merge',
    'level0_trigger': 'level0_file_num_compaction_trigger',
    'level_base_bytes': 'max_bytes_for_level_base',
    'levels': 'num_levels',
    'max_total_wal_bytes': 'max_total_wal_size',
    'db_write_buffer_bytes': 'db_write_buffer_size',
    'max_background_jobs': 'max_background_jobs',
    'max_background_compactions': 'max_background_compactions',
    'max_background_flushes': 'max_background_flushes',
}


@lru_cache(maxsize=256)
def tree_options(option_set: OptionSet, rocksdb_version: str) -> TreeOptions:
    """The tree options of one column family.

    Raises NotModeledError for another compaction style, for disabled compaction and for an infinite
    level multiplier, and what `effective` raises.
    """
    values = effective(option_set, rocksdb_version)
    style = values.get('compaction_style')
    if style != _LEVEL_STYLE:
        raise NotModeledError(f'compaction_style={style}: only {_LEVEL_STYLE} is modeled')
    if values.get('disable_auto_compactions') == 'true':
        raise NotModeledError('disable_auto_compactions=true: without compactions no level fills')
    for name in (*_NUMBERS.values(), 'max_bytes_for_level_multiplier', 'compression'):
        if name not in values:
            raise NotModeledError(
                f'{name}: its effective value in RocksDB {rocksdb_version} is unknown'
            )
    multiplier = float(values['max_bytes_for_level_multiplier'])
    if not math.isfinite(multiplier):
        raise NotModeledError(f'max_bytes_for_level_multiplier={multiplier:g}: no level has a size')
    dynamic = values.get('level_compaction_dynamic_level_bytes')
    # Unknown for a version between two measured ones: an eighth was the rule until 7.
    eighth = max(1, int(values['write_buffer_size']) // 8)
    return TreeOptions(
        arena_block_bytes=int(values.get('arena_block_size', eighth)),
        level_multiplier=multiplier,
        dynamic_level_bytes=None if dynamic is None else dynamic == 'true',
        compression=values['compression'],
        **{field: int(values[option]) for field, option in _NUMBERS.items()},
    )


#: BlueStore offers RocksDB 95% of a device (BlueStore::_open_bluefs(), _prepare_db_environment).
_USABLE_PERCENT = 95
#: BlueStore::_open_bluefs() assumes this size for level 0, regardless of the options.
_SELECTOR_LEVEL0_BYTES = 1 << 30
_UINT64_MAX = (1 << 64) - 1
#: More levels than any database fills.
MAX_LEVELS = 16
FIT_TO_FAST = 'fit_to_fast'
_USE_SOME_EXTRA = 'use_some_extra'


def level_targets(options: TreeOptions) -> tuple[int, ...]:
    """Targets of level 1 and up, without dynamic level bytes.

    VersionStorageInfo::CalculateBaseBytes() in db/version_set.cc, with the overflow rule of
    MultiplyCheckOverflow() in options/cf_options.cc.
    """
    targets = [options.level_base_bytes]
    for _ in range(2, min(options.levels, MAX_LEVELS)):
        grown = targets[-1] * options.level_multiplier
        targets.append(int(grown) if grown <= _UINT64_MAX else targets[-1])
    return tuple(targets)


def filled_levels(options: TreeOptions, data_bytes: float) -> tuple[float, ...]:
    """Bytes in level 1 and up: each fills up before the next one, the last takes the rest."""
    sizes = []
    for target in level_targets(options):
        sizes.append(min(data_bytes, float(target)))
        data_bytes -= sizes[-1]
    sizes[-1] += data_bytes
    return tuple(sizes)


def paths(selection: VolumeSelection) -> int:
    """Number of ``db_paths`` that BlueStore configures: more than one disables dynamic level bytes.

    get_paths() of the volume selectors in src/os/bluestore/BlueFS.cc and BlueStore.h. Seen on
    16.2.15: OSDs on a single device also have db and db.slow.
    """
    return 1 if selection.policy == FIT_TO_FAST else 2


def levels(options: TreeOptions, devices: Devices, selection: VolumeSelection) -> LevelsModel:
    targets = level_targets(options)
    usable, base = _usable_db_bytes(devices, selection), options.level_base_bytes
    found = tuple(
        Level(
            number,
            target,
            total,
            total + base,
            None if usable is None else paths(selection) == 1 or total + base <= usable,
        )
        for number, (target, total) in enumerate(zip(targets, accumulate(targets)), start=1)
    )
    return LevelsModel(
        level0_files=options.level0_trigger,
        level0_bytes=options.level0_bytes,
        level0_to_level1=options.level0_bytes / base if base else None,
        levels=found,
        dynamic_why=None
        if paths(selection) == 1 or not options.dynamic_level_bytes
        else _DYNAMIC_OFF,
    )


_DYNAMIC_OFF = (
    'BlueStore configures two paths in RocksDB (db and db.slow), and RocksDB disables '
    'level_compaction_dynamic_level_bytes if there is more than one; with '
    'bluestore_volume_selection_policy=fit_to_fast there is only one'
)


def _usable_db_bytes(devices: Devices, selection: VolumeSelection) -> Optional[int]:
    if not devices.dedicated_db or devices.db_bytes is None:
        return None
    if paths(selection) == 1:
        return devices.db_bytes
    return devices.db_bytes * _USABLE_PERCENT // 100


def last_level(options: TreeOptions, usable_bytes: int) -> tuple[Optional[int], int]:
    """The highest level that fits, and the bytes of all levels up to it, level 0 included.

    LevelCompactionBuilder::GetPathId() in db/compaction/compaction_picker_level.cc, which counts
    level 0 with the size of level 1 and considers one column family only.
    """
    totals = accumulate((options.level_base_bytes, *level_targets(options)))
    fitting = list(takewhile(lambda total: total <= usable_bytes, totals))
    return (len(fitting) - 1, fitting[-1]) if fitting else (None, 0)


def extra_bytes(options: TreeOptions, usable_bytes: int, selection: VolumeSelection) -> int:
    """Bytes of the DB device that higher levels may use, file by file.

    Constructor of RocksDBBlueFSVolumeSelector in src/os/bluestore/BlueStore.h: the device less the
    levels that fit, the last of them counted `reserved_factor` times.
    """
    if not selection.policy.startswith(_USE_SOME_EXTRA):
        return 0
    if selection.reserved_bytes:
        return max(0, usable_bytes - selection.reserved_bytes)
    before, level = _SELECTOR_LEVEL0_BYTES, options.level_base_bytes
    threshold = 0
    for _ in range(MAX_LEVELS):
        # uint64_t in BlueStore; no device is that large.
        following = min(level * int(options.level_multiplier), _UINT64_MAX)
        next_threshold = int(before + level + following * selection.reserved_factor)
        if usable_bytes <= next_threshold:
            return usable_bytes - threshold if threshold else 0
        before += level
        level = following
        threshold = next_threshold
    return 0


def db_device(
    options: TreeOptions,
    devices: Devices,
    selection: VolumeSelection,
    family_data_bytes: Optional[Sequence[float]],
) -> Optional[DbDeviceModel]:
    """None without a dedicated DB device of known size.

    ``family_data_bytes``: SST bytes of each column family, None if unknown.
    """
    usable = _usable_db_bytes(devices, selection)
    if usable is None or devices.db_bytes is None:
        return None
    if paths(selection) == 1:
        fits = None if family_data_bytes is None else sum(family_data_bytes) <= usable
        return DbDeviceModel(devices.db_bytes, usable, None, 0, usable, 0, selection.policy, fits)
    last, taken = last_level(options, usable)
    extra = min(extra_bytes(options, usable, selection), usable - taken)
    holds = None
    if family_data_bytes is not None:
        # Each family may fill the levels that fit; the rest needs the extra space.
        beyond = sum(max(0.0, data - taken) for data in family_data_bytes)
        holds = sum(family_data_bytes) <= usable and beyond <= extra
    unused = usable - taken - extra
    return DbDeviceModel(
        devices.db_bytes, usable, last, taken, extra, unused, selection.policy, holds
    )


def options_of(column: Column, database: OptionSet) -> OptionSet:
    """Options that a column is opened with: the database's, overridden by its own.

    RocksDBStore::create_and_open() and update_column_family_options().
    """
    return database.replaced(column.options.as_dict())


@dataclass(frozen=True)
class Family:
    """A column with the options that its column families are opened with."""

    column: Column
    options: TreeOptions

    @property
    def ceiling_bytes(self) -> int:
        return self.options.memtable_ceiling_bytes * self.column.shards
