"""make upstream: every check runs, and a failing one fails the whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from upstream.checks import CHECKS, MGR, NOT_RUN, Check, main, run


def test_all_checks_run_and_failures_are_counted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / MGR).mkdir(parents=True)
    checks = [
        Check('first', ('-c', 'raise SystemExit(3)')),
        Check('second', ('-c', 'import os; print(os.environ["UNITTEST"], os.getcwd())')),
    ]
    assert run(tmp_path, checks) == 1
    out = capfd.readouterr().out
    assert 'first: FAILED (3)' in out
    assert f'true {tmp_path / MGR}' in out
    assert 'second: passed' in out
    assert all(f'{name}: not run: {reason}' in out for name, reason in NOT_RUN.items())


def test_directory_that_is_no_ceph_tree_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 1
    message = capsys.readouterr()
    assert 'is not a source tree of Ceph' in message.err
    assert not any(check.name in message.out for check in CHECKS)
