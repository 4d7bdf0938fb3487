"""What to do next about a rollout: pure, no I/O, no clock.

``Machine.step`` looks at the stored state and at one observation of the cluster and answers with
the next state and at most one action. The driver stores the state, then carries the action out:
every action can therefore be repeated, and a manager that takes over in between finds either an
action to repeat or one whose effect it can see.

Here it is decided which part has the word: `forward` with `soak` and `collapse`, or `back`. All of
them restart OSDs by `restart`. What comes from outside is in `acts`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...plan.entries import own
from ..phases import Outcome
from ..texts import LOOKS_FIRST, clip
from .back import back, recover
from .batches import watched_batch
from .foreign import changed_by_others, others_of_other_option, told_what_stays
from .forward import following, forward
from .observation import Needs, Observation
from .records import Direction, Ending, OsdStep, RolloutState
from .rules import Rules, Step
from .states import ended, in_flight, stamped, waiting


@dataclass(frozen=True)
class Machine(Rules):
    """Decisions about a rollout."""

    def step(self, state: RolloutState, seen: Observation, now_s: float) -> Step:
        """The next state and action. ``now_s`` (since the epoch) only stamps the state."""
        if state.ended:
            return Step(state)
        if seen.watched_s < self.limits.look_first_s:
            result = Step(waiting(state, LOOKS_FIRST))
        else:
            asked = None if seen.asked_over else state.asked
            result = _checked(self, replace(state, paused_reason=None, asked=asked), seen)
        after = told_what_stays(result.state, seen.entries)
        return Step(stamped(state, after, now_s), result.actions)

    def needs(
        self, state: RolloutState, waited_s: float, away: frozenset[int] = frozenset()
    ) -> Needs:
        """What the next observation must contain, so that nothing else is asked for.

        ``waited_s`` is that of the observation, ``away`` are the OSDs that are absent in it.
        """
        osd = in_flight(state)
        described = () if state.asked is None else (state.asked.osd_id,)
        if osd is not None and osd.step in {OsdStep.RESTART_DUE, OsdStep.RESTARTING}:
            described = tuple({*described, osd.osd_id})
        if osd is not None and osd.step is OsdStep.RESTARTING:
            # Until it is time to ask once more there is nothing to decide.
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
    """What the rollout is waiting for; time limits start anew when it changes."""
    osd = in_flight(state)
    return (
        state.rollout_id,
        state.direction,
        state.entries_done,
        state.errors,
        state.suspicion,
        osd and (osd.osd_id, osd.step, osd.restarts_asked, osd.nonce_after),
    )


def _checked(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    changed, beside = changed_by_others(state, seen), others_of_other_option(state, seen)
    if not changed and not beside:
        return _dispatch(rules, replace(state, suspicion=None), seen)
    told = (
        f'{option} of {", ".join(whos)} was changed by somebody else'
        for option, whos in (
            (state.request.option, changed),
            (state.request.other_option, beside),
        )
        if whos
    )
    suspicion = clip('; '.join(told))
    if state.suspicion != suspicion:
        return Step(replace(state, suspicion=suspicion))
    if seen.waited_s < rules.limits.confirm_s:
        return Step(state)
    osd = in_flight(state)
    sections = {who.partition('/')[0] for who in changed}
    if state.direction is not Direction.FORWARD or osd is None or own(osd.osd_id) in sections:
        reason = suspicion
        if state.ending and suspicion not in state.ending.reason:
            reason = f'{state.ending.reason}; {suspicion}'
        return Step(ended(state, Ending(Outcome.ABORTED, reason)))
    # The OSD in flight is ours alone: it is brought to a safe state before the end.
    ending = state.ending or Ending(Outcome.ABORTED, suspicion)
    return _dispatch(rules, replace(state, ending=ending), seen)


def _dispatch(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    if state.direction is Direction.RECOVER:
        return recover(rules, state, seen)
    if state.direction is Direction.BACK:
        return back(rules, state, seen)
    return forward(rules, state, seen)
