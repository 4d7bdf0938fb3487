"""Imports within qa/ point down its parts, and in no circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Optional

from rocksdb_tuner.tests.test_layers import circles

QA = Path(__file__).resolve().parents[1]
MODULE = QA.parent / 'src/pybind/mgr/rocksdb_tuner'
#: From the lowest, as in the module's own test: a part imports from those before it, and the parts
#: of one line are independent of each other. Files in qa/ itself are "commands".
LAYERS = (
    'doubles',
    'doubles_dashboard local_orch fault_injection clients harness',
    'bench manual tasks upstream',
    'commands',
    'tests',
    'browser',
)
#: From where files import each other: those that the tests, the benches and the clients are given.
ROOTS = (
    *('.', 'bench', 'tests/integration', 'doubles', 'doubles_dashboard'),
    *('harness/clients', 'fault_injection'),
)
#: Files of the harness that use the module's names of counters. The others run clusters of any
#: release, independent of the module.
WITH_THE_MODULE = frozenset({'record', 'trial_windows'})


def _files() -> Iterator[Path]:
    yield from (path.relative_to(QA) for path in QA.rglob('*.py'))
    for path in QA.iterdir():
        if path.is_file() and not path.suffix and 'python' in _first_line(path):
            yield path.relative_to(QA)


def _first_line(path: Path) -> str:
    return path.read_text(encoding='utf-8').partition('\n')[0]


FILES = frozenset(_files())
#: Names by which a file can be imported, of each root.
NAMES: Mapping[str, Path] = {
    '.'.join(name.parts[:-1] if name.name == '__init__' else name.parts): path
    for root in reversed(ROOTS)
    for path in FILES
    if path.suffix and path.is_relative_to(root)
    for name in [path.relative_to(root).with_suffix('')]
}


def _part(path: Path) -> str:
    if path.is_relative_to('harness/clients'):
        return 'clients'
    return path.parts[0] if len(path.parts) > 1 else 'commands'


def _named(path: Path) -> Iterator[tuple[str, ...]]:
    """What each import of a file in qa/, or elsewhere, may mean, the closest first."""
    for node in _nodes(ast.parse((QA / path).read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            yield from ((alias.name,) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # The package of a relative one is that of the file, from the first root on.
            package = path.parts[: len(path.parts) - node.level] if node.level else ()
            source = '.'.join((*package, *([node.module] if node.module else [])))
            yield from ((f'{source}.{alias.name}', source) for alias in node.names)


def _nodes(inner: ast.AST) -> Iterator[ast.AST]:
    """All but what is for type checkers only."""
    yield inner
    if not (isinstance(inner, ast.If) and ast.unparse(inner.test) == 'TYPE_CHECKING'):
        for node in ast.iter_child_nodes(inner):
            yield from _nodes(node)


def _found(names: tuple[str, ...]) -> Optional[Path]:
    return next((NAMES[name] for name in names if name in NAMES), None)


IMPORTS: Mapping[Path, frozenset[Path]] = {
    path: frozenset(found for names in _named(path) if (found := _found(names)) is not None)
    for path in FILES
}
RANKS = {
    name: (layer, place)
    for layer, names in enumerate(LAYERS)
    for place, name in enumerate(names.split())
}


def _points_down(importing: str, imported: str) -> bool:
    own, other = RANKS[importing], RANKS[imported]
    return own == other or other[0] < own[0]


def test_every_part_of_qa_is_in_one_layer() -> None:
    """A new folder must declare its imports."""
    listed = [name for names in LAYERS for name in names.split()]
    assert sorted({_part(path) for path in FILES} ^ set(listed)) == []
    assert len(listed) == len(set(listed))


def test_imports_are_found_under_any_name() -> None:
    """Otherwise the next tests would prove nothing."""
    imports = {
        'tests/test_harness_procs.py': 'harness/procs.py',
        'harness/cluster.py': 'harness/boot.py',
        'bench/verdict_record.py': 'harness/trial_windows.py',
        'browser/test_tab.py': 'tests/integration/sample_answers.py',
        'harness/clients/s3_client.py': 'harness/clients/client_outcome.py',
        'cluster': 'harness/cli.py',
    }
    for importing, imported in imports.items():
        assert Path(imported) in IMPORTS[Path(importing)], importing


def test_imports_point_down() -> None:
    """The harness knows neither tests nor benches, what runs inside a cluster knows neither."""
    found = {
        f'{path} imports {imported}'
        for path, all_imported in IMPORTS.items()
        for imported in all_imported
        if not _points_down(_part(path), _part(imported))
    }
    assert sorted(found) == []


def test_no_import_cycles() -> None:
    """Nor within a part: each file can be read after those that it imports."""
    assert circles(IMPORTS) == []


def test_harness_runs_clusters_without_the_module() -> None:
    """A cluster must start, or report why not, even with a broken module."""
    found = {
        path.stem
        for path in FILES
        if _part(path) == 'harness'
        and any(f'{names[0]}.'.startswith('rocksdb_tuner.') for names in _named(path))
    }
    assert found == WITH_THE_MODULE


def test_module_does_not_import_qa() -> None:
    """But what ceph-mgr gives it, of which there are doubles."""
    found = {
        f'{path.relative_to(MODULE)} imports {imported}'
        for path in MODULE.rglob('*.py')
        if 'tests' not in path.relative_to(MODULE).parts
        for names in _named(path)
        if (imported := _found(names)) is not None and _part(imported) != 'doubles'
    }
    assert sorted(found) == []
