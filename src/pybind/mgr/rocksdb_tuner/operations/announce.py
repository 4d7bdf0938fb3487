"""What an operation tells the cluster while it goes on: the cluster log, and `ceph -s`.

Both are for people who look: nothing is decided from them, and nothing waits for them.
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
    """The event of `ceph -s`: its message, and the share that is done (0..1)."""

    message: str
    share: float


class Announcer(ABC, Generic[StateT]):
    """Tells of every change of an operation once, as far as one manager saw it."""

    def __init__(self, to: Announcements) -> None:
        self._to = to

    def taken_over(self, state: Optional[StateT]) -> None:
        """This manager goes on with what another began: its progress is shown again."""
        if state is not None and not state.ended:
            self._to.show_progress(_event_id(state), *self._progress(state))

    def changed(self, before: Optional[StateT], after: StateT) -> None:
        """``before`` is the state that was stored last, of whatever operation of the kind."""
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
        """What became of it between two states, in the order in which it is told."""

    @abstractmethod
    def _progress(self, state: StateT) -> Progress: ...

    @abstractmethod
    def _failure(self, state: StateT) -> Optional[str]:
        """What went wrong with an operation that ended; None where nothing did."""


def _event_id(state: StateT) -> str:
    return f'rocksdb_tuner-{state.operation_id}'
