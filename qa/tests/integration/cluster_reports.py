"""Pytest hooks for tests on clusters: clusters are stopped, and failures report their state."""

from __future__ import annotations

import signal
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import NoReturn

import pytest

import second_run
from harness import Cluster, diagnosis
from harness.cluster import live

#: Besides the terminal's, which pytest heeds itself.
TERMINATION_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
#: Once something is broken every later test fails too, without new information.
MAX_REPORTS = 5


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    # The next one must not strike what takes the clusters down
    for other in TERMINATION_SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    raise KeyboardInterrupt(signal.Signals(number).name)


def pytest_configure() -> None:
    """Let fixtures take their clusters down when the run is ended from outside."""
    for number in TERMINATION_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """No cluster outlives the run, whatever happened to its fixture."""
    for folder in live():
        Cluster.open(folder).down()
    if exitstatus == pytest.ExitCode.TESTS_FAILED:
        second_run.run_again(session)


_reported: list[Path] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the state of all clusters to a failure: they no longer exist when it is read."""
    report = yield
    if report.failed:
        second_run.note(item.nodeid, live())
        for folder in live()[: MAX_REPORTS - len(_reported)]:
            _reported.append(folder)
            report.sections.append((f'cluster in {folder}', _output_of(folder)))
    return report


def _output_of(folder: Path) -> str:
    try:
        return diagnosis.report(Cluster.open(folder))
    except Exception as error:  # noqa: BLE001 - the failure of the test is reported instead
        return f'no report available: {type(error).__name__}: {error}'
