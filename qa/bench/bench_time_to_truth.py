#!/usr/bin/python3
"""Time to truth: from a workload to its class, from enabling to a finding, from apply to done.

``classes`` enables the module and runs workloads (10 to 15 minutes); ``rollout`` applies a
recommendation (5 minutes without a soak, 15 with a short one, an hour with the default one). Both
run real clusters (root, Debian packages) and add to the results; ``show`` prints them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
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

from time_to_truth_judge import (  # noqa: E402 - after the path to it
    Classes,
    Enabling,
    Event,
    Look,
    NotSplitError,
    Onset,
    Rollout,
    Taken,
    known,
    split,
)

RESULTS = BENCH / 'results/time-to-truth.json'
RELEASES = ('pacific', 'reef', 'tentacle')


@dataclass(frozen=True)
class Results:
    classes: tuple[Classes, ...] = ()
    rollouts: tuple[Rollout, ...] = ()


def read(path: Path) -> Results:
    return results_of(json.loads(path.read_text())) if path.exists() else Results()


def results_of(entry: dict[str, Any]) -> Results:
    return Results(
        tuple(_classes(one) for one in entry['classes']),
        tuple(_rollout(one) for one in entry['rollouts']),
    )


def _classes(entry: dict[str, Any]) -> Classes:
    enabling = {**entry['enabling'], 'findings': tuple(entry['enabling']['findings'])}
    onsets = (
        Onset(**{**one, 'classes': tuple((at_s, name) for at_s, name in one['classes'])})
        for one in entry['onsets']
    )
    return Classes(Taken(**entry['taken']), Enabling(**enabling), tuple(onsets))


def _rollout(entry: dict[str, Any]) -> Rollout:
    return Rollout(
        **{
            **entry,
            'taken': Taken(**entry['taken']),
            'batches': tuple(tuple(batch) for batch in entry['batches']),
            'events': tuple(Event(**event) for event in entry['events']),
            'looks': tuple(
                Look(**{**look, 'verdicts': tuple(look['verdicts'])}) for look in entry['looks']
            ),
        }
    )


def report(results: Results) -> Iterator[str]:
    for found in results.classes:
        enabling = found.enabling
        yield f'{found.taken}'
        yield (
            f'  enabled: active after {enabling.active_s} s, answers {enabling.answers_s} s, '
            f'sampled {enabling.sampled_s} s, finding {enabling.found_s} s ({enabling.findings})'
        )
        for onset in found.onsets:
            when = known(onset)
            yield (
                f'  {onset.workload}: {onset.expected} after {when.first_s} s, stays from '
                f'{when.stays_s} s, others {when.others}'
            )
    for rollout in results.rollouts:
        yield f'{rollout.taken}, {rollout.options}'
        try:
            parts = split(rollout)
        except NotSplitError as error:
            yield f'  {error}'
            continue
        yield (
            f'  {parts.total_s:.0f} s: soak {parts.soak_s:.0f} s, {parts.longer_s:.0f} s longer, '
            f'restarts {parts.restarts_s:.0f} s, own {parts.own_s:.0f} s ({100 * parts.share:.1f}%)'
        )


def _keep(path: Path, results: Results) -> None:
    path.write_text(json.dumps(asdict(results), indent=1) + '\n')
    print('\n'.join(report(results)))


def _measure_classes(arguments: argparse.Namespace) -> None:
    # Not for what only reads results
    from bench_time_to_truth_runs import WORKLOADS, classes  # noqa: PLC0415 - needs the harness

    from harness.progress import Progress  # noqa: PLC0415

    names = arguments.workload or tuple(WORKLOADS)
    unknown = set(names) - set(WORKLOADS)
    if unknown:
        raise SystemExit(f'choose workloads of {", ".join(WORKLOADS)}')
    found = classes(arguments.release, arguments.dir, names, Progress())
    before = read(arguments.out)
    _keep(arguments.out, Results((*before.classes, found), before.rollouts))


def _measure_rollout(arguments: argparse.Namespace) -> None:
    from bench_time_to_truth_runs import SOAKS, rollout  # noqa: PLC0415 - needs the harness

    from harness.progress import Progress  # noqa: PLC0415

    if arguments.soak not in SOAKS:
        raise SystemExit(f'choose a soak of {", ".join(SOAKS)}')
    found = rollout(arguments.release, arguments.dir, arguments.soak, Progress())
    before = read(arguments.out)
    _keep(arguments.out, Results(before.classes, (*before.rollouts, found)))


def _show(arguments: argparse.Namespace) -> None:
    print('\n'.join(report(read(arguments.out))))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--release', choices=RELEASES, default='pacific')
    parser.add_argument('--out', type=Path, default=RESULTS, help='a JSON file, added to')
    parser.add_argument('--dir', type=Path, default=Path('/tmp/bench-time-to-truth'))
    commands = parser.add_subparsers(required=True)
    measure = commands.add_parser('classes')
    measure.add_argument('--workload', action='append', default=[], help='default: all')
    measure.set_defaults(run=_measure_classes)
    measure = commands.add_parser('rollout')
    measure.add_argument('--soak', default='none', help='none, short or default')
    measure.set_defaults(run=_measure_rollout)
    commands.add_parser('show').set_defaults(run=_show)
    arguments = parser.parse_args()
    arguments.run(arguments)
    return 0


if __name__ == '__main__':
    sys.exit(main())
