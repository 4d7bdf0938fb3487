"""Which patch of the series each file of a laid-over tree belongs to.

Imports of the module run down its packages, so a patch is a set of packages with all that they
import and no earlier patch has. Nothing is listed file by file: a new file finds its place, and a
file that has none is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from .overlay import MODULE
from .tree_tests import imports_of

PACKAGE = PurePosixPath(MODULE)
TESTS = PACKAGE / 'tests'
#: It imports the module, which is the last of its parts to come; before, it is a docstring.
TOP = PACKAGE / '__init__.py'


class Patch(NamedTuple):
    #: Of the file with its title and text in contrib/series.
    name: str
    #: Packages and files of the module, with all that they import; '' is everything.
    roots: tuple[str, ...] = ()
    #: Other files of the tree, by the beginnings of their paths.
    begins: tuple[str, ...] = ()


SERIES = (
    Patch('options', ('options', 'knowledge'), ('src/pybind/mgr/tox.ini',)),
    Patch('observe', ('observe', 'deep', 'workload')),
    Patch('lsm', ('lsm',)),
    Patch('findings', ('advise.conditions',)),
    Patch('recommend', ('advise',)),
    Patch('rollout', ('operations.rollout',)),
    Patch('operations', ('operations',)),
    Patch('answers', ('present',)),
    Patch('offline', ('collection', 'offline')),
    Patch('metrics', ('metrics',)),
    Patch(
        'module',
        ('',),
        ('src/pybind/mgr/CMakeLists.txt', 'ceph.spec.in', 'debian/', '.github/'),
    ),
    Patch('dashboard', (), ('src/pybind/mgr/dashboard/',)),
    Patch('monitoring', (), ('monitoring/',)),
    Patch('qa', (), ('qa/',)),
    Patch('doc', (), ('doc/', 'PendingReleaseNotes')),
)


class CutError(Exception):
    """Why a tree cannot be cut into the series."""


def cut(tree: Path, changed: Iterable[str], series: Sequence[Patch] = SERIES) -> list[list[str]]:
    """The files of each patch; ``changed`` are all that the overlay added or edited."""
    files = [PurePosixPath(name) for name in changed]
    own = {name for name in files if PACKAGE in name.parents and name != TOP}
    place = {**_places_of_code(tree, own, series)}
    place.update(_places_of_data(own - place.keys(), place))
    place[TOP] = _module_patch(series)
    for name in set(files) - place.keys():
        found = [n for n, patch in enumerate(series) if str(name).startswith(patch.begins or '\0')]
        if len(found) != 1:
            raise CutError(f'{name} belongs to {len(found)} patches of the series')
        place[name] = found[0]
    return [sorted(str(f) for f in files if place[f] == n) for n in range(len(series))]


def _module_patch(series: Sequence[Patch]) -> int:
    return next(n for n, patch in enumerate(series) if '' in patch.roots)


def _places_of_code(
    tree: Path, own: Iterable[PurePosixPath], series: Sequence[Patch]
) -> Mapping[PurePosixPath, int]:
    """Code in the first patch that reaches it; a test in the first that has all it imports."""
    files = {dotted_name(path): path for path in own if path.suffix == '.py'}
    imports = {
        name: {found for found in imported_from_package(tree / path, name) if found in files}
        for name, path in files.items()
    }
    tests = {name for name, path in files.items() if TESTS in path.parents}
    code = _ranks_of_code(files.keys() - tests, imports, series)
    ranks = {**code, **_ranks_of_tests(tests, imports, code)}
    for name in tests:
        if not _is_file(files[name]):
            inside = [n for other, n in ranks.items() if other.startswith(f'{name}.')]
            ranks[name] = min(inside, default=ranks[name])
    return {files[name]: n for name, n in ranks.items()}


def _ranks_of_code(
    code: AbstractSet[str], imports: Mapping[str, AbstractSet[str]], series: Sequence[Patch]
) -> Mapping[str, int]:
    ranks: dict[str, int] = {}
    for n, patch in enumerate(series):
        reached = [name for name in code if any(_within(name, root) for root in patch.roots)]
        while reached:
            name = reached.pop()
            if name not in ranks:
                ranks[name] = n
                reached += [found for found in (*imports[name], *_above(name)) if found in code]
    return ranks


def _ranks_of_tests(
    tests: AbstractSet[str], imports: Mapping[str, AbstractSet[str]], code: Mapping[str, int]
) -> Mapping[str, int]:
    ranks = {**code, **dict.fromkeys(tests, 0)}
    # Those in the folders above it apply to a test, too.
    needs = {
        name: imports[name] | ({f'{above}.conftest' for above in _above(name)} & tests)
        for name in tests
    }
    moved = True
    while moved:
        moved = False
        for name in tests:
            needed = max((ranks[found] for found in needs[name]), default=0)
            if needed > ranks[name]:
                ranks[name], moved = needed, True
    return {name: ranks[name] for name in tests}


def _is_file(path: PurePosixPath) -> bool:
    return path.name != '__init__.py'


def _places_of_data(
    data: Iterable[PurePosixPath], place: Mapping[PurePosixPath, int]
) -> Mapping[PurePosixPath, int]:
    """Data in the first patch that has a file of code beside it or in the nearest folder above."""
    found = {}
    for name in data:
        for folder in name.parents:
            beside = [n for path, n in place.items() if folder in path.parents and _is_file(path)]
            if beside:
                found[name] = min(beside)
                break
    return found


def dotted_name(path: PurePosixPath) -> str:
    parts = path.relative_to(PACKAGE).with_suffix('').parts
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def _within(name: str, root: str) -> bool:
    return not root or name == root or name.startswith(f'{root}.')


def _above(name: str) -> list[str]:
    parts = name.split('.')
    return ['.'.join(parts[:n]) for n in range(1, len(parts))]


def imported_from_package(file: Path, name: str) -> set[str]:
    """What a file, ``name`` in the package, imports from there, by names like its own."""
    top = f'{PACKAGE.name}.'
    found = imports_of(file, f'{top}{name}')
    return {imported.removeprefix(top) for imported in found if imported.startswith(top)}
