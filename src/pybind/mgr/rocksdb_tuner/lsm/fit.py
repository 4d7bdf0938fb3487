"""Level sizes with which all data of a database stays on its DB device.

RocksDB places a level on one device as a whole (`levels.py`), so a device is used up to the end of
the last level that fits, and what lies in the next one goes to the slow device.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

from .levels import last_level
from .tree_options import TreeOptions

__all__ = ['Fit', 'fitting_levels', 'holds']

#: Of level 0, the sizes of level 1 to try: the tree works best where they are alike.
_OF_LEVEL0 = (1.0, 0.75, 1.25, 0.6, 1.5, 1.75)
#: RocksDB's own is 10; below 4 there are more levels than anybody runs.
_MULTIPLIERS = range(4, 17)
_MIB = 1 << 20


@dataclass(frozen=True)
class Fit:
    """Values for the option string, and what follows from them."""

    level_base_bytes: int
    level_multiplier: int
    #: The last level on the DB device, and what it takes with all below it.
    last_level: int
    taken_bytes: int


def holds(options: TreeOptions, usable_bytes: int, data_bytes: float) -> bool:
    """Whether the levels that fit hold this much."""
    last, taken = last_level(options, usable_bytes)
    # RocksDB takes level 0 to be as large as level 1; data settles in level 1 and up.
    return bool(last) and taken - options.level_base_bytes >= data_bytes


def fitting_levels(options: TreeOptions, usable_bytes: int, data_bytes: float) -> Optional[Fit]:
    """The values that hold ``data_bytes`` in the levels that fit, and rewrite them least.

    None where no level sizes near level 0 do: the device is too small for the data. Each level
    rewrites what passes through it up to a multiplier of times, so their product is least first.
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
