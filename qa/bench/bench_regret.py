#!/usr/bin/python3
"""Regret of the tuner: how far its end is behind the best option set, on real OSDs.

``measure`` makes runs of one cell (`regret_trials.py` has the comparison) up to the given number
(root, Debian packages, some six minutes each), and writes each to the results as it ends, so that
it can be stopped at any time; ``compare`` shows them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
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

from bench_choice_judge import Window  # noqa: E402 - after the path to it
from regret_judge import FIGURES, Ratio, Run, ratio, regret  # noqa: E402
from regret_trials import DEFAULT, FORMS, WORKLOADS, Cell, Trial, trial  # noqa: E402

RESULTS = BENCH / 'results/regret.json'
#: In turn, each for as many runs as there are OSDs: those that were published last come first.
PROFILES = ('lz4-2025', 'variant-2022-d', 'variant-2022-a', 'variant-2022-c', 'alternate-2019')
MACHINE = (
    'two virtual cores shared with other work; three OSDs on sparse files, one option set each, '
    'under one load, no replicas'
)


def read_runs(path: Path) -> list[Run]:
    if not path.exists():
        return []
    return [_run(entry) for entry in json.loads(path.read_text())['runs']]


def _run(entry: dict[str, Any]) -> Run:
    of = entry['trial']
    known = Trial(**{**of, 'cell': Cell(**of['cell']), 'order': tuple(of['order'])})
    did = {name: Window(**found) for name, found in entry['did'].items()}
    return Run(**{**entry, 'trial': known, 'did': did})


def document(runs: Sequence[Run]) -> dict[str, Any]:
    ordered = sorted(runs, key=lambda run: (run.trial.cell.name, run.trial.number))
    return {'machine': MACHINE, 'runs': [asdict(run) for run in ordered]}


def by_cell(runs: Sequence[Run]) -> dict[Cell, list[Run]]:
    found: dict[Cell, list[Run]] = {}
    for run in runs:
        found.setdefault(run.trial.cell, []).append(run)
    return found


def due(runs: Sequence[Run], cell: Cell, count: int) -> list[Trial]:
    """The trials of a cell that no run was made of, of its first ``count``."""
    made = {run.trial.number for run in runs if run.trial.cell == cell}
    return [trial(cell, number, PROFILES) for number in range(count) if number not in made]


def in_words(change: Ratio | None) -> str:
    if change is None:
        return '-'
    if change.low_percent is None or change.high_percent is None:
        return f'{change.percent:+.1f}% (one run)'
    return f'{change.percent:+.1f}% ({change.low_percent:+.1f} to {change.high_percent:+.1f}%)'


def report(runs: Sequence[Run]) -> list[str]:
    lines = []
    for cell, of_cell in by_cell(runs).items():
        found = regret(of_cell)
        behind = 'unknown' if found is None else f'{found.percent:.1f}% behind {found.best}'
        lines.append(f'{cell.name}: {len(of_cell)} runs, regret {behind}')
        for name in sorted({name for run in of_cell for name in run.did} - {DEFAULT}):
            changes = (f'{figure} {in_words(ratio(of_cell, name, figure))}' for figure in FIGURES)
            lines.append(f'  {name}: {", ".join(changes)}')
    return lines


def _measure(arguments: argparse.Namespace) -> None:
    # Not for what only reads results
    from bench_regret_runs import make  # noqa: PLC0415 - needs the harness

    from harness.errors import HarnessError  # noqa: PLC0415
    from harness.progress import Progress  # noqa: PLC0415

    cell = Cell(arguments.workload, arguments.release, arguments.form)
    for planned in due(read_runs(arguments.out), cell, arguments.runs):
        try:
            run = make(planned, arguments.dir / f'run{planned.number}', Progress())
        except HarnessError as error:
            print(f'{planned.name}: not made: {error}', flush=True)
            continue
        runs = [*read_runs(arguments.out), run]
        arguments.out.write_text(json.dumps(document(runs), indent=1) + '\n')
        print('\n'.join(report([run])), flush=True)


def _compare(arguments: argparse.Namespace) -> None:
    print('\n'.join(report(read_runs(arguments.out))))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--out', type=Path, default=RESULTS, help='a JSON file, added to')
    commands = parser.add_subparsers(required=True)
    measure = commands.add_parser('measure')
    measure.add_argument('--workload', choices=WORKLOADS, default=WORKLOADS[0])
    measure.add_argument('--release', choices=('pacific', 'reef', 'tentacle'), default='pacific')
    measure.add_argument('--form', choices=tuple(FORMS), default='one device')
    measure.add_argument('--runs', type=int, default=3, help='of the cell, those made included')
    measure.add_argument('--dir', type=Path, default=Path('/tmp/bench-regret'))
    measure.set_defaults(run=_measure)
    commands.add_parser('compare').set_defaults(run=_compare)
    arguments = parser.parse_args()
    arguments.run(arguments)
    return 0


if __name__ == '__main__':
    sys.exit(main())
