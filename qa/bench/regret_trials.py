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
from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class Client:
    """A program of qa/workload, with the parameters that differ from its defaults."""

    workload: str
    parameters: Mapping[str, int] = field(default_factory=dict)


#: Random writes over a whole image, by their block size.
BLOCK_BYTES: Mapping[str, int] = {'rbd-4k': 4096, 'rbd-16k': 16384, 'rbd-32k': 32768}
_IMAGE_BYTES = 1 << 30
_SMALL_PUT = Client('s3-put', {'object_size_bytes': 4096})
#: Programs that run side by side, by the name of the workload.
CLIENTS: Mapping[str, tuple[Client, ...]] = {
    'rbd-70-30': (Client('rbd-randrw', {'read_percent': 70, 'size_bytes': _IMAGE_BYTES}),),
    'rbd-seq-4m': (
        Client('rbd-seqwrite', {'block_size_bytes': 4 << 20, 'size_bytes': _IMAGE_BYTES}),
    ),
    's3-small-put': (_SMALL_PUT,),
    # Writes, reads and listings at once, as in the published hybrid workload, without its deletes
    's3-hybrid': (
        Client('s3-put', {'threads': 4, 'object_size_bytes': 4096}),
        Client('s3-get', {'threads': 4, 'object_size_bytes': 4096, 'objects': 500}),
        Client('s3-list', {'threads': 2, 'objects': 500}),
    ),
    's3-list': (Client('s3-list', {'objects': 5000}),),
    's3-delete': (Client('s3-delete', {'threads': 2, 'objects': 10000}),),
    's3-4m-put': (Client('s3-large-put', {'object_size_bytes': 4 << 20}),),
    'cephfs-metadata': (Client('cephfs-metadata'),),
    'rbd-and-s3': (
        Client('rbd-randrw', {'read_percent': 30, 'size_bytes': _IMAGE_BYTES, 'iodepth': 8}),
        Client('s3-put', {'threads': 4, 'object_size_bytes': 4096}),
    ),
}
#: Keys of the index of buckets alone, without a gateway.
INDEX = 'rgw-index'
WORKLOADS = (*BLOCK_BYTES, *CLIENTS, INDEX)


@dataclass(frozen=True)
class Form:
    """Hardware as far as it can be made from files."""

    #: Size of the DB device, in MiB; None: it shares the OSD's device.
    db_mib: int | None = None
    memory_gib: int = 4
    #: What each sync takes at least.
    sync_ms: float = 0.0


FORMS: Mapping[str, Form] = {
    'one device': Form(),
    'DB device': Form(db_mib=4096),
    'small DB device': Form(db_mib=320),
    'small memory': Form(memory_gib=1),
    'slow sync': Form(sync_ms=4.0),
}


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
