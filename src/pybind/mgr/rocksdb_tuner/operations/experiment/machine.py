"""State machine of an experiment: pure, no I/O, no clock.

``ExperimentMachine.step`` takes the stored state and one observation of the cluster and returns the
next state and at most one action. OSDs are changed by legs only, each a rollout whose own state
machine decides; see `records`. Between two legs nothing is changed: OSDs are measured, and entries
and processes are monitored.

At the end: what operators request, and actions that the cluster refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Optional

from ...judge.arms import Answer, Arm, Conclusion, conclude
from ...mgr.records import ClusterMap
from ...plan.commands import Action
from ...plan.entries import own
from ...plan.records import overruled
from .. import phases
from ..gates import NOT_ALLOWED, Away, absent, placement_groups, upgrading, why_away
from ..phases import OBSERVES_FIRST, Outcome, Step, clip, paused_text
from ..rollout import machine as of_rollouts
from ..rollout.admission import identity_mismatch
from ..rollout.osd_step import unsafe, unverified
from ..rollout.records import Direction, Ending, OsdStep, RolloutState, with_osd
from ..rollout.rollback import conflicting_entries, conflicts_in_other_option
from ..rollout.rules import Limits, Observation, restoring_command
from .records import (
    CHANGED,
    ExperimentState,
    Stage,
    as_rollout,
    back,
    change,
    ending,
    failing,
    finished,
    left_alone,
    stamped,
    waiting,
    with_arms,
    without_leg,
)


@dataclass(frozen=True)
class View:
    #: Of `as_rollout`.
    cluster: Observation
    #: Measured blocks of the baseline, or after the change.
    blocks: int = 0
    #: All arms, after the last block; empty: no comparison yet.
    arms: tuple[Arm, ...] = ()
    #: How long the experiment has been running, while managers were active.
    elapsed_s: float = 0.0


@dataclass(frozen=True)
class ExperimentMachine:
    """``rollouts`` decides about the leg under way."""

    rollouts: of_rollouts.Machine

    def step(
        self, state: ExperimentState, view: View, now_s: float
    ) -> Step[ExperimentState, Action]:
        """The next state and action of an experiment that has not ended.

        ``now_s`` (since the epoch) only timestamps the state.
        """
        seen = view.cluster
        actions: tuple[Action, ...] = ()
        if seen.watched_s < self.rollouts.limits.observe_first_s:
            after = waiting(state, OBSERVES_FIRST)
        elif state.leg is None:
            asked = None if seen.restart_settled else state.asked
            free = replace(state, paused_reason=None, asked=asked)
            after = self._between_legs(free, view, now_s)
        else:
            after, actions = self._in_leg(state, state.leg, view, now_s)
        return Step(stamped(state, after, now_s), actions)

    def _between_legs(self, state: ExperimentState, view: View, now_s: float) -> ExperimentState:
        seen, limits = view.cluster, self.rollouts.limits
        if state.ending is not None:
            return self._restore(state, seen, now_s)
        changed = changed_entries(state, seen)
        if changed is not None:
            # An external change has priority: the experiment ends and keeps it.
            if state.pending_conflict != changed:
                return replace(state, pending_conflict=changed)
            if seen.waited_s < limits.confirm_s:
                return state
            return self._restore(ending(state, Outcome.ABORTED, changed), seen, now_s)
        state = replace(state, pending_conflict=None)
        if state.paused_by is not None:
            return waiting(state, paused_text(state.paused_by))
        if not seen.may_act:
            return waiting(state, NOT_ALLOWED)
        state = self._checked(state, view)
        return state if state.ending is not None else _in_order(state, view)

    def _checked(self, state: ExperimentState, view: View) -> ExperimentState:
        """Ending, if an OSD crashed, the plan no longer matches the cluster, or time is up."""
        if state.ending is not None:
            return state
        # An OSD in flight is brought to a safe state first.
        flying = state.leg is not None and state.leg.in_flight is not None
        if not flying:
            reason = not_as_planned(state, view.cluster, self.rollouts.limits)
            if reason is not None:
                return ending(state, Outcome.FAILED, reason)
        state = without_processes(state, view.cluster)
        over = state.ending is None and view.elapsed_s >= state.request.max_duration_s
        return concluded(state, view, over=True) if over and not flying else state

    # -- the leg under way

    def _in_leg(
        self, state: ExperimentState, leg: RolloutState, view: View, now_s: float
    ) -> tuple[ExperimentState, tuple[Action, ...]]:
        seen = view.cluster
        # An OSD under recovery is brought to a safe state first.
        if state.stage is not Stage.RESTORING and leg.direction is not Direction.RECOVER:
            state = self._checked(state, view)
            if state.ending is not None:
                if seen.may_act or leg.in_flight is None or leg.direction is Direction.BACK:
                    return self._restore(state, seen, now_s), ()
                # Even in mode off, the OSD in flight is brought to a safe state.
                reason = state.ending.reason or 'the experiment is ending'
                leg = replace(leg, ending=leg.ending or Ending(state.ending.outcome, reason))
        made = self.rollouts.step(replace(leg, paused_by=state.paused_by), seen, now_s)
        after = made.state
        state = replace(state, leg=after, asked=after.asked, paused_reason=after.paused_reason)
        return self._after_leg(state, leg, after, seen, now_s), made.actions

    def _after_leg(
        self,
        state: ExperimentState,
        before: RolloutState,
        leg: RolloutState,
        seen: Observation,
        now_s: float,
    ) -> ExperimentState:
        """The same state until the leg has ended, or turns back by itself."""
        changing, back = state.stage is Stage.CHANGING, leg.direction is Direction.BACK
        if changing:
            state = _with_crash(state, before, leg, seen)
        if not leg.ended and not (changing and back):
            return state
        if leg.outcome is (Outcome.DONE if changing else Outcome.ROLLED_BACK):
            ends = state.stage is Stage.RESTORING
            return finished(state, now_s) if ends else without_leg(state)
        if changing:
            # An OSD failed, an entry was changed externally, or the leg could not start.
            outcome = Outcome.ABORTED if leg.outcome is Outcome.ABORTED else Outcome.FAILED
            state = ending(state, outcome, _why(before, leg))
        elif leg.outcome is not Outcome.FAILED:
            # An entry that it restores was changed: the others are restored without it.
            state = ending(state, Outcome.ABORTED, _why(before, leg))
        return self._restore(_unverified(state, leg, seen), seen, now_s)

    def _restore(self, state: ExperimentState, seen: Observation, now_s: float) -> ExperimentState:
        """Restore every OSD, then end."""
        turned = back(left_alone(state, seen.entries), state.arm_of)
        if turned.leg is None:
            return finished(turned, now_s)
        return replace(turned, stage=Stage.RESTORING)


# -- all OSDs are as the experiment left them


def _in_order(state: ExperimentState, view: View) -> ExperimentState:
    left = {n for arm in state.remaining for n in arm.osds}
    if not left:
        return concluded(state, view, over=True)
    dropped = state.changed - left
    if dropped:
        return back(state, dropped)
    if state.stage is Stage.CHANGING:
        due = [osd.osd_id for osd in state.osds if osd.osd_id in left - state.changed]
        return change(state, due) if due else replace(state, stage=Stage.MEASURING)
    disturbed = view.cluster.no_reports_reason or down(state, view.cluster)
    disturbed = disturbed or placement_groups(view.cluster)
    if disturbed is not None:
        return waiting(state, disturbed)
    return state if view.blocks == state.blocks else _after_block(state, view)


def _after_block(state: ExperimentState, view: View) -> ExperimentState:
    state = replace(state, blocks=view.blocks)
    over = state.blocks >= state.request.blocks
    if state.stage is Stage.MEASURING:
        return concluded(state, view, over=over)
    return replace(state, stage=Stage.CHANGING, blocks=0) if over else state


def concluded(state: ExperimentState, view: View, *, over: bool) -> ExperimentState:
    """Record the results, and end the experiment if they answer its question, or time is up."""
    if view.arms:
        state = with_arms(state, view.arms)
    found = conclude(view.arms, view.blocks, state.request.min_effect, over)
    return state if found is None else ending(replace(state, conclusion=found), Outcome.DONE)


def crashed(state: ExperimentState, osd_ids: Collection[int], reason: str) -> ExperimentState:
    """These OSDs crashed or did not start with the strings of their arms, which ends it."""
    arms = (
        replace(arm, crashed=arm.crashed or not set(osd_ids).isdisjoint(arm.osds))
        for arm in state.arms
    )
    conclusion = state.conclusion or Conclusion(Answer.FAILED)
    return ending(replace(with_arms(state, arms), conclusion=conclusion), Outcome.FAILED, reason)


def _with_crash(
    state: ExperimentState, before: RolloutState, leg: RolloutState, seen: Observation
) -> ExperimentState:
    """An OSD that the leg begins to recover did not start with its string, or crashed."""
    osd, end = before.in_flight, leg.ending
    recovers = leg.direction is Direction.RECOVER and before.direction is Direction.FORWARD
    if not recovers or osd is None or end is None or end.outcome is not Outcome.FAILED:
        return state
    info = seen.osd(osd.osd_id)
    alive = info is not None and info.up and info.nonce in {osd.nonce_before, osd.nonce_after}
    return state if alive else crashed(state, (osd.osd_id,), end.reason)


# -- what happens to OSDs


def changed_entries(state: ExperimentState, seen: Observation) -> Optional[str]:
    """Description of externally changed entries that may cover an OSD of the experiment."""
    rollout = as_rollout(state)
    texts = (
        f'{option} of {", ".join(whos[:8])} was changed outside this experiment'
        for option, whos in (
            (rollout.request.option, conflicting_entries(rollout, seen)),
            (rollout.request.other_option, conflicts_in_other_option(rollout, seen)),
        )
        if whos
    )
    return clip('; '.join(texts)) or None


def not_as_planned(state: ExperimentState, seen: Observation, limits: Limits) -> Optional[str]:
    """Why the plan no longer matches the cluster; None if it does, as far as known."""
    releases = {osd.osd_id: osd.release for osd in seen.cluster.osds}
    for before in state.before.osds:
        release = releases.get(before.osd_id)
        if release not in {None, before.release}:
            return (
                f'osd.{before.osd_id} now runs {release}: the experiment was planned for '
                f'{before.release}'
            )
    rollout = as_rollout(state)
    for n, osd in rollout.by_id.items():
        another = identity_mismatch(rollout, n, seen)
        if another is not None:
            return another
        gone, running = absent(seen, n), seen.running.get(n)
        long_s = limits.confirm_s if gone is Away.GONE else limits.boot_s
        if gone is not None and seen.absent_s >= long_s:
            return why_away(n, gone)
        if osd.step is OsdStep.PENDING and running is not None and running.beats_config_store:
            return overruled(rollout.request, n, running)
    return None


def down(state: ExperimentState, seen: Observation) -> Optional[str]:
    """Why nothing is measured: an OSD is down. Placement groups show it later."""
    for n in as_rollout(state).request.order:
        info = seen.osd(n)
        if info is None or not info.up:
            return f'osd.{n} is down'
    return None


def lost_processes(state: ExperimentState, cluster: ClusterMap) -> tuple[int, ...]:
    """OSDs in arms that lost their verified process, without those that were removed.

    OSDs that a leg is changing are not included: the leg monitors them.
    """
    leg = {} if state.leg is None else state.leg.by_id
    osds = [osd for osd in state.osds if osd.osd_id not in leg]
    if state.stage is Stage.CHANGING:
        osds += leg.values()
    known = cluster.by_id
    return tuple(
        osd.osd_id
        for osd in osds
        if osd.step in CHANGED and osd.nonce_after is not None and osd.osd_id in known
        for info in [known[osd.osd_id]]
        if not (info.up and info.nonce == osd.nonce_after)
    )


def without_processes(state: ExperimentState, seen: Observation) -> ExperimentState:
    """An OSD of an arm that does not run the process of its change ends the experiment."""
    lost = lost_processes(state, seen.cluster)
    if not lost:
        return state
    # Those that were not restarted together with OSDs outside their arms.
    steps = () if state.leg is None else state.leg.osds
    others = seen.moved - {osd.osd_id for osd in steps if osd.step is not OsdStep.PENDING}
    alone = () if upgrading(seen) else [n for n in lost if others <= {*state.arm_of[n].osds}]
    if alone:
        reason = f'the process of {_named(alone)} exited unexpectedly'
        return crashed(state, alone, reason)
    return ending(state, Outcome.FAILED, f'{_named(lost)} restarted together with other OSDs')


def _named(osd_ids: Iterable[int]) -> str:
    return ', '.join(map(own, osd_ids))


def _why(before: RolloutState, leg: RolloutState) -> str:
    """Why a leg failed, without the rollout's text about its rollback."""
    known = before.pending_conflict if before.ending is None else before.ending.reason
    return known or leg.failure or ''


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


# -- changes from outside

#: Maximum number of commands in a text.
_COMMANDS_MAX = 3


def paused(state: ExperimentState, actor: str, now_s: float) -> ExperimentState:
    """Start no change and no measurement until `resumed`.

    An OSD that is restarting is still monitored, and a failed one is restored first.
    """
    leg = None if state.leg is None else of_rollouts.paused(state.leg, actor, now_s)
    reason = paused_text(actor) if leg is None else leg.paused_reason
    return replace(state, leg=leg, paused_by=actor, paused_reason=reason, updated_s=now_s)


def waits_for_operator(state: ExperimentState) -> bool:
    leg = state.leg
    return state.paused_by is not None or (leg is not None and of_rollouts.waits_for_operator(leg))


def resumed(state: ExperimentState, now_s: float) -> ExperimentState:
    """End a pause, and retry failed attempts."""
    leg = None if state.leg is None else of_rollouts.resumed(state.leg, now_s)
    return phases.resumed(state, now_s, leg=leg)


def aborted(
    state: ExperimentState,
    actor: str,
    now_s: float,
    entries: Optional[Mapping[str, str]],
    down: Collection[int],
) -> ExperimentState:
    """Restore every OSD, then end.

    A second abort ends without that; raises OperationRefused while an OSD that may not start has
    another entry than before. For ``entries`` and ``down`` see the same of rollouts.
    """
    reason, leg = f'aborted by {actor}', state.leg
    osd = None if leg is None else unsafe(leg, down)
    given_up = state.stage is Stage.RESTORING
    if leg is not None and osd is not None:
        if leg.direction is Direction.RECOVER:
            leg = of_rollouts.aborted(leg, actor, now_s, entries, down)
            given_up = leg.ended
        elif given_up:
            of_rollouts.refuse_while_deadly(leg, osd, entries)
    if given_up:
        left = f'{reason} before every OSD was restored: {_leftovers(state)}'
        return finished(ending(state, Outcome.ABORTED), now_s, left)
    stopping = ending(state, Outcome.ABORTED, reason)
    if not state.off:
        return finished(stopping, now_s)
    leg = None if leg is None else replace(leg, paused_by=None, paused_reason=None)
    return phases.resumed(stopping, now_s, leg=leg)


def action_failed(
    state: ExperimentState, action: Action, error: str, now_s: float
) -> ExperimentState:
    """The state after the cluster refused an action of the leg."""
    assert state.leg is not None
    leg = of_rollouts.action_failed(state.leg, action, error, now_s)
    return replace(state, leg=leg, asked=leg.asked, updated_s=now_s)


def _leftovers(state: ExperimentState) -> str:
    """How an operator restores the remaining changes."""
    rollout = as_rollout(without_leg(state))
    commands = [f'"{restoring_command(rollout, n)}"' for n in sorted(state.off)]
    more = len(commands) - _COMMANDS_MAX
    shown = ', '.join(commands[:_COMMANDS_MAX]) + (f' and {more} more' if more > 0 else '')
    return f'{shown}, then restart the OSD(s)'
