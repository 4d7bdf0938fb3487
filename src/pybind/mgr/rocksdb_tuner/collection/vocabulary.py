"""Words that name nothing of a cluster: what Ceph defines, and what the module itself can say.

A text in which no other word is left tells nothing that a person named. So that no list of words
has to follow the sentences, they are taken from the module's own code.
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

#: What is looked at as one word; a name with other characters in it is several.
TOKEN = re.compile(r"""[^\s,;={}()\[\]<>"'`|]+""")
#: Of a sentence, at either end of a word.
PUNCTUATION = '.:!?*#+-_~/\\&'
_PACKAGE = Path(__file__).resolve().parents[1]


@lru_cache(maxsize=1)
def ceph_words() -> frozenset[str]:
    """Names that Ceph and RocksDB define, in small letters: these stay, whatever hosts are called.

    Options of RocksDB and of BlueStore beside them, device classes, flags, releases.
    """
    defined = {name.lower() for name in all_options()}
    for value in loader.load('ceph_words').values():
        if isinstance(value, list):
            defined.update(word.lower() for word in value)
    return frozenset(defined)


@lru_cache(maxsize=1)
def words() -> frozenset[str]:
    """All words that may stand in a text, in small letters."""
    found = set(ceph_words())
    for path in (_PACKAGE / 'knowledge').glob('*.json'):
        found.update(_words_in(loader.load(path.stem)))
    for path in _PACKAGE.rglob('*.py'):
        if 'tests' in path.relative_to(_PACKAGE).parts:
            continue
        try:
            code = SourceFileLoader(path.stem, str(path)).get_code(path.stem)
        except (ImportError, OSError, SyntaxError) as error:
            # Being replaced: its sentences lose words, and nothing is shown that should not be.
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
    """Which constant it is, where there is one: examples in it bear names as clusters have them."""
    if code.co_flags & CO_OPTIMIZED:
        # Of a function; what stands within one ("<genexpr>") has none.
        return None if code.co_name.startswith('<') else 0
    if '__doc__' not in code.co_names:
        return None
    return 0 if code.co_name == '<module>' else 1
