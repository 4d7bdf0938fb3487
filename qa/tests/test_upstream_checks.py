"""make upstream: every check runs, and a failing one fails the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mixin import alerts

from upstream import mixin_edits
from upstream.checks import (
    MGR,
    Check,
    run,
)
from upstream.openapi import PATHS, TAG, differences
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


# Files in the form of the tree


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
