"""Files of tests on clusters in which a test failed are run a second time, on new clusters.

A real cluster on a busy machine is never the same twice. A test that fails, then passes, is named
as unsteady in the last lines of the run: it is to be mended, but says nothing of a change that is
tested. What fails twice has failed, and so have more than `MAX_FILES` files.

Daemons abort when the file system under them is full, even briefly: where nothing else failed, the
run waits for space before, and once more after.
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
MAX_AGAIN = 1
MAX_AGAIN_DISK_FULL = 2
#: More are a fault of what is tested.
MAX_FILES = 2
#: Before that, until others have freed so much, which is enough for two clusters.
ENOUGH_BYTES = 8 << 30
WAIT_S = 600.0
POLL_S = 5.0
ENOSPC = 'No space left on device'

#: The tests that failed, and whether the disk was full.
_failed: dict[str, bool] = {}
_met: set[str] = set()


def met_full_disk(nodeid: str) -> None:
    """The disk was full while this test ran."""
    _met.add(nodeid)


def look(nodeid: str, folders: Iterable[Path]) -> None:
    """Keep whether daemons of a test met a full disk, before its clusters go."""
    if any(ENOSPC in log for log in _logs(folders)):
        met_full_disk(nodeid)


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
    """Run the files of the failed tests again; the run is good where all of them pass then."""
    times = int(os.environ.get(AGAIN, '0'))
    disk_full = bool(_failed) and all(_failed.values())
    # Tests of a file share a cluster, and some rely on the ones before them
    files = list(dict.fromkeys(nodeid.partition('::')[0] for nodeid in _failed))
    limit = MAX_AGAIN_DISK_FULL if disk_full else MAX_AGAIN
    if not files or times >= limit or (len(files) > MAX_FILES and not disk_full):
        return
    config = session.config
    options = [word for word in config.invocation_params.args if word not in config.args]
    why = 'the disk was full' if disk_full else 'a second run decides'
    print(f'\nRun again ({why}): {" ".join(_failed)}', flush=True)
    wait_for_space()
    # Those that this run had: of a part no others
    tests = [item.nodeid for item in session.items if item.nodeid.partition('::')[0] in files]
    again = subprocess.Popen(
        [sys.executable, '-m', 'pytest', *options, '--part=1/1', *tests],
        cwd=config.rootpath,
        env={**os.environ, AGAIN: str(times + 1)},
    )
    try:
        session.exitstatus = again.wait()
    except KeyboardInterrupt as interrupt:
        # Ctrl-C reaches both; of SIGTERM and SIGHUP, which have a text, the other knows nothing
        if interrupt.args:
            again.terminate()
        again.wait()
        raise
    if session.exitstatus == 0:
        print(f'\nUnsteady: failed, then passed ({why}): {" ".join(_failed)}', flush=True)
