#!/usr/bin/python3
"""The trials of the choice of an option set, drawn and recorded before any run is made.

There are five kinds of OSDs: four with a known limit each, and idle ones. Another idle OSD, of its
own device class, accompanies each. Sizes are drawn so that no run repeats those used to measure a
cost, an interval or a threshold (`bench_choice_trials.json`). Three lists are drawn from three
seeds: runs of ``training`` may set intervals and the length of windows, those of ``proof`` set
nothing. ``first`` was the proof until ten of its runs were made, of which seven passed; the causes
of the others were fixed, so that it may set intervals since.

kv-sync
    8 or 12 KiB random writes into an RBD image, memtables of 17 to 23 MiB. The OSDs' files are in
    memory and each sync takes 2.5 ms, so that the thread waits, but for no slow device.
db-space
    Omap as in a bucket index; DB devices of 288 to 352 MiB fill within a minute and a half.
data-device
    The same omap on OSDs of class hdd, with a rotational disk and syncs of 12 ms.
cores
    8 or 12 KiB random writes into an RBD image of OSDs that share one core. The omap client writes
    too slowly to fill a core.
idle
    The same omap, which has ended. The module advises idle OSDs for a day (``workload_memory``) on
    their last workload; in these runs it forgets it after a minute.

*A run.* Two OSDs of one class run the drawn set under the load; the module's answers are read in
the last third of it. Then the first gets another set, both restart, and the same load is repeated.
Then they swap: the second runs the other set, and the first its previous one. The other set is the
recommended one. Without a recommendation it is the one with the largest predicted change, among
those whose cycle (full memtables for kv-sync, a full level 0 for bytes and CPU) occurs twice within
the window, or else occurs first; if nothing was weighed, as on hard disks, among the published
sets. Idle OSDs are not changed.

*The comparison.* The figure of the named resource (`FIGURES`): CPU time of the kv_sync thread per
write, used bytes of BlueFS, CPU time of RocksDB's threads per write, and on hard disks the client
latency of a write. It is the ratio of the OSD with the other set to its neighbor in the same
minutes, as the geometric mean of both rounds: peculiarities of an OSD or of a time cancel out.

*The criteria.* A run passes if the limit named in most samples is the intended one, if the
recommendation follows from the effects shown by ``candidates``, and if the measured change is
within the predicted interval of 80%. Databases of db-space grow meanwhile: their prediction is for
one as large as that of the neighbor. On hard disks the module reports that no option set helps: it
predicts a change of the latency by less than ``min_gain``, in either direction. For idle OSDs only
limit and recommendation count.
One exception is made in advance: if a round of the kv_sync thread took 5 ms and more in a run of
kv-sync by the OSDs' own counters, the machine was too slow for it, and db-device is also correct. A
failed run (a cluster that does not start, an unclassified load, no flush within a window) is
reported and does not count, and its trial is repeated with the next seed.
The accompanying idle OSD passes if its limit is "none" and nothing is recommended for it; it is
counted separately.
"""

from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

DESIGN = Path(__file__).with_suffix('.json')
#: By the list of trials.
SEEDS = {'training': 20261123_15, 'first': 20261123_18000, 'proof': 20261123_22000}
MIB = 1 << 20
#: The resource that bounds the OSDs of a scenario, and from which its figure is.
SCENARIOS = ('kv-sync', 'db-space', 'data-device', 'cores', 'idle')
#: The figure that counts in each; of idle OSDs none does.
FIGURES = {
    'kv-sync': 'kv-sync',
    'db-space': 'db-space',
    'data-device': 'data-device',
    'cores': 'cores',
}
PG_NUM = 192
#: For one OSD, in runs with a fast disk.
SYNC_MS = {'kv-sync': 2.5, 'db-space': 0.0, 'data-device': 12.0, 'cores': 0.0, 'idle': 0.0}
#: A memtable of none of the OSDs that the model was made from was between these.
_KV_MEMTABLE_KIB = (17 << 10, 23 << 10)
_OMAP_MEMTABLE_KIB = (1200, 1900)


@dataclass(frozen=True)
class ProofTrial:
    """One run; what does not apply to its scenario is 0."""

    name: str
    seed: int
    release: str
    scenario: str
    options: str
    db_bytes: int
    #: Entries of the log of one placement group.
    log_entries: int
    block_bytes: int
    image_gib: int
    #: Objects with omap, and keys that one write sets of one.
    objects: int
    keys: int

    @property
    def device_class(self) -> str:
        return 'hdd' if self.scenario == 'data-device' else 'ssd'

    @property
    def workload(self) -> str:
        """As the module calls it."""
        return 'rbd-small-write' if self.block_bytes else 'rgw-metadata'


def _options(memtable_bytes: int, merge: int, trigger: int, base: int, wal: int) -> str:
    number = max(4, 2 * merge, wal // memtable_bytes)
    return (
        f'compression=kNoCompression,max_write_buffer_number={number},'
        f'min_write_buffer_number_to_merge={merge},write_buffer_size={memtable_bytes},'
        f'max_background_jobs=4,level0_file_num_compaction_trigger={trigger},'
        f'max_bytes_for_level_base={base},max_bytes_for_level_multiplier=8,'
        f'writable_file_max_buffer_size=0,compaction_readahead_size=2097152,max_total_wal_size={wal}'
    )


def drawn(name: str, release: str, scenario: str, seed: int) -> ProofTrial:
    """The same each time."""
    rng = random.Random(seed)
    entries = rng.randint(80, 150)
    if scenario == 'kv-sync':
        memtable = rng.randint(*_KV_MEMTABLE_KIB) << 10
        return ProofTrial(
            name, seed, release, scenario, _options(memtable, 1, 8, 256 * MIB, 256 * MIB),
            db_bytes=0, log_entries=entries, block_bytes=rng.choice((8192, 12288)),
            image_gib=rng.choice((2, 3, 5, 6)), objects=0, keys=0,
        )  # fmt: skip
    memtable = rng.randint(*_OMAP_MEMTABLE_KIB) << 10
    merge = rng.choice((2, 3))
    # Level 0 must be more than half of the WAL: less is a warning, and would be fixed first.
    trigger = -(-36 * MIB // (memtable * merge))
    base = rng.randint(48, 80) * MIB
    options = _options(memtable, merge, trigger, base, 64 * MIB)
    if scenario == 'cores':
        return ProofTrial(
            name, seed, release, scenario, options, db_bytes=0, log_entries=entries,
            block_bytes=rng.choice((8192, 12288)), image_gib=rng.choice((2, 3, 5, 6)),
            objects=0, keys=0,
        )  # fmt: skip
    return ProofTrial(
        name, seed, release, scenario, options,
        db_bytes=rng.randint(288, 352) * MIB if scenario == 'db-space' else 0,
        log_entries=entries, block_bytes=0, image_gib=0,
        objects=rng.randint(90, 400), keys=rng.choice((12, 16, 32, 40)),
    )  # fmt: skip


#: In the order in which they are made, so that an end before the last leaves some of each.
_PLAN = (
    ('kv-sync', 'pacific'),
    ('db-space', 'tentacle'),
    ('data-device', 'pacific'),
    ('cores', 'pacific'),
    ('idle', 'tentacle'),
    ('kv-sync', 'tentacle'),
    ('db-space', 'pacific'),
    ('data-device', 'tentacle'),
    ('cores', 'tentacle'),
    ('idle', 'pacific'),
    ('kv-sync', 'pacific'),
    ('db-space', 'reef'),
    ('data-device', 'pacific'),
    ('cores', 'pacific'),
    ('idle', 'reef'),
)
#: For each trial further draws, for where a run could not be made.
_DRAWS = 'abc'


def plan(name: str) -> list[list[ProofTrial]]:
    """For each place of a list the trial and those that may take its place, in order."""
    seed = SEEDS[name]
    return [
        [
            drawn(
                f'{number:02d}-{scenario}-{letter}', release, scenario, seed + 100 * draw + number
            )
            for draw, letter in enumerate(_DRAWS)
        ]
        for number, (scenario, release) in enumerate(_PLAN, 1)
    ]


def document() -> dict[str, Any]:
    return {
        name: {
            'seed': seed,
            'trials': [[asdict(trial) for trial in place] for place in plan(name)],
        }
        for name, seed in SEEDS.items()
    }


def committed(name: str) -> list[list[ProofTrial]]:
    """A list as it was written down before any of its runs."""
    content = json.loads(DESIGN.read_text())[name]
    return [[ProofTrial(**entry) for entry in place] for place in content['trials']]


def main() -> None:
    DESIGN.write_text(json.dumps(document(), indent=1) + '\n')


if __name__ == '__main__':
    main()
