#!/usr/bin/python3
"""The model of the tree against real OSDs, and what one answer of it costs.

``measure`` runs real OSDs (root, Debian packages, some 25 minutes); ``compare`` shows what the
model predicts for those runs; ``calibrate`` writes into ``knowledge/model.json`` what only
measuring gives, and the interval that held 80 % of the comparisons; ``speed`` times the model.
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

from rocksdb_tuner.advise.derive import derive  # noqa: E402
from rocksdb_tuner.advise.situation import Situation  # noqa: E402
from rocksdb_tuner.lsm.columns import columns  # noqa: E402
from rocksdb_tuner.lsm.model import TreeInputs, model  # noqa: E402
from rocksdb_tuner.lsm.records import Devices, Load  # noqa: E402
from rocksdb_tuner.options.releases import known_releases  # noqa: E402
from rocksdb_tuner.options.syntax import parse  # noqa: E402
from rocksdb_tuner.workload.records import WorkloadClass  # noqa: E402

RESULTS = BENCH / 'results' / 'model-pacific.json'
KNOWLEDGE = CHECKOUT / 'src/pybind/mgr/rocksdb_tuner/knowledge/model.json'


def _measure(arguments: argparse.Namespace) -> None:
    """Runs that are there stay, so that an interrupted measurement can go on."""
    out: Path = arguments.results
    runs = comparing.read_runs(out) if out.exists() and arguments.go_on else []
    done = {(run.option_set, run.workload) for run in runs}
    for option_run in running.OPTION_RUNS:
        for workload in running.LOADS:
            if (option_run.name, workload) in done:
                continue
            runs.append(running.measure(option_run, workload, arguments.dir))
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(json.dumps(running.document(runs), indent=1) + '\n')


def _compare(arguments: argparse.Namespace) -> None:
    runs = comparing.read_runs(arguments.results)
    overlap = comparing.best_overlap(runs)
    comparisons = comparing.compare_all(runs, overlap)
    for line in _table(comparisons):
        print(line)
    print(f'\noverlap {overlap:g}')
    for found in comparing.intervals(comparisons):
        print('{quantity}: {low:g} to {high:g} ({comparisons} comparisons)'.format(**found))


def _table(comparisons: Sequence[comparing.Comparison]) -> list[str]:
    """An RST table of predicted against measured."""
    widths = (36, 15, 28, 12, 12, 8)
    rule = '  '.join('=' * width for width in widths)
    heads = ('option set', 'workload', 'quantity', 'predicted', 'measured', 'ratio')
    lines = [rule, _row(heads, widths), rule]
    for c in comparisons:
        quantity = f'{c.quantity} {c.column}'.rstrip()
        values = (_value(c.predicted), _value(c.measured), f'{c.ratio:.2f}')
        lines.append(_row((c.option_set, c.workload, quantity, *values), widths))
    return [*lines, rule]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return '  '.join(f'{cell:<{width}}' for cell, width in zip(cells, widths)).rstrip()


def _value(number: float) -> str:
    return f'{number:.2f}' if number < 1000 else f'{number / (1 << 20):.3g} MiB'


def _calibrate(arguments: argparse.Namespace) -> None:
    runs = comparing.read_runs(arguments.results)
    overlap = comparing.best_overlap(runs)
    found = comparing.intervals(comparing.compare_all(runs, overlap))
    content = json.loads(KNOWLEDGE.read_text())
    content.update(comparing.calibrate(runs, overlap, found))
    KNOWLEDGE.write_text(json.dumps(content, indent=1) + '\n')


def _speed(arguments: argparse.Namespace) -> None:
    release = next(r for r in known_releases() if r.name == 'reef')
    situation = Situation(release, WorkloadClass.RGW_METADATA)
    # What is remembered of an option string is not to be measured.
    texts = [
        release.default_options.replace('6,', f'{merge},', 1) + f',ttl={number}'
        for number, merge in enumerate([6] * arguments.times)
    ]
    costs_ms: dict[str, list[float]] = {'model': [], 'profile derive': []}
    for text in texts:
        begin_s = time.perf_counter()
        model(
            TreeInputs(
                options=parse(text),
                rocksdb_version=release.rocksdb_version,
                columns=columns(release.default_cfs),
                devices=Devices(dedicated_db=True, db_bytes=60 << 30),
                load=Load(workload='omap-heavy', wal_bytes_per_s=5e6, data_bytes=20e9),
            )
        )
        middle_s = time.perf_counter()
        derive(situation)
        costs_ms['model'].append((middle_s - begin_s) * 1000)
        costs_ms['profile derive'].append((time.perf_counter() - middle_s) * 1000)
    for name, costs in costs_ms.items():
        print(f'{name}: first {costs[0]:.2f} ms, median {statistics.median(costs):.2f} ms')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--results', type=Path, default=RESULTS)
    commands = parser.add_subparsers(required=True)
    measure = commands.add_parser('measure')
    measure.add_argument('--dir', type=Path, default=Path('/tmp/bench-model'))
    measure.add_argument('--go-on', action='store_true', help='keep the runs that are there')
    measure.set_defaults(run=_measure)
    for name, run in (('compare', _compare), ('calibrate', _calibrate)):
        commands.add_parser(name).set_defaults(run=run)
    speed = commands.add_parser('speed')
    speed.add_argument('--times', type=int, default=50)
    speed.set_defaults(run=_speed)
    arguments = parser.parse_args()
    arguments.run(arguments)
    return 0


if __name__ == '__main__':
    sys.exit(main())
