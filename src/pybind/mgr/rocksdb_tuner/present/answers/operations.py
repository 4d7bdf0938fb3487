"""Common view of rollouts, compaction campaigns and experiments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Optional

from ...operations.phases import Outcome, Phase
from ...units import format_time
from ..operations import LastOperations, OperationKind, operation_of
from ..operations import Operation as FoundOperation
from .notes import Count, InPlace, OsdId, Time


@dataclass(frozen=True)
class Operation:
    """One operation of any kind; null fields are not kept for older operations."""

    id: Annotated[str, 'Id of the operation, as in history.']
    kind: Annotated[OperationKind, 'Kind of operation.']
    recommendation: Annotated[str, 'Id of the recommendation; of an experiment, its own id.']
    who: Annotated[str, 'Config mask.']
    actor: Annotated[str, 'Client that requested it.']
    under_way: Annotated[bool, 'Whether it is still under way.']
    phase: Annotated[Optional[Phase], 'Current phase.']
    paused_reason: Annotated[Optional[str], 'Why it is paused or waiting; null if it is not.']
    outcome: Annotated[Optional[Outcome], 'Outcome; null while it is under way.']
    failure: Annotated[Optional[str], 'What went wrong; null if nothing did.']
    osds_total: Annotated[Optional[Count], 'Number of OSDs in the operation.']
    osds_finished: Annotated[Optional[Count], 'Number of finished OSDs.']
    started: Annotated[Optional[Time], 'Start time. ISO 8601, UTC.']
    updated: Annotated[Optional[Time], 'Time of the last observed change. ISO 8601, UTC.']


@dataclass(frozen=True)
class OsdInOperation:
    """Progress of one OSD."""

    osd: Annotated[OsdId, 'Id of the OSD.']
    step: Annotated[str, 'Current step, as in rollout status; depends on the kind of operation.']
    reason: Annotated[Optional[str], 'Why the OSD was skipped; null if it was not.']


@dataclass(frozen=True)
class OperationInView:
    """The operation under way, or the last one."""

    operation: Annotated[Operation, InPlace()]
    waits_for: Annotated[
        Optional[str], 'OSD that a campaign is waiting for, without being paused; null: none.'
    ]
    osds: Annotated[tuple[OsdInOperation, ...], 'OSDs in the order of the plan.']


def operation_list_of(found: Iterable[FoundOperation]) -> tuple[Operation, ...]:
    return tuple(_operation(one) for one in found)


def operation_in_view_of(last: LastOperations) -> Optional[OperationInView]:
    state = last.in_view
    if state is None:
        return None
    found = operation_of(state)
    is_campaign = found.kind is OperationKind.COMPACTION
    return OperationInView(
        operation=_operation(found),
        waits_for=last.campaign_waits_for if is_campaign and found.under_way else None,
        osds=tuple(OsdInOperation(osd.osd_id, osd.step, osd.reason) for osd in found.osds or ()),
    )


def _operation(found: FoundOperation) -> Operation:
    return Operation(
        id=found.operation_id,
        kind=found.kind,
        recommendation=found.recommendation_id,
        who=found.who,
        actor=found.actor,
        under_way=found.under_way,
        phase=found.phase,
        paused_reason=found.paused_reason,
        outcome=found.outcome,
        failure=found.failure,
        osds_total=None if found.osds is None else len(found.osds),
        osds_finished=found.osds_finished,
        started=format_time(found.started_s),
        updated=format_time(found.updated_s),
    )
