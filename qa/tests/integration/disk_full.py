"""Tests that failed since the machine's disk was full run once more, on clusters of their own.

OSDs abort when the file system under them is full, even for a moment and whoever filled it: that
says nothing of what is tested. Only where nothing else failed, and never twice.
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
from harness.space import FullError

#: Set for the second run, which is the last.
AGAIN = 'ROCKSDB_TUNER_AGAIN'
ENOSPC = '(28) No space left on device'

#: The tests that failed, and whether the disk was full.
_failed: dict[str, bool] = {}


def note(nodeid: str, error: BaseException | None, folders: Iterable[Path]) -> None:
    """Keep that a test failed, and whether for the disk; a second failure of it does not excuse."""
    full = isinstance(error, FullError) or any(ENOSPC in log for log in _osd_logs(folders))
    _failed[nodeid] = full and _failed.get(nodeid, True)


def _osd_logs(folders: Iterable[Path]) -> Iterator[str]:
    for folder in folders:
        try:
            cluster = Cluster.open(folder)
            names = [name for name in cluster.record.daemons if name.startswith('osd.')]
            for name in names:
                path = cluster.host.outside(cluster.layout.log(name))
                yield path.read_text(errors='replace')
        except (HarnessError, OSError):
            continue


def run_again(session: pytest.Session) -> None:
    """Run what failed for the disk once more; the run is good where all of it passes then."""
    if not _failed or not all(_failed.values()) or AGAIN in os.environ:
        return
    config = session.config
    options = [word for word in config.invocation_params.args if word not in config.args]
    print(f'\nThe disk was full: run once more: {" ".join(_failed)}', flush=True)
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', *options, '--part=1/1', *_failed],
        cwd=config.rootpath,
        env={**os.environ, AGAIN: '1'},
        check=False,
    )
    session.exitstatus = done.returncode
