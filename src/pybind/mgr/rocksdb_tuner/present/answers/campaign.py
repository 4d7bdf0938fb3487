"""Compaction campaigns, which compact one OSD after the other, and their plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Optional

from ...notes import Amount, Count, OsdId, Time
from ...operations.compaction.plan import CampaignPlan as Planned
from ...operations.compaction.records import CampaignState, CompactionStep
from ...operations.compaction.records import OsdCompaction as FoundCompaction
from ...operations.phases import Outcome, Phase
from ...units import format_time
from .options import like
from .rollout import FailureDomain, domain_of


@dataclass(frozen=True)
class OsdCompaction:
    """Progress of one OSD."""

    osd: Annotated[OsdId, 'Id of the OSD.']
    host: Annotated[Optional[str], 'Name of its host.']
    failure_domain: Annotated[Optional[FailureDomain], 'Failure domain of the OSD; null: unknown.']
    phase: Annotated[CompactionStep, 'Current phase.']
    before_bytes: Annotated[Optional[Count], 'Space used by its DB before compaction.']
    after_bytes: Annotated[Optional[Count], 'Space used by its DB after compaction.']
    latency_ms: Annotated[
        Optional[Amount], 'Maximum client write latency of the cluster during its compaction.'
    ]
    reason: Annotated[Optional[str], 'Why the OSD was skipped; null if it was not.']


@dataclass(frozen=True)
class Campaign:
    """A compaction campaign, which applies a change to existing data."""

    kind: Annotated[Literal['compaction'], 'Kind of operation.']
    id: Annotated[str, 'Id of the campaign, as in history.']
    recommendation: Annotated[
        Optional[str], 'Id of the recommendation that it applies; null: an operator chose the OSDs.'
    ]
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
    return like(
        OsdCompaction,
        found,
        osd=found.osd_id,
        failure_domain=domain_of(found.domain),
        phase=found.step,
        before_bytes=found.used_before_bytes,
        after_bytes=found.used_after_bytes,
    )


@dataclass(frozen=True)
class PlannedCompaction:
    """What the compaction of one OSD would take."""

    osd: Annotated[OsdId, 'Id of the OSD.']
    host: Annotated[Optional[str], 'Name of its host.']
    failure_domain: Annotated[Optional[FailureDomain], 'Failure domain of the OSD; null: unknown.']
    read_bytes: Annotated[Optional[Count], 'Read at most; null: unknown.']
    write_bytes: Annotated[Optional[Count], 'Written at most; null: unknown.']
    needed_bytes: Annotated[Optional[Count], 'Needed until the old files are removed, at most.']
    free_bytes: Annotated[Optional[Count], 'Free on the device with its DB; null: unknown.']
    skipped: Annotated[Optional[str], 'Why it would be skipped; null if it would not.']


@dataclass(frozen=True)
class Guard:
    """A condition for starting the next OSD."""

    guard: Annotated[str, 'What has to be in order.']
    open: Annotated[Optional[bool], 'Whether it is; null: known only once the campaign runs.']
    reason: Annotated[Optional[str], 'Why it is not known to be open; null if it is.']


@dataclass(frozen=True)
class CampaignPlan:
    """What a compaction campaign would take. Nothing was changed."""

    who: Annotated[str, 'Config mask of the OSDs to compact.']
    recommendation: Annotated[Optional[str], 'Id of the recommendation with these OSDs, if any.']
    parallel: Annotated[
        Count, 'Maximum number of OSDs per failure domain to compact at the same time.'
    ]
    read_bytes: Annotated[Optional[Count], 'Read at most, by all OSDs; null: unknown.']
    write_bytes: Annotated[Optional[Count], 'Written at most, by all OSDs; null: unknown.']
    duration_s: Annotated[Optional[Amount], 'Least duration without waiting; null: unknown.']
    duration_most_s: Annotated[Optional[Amount], 'Most duration without waiting; null: unknown.']
    osds: Annotated[tuple[PlannedCompaction, ...], 'The OSDs in order.']
    guards: Annotated[tuple[Guard, ...], 'All guards, for the first OSD.']


def campaign_plan_of(planned: Planned) -> CampaignPlan:
    least_s, most_s = planned.duration_s or (None, None)
    return CampaignPlan(
        who=planned.request.who,
        recommendation=planned.request.recommendation_id,
        parallel=planned.request.parallel,
        read_bytes=planned.bytes,
        write_bytes=planned.bytes,
        duration_s=least_s,
        duration_most_s=most_s,
        osds=tuple(
            like(
                PlannedCompaction,
                osd,
                osd=osd.osd_id,
                failure_domain=domain_of(osd.domain),
                read_bytes=osd.bytes,
                write_bytes=osd.bytes,
                needed_bytes=osd.bytes,
            )
            for osd in planned.osds
        ),
        guards=tuple(Guard(*guard) for guard in planned.guards),
    )
