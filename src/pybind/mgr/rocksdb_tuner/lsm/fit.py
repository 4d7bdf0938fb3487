"""Level sizes that keep a database on its DB device.

RocksDB places whole levels on one device (`levels.py`), so the DB device is used up to the last
level that fits, and the next level goes to the slow device.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

from .levels import last_level
from .tree_options import TreeOptions

__all__ = ['Fit', 'fitting_levels', 'holds']

#: Sizes of level 1 to try, relative to level 0: the tree works best if both are equal.
_OF_LEVEL0 = (1.0, 0.75, 1.25, 0.6, 1.5, 1.75)
#: RocksDB's default is 10; below 4 there are too many levels.
_MULTIPLIERS = range(4, 17)
_MIB = 1 << 20


@dataclass(frozen=True)
class Fit:
    """Option values and their effect."""

    level_base_bytes: int
    level_multiplier: int
    #: The last level on the DB device, and the bytes of all levels up to it.
    last_level: int
    taken_bytes: int


def holds(options: TreeOptions, usable_bytes: int, data_bytes: float) -> bool:
    """Whether the levels that fit the device have room for the data."""
    last, taken = last_level(options, usable_bytes)
    # RocksDB counts level 0 with the size of level 1; data settles in level 1 and up.
    return bool(last) and taken - options.level_base_bytes >= data_bytes


def fitting_levels(options: TreeOptions, usable_bytes: int, data_bytes: float) -> Optional[Fit]:
    """The values that keep ``data_bytes`` on the device with the least write amplification.

    None if the device is too small for the data. Data is rewritten up to `level_multiplier` times
    per level, so candidates are ranked by levels in use x multiplier.
    """
    found = []
    for order, share in enumerate(_OF_LEVEL0):
        base = max(_MIB, int(options.level0_bytes * share) // _MIB * _MIB)
        for multiplier in _MULTIPLIERS:
            changed = replace(options, level_base_bytes=base, level_multiplier=float(multiplier))
            last, taken = last_level(changed, usable_bytes)
            if last is not None and holds(changed, usable_bytes, data_bytes):
                fit = Fit(base, multiplier, last, taken)
                found.append(((_levels_in_use(fit, data_bytes) * multiplier, order), fit))
    return min(found, key=lambda ranked: ranked[0])[1] if found else None


def _levels_in_use(fit: Fit, data_bytes: float) -> int:
    number, size, held = 1, float(fit.level_base_bytes), float(fit.level_base_bytes)
    while held < data_bytes:
        number += 1
        size *= fit.level_multiplier
        held += size
    return number
