"""Lays this project over a source tree of Ceph: files, and small edits as patches."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from .tree_tests import excluded

CHECKOUT = Path(__file__).resolve().parents[2]
PATCHES = CHECKOUT / 'contrib/overlay.d'
#: The release that the patches are made for.
VERSION = '20.2.4'
MODULE = 'src/pybind/mgr/rocksdb_tuner'
MANUAL = 'doc/mgr/rocksdb_tuner'
DASHBOARD = 'src/pybind/mgr/dashboard'
MIXIN = 'monitoring/ceph-mixin'


def _found(pattern: str) -> tuple[str, ...]:
    return tuple(sorted(str(path.relative_to(CHECKOUT)) for path in CHECKOUT.glob(pattern)))


#: Folders and files that lie here where Ceph has them. Alerts and their tests are not among them:
#: in Ceph's tree they are a part of the files of its own (monitoring.patch).
COPIED = (
    MODULE,
    *_found(f'{DASHBOARD}/controllers/*rocksdb_tuner*.py'),
    *_found(f'{DASHBOARD}/tests/test_rocksdb_tuner*.py'),
    MANUAL,
    'doc/dev/rocksdb_tuner',
    *_found(f'{MIXIN}/rocksdb_tuner/*.libsonnet'),
    'qa/tasks/mgr/test_rocksdb_tuner.py',
    'qa/tasks/mgr/dashboard/test_rocksdb_tuner.py',
    'qa/suites/rados/mgr/tasks/4-units/rocksdb_tuner.yaml',
)
#: Ceph's mixin has the results of all its dashboards in one folder, as jsonnet writes them.
GRAFANA = tuple(
    f'{MIXIN}/dashboards_out/{path.name}'
    for path in sorted((CHECKOUT / MIXIN / 'rocksdb_tuner/dashboards_out').glob('*.json'))
)
_LANDMARKS = ('CMakeLists.txt', 'src/pybind/mgr/mgr_module.py', 'qa/tasks/mgr/mgr_test_case.py')
_VERSION = re.compile(r'^project\(ceph\s+VERSION\s+([0-9.]+)', re.MULTILINE)
_NOT_COPIED = shutil.ignore_patterns('__pycache__', '*.pyc')


class OverlayError(Exception):
    """Why a tree was left as it was."""


class VersionError(OverlayError):
    """The tree is of another version of Ceph than the patches."""


class LaidOver(NamedTuple):
    copied: tuple[str, ...]
    applied: tuple[str, ...]
    #: Patches of files that this tree does not have; distributors remove debian/.
    without: tuple[str, ...]


def check_version(tree: Path, *, any_version: bool = False) -> None:
    """Raises VersionError, or OverlayError if the tree is no source of Ceph."""
    version = _version_of(tree)
    if version != VERSION and not any_version:
        raise VersionError(f'{tree} is Ceph {version}; the patches are made for {VERSION}')


def _version_of(tree: Path) -> str:
    missing = [name for name in _LANDMARKS if not (tree / name).is_file()]
    if missing:
        raise OverlayError(f'{tree} is not a source tree of Ceph: it has no {missing[0]}')
    found = _VERSION.search((tree / _LANDMARKS[0]).read_text(encoding='utf-8'))
    if found is None:
        raise OverlayError(f'{tree}/CMakeLists.txt names no version of Ceph')
    return found[1]


def apply_overlay(tree: Path, *, any_version: bool = False) -> LaidOver:
    """Copy the files and apply the patches, all or nothing; raises OverlayError."""
    check_version(tree, any_version=any_version)
    present = [name for name in (*COPIED, *GRAFANA) if (tree / name).exists()]
    if present:
        raise OverlayError(f'{tree} already has {present[0]}')
    names = sorted(path.name for path in PATCHES.glob('*.patch'))
    applied = tuple(name for name in names if _has_files_of(tree, PATCHES / name))
    for name in applied:
        git_apply(tree, [PATCHES / name], check=True)
    try:
        for name in COPIED:
            _copy(CHECKOUT / name, tree / name)
        for outside in excluded(CHECKOUT / MODULE):
            (tree / MODULE / outside).unlink()
        for name in GRAFANA:
            made = CHECKOUT / MIXIN / 'rocksdb_tuner/dashboards_out' / Path(name).name
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(as_jsonnet(made.read_text(encoding='utf-8')), encoding='utf-8')
        for path in (tree / DASHBOARD).glob('controllers/*rocksdb_tuner*.py'):
            path.write_text(as_isort(path.read_text(encoding='utf-8')), encoding='utf-8')
        git_apply(tree, [PATCHES / name for name in applied], check=False)
    except BaseException:
        for name in (*COPIED, *GRAFANA):
            _remove(tree / name)
        raise
    return LaidOver(
        (*COPIED, *GRAFANA), applied, tuple(name for name in names if name not in applied)
    )


def _has_files_of(tree: Path, patch: Path) -> bool:
    """False if the folder of a patch's first file is not there at all."""
    text = patch.read_text(encoding='utf-8')
    first = next(line for line in text.splitlines() if line.startswith('--- a/'))
    return (tree / first.removeprefix('--- a/').split('/', maxsplit=1)[0]).exists()


def git_apply(tree: Path, patches: Sequence[Path], *, check: bool) -> None:
    """Apply patches to a tree, or only ``check`` that they apply; raises OverlayError."""
    command = ['git', 'apply', *(['--check'] if check else []), *map(str, patches)]
    # In a tree within another repository, git would skip files outside its folder.
    environment = {**os.environ, 'GIT_CEILING_DIRECTORIES': str(tree.resolve().parent)}
    done = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        names = ', '.join(patch.name for patch in patches)
        raise OverlayError(f'{names}: {done.stderr.strip()}')


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=_NOT_COPIED)
    else:
        shutil.copy(source, target)


def as_isort(text: str) -> str:
    """Wrapped imports as the dashboard's isort wraps them: with backslashes, within 80 columns."""

    def wrapped(found: re.Match[str]) -> str:
        names = [f'{name},' for name in found[2].replace(',', '').split()]
        names[-1] = names[-1].removesuffix(',')
        # Room for the blank and the backslash
        return ' \\\n'.join(
            textwrap.wrap(f'{found[1]} {" ".join(names)}', 78, subsequent_indent='    ')
        )

    return re.sub(r'^(from \S+ import) \(\n((?:    \w+,\n)+)\)$', wrapped, text, flags=re.MULTILINE)


def as_jsonnet(text: str) -> str:
    """A JSON document as jsonnet lays it out, which is the form of those in Ceph's tree."""
    laid_out = json.dumps(json.loads(text), indent=3, sort_keys=True, ensure_ascii=False)
    return (
        re.sub(r'(?<!\\)(\[\]|\{\})(?=,?$)', lambda m: ' '.join(m[1]), laid_out, flags=re.MULTILINE)
        + '\n'
    )


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog='overlay', description=f'Lay rocksdb_tuner over a source tree of Ceph {VERSION}.'
    )
    parser.add_argument('tree', type=Path, metavar='TREE')
    parser.add_argument(
        '--any-version', action='store_true', help='try the patches on another version'
    )
    given = parser.parse_args(arguments)
    try:
        done = apply_overlay(given.tree, any_version=given.any_version)
    except VersionError as error:
        print(f'overlay: {error} (--any-version: try them)', file=sys.stderr)
        return 1
    except (OverlayError, OSError) as error:
        print(f'overlay: {error}', file=sys.stderr)
        return 1
    for name in done.copied:
        print(f'copied   {name}')
    for name in done.applied:
        print(f'applied  {name}')
    for name in done.without:
        print(f'skipped  {name}: the tree does not have its files')
    return 0
