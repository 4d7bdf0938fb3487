"""When a compaction campaign requires operator action. Pure.

A closed gate is no alarm at once: that is what gates are for. One that stays closed is, and so are
slow writes of clients, which only an operator can accept, and an OSD that went down in the middle
of its compaction, which nobody else starts.
"""

from __future__ import annotations

from typing import Optional

from ..gates import way_out
from .records import CampaignState
from .rules import SLOW_WRITES

#: Load peaks and restarts are over sooner.
ACTION_AFTER_S = 600.0


def why_waiting(
    state: CampaignState, waited_s: float, gate_alarm_after_s: float = 0.0
) -> Optional[str]:
    """What the operator has to do for a campaign that waits; None where it needs nobody.

    ``waited_s`` is how long this manager has seen it wait without a step, for what the operator did
    not choose; ``gate_alarm_after_s`` how long a gate may stay closed, 0 for ever.
    """
    reason = state.paused_reason
    if state.ended or reason is None or state.paused_by is not None:
        return None
    if not _needs_action(state, reason):
        if not 0 < gate_alarm_after_s <= waited_s:
            return None
    elif waited_s < ACTION_AFTER_S:
        return None
    give_up = '"ceph rocksdb-tuner rollout abort" ends the campaign'
    parts = (reason, way_out(reason), None if state.ending is not None else give_up)
    return '; '.join(part for part in parts if part is not None)


def _needs_action(state: CampaignState, reason: str) -> bool:
    down = {f'osd.{osd.osd_id} is down' for osd in state.in_flight}
    return reason.startswith(SLOW_WRITES) or reason in down
