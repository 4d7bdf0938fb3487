"""Imports point down the layers of the module, and in no circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import permutations
from pathlib import Path
from typing import Any, TypeVar

import pytest

_T = TypeVar('_T', bound=Any)

PACKAGE = Path(__file__).resolve().parents[1]
#: From the lowest: a layer imports from those before it. Packages in one line are independent of
#: each other, except for those joined by '+'. Future packages are listed too.
LAYERS = (
    'units kinds version shell notes',
    'knowledge mgr',
    'store',
    'options',
    'lsm observe+deep',
    'workload',
    'judge',
    'plan',
    'advise',
    'steps',
    'operations',
    'operations.rollout operations.compaction',
    # It changes OSDs by rollouts.
    'operations.experiment',
    'snapshot setting',
    'settings doctor',
    'present',
    'metrics collection',
    'evaluate requests sampler',
    'tick',
    'tuner offline',
    'commands',
    'module python_too_old',
)
#: Independent of each other.
KINDS_OF_OPERATION = ('rollout', 'compaction')
#: Takes the time, the randomness and the cluster as arguments.
PURE = frozenset({'options', 'lsm', 'workload', 'judge', 'plan', 'advise'})
IMPURE = frozenset(
    {'asyncio', 'os', 'random', 'secrets', 'socket', 'subprocess', 'threading', 'time'}
)


def _modules() -> dict[str, Path]:
    """By dotted name below the package."""
    found = {}
    for path in PACKAGE.rglob('*.py'):
        parts = path.relative_to(PACKAGE).with_suffix('').parts
        if parts[0] not in {'tests', '__init__'}:
            found['.'.join(parts[:-1] if parts[-1] == '__init__' else parts)] = path
    return found


MODULES = _modules()


def _imports(module: str) -> Iterator[str]:
    """The imports of ``module`` from the others."""
    path = MODULES[module]
    package = [*module.split('.'), ''] if path.stem == '__init__' else module.split('.')
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level]
            source = '.'.join((*base, *([node.module] if node.module else [])))
            for alias in node.names:
                name = f'{source}.{alias.name}'.lstrip('.')
                yield name if name in MODULES else source


IMPORTS: Mapping[str, frozenset[str]] = {module: frozenset(_imports(module)) for module in MODULES}


def _ranks() -> dict[str, tuple[int, int]]:
    """The layer of each part of the module, and its place in it."""
    return {
        name: (layer, place)
        for layer, names in enumerate(LAYERS)
        for place, joined in enumerate(names.split())
        for name in joined.split('+')
    }


RANKS = _ranks()


def _part(module: str) -> str:
    """The layer of a package: the innermost one for nested packages."""
    within = '.'.join(module.split('.')[:2])
    return within if within in RANKS else module.partition('.')[0]


def _points_down(module: str, imported: str) -> bool:
    own, other = RANKS[_part(module)], RANKS[_part(imported)]
    return own == other or other[0] < own[0]


def test_every_part_of_the_module_is_in_one_layer() -> None:
    """A new package must declare its imports."""
    listed = [name for names in LAYERS for name in names.replace('+', ' ').split()]
    assert sorted({_part(module) for module in MODULES} - set(listed)) == []
    assert len(listed) == len(set(listed))


def test_imports_point_down() -> None:
    """Lower layers are read, tested and reused without higher ones."""
    found = {
        (module, imported)
        for module, all_imported in IMPORTS.items()
        for imported in all_imported
        if not _points_down(module, imported)
    }
    assert sorted(found) == []


@pytest.mark.parametrize(('one', 'other'), [*permutations(KINDS_OF_OPERATION, 2)])
def test_kinds_of_operation_are_independent(one: str, other: str) -> None:
    """Each only uses the common parts; a new kind must be declared first."""
    assert not _points_down(f'operations.{one}.machine', f'operations.{other}.machine')
    assert not _points_down('operations.driver', f'operations.{one}.machine')
    assert _points_down(f'operations.{one}.machine', 'operations.driver')


def circles(imports: Mapping[_T, frozenset[_T]]) -> list[tuple[_T, ...]]:
    """Ways from a file by its imports back to itself."""
    done: set[_T] = set()

    def circle(file: _T, way: tuple[_T, ...]) -> tuple[_T, ...]:
        if file in way:
            return (*way[way.index(file) :], file)
        if file in done:
            return ()
        # A package names what it consists of.
        for imported in sorted(imports.get(file, frozenset()) - {file}):
            found = circle(imported, (*way, file))
            if found:
                return found
        done.add(file)
        return ()

    return [found for file in imports if (found := circle(file, ()))]


def test_no_import_cycles() -> None:
    """Nor within a package: each file can be read after those that it imports."""
    imports = {'a': frozenset('b'), 'b': frozenset('c'), 'c': frozenset('b')}
    assert ('b', 'c', 'b') in circles(imports)
    assert circles(IMPORTS) == []


@pytest.mark.parametrize('part', sorted(PURE))
def test_decisions_use_no_clock_and_no_randomness(part: str) -> None:
    """Pure parts take the time, the randomness and the cluster as arguments."""
    found = {
        (module, name)
        for module, path in MODULES.items()
        if _part(module) == part
        for node in ast.walk(ast.parse(path.read_text()))
        for name in _outside(node)
        if name in IMPURE
    }
    assert sorted(found) == []


def _outside(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.partition('.')[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [node.module.partition('.')[0]]
    return []
