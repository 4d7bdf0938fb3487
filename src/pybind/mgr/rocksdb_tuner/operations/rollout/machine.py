"""State machine of a rollout: pure, no I/O, no clock.

``Machine.step`` takes the stored state and one observation of the cluster and returns the next
state and at most one action. The driver stores the state, then executes the action. So every action
can be repeated: a manager that takes over in between either repeats the action or sees its effect.

This module dispatches to `forward` with `soak` and `collapse`, or to `rollback`. All of them
restart OSDs through `restart`. State changes from outside are in `operator_actions`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from ...plan.entries import own
from ..phases import Outcome
from ..texts import OBSERVES_FIRST, clip
from .batches import watched_batch
from .conflicts import conflicting_entries, conflicts_in_other_option, describe_leftovers
from .forward import following, forward
from .observation import Needs, Observation
from .records import Direction, Ending, OsdStep, RolloutState
from .recovery import start_recovery
from .rollback import back, recover
from .rules import Rules, Step
from .states import ended, in_flight, stamped, waiting


@dataclass(frozen=True)
class Machine(Rules):
    """Decides the steps of a rollout."""

    def step(self, state: RolloutState, seen: Observation, now_s: float) -> Step:
        """The next state and action. ``now_s`` (since the epoch) only timestamps the state."""
        if state.ended:
            return Step(state)
        if seen.watched_s < self.limits.observe_first_s:
            result = Step(waiting(state, OBSERVES_FIRST))
        else:
            asked = None if seen.restart_settled else state.asked
            result = _checked(self, replace(state, paused_reason=None, asked=asked), seen)
        after = describe_leftovers(result.state, seen.entries)
        return Step(stamped(state, after, now_s), result.actions)

    def needs(
        self, state: RolloutState, waited_s: float, away: frozenset[int] = frozenset()
    ) -> Needs:
        """What the next observation must contain; nothing else is queried.

        ``waited_s`` is the observation's, ``away`` are the OSDs that are absent in it.
        """
        osd = in_flight(state)
        described = () if state.asked is None else (state.asked.osd_id,)
        if osd is not None and osd.step in {OsdStep.RESTART_DUE, OsdStep.RESTARTING}:
            described = tuple({*described, osd.osd_id})
        if osd is not None and osd.step is OsdStep.RESTARTING:
            # Nothing to decide until the restart may be requested again.
            patient_s = min(self.limits.restart_s, self.limits.boot_s)
            if waited_s < patient_s:
                return Needs(described=described)
        return replace(_needs(state, away), described=described)


def _needs(state: RolloutState, away: frozenset[int]) -> Needs:
    if state.ended:
        return Needs()
    osd = in_flight(state)
    if osd is None and watched_batch(state) is not None:
        return Needs()
    if osd is None:
        n = following(state, away)
        if state.direction is not Direction.FORWARD or n is None or n in away:
            return Needs()
        return Needs(running=(n,), ok_to_stop=(n,))
    one = (osd.osd_id,)
    return {
        OsdStep.RESTART_DUE: Needs(ok_to_stop=one, orchestrator=True),
        OsdStep.RESTARTING: Needs(ok_to_stop=one, orchestrator=True),
        OsdStep.CHECKING: Needs(running=one),
        OsdStep.COLLAPSING: Needs(resolved=one),
    }.get(osd.step, Needs())


def wait_key(state: RolloutState) -> tuple[object, ...]:
    """What the rollout is waiting for; time limits restart when it changes."""
    osd = in_flight(state)
    return (
        state.rollout_id,
        state.direction,
        state.entries_done,
        state.errors,
        state.pending_conflict,
        osd and (osd.osd_id, osd.step, osd.restarts_asked, osd.nonce_after),
    )


def _checked(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    changed = conflicting_entries(state, seen)
    other_changed = conflicts_in_other_option(state, seen)
    if not changed and not other_changed:
        return _dispatch(rules, replace(state, pending_conflict=None), seen)
    texts = (
        f'{option} of {", ".join(whos)} was changed outside this rollout'
        for option, whos in (
            (state.request.option, changed),
            (state.request.other_option, other_changed),
        )
        if whos
    )
    pending_conflict = clip('; '.join(texts))
    if state.pending_conflict != pending_conflict:
        return Step(replace(state, pending_conflict=pending_conflict))
    if seen.waited_s < rules.limits.confirm_s:
        return Step(state)
    osd = in_flight(state)
    if osd is not None and _removed_while_down(state, osd.osd_id, seen, changed):
        # As a manager does that cannot store it: all that is left to do is to start the OSD.
        ending = state.ending or Ending(Outcome.ABORTED, pending_conflict)
        return Step(start_recovery(rules, state, osd, seen, ending))
    sections = {who.partition('/')[0] for who in changed}
    if state.direction is not Direction.FORWARD or osd is None or own(osd.osd_id) in sections:
        reason = pending_conflict
        if state.ending and pending_conflict not in state.ending.reason:
            reason = f'{state.ending.reason}; {pending_conflict}'
        return Step(ended(state, Ending(Outcome.ABORTED, reason)))
    # The OSD in flight has no conflict: bring it to a safe state before the end.
    ending = state.ending or Ending(Outcome.ABORTED, pending_conflict)
    return _dispatch(rules, replace(state, ending=ending), seen)


def _removed_while_down(
    state: RolloutState, osd_id: int, seen: Observation, changed: Collection[str]
) -> bool:
    who = own(osd_id)
    return (
        state.direction is Direction.FORWARD
        and who in changed
        and seen.entries.get(who) == state.before.entry(who)
        and osd_id in seen.cluster.down
    )


def _dispatch(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    if state.direction is Direction.RECOVER:
        return recover(rules, state, seen)
    if state.direction is Direction.BACK:
        return back(rules, state, seen)
    return forward(rules, state, seen)
