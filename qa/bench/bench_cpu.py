#!/usr/bin/python3
"""CPU of RocksDB in an OSD: of the kv_sync thread, of flushes, of compactions and of compression.

``alone`` runs RocksDB by itself (g++ and librocksdb-dev, some minutes); ``measure`` runs real OSDs
(root, Debian packages, six minutes a round); ``compare`` shows what the model predicts of them;
``calibrate`` writes the costs into ``knowledge/model.json``. The last two need scipy.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
CHECKOUT = BENCH.parents[1]
sys.path[:0] = [
    str(CHECKOUT / 'src/pybind/mgr'),
    str(CHECKOUT / 'qa'),
    str(CHECKOUT / 'qa/doubles'),
    str(BENCH),
]

import bench_cpu_compare as comparing  # noqa: E402 - after the path to it
import bench_cpu_rocksdb as alone  # noqa: E402
import bench_cpu_runs as running  # noqa: E402
from bench_model_compare import interval  # noqa: E402

from rocksdb_tuner.knowledge import loader  # noqa: E402
from rocksdb_tuner.lsm.calibration import calibration  # noqa: E402

RESULTS = BENCH / 'results'
ALONE = RESULTS / 'cpu-rocksdb.json'
KNOWLEDGE = CHECKOUT / 'src/pybind/mgr/rocksdb_tuner/knowledge/model.json'


def _alone(arguments: argparse.Namespace) -> None:
    if shutil.which('g++') is None:
        raise SystemExit('g++ and librocksdb-dev are needed: apt-get install g++ librocksdb-dev')
    found = []
    for run in alone.runs(arguments.mib):
        found.append(run)
        print(
            f'{run.workload}, {run.objects} objects, {run.compression}, '
            f'{run.memtable_mib} MiB x {run.merge}: flushes {run.flush_cpu_s:.2f} s, '
            f'compactions {run.compaction_cpu_s:.2f} s',
            flush=True,
        )
        ALONE.write_text(json.dumps(alone.document(found), indent=1) + '\n')


def _measure(arguments: argparse.Namespace) -> None:
    """Rounds that are there stay, so that one can be added."""
    out: Path = arguments.out or RESULTS / f'cpu-{arguments.release}.json'
    runs = running.read_runs(out) if out.exists() else []
    number = max((run.round for run in runs), default=-1) + 1
    for run in running.measure(arguments.release, arguments.dir, number, arguments.scale):
        runs.append(run)
        print(
            f'{run.release} {run.workload} {run.option_set}: {run.wal_bytes >> 20} MiB of WAL, '
            f'{comparing.measured_ns(run):.1f} ns a byte',
            flush=True,
        )
        out.write_text(json.dumps(running.document(runs), indent=1) + '\n')


def _read() -> list[running.CpuRun]:
    files = sorted(path for path in RESULTS.glob('cpu-*.json') if path != ALONE)
    return [run for path in files for run in running.read_runs(path)]


def _compare(_: argparse.Namespace) -> None:
    found = list(comparing.compare_all(_read(), alone.read_runs(ALONE)))
    for c in found:
        what = c.change or 'ns for a byte in the WAL'
        print(
            f'{c.release:<8} {c.workload:<14} {what:<26} predicted {c.predicted.value:.2f} '
            f'({c.predicted.low:.2f} to {c.predicted.high:.2f}), measured {c.measured:.2f}'
        )
    for name, part in (
        ('total', [c for c in found if not c.change]),
        ('change', [c for c in found if c.change]),
    ):
        low, high = interval([c.ratio for c in part])
        held = sum(c.held for c in part)
        print(
            f'{name}: measured over predicted {low:.2f} to {high:.2f}; by costs alone '
            f'{held} of {len(part)} held'
        )


def _calibrate(_: argparse.Namespace) -> None:
    content, runs = json.loads(KNOWLEDGE.read_text()), _read()
    content['inserts']['workloads'] = comparing.insert_shares(runs)
    KNOWLEDGE.write_text(json.dumps(content, indent=1) + '\n')
    loader.load.cache_clear()
    calibration.cache_clear()
    content['cpu'] = comparing.costs(runs, alone.read_runs(ALONE))
    KNOWLEDGE.write_text(json.dumps(content, indent=1) + '\n')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    by_itself = commands.add_parser('alone')
    by_itself.add_argument('--mib', type=int, default=384, help='what goes to the WAL of a run')
    by_itself.set_defaults(run=_alone)
    measure = commands.add_parser('measure')
    measure.add_argument('--dir', type=Path, default=Path('/tmp/bench-cpu'))
    measure.add_argument('--out', type=Path, help='default: results/cpu-RELEASE.json')
    measure.add_argument('--release', default='pacific')
    measure.add_argument('--scale', type=int, default=64, choices=running.SCALES)
    measure.set_defaults(run=_measure)
    commands.add_parser('compare').set_defaults(run=_compare)
    commands.add_parser('calibrate').set_defaults(run=_calibrate)
    arguments = parser.parse_args()
    arguments.run(arguments)
    return 0


if __name__ == '__main__':
    sys.exit(main())
