#!/usr/bin/python3
"""Whether the module distinguishes OSDs short of CPU cores from OSDs that wait for something else.

``measure`` makes the runs of `bench_cores_trials.json` that are not made yet (root, Debian
packages, half a minute each); ``compare`` shows the module's conclusions. Which runs are held
out was drawn before any was made: their results are shown only with ``--held-out``, and the results
keep when that was first done.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
from collections.abc import Sequence
from pathlib import Path

BENCH = Path(__file__).resolve().parent
CHECKOUT = BENCH.parents[1]
sys.path[:0] = [
    str(CHECKOUT / 'src/pybind/mgr'),
    str(CHECKOUT / 'qa'),
    str(CHECKOUT / 'qa/doubles'),
    str(BENCH),
]

import bench_cores_judge as judging  # noqa: E402 - after the path to it
import bench_cores_runs as running  # noqa: E402
from bench_cores_runs import Run  # noqa: E402
from bench_cores_trials import committed  # noqa: E402

RESULTS = BENCH / 'results/cores.json'


def read(path: Path) -> tuple[list[Run], str | None]:
    if not path.exists():
        return [], None
    content = json.loads(path.read_text())
    return running.runs_of(content), content['held_out_first_looked_at']


def _write(path: Path, runs: Sequence[Run], first_looked: str | None) -> None:
    content = running.document(runs, first_looked)
    lines = ',\n'.join(json.dumps(run) for run in content.pop('runs'))
    path.write_text(f'{json.dumps(content)[:-1]}, "runs": [\n{lines}\n]}}\n')


def _measure(arguments: argparse.Namespace) -> None:
    """Runs that are there stay, so that an interrupted measurement can go on."""
    runs, first_looked = read(arguments.out)
    made = {run.trial.name for run in runs}
    trials = [t for t in committed() if t.release == arguments.release and t.name not in made]
    if not trials:
        return
    for run in running.measure(trials, arguments.dir):
        runs.append(run)
        _write(arguments.out, runs, first_looked)
        proven = 'proven' if run.is_proven else 'not proven'
        print(f'{run.trial.name}: {proven}, {run.idle:.0%} idle', flush=True)


def _compare(arguments: argparse.Namespace) -> None:
    runs, first_looked = read(arguments.out)
    if arguments.held_out and first_looked is None:
        now = dt.datetime.now(dt.timezone.utc)
        first_looked = now.isoformat(timespec='seconds')
        _write(arguments.out, runs, first_looked)
    for line in judging.report([r for r in runs if r.trial.held_out is arguments.held_out]):
        print(line)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--out', type=Path, default=RESULTS)
    commands = parser.add_subparsers(required=True)
    measure = commands.add_parser('measure')
    measure.add_argument('--dir', type=Path, default=Path('/tmp/bench-cores'))
    measure.add_argument('--release', default='pacific')
    measure.set_defaults(run=_measure)
    compare = commands.add_parser('compare')
    compare.add_argument('--held-out', action='store_true')
    compare.set_defaults(run=_compare)
    arguments = parser.parse_args()
    arguments.run(arguments)
    return 0


if __name__ == '__main__':
    sys.exit(main())
