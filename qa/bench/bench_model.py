#!/usr/bin/python3
"""The model of the tree against real OSDs, and what one answer of it costs.

``compare`` shows what the model predicts for the stored runs of real OSDs; ``calibrate`` writes
into ``knowledge/model.json`` what only measuring gives, of the omap load; ``speed`` times the
model.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
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

import bench_model_compare as comparing  # noqa: E402 - after the path to it
import bench_model_runs as running  # noqa: E402

from rocksdb_tuner.advise.whatif.derive import derive  # noqa: E402
from rocksdb_tuner.advise.whatif.overrides import read_overrides  # noqa: E402
from rocksdb_tuner.advise.whatif.situation import situation_without_osd  # noqa: E402
from rocksdb_tuner.advise.whatif.tree import tree  # noqa: E402
from rocksdb_tuner.lsm.calibration import calibration  # noqa: E402
from rocksdb_tuner.options.releases import known_releases  # noqa: E402
from rocksdb_tuner.present import views  # noqa: E402
from rocksdb_tuner.workload.records import WorkloadClass  # noqa: E402

RESULTS = BENCH / 'results'
KNOWLEDGE = CHECKOUT / 'src/pybind/mgr/rocksdb_tuner/knowledge/model.json'


def _read(arguments: argparse.Namespace) -> list[running.Run]:
    files = arguments.results or sorted(RESULTS.glob('model-*.json'))
    return [run for path in files for run in comparing.read_runs(path)]


def _compare(arguments: argparse.Namespace) -> None:
    runs = _read(arguments)
    if arguments.installed:
        known = calibration()
        comparisons = [c for run in runs for c in comparing.compare(run, known)]
    else:
        overlap = comparing.best_overlap(runs)
        print(f'overlap {overlap:g}')
        comparisons = comparing.compare_all(runs, overlap)
    for line in _table([c for c in comparisons if c.quantity != comparing.CHANGE]):
        print(line)
    for found in comparing.intervals(comparisons):
        print('{quantity}: {low:g} to {high:g} ({comparisons} comparisons)'.format(**found))


def _table(comparisons: Sequence[comparing.Comparison]) -> list[str]:
    """An RST table of predicted against measured."""
    widths = (8, 34, 13, 25, 12, 12, 5)
    rule = '  '.join('=' * width for width in widths)
    heads = ('release', 'option set', 'workload', 'quantity', 'predicted', 'measured', 'ratio')
    lines = [rule, _row(heads, widths), rule]
    for c in comparisons:
        quantity = f'{c.quantity} {c.column}'.rstrip()
        values = (_value(c.predicted), _value(c.measured), f'{c.ratio:.2f}')
        lines.append(_row((c.release, c.option_set, c.workload, quantity, *values), widths))
    return [*lines, rule]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return '  '.join(f'{cell:<{width}}' for cell, width in zip(cells, widths)).rstrip()


def _value(number: float) -> str:
    if number < 100:
        return f'{number:.2f}'
    unit, size = ('KiB', 1 << 10) if number < 1 << 20 else ('MiB', 1 << 20)
    return f'{number / size:.1f} {unit}'


def _calibrate(arguments: argparse.Namespace) -> None:
    """Of the omap load; `bench_model_real.py fit`, after it, has the rest."""
    runs = _read(arguments)
    overlap = comparing.best_overlap(runs)
    found = comparing.intervals(comparing.compare_all(runs, overlap))
    content = json.loads(KNOWLEDGE.read_text())
    made = comparing.calibrate(runs, comparing.fit(runs), overlap, found)
    rbd = {entry['name']: entry for entry in content['workloads'] if 'onodes' in entry}
    made['workloads'] = [rbd.get(entry['name'], entry) for entry in made['workloads']]
    content.update(made)
    KNOWLEDGE.write_text(json.dumps(content, indent=1) + '\n')


def _speed(arguments: argparse.Namespace) -> None:
    """Whole answers, from the words of the command to the text that is printed."""
    release = next(r for r in known_releases() if r.name == 'reef')
    costs_ms: dict[str, list[float]] = {'model': [], 'model, plain': [], 'profile derive': []}
    for number in range(arguments.times):
        # What is remembered of an option string is not to be measured.
        options = f'{release.default_options},ttl={number}'
        message = read_overrides(
            workload=WorkloadClass.RGW_METADATA, db_size=f'{60 + number}G', data='20G', ingest='5M'
        )
        situation = situation_without_osd(release, message)
        for name, answer in (
            ('model', lambda o=options, s=situation: views.show('model', tree(o, s))),
            (
                'model, plain',
                lambda o=options, s=situation: views.show('model', tree(o, s), 'plain'),
            ),
            ('profile derive', lambda s=situation: views.show('profile-derive', derive(s))),
        ):
            begin_s = time.perf_counter()
            answer()
            costs_ms[name].append((time.perf_counter() - begin_s) * 1000)
    for name, costs in costs_ms.items():
        median = statistics.median(costs)
        print(
            f'{name}: first {costs[0]:.2f} ms, median {median:.2f} ms, most {max(costs[1:]):.2f} ms'
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        '--results', type=Path, action='append', help='may be repeated (default: all there are)'
    )
    commands = parser.add_subparsers(required=True)
    compare = commands.add_parser('compare')
    compare.add_argument(
        '--installed',
        action='store_true',
        help='predict with what is installed, not with the runs of the other option sets',
    )
    compare.set_defaults(run=_compare)
    commands.add_parser('calibrate').set_defaults(run=_calibrate)
    speed = commands.add_parser('speed')
    speed.add_argument('--times', type=int, default=50)
    speed.set_defaults(run=_speed)
    arguments = parser.parse_args()
    arguments.run(arguments)
    return 0


if __name__ == '__main__':
    sys.exit(main())
