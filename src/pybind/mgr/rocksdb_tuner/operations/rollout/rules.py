"""What every part of the machine goes by: time limits, and whether anything may be changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Optional

from ...plan.actions import Action, RemoveEntry, RestartOsd, SetEntry
from .. import step
from ..gates import NOT_ALLOWED, closed_gate
from ..texts import paused_text
from .observation import Observation
from .records import Direction, RolloutState
from .states import waiting


@dataclass(frozen=True)
class Limits:
    """How long is waited for what, in seconds as seen by one manager."""

    #: A manager that became active looks this long before it does anything.
    look_first_s: float = 10.0
    #: The process must have given way this long after a restart was asked for.
    restart_s: float = 300.0
    #: A process that is down must be up again within this time.
    boot_s: float = 300.0
    #: One whose process runs is left alone; after this time the operator is asked.
    boot_most_s: float = 3600.0
    #: What the manager shows of a new process may be what the one before it reported: it is not
    #: believed before this time (mgr_stats_period).
    report_s: float = 5.0
    #: A new process must report the right options within this time.
    verify_s: float = 60.0
    #: The same of its placement groups, for which the manager needs one more report.
    settle_s: float = 5.0
    #: A restart that was refused is asked for again after this time.
    retry_s: float = 30.0
    #: A monitor may answer from just before the last change: an unexpected entry, or a value
    #: that should have gone, must be seen for this long.
    confirm_s: float = 2.0
    #: Actions that fail in a row before the rollout says so.
    tries: int = 3
    #: An OSD that goes down this often after having come up is taken to crash.
    flaps: int = 2


class Step(step.Step[RolloutState, Action]):
    """The next state of a rollout, and at most one action."""


@dataclass(frozen=True)
class Rules:
    """``same_meaning`` tells whether two option strings configure RocksDB alike."""

    same_meaning: Callable[[str, str], bool]
    limits: Limits = field(default_factory=Limits)
    #: What continues after an OSD was restarted by hand.
    operation: str = 'rollout'


def why_held(state: RolloutState, seen: Observation) -> Optional[str]:
    """Why nothing may be changed now, whatever it is."""
    if state.direction is Direction.RECOVER:
        return None
    if state.paused_by is not None:
        return paused_text(state.paused_by)
    return None if seen.may_act else NOT_ALLOWED


def stays_in_mode_off(state: RolloutState, action: Action, seen: Observation) -> bool:
    """Whether an action that was decided before mode off is not to be sent after it.

    What brings back an OSD that failed is: its entry, and its start if it is down. One that is up
    serves, with whatever options: it is not stopped.
    """
    if state.direction is not Direction.RECOVER:
        return True
    if not isinstance(action, RestartOsd):
        return False
    info = seen.osd(action.osd_id)
    return info is None or info.up


def why_closed(state: RolloutState, osd_id: int, seen: Observation) -> Optional[str]:
    """Why this OSD may not be restarted now."""
    return why_held(state, seen) or closed_gate(seen, osd_id)


def trouble_of(rules: Rules, state: RolloutState) -> Optional[str]:
    if state.errors < rules.limits.tries:
        return None
    return f'{state.errors} attempts failed, retrying: {state.last_error}'


def with_trouble(rules: Rules, state: RolloutState) -> RolloutState:
    """The state, waiting with the last error once an action has failed too often."""
    trouble = trouble_of(rules, state)
    return state if trouble is None else waiting(state, trouble)


def write(
    rules: Rules, state: RolloutState, seen: Observation, who: str, value: Optional[str]
) -> Step:
    held = why_held(state, seen)
    if held is not None:
        return Step(waiting(state, held))
    return Step(with_trouble(rules, state), (entry_action(who, value),))


def entry_action(who: str, value: Optional[str]) -> Action:
    """The action that makes the entry of ``who`` hold ``value``; None: be gone."""
    return RemoveEntry(who) if value is None else SetEntry(who, value)
