"""make frontend: what it prepares, what it asks the registry for, and that failures are counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ceph_tree import made_tree, write_before

from upstream import frontend_build
from upstream.frontend_build import (
    FRONTEND,
    SUBSTITUTES,
    BuildError,
    Check,
    install,
    main,
    prepare,
    run,
    substitute,
    untranslatable,
)
from upstream.frontend_patch import PATCH
from upstream.overlay import VersionError

_COMPONENT = FRONTEND / 'src/app/ceph/cluster/osd/osd-rocksdb-tuner'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / 'ceph'
    made.mkdir()
    made_tree(made)
    write_before(made, PATCH)
    for folder in ('node_modules/left', 'dist/en-US'):
        (made / FRONTEND / folder).mkdir(parents=True)
    return made


def test_the_source_is_copied_with_the_patch_and_packages_are_kept(
    tree: Path, tmp_path: Path
) -> None:
    folder = tmp_path / 'made'
    frontend = prepare(tree, folder)
    assert (folder / _COMPONENT / 'osd-rocksdb-tuner.component.ts').is_file()
    assert not (frontend / 'dist').exists()
    assert not (frontend / 'node_modules').exists()
    (frontend / 'node_modules/lit').mkdir(parents=True)
    assert prepare(tree, folder) == frontend
    assert (frontend / 'node_modules/lit').is_dir()
    assert not (tree / _COMPONENT).exists()


def test_another_version_is_refused(tree: Path, tmp_path: Path) -> None:
    (tree / 'CMakeLists.txt').write_text('project(ceph\n  VERSION 19.2.3\n', encoding='utf-8')
    with pytest.raises(VersionError, match=r'is Ceph 19\.2\.3; the patches are made for 20\.2\.4'):
        prepare(tree, tmp_path / 'made')
    assert not (tmp_path / 'made').exists()


def test_folder_that_is_no_ceph_tree_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path), str(tmp_path / 'made')]) == 1
    assert 'is not a source tree of Ceph' in capsys.readouterr().err
    assert main([]) == 2


def registry(monkeypatch: pytest.MonkeyPatch, *versions: str, lacks: str = '') -> None:
    """It has these versions of each package, but for one."""

    def ask(name: str, version: str) -> Any:
        if version not in versions or f'{name}@{version}' == lacks:
            return None
        return {
            'dependencies': {'@carbon/charts': version},
            'dist': {'integrity': 'sha512-new', 'tarball': f'{name}-{version}.tgz'},
        }

    monkeypatch.setattr(frontend_build, '_of_registry', ask)


def locked(frontend: Path) -> None:
    entry = {'version': '1.23.9', 'integrity': 'sha512-old', 'dependencies': {}}
    root = {'dependencies': {'@carbon/charts-angular': '1.23.9', 'lodash': '4.18.1'}}
    packages = {'': root, **{f'node_modules/{name}': dict(entry) for name in SUBSTITUTES}}
    for name, document in (('package-lock.json', {'packages': packages}), ('package.json', root)):
        (frontend / name).write_text(json.dumps(document), encoding='utf-8')


def test_packages_that_the_registry_lacks_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked(tmp_path)
    registry(monkeypatch, '1.23.6')
    assert list(substitute(tmp_path)) == [
        f'{name} 1.23.6 instead of 1.23.9' for name in sorted(SUBSTITUTES)
    ]
    lock = json.loads((tmp_path / 'package-lock.json').read_text(encoding='utf-8'))
    assert lock['packages']['node_modules/@carbon/charts-angular'] == {
        'version': '1.23.6',
        'integrity': 'sha512-new',
        'resolved': '@carbon/charts-angular-1.23.6.tgz',
        'dependencies': {'@carbon/charts': '1.23.6'},
    }
    manifest = json.loads((tmp_path / 'package.json').read_text(encoding='utf-8'))
    assert manifest == lock['packages']['']
    assert manifest['dependencies'] == {'@carbon/charts-angular': '1.23.6', 'lodash': '4.18.1'}


def test_a_package_that_another_requires_in_its_version_is_replaced_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked(tmp_path)
    registry(monkeypatch, '1.23.6', '1.23.9', lacks='@carbon/charts-angular@1.23.9')
    assert list(substitute(tmp_path)) == [
        f'{name} 1.23.6 instead of 1.23.9' for name in sorted(SUBSTITUTES)
    ]


def test_nothing_is_changed_for_a_registry_that_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked(tmp_path)
    before = (tmp_path / 'package-lock.json').read_text(encoding='utf-8')
    registry(monkeypatch, '1.23.9')
    assert list(substitute(tmp_path)) == []
    assert (tmp_path / 'package-lock.json').read_text(encoding='utf-8') == before


def test_a_registry_without_either_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked(tmp_path)
    registry(monkeypatch)
    with pytest.raises(BuildError, match='has neither'):
        substitute(tmp_path)


def test_packages_are_installed_once_per_lock_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        frontend_build, 'INSTALL', ('sh', '-c', 'echo run >> runs; mkdir -p node_modules')
    )
    (tmp_path / 'package-lock.json').write_text('{}', encoding='utf-8')
    install(tmp_path)
    install(tmp_path)
    assert (tmp_path / 'runs').read_text(encoding='utf-8').split() == ['run']
    (tmp_path / 'package-lock.json').write_text('{"packages": {}}', encoding='utf-8')
    install(tmp_path)
    assert (tmp_path / 'runs').read_text(encoding='utf-8').split() == ['run', 'run']
    monkeypatch.setattr(frontend_build, 'INSTALL', ('false',))
    (tmp_path / 'package-lock.json').write_text('{"packages": {"": {}}}', encoding='utf-8')
    with pytest.raises(BuildError, match=r'false fails \(1\)'):
        install(tmp_path)


def test_checks_run_on_their_files_and_failures_are_counted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ('b.ts', 'a.ts', 'panel/c.ts'):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    checks = [Check('first', ('sh', '-c', 'exit 3')), Check('second', ('echo',), ('**/*.ts',))]
    assert run(tmp_path, checks) == 1
    out = capfd.readouterr().out
    assert 'first: FAILED (3)' in out
    assert 'a.ts b.ts panel/c.ts' in out
    assert 'second: passed' in out
    with pytest.raises(BuildError, match=r'has no \*\.html'):
        run(tmp_path, [Check('third', ('echo',), ('*.html',))])


def test_text_that_translators_do_not_get_is_named(tree: Path, tmp_path: Path) -> None:
    frontend = prepare(tree, tmp_path / 'made')
    messages = frontend / 'src/locale/messages.xlf'
    messages.parent.mkdir(parents=True, exist_ok=True)
    messages.write_text('<source>RocksDB Tuner</source>', encoding='utf-8')
    assert list(untranslatable(frontend)) == ['To enable it:']
