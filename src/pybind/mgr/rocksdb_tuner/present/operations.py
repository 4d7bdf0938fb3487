"""Rollouts and compaction campaigns as operations, current and past. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Optional, Union

from ..operations.compaction.offer import is_campaign
from ..operations.compaction.records import CampaignState
from ..operations.history import HistoryRecord
from ..operations.phases import Outcome, Phase
from ..operations.rollout.records import RolloutState
from .summaries import osds_finished

__all__ = [
    'LastOperations',
    'Operation',
    'OperationKind',
    'OsdInOperation',
    'operation_of',
    'operations',
]


class OperationKind(str, Enum):
    ROLLOUT = 'rollout'
    COMPACTION = 'compaction'


@dataclass(frozen=True)
class OsdInOperation:
    osd_id: int
    #: In the words of a rollout or of a compaction campaign.
    step: str
    #: Why it was left as it is; None: it was not.
    reason: Optional[str]


@dataclass(frozen=True)
class Operation:
    """What both kinds have. None: not kept in the history."""

    operation_id: str
    kind: OperationKind
    recommendation_id: str
    who: str
    actor: str
    under_way: bool
    phase: Optional[Phase]
    paused_reason: Optional[str]
    #: None while it is under way, and where its end is not known.
    outcome: Optional[Outcome]
    failure: Optional[str]
    osds: Optional[tuple[OsdInOperation, ...]]
    osds_finished: Optional[int]
    started_s: float
    updated_s: Optional[float]


@dataclass(frozen=True)
class LastOperations:
    """The last operation of each kind."""

    rollout: Optional[RolloutState]
    campaign: Optional[CampaignState]
    #: What the campaign is waiting for, unless it is paused.
    campaign_waits_for: Optional[str] = None

    @property
    def in_view(self) -> Union[RolloutState, CampaignState, None]:
        """The operation in progress, or else the last one."""
        rollout, campaign = self.rollout, self.campaign
        if rollout is None or campaign is None:
            return rollout or campaign
        if rollout.ended is campaign.ended:
            # What is rolled back while a campaign ends is what an operator asks about.
            later = campaign.started_s > rollout.started_s
            return campaign if rollout.ended and later else rollout
        return campaign if rollout.ended else rollout


def operations(last: LastOperations, history: Sequence[HistoryRecord]) -> tuple[Operation, ...]:
    """Operations in progress, then past ones, newest first."""
    current = {
        made.operation_id: made
        for state in (last.rollout, last.campaign)
        if state is not None
        for made in [operation_of(state)]
    }
    known = {record.rollout_id: _of_record(record) for record in history}
    found = {**known, **current}
    newest_first = sorted(found.values(), key=lambda one: one.started_s, reverse=True)
    return tuple(sorted(newest_first, key=lambda one: not one.under_way))


def operation_of(state: Union[RolloutState, CampaignState]) -> Operation:
    if isinstance(state, RolloutState):
        operation_id, kind = state.rollout_id, OperationKind.ROLLOUT
        osds = tuple(OsdInOperation(o.osd_id, o.step.value, o.left_reason) for o in state.osds)
        finished = osds_finished(state)
    else:
        operation_id, kind = state.campaign_id, OperationKind.COMPACTION
        osds = tuple(OsdInOperation(o.osd_id, o.step.value, o.reason) for o in state.osds)
        finished = state.finished
    request = state.request
    return Operation(
        operation_id=operation_id,
        kind=kind,
        recommendation_id=request.recommendation_id,
        who=request.who,
        actor=request.actor,
        under_way=not state.ended,
        phase=state.phase,
        paused_reason=state.paused_reason,
        outcome=state.outcome,
        failure=state.failure,
        osds=osds,
        osds_finished=finished,
        started_s=state.started_s,
        updated_s=state.updated_s,
    )


def _of_record(record: HistoryRecord) -> Operation:
    return Operation(
        operation_id=record.rollout_id,
        kind=OperationKind.COMPACTION if is_campaign(record) else OperationKind.ROLLOUT,
        recommendation_id=record.recommendation_id,
        who=record.who,
        actor=record.actor,
        # The one under way is known better than from here.
        under_way=False,
        phase=None,
        paused_reason=None,
        outcome=None if record.outcome is Outcome.WAITING else record.outcome,
        failure=record.reason,
        osds=None,
        osds_finished=None,
        started_s=record.time_s,
        updated_s=None,
    )
