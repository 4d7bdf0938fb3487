"""How rows of faults are kept; no cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from fault_scenario import Integrity, Result, save

ROW = Result(
    'manager killed', 'canary', 'plain', 'remove-override', 'it went on', 9.0, 0.5, 0.4, 900, 800,
    300, 0, 1, 'abc1234',
)  # fmt: skip
CHECK = Integrity('plain', 105, (), 4, (), 'abc1234')


def document(path: Path) -> Any:
    return json.loads(path.read_text())


def test_runs_share_one_table_and_a_repeated_row_replaces_the_old_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / 'faults-reef.json'
    save([ROW], [], path, 'reef 18.2.7')
    other = replace(ROW, phase='promoting')
    save([other, replace(ROW, lasted_s=12.0)], [CHECK], path, 'reef 18.2.7')
    rows = {row['phase']: row['lasted_s'] for row in document(path)['results']}
    assert rows == {'canary': 12.0, 'promoting': 9.0}
    assert document(path)['integrity'][0]['placement_groups'] == 105


def test_table_has_rows_of_one_commit(tmp_path: Path) -> None:
    path = tmp_path / 'faults-reef.json'
    save([ROW], [CHECK], path, 'reef 18.2.7')
    save([replace(ROW, phase='promoting', commit='def5678')], [], path, 'reef 18.2.7')
    assert [row['phase'] for row in document(path)['results']] == ['promoting']
    assert document(path)['integrity'] == []
