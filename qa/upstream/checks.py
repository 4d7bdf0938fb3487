"""Runs the checks of Ceph's source tree on the module laid over it: checks.py TREE (make upstream)

TREE is an unpacked source of Ceph without the module; it is laid over and stays so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

if __name__ == '__main__':
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from upstream.overlay import OverlayError, apply_overlay

MGR = Path('src/pybind/mgr')


class Check(NamedTuple):
    name: str
    #: Arguments of this interpreter, run in ``folder`` of the tree.
    arguments: tuple[str, ...]
    folder: Path = MGR


#: As in src/pybind/mgr/tox.ini and qa/tox.ini of 20.2.4, for this module only.
CHECKS = (
    Check('flake8', ('-m', 'flake8', '--config=tox.ini', 'rocksdb_tuner')),
    Check('mypy', ('-m', 'mypy', '--config-file=../../mypy.ini', '-m', 'rocksdb_tuner')),
    Check('import with UNITTEST', ('-c', 'import rocksdb_tuner; rocksdb_tuner.Module')),
    Check('pytest', ('-m', 'pytest', '-q', '--doctest-modules', 'rocksdb_tuner')),
    Check(
        'flake8 of qa',
        ('-m', 'flake8', '--select=F,E9', 'tasks/mgr/test_rocksdb_tuner.py'),
        Path('qa'),
    ),
)
#: Other checks of the tree, and why they are not run here.
NOT_RUN: Mapping[str, str] = {
    'dashboard tests and check-openapi': 'the REST API is not part of the overlay',
    'jsonnet lint, promtool': 'the tools are not installed; qa/tests/test_mixin.py tests the mixin',
    'admin/build-doc': 'make doc CEPH_SOURCE=TREE builds the pages with the extensions of the tree',
    'teuthology': 'qa/tasks needs a test lab',
}


def environment(tree: Path) -> Mapping[str, str]:
    paths = os.pathsep.join(str(tree / name) for name in ('src/pybind', 'src/python-common'))
    return {**os.environ, 'UNITTEST': 'true', 'PYTHONPATH': paths, 'MYPYPATH': paths}


def run(tree: Path, checks: Sequence[Check]) -> int:
    """The number of checks that fail; their output goes to standard output."""
    failed = 0
    for check in checks:
        begin_s = time.monotonic()
        done = subprocess.run(
            [sys.executable, *check.arguments],
            cwd=tree / check.folder,
            env=environment(tree),
            check=False,
        )
        failed += done.returncode != 0
        result = 'passed' if done.returncode == 0 else f'FAILED ({done.returncode})'
        print(f'{check.name}: {result} in {time.monotonic() - begin_s:.0f}s', flush=True)
    for name, reason in NOT_RUN.items():
        print(f'{name}: not run: {reason}')
    return failed


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print('usage: checks.py TREE', file=sys.stderr)
        return 2
    tree = Path(arguments[0]).resolve()
    try:
        apply_overlay(tree)
    except (OverlayError, OSError) as error:
        print(f'upstream: {error}', file=sys.stderr)
        return 1
    return 1 if run(tree, CHECKS) else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
