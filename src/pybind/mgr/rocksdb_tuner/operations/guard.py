"""Isolates an operation from failures in verdicts and announcements."""

from __future__ import annotations

from typing import Callable, Protocol, TypeVar

_T = TypeVar('_T')


class Guard(Protocol):
    def value(self, step: str, work: Callable[[], _T], otherwise: _T) -> _T:
        """The result of ``work``, or ``otherwise`` if it raises."""


class Unguarded:
    def value(self, step: str, work: Callable[[], _T], otherwise: _T) -> _T:  # noqa: ARG002
        return work()
