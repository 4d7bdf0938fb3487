"""When a compaction campaign requires operator action. Pure.

Slow client writes, which only an operator can accept, and an OSD that went down during its
compaction, which only an operator can restart.
"""

from __future__ import annotations

from typing import Optional

from ..alarm import ACTION_AFTER_S, gate_stays_closed, with_remedy
from .records import CampaignState
from .rules import SLOW_WRITES


def why_waiting(
    state: CampaignState, waited_s: float, gate_alarm_after_s: float = 0.0
) -> Optional[str]:
    """What the operator has to do for a waiting campaign; None if no action is required.

    ``waited_s`` is how long this manager has seen it wait without a step, for a reason the operator
    did not choose; ``gate_alarm_after_s`` is how long a gate may stay closed; 0: no limit.
    """
    reason = state.paused_reason
    if state.ended or reason is None or state.paused_by is not None:
        return None
    if not _needs_action(state, reason):
        if not gate_stays_closed(waited_s, gate_alarm_after_s):
            return None
    elif waited_s < ACTION_AFTER_S:
        return None
    return with_remedy(reason, 'campaign', may_abort=state.ending is None)


def _needs_action(state: CampaignState, reason: str) -> bool:
    down = {f'osd.{osd.osd_id} is down' for osd in state.in_flight}
    return reason.startswith(SLOW_WRITES) or reason in down
