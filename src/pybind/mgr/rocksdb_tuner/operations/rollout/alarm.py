"""When a rollout needs the operator: failed, rolled back by its verdict, or waiting for a hand.

A gate that is closed while no OSD is in the middle of its change is no alarm at once: that is what
gates are for. One that stays closed is: a rollout that waits for hours is not to do so in silence.
"""

from __future__ import annotations

from typing import Optional

from ...judge.records import Verdict
from ..gates import remedy_of
from ..phases import Outcome, Phase
from .records import Direction, RolloutState
from .soak import undecided
from .states import UNCHANGED, in_flight

#: An OSD in the middle of its change waits this long for a gate before that is an alarm: the
#: recovery after a restart, or a scrub that ok-to-stop minds, is over sooner.
IN_THE_MIDDLE_S = 600.0


def why_failed(state: RolloutState) -> Optional[str]:
    """What went wrong with a rollout that ended; None where it ended as somebody wanted."""
    if state.stage is Phase.FAILED:
        changed = any(osd.step not in UNCHANGED for osd in state.osds)
        # Whoever aborts it knows; what stays changed on some OSDs is not to be forgotten.
        if state.outcome is not Outcome.ABORTED or changed:
            return state.failure or 'no reason was recorded'
    if state.stage is Phase.ROLLED_BACK and state.verdict is Verdict.WORSE:
        return state.failure or 'rolled back by the verdict'
    return None


def why_waiting(
    state: RolloutState, waited_s: float, gate_alarm_after_s: float = 0.0
) -> Optional[str]:
    """What the operator has to do for a rollout that waits; None where it needs nobody.

    ``waited_s`` is how long this manager has seen it wait without a step, for what the operator did
    not choose; ``gate_alarm_after_s`` how long that may be so, 0 for ever.
    """
    # What was paused needs nobody, but for an OSD that is put back in spite of that.
    paused = state.paused_by is not None and state.direction is not Direction.RECOVER
    if state.ended or state.paused_reason is None or paused:
        return None
    in_the_middle = in_flight(state) is not None and waited_s >= IN_THE_MIDDLE_S
    if undecided(state) or state.errors > 0 or in_the_middle:
        return state.paused_reason
    if 0 < gate_alarm_after_s <= waited_s:
        return f'{state.paused_reason}; {remedy_of(state.paused_reason)}'
    return None
