"""`make tab`, with a double of npm."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.layout import CHECKOUT

TAB = Path('contrib/dashboard-dropin/tab')
FRONTEND = Path('src/pybind/mgr/dashboard/frontend')
BUNDLE = Path('build/dashboard/_rocksdb_tuner_tab.js')
#: As qa/tests/integration/visitor.py has it.
AXE = Path('build/axe.min.js')
NPM = """#!/bin/sh
set -e
case "$*" in
  ci*)
    mkdir -p node_modules/axe-core
    sleep 1
    echo axe > node_modules/axe-core/axe.min.js
    touch node_modules/whole
    ;;
  "run check") test -e node_modules/whole ;;
  "run build"*) test -e node_modules/whole; sleep 1; echo a bundle > "${4#--outfile=}" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The Makefile and the tab's source, and npm before any other one in the PATH."""
    folder = tmp_path / 'checkout'
    for name in (TAB, FRONTEND):
        ignored = shutil.ignore_patterns('node_modules')
        shutil.copytree(CHECKOUT / name, folder / name, ignore=ignored)
    shutil.copy(CHECKOUT / 'Makefile', folder)
    npm = tmp_path / 'bin/npm'
    npm.parent.mkdir()
    npm.write_text(NPM)
    npm.chmod(0o755)
    return folder


def make(checkout: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ['make', 'tab'],
        cwd=checkout,
        env={**os.environ, 'PATH': f'{checkout.parent}/bin:{os.environ["PATH"]}'},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_two_builds_in_one_checkout_do_not_interfere(checkout: Path) -> None:
    """As when the tests of the dashboard begin for two releases; nothing else is left."""
    running = [make(checkout), make(checkout)]
    message = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0], message
    assert (checkout / BUNDLE).read_text() == 'a bundle\n'
    assert (checkout / AXE).read_text() == 'axe\n'
    assert {path.name for path in (checkout / 'build').iterdir()} == {'dashboard', 'axe.min.js'}
    assert {path.name for path in (checkout / 'build/dashboard').iterdir()} == {
        BUNDLE.name,
        'report.js',
    }


def test_failed_build_keeps_the_existing_bundle(checkout: Path) -> None:
    (checkout / BUNDLE).parent.mkdir(parents=True)
    (checkout / BUNDLE).write_text('older')
    os.utime(checkout / BUNDLE, (0, 0))
    (checkout.parent / 'bin/npm').write_text('#!/bin/sh\nexit 3\n')
    process = make(checkout)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert (checkout / BUNDLE).read_text() == 'older'
    assert [path.name for path in (checkout / 'build').iterdir()] == ['dashboard']
