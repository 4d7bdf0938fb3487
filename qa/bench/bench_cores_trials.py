"""Runs that show whether OSDs short of CPU cores differ from OSDs that wait for something else.

The limit of the clients is imposed, so it is known. Which runs set thresholds and which test them
was drawn before any was made (`bench_cores_trials.json`): half of each kind, and all of Tentacle.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

DESIGN = Path(__file__).resolve().parent / 'bench_cores_trials.json'
#: Of the draw which runs are held out, and in which order all are made.
SEED = 20261124
CORES, KV_SYNC, DEVICE, NONE = 'cores', 'kv-sync', 'device', 'none'
KINDS = (CORES, KV_SYNC, DEVICE, NONE)


@dataclass(frozen=True)
class Throttle:
    """The limit of OSDs."""

    #: "cpu-quota": each OSD has so many percent of a core. "cpu-shared": all OSDs share one core
    #: with so many busy neighbors. "slow-sync": syncs take so many percent longer. "kv-quota":
    #: the kv_sync thread alone has so many percent of a core. "disk-mib", "disk-iops": each OSD may
    #: write so many MiB, or so often, a second. "nothing".
    how: str
    strength: int = 0


@dataclass(frozen=True)
class Load:
    #: "write" and "mixed" (half reads) go to an RBD image, "create" makes RADOS objects.
    clients: str
    block_kib: int
    depth: int
    #: Of the pool.
    replicas: int
    #: Of clients; 0: as fast as they can.
    iops: int = 0


@dataclass(frozen=True)
class Trial:
    name: str
    release: str
    #: The limit of the clients, by the setup of the run.
    kind: str
    hold: Throttle
    load: Load
    held_out: bool = False


def _trial(kind: str, how: str, strength: int, *load: Any) -> Trial:
    return Trial('', 'pacific', kind, Throttle(how, strength), Load(*load))


_W, _M, _C = 'write', 'mixed', 'create'
_TRIALS: tuple[Trial, ...] = (
    _trial(CORES, 'cpu-quota', 15, _W, 4, 32, 3),
    _trial(CORES, 'cpu-quota', 30, _W, 4, 32, 3),
    _trial(CORES, 'cpu-quota', 30, _W, 4, 128, 1),
    _trial(CORES, 'cpu-quota', 40, _W, 4, 64, 1),
    _trial(CORES, 'cpu-quota', 20, _W, 16, 16, 1),
    _trial(CORES, 'cpu-quota', 25, _M, 4, 32, 3),
    _trial(CORES, 'cpu-quota', 20, _C, 4, 32, 3),
    _trial(CORES, 'cpu-quota', 30, _C, 16, 32, 1),
    _trial(CORES, 'cpu-shared', 0, _W, 4, 32, 3),
    _trial(CORES, 'cpu-shared', 0, _W, 4, 128, 1),
    _trial(CORES, 'cpu-shared', 0, _M, 4, 64, 1),
    _trial(CORES, 'cpu-shared', 0, _C, 4, 32, 3),
    _trial(CORES, 'cpu-shared', 1, _W, 4, 32, 3),
    _trial(CORES, 'cpu-shared', 1, _W, 16, 16, 1),
    _trial(CORES, 'cpu-shared', 2, _M, 4, 32, 3),
    _trial(CORES, 'cpu-shared', 2, _W, 4, 64, 1),
    _trial(KV_SYNC, 'slow-sync', 400, _W, 4, 32, 1),
    _trial(KV_SYNC, 'slow-sync', 800, _W, 4, 32, 3),
    _trial(KV_SYNC, 'slow-sync', 800, _M, 4, 32, 1),
    _trial(KV_SYNC, 'slow-sync', 2000, _W, 16, 64, 1),
    _trial(KV_SYNC, 'slow-sync', 2000, _C, 4, 32, 3),
    _trial(KV_SYNC, 'slow-sync', 4000, _W, 4, 128, 3),
    _trial(KV_SYNC, 'kv-quota', 2, _W, 4, 32, 1),
    _trial(KV_SYNC, 'kv-quota', 2, _C, 4, 32, 3),
    _trial(KV_SYNC, 'kv-quota', 4, _W, 4, 64, 3),
    _trial(KV_SYNC, 'kv-quota', 4, _M, 4, 64, 1),
    _trial(DEVICE, 'disk-mib', 8, _W, 256, 16, 1),
    _trial(DEVICE, 'disk-mib', 16, _W, 1024, 8, 3),
    _trial(DEVICE, 'disk-mib', 4, _W, 16, 32, 3),
    _trial(DEVICE, 'disk-mib', 6, _M, 64, 16, 1),
    _trial(DEVICE, 'disk-iops', 200, _W, 4, 32, 1),
    _trial(DEVICE, 'disk-iops', 400, _W, 4, 64, 3),
    _trial(DEVICE, 'disk-iops', 400, _C, 4, 32, 1),
    _trial(DEVICE, 'disk-iops', 300, _M, 4, 128, 3),
    _trial(NONE, 'nothing', 0, _W, 4, 4, 1, 100),
    _trial(NONE, 'nothing', 0, _W, 4, 4, 3, 200),
    _trial(NONE, 'nothing', 0, _M, 16, 4, 3, 100),
    _trial(NONE, 'nothing', 0, _W, 256, 2, 3, 20),
    _trial(NONE, 'nothing', 0, _M, 4, 8, 1, 300),
    _trial(NONE, 'cpu-quota', 40, _W, 4, 4, 3, 30),
)
#: Of each kind, for Tentacle.
_LATER = {CORES: 6, KV_SYNC: 4, DEVICE: 3, NONE: 2}


def drawn(trials: Sequence[Trial] = _TRIALS, seed: int = SEED) -> list[Trial]:
    """Names, what is held out, and the order: the same each time."""
    rng = random.Random(seed)
    found: list[Trial] = []
    later: list[Trial] = []
    for kind in KINDS:
        named = [
            replace(trial, name=f'{kind}-{number:02d}')
            for number, trial in enumerate((t for t in trials if t.kind == kind), 1)
        ]
        held_out = set(rng.sample(range(len(named)), len(named) // 2))
        found += [replace(trial, held_out=i in held_out) for i, trial in enumerate(named)]
        later += [
            replace(trial, name=f'{trial.name}-tentacle', release='tentacle', held_out=True)
            for trial in rng.sample(named, _LATER[kind])
        ]
    rng.shuffle(found)
    rng.shuffle(later)
    return [*found, *later]


def document(trials: Sequence[Trial]) -> dict[str, Any]:
    return {'seed': SEED, 'trials': [asdict(trial) for trial in trials]}


def trial_of(entry: dict[str, Any]) -> Trial:
    return Trial(**{**entry, 'hold': Throttle(**entry['hold']), 'load': Load(**entry['load'])})


def committed() -> list[Trial]:
    """The draw as it was written down before any run."""
    return [trial_of(entry) for entry in json.loads(DESIGN.read_text())['trials']]


def main() -> None:
    DESIGN.write_text(json.dumps(document(drawn()), indent=1) + '\n')


if __name__ == '__main__':
    main()
