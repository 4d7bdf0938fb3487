"""Compaction campaigns, which compact one OSD after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Optional

from ...operations.compaction.records import CampaignState, CompactionStep
from ...operations.compaction.records import OsdCompaction as FoundCompaction
from ...operations.phases import Outcome, Phase
from ...units import format_time
from .copies import like
from .notes import Amount, Count, OsdId, Time
from .places import FailureDomain, domain_of


@dataclass(frozen=True)
class OsdCompaction:
    """Progress of one OSD."""

    osd: Annotated[OsdId, 'Id of the OSD.']
    host: Annotated[Optional[str], 'Name of its host.']
    failure_domain: Annotated[Optional[FailureDomain], 'Failure domain of the OSD; null: unknown.']
    step: Annotated[CompactionStep, 'Current step.']
    used_before_bytes: Annotated[Optional[Count], 'Space used by its DB before compaction.']
    used_after_bytes: Annotated[Optional[Count], 'Space used by its DB after compaction.']
    latency_ms: Annotated[
        Optional[Amount], 'Maximum client write latency of the cluster during its compaction.'
    ]
    reason: Annotated[Optional[str], 'Why the OSD was skipped; null if it was not.']


@dataclass(frozen=True)
class Campaign:
    """A compaction campaign, which applies a change to existing data."""

    kind: Annotated[Literal['compaction'], 'Kind of operation.']
    id: Annotated[str, 'Id of the campaign, as in history.']
    recommendation: Annotated[str, 'Id of the recommendation that it applies.']
    who: Annotated[str, 'Config mask of the OSDs to compact.']
    actor: Annotated[str, 'Client that requested it.']
    phase: Annotated[Phase, 'Current phase.']
    parallel: Annotated[
        Count, 'Maximum number of OSDs per failure domain to compact at the same time.'
    ]
    started: Annotated[Optional[Time], 'Start time. ISO 8601, UTC.']
    updated: Annotated[Optional[Time], 'Time of the last change. ISO 8601, UTC.']
    paused_reason: Annotated[Optional[str], 'Why no further OSD starts; null if nothing blocks it.']
    waits_for: Annotated[
        Optional[str],
        'OSD that the campaign is waiting for, because it compacts or does not answer, and for how '
        'long; null: none.',
    ]
    outcome: Annotated[Optional[Outcome], 'Outcome; null while it is under way.']
    failure: Annotated[Optional[str], 'What went wrong; null if nothing did.']
    baseline_ms: Annotated[
        Optional[Amount],
        'Client write latency before the first compaction; null without client writes.',
    ]
    used_before_bytes: Annotated[
        Optional[Count], 'Space used before compaction, over OSDs with both measurements.'
    ]
    used_after_bytes: Annotated[Optional[Count], 'Space used after compaction by the same OSDs.']
    osds: Annotated[tuple[OsdCompaction, ...], 'Progress of each OSD.']


def campaign_of(state: CampaignState, waits_for: Optional[str]) -> Campaign:
    used_before_bytes, used_after_bytes = state.used_bytes or (None, None)
    return Campaign(
        kind='compaction',
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
