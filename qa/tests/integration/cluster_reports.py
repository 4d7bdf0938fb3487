"""Pytest hooks for tests on clusters: clusters are stopped, and failures report their state."""

from __future__ import annotations

import contextlib
import signal
import tempfile
import threading
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

import pytest

import second_run
from harness import Cluster, diagnosis, space
from harness.cluster import live
from harness.errors import HarnessError
from harness.layout import load_record

#: Besides the terminal's, which pytest heeds itself.
TERMINATION_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
#: Once something is broken every later test fails too, without new information.
MAX_REPORTS = 5


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    # The next one must not strike what takes the clusters down
    for other in TERMINATION_SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    raise KeyboardInterrupt(signal.Signals(number).name)


def _disk_full(_number: int, _frame: FrameType | None) -> None:
    if _armed:
        raise space.FullError(_armed.pop())


def pytest_configure() -> None:
    """Let fixtures take their clusters down when the run is ended from outside."""
    for number in TERMINATION_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    signal.signal(DISK_FULL, _disk_full)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """No cluster outlives the run, whatever happened to its fixture."""
    for folder in live():
        Cluster.open(folder).down()
    if exitstatus == pytest.ExitCode.TESTS_FAILED:
        second_run.run_again(session)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """A cluster that comes up on a disk that fills is a failure, and no wait without end."""
    with _disk_watched(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """The same of a test: its clients would wait for OSDs that have aborted."""
    with _disk_watched(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Function) -> Generator[None, object, object]:
    """Check whether the disk was full while the logs still exist."""
    second_run.look(item.nodeid, _clusters_of(item))
    return (yield)


#: The disk message for the running test; its signal handler uses it.
_armed: list[str] = []
#: From the watching thread to the testing one.
DISK_FULL = signal.SIGUSR1


@contextlib.contextmanager
def _disk_watched(nodeid: str) -> Iterator[None]:
    main = threading.get_ident()

    def full(message: str) -> None:
        # What the test was waiting with may take the error for one of its own
        second_run.met_full_disk(nodeid)
        _armed.append(message)
        signal.pthread_kill(main, DISK_FULL)

    watch = space.Watch(lambda: (Path(tempfile.gettempdir()), *live()), full)
    try:
        yield
    finally:
        watch.close()
        _armed.clear()


_reported: list[Path] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Function, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the state of the test's clusters to a failure: they no longer exist when it is read."""
    report = yield
    if not report.failed:
        return report
    folders = _clusters_of(item)
    second_run.note(item.nodeid, call.excinfo and call.excinfo.value, folders)
    if len(_reported) < MAX_REPORTS:
        for folder in folders:
            _reported.append(folder)
            report.sections.append((f'cluster in {folder}', _output_of(folder)))
    return report


def _output_of(folder: Path) -> str:
    try:
        return diagnosis.report(Cluster.open(folder))
    except Exception as error:  # noqa: BLE001 - the failure of the test is reported instead
        return f'no report available: {type(error).__name__}: {error}'


def _clusters_of(item: pytest.Function) -> list[Path]:
    return list(dict.fromkeys(_folders(item.funcargs.values())))


def _folders(values: Iterable[object]) -> Iterator[Path]:
    """The folders of the clusters among a test's fixtures, and in what these hold."""
    for value in values:
        if isinstance(value, Cluster):
            yield from _folders([value.dir])
        elif isinstance(value, tuple):
            yield from _folders(value)
        elif isinstance(value, Path):
            if _has_a_cluster(value):
                yield value
        elif isinstance(getattr(value, 'cluster', None), Cluster):
            yield from _folders([value.cluster])  # type: ignore[attr-defined]


def _has_a_cluster(folder: Path) -> bool:
    try:
        return load_record(folder) is not None
    except HarnessError:
        return False
