"""Cluster log lines and `ceph -s` progress of an operation under way.

Both are informational: no decision depends on them, and nothing waits for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Generic, NamedTuple, Optional

from ..mgr.protocols import Announcements
from .step import StateT


class Line(NamedTuple):
    """One line of the cluster log."""

    text: str
    warning: bool = False


class Progress(NamedTuple):
    """The progress event in `ceph -s`: its message, and the completed share (0..1)."""

    message: str
    share: float


class Announcer(ABC, Generic[StateT]):
    """Announces every transition of an operation once per manager."""

    def __init__(self, to: Announcements) -> None:
        self._to = to

    def taken_over(self, state: Optional[StateT]) -> None:
        """Show the progress of an operation that another manager started."""
        if state is not None and not state.ended:
            self._to.show_progress(_event_id(state), *self._progress(state))

    def changed(self, before: Optional[StateT], after: StateT) -> None:
        """``before`` is the previously stored state, possibly of an earlier operation."""
        for line in self._lines(before, after):
            self._to.log(line.text, line.warning)
        if not after.ended:
            self._to.show_progress(_event_id(after), *self._progress(after))
        elif before is None or before.operation_id != after.operation_id or not before.ended:
            self._end(after)

    def _end(self, state: StateT) -> None:
        self._to.end_progress(_event_id(state), self._failure(state))

    @abstractmethod
    def _lines(self, before: Optional[StateT], after: StateT) -> Iterator[Line]:
        """Log lines for the transition between two states, in order."""

    @abstractmethod
    def _progress(self, state: StateT) -> Progress:
        """Text and share of the progress event."""

    @abstractmethod
    def _failure(self, state: StateT) -> Optional[str]:
        """Why an ended operation failed; None if it did not."""


def _event_id(state: StateT) -> str:
    return f'rocksdb_tuner-{state.operation_id}'
