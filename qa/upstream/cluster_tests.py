"""Runs tests of a Ceph tree's qa/tasks on a cluster of the harness, as its vstart_runner does.

    qa/cluster up --release tentacle --mgrs 2 --dir DIR
    python3 qa/upstream/cluster_tests.py TREE DIR tasks.mgr.test_rocksdb_tuner

TREE is a source tree of Ceph that the module is laid over (contrib/overlay). The base classes of
the tests are those of the tree; teuthology has stand-ins. Tests stop managers and disable modules:
the cluster is of no use for anything else afterwards.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import unittest
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

if __name__ == '__main__':
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.cluster import Cluster
from harness.errors import HarnessError
from upstream import lab_stand_ins


def cases(suite: Iterable[Any]) -> Iterator[unittest.TestCase]:
    for found in suite:
        if isinstance(found, unittest.TestSuite):
            yield from cases(found)
        else:
            yield found


def load(qa: Path, names: Sequence[str], lab: Cluster) -> unittest.TestSuite:
    """The tests, given their cluster as Ceph's runners give it: by attributes of their classes."""
    # `tasks` is a package of the tree's; this project's own has no __init__.py.
    sys.path.insert(0, str(qa))
    lab_stand_ins.install()
    clusters = importlib.import_module('tasks.cephfs.filesystem')
    managers = importlib.import_module('tasks.mgr.mgr_test_case')
    suite = unittest.defaultTestLoader.loadTestsFromNames(names)
    context = lab_stand_ins.context(lab)
    ceph = clusters.CephClusterBase(context)
    mgr = managers.MgrClusterBase(context)
    for case in {type(case) for case in cases(suite)}:
        given: Any = case
        given.ctx, given.ceph_cluster, given.mgr_cluster = context, ceph, mgr
    return suite


def main(arguments: Sequence[str]) -> int:
    if len(arguments) < 3:
        print('usage: cluster_tests.py TREE CLUSTER-DIR TEST...', file=sys.stderr)
        return 2
    tree, folder, *names = arguments
    qa = Path(tree).resolve() / 'qa'
    if not (qa / 'tasks/mgr/mgr_test_case.py').is_file():
        print(f'cluster_tests: {tree} is not a source tree of Ceph', file=sys.stderr)
        return 1
    try:
        cluster = Cluster.open(Path(folder))
        cluster.require_running()
        suite = load(qa, names, cluster)
    except HarnessError as error:
        print(f'cluster_tests: {error}', file=sys.stderr)
        return error.exit_status
    level = os.environ.get('CLUSTER_TESTS_LOG', 'WARNING')
    logging.basicConfig(level=level, format='%(relativeCreated)d %(name)s: %(message)s')
    done = unittest.TextTestRunner(verbosity=2).run(suite)
    if done.testsRun == 0:
        print('cluster_tests: no test ran', file=sys.stderr)
    return 0 if done.wasSuccessful() and done.testsRun > len(done.skipped) else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
