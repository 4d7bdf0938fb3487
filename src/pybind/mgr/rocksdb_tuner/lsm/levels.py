"""Levels of the tree, and where a dedicated DB device ends among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from .records import DbDeviceModel, Devices, Level, LevelsModel, VolumeSelection
from .tree_options import TreeOptions

__all__ = [
    'db_device',
    'dynamic_targets',
    'extra_bytes',
    'filled_levels',
    'last_level',
    'level_targets',
    'levels',
    'paths',
    'usable_bytes',
]

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


def dynamic_targets(options: TreeOptions, data_bytes: float) -> tuple[tuple[int, int], ...]:
    """(level, target) from the base level down, if dynamic level bytes were in effect.

    VersionStorageInfo::CalculateBaseBytes(): the last level holds the data, each level above it is
    smaller by the multiplier, up to the base level: the first at or below
    `max_bytes_for_level_base`, which is also the minimum of a target. Empty if levels do not grow.
    """
    base_max, multiplier = options.level_base_bytes, options.level_multiplier
    if multiplier <= 1 or data_bytes <= 0 or base_max <= 0:
        return ()
    last = min(options.levels, MAX_LEVELS) - 1
    size = data_bytes * (1 - 1 / multiplier)
    base = last
    while base > 1 and size > base_max:
        base -= 1
        size /= multiplier
    # With too few levels the last one takes the rest.
    size = min(size, float(base_max))
    targets = []
    for level in range(base, last + 1):
        targets.append((level, int(max(size, float(base_max)))))
        size = min(size * multiplier, float(_UINT64_MAX))
    return tuple(targets)


def paths(selection: VolumeSelection) -> int:
    """Number of ``db_paths`` that BlueStore configures: more than one disables dynamic level bytes.

    get_paths() of the volume selectors in src/os/bluestore/BlueFS.cc and BlueStore.h. Seen on
    16.2.15: OSDs on a single device also have db and db.slow.
    """
    return 1 if selection.policy == FIT_TO_FAST else 2


def levels(
    options: TreeOptions,
    devices: Devices,
    selection: VolumeSelection,
    family_data_bytes: Optional[float],
) -> LevelsModel:
    targets = level_targets(options)
    usable = _usable_db_bytes(devices, selection)
    result = []
    cumulative = 0
    for number, target in enumerate(targets, start=1):
        cumulative += target
        with_level0 = cumulative + options.level_base_bytes
        fits = None if usable is None else paths(selection) == 1 or with_level0 <= usable
        result.append(Level(number, target, cumulative, with_level0, fits))
    requested = options.dynamic_level_bytes
    single_path = paths(selection) == 1
    return LevelsModel(
        level0_files=options.level0_trigger,
        level0_bytes=options.level0_bytes,
        level0_to_level1=options.level0_bytes / options.level_base_bytes
        if options.level_base_bytes
        else None,
        levels=tuple(result),
        dynamic_requested=requested,
        dynamic_in_effect=None
        if requested is None and single_path
        else bool(requested) and single_path,
        dynamic_why=None if single_path or not requested else _DYNAMIC_OFF,
        dynamic_levels=()
        if family_data_bytes is None
        else dynamic_targets(options, family_data_bytes),
    )


_DYNAMIC_OFF = (
    'BlueStore configures two paths in RocksDB (db and db.slow), and RocksDB disables '
    'level_compaction_dynamic_level_bytes if there is more than one; with '
    'bluestore_volume_selection_policy=fit_to_fast there is only one'
)


def usable_bytes(device_bytes: int) -> int:
    """Bytes of a device that BlueStore offers to RocksDB."""
    return device_bytes * _USABLE_PERCENT // 100


def _usable_db_bytes(devices: Devices, selection: VolumeSelection) -> Optional[int]:
    if not devices.dedicated_db or devices.db_bytes is None:
        return None
    if paths(selection) == 1:
        return devices.db_bytes
    return usable_bytes(devices.db_bytes)


def last_level(options: TreeOptions, usable_bytes: int) -> tuple[Optional[int], int]:
    """The highest level that fits, and the bytes of all levels up to it, level 0 included.

    LevelCompactionBuilder::GetPathId() in db/compaction/compaction_picker_level.cc, which counts
    level 0 with the size of level 1 and considers one column family only.
    """
    last: Optional[int] = None
    taken = 0
    for number, size in enumerate((options.level_base_bytes, *level_targets(options))):
        if taken + size > usable_bytes:
            break
        last = number
        taken += size
    return last, taken


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
    return DbDeviceModel(
        total_bytes=devices.db_bytes,
        usable_bytes=usable,
        last_level=last,
        levels_bytes=taken,
        extra_bytes=extra,
        unused_bytes=usable - taken - extra,
        policy=selection.policy,
        holds_data=holds,
    )
