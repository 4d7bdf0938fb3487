"""Files of tests on clusters in which a test failed are run a second time, on new clusters.

A real cluster on a busy machine is never the same twice. A test that fails, then passes, is named
as unsteady in the last lines of the run: it is to be mended, but says nothing of a change that is
tested. What fails twice has failed, and so have more than `MAX_FILES` files, unless OSDs of all of
them met a full disk: they abort then, even if it is full for a moment only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from harness import Cluster
from harness.errors import HarnessError

#: Set in a second run.
AGAIN = 'ROCKSDB_TUNER_AGAIN'
#: More are a fault of what is tested.
MAX_FILES = 2
ENOSPC = 'No space left on device'

#: The tests that failed, and whether the disk was full.
_failed: dict[str, bool] = {}


def note(nodeid: str, folders: Iterable[Path]) -> None:
    """Record that a test failed; the logs of its clusters tell whether the disk was full."""
    _failed.setdefault(nodeid, any(ENOSPC in log for log in _logs(folders)))


def _logs(folders: Iterable[Path]) -> Iterator[str]:
    for folder in folders:
        try:
            cluster = Cluster.open(folder)
            for name in cluster.record.daemons:
                path = cluster.host.outside(cluster.layout.log(name))
                yield path.read_text(errors='replace')
        except (HarnessError, OSError):
            continue


def run_again(session: pytest.Session) -> None:
    """Run the files of the failed tests again; the run is good where all of them pass then."""
    # Tests of a file share a cluster, and some rely on the ones before them
    files = {nodeid.partition('::')[0] for nodeid in _failed}
    few = len(files) <= MAX_FILES or all(_failed.values())
    if not files or not few or AGAIN in os.environ:
        return
    config = session.config
    options = [word for word in config.invocation_params.args if word not in config.args]
    print(f'\nRun again (a second run decides): {" ".join(_failed)}', flush=True)
    # Those that this run had
    tests = [item.nodeid for item in session.items if item.nodeid.partition('::')[0] in files]
    again = subprocess.Popen(
        [sys.executable, '-m', 'pytest', *options, *tests],
        cwd=config.rootpath,
        env={**os.environ, AGAIN: '1'},
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
        print(f'\nUnsteady: failed, then passed: {" ".join(_failed)}', flush=True)
