"""One step of the current leg, and the restore of all OSDs. Pure.

Observation for the state machine of an experiment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

from ...judge.arms import Comparison
from ...plan.commands import Action
from ...plan.entries import own
from ...plan.records import overruled
from .. import phases
from ..phases import Outcome
from ..rollout.machine import Machine
from ..rollout.osd_step import unverified
from ..rollout.records import Direction, Ending, OsdStep, RolloutState, in_flight, with_osd
from ..rollout.rules import Observation
from . import legs
from .judging import concluded, failed
from .records import ExperimentEnding, ExperimentState, LegKind, Stage
from .states import ending, failing, finished, without
from .watching import (
    arms_of,
    away,
    crashed,
    left_alone,
    lost_processes,
    of_another_release,
    with_processes_unknown,
)


@dataclass(frozen=True)
class View:
    #: Of the leg under way, or of `legs.as_rollout`.
    cluster: Observation
    #: Measured blocks of the current period.
    blocks: int = 0
    #: All arms, after the last block; None: no comparison yet.
    comparison: Optional[Comparison] = None
    #: How long the experiment has been running, while managers were active.
    elapsed_s: float = 0.0


class Step(phases.Step[ExperimentState, Action]):
    """The next state of an experiment, and at most one action."""


def in_leg(
    rollouts: Machine, state: ExperimentState, leg: RolloutState, view: View, now_s: float
) -> Step:
    seen = view.cluster
    # An OSD under recovery is brought to a safe state first.
    turns = state.leg_kind is not LegKind.RESTORE and leg.direction is not Direction.RECOVER
    if turns and not leg.ended:
        state = _ended_in_leg(state, leg, view)
        leg = state.leg or leg
        if state.ending is not None:
            if seen.may_act or in_flight(leg) is None or leg.direction is Direction.BACK:
                return Step(restore(rollouts, state, seen, now_s))
            # Even in mode off, the OSD in flight is brought to a safe state.
            leg = replace(leg, ending=leg.ending or _of_leg(state.ending))
    made = rollouts.step(replace(leg, paused_by=state.paused_by), seen, now_s)
    after = made.state
    state = replace(state, leg=after, asked=after.asked, paused_reason=after.paused_reason)
    if state.leg_kind in {LegKind.DROP, LegKind.RESTORE}:
        state = _back(rollouts, state, leg, after, seen, now_s)
    else:
        state = _forward(rollouts, state, leg, after, seen, now_s)
    return Step(state, made.actions)


def _ended_in_leg(state: ExperimentState, leg: RolloutState, view: View) -> ExperimentState:
    """Whether the experiment ends before the leg does."""
    if state.ending is not None:
        return state
    state = without_processes(state, view.cluster)
    if state.ending is not None or in_flight(leg) is not None:
        return state
    reason = of_another_release(state, view.cluster) or _overruled(leg, view.cluster)
    if reason is not None:
        return ending(state, Outcome.FAILED, reason)
    over = state.leg_kind is LegKind.CHANGE and time_is_up(state, view)
    return concluded(state, over=True) if over else state


def _forward(
    rollouts: Machine,
    state: ExperimentState,
    before: RolloutState,
    leg: RolloutState,
    seen: Observation,
    now_s: float,
) -> ExperimentState:
    osd = in_flight(before)
    recovers = leg.direction is Direction.RECOVER and before.direction is Direction.FORWARD
    if recovers and osd is not None and leg.ending is not None:
        info = seen.osd(osd.osd_id)
        here = info is not None and info.up
        same = info is not None and info.nonce in {osd.nonce_before, osd.nonce_after}
        if leg.ending.outcome is Outcome.FAILED and not (here and same):
            state = failed(state, (_arm_in_leg(state, osd.osd_id),), leg.ending.reason)
    if leg.direction is Direction.BACK or (leg.ended and leg.outcome is not Outcome.DONE):
        return _leg_failed(rollouts, state, leg, _why(before, leg), seen, now_s)
    if not leg.ended:
        return state
    due = state.leg_kind is LegKind.RECHECK or state.settle_due
    return replace(legs.merged(state), leg=None, leg_kind=None, settle_due=due)


def _leg_failed(
    rollouts: Machine,
    state: ExperimentState,
    leg: RolloutState,
    reason: Optional[str],
    seen: Observation,
    now_s: float,
) -> ExperimentState:
    """An OSD failed, an entry was changed externally, or the leg could not start."""
    gone = away(state, seen, rollouts.limits)
    first = leg.request.order[0]
    untouched = all(o.step in {OsdStep.PENDING, OsdStep.LEFT_BEHIND} for o in leg.osds)
    if leg.outcome is Outcome.FAILED and untouched and state.ending is None:
        merged = replace(legs.merged(state), leg=None, leg_kind=None)
        if first in gone or _is_lost(merged, first):
            return without(merged, {n: why for n, why in gone.items() if not _is_lost(merged, n)})
    outcome = Outcome.ABORTED if leg.outcome is Outcome.ABORTED else Outcome.FAILED
    state = _unverified(ending(state, outcome, reason), leg, seen)
    return restore(rollouts, state, seen, now_s)


def _why(before: RolloutState, leg: RolloutState) -> Optional[str]:
    """Why a leg failed, without the rollout's text about its rollback."""
    known = before.pending_conflict if before.ending is None else before.ending.reason
    return known or leg.failure


def _back(
    rollouts: Machine,
    state: ExperimentState,
    before: RolloutState,
    leg: RolloutState,
    seen: Observation,
    now_s: float,
) -> ExperimentState:
    if not leg.ended:
        return state
    if leg.outcome is Outcome.FAILED:
        return restore(rollouts, _unverified(state, leg, seen), seen, now_s)
    if leg.outcome is not Outcome.ROLLED_BACK:
        # An entry that it restores was changed: the others are restored without it.
        return restore(rollouts, ending(state, Outcome.ABORTED, _why(before, leg)), seen, now_s)
    done = replace(legs.merged(state), leg=None, leg_kind=None)
    return finished(done, now_s) if state.leg_kind is LegKind.RESTORE else done


def _unverified(state: ExperimentState, leg: RolloutState, seen: Observation) -> ExperimentState:
    """An OSD with its old entry that started with other options, as from its ceph.conf.

    Another restart would change nothing: it counts as restored, and the experiment as failed.
    """
    osd = in_flight(leg)
    tried = leg.outcome is Outcome.FAILED and leg.direction is not Direction.FORWARD
    if not tried or osd is None or osd.step is not OsdStep.CHECKING:
        return state
    restored = with_osd(leg, replace(osd, step=OsdStep.RESTORED))
    reason = unverified(osd.osd_id, seen.running.get(osd.osd_id))
    return replace(failing(state, reason), leg=restored)


def restore(
    rollouts: Machine, state: ExperimentState, seen: Observation, now_s: float
) -> ExperimentState:
    """Restore every OSD, then end."""
    known = left_alone(state, seen.entries)
    changed = [osd.osd_id for osd in known.osds if osd.arm is not None]
    turned = legs.back(known, LegKind.RESTORE, changed, rollouts.same_meaning)
    if turned.leg is None:
        return finished(turned, now_s)
    return replace(turned, stage=Stage.RESTORING)


def without_processes(state: ExperimentState, seen: Observation) -> ExperimentState:
    """A crash ends the experiment; OSDs that restarted together with others are checked again."""
    lost = lost_processes(state, seen.cluster)
    dead = crashed(state, lost, seen)
    if dead:
        arms = arms_of(state)
        reason = f'the process of {", ".join(map(own, dead))} exited unexpectedly'
        return failed(state, (arms[n] for n in dead), reason)
    return with_processes_unknown(state, lost) if lost else state


def time_is_up(state: ExperimentState, view: View) -> bool:
    return view.elapsed_s >= state.request.max_duration_s


def _of_leg(end: ExperimentEnding) -> Ending:
    return Ending(end.outcome, end.reason or 'the experiment is ending')


def _is_lost(state: ExperimentState, osd_id: int) -> bool:
    return any(osd.osd_id == osd_id and osd.lost is not None for osd in state.osds)


def _arm_in_leg(state: ExperimentState, osd_id: int) -> str:
    return next(arm for arm, osds in state.assigned[-1] if osd_id in osds)


def _overruled(leg: RolloutState, seen: Observation) -> Optional[str]:
    """Why an OSD of a leg cannot be changed: the config store does not determine its options."""
    for osd in leg.osds:
        running = seen.running.get(osd.osd_id)
        if osd.step is OsdStep.PENDING and running is not None and running.beats_config_store:
            return overruled(leg.request, osd.osd_id, running)
    return None
