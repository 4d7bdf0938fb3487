"""A second run decides about few failures of tests on clusters, and about no others."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import space

QA = Path(__file__).resolve().parents[1]
_CONFTEST = """
from cluster_reports import *
from tests.conftest import pytest_addoption
"""
#: Fails in as many runs as its name says, by a file that counts them.
_TEST = """
from pathlib import Path

def test_fails_{failures}_times():
    runs = Path(__file__).with_suffix('.runs')
    with runs.open('a') as file:
        file.write('x')
    assert len(runs.read_text()) > {failures}
"""


@pytest.mark.parametrize(
    ('failures', 'passes', 'unsteady'),
    [
        ((1, 0), True, True),
        ((2, 0), False, False),
        # What fails in three files is no accident
        ((1, 1, 1), False, False),
    ],
)
def test_few_failures_are_run_once_more(
    tmp_path: Path, failures: tuple[int, ...], passes: bool, unsteady: bool
) -> None:
    (tmp_path / 'conftest.py').write_text(_CONFTEST)
    for n, times in enumerate(failures):
        (tmp_path / f'test_{n}.py').write_text(_TEST.format(failures=times))
    path = os.pathsep.join(map(str, (QA, QA / 'tests/integration')))
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '-p', 'no:cacheprovider', '--rootdir=.'],
        cwd=tmp_path,
        env={**os.environ, 'PYTHONPATH': path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == passes, done.stdout + done.stderr
    assert ('Unsteady: failed, then passed' in done.stdout) == unsteady
    # Those that had passed are not run again
    runs = [len((tmp_path / f'test_{n}.runs').read_text()) for n in range(len(failures))]
    again = len(failures) < 3
    assert runs == [2 if times and again else 1 for times in failures]


def test_disk_that_is_full_for_a_moment_ends_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    free = [0]
    monkeypatch.setattr(space, 'MOMENT_S', 1.0)
    monkeypatch.setattr(space, 'free_bytes', lambda _path: free[0])
    watch = space.Watch(lambda: [Path('/')], ended.append)
    time.sleep(0.4)
    free[0] = 1 << 40
    time.sleep(1.2)
    assert ended == []
    free[0] = 0
    time.sleep(2.5)
    watch.close()
    assert [message == watch.message for message in ended] == [True]
