"""Which runs at real size the model is fitted to, and which it is tested with.

Memtables of 8 to 256 MiB, merges of 1 to 16, blocks of 4 and 16 KiB, small and large images, short
and long PG logs, also S3 and CephFS: a part of all products, so that no two of these factors always
go together. Which runs are held out is drawn once, before any is made (`bench_model_trials.json`).
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

DESIGN = Path(__file__).resolve().parent / 'bench_model_trials.json'
#: Of the draw which runs are held out, and in which order all are made.
SEED = 20261123
#: Of each kind of client.
HELD_OUT_SHARE = 0.4
WAL_LIMIT_MIB = 1024


@dataclass(frozen=True)
class Trial:
    """One run; what does not apply to its clients is 0."""

    name: str
    release: str
    #: "rbd", "s3-put", "s3-delete" or "cephfs"
    clients: str
    memtable_mib: int
    merge: int
    trigger: int
    level_base_mib: int
    compression: str
    #: Of one placement group.
    log_entries: int
    block_bytes: int
    image_gib: int
    #: At most, whichever is first.
    writes: int
    seconds: float
    held_out: bool = False

    @property
    def options(self) -> str:
        number = max(4, 1024 // self.memtable_mib, 2 * self.merge)
        return (
            f'compression={self.compression},max_write_buffer_number={number},'
            f'min_write_buffer_number_to_merge={self.merge},'
            f'write_buffer_size={self.memtable_mib << 20},max_background_jobs=4,'
            f'level0_file_num_compaction_trigger={self.trigger},'
            f'max_bytes_for_level_base={self.level_base_mib << 20},'
            'max_bytes_for_level_multiplier=8,writable_file_max_buffer_size=0,'
            f'compaction_readahead_size=2097152,max_total_wal_size={WAL_LIMIT_MIB << 20}'
        )


_NONE, _LZ4 = 'kNoCompression', 'kLZ4Compression'
_P, _T = 'pacific', 'tentacle'


def _rbd(
    release: str, tree: Sequence[int], compression: str, load: Sequence[int], limits: Sequence[int]
) -> Trial:
    memtable_mib, merge, trigger, level_base_mib = tree
    block_kib, image_gib, log_entries = load
    thousand_writes, seconds = limits
    return Trial(
        '', release, 'rbd', memtable_mib, merge, trigger, level_base_mib, compression,
        log_entries=log_entries, block_bytes=block_kib << 10, image_gib=image_gib,
        writes=thousand_writes * 1000, seconds=seconds,
    )  # fmt: skip


def _other(
    release: str, clients: str, tree: Sequence[int], compression: str, seconds: int
) -> Trial:
    memtable_mib, merge, trigger, level_base_mib = tree
    return Trial(
        '', release, clients, memtable_mib, merge, trigger, level_base_mib, compression,
        log_entries=3000, block_bytes=0, image_gib=0, writes=0, seconds=seconds,
    )  # fmt: skip


#: Release; memtable (MiB), merge, trigger, level 1 (MiB); block (KiB), image (GiB), PG log;
#: thousands of writes and seconds.
_TRIALS: tuple[Trial, ...] = (
    _rbd(_P, (8, 1, 4, 256), _NONE, (4, 1, 3000), (400, 110)),
    _rbd(_P, (8, 6, 4, 256), _NONE, (16, 1, 10), (400, 110)),
    _rbd(_P, (8, 16, 2, 1024), _LZ4, (4, 48, 3000), (900, 170)),
    _rbd(_P, (16, 1, 4, 256), _LZ4, (4, 48, 10), (400, 110)),
    _rbd(_P, (16, 2, 2, 256), _NONE, (16, 48, 3000), (500, 120)),
    _rbd(_P, (16, 6, 2, 1024), _LZ4, (4, 1, 3000), (800, 150)),
    _rbd(_P, (64, 1, 2, 256), _NONE, (4, 48, 3000), (700, 150)),
    _rbd(_P, (64, 2, 2, 512), _LZ4, (16, 1, 3000), (900, 170)),
    _rbd(_P, (64, 6, 2, 1024), _NONE, (4, 1, 10), (1300, 220)),
    _rbd(_P, (256, 1, 2, 256), _NONE, (4, 1, 3000), (1200, 210)),
    _rbd(_P, (256, 1, 2, 256), _LZ4, (16, 48, 10), (1200, 210)),
    _rbd(_P, (256, 2, 2, 1024), _LZ4, (4, 48, 3000), (1300, 220)),
    _rbd(_T, (8, 1, 4, 256), _LZ4, (4, 48, 3000), (800, 150)),
    _rbd(_T, (16, 6, 2, 1024), _LZ4, (4, 1, 3000), (1200, 180)),
    _rbd(_T, (16, 2, 2, 256), _NONE, (4, 48, 10), (1200, 180)),
    _rbd(_T, (64, 16, 2, 1024), _NONE, (16, 1, 3000), (1200, 180)),
    _rbd(_T, (64, 1, 2, 256), _LZ4, (16, 48, 3000), (1200, 180)),
    _other(_P, 's3-put', (8, 2, 4, 256), _NONE, 130),
    _other(_P, 's3-delete', (8, 1, 4, 256), _LZ4, 60),
    _other(_P, 's3-put', (16, 1, 4, 256), _LZ4, 130),
    _other(_T, 's3-put', (8, 6, 4, 256), _LZ4, 130),
    _other(_P, 'cephfs', (8, 1, 4, 256), _NONE, 90),
    _other(_P, 'cephfs', (16, 2, 4, 256), _LZ4, 110),
    _other(_T, 'cephfs', (8, 2, 4, 256), _LZ4, 90),
)


def drawn(trials: Sequence[Trial] = _TRIALS, seed: int = SEED) -> list[Trial]:
    """Names, what is held out, and the order: the same each time."""
    rng = random.Random(seed)
    found = []
    for kind in ('rbd', 's3', 'cephfs'):
        named = [
            replace(trial, name=f'{kind}-{number:02d}')
            for number, trial in enumerate((t for t in trials if t.clients.startswith(kind)), 1)
        ]
        held_out = set(rng.sample(range(len(named)), round(HELD_OUT_SHARE * len(named))))
        found += [replace(trial, held_out=i in held_out) for i, trial in enumerate(named)]
    rng.shuffle(found)
    return found


def drawn_later(seed: int = SEED + 1) -> list[Trial]:
    """More to test with, drawn when few runs had shown a write amplification: small memtables fill
    level 0 more than twice within a run."""
    rng = random.Random(seed)
    trees = [(8, 1, 2, 256), (8, 2, 2, 256), (16, 1, 2, 256)]
    loads = list(itertools.product((4, 16), (1, 48), (10, 3000)))
    found = [
        _rbd(_P, rng.choice(trees), rng.choice((_NONE, _LZ4)), load, (400, 120))
        for load in rng.sample(loads, 4)
    ]
    return [
        replace(trial, name=f'later-{number:02d}', held_out=True)
        for number, trial in enumerate(found, 1)
    ]


def document(trials: Sequence[Trial], later: Sequence[Trial]) -> dict[str, Any]:
    return {
        'seed': SEED,
        'trials': [asdict(trial) for trial in trials],
        'later': [asdict(trial) for trial in later],
    }


def committed() -> list[Trial]:
    """The draw as it was written down before any run."""
    content = json.loads(DESIGN.read_text())
    return [Trial(**entry) for entry in (*content['trials'], *content['later'])]


def main() -> None:
    DESIGN.write_text(json.dumps(document(drawn(), drawn_later()), indent=1) + '\n')


if __name__ == '__main__':
    main()
