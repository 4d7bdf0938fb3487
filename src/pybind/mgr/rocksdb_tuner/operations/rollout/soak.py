"""Soak: monitor the changed canary, and later each batch, until its verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from ...judge.records import Inconclusive, Judgement, Verdict, ends_with
from ...judge.verdict import in_words, measured_in_words, too_few_controls
from ...mgr.records import ClusterMap
from ...plan.batches import PlannedBatch, without_gain
from ...units import format_ids
from ..gates import placement_groups, upgrading, without_samples
from ..phases import Phase
from .admission import gone_or_replaced, start_leaving
from .records import (
    OsdProgress,
    OsdStep,
    RolloutState,
    judgement_in_view,
    waiting,
    watched_batch,
    with_osd,
)
from .rollback import rolled_back
from .rules import Observation, Step, why_held

#: Restarts of one OSD together with others before the soak ends without a verdict.
MOST_RESTARTS = 3


def soak(state: RolloutState, batch: PlannedBatch, seen: Observation) -> Step:
    """Monitor ``batch`` until its verdict; later batches wait for it."""
    if batch.number == 0:
        state = replace(state, stage=Phase.SOAKING, soaked_s=seen.after_s)
    else:
        state = replace(state, stage=Phase.PROMOTING, batch_soaked_s=seen.after_s)
    held = why_held(state, seen)
    if held is not None:
        return Step(waiting(state, held))
    lost = lost_process(state, batch, seen.cluster)
    if lost is not None:
        return _without_its_process(state, batch, lost, seen)
    known = judgement_in_view(state)
    if known is not None and known.verdict is Verdict.NO_WORSE:
        # Final: repeated tests until there is a gain would find one by chance.
        return _without_benefit(state, batch, known)
    incomparable = too_few_controls(len(batch.controls))
    if not batch.judged and not batch.watched_for_crashes:
        return _without_verdict(state, batch, incomparable, seen)
    unsettled = placement_groups(seen)
    if unsettled is not None:
        return Step(waiting(_with_judgement(state, batch, None), unsettled))
    if not batch.judged:
        if seen.after_s < batch.soak.least_s:
            return Step(state)
        missing = without_samples(seen)
        if missing is not None:
            return Step(waiting(state, missing))
        return Step(_passed(state, batch, incomparable))
    return Step(state) if seen.judgement is None else _judged(state, batch, seen, seen.judgement)


def undecided(state: RolloutState) -> bool:
    """Whether a soak ended without a verdict, or with one that the operator must decide on."""
    return (
        watched_batch(state) is not None
        and judgement_in_view(state) is not None
        and state.paused_by is None
    )


def promote(state: RolloutState) -> RolloutState:
    """Promote the batch that is soaking, regardless of its verdict."""
    judgement = judgement_in_view(state)
    found = Verdict.NO_DATA if judgement is None else judgement.verdict
    return replace(
        state, verdicts=(*state.verdicts, found), batch_judgement=None, batch_soaked_s=0.0
    )


def lost_process(
    state: RolloutState, batch: PlannedBatch, cluster: ClusterMap
) -> Optional[OsdProgress]:
    """An OSD of the batch whose verified process is gone."""
    for osd_id in batch.osds:
        info, osd = cluster.by_id.get(osd_id), state.by_id[osd_id]
        if info is None or not info.up or info.nonce != osd.nonce_after:
            return osd
    return None


def _without_its_process(
    state: RolloutState, batch: PlannedBatch, osd: OsdProgress, seen: Observation
) -> Step:
    """A crash is a failure. A restart together with others is not: the soak starts again."""
    gone = gone_or_replaced(state, osd, seen)
    if gone is not None:
        return Step(start_leaving(state, osd, gone))
    # An upgrade, or a host reboot.
    others = sorted(seen.moved - set(batch.osds))
    restarted = upgrading(seen) or (f'like osd.{others[0]}' if others else None)
    if restarted is None:
        cause = f'the process of osd.{osd.osd_id} exited during the soak'
        return Step(_failed(state, batch, Judgement(Verdict.WORSE, cause=cause)))
    if osd.flaps >= MOST_RESTARTS:
        missing = f'a soak without restarts: osd.{osd.osd_id} was restarted again ({restarted})'
        return _without_verdict(state, batch, Judgement(Verdict.NO_DATA, missing=(missing,)), seen)
    # Its new process is checked like the previous one, whose measurements are dropped.
    restarting = replace(osd, step=OsdStep.RESTARTING, flaps=osd.flaps + 1)
    soaked_s = state.soaked_s if batch.number else 0.0
    reset = replace(_with_judgement(state, batch, None), batch_soaked_s=0.0, soaked_s=soaked_s)
    return Step(with_osd(reset, restarting))


def _judged(
    state: RolloutState, batch: PlannedBatch, seen: Observation, judgement: Judgement
) -> Step:
    end = ends_with(judgement, seen.after_s, batch.soak)
    if end is None:
        return Step(state)
    if end is Verdict.WORSE:
        return Step(_failed(state, batch, judgement))
    if end is Verdict.BETTER:
        return Step(_passed(state, batch, judgement))
    if end is Verdict.NO_WORSE:
        return _without_benefit(state, batch, judgement)
    return _without_verdict(state, batch, judgement, seen)


def _without_verdict(
    state: RolloutState, batch: PlannedBatch, judgement: Judgement, seen: Observation
) -> Step:
    """End a soak without a verdict by the policy for it; without data it waits."""
    judged = _with_judgement(state, batch, judgement)
    policy = batch.soak.inconclusive
    if judgement.verdict is Verdict.NO_DATA:
        policy = Inconclusive.WAIT
    if policy is Inconclusive.PROMOTE:
        return Step(promote(judged))
    lacks = '; '.join(filter(None, (without_samples(seen), *judgement.missing)))
    if policy is Inconclusive.ROLLBACK:
        return Step(rolled_back(judged, f'the policy, missing: {lacks}', state.updated_s))
    reason = (
        f'the verdict on {_named(batch)} is {judgement.verdict.words}: "ceph rocksdb-tuner '
        'operation resume" changes the other OSDs anyway, "ceph rocksdb-tuner rollback" undoes '
        f'it; missing: {lacks}'
    )
    return Step(waiting(judged, reason))


def _without_benefit(state: RolloutState, batch: PlannedBatch, judgement: Judgement) -> Step:
    """End a soak with no worse and no better signals; batches follow the decision on the canary."""
    if batch.number > 0 or without_gain(state.request) is Inconclusive.PROMOTE:
        return Step(_passed(state, batch, judgement))
    judged = _with_judgement(state, batch, judgement)
    predicted = state.request.prediction
    text = f'measured: {", ".join(measured_in_words(judgement)) or "nothing"}'
    text += '' if predicted is None else f'; predicted: {predicted}'
    why = f'{_named(batch)} is no worse, but no gain was measured ({text})'
    return Step(rolled_back(judged, why, state.updated_s))


def _passed(state: RolloutState, batch: PlannedBatch, judgement: Judgement) -> RolloutState:
    return promote(_with_judgement(state, batch, judgement))


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
