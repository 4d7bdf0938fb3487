"""Makes the recordings of recording_plan.py that are not there yet, one cluster at a time."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from .cli import run_main
from .cluster import Cluster
from .errors import HarnessError, UsageError
from .layout import CHECKOUT, ClusterSpec
from .record import record, save
from .recording_plan import CLUSTERS, RUNS, Run

DATA = CHECKOUT / 'src/pybind/mgr/rocksdb_tuner/tests/workload/data'


def _path(run: Run, out: Path) -> Path:
    return out / f'{run.name}.json.xz'


def record_all(runs: Iterable[Run], out: Path, module: str | None, until_s: float) -> list[str]:
    """Make the recordings; returns what failed, with the reason.

    A run that fails is left out, so that the next call tries it again. No run begins after
    `until_s`, of the clock of time.time.
    """
    failed: list[str] = []
    for name, of_cluster in itertools.groupby(runs, key=lambda run: run.cluster):
        spec = CLUSTERS[name]
        if module is not None:
            spec = dataclasses.replace(spec, module=module)
        left: Sequence[Run] = list(of_cluster)
        while left and time.time() < until_s:
            left = _record_some(spec, left, out, until_s, failed)
    return failed


def _record_some(
    spec: ClusterSpec, runs: Sequence[Run], out: Path, until_s: float, failed: list[str]
) -> Sequence[Run]:
    """Make recordings on one cluster until one fails; returns the runs after it.

    What is left of a run that failed would be in the next one: that one gets another cluster.
    """
    with Cluster.up(spec) as cluster:
        for i, run in enumerate(runs):
            if time.time() > until_s:
                return ()
            cluster.progress.say(f'recording {run.name}')
            try:
                document = record(cluster, run.name, run.steps)
            except HarnessError as error:
                cluster.host.resume()
                cluster.progress.say(f'{run.name} failed: {error}')
                _store_logs(cluster, CHECKOUT / 'build' / f'{run.name}.failed')
                failed.append(f'{run.name}: {error}')
                return runs[i + 1 :]
            save({**document, 'part': run.part}, _path(run, out))
    return ()


def _store_logs(cluster: Cluster, folder: Path) -> None:
    """The logs of the OSDs, which end with the cluster."""
    folder.mkdir(parents=True, exist_ok=True)
    for log in cluster.host.outside(cluster.layout.logs).glob('osd.*.log'):
        shutil.copy(log, folder)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='qa/record-set', description=__doc__)
    parser.add_argument('names', nargs='*', metavar='NAME', help='default: all that are missing')
    parser.add_argument('--list', action='store_true', help='list existing and missing recordings')
    parser.add_argument('--out', type=Path, default=DATA, metavar='DIR')
    parser.add_argument('--module-path', type=Path, metavar='DIR', help='path of another module')
    parser.add_argument(
        '--minutes', type=float, default=24 * 60.0, help='begin no run after so long'
    )
    return parser.parse_args(argv)


def _work(arguments: argparse.Namespace) -> int:
    known = {run.name: run for run in RUNS}
    for name in arguments.names:
        if name not in known:
            raise UsageError(f'no run {name!r}: choose of {", ".join(known)}')
    chosen = [known[name] for name in arguments.names or known]
    if arguments.list:
        for run in chosen:
            there = 'recorded' if _path(run, arguments.out).exists() else 'missing'
            print(f'{run.name:<24} {run.cluster:<12} {run.part:<10} {there}')
        return 0
    missing = [run for run in chosen if arguments.names or not _path(run, arguments.out).exists()]
    module = str(arguments.module_path.resolve()) if arguments.module_path else None
    until_s = time.time() + 60 * arguments.minutes
    failed = record_all(missing, arguments.out, module, until_s)
    for line in failed:
        print(line)
    return 1 if failed else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 1 if a run failed."""
    return run_main('qa/record-set', lambda: _work(_parse(argv)))
