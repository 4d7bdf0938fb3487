"""Compaction campaigns: OSDs are compacted one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from ...operations.compaction.records import CampaignState, CompactionStep
from ...operations.compaction.records import OsdCompaction as FoundCompaction
from ...operations.phases import Outcome, Phase
from ...units import format_time
from .copies import like
from .notes import Amount, Count, OsdId, Time
from .places import FailureDomain, domain_of

_WAITS_FOR = (
    'What it waits for, and how long so far: an OSD that compacts, or does not answer. null: '
    'nothing.'
)


@dataclass(frozen=True)
class CampaignSummary:
    """A compaction campaign under way."""

    id: Annotated[str, 'As in history.']
    recommendation: Annotated[str, 'Id of the recommendation that it applies.']
    who: Annotated[str, 'Whose OSDs are compacted.']
    phase: Annotated[Phase, 'Where it is.']
    osds_total: Annotated[Count, 'How many OSDs it is about.']
    osds_finished: Annotated[Count, 'How many of them are compacted, or left as they are.']
    paused_reason: Annotated[
        Optional[str], 'Why no further OSD starts; null where nothing holds it up.'
    ]
    waits_for: Annotated[Optional[str], _WAITS_FOR]


@dataclass(frozen=True)
class OsdCompaction:
    """How far one OSD is."""

    osd: Annotated[OsdId, 'Id of an OSD.']
    host: Annotated[Optional[str], 'Name of its host.']
    failure_domain: Annotated[Optional[FailureDomain], 'Of the OSD; null: not known.']
    step: Annotated[CompactionStep, 'How far it is.']
    used_before_bytes: Annotated[Optional[Count], 'Space used by its DB before.']
    used_after_bytes: Annotated[Optional[Count], 'And after.']
    latency_ms: Annotated[
        Optional[Amount], 'The highest client write latency of the cluster while it compacted.'
    ]
    reason: Annotated[Optional[str], 'Why it was skipped.']


@dataclass(frozen=True)
class Campaign:
    """A compaction campaign: old data get what a change gave new ones."""

    id: Annotated[str, 'As in history.']
    recommendation: Annotated[str, 'Id of the recommendation that it applies.']
    who: Annotated[str, 'Whose OSDs are compacted.']
    actor: Annotated[str, 'Who asked for it.']
    phase: Annotated[Phase, 'Where it is.']
    parallel: Annotated[Count, 'How many OSDs of one failure domain compact at once.']
    started: Annotated[Optional[Time], 'When it started. ISO 8601, UTC.']
    updated: Annotated[Optional[Time], 'When it last changed. ISO 8601, UTC.']
    paused_reason: Annotated[
        Optional[str], 'Why no further OSD starts; null where nothing holds it up.'
    ]
    waits_for: Annotated[Optional[str], _WAITS_FOR]
    outcome: Annotated[Optional[Outcome], 'How it ended; null before that.']
    failure: Annotated[Optional[str], 'What happened, where it did not go as planned.']
    baseline_ms: Annotated[
        Optional[Amount],
        'Client write latency before anything was compacted; null where nobody wrote.',
    ]
    used_before_bytes: Annotated[Optional[Count], 'Of all OSDs that are measured before and after.']
    used_after_bytes: Annotated[Optional[Count], 'The same after.']
    osds: Annotated[tuple[OsdCompaction, ...], 'How far each OSD is.']


def campaign_summary_of(
    state: Optional[CampaignState], waits_for: Optional[str]
) -> Optional[CampaignSummary]:
    """None where none is under way."""
    if state is None or state.ended:
        return None
    return CampaignSummary(
        id=state.campaign_id,
        recommendation=state.request.recommendation_id,
        who=state.request.who,
        phase=state.phase,
        osds_total=len(state.osds),
        osds_finished=state.finished,
        paused_reason=state.paused_reason,
        waits_for=waits_for,
    )


def campaign_of(state: CampaignState, waits_for: Optional[str]) -> Campaign:
    used_before_bytes, used_after_bytes = state.used_bytes or (None, None)
    return Campaign(
        id=state.campaign_id,
        recommendation=state.request.recommendation_id,
        who=state.request.who,
        actor=state.request.actor,
        phase=state.phase,
        parallel=state.request.parallel,
        started=format_time(state.started_s),
        updated=format_time(state.updated_s),
        paused_reason=state.paused_reason,
        waits_for=None if state.ended else waits_for,
        outcome=state.outcome,
        failure=state.failure,
        baseline_ms=state.baseline_ms,
        used_before_bytes=used_before_bytes,
        used_after_bytes=used_after_bytes,
        osds=tuple(map(_osd, state.osds)),
    )


def _osd(found: FoundCompaction) -> OsdCompaction:
    return like(OsdCompaction, found, osd=found.osd_id, failure_domain=domain_of(found.domain))
