"""Generates the series of patches that adds the module to Ceph, from this checkout: make-series

Patches are cut from a tree that the module was laid over, so that they cannot go stale. Titles and
texts are in contrib/series. Needs git, and what generates openapi.yaml: the requirements of the
dashboard (tox run -e series).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from . import openapi
from .overlay import CHECKOUT, PATCHES, OverlayError, apply_overlay
from .series_cut import SERIES, TOP, CutError, cut

TEXTS = CHECKOUT / 'contrib/series'
#: What the overlay, the generator of openapi.yaml and the tests of each patch look at.
_COPIED = ('src/pybind', 'src/python-common')
_LANDMARKS = ('CMakeLists.txt', 'qa/tasks/mgr/mgr_test_case.py')
_NOT_COPIED = frozenset({'node_modules', '__pycache__', '.tox', '.git'})


class Text(NamedTuple):
    title: str
    body: str


class SeriesError(Exception):
    """Why no series was made."""


def text_of(name: str) -> Text:
    """The title, a line, and what follows it after an empty one."""
    title, _, body = (TEXTS / f'{name}.txt').read_text(encoding='utf-8').partition('\n\n')
    return Text(title.strip(), body.strip())


def _ignored(folder: str, names: Sequence[str]) -> list[str]:
    """Of the dashboard's frontend its API needs one file."""
    frontend = Path(folder).name == 'frontend'
    return [name for name in names if name in _NOT_COPIED or (frontend and name != 'package.json')]


def part_of(tree: Path, copy: Path) -> None:
    """What the series touches of a tree of Ceph, and what its tests need."""
    for name in _COPIED:
        shutil.copytree(tree / name, copy / name, ignore=_ignored, symlinks=True)
    names = {*_LANDMARKS}
    for patch in PATCHES.glob('*.patch'):
        lines = patch.read_text(encoding='utf-8').splitlines()
        names |= {ln.removeprefix('--- a/') for ln in lines if ln.startswith('--- a/')}
    for name in sorted(names):
        if (tree / name).is_file() and not (copy / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tree / name, copy / name)


def git(folder: Path, *words: str, **environment: str) -> str:
    done = subprocess.run(
        ['git', '-c', 'core.autocrlf=false', '-c', 'core.hooksPath=/dev/null', *words],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SeriesError(f'git {" ".join(words[:2])}: {done.stderr.strip()}')
    return done.stdout


def identity() -> Mapping[str, str]:
    """Who generates the series, by git's configuration, and when this checkout was committed."""
    author = git(CHECKOUT, 'var', 'GIT_AUTHOR_IDENT').rsplit('>', maxsplit=1)[0]
    name, _, mail = author.partition(' <')
    found = {
        'NAME': name,
        'EMAIL': mail,
        'DATE': git(CHECKOUT, 'log', '-1', '--format=%cI').strip(),
    }
    return {f'GIT_{role}_{k}': v for role in ('AUTHOR', 'COMMITTER') for k, v in found.items()}


def repository_of(tree: Path, copy: Path) -> Mapping[str, str]:
    """Commit the part of ``tree`` that a series needs to a new repository; the `identity`."""
    part_of(tree, copy)
    who = identity()
    git(copy, 'init', '-q', '-b', 'base')
    git(copy, 'add', '-Af')
    git(copy, 'commit', '-qm', 'Ceph', **who)
    return who


def make(tree: Path, out: Path, *, with_openapi: bool = True) -> list[Path]:
    """The files of the series in ``out``, the cover letter first; or raises the reason."""
    if out.exists() and any(out.iterdir()):
        raise SeriesError(f'{out} is not empty')
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / 'ceph'
        who = repository_of(tree, copy)
        apply_overlay(copy)
        if with_openapi:
            added, other = openapi.generate(copy)
            if other or not added:
                raise SeriesError(f'openapi.yaml would change beside the module: {other[:3]}')
        status = git(copy, 'status', '--porcelain', '--ignored', '-uall', '-z').split('\0')
        changed = [line[3:] for line in status if line and '__pycache__' not in line]
        _commit(copy, cut(copy, changed), who)
        git(copy, 'format-patch', '-q', '--no-signature', '--zero-commit', '--numbered',
            '--cover-letter', '-o', str(out.resolve()), 'base', **who)  # fmt: skip
        total = git(copy, 'diff', '--shortstat', 'base', 'series')
    files = sorted(out.glob('*.patch'))
    _write_cover(files[0], total)
    return files


def _commit(copy: Path, files: Sequence[Sequence[str]], who: Mapping[str, str]) -> None:
    top = (copy / TOP).read_text(encoding='utf-8')
    docstring = top.partition('\n')[0] + '\n'
    git(copy, 'checkout', '-q', '-b', 'series')
    for patch, names in zip(SERIES, files):
        if not names:
            raise SeriesError(f'the patch "{patch.name}" is empty')
        last = str(TOP) in names
        added = [*names, *([str(TOP)] if patch is SERIES[0] else [])]
        (copy / TOP).write_text(top if last else docstring, encoding='utf-8')
        git(copy, 'add', '-f', '--', *added)
        text = text_of(patch.name)
        git(copy, 'commit', '-qm', f'{text.title}\n\n{text.body}', **who)


def _write_cover(file: Path, total: str) -> None:
    """The text, the titles of the patches, and how much they change: files are too many to list."""
    text = text_of('cover-letter')
    head, _, rest = file.read_text(encoding='utf-8').partition('*** BLURB HERE ***')
    titles = rest.strip('\n').split('\n\n', maxsplit=1)[0]
    subject = head.replace('*** SUBJECT HERE ***', text.title)
    file.write_text(f'{subject}{text.body}\n\n{titles}\n\n{total}', encoding='utf-8')


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog='make-series', description=__doc__.split('\n')[0])
    parser.add_argument('tree', type=Path, metavar='TREE', help='an unpacked source of Ceph 20.2.4')
    parser.add_argument('out', type=Path, metavar='OUT', help='an empty or new folder')
    parser.add_argument(
        '--without-openapi',
        action='store_true',
        help='leave openapi.yaml of the dashboard as it is',
    )
    given = parser.parse_args(arguments)
    try:
        files = make(given.tree, given.out, with_openapi=not given.without_openapi)
    except subprocess.CalledProcessError as error:
        print(f'make-series: openapi.yaml: {error.stderr.decode()[-500:]}', file=sys.stderr)
        return 1
    except (SeriesError, CutError, OverlayError, OSError) as error:
        print(f'make-series: {error}', file=sys.stderr)
        return 1
    for file in files:
        print(file)
    return 0
