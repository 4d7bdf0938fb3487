"""Below Python 3.9 the module gives a reason that the manager shows, instead of a traceback."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rocksdb_tuner.python_too_old import Module, reason
from rocksdb_tuner.version import MINIMUM_PYTHON, VERSION

PACKAGE = Path(__file__).parents[1]
#: The files that an older Python reads before it can report that it is too old.
READ_BY_OLDER = ('__init__.py', 'version.py', 'python_too_old.py', 'offline/__init__.py')
#: As much of Ceph as the import needs, in their syntax.
MGR_MODULE = 'class MgrModule(object):\n    pass\n'
SHOWN = (
    'import rocksdb_tuner as m; print(m.__all__); print(m.Module.can_run()); '
    'print(issubclass(m.Module, __import__("mgr_module").MgrModule))'
)


def older_pythons() -> list[str]:
    """Interpreters of this machine that are older than the module supports."""
    versions = [f'python3.{minor}' for minor in range(6, MINIMUM_PYTHON[1])]
    found = [shutil.which(name) for name in versions]
    root = Path(os.environ.get('PYENV_ROOT', Path.home() / '.pyenv')) / 'versions'
    found += [str(path) for name in versions for path in sorted(root.glob(f'*/bin/{name}'))]
    # A shim of pyenv is there without an interpreter behind it.
    return [path for path in found if path and '/shims/' not in path]


@pytest.mark.parametrize('name', READ_BY_OLDER)
def test_files_read_by_an_older_python_have_the_syntax_of_3_6(name: str) -> None:
    tree = ast.parse((PACKAGE / name).read_text(encoding='utf-8'), feature_version=(3, 6))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    # A directive that 3.6 refuses, in any syntax.
    assert '__future__' not in imported


def test_module_cannot_run_and_reports_the_reason() -> None:
    assert Module.can_run() == (False, reason(sys.version_info[:2]))
    assert reason((3, 6)) == (
        f'rocksdb_tuner {VERSION} requires Python 3.9 or newer, and this manager has Python 3.6: '
        'upgrade Ceph to an image or packages with a newer Python'
    )


def test_supported_python_gets_the_module() -> None:
    import rocksdb_tuner  # noqa: PLC0415 - what the manager does

    assert rocksdb_tuner.__all__ == ['Module', 'StandbyModule']
    assert rocksdb_tuner.Module.__module__ == 'rocksdb_tuner.module'


@pytest.fixture
def pretended(tmp_path: Path) -> Path:
    """The module with a minimum that no interpreter has, with an mgr_module."""
    shutil.copytree(PACKAGE, tmp_path / PACKAGE.name, ignore=shutil.ignore_patterns('tests'))
    version = tmp_path / PACKAGE.name / 'version.py'
    text = version.read_text(encoding='utf-8')
    changed = text.replace(f'MINIMUM_PYTHON = {MINIMUM_PYTHON}', 'MINIMUM_PYTHON = (3, 99)')
    assert changed != text
    version.write_text(changed, encoding='utf-8')
    (tmp_path / 'mgr_module.py').write_text(MGR_MODULE)
    return tmp_path


def run(python: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {'PATH': os.environ['PATH'], 'PYTHONDONTWRITEBYTECODE': '1'}
    return subprocess.run(
        [python, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize('python', [sys.executable, *older_pythons()])
def test_old_python_gets_only_the_reason(python: str, pretended: Path) -> None:
    """This one, which is older than pretended, and those of the machine."""
    message = run(python, pretended, '-c', SHOWN)
    assert (message.returncode, message.stderr) == (0, '')
    names, can_run, is_module = message.stdout.splitlines()
    assert (names, is_module) == ("['Module']", 'True')
    assert can_run.startswith(f"(False, 'rocksdb_tuner {VERSION} requires Python 3.99 or newer")
    offline = run(python, pretended, '-m', 'rocksdb_tuner.offline', 'folder')
    assert (offline.returncode, offline.stdout) == (1, '')
    refusal = 'python3 -m rocksdb_tuner.offline: requires Python 3.99 or newer'
    assert offline.stderr.startswith(refusal)
    assert offline.stderr.count('\n') == 1


def test_offline_program_has_a_version(tmp_path: Path) -> None:
    message = run(sys.executable, PACKAGE.parent, '-m', 'rocksdb_tuner.offline', '--version')
    assert (message.returncode, message.stdout) == (0, f'rocksdb_tuner {VERSION}\n')
