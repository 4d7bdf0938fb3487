"""Rules shared by all parts of the state machine: time limits, and whether changes are allowed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Optional

from ...observe.report_interval import DEFAULT
from ...plan.commands import Action, RemoveEntry, RestartOsd, SetEntry, entry_command
from ...plan.entries import own
from .. import step
from ..gates import NOT_ALLOWED, closed_gate
from ..texts import paused_text
from .observation import Observation
from .records import Direction, RolloutState
from .states import waiting

#: A new process reports the right options within this time, and the time by which reports are late.
VERIFY_S = 60.0


@dataclass(frozen=True)
class Limits:
    """Time limits, in seconds as seen by one manager."""

    #: How long a newly active manager observes before it acts.
    observe_first_s: float = 10.0
    #: The old process must be gone this long after a restart was requested.
    restart_s: float = 300.0
    #: A process that is down must be up again within this time.
    boot_s: float = 300.0
    #: How long an OSD with a running process may be down; then operator action is required.
    boot_most_s: float = 3600.0
    #: Until this time after a start, the manager may still show the values of the previous process.
    report_s: float = DEFAULT.interval_s
    #: A new process must report the right options within this time.
    verify_s: float = VERIFY_S
    #: A refused restart is requested again after this time.
    retry_s: float = 30.0
    #: A monitor may answer with the state before the last change: an unexpected entry or value
    #: must be seen for this long.
    confirm_s: float = 2.0
    #: Consecutive failed actions before the rollout reports the error.
    tries: int = 3
    #: An OSD that goes down more often than this after coming up counts as crashing.
    flaps: int = 2


class Step(step.Step[RolloutState, Action]):
    """The next state of a rollout, and at most one action."""


@dataclass(frozen=True)
class Rules:
    """``same_meaning``: whether two option strings configure RocksDB identically."""

    same_meaning: Callable[[str, str], bool]
    limits: Limits = field(default_factory=Limits)
    #: What continues after an OSD was restarted manually.
    operation: str = 'rollout'


def why_held(state: RolloutState, seen: Observation) -> Optional[str]:
    """Why no change is allowed now; None if changes are."""
    if state.direction is Direction.RECOVER:
        return None
    if state.paused_by is not None:
        return paused_text(state.paused_by)
    return None if seen.may_act else NOT_ALLOWED


def suppressed_in_mode_off(state: RolloutState, action: Action, seen: Observation) -> bool:
    """Whether an action decided before mode off must not be sent any more.

    The recovery of a failed OSD continues: its entry is restored, and it is started if it is down.
    An OSD that is up is not restarted.
    """
    if state.direction is not Direction.RECOVER:
        return True
    if not isinstance(action, RestartOsd):
        return False
    info = seen.osd(action.osd_id)
    return info is None or info.up


def why_closed(state: RolloutState, osd_id: int, seen: Observation) -> Optional[str]:
    """Why this OSD may not be restarted now; None if it may."""
    return why_held(state, seen) or seen.unstartable.get(osd_id) or closed_gate(seen, osd_id)


def repeated_error(rules: Rules, state: RolloutState) -> Optional[str]:
    if state.errors < rules.limits.tries:
        return None
    return f'{state.errors} attempts failed, retrying: {state.last_error}'


def waiting_on_error(rules: Rules, state: RolloutState) -> RolloutState:
    """The state, waiting with the last error after too many failures."""
    error = repeated_error(rules, state)
    return state if error is None else waiting(state, error)


def write(
    rules: Rules, state: RolloutState, seen: Observation, who: str, value: Optional[str]
) -> Step:
    held = why_held(state, seen)
    if held is not None:
        return Step(waiting(state, held))
    return Step(waiting_on_error(rules, state), (entry_action(who, value),))


def restoring_command(state: RolloutState, osd_id: int) -> str:
    """The command that restores the recorded entry of an OSD."""
    who = own(osd_id)
    return entry_command(entry_action(who, state.before.entry(who)), state.request.option)


def entry_action(who: str, value: Optional[str]) -> Action:
    """The action that sets the entry of ``who`` to ``value``; None: removes it."""
    return RemoveEntry(who) if value is None else SetEntry(who, value)
