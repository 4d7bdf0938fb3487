"""The ratchet: statements of a package may only become fewer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import size

SOURCE = '''"""A docstring is no statement."""
import os

class A:
    """Nor is this one."""
    x = 1

def f(y):
    try:
        return [lambda: y for _ in y]
    except (
        OSError,
    ):
        pass
    finally:
        y = 'text'
        'an expression'
    match y:
        case 1:
            return 2
'''


def test_statements_are_counted_without_imports_and_docstrings() -> None:
    """Class, x, def, try, return, pass, y, expression, match, return."""
    assert size.statements(SOURCE) == 10
    assert size.statements(SOURCE.replace('= 1', '= (\n1  # one\n)')) == 10


@pytest.mark.parametrize(
    ('now', 'status', 'told'),
    [
        ({'a': 5, 'b': 3}, 0, ''),
        ({'a': 6, 'b': 3}, 1, 'FAILED a: 6 statements, 1 more than in qa/size.json'),
        ({'a': 5, 'b': 3, 'c': 1}, 1, 'FAILED c: 1 statements, 1 more'),
        ({'a': 4, 'b': 3}, 0, '"make size" lowers the record'),
    ],
)
def test_more_statements_than_recorded_fail(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    now: dict[str, int],
    status: int,
    told: str,
) -> None:
    monkeypatch.setattr(size, 'RECORD', tmp_path / 'size.json')
    monkeypatch.setattr(size, 'measured', lambda: now)
    monkeypatch.setattr(sys, 'argv', ['size.py'])
    size.RECORD.write_text('{"a": 5, "b": 3}')
    assert size.main() == status
    assert told in capsys.readouterr().out
