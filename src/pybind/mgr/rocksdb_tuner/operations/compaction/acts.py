"""What comes from outside: the acts of operators, and questions that failed."""

from __future__ import annotations

from dataclasses import replace

from ..phases import Phase
from ..texts import clip, paused_text
from .records import CampaignState
from .states import concluded


def paused(state: CampaignState, actor: str, now_s: float) -> CampaignState:
    """Nothing more is begun until `resumed`."""
    return replace(state, paused_by=actor, paused_reason=paused_text(actor), updated_s=now_s)


def resumed(state: CampaignState, now_s: float) -> CampaignState:
    """Go on, and take the clients' latency of now for what it is without a compaction."""
    stage = state.stage if state.in_flight else Phase.PREFLIGHT
    return replace(
        state,
        stage=stage,
        baseline_ms=state.baseline_ms if state.in_flight else None,
        paused_by=None,
        paused_reason=None,
        errors=0,
        updated_s=now_s,
    )


def aborted(state: CampaignState, actor: str, now_s: float) -> CampaignState:
    """Begin nothing more; what runs is watched to its end."""
    ending = replace(
        state,
        ending=f'aborted by {actor}',
        paused_by=None,
        paused_reason=None,
        updated_s=now_s,
    )
    return ending if ending.in_flight else concluded(ending)


def ask_failed(state: CampaignState, osd_id: int, error: str, now_s: float) -> CampaignState:
    """The state after the command to compact was refused, or its answer never came.

    Whether the OSD compacts all the same is for its counters to say.
    """
    told = clip(f'osd.{osd_id}: {error}')
    return replace(state, errors=state.errors + 1, last_error=told, updated_s=now_s)
