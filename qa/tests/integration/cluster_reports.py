"""Hooks of pytest for tests on real clusters: they end in order, and failures say what was up."""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

import pytest

from harness import Cluster, diagnosis
from harness.errors import HarnessError
from harness.layout import load_record

#: Where one thing is broken every test after it fails too, and says nothing new.
MAX_REPORTS = 5


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt('SIGTERM')


def pytest_configure() -> None:
    """Let fixtures take their clusters down when the run is ended from outside."""
    signal.signal(signal.SIGTERM, _interrupt)


_reported: list[Path] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Function,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure what the clusters say that the test has: they are gone when one reads it."""
    report = yield
    if report.failed and len(_reported) < MAX_REPORTS:
        for folder in dict.fromkeys(_folders(item.funcargs.values())):
            _reported.append(folder)
            report.sections.append((f'cluster in {folder}', _said_by(folder)))
    return report


def _said_by(folder: Path) -> str:
    try:
        return diagnosis.report(Cluster.open(folder))
    except Exception as error:  # noqa: BLE001 - the failure that is told is another one
        return f'nothing can be told of it: {type(error).__name__}: {error}'


def _folders(values: Iterable[object]) -> Iterator[Path]:
    """The folders of the clusters among a test's fixtures, and in what these hold."""
    for value in values:
        if isinstance(value, Cluster):
            yield from _folders([value.dir])
        elif isinstance(value, tuple):
            yield from _folders(value)
        elif isinstance(value, Path):
            if _holds_a_cluster(value):
                yield value
        elif isinstance(getattr(value, 'cluster', None), Cluster):
            yield from _folders([value.cluster])  # type: ignore[attr-defined]


def _holds_a_cluster(folder: Path) -> bool:
    try:
        return load_record(folder) is not None
    except HarnessError:
        return False
