"""Runs the checks of Ceph's source tree on the module laid over it: checks.py GROUP TREE

GROUP is "module", which lays over TREE, an unpacked source of Ceph without the module, or "tree",
the rest, on the tree as the first has left it. Each has the requirements that Ceph has for it
(make upstream).
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

if __name__ == '__main__':
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from upstream.overlay import CHECKOUT, COPIED, MODULE, OverlayError, apply_overlay
from upstream.timed import passes

MGR = Path('src/pybind/mgr')
DASHBOARD = MGR / 'dashboard'
MIXIN = Path('monitoring/ceph-mixin')
QA = Path('qa')
_UPSTREAM = CHECKOUT / 'qa/upstream'
_QA_TESTS = ('tasks/mgr/test_rocksdb_tuner.py', 'tasks/mgr/dashboard/test_rocksdb_tuner.py')
_DASHBOARD_FILES = (
    *(str(Path(name).relative_to(DASHBOARD)) for name in COPIED if DASHBOARD in Path(name).parents),
    '../../../../qa/tasks/mgr/dashboard/test_rocksdb_tuner.py',
)


class Check(NamedTuple):
    name: str
    #: Arguments of this interpreter, run in ``folder`` of the tree.
    arguments: tuple[str, ...]
    folder: Path = MGR
    #: A program that it needs; where there is none, it is not run.
    program: str = ''


#: As in src/pybind/mgr/tox.ini and qa/tox.ini of 20.2.4, for this module only.
MODULE_CHECKS = (
    Check('flake8', ('-m', 'flake8', '--config=tox.ini', 'rocksdb_tuner')),
    Check('mypy', ('-m', 'mypy', '--config-file=../../mypy.ini', '-m', 'rocksdb_tuner')),
    Check('import with UNITTEST', ('-c', 'import rocksdb_tuner; rocksdb_tuner.Module')),
    Check('pytest', ('-m', 'pytest', '-q', '--doctest-modules', 'rocksdb_tuner')),
    Check('flake8 of qa', ('-m', 'flake8', '--select=F,E9', *_QA_TESTS), QA),
)
#: As in the tox.ini of src/pybind/mgr/dashboard, monitoring/ceph-mixin and qa.
TREE_CHECKS = (
    Check('openapi', (str(_UPSTREAM / 'openapi.py'), '../../../..'), DASHBOARD),
    Check(
        'dashboard tests',
        (
            *('-m', 'pytest', '-q', '-o', 'addopts=', 'tests/test_rocksdb_tuner.py'),
            *('tests/test_docs.py', 'tests/test_controllers.py', 'tests/test_feature_toggles.py'),
        ),
        DASHBOARD,
    ),
    Check(
        'flake8 of the dashboard',
        ('-m', 'flake8', '--format=default', *_DASHBOARD_FILES),
        DASHBOARD,
    ),
    Check('isort of the dashboard', ('-m', 'isort', '--check', *_DASHBOARD_FILES), DASHBOARD),
    Check('jsonnet', (str(_UPSTREAM / 'mixin_check.py'), 'results'), MIXIN),
    Check('alert rules', (str(_UPSTREAM / 'mixin_check.py'), 'rules'), MIXIN),
    Check('jsonnetfmt', (str(_UPSTREAM / 'mixin_check.py'), 'format'), MIXIN, 'jsonnetfmt'),
    Check(
        'promtool',
        ('-m', 'pytest', '-q', 'tests_alerts/test_syntax.py', 'tests_alerts/test_unittests.py'),
        MIXIN,
        'promtool',
    ),
    Check(
        'yamllint of qa',
        ('-m', 'yamllint', '-d', 'relaxed', 'suites/rados/mgr/tasks/4-units/rocksdb_tuner.yaml'),
        QA,
    ),
    Check('build-doc', (str(_UPSTREAM / 'tree_doc.py'), '..'), Path('doc')),
    Check('patch of the frontend', (str(_UPSTREAM / 'frontend_patch.py'),), Path()),
)
GROUPS: Mapping[str, tuple[Check, ...]] = {'module': MODULE_CHECKS, 'tree': TREE_CHECKS}
#: Other checks of the tree, and why they are not run here.
NOT_RUN: Mapping[str, str] = {
    'pylint of the dashboard': 'pylint 2.6.0, which it pins, does not start on Python 3.11',
    'grafana panels of the dashboard': "needs the dashboard's frontend, which shows none of these",
    'dashboards of the mixin but ours': 'grafonnet is not in a package registry; ours do without',
    'links of alerts': 'the pages are not published',
    'teuthology': 'qa/tasks needs a test lab; qa/upstream/cluster_tests.py runs them on a cluster',
}


def environment(tree: Path, check: Check) -> Mapping[str, str]:
    """As in the tox.ini of the folder. mypy reports nothing of what PYTHONPATH leads to."""
    names = ('src/pybind', 'src/python-common', *([str(MGR)] if check.folder == DASHBOARD else []))
    paths = os.pathsep.join(str(tree / name) for name in names)
    own = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}
    variable = 'MYPYPATH' if 'mypy' in check.arguments else 'PYTHONPATH'
    return {**own, 'UNITTEST': 'true', variable: paths}


def run(tree: Path, checks: Sequence[Check]) -> int:
    """The number of checks that fail; their output goes to standard output."""
    failed = 0
    for check in checks:
        if check.program and shutil.which(check.program) is None:
            print(f'{check.name}: not run: {check.program} is not installed', flush=True)
            continue
        words = [sys.executable, *check.arguments]
        failed += not passes(check.name, words, tree / check.folder, environment(tree, check))
    return failed


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 2 or arguments[0] not in GROUPS:
        print(f'usage: checks.py {"|".join(GROUPS)} TREE', file=sys.stderr)
        return 2
    group, tree = arguments[0], Path(arguments[1]).resolve()
    if group == 'tree' and not (tree / MODULE).is_dir():
        print(f'upstream: {tree} does not have the module: run "module" first', file=sys.stderr)
        return 1
    try:
        if group == 'module':
            apply_overlay(tree)
    except (OverlayError, OSError) as error:
        print(f'upstream: {error}', file=sys.stderr)
        return 1
    failed = run(tree, GROUPS[group])
    if group == 'tree':
        for name, reason in NOT_RUN.items():
            print(f'{name}: not run: {reason}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
