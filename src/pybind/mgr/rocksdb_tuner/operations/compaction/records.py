"""Immutable state of a compaction campaign, which is stored, and its transitions. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Annotated, Optional

from ...judge.records import Predicted
from ...mgr.records import FailureDomain, Place
from ...notes import Amount, AsTime, Count, InPlace, Named, OsdId
from .. import phases
from ..phases import FINAL_PHASES, Outcome, Phase, clip


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
    #: Of the last request, if it was refused.
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
    def at_hand(self) -> Optional[OsdCompaction]:
        """The OSD in flight or, if there is none, the next one."""
        return next((osd for osd in self.osds if osd.step not in FINISHED), None)

    @property
    def in_flight(self) -> Optional[OsdCompaction]:
        osd = self.at_hand
        return None if osd is None or osd.step is CompactionStep.PENDING else osd

    @property
    def finished(self) -> int:
        """Number of OSDs that are done or skipped."""
        return sum(osd.step in FINISHED for osd in self.osds)

    @property
    def used_bytes(self) -> Optional[tuple[int, int]]:
        """Total sizes before and after, of the OSDs with both; None if there are none."""
        sizes = [(osd.used_before_bytes, osd.used_after_bytes) for osd in self.osds]
        known = [(before, after) for before, after in sizes if None not in (before, after)]
        return (sum(b or 0 for b, _ in known), sum(a or 0 for _, a in known)) if known else None


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
#: Skipped OSDs that the outcome names.
NAMED_MAX = 5


def with_osd(state: CampaignState, osd: OsdCompaction, **changes: object) -> CampaignState:
    """With these changes of one OSD."""
    changed = replace(osd, **changes)  # type: ignore[arg-type]
    return replace(state, osds=tuple(changed if o.osd_id == osd.osd_id else o for o in state.osds))


def skipped(state: CampaignState, osd: OsdCompaction, reason: str) -> CampaignState:
    return with_osd(state, osd, step=CompactionStep.SKIPPED, reason=clip(reason, REASON_MAX))


def concluded(state: CampaignState) -> CampaignState:
    left = [osd for osd in state.osds if osd.step is CompactionStep.SKIPPED]
    texts = [state.ending, *(f'osd.{osd.osd_id}: {osd.reason}' for osd in left[:NAMED_MAX])]
    if len(left) > NAMED_MAX:
        texts.append(f'and {len(left) - NAMED_MAX} more')
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


def resumed(state: CampaignState, now_s: float) -> CampaignState:
    """Continue; between two OSDs, the current client latency becomes the baseline."""
    if state.in_flight is not None:
        return phases.resumed(state, now_s)
    return phases.resumed(state, now_s, stage=Phase.PREFLIGHT, baseline_ms=None)


def aborted(state: CampaignState, actor: str, now_s: float) -> CampaignState:
    """Start no further OSD; a running compaction is monitored until it ends."""
    ending = phases.resumed(state, now_s, ending=f'aborted by {actor}')
    return concluded(ending) if ending.in_flight is None else ending
