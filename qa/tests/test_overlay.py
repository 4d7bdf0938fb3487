"""contrib/overlay: applies everything or nothing, with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from ceph_tree import made_tree

from upstream import overlay
from upstream.overlay import (
    COPIED,
    DASHBOARD,
    GRAFANA,
    MIXIN,
    MODULE,
    OverlayError,
    VersionError,
    apply_overlay,
)
from upstream.tree_tests import excluded


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return made_tree(tmp_path / 'ceph')


def contents(tree: Path) -> Mapping[Path, bytes]:
    return {path: path.read_bytes() for path in tree.rglob('*') if path.is_file()}


def test_files_and_edits_are_added(tree: Path) -> None:
    done = apply_overlay(tree)
    assert done.without == ()
    assert all((tree / name).exists() for name in (*COPIED, *GRAFANA))
    assert '  rocksdb_tuner\n' in (tree / 'src/pybind/mgr/CMakeLists.txt').read_text()
    assert 'mgr/rocksdb_tuner' in (tree / 'debian/ceph-mgr-modules-core.install').read_text()
    assert (
        "(import 'rocksdb_tuner/ceph.libsonnet')" in (tree / MIXIN / 'mixin.libsonnet').read_text()
    )
    assert (tree / DASHBOARD / 'controllers/rocksdb_tuner.py').is_file()
    assert not (tree / MODULE / 'tests/test_fuzz.py').exists()


def test_patch_that_does_not_apply_leaves_the_tree_unchanged(tree: Path) -> None:
    (tree / 'ceph.spec.in').write_text('something else\n', encoding='utf-8')
    before = contents(tree)
    with pytest.raises(OverlayError, match=r'build\.patch: .*ceph\.spec\.in'):
        apply_overlay(tree)
    assert contents(tree) == before


def test_failure_halfway_leaves_the_tree_unchanged(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(text: str) -> str:
        raise OverlayError('halfway')

    before = contents(tree)
    monkeypatch.setattr(overlay, 'as_jsonnet', fail)
    with pytest.raises(OverlayError, match='halfway'):
        apply_overlay(tree)
    assert contents(tree) == before


@pytest.mark.parametrize(
    ('text', 'error', 'named'),
    [
        (
            'project(ceph\n  VERSION 19.2.3\n',
            VersionError,
            r'is Ceph 19\.2\.3; the patches are made for 20\.2\.4$',
        ),
        ('project(other\n', OverlayError, 'names no version of Ceph'),
    ],
)
def test_another_version_is_refused(
    tree: Path, text: str, error: type[OverlayError], named: str
) -> None:
    (tree / 'CMakeLists.txt').write_text(text, encoding='utf-8')
    before = contents(tree)
    with pytest.raises(error, match=named):
        apply_overlay(tree)
    assert contents(tree) == before


def test_tree_with_the_module_is_refused(tree: Path) -> None:
    apply_overlay(tree)
    before = contents(tree)
    with pytest.raises(OverlayError, match=f'already has {MODULE}'):
        apply_overlay(tree)
    assert contents(tree) == before


def test_tests_with_further_needs_are_not_copied(tmp_path: Path) -> None:
    """Directly, or by way of another file of the tests."""
    tests = tmp_path / 'rocksdb_tuner/tests/part'
    tests.mkdir(parents=True)
    for name, text in {
        'test_plain.py': 'import json\nimport pytest\nfrom rocksdb_tuner import units\n',
        'test_drawn.py': 'from hypothesis import given\n',
        'helper.py': 'import jsonschema\n',
        'test_helped.py': 'from .helper import checked\n',
        'test_above.py': 'from rocksdb_tuner.tests.part.helper import checked\n',
        'test_double.py': 'import mgr_module\n',
        'test_module.py': 'from rocksdb_tuner import Module\n',
        'test_recorded.py': 'import lzma\n',
        'only_drawn.py': 'import json\n',
        'test_drawn_too.py': 'import hypothesis\nfrom .only_drawn import a\n',
        'used.py': 'import json\n',
        'test_using.py': 'from .used import a\n',
        'recording.xz': '',
    }.items():
        (tests / name).write_text(text, encoding='utf-8')
    outside = {path.name for path in excluded(tmp_path / 'rocksdb_tuner')}
    assert outside == {
        'test_drawn.py', 'helper.py', 'test_helped.py', 'test_above.py', 'test_double.py',
        'test_module.py', 'test_recorded.py', 'only_drawn.py', 'test_drawn_too.py', 'recording.xz',
    }  # fmt: skip
