"""When a rollout requires operator action: failed, rolled back by its verdict, or waiting."""

from __future__ import annotations

from typing import Optional

from ...judge.records import Verdict
from ..alarm import ACTION_AFTER_S, gate_stays_closed, with_remedy
from ..phases import Outcome, Phase
from .records import Direction, RolloutState
from .rules import restoring_command
from .soak import undecided
from .states import UNCHANGED, in_flight


def why_failed(state: RolloutState) -> Optional[str]:
    """Why an ended rollout failed; None if it ended as intended."""
    if state.stage is Phase.FAILED:
        changed = any(osd.step not in UNCHANGED for osd in state.osds)
        # The operator knows about an abort; OSDs that stay changed must not be forgotten.
        if state.outcome is not Outcome.ABORTED or changed:
            return state.failure or 'no reason was recorded'
    if state.stage is Phase.ROLLED_BACK and state.verdict is Verdict.WORSE:
        return state.failure or 'rolled back by the verdict'
    return None


def in_danger(state: RolloutState) -> Optional[str]:
    """What is done with the OSD in flight although the state cannot be stored."""
    osd = in_flight(state)
    if osd is None:
        return None
    command = restoring_command(state, osd.osd_id)
    return (
        f'osd.{osd.osd_id} is finished all the same: if it does not start, "{command}" is run, and '
        'the OSD is started again'
    )


def why_waiting(state: RolloutState, waited_s: float) -> Optional[str]:
    """What the operator has to do for a waiting rollout; None if no action is required.

    ``waited_s`` is how long this manager has seen it wait without a step, for a reason the operator
    did not choose.
    """
    # A pause requires no action, unless an OSD is being restored in spite of it.
    paused = state.paused_by is not None and state.direction is not Direction.RECOVER
    if state.ended or state.paused_reason is None or paused:
        return None
    # An OSD in the middle of its change may not wait as long for a gate as one before it.
    in_the_middle = in_flight(state) is not None and waited_s >= ACTION_AFTER_S
    if undecided(state) or state.errors > 0 or in_the_middle:
        return state.paused_reason
    if gate_stays_closed(waited_s):
        return with_remedy(state.paused_reason, 'rollout')
    return None
