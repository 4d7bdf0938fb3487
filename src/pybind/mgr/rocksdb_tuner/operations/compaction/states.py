"""Small changes of the state of a campaign, and its end."""

from __future__ import annotations

from dataclasses import replace

from ..phases import Outcome, Phase
from ..texts import clip, paused_text
from .records import CampaignState, CompactionStep, OsdCompaction

#: Why an OSD was left is kept of each, and cut to this many characters.
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
    told = '; '.join(f'osd.{osd.osd_id}: {osd.reason}' for osd in skipped[:5])
    if len(skipped) > 5:
        told += f'; and {len(skipped) - 5} more'
    if state.ending is not None:
        stage, outcome = Phase.FAILED, Outcome.ABORTED
        told = f'{state.ending}; {told}' if told else state.ending
    elif done:
        stage, outcome = Phase.DONE, Outcome.DONE
    else:
        stage, outcome = Phase.FAILED, Outcome.FAILED
    return replace(
        state,
        stage=stage,
        outcome=outcome,
        failure=clip(told) or None,
        ending=None,
        paused_by=None,
    )
