"""Small questions about the state of a rollout, and small changes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from ..phases import Outcome, Phase
from ..texts import clip, paused_text
from .records import Direction, Ending, OsdProgress, OsdStep, RolloutState

#: Nothing was changed of an OSD in these steps, or nothing is any more.
UNCHANGED = frozenset({OsdStep.PENDING, OsdStep.RESTORED, OsdStep.LEFT_BEHIND})

_WATCHED = frozenset({OsdStep.RESTARTING, OsdStep.CHECKING, OsdStep.SETTLING})
_ACTED_ON = frozenset(
    {
        OsdStep.SETTING,
        OsdStep.RESTORING,
        OsdStep.RESTART_DUE,
        OsdStep.COLLAPSING,
        OsdStep.SHIELDING,
    }
)


def in_flight(state: RolloutState) -> Optional[OsdProgress]:
    """The one OSD that something is being done to."""
    for steps in (_WATCHED, _ACTED_ON):
        for osd in state.osds:
            if osd.step in steps:
                return osd
    return None


def first_at(state: RolloutState, step: OsdStep) -> Optional[OsdProgress]:
    return next((osd for osd in state.osds if osd.step is step), None)


def others_changed(state: RolloutState, osd_id: Optional[int] = None) -> bool:
    """Whether anything was changed of an OSD other than this one."""
    return any(osd.step not in UNCHANGED for osd in state.osds if osd.osd_id != osd_id)


def the_ending(state: RolloutState) -> Ending:
    """How a recovery ends: it always begins with one."""
    assert state.ending is not None
    return state.ending


def with_osd(state: RolloutState, osd: OsdProgress, errors: int = 0) -> RolloutState:
    """The state with one OSD a step further; a step further also ends a row of errors."""
    return replace(
        state,
        osds=tuple(osd if o.osd_id == osd.osd_id else o for o in state.osds),
        errors=errors,
        last_error=state.last_error if errors else None,
    )


def waiting(state: RolloutState, reason: str) -> RolloutState:
    return replace(state, paused_reason=clip(reason))


def ended(state: RolloutState, ending: Ending) -> RolloutState:
    """The end before everything was done; `foreign.told_what_stays` says what is left."""
    told = f'{state.failure}; {ending.reason}' if state.failure else ending.reason
    return replace(finished(state, Phase.FAILED, ending.outcome), failure=clip(told))


def finished(state: RolloutState, stage: Phase, outcome: Outcome) -> RolloutState:
    return replace(
        state,
        stage=stage,
        outcome=outcome,
        ending=None,
        suspicion=None,
        paused_by=None,
        paused_reason=None,
    )


def stamped(old: RolloutState, new: RolloutState, now_s: float) -> RolloutState:
    # The recovery of an OSD goes on in spite of a pause, and says itself what it waits for.
    if new.paused_by is not None and not new.ended and new.direction is not Direction.RECOVER:
        new = replace(new, paused_reason=paused_text(new.paused_by))
    return new if new == old else replace(new, updated_s=now_s)
