#!/usr/bin/python3
"""Writes doc/mgr/rocksdb_tuner/results.rst and its pictures from the results in qa/bench/results.

    python3 qa/results_page.py      (make results)

qa/bench/results.rst.in holds the text. A line ``@summary`` in it stands for the goals and a
line for each cell that was measured, ``@regret`` for the tables and pictures of the cells,
``@published`` for the published results beside ours. README.md gets the lines of
`readme_results.py`. A test compares the committed files with what this makes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path[:0] = [
    str(CHECKOUT / folder) for folder in ('src/pybind/mgr', 'qa', 'qa/doubles', 'qa/bench')
]

import published  # noqa: E402 - after the path to it
import readme_results  # noqa: E402
from bench_regret import RESULTS, behind, by_cell, clients, in_words, read_runs  # noqa: E402
from regret_judge import (  # noqa: E402
    FIGURES,
    MET,
    MISSED,
    MOST_LOSS,
    MOST_REGRET,
    OPEN,
    Effects,
    Judgment,
    Ratio,
    Run,
    judgment,
    limiting,
    recommended,
)
from regret_trials import Cell  # noqa: E402

PAGE = CHECKOUT / 'doc/mgr/rocksdb_tuner/results.rst'
README = CHECKOUT / 'README.md'
_TEMPLATE = CHECKOUT / 'qa/bench/results.rst.in'
#: Of a picture, in pixels: a row for each option set, and the middle, which is no change.
_ROW, _WIDTH, _MIDDLE, _LABELS = 28, 720, 480, 260


#: Not a hyphen, which reStructuredText takes for an item of a list.
MISSING = '\N{EN DASH}'


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A simple table of reStructuredText; a missing value is shown as a dash."""
    cells = [
        tuple(MISSING if cell in {None, '', '-'} else str(cell) for cell in row)
        for row in (headings, *rows)
    ]
    widths = [max(map(len, column)) for column in zip(*cells)]
    rule = '  '.join('=' * width for width in widths)
    lines = [
        '  '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells
    ]
    return '\n'.join((rule, lines[0], rule, *lines[1:], rule))


def picture_name(cell: Cell) -> str:
    return f'results-{cell.name.replace(", ", "-").replace(" ", "-")}.svg'


def cell_table(runs: Sequence[Run]) -> str:
    effects = [Effects(runs, figure) for figure in FIGURES]
    rows = []
    for name in effects[0].names:
        found = [of.ratio(name) for of in effects]
        made = max((ratio.runs for ratio in found if ratio is not None), default=0)
        rows.append((name, *map(in_words, found), made))
    return table(('Option set', *FIGURES.values(), 'Runs'), rows)


def summary(cells: Mapping[Cell, Sequence[Run]]) -> str:
    """The goals, and a line for each cell."""
    found = {cell: judgment(runs) for cell, runs in cells.items()}
    rows = []
    for cell, runs in cells.items():
        of_cell, limits = found[cell], [run.limit for run in runs]
        rows.append(
            (
                cell.workload,
                cell.release,
                cell.form,
                len(runs),
                max(limits, key=limits.count),
                f'{recommended(runs)} of {len(runs)}',
                FIGURES[of_cell.figure],
                behind(of_cell.regret),
                of_cell.near_best,
                clients(of_cell),
                of_cell.unharmed,
            )
        )
    headings = (
        'Workload', 'Release', 'Hardware', 'Runs', 'Limit', 'Changes', 'Figure', 'Regret',
        f'Within {MOST_REGRET:.0f}%', 'Latency', f'At most +{MOST_LOSS:.0f}%',
    )  # fmt: skip
    return '\n'.join((*_goals(found), '', table(headings, rows)))


def _goals(found: Mapping[Cell, Judgment]) -> Iterator[str]:
    if not found:
        yield 'No cell was measured yet.'
        return
    for goal, states in (
        (
            f'At most {MOST_REGRET:.0f}% behind the best set on the limiting resource',
            {cell: of.near_best for cell, of in found.items()},
        ),
        (
            f'Client latency at most {MOST_LOSS:.0f}% above the default',
            {cell: of.unharmed for cell, of in found.items()},
        ),
    ):
        met = sum(state == MET for state in states.values())
        yield f'* {goal}: met in {met} of {len(states)} cells.'
        for state, text in (
            (MISSED, 'Missed'),
            (OPEN, 'Not decided, since the interval has the bound in it'),
        ):
            names = [cell.name for cell, known in states.items() if known == state]
            if names:
                yield f'  {text} ({len(names)}): {"; ".join(names)}.'


def _statement(runs: Sequence[Run]) -> str:
    of_cell, changed = judgment(runs), recommended(runs)
    text = f'The tuner recommended a change in {changed} of {len(runs)} runs.'
    if not changed:
        text += ' It ends with the default.'
    if of_cell.regret is not None:
        text += (
            f' Regret of the {FIGURES[of_cell.figure]}: {behind(of_cell.regret)} '
            f'(best: {of_cell.regret.best}).'
        )
    return text


def _cell(cell: Cell, runs: Sequence[Run]) -> Iterator[str]:
    others = sorted({run.others_cores for run in runs})
    taken = ' to '.join(f'{cores:.1f}' for cores in dict.fromkeys((others[0], others[-1])))
    yield cell.name
    yield '-' * len(cell.name)
    yield ''
    yield _statement(runs)
    yield f'Ceph {runs[0].version}; other work took {taken} of the two cores.'
    yield ''
    yield cell_table(runs)
    yield ''
    yield f'.. image:: {picture_name(cell)}'
    yield f'   :alt: {FIGURES[limiting(runs)]} of each option set, compared with the default'
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
    effects = Effects(runs, limiting(runs))
    found = {name: effects.ratio(name) for name in effects.names}
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
