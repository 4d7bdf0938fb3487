#!/usr/bin/python3
"""What the choice of an option set is tested with, drawn and written down before any run is made.

Four kinds of OSDs, each bound by something else, with an idle OSD of another device class beside
them. Sizes are drawn so that no run has those that a cost, an interval or a threshold was measured
with (`bench_choice_trials.json`).

kv-sync
    4 to 12 KiB random writes into an RBD image, memtables of 17 to 23 MiB. The OSDs' files lie in
    memory and each sync takes 2.5 ms, so that the thread waits, and waits for nothing that is slow.
db-space
    Omap as a bucket index has it; DB devices of 288 to 352 MiB fill within a minute and a half.
data-device
    The same omap on OSDs of class hdd, whose disk calls itself rotational, with syncs of 12 ms.
cores
    The same omap on OSDs that have one core between them.

*A run.* Two OSDs of one class run the drawn set under the load; what the module says is read in the
last third of it. Then the first runs another set, both start anew, and the same load comes again.
The other set is the one that is recommended. Where none is, it is the one of which the model says
that it changes most, of those whose cycle (for kv-sync memtables that fill, for bytes and CPU level
0 that fills) comes twice within the window, or else comes soonest; where nothing was weighed, as on
hard disks, of the neighbors of what runs.

*What is compared.* The figure of the resource that is named (`FIGURES`): CPU time of the kv_sync
thread for a write, used bytes of BlueFS, bytes written for a byte in the WAL, CPU time of RocksDB's
threads for a write. Bytes written: the first OSD over the second in the same minute. The others:
that over the same ratio from before the change. No wall time.

*What counts.* A run is right if the limit that was named in most looks is the one that the OSDs
were built for, if what is recommended is what follows from the effects that ``candidates`` gives,
and if the measured change lies in the predicted interval of 80%. One exception is made beforehand:
where the OSDs' own counters show that a round of the kv_sync thread took 5 ms and more in a run of
kv-sync, the machine was too slow for it, and db-device is as right. A run that cannot be made (a
cluster that does not come up, a load that is not recognized, no flush within a window) is told and
does not count, and its trial is made again with the next seed. The idle OSD is right if its limit
is "none" and nothing is recommended for it; it is counted apart, as no effect can be predicted.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

DESIGN = Path(__file__).with_suffix('.json')
SEED = 20261123_15
MIB = 1 << 20
#: The resource that bounds the OSDs of a scenario, and from which its figure is.
SCENARIOS = ('kv-sync', 'db-space', 'data-device', 'cores')
#: The figure that counts in each.
FIGURES = {
    'kv-sync': 'kv-sync',
    'db-space': 'db-space',
    'data-device': 'db-device',
    'cores': 'cores',
}
PG_NUM = 192
#: Of one OSD, in runs whose disk is a fast one.
SYNC_MS = {'kv-sync': 2.5, 'db-space': 0.0, 'data-device': 12.0, 'cores': 0.0}
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
    # Level 0 is to be more than half of the WAL: less is warned of, and would be mended first.
    trigger = -(-36 * MIB // (memtable * merge))
    base = rng.randint(48, 80) * MIB
    return ProofTrial(
        name, seed, release, scenario, _options(memtable, merge, trigger, base, 64 * MIB),
        db_bytes=rng.randint(288, 352) * MIB if scenario == 'db-space' else 0,
        log_entries=entries, block_bytes=0, image_gib=0,
        objects=rng.randint(90, 400), keys=rng.choice((12, 16, 32, 40)),
    )  # fmt: skip


#: In the order in which they are made, so that an end before the last leaves some of each.
_PLAN = (
    ('kv-sync', 'pacific'),
    ('db-space', 'tentacle'),
    ('data-device', 'pacific'),
    ('kv-sync', 'tentacle'),
    ('db-space', 'pacific'),
    ('data-device', 'tentacle'),
    ('kv-sync', 'pacific'),
    ('db-space', 'reef'),
    ('data-device', 'pacific'),
    ('cores', 'tentacle'),
    ('kv-sync', 'tentacle'),
    ('db-space', 'pacific'),
    ('data-device', 'tentacle'),
    ('cores', 'pacific'),
    ('cores', 'tentacle'),
)
#: For each trial further draws, for where a run could not be made.
_DRAWS = 'abc'


def plan(seed: int = SEED) -> list[list[ProofTrial]]:
    """For each place of the plan the trial and those that may take its place, in order."""
    return [
        [
            drawn(
                f'{number:02d}-{scenario}-{letter}', release, scenario, seed + 100 * draw + number
            )
            for draw, letter in enumerate(_DRAWS)
        ]
        for number, (scenario, release) in enumerate(_PLAN, 1)
    ]


def document(trials: Sequence[Sequence[ProofTrial]]) -> dict[str, Any]:
    return {'seed': SEED, 'trials': [[asdict(trial) for trial in place] for place in trials]}


def committed() -> list[list[ProofTrial]]:
    """The draw as it was written down before any run."""
    content = json.loads(DESIGN.read_text())
    return [[ProofTrial(**entry) for entry in place] for place in content['trials']]


def main() -> None:
    DESIGN.write_text(json.dumps(document(plan()), indent=1) + '\n')


if __name__ == '__main__':
    main()
