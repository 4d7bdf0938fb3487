#!/usr/bin/python3
"""Give RocksDB alone what BlueStore gives it, with each option set: for `bench_regret.py`.

All sets take the same batches in turn (`replay.cc`), which takes some GiB of memory.

    regret_replay.py --release pacific      (some minutes for each workload)
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
CHECKOUT = BENCH.parents[1]
sys.path[:0] = [str(CHECKOUT / 'src/pybind/mgr'), str(CHECKOUT / 'qa/doubles')]

from rocksdb_tuner.advise.profiles import profiles  # noqa: E402 - after the path to it
from rocksdb_tuner.options.releases import known_releases  # noqa: E402

RESULTS = BENCH / 'results/regret.json'
#: Kinds of keys that each write of a client to an RBD image brings: bytes are those of
#: `knowledge/model.json`, measured on OSDs of 16.2.15 and 20.2.4. Their sum is what an OSD counted
#: for writes of 4, 16 and 32 KiB alike, with and without reads, which its cache of onodes answers.
_LOG = 'l {} 1 1 0.3 i 304 1 1 0.3 d 106 1 1 0.3'
_RBD = f'o 575 1 512 0.93 s 642 1 512 0.93 {_LOG.format(257)} f 95 1 100 0.6'
#: An object of the gateway: its onode with attributes, and entries and headers of the index, each
#: written twice; by how many there are for each transaction.
_S3 = (
    f'{_LOG.format(320)} f 120 1 100 0.6 o 690 {{}} 11 0.35 n 2000 {{}} 1 0.35 '
    'k 400 {} 281474976710656 0.45 r 380 {} 1 0.45'
)
#: Keys of a batch (`replay_source.h`), and how many times as many objects there are; 0: always new
#: ones. Shares are those of transactions and objects that an OSD counted (`regret_record.py`).
KINDS = {
    'rbd-4k': (_RBD, 8),
    's3-small-put': (_S3.format(0.65, 0.33, 0.33, 0.33), 0),
    's3-hybrid': (_S3.format(0.6, 0.26, 0.26, 0.26) + ' x 1 0.07 1 1 y 1 0.07 1 1', 0),
    's3-list': (_S3.format(0.65, 0.33, 0.33, 0.33), 0),
    's3-delete': (_S3.format(0.66, 0.16, 0.16, 0.16) + ' x 1 0.16 1 1 y 1 0.16 1 1', 0),
    'cephfs-metadata': (f'n 700 0.9 1 0.5 y 1 0.2 1 1 {_LOG.format(300)} f 95 1 100 0.6', 0),
}
#: Keys of an iterator for each batch, at most: a listing writes next to nothing.
_NEXTS = 50.0
COUNTERS = BENCH / 'results/regret-counters.json'
#: What is derived for a WAL device of 512 MiB.
DERIVED = 'derived-small-wal'
#: No OSD should run them, says the module, so they are never better.
_NEVER = ('alternate-2019', 'rocksdb-default')
#: BlueStore's own, not RocksDB's.
_NOT_ROCKSDBS = ('compaction_threads', 'flusher_threads', 'disableWAL')


def sets() -> dict[str, str]:
    """The published option sets, and the one that the module derives, by name."""
    found = {p.name: p.options for p in profiles() if p.name not in _NEVER}
    small = {
        'write_buffer_size': '4194304',
        'max_bytes_for_level_base': '268435456',
        'max_total_wal_size': '268435456',
    }
    found[DERIVED] = ','.join(
        f'{name}={small.get(name, value)}'
        for name, value in (word.split('=') for word in found['lz4-2025'].split(','))
    )
    return found


def plain(options: str) -> str:
    """As RocksDB itself reads it."""
    words = [word for word in options.split(',') if word.split('=')[0] not in _NOT_ROCKSDBS]
    return ';'.join(words).replace('=2MB', '=2097152')


def _built(program: Path | None, folder: Path) -> list[str]:
    if program is not None:
        return [str(program)]
    made = folder / 'replay'
    subprocess.run(
        ['g++', '-O2', '-std=c++17', str(BENCH / 'replay.cc'), '-lrocksdb', '-o', str(made)],
        check=True,
    )
    return [str(made)]


def replay(arguments: argparse.Namespace) -> None:
    recorded = json.loads(arguments.recorded.read_text())
    names = {release.name: release for release in known_releases()}
    cfs = names[arguments.release].default_cfs
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
        program = _built(arguments.program, Path(folder))
        for entry in recorded:
            # The others are ALIKE one of these (bench_regret.py)
            if entry['workload'] in KINDS and arguments.workload in (None, entry['workload']):
                _replay(program, arguments, entry, cfs, Path(folder) / 'db')


def _replay(
    program: list[str],
    arguments: argparse.Namespace,
    entry: Mapping[str, Any],
    cfs: str,
    folder: Path,
) -> None:
    workload = entry['workload']
    kinds, spread = KINDS[workload]
    if arguments.release != 'pacific':
        # Later releases do not keep free space in RocksDB
        kinds = kinds.replace('f 95 1', 'f 95 0').replace('f 120 1', 'f 120 0')
    gets, nexts = reads_per_batch(entry['counters'])
    folder.mkdir()
    command = [
        *program, str(folder), cfs, kinds, str(arguments.mib), f'{gets:.4f}', f'{nexts:.4f}',
        str(spread), *(f'{name}={plain(text)}' for name, text in sets().items()),
    ]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    shutil.rmtree(folder)
    known = json.loads(arguments.out.read_text()) if arguments.out.exists() else {'replays': []}
    run = {'workload': workload, 'release': arguments.release, 'gets': gets, 'nexts': nexts}
    load = round(os.getloadavg()[0], 1)
    rows = [{**run, 'load': load, **json.loads(line)} for line in done.splitlines()]
    again = (workload, arguments.release)
    kept = [r for r in known['replays'] if (r[0]['workload'], r[0]['release']) != again]
    known['replays'] = [*kept, rows]
    arguments.out.write_text(json.dumps(known, indent=1) + '\n')
    print(workload, *(f'{row["set"]}={sum(row["write_s"]):.1f}s' for row in rows), flush=True)


def reads_per_batch(counters: Mapping[str, float]) -> tuple[float, float]:
    """Gets, and keys that iterators passed, for each batch."""
    submitted = counters['rocksdb.submit_latency']
    return (
        counters['rocksdb.get_latency'] / submitted,
        min(_NEXTS, counters.get('bluestore.omap_next_lat', 0) / submitted),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--recorded', type=Path, default=COUNTERS, help='of regret_record.py')
    parser.add_argument('--out', type=Path, default=RESULTS, help='a JSON file, added to')
    parser.add_argument('--release', default='pacific')
    parser.add_argument('--workload', choices=KINDS)
    parser.add_argument('--mib', type=int, default=1152, help='of WAL, for each set')
    parser.add_argument('--program', type=Path, help='replay.cc, built with another RocksDB')
    parser.add_argument('--scratch', type=Path, default=Path('/dev/shm'), help='for databases')
    replay(parser.parse_args())
    return 0


if __name__ == '__main__':
    sys.exit(main())
