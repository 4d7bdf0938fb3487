"""Cluster log lines and `ceph -s` progress of an operation under way.

Both are informational: no decision depends on them, and nothing waits for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Callable, Generic, NamedTuple, Optional

from ..mgr.protocols import Announcements
from .gates import remedy_for
from .phases import StateT, clip


class Line(NamedTuple):
    """One line of the cluster log."""

    text: str
    warning: bool = False


class Progress(NamedTuple):
    """The progress event in `ceph -s`: its message, and the completed share (0..1)."""

    message: str
    share: float


@dataclass(frozen=True)
class Texts(Generic[StateT]):
    """What one kind of operation says."""

    #: Log lines for the transition between two states, in order; None: the first state.
    lines: Callable[[Optional[StateT], StateT], Iterable[Line]]
    progress: Callable[[StateT], Progress]
    #: Why an ended operation failed; None if it did not.
    failure: Callable[[StateT], Optional[str]]
    #: What the operator has to do, after this manager has seen it wait for so long; None: nothing.
    waiting: Callable[[StateT, float], Optional[str]]
    #: What is done although the state cannot be stored; None: nothing.
    in_danger: Callable[[StateT], Optional[str]] = lambda _: None


class Announcer(Generic[StateT]):
    """Announces every transition of an operation once per manager."""

    def __init__(self, to: Announcements, kind: str, texts: Texts[StateT]) -> None:
        self._to, self._kind, self._texts = to, kind, texts

    def taken_over(self, state: Optional[StateT]) -> None:
        """Show the progress of an operation that another manager started.

        If it ended, that manager may have ended before it could complete the event.
        """
        if state is not None:
            self._show(state)

    def changed(self, before: Optional[StateT], after: StateT) -> None:
        """``before`` is the previously stored state, possibly of an earlier operation."""
        for line in self._texts.lines(before, after):
            self._to.log(f'{self._kind} {after.operation_id}: {clip(line.text)}', line.warning)
        known = before is not None and before.operation_id == after.operation_id and before.ended
        if not (known and after.ended):
            self._show(after)

    def _show(self, state: StateT) -> None:
        event_id = f'rocksdb_tuner-{state.operation_id}'
        if state.ended:
            self._to.end_progress(event_id, self._texts.failure(state))
        else:
            self._to.show_progress(event_id, *self._texts.progress(state))


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
