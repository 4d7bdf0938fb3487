#!/usr/bin/python3
"""Cost of RocksDB's statistics on an OSD: CPU time by thread and client latency, and of reading.

``measure`` runs real OSDs (root, Debian packages; `osd_cost_design.py` has the comparison), half an
hour by default; ``compare`` shows the result.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
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

from bench_regret import in_words  # noqa: E402 - after the path to it
from osd_cost_design import (  # noqa: E402
    DESIGNS,
    FIGURES,
    Cell,
    Reading,
    Run,
    cells_of,
    effects,
    reading_costs,
)

RESULTS = BENCH / 'results'
RELEASES = ('pacific', 'reef', 'tentacle')


def results_of(release: str) -> Path:
    return RESULTS / f'osd-cost-{release}.json'


def read_run(path: Path) -> Run | None:
    """None if there is none."""
    return run_of(json.loads(path.read_text())) if path.exists() else None


def run_of(entry: dict[str, Any]) -> Run:
    cells = tuple(Cell(**cell) for cell in entry['cells'])
    readings = tuple(Reading(**reading) for reading in entry['readings'])
    return Run(**{**entry, 'cells': cells, 'readings': readings})


def report(run: Run) -> Iterator[str]:
    yield f'Ceph {run.version}, {run.machine}, load up to {run.machine_load}'
    for design in DESIGNS:
        cells = cells_of(run, design)
        yield f'{design.name}, compared with "{design.settings[0].name}":'
        for figure in FIGURES:
            for effect in effects(cells, design, figure):
                yield f'  {figure}, {effect.setting}: {in_words(effect.change)}'
    for cost in reading_costs(run.readings):
        cpu = '-' if cost.cpu_ms is None else f'{cost.cpu_ms.value:.2f} ± {cost.cpu_ms.half:.2f} ms'
        setting = cost.setting or 'any'
        yield f'{cost.command} ({setting}): {cpu} of CPU time, {cost.answer_bytes:.0f} bytes'


def _measure(arguments: argparse.Namespace) -> None:
    # Not for what only reads results
    from bench_osd_cost_runs import Plan, measure  # noqa: PLC0415 - needs the harness

    from harness.progress import Progress  # noqa: PLC0415

    plan = Plan(arguments.rate_iops, arguments.squares, arguments.window)
    print(f'about {plan.minutes:.0f} minutes', flush=True)
    run = measure(arguments.release, arguments.dir, plan, Progress())
    out = arguments.out or results_of(arguments.release)
    out.write_text(json.dumps(asdict(run), indent=1) + '\n')
    print('\n'.join(report(run)))


def _compare(arguments: argparse.Namespace) -> None:
    run = read_run(arguments.out or results_of(arguments.release))
    if run is not None:
        print('\n'.join(report(run)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--release', choices=RELEASES, default='pacific')
    parser.add_argument('--out', type=Path, help='default: results/osd-cost-RELEASE.json')
    commands = parser.add_subparsers(required=True)
    measure = commands.add_parser('measure')
    measure.add_argument('--dir', type=Path, default=Path('/tmp/bench-osd-cost'))
    measure.add_argument('--rate-iops', type=int, default=800, help='of the client')
    measure.add_argument('--squares', type=int, default=2, help='of four periods, by design')
    measure.add_argument('--window', type=float, default=60.0, help='seconds of a period')
    measure.set_defaults(run=_measure)
    commands.add_parser('compare').set_defaults(run=_compare)
    arguments = parser.parse_args()
    arguments.run(arguments)
    return 0


if __name__ == '__main__':
    sys.exit(main())
