"""Rollouts and compaction campaigns in the words that both have."""

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
    """A rollout or a compaction campaign; null: not kept once others followed it."""

    id: Annotated[str, 'As in history.']
    kind: Annotated[OperationKind, 'What is done to the OSDs.']
    recommendation: Annotated[str, 'Id of the recommendation that it applies.']
    who: Annotated[str, 'Mask of the config store.']
    actor: Annotated[str, 'Who asked for it.']
    under_way: Annotated[bool, 'Whether it has not ended.']
    phase: Annotated[Optional[Phase], 'Where it stands.']
    paused_reason: Annotated[Optional[str], 'Why it waits; null where it does not.']
    outcome: Annotated[Optional[Outcome], 'How it ended; null while it is under way.']
    failure: Annotated[Optional[str], 'What happened, where it did not go as planned.']
    osds_total: Annotated[Optional[Count], 'OSDs that it is about.']
    osds_finished: Annotated[Optional[Count], 'OSDs that it has dealt with.']
    started: Annotated[Optional[Time], 'When it started.']
    updated: Annotated[Optional[Time], 'When it was last seen to change.']


@dataclass(frozen=True)
class OsdInOperation:
    """How far one OSD is."""

    osd: Annotated[OsdId, 'Id of an OSD.']
    step: Annotated[str, 'As in rollout status, by the kind of the operation.']
    reason: Annotated[Optional[str], 'Why it was left as it is; null where it was not.']


@dataclass(frozen=True)
class OperationInView:
    """The operation under way, or the last one."""

    operation: Annotated[Operation, InPlace()]
    waits_for: Annotated[Optional[str], 'What a campaign waits for that nothing holds up.']
    osds: Annotated[tuple[OsdInOperation, ...], 'In the order of the plan.']


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
