"""Words that cannot identify a cluster: Ceph's own names, and words in the module's messages.

A text of only these words contains no name that a person chose. The words are extracted from the
module's own code, so no list has to be maintained.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType
from typing import Optional

from ..knowledge import loader
from ..options.verdict import all_options

__all__ = ['TOKEN', 'ceph_words', 'words']

log = logging.getLogger(__name__)

#: A word; a name with other characters counts as several words.
TOKEN = re.compile(r"""[^\s,;={}()\[\]<>"'`|]+""")
#: Punctuation at either end of a word.
PUNCTUATION = '.:!?*#+-_~/\\&'
_PACKAGE = Path(__file__).resolve().parents[1]


@lru_cache(maxsize=1)
def ceph_words() -> frozenset[str]:
    """Names that Ceph and RocksDB define, in lower case; never replaced, even if a host has one.

    Options of RocksDB and related Ceph options, device classes, flags, releases.
    """
    defined = {name.lower() for name in all_options()}
    for value in loader.load('ceph_words').values():
        if isinstance(value, list):
            defined.update(word.lower() for word in value)
    return frozenset(defined)


@lru_cache(maxsize=1)
def words() -> frozenset[str]:
    """All words allowed in a text, in lower case."""
    found = set(ceph_words())
    for path in (_PACKAGE / 'knowledge').glob('*.json'):
        found.update(_words_in(loader.load(path.stem)))
    for path in _PACKAGE.rglob('*.py'):
        if 'tests' in path.relative_to(_PACKAGE).parts:
            continue
        try:
            code = SourceFileLoader(path.stem, str(path)).get_code(path.stem)
        except (ImportError, OSError, SyntaxError) as error:
            # Being upgraded: its messages lose words, but no name gets through.
            log.debug('no words of %s: %s', path.name, error)
            continue
        found.update(_words_in(code))
    return frozenset(found - {''})


def _words_in(value: object) -> Iterator[str]:
    for text in _texts_in(value):
        if '://' in text:
            continue
        for match in TOKEN.finditer(text):
            word = match[0].lower()
            yield word
            yield word.strip(PUNCTUATION)
            yield from (part.strip(PUNCTUATION) for part in re.split('[/:]', word))


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, CodeType):
        described = _docstring(value)
        for place, constant in enumerate(value.co_consts):
            if place != described:
                yield from _texts_in(constant)
    elif isinstance(value, dict):
        yield from _texts_in((*value, *value.values()))
    elif isinstance(value, (list, tuple, frozenset)):
        for item in value:
            yield from _texts_in(item)


def _docstring(code: CodeType) -> Optional[int]:
    """Index of the docstring among the constants, if any: its examples may contain real names."""
    if code.co_flags & CO_OPTIMIZED:
        # A function; nested code such as "<genexpr>" has no docstring.
        return None if code.co_name.startswith('<') else 0
    if '__doc__' not in code.co_names:
        return None
    return 0 if code.co_name == '<module>' else 1
