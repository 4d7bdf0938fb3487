"""Immutable state of a compaction campaign: everything that is stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Optional

from ...judge.records import Predicted
from ...mgr.records import FailureDomain, Place
from ..phases import FINAL_PHASES, Outcome, Phase


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
    """One OSD. Sizes are None while unknown."""

    osd_id: int
    host: Optional[str]
    #: As planned; determines the order. None: unknown.
    domain: Optional[FailureDomain]
    step: CompactionStep = CompactionStep.PENDING
    #: The process that got the request, and how many compactions it had started before.
    nonce: Optional[int] = None
    started_before: int = field(default=0, metadata={'json': 'begun_before'})
    asked: int = 0
    used_before_bytes: Optional[int] = None
    used_after_bytes: Optional[int] = None
    #: The highest client write latency of the cluster while it compacted.
    latency_ms: Optional[float] = None
    reason: Optional[str] = None

    @property
    def place(self) -> Place:
        return Place(self.host, self.domain)

    @property
    def freed_bytes(self) -> Optional[int]:
        if self.used_before_bytes is None or self.used_after_bytes is None:
            return None
        return self.used_before_bytes - self.used_after_bytes


@dataclass(frozen=True)
class CampaignRequest:
    recommendation_id: str
    #: Config mask of the change that made the compaction worthwhile.
    who: str
    #: The option string that the OSDs run.
    options: str
    #: In the order of compaction, one failure domain after the other.
    osds: tuple[tuple[int, Place], ...]
    actor: str
    #: OSDs of one failure domain at once.
    parallel: int = 1
    prediction: Optional[str] = None
    predicted: Optional[Predicted] = None


@dataclass(frozen=True)
class CampaignState:
    """State of one campaign. Times are seconds since the epoch, for display only."""

    campaign_id: str
    request: CampaignRequest
    osds: tuple[OsdCompaction, ...]
    started_s: float
    updated_s: float
    #: The phase to continue with; never WAITING.
    stage: Phase = Phase.PREFLIGHT
    paused_reason: Optional[str] = None
    paused_by: Optional[str] = None
    #: Client write latency while no OSD compacted; None: not measured, or no writes.
    baseline_ms: Optional[float] = None
    #: Why no further OSD is started.
    ending: Optional[str] = None
    errors: int = 0
    last_error: Optional[str] = None
    outcome: Optional[Outcome] = None
    failure: Optional[str] = None

    @property
    def operation_id(self) -> str:
        return self.campaign_id

    @property
    def phase(self) -> Phase:
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
