"""Immutable state of a compaction campaign, which is stored, and its transitions. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Annotated, Optional

from ...judge.records import Predicted
from ...mgr.records import FailureDomain, Place
from ...notes import Amount, AsTime, Count, InPlace, Named, OsdId
from ..phases import FINAL_PHASES, Outcome, Phase, clip, paused_text


class CompactionStep(str, Enum):
    """Progress of one OSD. Stored before the step's action is executed."""

    PENDING = 'pending'
    #: A compaction was requested, or is about to be; it may be running.
    COMPACTING = 'compacting'
    #: The compaction is done; obsolete files are still being removed.
    SETTLING = 'settling'
    DONE = 'done'
    #: Not compacted; see `reason`.
    SKIPPED = 'skipped'


#: Steps in which a compaction may be running on the OSD.
IN_FLIGHT = frozenset({CompactionStep.COMPACTING, CompactionStep.SETTLING})
#: Final steps.
FINISHED = frozenset({CompactionStep.DONE, CompactionStep.SKIPPED})


@dataclass(frozen=True)
class OsdCompaction:
    """Progress of one OSD."""

    osd_id: Annotated[OsdId, Named('osd'), 'Id of the OSD.']
    host: Annotated[Optional[str], 'Name of its host.']
    domain: Annotated[
        Optional[FailureDomain],
        Named('failure_domain'),
        'Failure domain of the OSD; null: unknown.',
    ]
    step: Annotated[CompactionStep, Named('phase'), 'Current phase.'] = CompactionStep.PENDING
    #: The process that got the request, and how many compactions it had started before.
    nonce: Optional[int] = None
    started_before: int = 0
    asked: int = 0
    used_before_bytes: Annotated[
        Optional[Count], Named('before_bytes'), 'Space used by its DB before compaction.'
    ] = None
    used_after_bytes: Annotated[
        Optional[Count], Named('after_bytes'), 'Space used by its DB after compaction.'
    ] = None
    latency_ms: Annotated[
        Optional[Amount], 'Maximum client write latency of the cluster during its compaction.'
    ] = None
    reason: Annotated[Optional[str], 'Why the OSD was skipped; null if it was not.'] = None

    @property
    def freed_bytes(self) -> Optional[int]:
        if self.used_before_bytes is None or self.used_after_bytes is None:
            return None
        return self.used_before_bytes - self.used_after_bytes


@dataclass(frozen=True)
class CampaignRequest:
    """What to compact."""

    recommendation_id: Annotated[
        Optional[str],
        Named('recommendation'),
        'Id of the recommendation that it applies; null: an operator chose the OSDs.',
    ]
    who: Annotated[str, 'Config mask of the OSDs to compact.']
    #: The option string that the OSDs run; empty if they run several.
    options: str
    #: In the order of compaction, one failure domain after the other.
    osds: tuple[tuple[int, Place], ...]
    actor: Annotated[str, 'Client that requested it.']
    parallel: Annotated[
        Count, 'Maximum number of OSDs per failure domain to compact at the same time.'
    ] = 1
    prediction: Optional[str] = None
    predicted: Optional[Predicted] = None


@dataclass(frozen=True)
class CampaignState:
    """State of one campaign. Times are seconds since the epoch, for display only."""

    campaign_id: Annotated[str, Named('id'), 'Id of the campaign, as in history.']
    request: Annotated[CampaignRequest, InPlace()]
    osds: Annotated[tuple[OsdCompaction, ...], 'Progress of each OSD.']
    started_s: Annotated[float, Named('started'), AsTime(), 'Start time. ISO 8601, UTC.']
    updated_s: Annotated[
        float, Named('updated'), AsTime(), 'Time of the last change. ISO 8601, UTC.'
    ]
    #: The phase to continue with; never WAITING.
    stage: Phase = Phase.PREFLIGHT
    paused_reason: Annotated[
        Optional[str], 'Why no further OSD starts; null if nothing blocks it.'
    ] = None
    paused_by: Optional[str] = None
    baseline_ms: Annotated[
        Optional[Amount],
        'Client write latency before the first compaction; null without client writes.',
    ] = None
    #: Why no further OSD is started.
    ending: Optional[str] = None
    errors: int = 0
    last_error: Optional[str] = None
    outcome: Annotated[Optional[Outcome], 'Outcome; null while it is under way.'] = None
    failure: Annotated[Optional[str], 'What went wrong; null if nothing did.'] = None

    @property
    def operation_id(self) -> str:
        return self.campaign_id

    @property
    def phase(self) -> Annotated[Phase, 'Current phase.']:
        return self.stage if self.paused_reason is None else Phase.WAITING

    @property
    def ended(self) -> bool:
        return self.stage in FINAL_PHASES

    @property
    def in_flight(self) -> tuple[OsdCompaction, ...]:
        return tuple(osd for osd in self.osds if osd.step in IN_FLIGHT)

    @property
    def finished(self) -> int:
        """Number of OSDs that are done or skipped."""
        return sum(osd.step in FINISHED for osd in self.osds)

    @property
    def measured(self) -> tuple[OsdCompaction, ...]:
        """The OSDs with a known size before and after."""
        return tuple(osd for osd in self.osds if osd.freed_bytes is not None)

    @property
    def used_bytes(self) -> Optional[tuple[int, int]]:
        """Total sizes of the measured OSDs before and after; None if there are none."""
        if not self.measured:
            return None
        before = sum(osd.used_before_bytes or 0 for osd in self.measured)
        return before, sum(osd.used_after_bytes or 0 for osd in self.measured)


def planned(campaign_id: str, request: CampaignRequest, now_s: float) -> CampaignState:
    return CampaignState(
        campaign_id=campaign_id,
        request=request,
        osds=tuple(OsdCompaction(osd_id, *place) for osd_id, place in request.osds),
        started_s=now_s,
        updated_s=now_s,
    )


#: Longest reason, of which there is one for each skipped OSD.
REASON_MAX = 120


def skipped(osd: OsdCompaction, reason: str) -> OsdCompaction:
    return replace(osd, step=CompactionStep.SKIPPED, reason=clip(reason, REASON_MAX))


def with_osd(state: CampaignState, osd: OsdCompaction) -> CampaignState:
    return replace(state, osds=tuple(osd if o.osd_id == osd.osd_id else o for o in state.osds))


def waiting(state: CampaignState, reason: str) -> CampaignState:
    """The first reason is the one that is shown."""
    return replace(state, paused_reason=state.paused_reason or clip(reason))


def concluded(state: CampaignState) -> CampaignState:
    skipped = [osd for osd in state.osds if osd.step is CompactionStep.SKIPPED]
    texts = [state.ending, *(f'osd.{osd.osd_id}: {osd.reason}' for osd in skipped[:5])]
    if len(skipped) > 5:
        texts.append(f'and {len(skipped) - 5} more')
    stage, outcome = Phase.FAILED, Outcome.FAILED
    if state.ending is not None:
        outcome = Outcome.ABORTED
    elif any(osd.step is CompactionStep.DONE for osd in state.osds):
        stage, outcome = Phase.DONE, Outcome.DONE
    return replace(
        state,
        stage=stage,
        outcome=outcome,
        failure=clip('; '.join(filter(None, texts))) or None,
        ending=None,
        paused_by=None,
    )


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
