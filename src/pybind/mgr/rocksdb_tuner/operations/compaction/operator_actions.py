"""State changes from outside: operator requests and failed commands."""

from __future__ import annotations

from dataclasses import replace

from ..phases import Phase
from ..texts import clip, paused_text
from .records import CampaignState
from .states import concluded


def paused(state: CampaignState, actor: str, now_s: float) -> CampaignState:
    """Start no further OSD until `resumed`."""
    return replace(state, paused_by=actor, paused_reason=paused_text(actor), updated_s=now_s)


def resumed(state: CampaignState, now_s: float) -> CampaignState:
    """Continue, with the current client latency as the new baseline."""
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
    """Start no further OSD; running compactions are monitored until they end."""
    ending = replace(
        state,
        ending=f'aborted by {actor}',
        paused_by=None,
        paused_reason=None,
        updated_s=now_s,
    )
    return ending if ending.in_flight else concluded(ending)


def ask_failed(state: CampaignState, osd_id: int, error: str, now_s: float) -> CampaignState:
    """The state after the compact command was refused or never answered.

    The OSD's counters show whether it compacts anyway.
    """
    text = clip(f'osd.{osd_id}: {error}')
    return replace(state, errors=state.errors + 1, last_error=text, updated_s=now_s)
