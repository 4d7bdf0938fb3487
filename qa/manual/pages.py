"""The pages of the manual, and the parts of them that are made from the module.

These parts are committed, so that the pages are whole wherever they are read. ``make manual``
writes them, and a test compares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from . import commands, findings, module_options, rocksdb_options

CHECKOUT = Path(__file__).resolve().parents[2]
DOC = CHECKOUT / 'doc'
#: Below `DOC`, as in Ceph's tree.
MANUAL = Path('mgr/rocksdb_tuner')
#: The maximum length of the manual without its references.
WORDS_MAX = 9000

_PICTURE = re.compile(r'^\.\. graphviz::\n(?:\n| +.*\n)*', re.MULTILINE)

#: What follows on a page is made from the module.
MADE = '.. Made from the module by "make manual".\n\n'
REFERENCES: Mapping[str, Callable[[], str]] = {
    'commands': commands.reference,
    'findings': findings.reference,
    'options': module_options.reference,
    'rocksdb-options': rocksdb_options.reference,
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
    """Words that are read: without references, sources of pictures, directives and underlines."""
    read = _PICTURE.sub('', text.partition(MADE)[0])
    read = re.sub(r'^ *(?:\.\. .*|:[\w-]+:.*|=+|-+|::)$', '', read, flags=re.MULTILINE)
    return sum(any(mark.isalnum() for mark in word) for word in read.split())


def whole(name: str, page: str) -> str:
    """The page with its reference as it is now."""
    return page.partition(MADE)[0] + MADE + REFERENCES[name]()


def write_references() -> None:
    for name in REFERENCES:
        path = DOC / MANUAL / f'{name}.rst'
        path.write_text(whole(name, path.read_text(encoding='utf-8')), encoding='utf-8')
