"""Disk space: refused before, and watched meanwhile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import pytest

import disk_full
from disk_full import AGAIN
from harness import Cluster, ClusterSpec, HarnessError, Progress, space
from harness.errors import CancelledError
from harness.layout import QA
from harness.space import FLOOR_BYTES, FullError, Watch, free_bytes, needed_bytes, watched

GIB = 1 << 30


class Usage(NamedTuple):
    free: int


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The free bytes that every file system has; a test changes the only entry."""
    values = [100 * GIB]
    monkeypatch.setattr(shutil, 'disk_usage', lambda _path: Usage(values[0]))
    return values


def test_more_osds_need_more_space() -> None:
    """And some is left when all of them have come up."""
    one, many = needed_bytes(ClusterSpec(osds=1)), needed_bytes(ClusterSpec(osds=24))
    assert FLOOR_BYTES < one < 2.5 * GIB
    assert 8 * GIB < many < 24 * GIB


def test_free_space_of_a_folder_that_does_not_exist_yet(tmp_path: Path) -> None:
    """It is where it would be made."""
    there, not_yet = free_bytes(tmp_path), free_bytes(tmp_path / 'a/b/c')
    assert abs(there - not_yet) < GIB
    assert not (tmp_path / 'a').exists()


@pytest.mark.parametrize('was_there', [False, True])
def test_up_refuses_a_disk_without_enough_space(
    tmp_path: Path, free: list[int], monkeypatch: pytest.MonkeyPatch, was_there: bool
) -> None:
    """With the needed and the free space, before anything is made."""
    monkeypatch.setattr('os.geteuid', lambda: 0)
    monkeypatch.setenv('ROCKSDB_TUNER_CACHE', str(tmp_path / 'cache'))
    free[0] = 2 * GIB
    folder = tmp_path / 'c'
    if was_there:
        folder.mkdir()
    with pytest.raises(HarnessError, match=r'3 OSDs needs 2\.8 GiB .* has 2\.0 GiB'):
        Cluster.up(ClusterSpec(osds=3), folder, Progress(quiet=True))
    assert folder.exists() == was_there
    assert not was_there or list(folder.iterdir()) == []


def test_disk_filling_up_ends_the_work_with_a_clear_error(tmp_path: Path, free: list[int]) -> None:
    """The client that would wait forever is stopped, and the error has the reason."""
    canceled, resumed = threading.Event(), threading.Event()

    def work() -> None:
        free[0] = FLOOR_BYTES - 1
        assert canceled.wait(10)
        raise CancelledError('fio: ended, the work was given up')

    with (
        pytest.raises(FullError, match=r'nearly full: .*1\.0 GiB left, and OSDs abort'),
        watched(tmp_path, canceled.set, resumed.set),
    ):
        work()
    # Others go on with this cluster, on a disk that has space again
    assert resumed.is_set()


def test_no_work_starts_on_a_full_disk(tmp_path: Path, free: list[int]) -> None:
    free[0] = 0
    with pytest.raises(FullError), watched(tmp_path, pytest.fail, pytest.fail):
        pytest.fail('begun')


def test_error_with_free_disk_space_is_the_error_of_the_work(
    tmp_path: Path, free: list[int]
) -> None:
    assert free
    with pytest.raises(HarnessError, match='its own') as caught:  # noqa: SIM117
        with watched(tmp_path, pytest.fail, pytest.fail):
            raise HarnessError('its own')
    assert not isinstance(caught.value, FullError)


def test_watch_checks_every_folder_and_reports_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = tmp_path / 'full'
    full.mkdir()
    monkeypatch.setattr(shutil, 'disk_usage', lambda path: Usage(0 if path == full else 100 * GIB))
    message: list[str] = []
    watch = Watch(lambda: [tmp_path, full], message.append)
    deadline_s = time.monotonic() + 10
    while not message and time.monotonic() < deadline_s:
        time.sleep(0.02)
    time.sleep(3 * space.POLL_S)
    watch.close()
    assert len(message) == 1
    assert str(full) in message[0]


TESTS = """
import time

def test_hangs():
    time.sleep(120)

def test_is_next():
    time.sleep(120)
"""
CONFTEST = """
from cluster_reports import pytest_configure, pytest_runtest_call, pytest_runtest_setup
from harness import space

space.FLOOR_BYTES = 1 << 62
"""


def pytest_in(folder: Path, tests: str, conftest: str) -> subprocess.CompletedProcess[str]:
    """A run of pytest over these tests, with hooks of those on clusters."""
    (folder / 'test_it.py').write_text(tests)
    (folder / 'conftest.py').write_text(conftest)
    paths = [QA, QA / 'tests/integration']
    return subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', str(folder)],
        env={
            **{name: value for name, value in os.environ.items() if name != AGAIN},
            'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1',
            'PYTHONPATH': os.pathsep.join(map(str, paths)),
        },
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_test_running_while_the_disk_fills_up_fails_with_that_reason(tmp_path: Path) -> None:
    """It does not wait for its clients, and so does the next one, in order."""
    done = pytest_in(tmp_path, TESTS, CONFTEST)
    assert '2 failed' in done.stdout or '2 errors' in done.stdout, done.stdout + done.stderr
    assert 'FullError: the disk is nearly full' in done.stdout
    assert 'INTERNALERROR' not in done.stdout + done.stderr


RUNS_AGAIN = """
import os
from pathlib import Path

import pytest

import disk_full
from cluster_reports import (
    pytest_configure, pytest_runtest_makereport, pytest_runtest_teardown, pytest_sessionfinish
)
from harness.space import FullError
from tests.conftest import pytest_addoption

LOG = Path('osd.0.log')
disk_full._logs = lambda folders: [LOG.read_text()] if LOG.exists() else []

def times():
    return int(os.environ.get(disk_full.AGAIN, '0'))

@pytest.fixture
def aborting():
    LOG.write_text(disk_full.ENOSPC if times() == 0 else '')
    yield
    LOG.unlink()
    assert times() > 0, 'clients failed'
"""
PASSES = """
from conftest import FullError, times

def test_is_unlucky():
    if times() < TIMES:
        raise FullError('the disk is nearly full')

def test_is_lucky():
    pass
"""
ABORTS = """
from conftest import times

def test_met_it_unseen(aborting):
    pass

def test_failed_for_it(aborting):
    assert times() > 0
"""


@pytest.mark.parametrize('times', [1, 2])
def test_only_failures_since_the_disk_was_full_are_rerun(tmp_path: Path, times: int) -> None:
    done = pytest_in(tmp_path, PASSES.replace('TIMES', str(times)), RUNS_AGAIN)
    assert done.returncode == 0, done.stdout + done.stderr
    _, *again = done.stdout.split('The disk was full: run again: ')
    assert len(again) == times
    assert {text.splitlines()[0] for text in again} == {'test_it.py::test_is_unlucky'}
    assert done.stdout.count('1 failed') == times


def test_client_failures_after_a_full_disk_are_blamed_on_the_disk(
    tmp_path: Path,
) -> None:
    """Although the cluster and its logs no longer exist by then."""
    done = pytest_in(tmp_path, ABORTS, RUNS_AGAIN)
    assert done.returncode == 0, done.stdout + done.stderr
    _, again = done.stdout.split('The disk was full: run again: ')
    assert again.split()[:2] == ['test_it.py::test_met_it_unseen', 'test_it.py::test_failed_for_it']


def test_rerun_waits_for_space(free: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """That others free meanwhile, but not for ever."""
    naps: list[float] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        free[0] += GIB

    monkeypatch.setattr(time, 'sleep', sleep)
    disk_full.wait_for_space()
    assert naps == []
    free[0] = 5 * GIB
    disk_full.wait_for_space()
    assert len(naps) == 3
    free[0] = 0
    monkeypatch.setattr(disk_full, 'WAIT_S', 0.0)
    disk_full.wait_for_space()
    assert len(naps) == 3


SWALLOWS = """
import time

from conftest import HarnessError, times

def test_takes_it_for_its_own():
    try:
        time.sleep(0 if times() else 60)
    except HarnessError:
        assert False, 'nothing found'
"""
FILLS_ONCE = """
from cluster_reports import pytest_runtest_call
from harness import space
from harness.errors import HarnessError

if times() == 0:
    space.FLOOR_BYTES = 1 << 62
disk_full.wait_for_space = lambda: None
"""


def test_failure_for_another_reason_is_blamed_on_a_disk_full_meanwhile(tmp_path: Path) -> None:
    """A wait may take the error of the disk for one of what it waits for."""
    done = pytest_in(tmp_path, SWALLOWS, RUNS_AGAIN + FILLS_ONCE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count('run again') == 1


@pytest.mark.parametrize(
    ('tests', 'runs'),
    [
        ('def test_is_wrong():\n    assert False', 1),
        (PASSES.replace('TIMES', '1') + 'def test_is_wrong():\n    assert False', 1),
        (PASSES.replace('TIMES', '9'), 3),
    ],
    ids=['for-another-reason', 'for-another-reason-too', 'for-the-disk-again'],
)
def test_run_with_a_failed_test_is_red(tmp_path: Path, tests: str, runs: int) -> None:
    """For another reason, or for the disk each time."""
    done = pytest_in(tmp_path, tests, RUNS_AGAIN)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.count('run again') == runs - 1
