"""make upstream: every check runs, and a failing one fails the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mixin import alerts

from upstream import mixin_edits
from upstream.checks import (
    DASHBOARD,
    GROUPS,
    MGR,
    MODULE_CHECKS,
    NOT_RUN,
    TREE_CHECKS,
    Check,
    environment,
    main,
    run,
)
from upstream.openapi import PATHS, TAG, differences
from upstream.overlay import as_isort, as_jsonnet
from upstream.tree_doc import problems


def test_all_checks_run_and_failures_are_counted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / MGR).mkdir(parents=True)
    checks = [
        Check('first', ('-c', 'raise SystemExit(3)')),
        Check('second', ('-c', 'import os; print(os.environ["UNITTEST"], os.getcwd())')),
        Check('third', ('-c', 'raise SystemExit(1)'), program='no-such-program'),
    ]
    assert run(tmp_path, checks) == 1
    out = capfd.readouterr().out
    assert 'first: FAILED (3)' in out
    assert f'true {tmp_path / MGR}' in out
    assert 'second: passed' in out
    assert 'third: not run: no-such-program is not installed' in out


def test_mypy_sees_the_module_as_source_and_not_as_an_installed_package(tmp_path: Path) -> None:
    """It is silent about what lies below a folder of PYTHONPATH."""
    (mypy,) = (check for check in MODULE_CHECKS if check.name == 'mypy')
    assert 'PYTHONPATH' not in environment(tmp_path, mypy)
    assert str(tmp_path / 'src/pybind') in environment(tmp_path, mypy)['MYPYPATH'].split(':')
    for check in TREE_CHECKS:
        paths = environment(tmp_path, check)['PYTHONPATH'].split(':')
        assert (str(tmp_path / MGR) in paths) == (check.folder == DASHBOARD)


def test_directory_that_is_no_ceph_tree_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['module', str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert 'is not a source tree of Ceph' in said.err
    assert not any(check.name in said.out for check in MODULE_CHECKS)


def test_a_tree_without_the_module_is_not_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['tree', str(tmp_path)]) == 1
    assert 'does not have the module: run "module" first' in capsys.readouterr().err


def test_a_group_that_there_is_none_of_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['all', '.']) == 2
    assert f'usage: checks.py {"|".join(GROUPS)} TREE' in capsys.readouterr().err


def test_what_is_not_run_is_no_check_and_has_a_reason() -> None:
    names = [check.name for checks in GROUPS.values() for check in checks]
    assert len(names) == len(set(names))
    assert not set(names) & NOT_RUN.keys()
    assert all(NOT_RUN.values())


# Alerts


def test_the_patch_of_the_mixin_adds_the_alerts_of_today() -> None:
    """Written anew by qa/upstream/mixin_edits.py after an edit of the source."""
    added = [
        line[1:]
        for line in mixin_edits.PATCH.read_text(encoding='utf-8').splitlines(keepends=True)
        if line.startswith('+') and not line.startswith('+++')
    ]
    text = ''.join(added)
    assert mixin_edits.group() + mixin_edits.tests() in text


def test_alerts_in_ceph_are_those_of_here_with_links_to_the_manual() -> None:
    """But for the indentation, which is that of Ceph's file."""
    manual = 'https://docs.ceph.com/en/latest/mgr/rocksdb_tuner'
    here = alerts(documentation=manual)
    words = mixin_edits.group().split()
    assert words == here.split()[1:]
    assert mixin_edits.group().count(manual) == mixin_edits.group().count('alert: ')


def test_tests_of_alerts_that_repeat_health_checks_are_left_out() -> None:
    group, tests = mixin_edits.group(), mixin_edits.tests()
    assert 'CephRocksDBTunerFindingError' not in tests
    tested = {line.split()[-1] for line in tests.splitlines() if 'alertname: ' in line}
    assert tested == {
        line.split('"')[1] for line in group.splitlines() if line.strip().startswith('- alert: ')
    }


def test_a_mixin_that_ends_in_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match='does not end in'):
        mixin_edits.edited(dict.fromkeys((mixin_edits.TOP, mixin_edits.ALERTS), ''))


# Files in the form of the tree


def test_json_is_laid_out_as_jsonnet_does() -> None:
    made = as_jsonnet('{"b": [], "a": {}, "c": ["[]", {"d": 1}]}')
    assert made == (
        '{\n   "a": { },\n   "b": [ ],\n   "c": [\n      "[]",\n      {\n         "d": 1\n      }\n'
        '   ]\n}\n'
    )


def test_wrapped_imports_are_those_of_the_dashboards_isort() -> None:
    names = ('APIDoc', 'APIRouter', 'BaseController', 'Endpoint', 'EndpointDoc', 'ReadPermission')
    text = 'import os\n\nfrom . import (\n' + ''.join(f'    {name},\n' for name in names) + ')\n'
    assert as_isort(text) == (
        'import os\n\nfrom . import APIDoc, APIRouter, BaseController, Endpoint, EndpointDoc, \\\n'
        '    ReadPermission\n'
    )
    assert as_isort('from . import APIDoc\n') == 'from . import APIDoc\n'


# The API


def document(**paths: int) -> dict[str, Any]:
    return {'info': 1, 'paths': dict(paths), 'tags': [{'name': 'Osd'}]}


def test_paths_of_the_module_are_no_difference_and_any_other_is() -> None:
    before = document(osd=1)
    after = document(osd=1)
    after['paths'][f'{PATHS}/status'] = 2
    after['tags'].append({'name': TAG})
    assert differences(before, after) == []
    assert differences(after, after) == []
    assert differences(before, {**after, 'info': 2}) == ['info']
    assert differences(before, {**after, 'paths': {'osd': 3}}) == ['osd']
    assert differences(before, document(osd=1, pool=1)) == ['pool']
    assert differences(before, {**after, 'tags': []}) == ['tags']


# The pages


@pytest.mark.parametrize(
    ('line', 'counts'),
    [
        ("/t/doc/mgr/rocksdb_tuner/index.rst:3: WARNING: undefined label: 'mgr-rocksdb'", True),
        ('/t/doc/dev/rocksdb_tuner/operations.rst:3: WARNING: Title underline too short.', True),
        ("/t/doc/mgr/rocksdb_tuner/index.rst:3: WARNING: undefined label: 'orchestrator'", False),
        ('/t/doc/mgr/index.rst:3: WARNING: toctree contains reference to excluded document', False),
        ("/t/doc/mgr/index.rst: WARNING: document 'mgr/rocksdb_tuner/index' is not there", True),
        ('/t/doc/start/index.rst:3: WARNING: Title underline too short.', False),
        ('reading sources... mgr/rocksdb_tuner/index', False),
    ],
)
def test_warnings_about_pages_that_are_built_count(line: str, counts: bool) -> None:
    assert problems(line) == ([line] if counts else [])
