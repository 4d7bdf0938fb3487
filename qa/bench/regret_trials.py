"""The option sets compared by a run of the regret, drawn from its seed in advance. Pure.

A *cell* is a workload, a release and a form of hardware. Each run of a cell has fresh OSDs that
share one load without replicas: other load on the machine affects all of them equally.

In the first phase all OSDs run the release's default. It shows how much the OSDs differ under
equal options, since a load is never spread evenly, and the tuner reports where it would end based
on its measurements. In each further phase one OSD runs the default, one the tuner's end, and the
others a published profile each, under the same load. The sets change places from phase to phase.
Two phases have each of eight published profiles once, and a run has four.

A further run of a cell leaves out the profiles that are not better than the tuner's end by more
than the goal, as the runs before have shown: the places go to those that may be.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from harness.slow_sync import FREE_MS
from rocksdb_tuner.advise.profiles import Profile, profiles
from rocksdb_tuner.options.grammar import same_meaning

#: Names of option sets that are no published profile.
DEFAULT, TUNER = 'default', 'tuner'
#: OSDs of a run, one option set each.
OSDS = 6
#: In which the OSDs run different sets.
PHASES = 4
RELEASES = ('pacific', 'reef', 'tentacle')
_SEED = 20261126_17


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
    # Enough for a whole phase
    's3-delete': (Client('s3-delete', {'threads': 2, 'objects': 16000}),),
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
    #: What each sync takes at least, or `slow_sync.FREE_MS`; 0: what it takes on this machine.
    sync_ms: float = 0.0
    #: All OSDs share so many of the machine's cores; None: all of them.
    cores: int | None = None


FORMS: Mapping[str, Form] = {
    'one device': Form(),
    'DB device': Form(db_mib=4096),
    'small DB device': Form(db_mib=320),
    'small memory': Form(memory_gib=1),
    'slow sync': Form(sync_ms=4.0),
    'fast sync': Form(sync_ms=FREE_MS),
    'one core': Form(cores=1),
}


#: The load consists of reads: transactions are too few to divide by.
READ_ONLY = frozenset({'s3-list'})


@dataclass(frozen=True)
class Trial:
    """One run of a cell."""

    cell: Cell
    number: int
    seed: int
    #: After the first phase: ``phases[phase][osd]`` is the name of a set.
    phases: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        return run_name(self.cell, self.number)


def run_name(cell: Cell, number: int) -> str:
    return f'{cell.name}, run {number}'


def published(release: str) -> tuple[str, ...]:
    """Profiles that differ from each other and from the default of a release."""
    everything = [known for known in profiles() if known.options]
    default = next(known for known in everything if release in known.release_defaults)
    # Of two with the same options the name of the publication, not that of a default
    candidates = sorted(everything, key=lambda known: bool(known.release_defaults))
    found: list[Profile] = []
    for known in candidates:
        if not any(same_meaning(known.options, other.options, None) for other in (default, *found)):
            found.append(known)
    return tuple(known.name for known in found)


def trial(cell: Cell, number: int, sets: Sequence[str] | None = None) -> Trial:
    """The same each time. ``sets`` share the places; None: all published profiles."""
    names, osds = list(published(cell.release) if sets is None else sets), list(range(OSDS))
    rng = random.Random(_SEED + number)
    rng.shuffle(names)
    rng.shuffle(osds)
    others = OSDS - 2
    phases = []
    for phase in range(PHASES):
        first = phase * others
        placed = [DEFAULT, TUNER, *(names[(first + at) % len(names)] for at in range(others))]
        places = [osds[(at + phase) % OSDS] for at in range(OSDS)]
        by_osd = dict(zip(places, placed))
        phases.append(tuple(by_osd[osd] for osd in range(OSDS)))
    return Trial(cell, number, _SEED + number, tuple(phases))


#: Workloads and forms by what their cells tell, for `cells`.
_MAIN = ('rbd-4k', 's3-small-put', 's3-hybrid', 'rbd-70-30')
_ONE_DEVICE, *_OTHER_FORMS = FORMS


def cells() -> Iterator[Cell]:
    """All cells, those that tell most first, so that an end at any time leaves a useful matrix.

    The main workloads on each release, each other workload on one, the main workloads on each
    other form of hardware on one release; then all that is left.
    """
    order = [Cell(load, release, _ONE_DEVICE) for load in _MAIN for release in RELEASES]
    rest = [load for load in WORKLOADS if load not in _MAIN]
    order += [Cell(load, RELEASES[at % 3], _ONE_DEVICE) for at, load in enumerate(rest)]
    order += [
        Cell(load, RELEASES[at % 3], form)
        for at, (form, load) in enumerate(product(_OTHER_FORMS, _MAIN))
    ]
    order += [Cell(*names) for names in product(WORKLOADS, RELEASES, FORMS)]
    yield from dict.fromkeys(order)
