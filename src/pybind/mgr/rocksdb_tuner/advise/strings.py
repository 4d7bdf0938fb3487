"""Cached functions of option strings.

A cluster runs a handful of strings, each of which is evaluated for every OSD at every tick; one
evaluation takes up to milliseconds.
"""

from __future__ import annotations

from functools import lru_cache

from ..options import checks, grammar, syntax

_remembered = lru_cache(maxsize=1024)

check = _remembered(checks.check)
safe_to_apply = _remembered(checks.safe_to_apply)
same_meaning = _remembered(grammar.same_meaning)
parse = _remembered(syntax.parse)
