#!/usr/bin/python3
"""Writes doc/mgr/rocksdb_tuner/results.rst and its pictures from the results in qa/bench/results.

    python3 qa/results_page.py      (make measurements)

qa/bench/results.rst.in holds the text. A line ``@regret`` in it stands for the tables and pictures
of all cells that were measured, ``@published`` for the published results beside ours. README.md
gets the lines of `readme_results.py`. A test compares the committed files with what this makes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path[:0] = [
    str(CHECKOUT / folder) for folder in ('src/pybind/mgr', 'qa', 'qa/doubles', 'qa/bench')
]

import published  # noqa: E402
import readme_results  # noqa: E402
from bench_regret import RESULTS, by_cell, in_words, read_runs  # noqa: E402 - after the path to it
from measurements import table  # noqa: E402
from regret_judge import FIGURES, LATENCY, Ratio, Run, limiting, ratio, recommended, regret  # noqa: E402
from regret_trials import DEFAULT, TUNER, Cell  # noqa: E402

PAGE = CHECKOUT / 'doc/mgr/rocksdb_tuner/results.rst'
README = CHECKOUT / 'README.md'
_TEMPLATE = CHECKOUT / 'qa/bench/results.rst.in'
#: Of a picture, in pixels: a row for each option set, and the middle, which is no change.
_ROW, _WIDTH, _MIDDLE, _LABELS = 28, 640, 400, 160


def _changes(runs: Sequence[Run]) -> dict[str, dict[str, Ratio | None]]:
    names = sorted({name for run in runs for name in run.did} - {DEFAULT})
    return {name: {figure: ratio(runs, name, figure) for figure in FIGURES} for name in names}


def picture_name(cell: Cell) -> str:
    return f'results-{cell.name.replace(", ", "-").replace(" ", "-")}.svg'


def cell_table(runs: Sequence[Run]) -> str:
    return table(
        ('Option set', *FIGURES, 'Runs'),
        [
            (name, *map(in_words, of.values()), max(r.runs for r in of.values() if r is not None))
            for name, of in _changes(runs).items()
        ],
    )


def summary(cells: Mapping[Cell, Sequence[Run]]) -> str:
    """A line for each cell."""
    rows = []
    for cell, runs in cells.items():
        found = regret(runs)
        limits = [run.limit for run in runs if run.limit is not None]
        changed = recommended(runs)
        latency = ratio(runs, TUNER, LATENCY) if changed else None
        rows.append(
            (
                cell.workload,
                cell.release,
                cell.form,
                max(limits, key=limits.count) if limits else None,
                f'{changed} of {len(runs)}',
                None if found is None else f'{found.percent:.1f}% of {limiting(runs)}',
                None if latency is None else in_words(latency),
            )
        )
    return table(('Workload', 'Release', 'Hardware', 'Limit', 'Changes', 'Regret', 'Latency'), rows)


def _statement(runs: Sequence[Run]) -> str:
    found, changed = regret(runs), recommended(runs)
    text = f'The tuner recommended a change in {changed} of {len(runs)} runs.'
    if not changed:
        text += ' It ends with the default: its row shows how far two equal OSDs are apart.'
    if found is not None:
        figure = limiting(runs)
        text += f' Regret of the {figure} per write: {found.percent:.1f}% (best: {found.best}).'
    return text


def _cell(cell: Cell, runs: Sequence[Run]) -> Iterator[str]:
    loads = sorted(run.machine_load for run in runs)
    yield cell.name
    yield '-' * len(cell.name)
    yield ''
    yield _statement(runs)
    yield f'Ceph {runs[0].version}; load of the machine {loads[0]} to {loads[-1]}.'
    yield ''
    yield cell_table(runs)
    yield ''
    yield f'.. image:: {picture_name(cell)}'
    yield f'   :alt: {limiting(runs)} per write of each option set, compared with the default'
    yield ''


def _scale(changes: Mapping[str, Ratio]) -> float:
    """Pixels of a percent."""
    ends = [5.0]
    for change in changes.values():
        ends += [abs(end) for end in (change.percent, change.low_percent, change.high_percent)
                 if end is not None]  # fmt: skip
    return (_WIDTH - _MIDDLE - 10) / max(ends)


def picture(runs: Sequence[Run]) -> str:
    """Dots with intervals: the change of the limiting figure, 0 is the default."""
    found = {name: of[limiting(runs)] for name, of in _changes(runs).items()}
    known = {name: change for name, change in found.items() if change is not None}
    scale, height = _scale(known), _ROW * (len(known) + 1)
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            'font-family="sans-serif" font-size="13">'
        ),
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<line x1="{_MIDDLE}" y1="0" x2="{_MIDDLE}" y2="{height - _ROW}" stroke="gray"/>',
        f'<text x="{_MIDDLE}" y="{height - 8}" text-anchor="middle">0%: default</text>',
    ]
    for row, (name, change) in enumerate(known.items()):
        middle = row * _ROW + _ROW // 2
        low = change.percent if change.low_percent is None else change.low_percent
        high = change.percent if change.high_percent is None else change.high_percent
        start, dot, end = (max(_LABELS, _MIDDLE + scale * at) for at in (low, change.percent, high))
        lines += [
            f'<text x="8" y="{middle + 4}">{name} {change.percent:+.1f}%</text>',
            f'<line x1="{start:.1f}" y1="{middle}" x2="{end:.1f}" y2="{middle}" stroke="black"/>',
            f'<circle cx="{dot:.1f}" cy="{middle}" r="4" fill="#1f77b4"/>',
        ]
    return '\n'.join((*lines, '</svg>')) + '\n'


def files() -> dict[Path, str]:
    """The generated files, by path."""
    cells = by_cell(read_runs(RESULTS))
    text = _TEMPLATE.read_text(encoding='utf-8')
    reported = '\n'.join(line for cell, runs in cells.items() for line in _cell(cell, runs))
    for mark, section in (
        ('@summary', summary(cells)),
        ('@regret', reported.rstrip('\n')),
        ('@published', published.section().rstrip('\n')),
    ):
        text = text.replace(f'{mark}\n', f'{section}\n')
    made = {PAGE: text, README: readme_results.replaced(README.read_text(encoding='utf-8'))}
    for cell, runs in cells.items():
        made[PAGE.parent / picture_name(cell)] = picture(runs)
    return made


if __name__ == '__main__':
    for path, content in files().items():
        path.write_text(content, encoding='utf-8')
