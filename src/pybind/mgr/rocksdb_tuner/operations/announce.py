"""Cluster log lines and `ceph -s` progress of an operation under way.

Both are informational: no decision depends on them, and nothing waits for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Generic, NamedTuple, Optional

from ..mgr.protocols import Announcements
from .gates import remedy_for
from .phases import StateT


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


#: Recovery after a restart, a scrub that blocks ok-to-stop, and load peaks end sooner than this.
ACTION_AFTER_S = 600.0
#: How long a gate may stay closed. Recovery of an OSD and a scrub end sooner as a rule; the health
#: check can be muted for a longer one.
GATE_ALARM_AFTER_S = 1800.0


def gate_stays_closed(waited_s: float) -> bool:
    return waited_s >= GATE_ALARM_AFTER_S


def with_remedy(reason: str, kind: str, may_abort: bool = True) -> str:
    """A persistent reason to wait, with its remedy."""
    abort = f'"ceph rocksdb-tuner operation abort" ends the {kind}' if may_abort else None
    return '; '.join(part for part in (reason, remedy_for(reason), abort) if part is not None)
