"""Cluster log lines and `ceph -s` progress of an operation under way.

Both are informational: no decision depends on them, and nothing waits for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Callable, Generic, NamedTuple, Optional

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
