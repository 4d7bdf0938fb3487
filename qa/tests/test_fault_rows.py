"""How rows of faults are chosen for a part, and kept; no cluster."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fault_clusters import part_of
from fault_scenario import NO_FAULTS, PLAIN, WIDE, Integrity, Result, Shape, save
from module_client import CHECKOUT

ROW = Result(
    'manager killed', 'canary', 'plain', 'remove-override', 'it went on', 9.0, 0.5, 0.4, 900, 800,
    300, 0, 1, 'abc1234',
)  # fmt: skip
CHECK = Integrity('plain', 105, (), 4, (), 'abc1234')


def document(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.mark.parametrize('count', [1, 2, 3, 7, 40])
def test_parts_cover_every_row_once_in_order(count: int) -> None:
    rows: list[Any] = list(range(34))
    parts = [part_of(rows, number, count) for number in range(1, count + 1)]
    assert [row for part in parts for row in part] == rows
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_parts_of_a_run_share_one_table_and_a_repeated_row_replaces_the_old_one(
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


@pytest.mark.parametrize('shape', [PLAIN, WIDE])
def test_rollout_changes_the_osds_of_the_class_with_the_client_data(shape: Shape) -> None:
    spec = shape.spec('pacific', '/module')
    assert {spec.class_of_osd(n) for n in shape.members} == {spec.pool_class}
    others = set(range(shape.osds)) - set(shape.members)
    assert {spec.class_of_osd(n) for n in others} == set(spec.classes[1:])
    assert shape.whole == (not others)
    assert spec.replicas == 3


def test_every_orchestrator_fault_is_reset_between_tests() -> None:
    source = ast.parse((CHECKOUT / 'qa/local_orch/module.py').read_text())
    (options,) = (
        ast.literal_eval(node.value)
        for node in source.body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == 'OPTIONS'
        if node.value is not None
    )
    defaults = {name: default for name, (_, default, _) in options.items()}
    assert {'late', 'refuse'} < defaults.keys()
    assert {name: json.loads(value) for name, value in NO_FAULTS.items()} == defaults
