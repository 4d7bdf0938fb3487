"""State machine of an experiment: pure, no I/O, no clock.

``ExperimentMachine.step`` takes the stored state and one observation of the cluster and returns the
next state and at most one action. OSDs are changed by legs only, each a rollout whose own state
machine decides; see `legs`. Between two legs nothing is changed: OSDs are measured, and entries and
processes are monitored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..gates import NOT_ALLOWED, placement_groups
from ..phases import OBSERVES_FIRST, Outcome, clip, paused_text
from ..rollout.machine import Machine
from ..rollout.rules import Observation
from . import legs
from .driving import Step, View, in_leg, restore, time_is_up, without_processes
from .judging import compared, concluded, enough_controls
from .records import ExperimentState, LegKind, Stage
from .states import (
    ending,
    planned_arms,
    remaining,
    stamped,
    waiting,
    wanted,
    with_dropped,
    without,
)
from .watching import (
    away,
    changed_entries,
    of_another_release,
    perhaps_away,
    too_small,
)


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
            result = in_leg(self.rollouts, state, state.leg, view, now_s)
        else:
            asked = None if seen.restart_settled else state.asked
            result = Step(
                self._between_legs(replace(state, paused_reason=None, asked=asked), view, now_s)
            )
        return Step(stamped(state, result.state, now_s), result.actions)

    # -- between two legs

    def _between_legs(self, state: ExperimentState, view: View, now_s: float) -> ExperimentState:
        seen = view.cluster
        if state.ending is not None:
            return restore(self.rollouts, state, seen, now_s)
        changed = changed_entries(state, seen)
        if changed is not None:
            return self._changed(state, clip(changed), seen, now_s)
        state = replace(state, pending_conflict=None)
        if state.paused_by is not None:
            return waiting(state, paused_text(state.paused_by))
        if not seen.may_act:
            return waiting(state, NOT_ALLOWED)
        if state.stage is Stage.PLANNED:
            return replace(state, stage=Stage.BASELINE)
        return self._watched(state, view, now_s)

    def _changed(
        self, state: ExperimentState, pending_conflict: str, seen: Observation, now_s: float
    ) -> ExperimentState:
        """An external change has priority: the experiment ends and keeps it."""
        if state.pending_conflict != pending_conflict:
            return replace(state, pending_conflict=pending_conflict)
        if seen.waited_s < self.rollouts.limits.confirm_s:
            return state
        return restore(self.rollouts, ending(state, Outcome.ABORTED, pending_conflict), seen, now_s)

    def _watched(self, state: ExperimentState, view: View, now_s: float) -> ExperimentState:
        seen = view.cluster
        broken = of_another_release(state, seen)
        if broken is not None:
            return ending(state, Outcome.FAILED, broken)
        after = without_processes(state, seen)
        if after is not state:
            return after
        gone = away(state, seen, self.rollouts.limits)
        if gone:
            return without(state, gone)
        small = too_small(state)
        if small:
            return with_dropped(state, small)
        state = enough_controls(state)
        if state.ending is not None:
            return state
        return self._in_order(state, view, now_s)

    def _in_order(self, state: ExperimentState, view: View, now_s: float) -> ExperimentState:
        """All OSDs that take part are as the experiment left them."""
        if not remaining(state) or time_is_up(state, view):
            return concluded(state, over=True)
        arms = wanted(state) if state.stage is not Stage.BASELINE else {}
        off = [osd for osd in state.osds if osd.arm is not None]
        restored = [osd.osd_id for osd in off if osd.osd_id not in arms]
        if restored:
            return legs.back(state, LegKind.DROP, restored, self.rollouts.same_meaning)
        for osd in off:
            if osd.nonce is None:
                return legs.recheck(state, osd.osd_id)
        if state.stage is Stage.CHANGING:
            has = {osd.osd_id: osd.arm for osd in state.osds}
            due = {n: arm for n, arm in _by_turns(state).items() if has[n] != arm}
            if due:
                return legs.change(state, due)
            return replace(state, stage=Stage.MEASURING, settle_due=True)
        return self._measuring(state, view, now_s)

    def _measuring(self, state: ExperimentState, view: View, now_s: float) -> ExperimentState:
        seen = view.cluster
        disturbed = seen.no_reports_reason or perhaps_away(state, seen) or placement_groups(seen)
        if disturbed is not None:
            return waiting(state, disturbed)
        if view.blocks == state.blocks:
            return state
        due = state.settle_due and view.blocks == 0
        state = replace(state, blocks=view.blocks, settle_due=due)
        if state.period > 0 and view.comparison is not None:
            state = compared(state, view.comparison, now_s)
        plan = state.request.plan.periods
        if state.ending is not None or state.blocks < plan[state.period].blocks:
            return state
        if state.period + 1 == len(plan):
            return concluded(state, over=True)
        following = replace(
            state, stage=Stage.CHANGING, period=state.period + 1, blocks=0, settle_due=False
        )
        assigned = tuple(planned_arms(following, following.period).items())
        return replace(following, assigned=(*state.assigned, assigned))


def _by_turns(state: ExperimentState) -> dict[int, str]:
    """The OSDs of a period, one of each arm, then the next of each: harm shows early."""
    arms = planned_arms(state, state.period)
    most = max(map(len, arms.values()), default=0)
    return {
        osds[place]: arm for place in range(most) for arm, osds in arms.items() if place < len(osds)
    }
