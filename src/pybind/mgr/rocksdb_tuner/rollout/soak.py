"""Watching the canary until there is a verdict on it."""

from __future__ import annotations

from dataclasses import replace

from .back import rolled_back
from .gates import placement_groups
from .observation import Observation
from .records import Direction, Inconclusive, Judgement, OsdStep, Phase, RolloutState, Verdict
from .rules import Step, why_held
from .states import waiting
from .verdict import in_words, is_judged, too_few_controls


def soaks(state: RolloutState) -> bool:
    """Whether the canary is changed, and the others wait for what is found of it."""
    return (
        state.soak.most_s > 0
        and state.request.restart
        and not state.promoted
        and state.direction is Direction.FORWARD
        and state.osds[0].step is OsdStep.VERIFIED
    )


def soak(state: RolloutState, seen: Observation) -> Step:
    """Watch the canary until there is a verdict; the others follow only then."""
    state = replace(state, stage=Phase.SOAKING, soaked_s=seen.after_s)
    held = why_held(state, seen)
    if held is not None:
        return Step(waiting(state, held))
    canary = state.osds[0]
    info = seen.osd(canary.osd_id)
    if info is None or not info.up or info.nonce != canary.nonce_after:
        cause = f'the process of osd.{canary.osd_id} ended while it was watched'
        judgement = Judgement(Verdict.FAILED, cause=cause)
        return Step(_failed_verdict(state, judgement))
    if not is_judged(state.request, state.soak):
        return _without_verdict(state, too_few_controls(len(state.controls)))
    unsettled = placement_groups(seen)
    if unsettled is not None:
        return Step(waiting(replace(state, judgement=None), unsettled))
    if seen.judgement is None:
        return Step(state)
    if seen.judgement.verdict is Verdict.FAILED:
        return Step(_failed_verdict(state, seen.judgement))
    if seen.judgement.verdict is Verdict.PASSED and seen.after_s >= state.soak.least_s:
        return Step(replace(state, judgement=seen.judgement, promoted=True))
    if seen.after_s >= state.soak.most_s:
        return _without_verdict(state, seen.judgement)
    return Step(state)


def _without_verdict(state: RolloutState, judgement: Judgement) -> Step:
    """The soak is over without a verdict: what follows was laid down before."""
    judged = replace(state, judgement=judgement)
    if state.soak.inconclusive is Inconclusive.PROMOTE:
        return Step(replace(judged, promoted=True))
    lacks = '; '.join(judgement.missing)
    if state.soak.inconclusive is Inconclusive.ROLLBACK:
        return Step(rolled_back(judged, f'the policy, for want of {lacks}', state.updated_s))
    return Step(
        waiting(
            judged,
            f'the verdict on osd.{state.request.order[0]} is {judgement.verdict.value}: '
            '"ceph rocksdb-tuner rollout resume" changes the others all the same, "ceph '
            f'rocksdb-tuner rollback" takes it back; missing is {lacks}',
        )
    )


def _failed_verdict(state: RolloutState, judgement: Judgement) -> RolloutState:
    judged = replace(state, judgement=judgement)
    return rolled_back(judged, f'the verdict: {in_words(judgement)}', state.updated_s)


def undecided(state: RolloutState) -> bool:
    """Whether the soak ended without a verdict."""
    return soaks(state) and state.judgement is not None and state.paused_by is None
