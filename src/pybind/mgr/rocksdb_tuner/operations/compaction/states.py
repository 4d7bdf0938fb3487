"""Transitions of the state of a campaign."""

from __future__ import annotations

from dataclasses import replace

from ..phases import Outcome, Phase
from ..texts import clip, paused_text
from .records import CampaignState, CompactionStep, OsdCompaction

#: Longest reason, of which there is one for each skipped OSD.
REASON_MAX = 120


def skipped(osd: OsdCompaction, reason: str) -> OsdCompaction:
    return replace(osd, step=CompactionStep.SKIPPED, reason=clip(reason, REASON_MAX))


def with_osd(state: CampaignState, osd: OsdCompaction) -> CampaignState:
    return replace(state, osds=tuple(osd if o.osd_id == osd.osd_id else o for o in state.osds))


def waiting(state: CampaignState, reason: str) -> CampaignState:
    return replace(state, paused_reason=clip(reason))


def with_pause(state: CampaignState) -> CampaignState:
    if state.paused_by is None:
        return state
    return replace(state, paused_reason=paused_text(state.paused_by))


def concluded(state: CampaignState) -> CampaignState:
    skipped = [osd for osd in state.osds if osd.step is CompactionStep.SKIPPED]
    done = [osd for osd in state.osds if osd.step is CompactionStep.DONE]
    text = '; '.join(f'osd.{osd.osd_id}: {osd.reason}' for osd in skipped[:5])
    if len(skipped) > 5:
        text += f'; and {len(skipped) - 5} more'
    if state.ending is not None:
        stage, outcome = Phase.FAILED, Outcome.ABORTED
        text = f'{state.ending}; {text}' if text else state.ending
    elif done:
        stage, outcome = Phase.DONE, Outcome.DONE
    else:
        stage, outcome = Phase.FAILED, Outcome.FAILED
    return replace(
        state,
        stage=stage,
        outcome=outcome,
        failure=clip(text) or None,
        ending=None,
        paused_by=None,
    )
