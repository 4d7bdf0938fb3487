"""When an experiment requires operator action: failed, or waiting. Pure."""

from __future__ import annotations

from typing import Optional

from ..announce import ACTION_AFTER_S, gate_stays_closed, with_remedy
from ..rollout.records import Direction, in_flight
from .records import ExperimentState, LegKind, Stage


def why_failed(state: ExperimentState) -> Optional[str]:
    """The failure of an ended experiment; None if it completed or was aborted."""
    if state.stage is Stage.FAILED:
        return state.failure or 'no reason was recorded'
    return None


def why_waiting(state: ExperimentState, waited_s: float) -> Optional[str]:
    """What the operator has to do for a waiting experiment; None if no action is required.

    ``waited_s`` is how long this manager has seen it wait without a step, for a reason the operator
    did not choose.
    """
    leg = state.leg
    recovering = leg is not None and leg.direction is Direction.RECOVER
    paused = state.paused_by is not None and not recovering
    if state.ended or state.paused_reason is None or paused:
        return None
    if leg is not None:
        # An OSD in the middle of its change may not wait as long for a gate as one before it.
        in_the_middle = in_flight(leg) is not None and waited_s >= ACTION_AFTER_S
        if leg.errors > 0 or in_the_middle:
            return state.paused_reason
    if gate_stays_closed(waited_s):
        may_abort = state.leg_kind is not LegKind.RESTORE
        return with_remedy(state.paused_reason, 'experiment', may_abort)
    return None
