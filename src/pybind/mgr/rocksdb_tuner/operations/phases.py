"""Phases and outcomes of every operation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Callable, Generic, Optional, Protocol, TypeVar, cast


class Phase(str, Enum):
    """Phase of an operation, as in `operation status`."""

    PLANNED = 'planned'
    PREFLIGHT = 'preflight'
    CANARY = 'canary'
    SOAKING = 'soaking'
    JUDGING = 'judging'
    PROMOTING = 'promoting'
    COLLAPSING = 'collapsing'
    DONE = 'done'
    ROLLING_BACK = 'rolling-back'
    ROLLED_BACK = 'rolled-back'
    #: For the operator or a gate; see `paused_reason` of the state.
    WAITING = 'waiting'
    FAILED = 'failed'


#: Phases that only a rollback can follow.
FINAL_PHASES = frozenset({Phase.DONE, Phase.ROLLED_BACK, Phase.FAILED})


class Outcome(str, Enum):
    """Outcome of a change, as in `history`."""

    DONE = 'done'
    ROLLED_BACK = 'rolled-back'
    FAILED = 'failed'
    ABORTED = 'aborted'
    #: Not ended yet.
    WAITING = 'waiting'


#: Longest text in a state: texts come from other programs.
TEXT_MAX = 600

OBSERVES_FIRST = 'this manager has just become active and samples first'


def paused_text(actor: str) -> str:
    return f'paused by {actor}'


def clip(text: str, most: int = TEXT_MAX) -> str:
    return text if len(text) <= most else text[: most - 3] + '...'


class OperationRefused(Exception):  # noqa: N818 - an answer to the operator, not an error
    """A request was refused and nothing changed. ``errno`` is positive."""

    def __init__(self, errno: int, message: str) -> None:
        super().__init__(message)
        self.errno = errno
        self.message = message


class OperationState(Protocol):
    """Immutable state of one operation: everything that is stored."""

    @property
    def operation_id(self) -> str:
        """Unique among all operations of the module."""

    @property
    def request(self) -> Any:
        """What an operator asked for, and who."""

    @property
    def updated_s(self) -> float:
        """Time of the last change, for display."""

    @property
    def paused_by(self) -> Optional[str]:
        """Who paused it."""

    @property
    def paused_reason(self) -> Optional[str]:
        """Why it waits; None while it does not."""

    @property
    def ended(self) -> bool:
        """No step follows."""


StateT = TypeVar('StateT', bound=OperationState)
ActionT = TypeVar('ActionT')


def changed(state: StateT, **fields: object) -> StateT:
    return cast('StateT', replace(cast('Any', state), **fields))


def paused(state: StateT, actor: str, now_s: float) -> StateT:
    """Start nothing until `resumed`."""
    return changed(state, paused_by=actor, paused_reason=paused_text(actor), updated_s=now_s)


def resumed(state: StateT, now_s: float, **fields: object) -> StateT:
    return changed(state, paused_by=None, paused_reason=None, updated_s=now_s, **fields)


def stamped(old: StateT, new: StateT, now_s: float, *, held: bool) -> StateT:
    """The next state with its time; a pause that has ``held`` it is what it waits for."""
    if new.paused_by is not None and held:
        new = changed(new, paused_reason=paused_text(new.paused_by))
    return new if new == old else changed(new, updated_s=now_s)


@dataclass(frozen=True)
class Step(Generic[StateT, ActionT]):
    state: StateT
    #: At most one.
    actions: tuple[ActionT, ...] = ()


@dataclass(frozen=True)
class Permission:
    """Whether an operation may start anything now; decided once per tick, apart from the cluster.

    A rollback does not wait for ``reports_unknown``.
    """

    #: False: changes are disabled by the mode. Only the recovery of a failed OSD continues.
    may_act: bool = True
    #: Why no further OSD may start: the maintenance window, the daily limit, or the state of the
    #: module.
    outside_window: Optional[str] = None
    #: Maximum of restarts in 24 hours; 0: no limit.
    restarts_per_day: int = 0
    #: Why this manager has no current OSD reports; None if it has.
    no_reports_reason: Optional[str] = None
    #: Why it does not know yet whether it has.
    reports_unknown: Optional[str] = None
    #: Whether this manager has a current sample of an OSD.
    has_sample: Callable[[int], bool] = lambda _: False
    #: How long this manager has been observing.
    watched_s: float = 0.0
