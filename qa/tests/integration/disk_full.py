"""Tests that failed while the machine's disk was full are run again, on their own clusters.

Daemons abort when the file system under them is full, even briefly: that does not count against the
tested code. Only if nothing else failed, and twice at most.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from harness import Cluster
from harness.errors import HarnessError
from harness.space import FullError, free_bytes

#: How often the tests that failed have been run again.
AGAIN = 'ROCKSDB_TUNER_AGAIN'
MAX_AGAIN = 2
#: Before that, until others have freed so much, which is enough for two clusters.
ENOUGH_BYTES = 8 << 30
WAIT_S = 600.0
POLL_S = 5.0
ENOSPC = 'No space left on device'

#: The tests that failed, and whether the disk was full.
_failed: dict[str, bool] = {}
_met: set[str] = set()


def met(nodeid: str) -> None:
    """The disk was full while this test ran."""
    _met.add(nodeid)


def look(nodeid: str, folders: Iterable[Path]) -> None:
    """Keep whether daemons of a test met a full disk, before its clusters go."""
    if any(ENOSPC in log for log in _logs(folders)):
        met(nodeid)


def note(nodeid: str, error: BaseException | None, folders: Iterable[Path]) -> None:
    """Record that a test failed, and whether because of the disk.

    The first failure of a test counts: failures of the cleanup follow from it, or do not excuse it.
    """
    look(nodeid, folders)
    _failed.setdefault(nodeid, isinstance(error, FullError) or nodeid in _met)


def _logs(folders: Iterable[Path]) -> Iterator[str]:
    for folder in folders:
        try:
            cluster = Cluster.open(folder)
            for name in cluster.record.daemons:
                path = cluster.host.outside(cluster.layout.log(name))
                yield path.read_text(errors='replace')
        except (HarnessError, OSError):
            continue


def wait_for_space() -> None:
    """Return when the disk has space again, or does not get it."""
    until_s = time.monotonic() + WAIT_S
    while free_bytes(Path(tempfile.gettempdir())) < ENOUGH_BYTES and time.monotonic() < until_s:
        time.sleep(POLL_S)


def run_again(session: pytest.Session) -> None:
    """Run what failed for the disk again; the run is good where all of it passes then."""
    times = int(os.environ.get(AGAIN, '0'))
    if not _failed or not all(_failed.values()) or times == MAX_AGAIN:
        return
    config = session.config
    options = [word for word in config.invocation_params.args if word not in config.args]
    print(f'\nThe disk was full: run again: {" ".join(_failed)}', flush=True)
    wait_for_space()
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', *options, '--part=1/1', *_failed],
        cwd=config.rootpath,
        env={**os.environ, AGAIN: str(times + 1)},
        check=False,
    )
    session.exitstatus = done.returncode
