"""Texts in the state of every operation."""

from __future__ import annotations

#: Longest text in a state: texts come from other programs.
TEXT_MAX = 600

OBSERVES_FIRST = 'this manager has just become active and samples first'


def paused_text(actor: str) -> str:
    return f'paused by {actor}'


def clip(text: str, most: int = TEXT_MAX) -> str:
    return text if len(text) <= most else text[: most - 3] + '...'
