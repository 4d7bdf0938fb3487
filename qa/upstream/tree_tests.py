"""Which unit tests of the module run with no more than the requirements of Ceph's own."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path

#: Of src/pybind/mgr/requirements-required.txt, and the module itself.
ALLOWED = frozenset({'pytest', 'prettytable', 'yaml', 'scipy', 'rocksdb_tuner', '__future__'})
#: Tests query instances of these classes for data that only the doubles of the mgr record.
_WITH_DOUBLES = ('rocksdb_tuner.Module', 'rocksdb_tuner.StandbyModule', 'rocksdb_tuner.module')
#: Reads files of this repository that are not laid over.
_OF_THE_CHECKOUT = ('ROOT', 'CHECKOUT', 'integration', 'osd-rocksdb-tuner')

#: What only tests that are left outside read.
_BINARY = '*.xz'


def excluded(module: Path) -> tuple[Path, ...]:
    """Files below ``module``/tests that need more, directly or through another of the tests.

    They need hypothesis, jsonschema or prometheus_client, which Ceph's requirements lack, or this
    project's doubles of the mgr, or compressed recordings, or files outside the module. Paths are
    relative to ``module``.
    """
    tests = module / 'tests'
    files = {_name(module, path): path for path in sorted(tests.rglob('*.py'))}
    imports = {name: set(imports_of(path, name)) for name, path in files.items()}
    outside = {
        name
        for name, path in files.items()
        if any(not _is_allowed(imported) for imported in imports[name])
        or any(word in path.read_text(encoding='utf-8') for word in _OF_THE_CHECKOUT)
    }
    while True:
        more = {
            name
            for name in files.keys() - outside
            if any(imported in outside for imported in imports[name])
        }
        if not more:
            break
        outside |= more
    outside |= _unused(files, imports, outside)
    # A package may exist for its data; without its __init__.py nothing in it could be imported.
    code = [
        files[name].relative_to(module)
        for name in sorted(outside)
        if files[name].name != '__init__.py'
    ]
    data = [path.relative_to(module) for path in sorted(tests.rglob(_BINARY))]
    return (*code, *data)


def _unused(
    files: Mapping[str, Path], imports: Mapping[str, AbstractSet[str]], outside: AbstractSet[str]
) -> AbstractSet[str]:
    """Helpers of tests that stay outside, and of no other."""
    used: set[str] = set()
    reached = [
        name
        for name in files.keys() - outside
        if files[name].name.startswith(('test_', 'conftest', '__init__'))
    ]
    while reached:
        name = reached.pop()
        if name in files and name not in used:
            used.add(name)
            reached += imports[name]
    return files.keys() - outside - used


def _name(module: Path, path: Path) -> str:
    parts = list(path.relative_to(module.parent).with_suffix('').parts)
    if parts[-1] == '__init__':
        parts.pop()
    return '.'.join(parts)


def _is_allowed(imported: str) -> bool:
    if imported.startswith(_WITH_DOUBLES):
        return False
    top = imported.split('.', maxsplit=1)[0]
    # Recordings and answers of binaries are compressed: a patch of them cannot be read.
    return top != 'lzma' and (top in ALLOWED or top in sys.stdlib_module_names)


def imports_of(file: Path, module: str) -> Iterator[str]:
    """Absolute names of what a file, a ``module``, imports, and of what it imports from there."""
    package = module.split('.')
    if file.name != '__init__.py':
        package.pop()
    for node in ast.walk(ast.parse(file.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = len(package) - node.level + 1
            base = [*(package[:up] if node.level else []), *([node.module] if node.module else [])]
            yield '.'.join(base)
            yield from ('.'.join([*base, alias.name]) for alias in node.names)
