"""Queries and transitions of the state of a rollout."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from ..phases import Outcome, Phase
from ..texts import clip, paused_text
from .records import Direction, Ending, OsdProgress, OsdStep, RolloutState

#: Steps of an OSD that is not changed, or no longer.
UNCHANGED = frozenset({OsdStep.PENDING, OsdStep.RESTORED, OsdStep.LEFT_BEHIND})


def in_flight(state: RolloutState) -> Optional[OsdProgress]:
    """The one OSD being changed."""
    return state.in_flight


def first_at(state: RolloutState, step: OsdStep) -> Optional[OsdProgress]:
    return next((osd for osd in state.osds if osd.step is step), None)


def others_changed(state: RolloutState, osd_id: Optional[int] = None) -> bool:
    """Whether any OSD other than this one is changed."""
    return any(osd.step not in UNCHANGED for osd in state.osds if osd.osd_id != osd_id)


def recovery_ending(state: RolloutState) -> Ending:
    """The ending of a recovery, which always has one."""
    assert state.ending is not None
    return state.ending


def with_osd(state: RolloutState, osd: OsdProgress, errors: int = 0) -> RolloutState:
    """The state with one OSD advanced, which also resets the error count."""
    return replace(
        state,
        osds=tuple(osd if o.osd_id == osd.osd_id else o for o in state.osds),
        errors=errors,
        last_error=state.last_error if errors else None,
    )


def waiting(state: RolloutState, reason: str) -> RolloutState:
    return replace(state, paused_reason=clip(reason))


def ended(state: RolloutState, ending: Ending) -> RolloutState:
    """The premature end; `conflicts.describe_leftovers` adds the remaining changes."""
    failure = f'{state.failure}; {ending.reason}' if state.failure else ending.reason
    return replace(finished(state, Phase.FAILED, ending.outcome), failure=clip(failure))


def finished(state: RolloutState, stage: Phase, outcome: Outcome) -> RolloutState:
    return replace(
        state,
        stage=stage,
        outcome=outcome,
        ending=None,
        pending_conflict=None,
        paused_by=None,
        paused_reason=None,
    )


def stamped(old: RolloutState, new: RolloutState, now_s: float) -> RolloutState:
    # The recovery of an OSD continues in spite of a pause, with its own reason to wait.
    if new.paused_by is not None and not new.ended and new.direction is not Direction.RECOVER:
        new = replace(new, paused_reason=paused_text(new.paused_by))
    return new if new == old else replace(new, updated_s=now_s)
