"""Writes openapi.yaml of the dashboard in a tree that the module is laid over: openapi.py TREE

It is what Ceph's `tox -e openapi-fix` writes, and needs the requirements of the dashboard. What is
generated may only add: where it also changes what was there, it is left as it was and the reason is
reported, for then this tree or its requirements are not the ones that Ceph generated the file with.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

DASHBOARD = Path('src/pybind/mgr/dashboard')
FILE = DASHBOARD / 'openapi.yaml'
#: What all paths of the module begin with, and its tag.
PATHS = '/api/rocksdb_tuner'
TAG = 'RocksDBTuner'
#: As in the environment `openapi-fix` of the dashboard's tox.ini.
_GENERATOR = ('-m', 'dashboard.controllers.docs')


def differences(before: Any, after: Any) -> list[str]:
    """What is not the same in both documents, but for what belongs to the module."""
    one, other = _without_module(before), _without_module(after)
    found = [
        path
        for path in sorted(one['paths'].keys() | other['paths'].keys())
        if one['paths'].get(path) != other['paths'].get(path)
    ]
    names = sorted((one.keys() | other.keys()) - {'paths'})
    return found + [name for name in names if one.get(name) != other.get(name)]


def _without_module(document: Any) -> dict[str, Any]:
    paths = document['paths']
    return {
        **document,
        'paths': {name: paths[name] for name in paths if not name.startswith(PATHS)},
        'tags': [tag for tag in document['tags'] if tag['name'] != TAG],
    }


def generate(tree: Path) -> tuple[int, list[str]]:
    """The number of paths added, and what else is different; writes the file if nothing is."""
    before = yaml.load((tree / FILE).read_text(encoding='utf-8'), yaml.CSafeLoader)
    paths = [str(tree / name) for name in ('src/pybind/mgr', 'src/pybind', 'src/python-common')]
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / FILE.name
        subprocess.run(
            [sys.executable, *_GENERATOR, str(made)],
            cwd=tree / DASHBOARD,
            env={**os.environ, 'UNITTEST': 'true', 'PYTHONPATH': os.pathsep.join(paths)},
            check=True,
            capture_output=True,
        )
        text = made.read_text(encoding='utf-8')
    after = yaml.load(text, yaml.CSafeLoader)
    found = differences(before, after)
    if not found:
        (tree / FILE).write_text(text, encoding='utf-8')
    return sum(path.startswith(PATHS) for path in after['paths']), found


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print('usage: openapi.py TREE', file=sys.stderr)
        return 2
    try:
        added, found = generate(Path(arguments[0]).resolve())
    except subprocess.CalledProcessError as error:
        print(f'openapi: {error.stderr.decode(errors="replace")[-2000:]}', file=sys.stderr)
        return 1
    print(
        f'openapi.yaml: {added} paths of the module; also different: {", ".join(found) or "none"}'
    )
    return 1 if found or not added else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
