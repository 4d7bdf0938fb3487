"""RocksDB alone, fed with what BlueStore writes: CPU of its threads for what they did.

`cpu_cost.cc` runs it, with the CPU time of each flush and compaction from the thread that did it.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
COMPRESSIONS = ('kNoCompression', 'kLZ4Compression', 'kSnappyCompression')
#: Workload of the model, how `cpu_cost.cc` calls it, objects, part of values that is random.
MIXES = (
    ('rbd-randwrite', 'rbd', 256, 0.6),
    ('rbd-randwrite', 'rbd', 20_000, 0.6),
    ('omap-heavy', 'omap', 64, 0.35),
)
#: MiB of a memtable, and how many are merged.
MEMTABLES = ((64, 1), (16, 1), (2, 1), (2, 16))


@dataclass(frozen=True)
class Amount:
    #: Keys and values, uncompressed.
    raw_bytes: int
    file_bytes: int
    keys: int


@dataclass(frozen=True)
class RocksDbRun:
    workload: str
    objects: int
    compression: str
    memtable_mib: int
    merge: int
    wal_bytes: int
    keys: int
    write_cpu_s: float
    flush_cpu_s: float
    flush_written: Amount
    compaction_cpu_s: float
    compaction_read: Amount
    compaction_written: Amount


def _options(compression: str, memtable_mib: int, merge: int) -> str:
    level1_mib = memtable_mib * merge * 2
    return ';'.join(
        (
            f'compression={compression}',
            f'write_buffer_size={memtable_mib}M',
            f'min_write_buffer_number_to_merge={merge}',
            f'max_write_buffer_number={merge * 4}',
            f'max_bytes_for_level_base={level1_mib}M',
            'target_file_size_base=4M',
            'max_background_jobs=4',
            f'max_total_wal_size={memtable_mib * merge * 4}M',
            'writable_file_max_buffer_size=0',
            'compaction_readahead_size=2M',
        )
    )


def runs(wal_mib: int) -> Iterator[RocksDbRun]:
    with tempfile.TemporaryDirectory(prefix='cpu-cost-') as folder:
        program = Path(folder) / 'cpu_cost'
        source = BENCH / 'cpu_cost.cc'
        subprocess.run(['g++', '-O2', '-std=c++17', source, '-lrocksdb', '-o', program], check=True)
        grid = itertools.product(MIXES, MEMTABLES, COMPRESSIONS)
        for number, ((workload, mix, objects, random), (mib, merge), compression) in enumerate(
            grid
        ):
            with tempfile.TemporaryDirectory(prefix='cpu-cost-') as database:
                done = subprocess.run(
                    [
                        program, database, _options(compression, mib, merge), mix, str(objects),
                        str(wal_mib), str(random), str(number),
                    ],
                    stdout=subprocess.PIPE,
                    check=True,
                )  # fmt: skip
            yield _run(json.loads(done.stdout), workload, objects, compression, mib, merge)


def _run(
    answer: dict[str, Any], workload: str, objects: int, compression: str, mib: int, merge: int
) -> RocksDbRun:
    flushes, compactions = answer['flushes'], answer['compactions']
    return RocksDbRun(
        workload=workload,
        objects=objects,
        compression=compression,
        memtable_mib=mib,
        merge=merge,
        wal_bytes=answer['wal_bytes'],
        keys=answer['keys'],
        write_cpu_s=answer['write_cpu_s'],
        flush_cpu_s=flushes['cpu_s'],
        flush_written=Amount(**flushes['written']),
        compaction_cpu_s=compactions['cpu_s'],
        compaction_read=Amount(**compactions['read']),
        compaction_written=Amount(**compactions['written']),
    )


def document(found: list[RocksDbRun]) -> dict[str, Any]:
    return {'rocksdb': '7.8.3', 'runs': [asdict(run) for run in found]}


def read_runs(path: Path) -> list[RocksDbRun]:
    amounts = ('flush_written', 'compaction_read', 'compaction_written')
    return [
        RocksDbRun(**{**entry, **{name: Amount(**entry[name]) for name in amounts}})
        for entry in json.loads(path.read_text())['runs']
    ]
