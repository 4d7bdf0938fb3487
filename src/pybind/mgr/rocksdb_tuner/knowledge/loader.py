"""Reads a knowledge file that is installed next to this one.

JSON Schemas are not checked here: not every release's mgr has jsonschema, and the files are
installed with the module. The tests validate each file with its schema.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).resolve().parent


def load_all() -> None:
    """Read every file now, so that none is missing if they are replaced under a running mgr."""
    for path in _FOLDER.glob('*.json'):
        load(path.stem)


@cache
def load(name: str) -> Any:
    """The content of ``knowledge/<name>.json``, read once; must not be changed."""
    with (_FOLDER / f'{name}.json').open(encoding='utf-8') as file:
        return json.load(file)
