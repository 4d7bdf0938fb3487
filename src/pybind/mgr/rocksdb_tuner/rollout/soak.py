"""Watching what was changed, the canary and later each batch, until there is a verdict on it."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from ..units import format_ids
from .back import rolled_back
from .batches import PlannedBatch, watched_batch
from .gates import placement_groups
from .observation import Observation
from .records import Inconclusive, Judgement, Phase, RolloutState, SoakPlan, Verdict
from .rules import Step, why_held
from .states import waiting
from .verdict import in_words, too_few_controls


def soak(state: RolloutState, batch: PlannedBatch, seen: Observation) -> Step:
    """Watch ``batch`` until there is a verdict; the others follow only then."""
    if batch.number == 0:
        state = replace(state, stage=Phase.SOAKING, soaked_s=seen.after_s)
    else:
        state = replace(state, stage=Phase.PROMOTING, batch_soaked_s=seen.after_s)
    held = why_held(state, seen)
    if held is not None:
        return Step(waiting(state, held))
    lost = _lost(state, batch, seen)
    if lost is not None:
        cause = f'the process of osd.{lost} ended while it was watched'
        return Step(_failed(state, batch, Judgement(Verdict.FAILED, cause=cause)))
    incomparable = too_few_controls(len(batch.controls))
    if not batch.judged and not batch.watched_for_crashes:
        return _without_verdict(state, batch, incomparable)
    unsettled = placement_groups(seen)
    if unsettled is not None:
        return Step(waiting(_with_judgement(state, batch, None), unsettled))
    if not batch.judged:
        enough = seen.after_s >= batch.soak.least_s
        return Step(_passed(state, batch, incomparable) if enough else state)
    return Step(state) if seen.judgement is None else _judged(state, batch, seen, seen.judgement)


def ends_with(judgement: Judgement, after_s: float, soak: SoakPlan) -> Optional[Verdict]:
    """What a soak is over with, once changed OSDs were measured for ``after_s``; None: it goes on.

    A failure counts at once, a pass only after the least time.
    """
    if judgement.verdict is Verdict.FAILED:
        return Verdict.FAILED
    if judgement.verdict is Verdict.PASSED and after_s >= soak.least_s:
        return Verdict.PASSED
    return Verdict.INCONCLUSIVE if after_s >= soak.most_s else None


def judgement_in_view(state: RolloutState) -> Optional[Judgement]:
    """What was found so far of the batch that is watched."""
    return state.batch_judgement if state.verdicts else state.judgement


def undecided(state: RolloutState) -> bool:
    """Whether a soak ended without a verdict."""
    return (
        watched_batch(state) is not None
        and judgement_in_view(state) is not None
        and state.paused_by is None
    )


def let_pass(state: RolloutState) -> RolloutState:
    """The others follow, whatever was found of the batch that is watched."""
    judgement = judgement_in_view(state)
    found = Verdict.NO_DATA if judgement is None else judgement.verdict
    return replace(
        state, verdicts=(*state.verdicts, found), batch_judgement=None, batch_soaked_s=0.0
    )


def _lost(state: RolloutState, batch: PlannedBatch, seen: Observation) -> Optional[int]:
    """An OSD of the batch whose process is not the one that was verified."""
    for osd in state.osds:
        if osd.osd_id in batch.osds:
            info = seen.osd(osd.osd_id)
            if info is None or not info.up or info.nonce != osd.nonce_after:
                return osd.osd_id
    return None


def _judged(
    state: RolloutState, batch: PlannedBatch, seen: Observation, judgement: Judgement
) -> Step:
    end = ends_with(judgement, seen.after_s, batch.soak)
    if end is None:
        return Step(state)
    if end is Verdict.FAILED:
        return Step(_failed(state, batch, judgement))
    if end is Verdict.PASSED:
        return Step(_passed(state, batch, judgement))
    return _without_verdict(state, batch, judgement)


def _without_verdict(state: RolloutState, batch: PlannedBatch, judgement: Judgement) -> Step:
    """The soak is over without a verdict: what follows was laid down before."""
    judged = _with_judgement(state, batch, judgement)
    if batch.soak.inconclusive is Inconclusive.PROMOTE:
        return Step(let_pass(judged))
    lacks = '; '.join(judgement.missing)
    if batch.soak.inconclusive is Inconclusive.ROLLBACK:
        return Step(rolled_back(judged, f'the policy, for want of {lacks}', state.updated_s))
    return Step(
        waiting(
            judged,
            f'the verdict on {_named(batch)} is {judgement.verdict.value}: '
            '"ceph rocksdb-tuner rollout resume" changes the others all the same, "ceph '
            f'rocksdb-tuner rollback" takes it back; missing is {lacks}',
        )
    )


def _passed(state: RolloutState, batch: PlannedBatch, judgement: Judgement) -> RolloutState:
    return let_pass(_with_judgement(state, batch, judgement))


def _failed(state: RolloutState, batch: PlannedBatch, judgement: Judgement) -> RolloutState:
    on = '' if batch.number == 0 else f' on {_named(batch)}'
    judged = _with_judgement(state, batch, judgement)
    return rolled_back(judged, f'the verdict{on}: {in_words(judgement)}', state.updated_s)


def _with_judgement(
    state: RolloutState, batch: PlannedBatch, judgement: Optional[Judgement]
) -> RolloutState:
    if batch.number == 0:
        return replace(state, judgement=judgement)
    return replace(state, batch_judgement=judgement)


def _named(batch: PlannedBatch) -> str:
    if batch.number == 0:
        return f'osd.{batch.osds[0]}'
    return f'batch {batch.number + 1} ({format_ids(batch.osds)})'
