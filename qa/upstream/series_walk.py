"""Walks the series: after each patch the module imports, and the tests that came with it pass.

contrib/make-series TREE OUT && python3 qa/upstream/series_walk.py TREE OUT
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

if __name__ == '__main__':
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from upstream.checks import Check, environment
from upstream.overlay import MODULE
from upstream.series import SeriesError, git, repository_of

MGR = Path('src/pybind/mgr')
#: They read all packages that are there.
_OF_ALL = ('tests/test_layers.py',)
_IMPORT = 'import rocksdb_tuner; print(getattr(rocksdb_tuner, "Module", None))'


def to_run(added: Sequence[str]) -> dict[Path, list[str]]:
    """By folder: what came with a patch, and what looks at all that came before it."""
    found: dict[Path, list[str]] = {}
    for name in added:
        path = Path(name)
        if path.name.startswith('test_') and path.suffix == '.py' and MGR in path.parents:
            within = MGR / 'dashboard' if MGR / 'dashboard' in path.parents else MGR
            found.setdefault(within, []).append(str(path.relative_to(within)))
    own = found.get(MGR, [])
    if own or any(name.startswith(MODULE) for name in added):
        module = Path(MODULE).name
        found[MGR] = sorted({*own, *(f'{module}/{name}' for name in _OF_ALL)})
    return found


def _passes(tree: Path, check: Check) -> bool:
    done = subprocess.run(
        [sys.executable, *check.arguments],
        cwd=tree / check.folder,
        env={**environment(tree, check), 'PYTHONDONTWRITEBYTECODE': '1'},
        check=False,
    )
    return done.returncode == 0


def walk(tree: Path, patches: Sequence[Path], first: int = 1) -> list[str]:
    """The patches that fail; stops at one that does not apply."""
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / 'ceph'
        who = repository_of(tree, copy)
        for number, patch in enumerate(patches, 1):
            begin_s = time.monotonic()
            git(copy, 'am', '-q', '--keep-cr', str(patch.resolve()), **who)
            if number < first:
                continue
            added = git(copy, 'diff', '--name-only', '--diff-filter=A', 'HEAD~1').splitlines()
            tests = to_run(added)
            checks = [
                Check('import', ('-c', _IMPORT)),
                *(
                    Check('tests', ('-m', 'pytest', '-q', '-o', 'addopts=', *names), folder)
                    for folder, names in tests.items()
                ),
            ]
            passed = [_passes(copy, check) for check in checks]
            if not all(passed):
                failed.append(patch.name)
            result = 'passed' if all(passed) else 'FAILED'
            files = sum(map(len, tests.values()))
            took_s = time.monotonic() - begin_s
            print(f'{patch.name}: {result}, {files} files of tests, {took_s:.0f}s', flush=True)
    return failed


def main(arguments: Sequence[str]) -> int:
    if len(arguments) not in {2, 3} or not all(text.isdecimal() for text in arguments[2:]):
        print('usage: series_walk.py TREE OUT [FIRST]', file=sys.stderr)
        return 2
    patches = sorted(Path(arguments[1]).glob('[0-9]*.patch'))[1:]
    if not patches:
        print(f'series_walk: no series in {arguments[1]}: run contrib/make-series', file=sys.stderr)
        return 1
    try:
        failed = walk(Path(arguments[0]), patches, *map(int, arguments[2:]))
    except (SeriesError, OSError) as error:
        print(f'series_walk: {error}', file=sys.stderr)
        return 1
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
