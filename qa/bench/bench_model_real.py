#!/usr/bin/python3
"""The model of the tree against real OSDs whose memtables, levels and WAL are of real size.

``compare`` shows what the model predicts for the stored runs. Which of them are held out was drawn
before any was made: they are shown only with ``--held-out``, and the results keep when that was
first done, so that a fit made after it would show. ``fit`` needs scipy.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
CHECKOUT = BENCH.parents[1]
sys.path[:0] = [
    str(CHECKOUT / 'src/pybind/mgr'),
    str(CHECKOUT / 'qa'),
    str(CHECKOUT / 'qa/doubles'),
    str(BENCH),
]

import bench_model_compare as comparing  # noqa: E402 - after the path to it
import bench_model_judge as judging  # noqa: E402
import bench_model_real_fit as fitting  # noqa: E402
import bench_model_steady as steady  # noqa: E402
from bench_model_compare import Comparison  # noqa: E402
from bench_model_trials import Trial  # noqa: E402

from rocksdb_tuner.lsm.calibration import calibration  # noqa: E402

RESULTS = BENCH / 'results/model-real.json'
KNOWLEDGE = CHECKOUT / 'src/pybind/mgr/rocksdb_tuner/knowledge/model.json'
POOL, IMAGE = 'load', 'image'
PG_NUM = 32
POLL_S = 2.0
#: Samples without a change, and their maximum number.
STILL, SETTLES_WITHIN = 4, 60
QUIET = (
    'debug_osd', 'debug_bluestore', 'debug_bluefs', 'debug_bdev', 'debug_ms', 'debug_optracker',
    'debug_objecter', 'debug_monc', 'debug_auth', 'debug_finisher', 'debug_throttle',
)  # fmt: skip


def document(runs: Sequence[steady.RealRun], first_looked: str | None) -> dict[str, Any]:
    return {
        'machine': 'two cores shared with other work, one OSD on a sparse file, pools of size 1',
        'held_out_first_looked_at': first_looked,
        'runs': [asdict(run) for run in runs],
    }


def read(path: Path) -> tuple[list[steady.RealRun], str | None]:
    if not path.exists():
        return [], None
    content = json.loads(path.read_text())
    names = {field.name for field in fields(steady.RealRun)}
    runs = []
    for entry in content['runs']:
        found = {name: value for name, value in entry.items() if name in names}
        found['trial'] = Trial(**entry['trial'])
        found['columns'] = [steady.ColumnSeen(**column) for column in entry['columns']]
        runs.append(steady.RealRun(**found))
    return runs, content['held_out_first_looked_at']


def _write(path: Path, runs: Sequence[steady.RealRun], first_looked: str | None) -> None:
    path.write_text(json.dumps(document(runs, first_looked), indent=1) + '\n')


def shown(runs: Sequence[steady.RealRun], held_out: bool) -> list[steady.RealRun]:
    """Only the requested runs: those fitted to, or those that test the fit."""
    return [run for run in runs if run.trial.held_out is held_out]


def _compare(arguments: argparse.Namespace) -> None:
    runs, first_looked = read(arguments.results)
    if arguments.held_out and first_looked is None:
        now = dt.datetime.now(dt.timezone.utc)
        first_looked = now.isoformat(timespec='seconds')
        _write(arguments.results, runs, first_looked)
    chosen = shown(runs, arguments.held_out)
    for line in judging.report(chosen):
        print(line)


def _fit(arguments: argparse.Namespace) -> None:
    """Into ``knowledge/model.json``, from the runs that are fitted to alone."""
    runs, _ = read(arguments.results)
    content = fitting.installed(
        json.loads(KNOWLEDGE.read_text()), shown(runs, held_out=False), scaled_omap()
    )
    KNOWLEDGE.write_text(json.dumps(content, indent=1) + '\n')


def scaled_omap() -> list[Comparison]:
    """The runs of the other workload, which are of scaled option sets."""
    files = [path for path in sorted(RESULTS.parent.glob('model-*.json')) if path != RESULTS]
    runs = [run for path in files for run in comparing.read_runs(path)]
    overlap = calibration().overlap
    return [c for c in comparing.compare_all(runs, overlap) if c.workload == 'omap-heavy']


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--results', type=Path, default=RESULTS)
    commands = parser.add_subparsers(required=True)
    commands.add_parser('fit', help='write knowledge/model.json').set_defaults(run=_fit)
    compare = commands.add_parser('compare')
    compare.add_argument(
        '--held-out', action='store_true', help='show the runs that are not fitted to; noted'
    )
    compare.set_defaults(run=_compare)
    arguments = parser.parse_args()
    arguments.run(arguments)
    return 0


if __name__ == '__main__':
    sys.exit(main())
