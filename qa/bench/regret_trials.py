"""The option sets compared by a run of the regret, drawn from its seed in advance. Pure.

A *cell* is a workload, a release and a form of hardware. Each run of a cell has fresh OSDs that
share one load without replicas, one option set each: other load on the machine affects all of them
equally. First all OSDs run the release's default, and the tuner reports where it would end based on
its measurements. Then they run the default, the tuner's end and a published profile, in an order
that is drawn, under the same load.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

#: Names of option sets that are no published profile.
DEFAULT, TUNER = 'default', 'tuner'
#: OSDs of a run, one option set each.
OSDS = 3
_SEED = 20261125_17


@dataclass(frozen=True)
class Cell:
    workload: str
    release: str
    #: Of hardware: see `FORMS`.
    form: str

    @property
    def name(self) -> str:
        return f'{self.workload}, {self.release}, {self.form}'


#: The block size of RBD's random writes, and other client settings, by name.
WORKLOADS = ('rbd-4k', 'rbd-16k', 'rbd-32k', 'rgw-index')
#: Size of the DB device, in MiB; None: it shares the OSD's device.
FORMS: Mapping[str, int | None] = {'one device': None, 'DB device': 4096, 'small DB device': 320}


@dataclass(frozen=True)
class Trial:
    """One run of a cell."""

    cell: Cell
    number: int
    seed: int
    #: The published profile that runs beside the default and the result of the tuner.
    profile: str
    #: The places of the three sets: `order[osd]` is a name.
    order: tuple[str, ...]

    @property
    def name(self) -> str:
        return f'{self.cell.name}, run {self.number}'


def trial(cell: Cell, number: int, profiles: tuple[str, ...]) -> Trial:
    """The same each time; profiles take turns, and so do the OSDs of a set."""
    seed = _SEED + number
    profile = profiles[number // OSDS % len(profiles)]
    names = [DEFAULT, TUNER, profile]
    # Three runs in a row are a Latin square: each set is on each OSD once.
    random.Random(_SEED + number // OSDS).shuffle(names)
    turn = number % OSDS
    return Trial(cell, number, seed, profile, tuple(names[turn:] + names[:turn]))
