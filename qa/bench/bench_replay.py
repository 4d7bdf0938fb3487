#!/usr/bin/python3
"""The model of the tree against RocksDB alone, fed with the keys that BlueStore writes.

An OSD needs an hour to fill levels of full size; RocksDB by itself takes the same keys within some
minutes (`replay_writes.cc`). That shows whether the model follows keys from flush to flush and from
level to level as RocksDB does; how large BlueStore's keys are, only real OSDs show
(`bench_model.py`). Needs g++ and librocksdb-dev; sets are run at a part of their size.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

BENCH = Path(__file__).resolve().parent
CHECKOUT = BENCH.parents[1]
sys.path[:0] = [str(CHECKOUT / 'src/pybind/mgr')]

from rocksdb_tuner.lsm.calibration import (  # noqa: E402 - after the path to it
    Calibration,
    ColumnCalibration,
    WorkloadCalibration,
    calibration,
)
from rocksdb_tuner.lsm.columns import columns  # noqa: E402
from rocksdb_tuner.lsm.fates import Fate, KeyKind, Members, Population  # noqa: E402
from rocksdb_tuner.lsm.model import TreeInputs, model  # noqa: E402
from rocksdb_tuner.lsm.records import Load  # noqa: E402
from rocksdb_tuner.options.syntax import parse  # noqa: E402

MIB, GIB = 1 << 20, 1 << 30
WORKLOAD = 'rbd-randwrite'
#: As `replay_writes.cc` makes them.
CFS = 'm(3) p(3,0-12) O(3,0-13) L P'
ONODE, SHARD, ENTRY, INFO = 650, 700, 250, 130
ONODE_KEY, SHARD_KEY, LOG_KEY = 59, 67, 44
SHARDS, PLACEMENT_GROUPS, LOG_ENTRIES = 10, 100, 300_000
#: MiB of a memtable, how many are merged, files in level 0, MiB of level 1.
SHAPES = ((256, 1, 4, 256), (64, 1, 4, 256), (64, 2, 4, 256), (8, 16, 8, 1024), (16, 6, 8, 1024))
OBJECTS = (3000, 50_000)
#: So much of full size is written, half of it before anything is counted.
WAL_GIB = 24


@dataclass(frozen=True)
class Replayed:
    """Bytes for each byte in the WAL."""

    write_buffer_mib: int
    merge: int
    trigger: int
    level_base_mib: int
    objects: int
    scale: int
    flushes: float
    compactions: float
    predicted_flushes: float
    predicted_compactions: float

    @property
    def ratio(self) -> float:
        """Write amplification, measured over predicted."""
        predicted = 1 + self.predicted_flushes + self.predicted_compactions
        return (1 + self.flushes + self.compactions) / predicted


def _options(shape: tuple[int, int, int, int], scale: int) -> str:
    buffer_mib, merge, trigger, base_mib = shape
    return (
        f'compression=kNoCompression,max_write_buffer_number={max(4, 1024 // buffer_mib)},'
        f'min_write_buffer_number_to_merge={merge},write_buffer_size={buffer_mib * MIB // scale},'
        f'max_background_jobs=4,level0_file_num_compaction_trigger={trigger},'
        f'max_bytes_for_level_base={base_mib * MIB // scale},max_bytes_for_level_multiplier=8,'
        f'max_total_wal_size={GIB // scale},target_file_size_base={64 * MIB // scale},'
        'writable_file_max_buffer_size=0'
    )


def _known(population: Population) -> Calibration:
    """The size of the keys of `replay_writes.cc` in a batch, and in a file with shortened keys."""

    def kind(name: str, fate: Fate, members: Members, **sizes: float) -> KeyKind:
        return KeyKind(
            name=name,
            fate=fate,
            members=members,
            keys=sizes.get('keys', 1.0),
            written_bytes=sizes['written'],
            left_bytes=sizes['left'],
            tombstone_bytes=sizes.get('tombstone', 0.0),
            compressed=1.0,
        )

    onodes = (
        kind(
            'onode', Fate.OVERWRITTEN, Members.OBJECTS,
            written=ONODE + ONODE_KEY, left=ONODE + 12,
        ),
        kind(
            'shard', Fate.OVERWRITTEN, Members.OBJECTS,
            written=SHARD + SHARD_KEY, left=SHARD + 16, keys=SHARDS,
        ),
    )  # fmt: skip
    log = (
        kind(
            'entry', Fate.LOGGED, Members.LOG_ENTRIES,
            written=ENTRY + 2 * LOG_KEY, left=ENTRY + 22, tombstone=20,
        ),
        kind(
            'info', Fate.OVERWRITTEN, Members.PLACEMENT_GROUPS,
            written=INFO + LOG_KEY, left=INFO + 40,
        ),
    )  # fmt: skip
    workload = WorkloadCalibration(
        name=WORKLOAD,
        classes=(),
        columns={
            'default': ColumnCalibration('default', ()),
            'O': ColumnCalibration('O', onodes),
            'P': ColumnCalibration('P', log),
        },
        population=population,
        memory_per_wal_byte=1.08,
        stale=1.0,
        description='',
    )
    return replace(calibration(), workloads={WORKLOAD: workload})


def _replay(program: Path, shape: tuple[int, int, int, int], objects: int, scale: int) -> Replayed:
    options = _options(shape, scale)
    population = Population(max(1, objects // scale), PLACEMENT_GROUPS, LOG_ENTRIES // scale)
    known = _known(population)
    workload = known.workloads[WORKLOAD]
    writes = int(WAL_GIB * GIB / scale / workload.written_bytes)
    with tempfile.TemporaryDirectory(prefix='replay-') as directory:
        arguments = (
            int(population.objects), SHARDS, int(population.log_entries), writes, 1,
            ONODE, SHARD, ENTRY, INFO, PLACEMENT_GROUPS,
        )  # fmt: skip
        done = subprocess.run(
            [program, directory, options.replace(',', ';'), *map(str, arguments)],
            stdout=subprocess.PIPE,
            check=True,
        )
    answer = json.loads(done.stdout)
    families = answer['families'].values()
    live = sum(c.live_bytes(population, 'kNoCompression') for c in workload.columns.values())
    load = Load(
        workload=WORKLOAD,
        objects=population.objects,
        placement_groups=PLACEMENT_GROUPS,
        log_entries=population.log_entries,
        data_bytes=live,
    )
    found = model(TreeInputs(parse(options), '7.9', columns(CFS), load=load), known).amplification
    assert found.flushes is not None
    assert found.compactions is not None
    return Replayed(
        *shape,
        objects=objects,
        scale=scale,
        flushes=round(sum(f['flush_bytes'] for f in families) / answer['wal_bytes'], 4),
        compactions=round(sum(f['compaction_bytes'] for f in families) / answer['wal_bytes'], 4),
        predicted_flushes=round(found.flushes, 4),
        predicted_compactions=round(found.compactions, 4),
    )


def _runs(scale: int) -> Iterator[Replayed]:
    with tempfile.TemporaryDirectory(prefix='replay-') as directory:
        program = Path(directory) / 'replay_writes'
        source = BENCH / 'replay_writes.cc'
        subprocess.run(['g++', '-O2', '-std=c++17', source, '-lrocksdb', '-o', program], check=True)
        for shape in SHAPES:
            for objects in OBJECTS:
                yield _replay(program, shape, objects, scale)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--scale', type=int, default=64, help='1: full size (hours, 10 GiB)')
    parser.add_argument('--out', type=Path, default=BENCH / 'results/replay.json')
    arguments = parser.parse_args()
    if shutil.which('g++') is None:
        parser.error('g++ and librocksdb-dev are needed: apt-get install g++ librocksdb-dev')
    found = []
    for run in _runs(arguments.scale):
        print(
            f'{run.write_buffer_mib} MiB, merge {run.merge}, trigger {run.trigger}, '
            f'{run.objects} objects: flushes {run.flushes:.3f} ({run.predicted_flushes:.3f}), '
            f'compactions {run.compactions:.3f} ({run.predicted_compactions:.3f}), '
            f'ratio {run.ratio:.2f}',
            flush=True,
        )
        found.append(asdict(run))
        arguments.out.write_text(json.dumps({'rocksdb': '7.8.3', 'runs': found}, indent=1) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
