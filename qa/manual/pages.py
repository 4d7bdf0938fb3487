"""The pages of the manual, and the references that are made when it is built.

The names of the references end in ``.inc.rst``, which Ceph's own build does not take for pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from . import commands, findings, pictures, rocksdb_options

CHECKOUT = Path(__file__).resolve().parents[2]
DOC = CHECKOUT / 'doc'
#: Below `DOC`, as in Ceph's tree.
MANUAL = Path('mgr/rocksdb_tuner')
#: The maximum length of the manual without its references.
WORDS_MAX = 9000

_PICTURE = re.compile(r'^\.\. graphviz::\n(?:\n| +.*\n)*', re.MULTILINE)

REFERENCES: Mapping[str, Callable[[], str]] = {
    'commands.inc.rst': commands.reference,
    'dashboard-pictures.inc.rst': pictures.dashboards,
    'findings.inc.rst': findings.reference,
    'rocksdb-options.inc.rst': rocksdb_options.reference,
}


def pages() -> Mapping[str, str]:
    """The text of each page by its name, in the order of the manual."""
    folder = DOC / MANUAL
    index = (folder / 'index.rst').read_text(encoding='utf-8')
    toctree = index.partition('toctree::')[2]
    listed = re.findall(r'^   (?:[^<\n]*<)?([\w-]+)>?$', toctree, re.MULTILINE)
    texts = {name: (folder / f'{name}.rst').read_text(encoding='utf-8') for name in listed}
    return {'index': index, **texts}


def words(text: str) -> int:
    """Words that are read: without the source of pictures, directives, labels and underlines."""
    read = _PICTURE.sub('', text)
    read = re.sub(r'^ *(?:\.\. .*|:[\w-]+:.*|=+|-+|::)$', '', read, flags=re.MULTILINE)
    return sum(any(mark.isalnum() for mark in word) for word in read.split())


def write_references(folder: Path) -> None:
    for name, reference in REFERENCES.items():
        (folder / name).write_text(reference(), encoding='utf-8')
