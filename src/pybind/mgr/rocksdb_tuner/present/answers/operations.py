"""Rollouts, compaction campaigns and experiments as operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Optional, Union

from ...notes import Count
from ...operations.compaction.records import CampaignState
from ...operations.experiment.records import ExperimentState
from ...operations.phases import Outcome
from ...operations.rollout.records import RolloutState
from ...snapshot import Snapshot
from ..summaries import osds_finished
from .campaign import Campaign, campaign_of
from .experiment import Experiment, experiment_of
from .rollout import Rollout, rollout_of

Operation = Union[Rollout, Campaign, Experiment]


@dataclass(frozen=True)
class LastOperations:
    """The last operation of each kind."""

    rollout: Optional[RolloutState]
    campaign: Optional[CampaignState]
    #: What the campaign is waiting for, unless it is paused.
    campaign_waits_for: Optional[str] = None
    experiment: Optional[ExperimentState] = None

    @classmethod
    def of(cls, snapshot: Snapshot) -> LastOperations:
        waits_for = snapshot.campaign_waits_for
        return cls(snapshot.rollout, snapshot.campaign, waits_for, snapshot.experiment)

    @property
    def in_view(self) -> Optional[Union[RolloutState, CampaignState, ExperimentState]]:
        """The operation under way, or else the last one."""
        found = [
            state for state in (self.rollout, self.experiment, self.campaign) if state is not None
        ]
        # While a campaign ends for a rollback, an operator asks about the rollback.
        under_way = next((state for state in found if not state.ended), None)
        return under_way or max(found, key=lambda state: state.started_s, default=None)


@dataclass(frozen=True)
class OperationSummary:
    """The operation under way, or the last one."""

    id: Annotated[str, 'Id of the operation, as in history.']
    kind: Annotated[Literal['rollout', 'compaction', 'experiment'], 'Kind of operation.']
    phase: Annotated[str, 'Current phase.']
    who: Annotated[str, 'Config mask.']
    osds_total: Annotated[Count, 'Number of OSDs in the operation.']
    osds_finished: Annotated[Count, 'Number of finished OSDs.']
    paused_reason: Annotated[Optional[str], 'Why it is paused or waiting; null if it is not.']
    outcome: Annotated[Optional[Outcome], 'Outcome; null while it is under way.']
    failure: Annotated[Optional[str], 'What went wrong; null if nothing did.']


def operation_of(last: LastOperations) -> Optional[Operation]:
    """None before the first operation."""
    state = last.in_view
    if state is None:
        return None
    if isinstance(state, RolloutState):
        return rollout_of(state)
    if isinstance(state, CampaignState):
        return campaign_of(state, last.campaign_waits_for)
    return experiment_of(state)


def operation_summary_of(last: LastOperations) -> Optional[OperationSummary]:
    """None before the first operation."""
    state, shown = last.in_view, operation_of(last)
    if state is None or shown is None:
        return None
    if isinstance(state, RolloutState):
        finished = osds_finished(state)
    elif isinstance(state, CampaignState):
        finished = state.finished
    else:
        finished = len(state.osds) if state.ended else 0
    return OperationSummary(
        id=state.operation_id,
        kind=shown.kind,
        phase=shown.phase.value,
        who=state.request.who,
        osds_total=len(state.osds),
        osds_finished=finished,
        paused_reason=state.paused_reason,
        outcome=state.outcome,
        failure=state.failure,
    )
