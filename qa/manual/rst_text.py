"""Pieces of pages of the manual that are written from the module's own knowledge."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

WIDTH = 79


def heading(text: str, mark: str, *, over: bool = False) -> str:
    line = mark * len(text)
    return f'{line}\n{text}\n{line}\n' if over else f'{text}\n{line}\n'


def escaped(text: str) -> str:
    """Text without markup."""
    return ''.join('\\' + mark if mark in '*`|\\_' else mark for mark in text)


def wrapped(text: str, indent: str) -> str:
    lines: Iterable[str] = textwrap.wrap(
        text,
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    return '\n'.join(lines)
