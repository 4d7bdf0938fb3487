"""Rollouts, compaction campaigns and experiments as operations, current and past. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Optional, Union

from ..operations.compaction.offer import is_campaign
from ..operations.compaction.records import CampaignState
from ..operations.experiment.records import ExperimentOsd, ExperimentState
from ..operations.history import HistoryRecord
from ..operations.phases import Outcome, Phase
from ..operations.rollout.records import RolloutState
from .summaries import osds_finished

__all__ = [
    'LastOperations',
    'Operation',
    'OperationKind',
    'OsdInOperation',
    'State',
    'operation_of',
    'operations',
]


class OperationKind(str, Enum):
    ROLLOUT = 'rollout'
    COMPACTION = 'compaction'
    EXPERIMENT = 'experiment'


State = Union[RolloutState, CampaignState, ExperimentState]


@dataclass(frozen=True)
class OsdInOperation:
    osd_id: int
    #: Step of a rollout or of a compaction campaign; for an experiment, the arm.
    step: str
    #: Why it was left unchanged; None if it was not.
    reason: Optional[str]


@dataclass(frozen=True)
class Operation:
    """Common data of all kinds. None: not kept in the history."""

    operation_id: str
    kind: OperationKind
    recommendation_id: str
    who: str
    actor: str
    under_way: bool
    phase: Optional[Phase]
    paused_reason: Optional[str]
    #: None while it is under way, or if its end is unknown.
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
    experiment: Optional[ExperimentState] = None

    @property
    def all(self) -> tuple[State, ...]:
        found = (self.rollout, self.experiment, self.campaign)
        return tuple(state for state in found if state is not None)

    @property
    def in_view(self) -> Optional[State]:
        """The operation in progress, or else the last one."""
        under_way = [state for state in self.all if not state.ended]
        if under_way:
            # While a campaign ends for a rollback, an operator asks about the rollback.
            return under_way[0]
        return max(self.all, key=lambda state: state.started_s) if self.all else None


def operations(last: LastOperations, history: Sequence[HistoryRecord]) -> tuple[Operation, ...]:
    """Operations in progress, then past ones, newest first."""
    current = {made.operation_id: made for state in last.all for made in [operation_of(state)]}
    known = {record.rollout_id: _of_record(record) for record in history}
    found = {**known, **current}
    newest_first = sorted(found.values(), key=lambda one: one.started_s, reverse=True)
    return tuple(sorted(newest_first, key=lambda one: not one.under_way))


def operation_of(state: State) -> Operation:
    if isinstance(state, RolloutState):
        kind, recommendation_id = OperationKind.ROLLOUT, state.request.recommendation_id
        osds = tuple(OsdInOperation(o.osd_id, o.step.value, o.left_reason) for o in state.osds)
        finished = osds_finished(state)
    elif isinstance(state, CampaignState):
        kind, recommendation_id = OperationKind.COMPACTION, state.request.recommendation_id
        osds = tuple(OsdInOperation(o.osd_id, o.step.value, o.reason) for o in state.osds)
        finished = state.finished
    else:
        kind, recommendation_id = OperationKind.EXPERIMENT, state.experiment_id
        osds = tuple(_of_experiment(state, osd) for osd in state.osds)
        finished = len(osds) if state.ended else 0
    return Operation(
        operation_id=state.operation_id,
        kind=kind,
        recommendation_id=recommendation_id,
        who=state.request.who,
        actor=state.request.actor,
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


def _of_experiment(state: ExperimentState, osd: ExperimentOsd) -> OsdInOperation:
    leg = () if state.leg is None else state.leg.osds
    step = next((one.step.value for one in leg if one.osd_id == osd.osd_id), None)
    control = osd.osd_id in state.request.plan.controls
    found = osd.arm or ('control' if control else 'old')
    return OsdInOperation(osd.osd_id, step or found, osd.lost)


def _of_record(record: HistoryRecord) -> Operation:
    return Operation(
        operation_id=record.rollout_id,
        kind=_kind_of(record),
        recommendation_id=record.recommendation_id,
        who=record.who,
        actor=record.actor,
        # The state of the one under way is more recent than its record.
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


def _kind_of(record: HistoryRecord) -> OperationKind:
    if record.experiment is not None:
        return OperationKind.EXPERIMENT
    return OperationKind.COMPACTION if is_campaign(record) else OperationKind.ROLLOUT
