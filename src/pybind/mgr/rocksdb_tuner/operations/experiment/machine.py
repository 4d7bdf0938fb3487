"""State machine of an experiment: pure, no I/O, no clock.

``ExperimentMachine.step`` takes the stored state and one observation of the cluster and returns the
next state and at most one action. OSDs are changed by legs only, each a rollout whose own state
machine decides; see `legs`. Between two legs nothing is changed: OSDs are measured, and entries and
processes are monitored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

from ...judge.arms import Comparison
from ...plan.commands import Action
from ...plan.entries import own
from .. import phases
from ..gates import NOT_ALLOWED, placement_groups
from ..phases import OBSERVES_FIRST, Outcome, clip, paused_text
from ..rollout.machine import Machine
from ..rollout.osd_step import unverified
from ..rollout.records import Direction, Ending, OsdStep, RolloutState, with_osd
from ..rollout.rules import Observation
from . import legs
from .judging import compared, concluded, failed
from .records import ExperimentState, LegKind, Stage
from .states import ending, failing, finished, stamped, waiting
from .watching import (
    changed_entries,
    crashed,
    down,
    left_alone,
    lost_processes,
    not_as_planned,
)


@dataclass(frozen=True)
class View:
    #: Of `legs.now`.
    cluster: Observation
    #: Measured blocks of the baseline, or after the change.
    blocks: int = 0
    #: All arms, after the last block; None: no comparison yet.
    comparison: Optional[Comparison] = None
    #: How long the experiment has been running, while managers were active.
    elapsed_s: float = 0.0


class Step(phases.Step[ExperimentState, Action]):
    """The next state of an experiment, and at most one action."""


@dataclass(frozen=True)
class ExperimentMachine:
    """``rollouts`` decides about the leg under way."""

    rollouts: Machine

    def step(self, state: ExperimentState, view: View, now_s: float) -> Step:
        """The next state and action. ``now_s`` (since the epoch) only timestamps the state."""
        if state.ended:
            return Step(state)
        seen = view.cluster
        if seen.watched_s < self.rollouts.limits.observe_first_s:
            return Step(stamped(state, waiting(state, OBSERVES_FIRST), now_s))
        if state.leg is not None:
            result = self._in_leg(state, state.leg, view, now_s)
        else:
            asked = None if seen.restart_settled else state.asked
            free = replace(state, paused_reason=None, asked=asked)
            result = Step(self._between_legs(free, view, now_s))
        return Step(stamped(state, result.state, now_s), result.actions)

    def _between_legs(self, state: ExperimentState, view: View, now_s: float) -> ExperimentState:
        seen = view.cluster
        if state.ending is not None:
            return self._restore(state, seen, now_s)
        changed = changed_entries(state, seen)
        if changed is not None:
            # An external change has priority: the experiment ends and keeps it.
            changed = clip(changed)
            if state.pending_conflict != changed:
                return replace(state, pending_conflict=changed)
            if seen.waited_s < self.rollouts.limits.confirm_s:
                return state
            return self._restore(ending(state, Outcome.ABORTED, changed), seen, now_s)
        state = replace(state, pending_conflict=None)
        if state.paused_by is not None:
            return waiting(state, paused_text(state.paused_by))
        if not seen.may_act:
            return waiting(state, NOT_ALLOWED)
        if state.stage is Stage.PLANNED:
            return replace(state, stage=Stage.BASELINE)
        broken = not_as_planned(state, seen, self.rollouts.limits)
        if broken is not None:
            return ending(state, Outcome.FAILED, broken)
        state = _without_processes(state, seen)
        return state if state.ending is not None else self._in_order(state, view)

    def _in_order(self, state: ExperimentState, view: View) -> ExperimentState:
        """All OSDs are as the experiment left them."""
        left = state.remaining
        if not left or _time_is_up(state, view):
            return concluded(state, view.comparison, over=True)
        dropped = [osd.osd_id for osd in state.osds if osd.changed and osd.arm not in left]
        if dropped:
            return legs.back(state, LegKind.DROP, dropped)
        if state.stage is Stage.CHANGING:
            due = [osd.osd_id for osd in state.osds if not osd.changed and osd.arm in left]
            if due:
                return legs.change(state, due)
            return replace(state, stage=Stage.MEASURING)
        return _measuring(state, view)

    # -- the leg under way

    def _in_leg(self, state: ExperimentState, leg: RolloutState, view: View, now_s: float) -> Step:
        seen = view.cluster
        # An OSD under recovery is brought to a safe state first.
        if state.leg_kind is not LegKind.RESTORE and leg.direction is not Direction.RECOVER:
            state = self._ended_in_leg(state, leg, view)
            leg = state.leg or leg
            if state.ending is not None:
                if seen.may_act or leg.in_flight is None or leg.direction is Direction.BACK:
                    return Step(self._restore(state, seen, now_s))
                # Even in mode off, the OSD in flight is brought to a safe state.
                reason = state.ending.reason or 'the experiment is ending'
                leg = replace(leg, ending=leg.ending or Ending(state.ending.outcome, reason))
        made = self.rollouts.step(replace(leg, paused_by=state.paused_by), seen, now_s)
        after = made.state
        state = replace(state, leg=after, asked=after.asked, paused_reason=after.paused_reason)
        turns = state.leg_kind in {LegKind.DROP, LegKind.RESTORE}
        go_on = self._back if turns else self._forward
        return Step(go_on(state, leg, after, seen, now_s), made.actions)

    def _ended_in_leg(
        self, state: ExperimentState, leg: RolloutState, view: View
    ) -> ExperimentState:
        """Whether the experiment ends before the leg does."""
        if state.ending is not None:
            return state
        state = _without_processes(state, view.cluster)
        if state.ending is not None or leg.in_flight is not None:
            return state
        reason = not_as_planned(state, view.cluster, self.rollouts.limits)
        if reason is not None:
            return ending(state, Outcome.FAILED, reason)
        over = state.leg_kind is LegKind.CHANGE and _time_is_up(state, view)
        return concluded(state, view.comparison, over=True) if over else state

    def _forward(
        self,
        state: ExperimentState,
        before: RolloutState,
        leg: RolloutState,
        seen: Observation,
        now_s: float,
    ) -> ExperimentState:
        osd = before.in_flight
        recovers = leg.direction is Direction.RECOVER and before.direction is Direction.FORWARD
        if recovers and osd is not None and leg.ending is not None:
            info = seen.osd(osd.osd_id)
            nonces = {osd.nonce_before, osd.nonce_after}
            alive = info is not None and info.up and info.nonce in nonces
            if leg.ending.outcome is Outcome.FAILED and not alive:
                state = failed(state, (state.osd(osd.osd_id).arm,), leg.ending.reason)
        if leg.direction is Direction.BACK or (leg.ended and leg.outcome is not Outcome.DONE):
            # An OSD failed, an entry was changed externally, or the leg could not start.
            outcome = Outcome.ABORTED if leg.outcome is Outcome.ABORTED else Outcome.FAILED
            state = _unverified(ending(state, outcome, _why(before, leg)), leg, seen)
            return self._restore(state, seen, now_s)
        if not leg.ended:
            return state
        return replace(legs.merged(state), leg=None, leg_kind=None)

    def _back(
        self,
        state: ExperimentState,
        before: RolloutState,
        leg: RolloutState,
        seen: Observation,
        now_s: float,
    ) -> ExperimentState:
        if not leg.ended:
            return state
        if leg.outcome is Outcome.FAILED:
            return self._restore(_unverified(state, leg, seen), seen, now_s)
        if leg.outcome is not Outcome.ROLLED_BACK:
            # An entry that it restores was changed: the others are restored without it.
            return self._restore(ending(state, Outcome.ABORTED, _why(before, leg)), seen, now_s)
        done = replace(legs.merged(state), leg=None, leg_kind=None)
        return finished(done, now_s) if state.leg_kind is LegKind.RESTORE else done

    def _restore(self, state: ExperimentState, seen: Observation, now_s: float) -> ExperimentState:
        """Restore every OSD, then end."""
        known = left_alone(state, seen.entries)
        turned = legs.back(known, LegKind.RESTORE, [osd.osd_id for osd in known.osds])
        if turned.leg is None:
            return finished(turned, now_s)
        return replace(turned, stage=Stage.RESTORING)


def _measuring(state: ExperimentState, view: View) -> ExperimentState:
    seen = view.cluster
    disturbed = seen.no_reports_reason or down(state, seen) or placement_groups(seen)
    if disturbed is not None:
        return waiting(state, disturbed)
    if view.blocks == state.blocks:
        return state
    state = replace(state, blocks=view.blocks)
    if state.stage is Stage.MEASURING and view.comparison is not None:
        state = compared(state, view.comparison)
    if state.ending is not None or state.blocks < state.request.plan.blocks:
        return state
    if state.stage is Stage.MEASURING:
        return concluded(state, view.comparison, over=True)
    return replace(state, stage=Stage.CHANGING, blocks=0)


def _without_processes(state: ExperimentState, seen: Observation) -> ExperimentState:
    """An OSD of an arm that does not run the process of its change ends the experiment."""
    lost = lost_processes(state, seen.cluster)
    dead = crashed(state, lost, seen)
    if dead:
        reason = f'the process of {", ".join(map(own, dead))} exited unexpectedly'
        return failed(state, (state.osd(n).arm for n in dead), reason)
    if not lost:
        return state
    reason = f'{", ".join(map(own, lost))} restarted together with other OSDs'
    return ending(state, Outcome.FAILED, reason)


def _time_is_up(state: ExperimentState, view: View) -> bool:
    return view.elapsed_s >= state.request.max_duration_s


def _why(before: RolloutState, leg: RolloutState) -> Optional[str]:
    """Why a leg failed, without the rollout's text about its rollback."""
    known = before.pending_conflict if before.ending is None else before.ending.reason
    return known or leg.failure


def _unverified(state: ExperimentState, leg: RolloutState, seen: Observation) -> ExperimentState:
    """An OSD with its old entry that started with other options, as from its ceph.conf.

    Another restart would change nothing: it counts as restored, and the experiment as failed.
    """
    osd = leg.in_flight
    tried = leg.outcome is Outcome.FAILED and leg.direction is not Direction.FORWARD
    if not tried or osd is None or osd.step is not OsdStep.CHECKING:
        return state
    restored = with_osd(leg, replace(osd, step=OsdStep.RESTORED))
    reason = unverified(osd.osd_id, seen.running.get(osd.osd_id))
    return replace(failing(state, reason), leg=restored)
