#!/usr/bin/python3
"""Regret of the tuner: how far its end is behind the best option set, on real OSDs.

``measure`` makes runs (root, Debian packages, some seven minutes each on a quiet machine of two
cores) and writes each to the results as it ends, so that it can be stopped at any time and goes on
later: of one cell (`regret_trials.py` has the comparison) up to the given number, or with ``--all``
of all cells, those that tell most first, or with ``--recorded`` of those that have a run, until the
given minutes are over. ``plan`` lists what is due, ``compare`` shows the results. With
``--undecided`` a cell whose goals are met or missed is not run again. A further run compares only
the sets that may still be better by more than the goal.

One run of a cell already has an interval. With residuals of 1%, half of the interval of 95% is, in
percent, if all runs compare all sets (of 3%, as beside other work that takes nearly all of the
cores: three times as much):

    runs                                  1    2    3    4
    tuner's change and default           1.6  1.0  0.8  0.7
    tuner's end and a published profile  2.3  1.4  1.1  1.0
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

BENCH = Path(__file__).resolve().parent
CHECKOUT = BENCH.parents[1]
sys.path[:0] = [
    str(CHECKOUT / 'src/pybind/mgr'),
    str(CHECKOUT / 'qa'),
    str(CHECKOUT / 'qa/doubles'),
    str(BENCH),
]

from bench_choice_judge import Window  # noqa: E402 - after the path to it
from regret_judge import (  # noqa: E402
    FIGURES,
    Effects,
    Judgment,
    Ratio,
    Regret,
    Run,
    contenders,
    judgment,
)
from regret_trials import (  # noqa: E402
    FORMS,
    RELEASES,
    WORKLOADS,
    Cell,
    Trial,
    cells,
    run_name,
    trial,
)

RESULTS = BENCH / 'results/regret.json'
MACHINE = (
    'two virtual cores; six OSDs on sparse files, one option set each, under one load, no replicas'
)
#: Of a run before any was made.
USUAL_MINUTES = 7.0
#: In one session, of a cell that cannot be measured.
_ATTEMPTS = 2


def read_runs(path: Path) -> list[Run]:
    if not path.exists():
        return []
    return [_run(entry) for entry in json.loads(path.read_text())['runs']]


def _run(entry: dict[str, Any]) -> Run:
    of = entry['trial']
    phases = tuple(tuple(phase) for phase in of['phases'])
    known = Trial(**{**of, 'cell': Cell(**of['cell']), 'phases': phases})
    did = tuple(tuple(Window(**found) for found in phase) for phase in entry['did'])
    return Run(**{**entry, 'trial': known, 'did': did})


def document(runs: Sequence[Run]) -> dict[str, Any]:
    ordered = sorted(runs, key=lambda run: (run.trial.cell.name, run.trial.number))
    return {'machine': MACHINE, 'runs': [asdict(run) for run in ordered]}


def by_cell(runs: Sequence[Run]) -> dict[Cell, list[Run]]:
    found: dict[Cell, list[Run]] = {}
    for run in runs:
        found.setdefault(run.trial.cell, []).append(run)
    return found


class Planned(NamedTuple):
    """A run to make; which sets it compares is known when it begins."""

    cell: Cell
    number: int

    @property
    def name(self) -> str:
        return run_name(self.cell, self.number)


def due(runs: Sequence[Run], wanted: Sequence[Cell], count: int) -> Iterator[Planned]:
    """The runs that are not made, of the first ``count`` of each cell.

    All cells once, then all of them twice, and so on: an end at any time leaves most cells.
    """
    made = {(run.trial.cell, run.trial.number) for run in runs}
    for number in range(count):
        yield from (Planned(cell, number) for cell in wanted if (cell, number) not in made)


def decided(runs: Sequence[Run], cell: Cell) -> bool:
    """Whether both goals of a cell are met or missed."""
    of_cell = by_cell(runs).get(cell)
    return of_cell is not None and judgment(of_cell).decided


def minutes_of(runs: Sequence[Run], cell: Cell) -> float:
    """How long a run takes: as those of the cell, of its workload, or of all."""
    for made in (
        [run.minutes for run in runs if run.trial.cell == cell],
        [run.minutes for run in runs if run.trial.cell.workload == cell.workload],
        [run.minutes for run in runs],
    ):
        if made:
            return statistics.median(made)
    return USUAL_MINUTES


def in_words(change: Ratio | None) -> str:
    if change is None:
        return '-'
    if change.low_percent is None or change.high_percent is None:
        return f'{change.percent:+.1f}% (one run)'
    return f'{change.percent:+.1f}% ({change.low_percent:+.1f} to {change.high_percent:+.1f}%)'


def behind(found: Regret | None) -> str:
    if found is None:
        return 'unknown'
    if found.low_percent is None or found.high_percent is None:
        return f'{found.percent:.1f}%'
    return f'{found.percent:.1f}% ({found.low_percent:.1f} to {found.high_percent:.1f}%)'


def clients(found: Judgment) -> str:
    """What clients see of the tuner's change."""
    return 'no change' if found.clients is None else in_words(found.clients)


def report(runs: Sequence[Run]) -> list[str]:
    lines = []
    for cell, of_cell in by_cell(runs).items():
        found = judgment(of_cell)
        best = '' if found.regret is None else f', best: {found.regret.best}'
        lines.append(
            f'{cell.name} (runs: {len(of_cell)}): regret of the {FIGURES[found.figure]} '
            f'{behind(found.regret)} ({found.near_best}{best}); client latency {clients(found)} '
            f'({found.unharmed})'
        )
        effects = {figure: Effects(of_cell, figure) for figure in FIGURES}
        for name in effects[found.figure].names:
            changes = (
                f'{FIGURES[figure]} {in_words(of.ratio(name))}' for figure, of in effects.items()
            )
            lines.append(f'  {name}: {", ".join(changes)}')
    return lines


def _wanted(arguments: argparse.Namespace, runs: Sequence[Run]) -> list[Cell]:
    if not (arguments.all or arguments.recorded):
        release, form = arguments.release or RELEASES[0], arguments.form or next(iter(FORMS))
        return [Cell(arguments.workload or WORKLOADS[0], release, form)]
    recorded = by_cell(runs)
    return [
        cell
        for cell in cells()
        if arguments.workload in (None, cell.workload)
        and arguments.release in (None, cell.release)
        and arguments.form in (None, cell.form)
        and (arguments.all or cell in recorded)
    ][: arguments.cells]


def _due(arguments: argparse.Namespace, runs: Sequence[Run]) -> list[Planned]:
    """What is due, in order."""
    return list(due(runs, _wanted(arguments, runs), arguments.runs))


def _measure(arguments: argparse.Namespace) -> None:
    # Not for what only reads results
    from bench_regret_runs import make  # noqa: PLC0415 - needs the harness

    from harness.errors import HarnessError  # noqa: PLC0415
    from harness.progress import Progress  # noqa: PLC0415

    end_s = time.monotonic() + 60 * arguments.minutes
    failed: dict[Cell, int] = {}
    for planned in _due(arguments, read_runs(arguments.out)):
        runs = read_runs(arguments.out)
        # One that takes less may still fit
        if time.monotonic() + 60 * minutes_of(runs, planned.cell) > end_s:
            continue
        if failed.get(planned.cell, 0) >= _ATTEMPTS:
            continue
        if arguments.undecided and decided(runs, planned.cell):
            continue
        of_cell = by_cell(runs).get(planned.cell, [])
        drawn = trial(planned.cell, planned.number, contenders(of_cell))
        try:
            run = make(drawn, arguments.dir, Progress())
        except HarnessError as error:
            failed[planned.cell] = failed.get(planned.cell, 0) + 1
            print(f'{planned.name}: not made: {error}', flush=True)
            continue
        arguments.out.write_text(json.dumps(document([*runs, run]), indent=1) + '\n')
        print(f'{run.minutes} minutes, {run.others_cores} cores taken by others')
        print('\n'.join(report([*of_cell, run])))
        sys.stdout.flush()


def _plan(arguments: argparse.Namespace) -> None:
    runs, total = read_runs(arguments.out), 0.0
    for planned in _due(arguments, runs):
        total += minutes_of(runs, planned.cell)
        print(f'{total:6.0f} minutes: {planned.name}')


def _compare(arguments: argparse.Namespace) -> None:
    print('\n'.join(report(read_runs(arguments.out))))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--out', type=Path, default=RESULTS, help='a JSON file, added to')
    commands = parser.add_subparsers(required=True)
    for name, run in (('measure', _measure), ('plan', _plan)):
        command = commands.add_parser(name)
        which = command.add_mutually_exclusive_group()
        which.add_argument('--all', action='store_true', help='cells, instead of one')
        which.add_argument('--recorded', action='store_true', help='cells that have a run')
        command.add_argument('--cells', type=int, help='of several only so many, the first ones')
        command.add_argument('--workload', choices=WORKLOADS)
        command.add_argument('--release', choices=RELEASES)
        command.add_argument('--form', choices=tuple(FORMS))
        command.add_argument(
            '--runs', type=int, default=3, help='of each cell, those made included'
        )
        command.set_defaults(run=run)
        if name == 'measure':
            command.add_argument(
                '--minutes',
                type=float,
                default=float('inf'),
                help='no run begins that lasts longer',
            )
            command.add_argument(
                '--undecided', action='store_true', help='no further run of a cell that is decided'
            )
            command.add_argument('--dir', type=Path, default=Path('/tmp/bench-regret'))
    commands.add_parser('compare').set_defaults(run=_compare)
    arguments = parser.parse_args()
    arguments.run(arguments)
    return 0


if __name__ == '__main__':
    sys.exit(main())
