"""Progress of each batch of a rollout. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

from ...judge.records import Verdict
from ...mgr.records import FailureDomain
from ...plan.batches import PlannedBatch, count, planned_batch, planned_batches
from ..phases import Phase
from .records import Direction, OsdStep, RolloutState


def watched_batch(state: RolloutState) -> Optional[PlannedBatch]:
    """The changed batch that is soaking; None if there is none."""
    number = len(state.verdicts)
    if state.direction is not Direction.FORWARD or number >= count(state.request):
        return None
    batch = batch_of(state, number)
    changed = all(_step(state, osd_id) is OsdStep.VERIFIED for osd_id in batch.osds)
    return batch if batch.watched and batch.osds and changed else None


def batch_of(state: RolloutState, number: int) -> PlannedBatch:
    """A planned batch without the OSDs that were left behind."""
    batch = planned_batch(state.request, state.soak, number)
    left = state.left_behind
    if not left:
        return batch
    osds, compared, controls = (
        tuple(n for n in ids if n not in left)
        for ids in (batch.osds, batch.compared, batch.controls)
    )
    # If no compared OSD is left, all remaining ones are compared.
    return replace(batch, osds=osds, compared=compared or osds, controls=controls)


def batch_in_view(state: RolloutState) -> PlannedBatch:
    """The batch being changed or soaking, or the last one."""
    return batch_of(state, min(len(state.verdicts), count(state.request) - 1))


def is_unchanged(state: RolloutState, batch: PlannedBatch) -> bool:
    return bool(batch.osds) and all(_step(state, n) is OsdStep.PENDING for n in batch.osds)


def unmeasured_batch(state: RolloutState) -> Optional[PlannedBatch]:
    """The batch in view as long as its baseline is being measured."""
    batch = batch_in_view(state)
    measuring = is_unchanged(state, batch) and state.baseline_s < batch.baseline_s
    return batch if measuring else None


def compared_osds(state: RolloutState) -> tuple[int, ...]:
    """OSDs that need current samples before another OSD starts.

    The canary, all OSDs of passed batches and of the one that is soaking, and the controls of the
    next verdict.
    """
    request = state.request
    number = min(len(state.verdicts), count(request) - 1)
    batch = planned_batch(request, state.soak, number)
    soaks = watched_batch(state) is not None
    up_to = request.position[batch.osds[-1]] + 1 if soaks else request.position[batch.osds[0]]
    controls = (n for n in batch.controls if _step(state, n) is OsdStep.PENDING)
    return tuple(
        n for n in (*request.order[: max(up_to, 1)], *controls) if n not in state.left_behind
    )


@dataclass(frozen=True)
class Batch:
    """One batch and its progress."""

    osds: tuple[int, ...]
    domain: Optional[FailureDomain]
    phase: Phase
    #: None: no soak, or no verdict yet.
    verdict: Optional[Verdict]
    controls: tuple[int, ...]


def batches(state: RolloutState) -> tuple[Batch, ...]:
    """All batches of a rollout, in order."""
    watched = watched_batch(state)
    return tuple(
        Batch(
            osds=batch.osds,
            domain=batch.domain,
            phase=Phase.SOAKING
            if watched is not None and watched.number == batch.number
            else _phase(state, batch),
            verdict=_verdict(state, batch.number),
            controls=batch.controls if batch.judged else (),
        )
        for batch in planned_batches(state.request, state.soak)
    )


_PHASES = {
    OsdStep.PENDING: Phase.PLANNED,
    OsdStep.LEFT_BEHIND: Phase.PLANNED,
    OsdStep.VERIFIED: Phase.DONE,
    OsdStep.COLLAPSED: Phase.DONE,
    OsdStep.RESTORED: Phase.ROLLED_BACK,
    OsdStep.RESTORING: Phase.ROLLING_BACK,
    OsdStep.COLLAPSING: Phase.COLLAPSING,
    OsdStep.REPINNING: Phase.COLLAPSING,
}


def _step(state: RolloutState, osd_id: int) -> OsdStep:
    osd = state.by_id.get(osd_id)
    return OsdStep.PENDING if osd is None else osd.step


def _phase(state: RolloutState, batch: PlannedBatch) -> Phase:
    if state.stage in {Phase.PLANNED, Phase.PREFLIGHT}:
        return Phase.PLANNED
    under_way = Phase.CANARY if batch.number == 0 else Phase.PROMOTING
    if state.direction is not Direction.FORWARD:
        under_way = Phase.ROLLING_BACK
    if state.ended:
        under_way = Phase.FAILED
    found = {_PHASES.get(_step(state, osd_id), under_way) for osd_id in batch.osds}
    if len(found) == 1:
        return found.pop()
    # In a batch that was only started, untouched OSDs do not determine the phase.
    found.discard(Phase.PLANNED)
    if found == {Phase.ROLLED_BACK} and state.ended:
        return Phase.ROLLED_BACK
    return Phase.COLLAPSING if Phase.COLLAPSING in found else under_way


def _verdict(state: RolloutState, number: int) -> Optional[Verdict]:
    if number < len(state.verdicts):
        return state.verdicts[number]
    if number > len(state.verdicts):
        return None
    judgement = state.judgement if number == 0 else state.batch_judgement
    return None if judgement is None else judgement.verdict
