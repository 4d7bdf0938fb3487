#!/usr/bin/python3
"""Limit, recommendation and predicted effect, compared with real OSDs that have a known limit.

``measure`` makes the missing runs of the lists (`bench_choice_trials.py` has the comparison and
the criteria; root, Debian packages, some five minutes each), and writes each to the results of its
list as it ends; ``compare`` shows them.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
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

from bench_choice_judge import Effect, ProofRun, Reported, Weighed, Window, report  # noqa: E402 - after
from bench_choice_runs import NotMadeError, make  # noqa: E402 - the path to it
from bench_choice_trials import SEEDS, ProofTrial, committed  # noqa: E402

from harness.errors import HarnessError  # noqa: E402
from harness.progress import Progress  # noqa: E402

RESULTS = BENCH / 'results'


def document(runs: Sequence[ProofRun], not_made: Sequence[dict[str, str]]) -> dict[str, Any]:
    return {
        'machine': 'two cores shared with other work; two OSDs under load and an idle one, pools '
        'of size 1; files of hdd OSDs on a disk, of the others in memory',
        'not_made': list(not_made),
        'runs': [asdict(run) for run in sorted(runs, key=lambda run: run.trial.name)],
    }


def read_results(path: Path) -> tuple[list[ProofRun], list[dict[str, str]]]:
    if not path.exists():
        return [], []
    content = json.loads(path.read_text())
    return [_run(entry) for entry in content['runs']], content['not_made']


def _run(entry: dict[str, Any]) -> ProofRun:
    windows = {
        name: tuple(Window(**found) for found in entry[name]) for name in ('first', 'second')
    }
    return ProofRun(
        **{
            **entry,
            **windows,
            'trial': ProofTrial(**entry['trial']),
            'told': _told(entry['told']),
            'idle': _told(entry['idle']),
            'predicted': _effects(entry['predicted']),
        }
    )


def _told(entry: dict[str, Any]) -> Reported:
    candidates = tuple(
        Weighed(**{**c, 'effects': _effects(c['effects'])}) for c in entry['candidates']
    )
    return Reported(
        **{
            **entry,
            'limits': tuple(entry['limits']),
            'candidates': candidates,
            'recommended': tuple(entry['recommended']),
        }
    )  # fmt: skip


def _effects(entries: Sequence[dict[str, Any]]) -> tuple[Effect, ...]:
    return tuple(Effect(**entry) for entry in entries)


def lean(run: ProofRun) -> ProofRun:
    """Without the details of infeasible sets."""
    kept = tuple(c for c in run.told.candidates if not c.infeasible)
    return replace(run, told=replace(run.told, candidates=kept))


def due(
    places: Sequence[Sequence[ProofTrial]], made: set[str], not_made: set[str]
) -> list[ProofTrial]:
    """Of each place that no run was made of the first draw that was not tried."""
    found = []
    for place in places:
        if any(trial.name in made for trial in place):
            continue
        found += [trial for trial in place if trial.name not in not_made][:1]
    return found


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Two may measure side by side."""
    with path.with_suffix('.lock').open('w') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _add(path: Path, runs: Sequence[ProofRun], not_made: Sequence[dict[str, str]]) -> None:
    with _locked(path):
        known_runs, known_not_made = read_results(path)
        content = document([*known_runs, *runs], [*known_not_made, *not_made])
        path.write_text(json.dumps(content, indent=1) + '\n')


def _begin(
    out: Path, places: Sequence[Sequence[ProofTrial]], raw: Path, only: Sequence[str]
) -> ProofTrial | None:
    """The next trial that no other process has claimed; its mark stays until it has ended."""
    raw.mkdir(parents=True, exist_ok=True)
    with _locked(out):
        runs, not_made = read_results(out)
        made, tried = {run.trial.name for run in runs}, {entry['trial'] for entry in not_made}
        for trial in due(places, made, tried):
            if only and trial.scenario not in only and trial.name not in only:
                continue
            mark = raw / f'{trial.name}.begun'
            if not mark.exists():
                mark.touch()
                return trial
    return None


def _results(arguments: argparse.Namespace) -> Path:
    folder: Path = arguments.out
    return folder / f'choice-{arguments.trials}.json'


def _measure(arguments: argparse.Namespace) -> None:
    out, places = _results(arguments), committed(arguments.trials)
    marks = arguments.marks / arguments.trials
    for _ in range(arguments.runs):
        trial = _begin(out, places, marks, arguments.only or ())
        if trial is None:
            print('nothing is left to be made')
            return
        on_disk = trial.device_class == 'hdd' or arguments.memory_dir is None
        folder = arguments.dir if on_disk else arguments.memory_dir
        try:
            run = lean(make(trial, folder / trial.name, Progress()))
        except (NotMadeError, HarnessError) as error:
            why = {'trial': trial.name, 'why': str(error).splitlines()[0]}
            _add(out, [], [why])
            print(f'{trial.name}: not made: {error}', flush=True)
        else:
            _add(out, [run], [])
            print('\n'.join(report([run])), flush=True)
        finally:
            (marks / f'{trial.name}.begun').unlink()


def _compare(arguments: argparse.Namespace) -> None:
    runs, not_made = read_results(_results(arguments))
    for line in report(runs):
        print(line)
    for entry in not_made:
        print(f'not made: {entry["trial"]}: {entry["why"]}')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--out', type=Path, default=RESULTS, help='folder of results')
    parser.add_argument(
        '--trials', choices=SEEDS, default='proof', help='which list: training may set intervals'
    )
    commands = parser.add_subparsers(required=True)
    measure = commands.add_parser('measure')
    measure.add_argument('--dir', type=Path, default=Path('/tmp/bench-choice-proof'))
    measure.add_argument(
        '--memory-dir',
        type=Path,
        default=Path('/dev/shm/bench-choice-proof'),
        help='on a file system in memory, for clusters without hard disks',
    )
    measure.add_argument('--marks', type=Path, default=Path('/tmp/bench-choice-proof.marks'))
    measure.add_argument(
        '--runs', type=int, default=len(committed('proof')), help='at most so many'
    )
    measure.add_argument(
        '--only', action='append', metavar='SCENARIO', help='or the name of a trial; more than once'
    )
    measure.set_defaults(run=_measure)
    commands.add_parser('compare').set_defaults(run=_compare)
    arguments = parser.parse_args()
    arguments.run(arguments)
    return 0


if __name__ == '__main__':
    sys.exit(main())
