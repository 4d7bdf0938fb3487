"""The bars of `make check` on what the unit tests reach."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import coverage_bars
from coverage_bars import BARS, Bar
from rocksdb_tuner.tests.test_layers import IMPORTS, PACKAGE


def reported(statements: int, branches: int, lines: list[int], ways: list[list[int]]) -> Any:
    """A file in a report of coverage, of which these lines and branches are missing."""
    return {
        'summary': {
            'num_statements': statements,
            'num_branches': branches,
            'covered_lines': statements - len(lines),
            'covered_branches': branches - len(ways),
        },
        'missing_lines': lines,
        'missing_branches': ways,
    }


FILES: dict[str, Any] = {
    'options/a.py': reported(10, 4, [3, 4], [[7, 9]]),
    'options/b.py': reported(1, 0, [1], []),
    'plan/c.py': reported(5, 2, [], []),
}


@pytest.mark.parametrize(
    ('bar', 'fails'),
    [
        (Bar('plan', 100, ('plan/*',)), False),
        (Bar('options', 73, ('options/*',)), False),
        (Bar('options', 74, ('options/*',)), True),
        (Bar('none', 1, ('none/*',)), True),
    ],
)
def test_coverage_below_its_bar_fails_with_a_message(
    bar: Bar,
    fails: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """So does a bar on what is not there."""
    report = tmp_path / 'coverage.json'
    files = {f'{coverage_bars.MODULE}{name}': file for name, file in FILES.items()}
    report.write_text(json.dumps({'files': files}))
    monkeypatch.setattr(coverage_bars, 'REPORT', report)
    monkeypatch.setattr(coverage_bars, 'BARS', (bar,))
    assert coverage_bars.main() == fails
    printed = capsys.readouterr().out
    assert ('below its bar' in printed, bar.what in printed) == (fails, True)
    assert ('options/a.py: lines 3-4' in printed) == (fails and bar.what == 'options')


def test_each_path_of_a_bar_exists() -> None:
    """A file that is renamed does not leave its bar unseen."""
    paths = [path for bar in BARS for path in bar.paths]
    assert [path for path in paths if not list(PACKAGE.glob(path))] == []


@pytest.mark.parametrize('kind', ['rollout', 'compaction'])
def test_all_parts_of_a_state_machine_have_its_bar(kind: str) -> None:
    """A module that is split off one of its parts has it, too."""
    (bar,) = (bar for bar in BARS if bar.what == f'operations/{kind}: machine')
    within = f'operations.{kind}.'
    parts, new = set(), {f'{within}machine'}
    while new:
        parts |= new
        found = {name for part in new for name in IMPORTS[part] if name.startswith(within)}
        new = found - parts
    assert {f'{part.replace(".", "/")}.py' for part in parts} <= set(bar.paths)
    assert bar.percent == 100
