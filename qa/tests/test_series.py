"""The series of patches for Ceph: nothing is forgotten, and each patch needs earlier ones only."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path, PurePosixPath

import pytest
from ceph_tree import made_tree

from upstream.overlay import CHECKOUT, MODULE
from upstream.series import SeriesError, make, part_of, text_of
from upstream.series_cut import (
    SERIES,
    TOP,
    CutError,
    Patch,
    cut,
    dotted_name,
    imported_from_package,
)
from upstream.tree_tests import excluded

PLACES = {patch.name: n for n, patch in enumerate(SERIES)}


@pytest.fixture(scope='module')
def parts() -> list[list[str]]:
    """The module of this checkout, cut."""
    module = CHECKOUT / MODULE
    outside = {module / name for name in excluded(module)}
    files = [
        path
        for path in module.rglob('*')
        if path.is_file() and path not in outside and '__pycache__' not in path.parts
    ]
    return cut(CHECKOUT, [str(path.relative_to(CHECKOUT)) for path in files])


def place_of(parts: list[list[str]], name: str) -> int:
    (place,) = (n for n, files in enumerate(parts) if f'{MODULE}/{name}' in files)
    return place


def test_every_file_of_the_module_is_in_one_patch_that_has_what_it_imports(
    parts: list[list[str]],
) -> None:
    place = {name: n for n, files in enumerate(parts) for name in files}
    assert sum(map(len, parts)) == len(place)
    later = set()
    for name, n in place.items():
        # It is a docstring before the module comes.
        if not name.endswith('.py') or name == str(TOP):
            continue
        own = dotted_name(PurePosixPath(name))
        for dotted in imported_from_package(CHECKOUT / name, own):
            found = f'{MODULE}/{dotted.replace(".", "/")}'
            for imported in (f'{found}.py', f'{found}/__init__.py'):
                if place.get(imported, -1) > n and imported != str(TOP):
                    later.add((name, imported))
    assert later == set()


def test_every_patch_of_the_module_brings_code_and_the_module_comes_last(
    parts: list[list[str]],
) -> None:
    own = [n for n, patch in enumerate(SERIES) if patch.roots]
    assert all(any(name.endswith('.py') for name in parts[n]) for n in own)
    assert own[-1] == PLACES['module'] == place_of(parts, 'module.py')
    assert place_of(parts, 'options/checks.py') == PLACES['options']
    assert place_of(parts, 'knowledge/profiles.json') == PLACES['options']
    assert place_of(parts, 'advise/conditions/devices.py') == PLACES['findings']
    assert place_of(parts, 'tests/advise/conditions/__init__.py') == PLACES['findings']


@pytest.mark.parametrize('name', [*PLACES, 'cover-letter'])
def test_titles_and_texts_are_as_ceph_wants_them(name: str) -> None:
    """As SubmittingPatches.rst says; who signs off is a person."""
    title, body = text_of(name)
    assert re.match(r'(mgr/rocksdb_tuner|mgr/dashboard|monitoring|qa|doc): [a-z]', title)
    assert len(title) <= 80
    assert not title.endswith('.')
    assert max(map(len, body.splitlines())) <= 80
    assert 'Signed-off-by' not in body
    assert '*** ' not in body


def test_a_file_that_no_patch_wants_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CutError, match=r'src/other\.txt belongs to 0 patches'):
        cut(tmp_path, ['src/other.txt'], [Patch('all', ('',))])


def test_the_series_applies_and_ends_with_the_overlaid_tree(tmp_path: Path) -> None:
    tree, out = made_tree(tmp_path / 'ceph'), tmp_path / 'out'
    (tree / 'src/python-common').mkdir(parents=True)
    files = make(tree, out, with_openapi=False)
    assert len(files) == len(SERIES) + 1
    cover = files[0].read_text(encoding='utf-8')
    assert text_of('cover-letter').title in cover.replace('\n ', ' ')
    assert 'BLURB HERE' not in cover
    assert text_of('doc').title in cover
    assert re.search(r'^ \d+ files changed, \d+ insertions', cover, re.MULTILINE)
    assert len(cover.splitlines()) < 200
    copy = tmp_path / 'copy'
    part_of(tree, copy)
    tops = []
    for patch in files[1:]:
        subprocess.run(['git', 'apply', str(patch)], cwd=copy, check=True)
        tops.append('.module import' in (copy / TOP).read_text(encoding='utf-8'))
    assert tops == [n >= PLACES['module'] for n in range(len(SERIES))]
    assert (copy / MODULE / 'module.py').read_bytes() == (
        CHECKOUT / MODULE / 'module.py'
    ).read_bytes()
    with pytest.raises(SeriesError, match='is not empty'):
        make(tree, out, with_openapi=False)
