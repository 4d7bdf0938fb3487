"""contrib/dashboard-frontend: the tab in the frontend of the dashboard, as far as without node."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Callable

import pytest
from ceph_tree import write_before

from harness.layout import CHECKOUT
from rocksdb_tuner import units
from upstream.frontend_patch import PATCH
from upstream.overlay import git_apply

CONTRIB = CHECKOUT / 'contrib/dashboard-frontend'
TAB = CHECKOUT / 'contrib/dashboard-dropin/tab'
FRONTEND = Path('src/pybind/mgr/dashboard/frontend')
COMPONENT = FRONTEND / 'src/app/ceph/cluster/osd/osd-rocksdb-tuner'
#: What both draw with, at its path in the tree.
PANEL = CHECKOUT / COMPONENT / 'panel'
#: Cases of the tab's own test.
FORMATS: Mapping[str, Callable[..., str]] = {
    'bytes': units.format_bytes,
    'change': units.format_change,
    'duration': units.format_duration,
    'effect': units.format_effect,
    'range': units.format_change_range,
}
_IMPORT = re.compile(r"""(?:\bfrom |\bimport\(|^import )'([^']+)'""", re.MULTILINE)
_PROPERTIES = re.compile(r'static override properties = \{(.*?)\};', re.DOTALL)


def hunks(patch: str) -> Mapping[str, Sequence[str]]:
    """The lines of a patch's hunks by the path of the file after it."""
    files: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in patch.splitlines():
        if line.startswith('+++ b/'):
            lines = files[line.removeprefix('+++ b/')] = []
        elif line.startswith(('@@', ' ', '+', '-')) and not line.startswith(('+++ ', '--- ')):
            lines.append(line)
    return files


def added(lines: Sequence[str]) -> str:
    return '\n'.join(line[1:] for line in lines if line.startswith('+'))


@pytest.fixture(scope='module')
def changes() -> Mapping[str, Sequence[str]]:
    return hunks(PATCH.read_text(encoding='utf-8'))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files of Ceph that the patch changes."""
    write_before(tmp_path, PATCH)
    return tmp_path


def import_panel(frontend: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [CONTRIB / 'import-panel', frontend], capture_output=True, text=True, check=False
    )


@pytest.fixture
def whole(tree: Path) -> Path:
    """With the patch and the panel."""
    git_apply(tree, [PATCH], check=False)
    done = import_panel(tree / FRONTEND)
    assert done.returncode == 0, done.stderr
    return tree


def packages(text: str) -> set[str]:
    """The packages of a module's imports, without those of Angular that are there anyway."""
    return {
        '/'.join(name.split('/')[: 2 if name.startswith('@') else 1])
        for name in _IMPORT.findall(text)
        if not name.startswith(('.', '~', '@angular/', 'rxjs'))
    }


def test_the_patch_applies_to_its_own_context(tree: Path) -> None:
    git_apply(tree, [PATCH], check=False)
    assert (tree / COMPONENT / 'osd-rocksdb-tuner.component.ts').is_file()


def test_what_is_imported_of_the_panel_is_copied(whole: Path) -> None:
    """By the component and its spec, and by the files of the panel among themselves."""
    for path in (whole / COMPONENT).rglob('*.ts'):
        for name in _IMPORT.findall(path.read_text(encoding='utf-8')):
            if name.startswith('.'):
                assert (path.parent / f'{name}.ts').is_file(), (path.name, name)
    component = (whole / COMPONENT / 'osd-rocksdb-tuner.component.ts').read_text(encoding='utf-8')
    named = re.findall(r"'(\./[^']+\.(?:css|scss|html))'", component)
    assert {'./panel/style.css', './panel/drawn.css'} <= set(named)
    assert [name for name in named if not (whole / COMPONENT / name).is_file()] == []


def test_the_panel_is_what_the_drop_in_draws_with(whole: Path) -> None:
    """But for a keyword; the formatter of the tree, which npm installs, changes the layout only."""
    for path in (whole / COMPONENT / 'panel').iterdir():
        source = (PANEL / path.name).read_text(encoding='utf-8')
        assert path.read_text(encoding='utf-8').replace('override ', '') == source.replace(
            'override ', ''
        )


def test_packages_of_the_panel_are_those_that_the_tab_is_built_with(
    whole: Path, changes: Mapping[str, Sequence[str]]
) -> None:
    """The same versions in package.json and, with their hashes, in the lock file."""
    panel = (whole / COMPONENT / 'panel').glob('*.ts')
    imported = set().union(*(packages(path.read_text(encoding='utf-8')) for path in panel))
    wanted = json.loads((TAB / 'package.json').read_text(encoding='utf-8'))['dependencies']
    assert imported == set(wanted) == {'lit', 'uplot'}
    listed = added(changes[str(FRONTEND / 'package.json')])
    assert json.loads('{' + listed.rstrip(',') + '}') == wanted
    locked = json.loads((TAB / 'package-lock.json').read_text(encoding='utf-8'))['packages']
    lines = added(changes[str(FRONTEND / 'package-lock.json')])
    of_tab = {name: entry for name, entry in locked.items() if name and not entry.get('dev')}
    assert set(wanted) < {name.removeprefix('node_modules/') for name in of_tab}
    for name, entry in of_tab.items():
        assert entry['integrity'] in lines, name
        assert f'"{name}": {{\n      "version": "{entry["version"]}"' in lines or name.startswith(
            'node_modules/@types/'
        ), name


def test_reactive_properties_are_no_class_fields() -> None:
    """The frontend defines class fields, which would hide lit's accessors: nothing is redrawn."""
    seen = 0
    for path in PANEL.glob('*.ts'):
        text = path.read_text(encoding='utf-8')
        for properties in _PROPERTIES.findall(text):
            for name in re.findall(r'(\w+): \{', properties):
                seen += 1
                assert re.search(rf'^  (private )?declare {name}: ', text, re.MULTILINE), (
                    f'{path.name}: {name}'
                )
    assert seen > 30


def test_tab_shows_numbers_as_the_commands_do() -> None:
    cases = json.loads((TAB / 'tests/format.json').read_text(encoding='utf-8'))
    assert cases.keys() == FORMATS.keys()
    for name, form in FORMATS.items():
        assert [[values, form(*values)] for values, _ in cases[name]] == cases[name]
