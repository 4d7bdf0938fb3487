"""Each difference between the releases' mgr API is covered; without its handling a test here fails.

The whole module is loaded with an mgr_module in the shape of each release.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import pytest

import rocksdb_tuner
from rocksdb_tuner.observe.sample import names_for

from .shapes import POINT, SHAPES

PACKAGE = Path(rocksdb_tuner.__file__).parent


@dataclass(frozen=True)
class Loaded:
    """The module loaded with one shape of mgr_module."""

    mgr_module: Any
    module: Any
    releases: Any

    @property
    def commands(self) -> dict[str, Any]:
        """Handlers' entries by prefix, as this shape's mgr finds them."""
        owner = self.mgr_module if hasattr(self.mgr_module, 'CLICommand') else self.module
        found: dict[str, Any] = owner.CLICommand.COMMANDS
        return found


@pytest.fixture(scope='module', params=SHAPES)
def loaded(request: pytest.FixtureRequest) -> Iterator[Loaded]:
    before = {name: sys.modules.pop(name) for name in _modules_of_the_product()}
    sys.modules['mgr_module'] = mgr_module = SHAPES[request.param]()
    try:
        package = importlib.import_module('rocksdb_tuner')
        releases = importlib.import_module('rocksdb_tuner.mgr.releases')
        yield Loaded(mgr_module, package.Module, releases)
    finally:
        for name in _modules_of_the_product():
            del sys.modules[name]
        sys.modules.update(before)


def _modules_of_the_product() -> list[str]:
    return [
        name
        for name in sys.modules
        if name == 'mgr_module'
        or (name.split('.')[0] == 'rocksdb_tuner' and 'tests' not in name.split('.'))
    ]


def test_every_command_is_registered_with_its_permission(loaded: Loaded) -> None:
    permissions = {prefix: command.perm for prefix, command in loaded.commands.items()}
    reads = {p for p, perm in permissions.items() if perm == 'r'}
    writes = {p for p, perm in permissions.items() if perm == 'w'}
    assert {'rocksdb-tuner status', 'rocksdb-tuner osd', 'rocksdb-tuner history'} <= reads
    assert {'rocksdb-tuner apply', 'rocksdb-tuner rollback', 'rocksdb-tuner mode'} <= writes
    assert set(permissions) == reads | writes


def test_mgr_finds_the_commands_by_the_class_attribute(loaded: Loaded) -> None:
    assert loaded.module.CLICommand.COMMANDS is loaded.commands


def test_mgr_calls_a_handler_with_the_module_first(loaded: Loaded) -> None:
    """Handlers are outside of the class: the mgr's registry gives them the module."""
    module = loaded.module('rocksdb_tuner', None, None)
    assert loaded.commands['rocksdb-tuner status'].func(module, format='json').retval == 0


def test_newest_point_of_an_unlabeled_counter_is_read(loaded: Loaded) -> None:
    module = loaded.module('rocksdb_tuner', None, None)
    read = loaded.releases.latest_counter_reader(module)
    assert read('osd', '0', 'osd.op_w') == {'osd.op_w': POINT}


def test_options_declare_their_default(loaded: Loaded) -> None:
    """Reef put `level` before `default`: a default given by position would be taken for it."""
    options = {option['name']: option for option in loaded.module.MODULE_OPTIONS}
    assert options['mode']['default'] == 'recommend'
    assert options['sample_interval']['default'] == 0
    assert all(option.get('level', 1) == 1 for option in options.values())


def test_osd_map_change_is_listed_and_parsed(loaded: Loaded) -> None:
    """Since NotifyType the mgr only sends listed notifications; before, it sends plain names."""
    assert list(loaded.module.NOTIFY_TYPES) == ['osd_map']
    module = loaded.module('rocksdb_tuner', None, None)
    for reported, known in (('osd_map', False), ('health', True)):
        module._cluster._map_read_s = 1.0
        module.notify(reported, '')
        assert bool(module._cluster._map_read_s) is known


def test_only_libraries_of_every_release_are_imported() -> None:
    """`object_format` is in no Pacific, and jsonschema in none; wcwidth may be missing."""
    allowed = {*sys.stdlib_module_names, 'mgr_module', 'prettytable', 'wcwidth', 'tests'}
    imported = {
        name.partition('.')[0]
        for path in PACKAGE.rglob('*.py')
        if 'tests' not in path.relative_to(PACKAGE).parts
        for node in ast.walk(ast.parse(path.read_text()))
        for name in _imported(node)
    }
    assert imported - allowed == set()


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [node.module]
    return []


def test_everything_is_imported_at_load_time() -> None:
    """An import left for later would load new code into old, once the files were replaced."""
    later = [
        f'{path.relative_to(PACKAGE)}:{inner.lineno}'
        for path in PACKAGE.rglob('*.py')
        if 'tests' not in path.relative_to(PACKAGE).parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for inner in ast.walk(node)
        if isinstance(inner, (ast.Import, ast.ImportFrom))
        or (isinstance(inner, ast.Attribute) and inner.attr in {'import_module', 'find_spec'})
        or (isinstance(inner, ast.Name) and inner.id == '__import__')
    ]
    assert later == []


def test_every_part_of_the_module_is_reachable_from_its_first_import(loaded: Loaded) -> None:
    """A file that nothing imports at the start could only be loaded later.

    `offline` is a program of its own, and `python_too_old` takes the place of all of it.
    """
    files = {
        '.'.join(('rocksdb_tuner', *path.relative_to(PACKAGE).with_suffix('').parts))
        for path in PACKAGE.rglob('*.py')
        if not {'tests', 'offline'} & set(path.relative_to(PACKAGE).parts)
    }
    missing = {f.removesuffix('.__init__') for f in files} - set(sys.modules)
    assert missing == {'rocksdb_tuner.python_too_old'}


def test_older_prettytable_measures_text_without_wcwidth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    older = types.ModuleType('prettytable')
    older.PrettyTable = object  # type: ignore[attr-defined]
    older._str_block_width = lambda text: 7 * len(text)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, 'prettytable', older)
    monkeypatch.setitem(sys.modules, 'wcwidth', None)
    path = PACKAGE / 'present/layout.py'
    spec = importlib.util.spec_from_file_location('rocksdb_tuner.present.layout_under_test', path)
    assert spec is not None
    assert spec.loader is not None
    layout = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, layout)
    spec.loader.exec_module(layout)
    assert layout.display_width('ä') == 7


@pytest.mark.parametrize(
    ('release', 'name'),
    [
        ('pacific', 'bluestore.commit_lat'),
        ('reef', 'bluestore.txc_commit_lat'),
        ('tentacle', 'bluestore.txc_commit_lat'),
        ('a later one', 'bluestore.txc_commit_lat'),
        (None, 'bluestore.txc_commit_lat'),
    ],
)
def test_renamed_counter_is_read_by_its_name_in_the_osd_release(
    release: Optional[str], name: str
) -> None:
    assert names_for(release).commit == name
