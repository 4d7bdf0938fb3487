"""State machine of a rollout: pure, no I/O, no clock.

``Machine.step`` takes the stored state and one observation of the cluster and returns the next
state and at most one action. The driver stores the state, then executes the action. So every action
can be repeated: a manager that takes over in between either repeats the action or sees its effect.

One OSD at a time is changed, as `osd_step` has it. Here is which one is next; between them are the
verdicts of `soak`, at the end is `collapse`, and if something fails `rollback`.
"""

from __future__ import annotations

import errno
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Optional

from ...plan.commands import Action, RestartOsd, SetEntry
from ...plan.entries import own
from ...plan.records import overruled, target
from .. import phases
from ..gates import Away, absent, absent_of, why_away, without_samples
from ..phases import OBSERVES_FIRST, OperationRefused, Outcome, Phase, clip, paused_text
from .admission import identity_mismatch, left_behind, start_leaving
from .collapse import collapse
from .osd_step import drive, start_recovery, unsafe, why_restart_outstanding
from .records import (
    Direction,
    Ending,
    OsdProgress,
    OsdStep,
    RolloutState,
    ended,
    others_changed,
    recovery_ending,
    stamped,
    unmeasured_batch,
    waiting,
    watched_batch,
    with_osd,
)
from .rollback import (
    back,
    conflicting_entries,
    conflicts_in_other_option,
    describe_leftovers,
    recover,
)
from .rules import Needs, Observation, Rules, Step, restoring_command, why_closed, why_held
from .soak import promote, soak, undecided


def forward(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    osd = state.in_flight
    if osd is not None:
        return drive(rules, state, osd, seen)
    if state.ending is not None:
        osd = unsafe(state, seen.cluster.down)
        if osd is not None:
            return Step(start_recovery(rules, state, osd, seen, state.ending))
        return Step(ended(state, state.ending))
    if state.stage is Phase.PLANNED:
        return Step(replace(state, stage=Phase.PREFLIGHT))
    if state.stage is Phase.COLLAPSING:
        return collapse(rules, state, seen)
    return _advance(rules, state, seen)


def _advance(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    """Soak the changed batch, then change the next OSD, or collapse once there is none."""
    for verified in state.osds:
        if verified.step is OsdStep.VERIFIED and absent(seen, verified.osd_id) is Away.GONE:
            return Step(start_leaving(state, verified, why_away(verified.osd_id, Away.GONE)))
    watched = watched_batch(state)
    if watched is not None:
        return soak(state, watched, seen)
    n = following(state, frozenset(absent_of(seen.cluster, state.request.order)))
    if n is None:
        return Step(replace(state, stage=Phase.COLLAPSING, shared_touched=True))
    osd = state.by_id[n]
    away = absent(seen, n)
    if away is not None:
        return _leave_behind(rules, state, osd, away, seen)
    return _start_osd(state, osd, seen)


def following(state: RolloutState, away: frozenset[int]) -> Optional[int]:
    """The next OSD to change; None if none is left.

    OSDs that are ``away`` may return while the others of their batch are changed.
    """
    pending = [osd.osd_id for osd in state.osds if osd.step is OsdStep.PENDING]
    if not pending:
        return None
    batch = next((b for b in state.request.batches if pending[0] in b), (pending[0],))
    here = [n for n in pending if n in batch]
    return next((n for n in here if n not in away), here[0])


def _leave_behind(
    rules: Rules, state: RolloutState, osd: OsdProgress, away: Away, seen: Observation
) -> Step:
    """Leave behind an OSD that has not been changed."""
    n = osd.osd_id
    held = why_held(state, seen)
    if held is not None:
        return Step(waiting(state, held))
    reason = why_away(n, away)
    long_s = rules.limits.confirm_s if away is Away.GONE else rules.limits.boot_s
    if seen.absent_s < long_s:
        return Step(waiting(state, f'{reason}: it will be left behind unless it returns'))
    if n == state.request.order[0]:
        text = f'{reason}; it is the canary, so nothing was changed: apply again to use another OSD'
        return Step(ended(state, Ending(Outcome.FAILED, text)))
    return Step(left_behind(state, osd, reason))


def _start_osd(state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    """Change the next OSD's entry if all gates are open."""
    n = osd.osd_id
    # The window and the daily limit hold only new OSDs, neither an OSD in flight nor a rollback.
    closed = (
        why_closed(state, n, seen)
        or seen.schedule_reason
        or why_restart_outstanding(state)
        or without_samples(seen)
    )
    if closed is not None:
        return Step(waiting(state, closed))
    measured = replace(state, baseline_s=seen.before_s)
    if unmeasured_batch(measured) is not None:
        # Measure its baseline first.
        return Step(measured)
    info, running = seen.osd(n), seen.running.get(n)
    # A gate has ensured that it exists.
    assert info is not None
    unfit = identity_mismatch(state, n, seen)
    if unfit is not None and others_changed(state):
        return Step(left_behind(state, osd, unfit))
    recorded = state.before.by_id[n]
    if unfit is None and info.release != recorded.release:
        unfit = f'osd.{n} now runs {info.release}: the plan was made for {recorded.release}'
    elif unfit is None and running is not None and running.beats_config_store:
        unfit = overruled(state.request, n, running)
    if unfit is not None and others_changed(state):
        return Step(waiting(state, f'{unfit}; or roll back: "ceph rocksdb-tuner rollback"'))
    if unfit is not None:
        return Step(ended(state, Ending(Outcome.FAILED, unfit)))
    if running is None:
        return Step(waiting(state, f'cannot read the running options of osd.{n}'))
    stage = Phase.CANARY if n == state.request.order[0] else Phase.PROMOTING
    setting = replace(osd, step=OsdStep.SETTING, nonce_before=info.nonce)
    return Step(
        with_osd(replace(state, stage=stage), setting),
        (SetEntry(own(n), target(state.request, n)),),
    )


@dataclass(frozen=True)
class Machine(Rules):
    """Decides the steps of a rollout."""

    def step(self, state: RolloutState, seen: Observation, now_s: float) -> Step:
        """``now_s`` (since the epoch) only timestamps the state."""
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
        """What the next observation must contain; ``away`` are the OSDs that are absent in it."""
        osd = state.in_flight
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
    osd = state.in_flight
    if osd is None:
        n = following(state, away)
        starts = state.direction is Direction.FORWARD and watched_batch(state) is None
        if not starts or n is None or n in away:
            return Needs()
        return Needs(running=(n,), ok_to_stop=(n,))
    one = (osd.osd_id,)
    return {
        OsdStep.RESTART_DUE: Needs(ok_to_stop=one, orchestrator=True),
        OsdStep.RESTARTING: Needs(ok_to_stop=one, orchestrator=True),
        OsdStep.CHECKING: Needs(running=one),
    }.get(osd.step, Needs())


def wait_key(state: RolloutState) -> tuple[object, ...]:
    """What the rollout is waiting for; time limits restart when it changes."""
    osd = state.in_flight
    return (
        state.rollout_id,
        state.direction,
        state.entries_done,
        state.errors,
        state.pending_conflict,
        osd and (osd.osd_id, osd.step, osd.restarts_asked, osd.nonce_after),
    )


def waits_at(state: RolloutState) -> Optional[tuple[object, ...]]:
    """Its position; None: an operator paused it, and no OSD is restored in spite of that."""
    chosen = state.paused_by is not None and state.direction is not Direction.RECOVER
    return None if chosen else (wait_key(state), *(osd.step for osd in state.osds))


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
    ending = state.ending or Ending(Outcome.ABORTED, pending_conflict)
    osd, forwards = state.in_flight, state.direction is Direction.FORWARD
    who = None if osd is None else own(osd.osd_id)
    down = osd is not None and forwards and osd.osd_id in seen.cluster.down
    if osd and who and down and who in changed and seen.entries.get(who) == state.before.entry(who):
        # As a manager does that cannot store it: all that is left to do is to start the OSD.
        return Step(start_recovery(rules, state, osd, seen, ending))
    if not forwards or osd is None or who in {one.partition('/')[0] for one in changed}:
        reason = ending.reason
        if pending_conflict not in reason:
            reason = f'{reason}; {pending_conflict}'
        return Step(ended(state, Ending(Outcome.ABORTED, reason)))
    # The OSD in flight has no conflict: bring it to a safe state before the end.
    return _dispatch(rules, replace(state, ending=ending), seen)


def _dispatch(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    directions = {Direction.RECOVER: recover, Direction.BACK: back, Direction.FORWARD: forward}
    return directions[state.direction](rules, state, seen)


def paused(state: RolloutState, actor: str, now_s: float) -> RolloutState:
    """No new action until `resumed`; an OSD that is restarting is still monitored.

    The restore of a failed OSD is completed first: the pause holds everything after it.
    """
    reason = state.paused_reason if state.direction is Direction.RECOVER else paused_text(actor)
    return replace(state, paused_by=actor, paused_reason=reason, updated_s=now_s)


def waits_for_operator(state: RolloutState) -> bool:
    """Whether it is paused, has exhausted its attempts, or waits for a decision."""
    return (
        state.paused_by is not None
        or state.errors > 0
        or _restart_attempts_exhausted(state) is not None
        or undecided(state)
    )


def resumed(state: RolloutState, now_s: float) -> RolloutState:
    """End a pause, retry failed attempts, and promote a batch without a verdict."""
    if undecided(state):
        state = promote(state)
    osd = _restart_attempts_exhausted(state)
    if osd is not None:
        state = with_osd(state, replace(osd, step=OsdStep.RESTART_DUE, restarts_asked=0))
    return phases.resumed(state, now_s, errors=0)


def aborted(
    state: RolloutState,
    actor: str,
    now_s: float,
    entries: Optional[Mapping[str, str]],
    down: Collection[int],
) -> RolloutState:
    """Start no further OSD; an OSD that is not safe is first brought to a safe state.

    A second abort does not wait until an OSD with its previous entry is seen up; raises
    OperationRefused while it has another one. ``entries`` are the present entries of the option by
    `who`; None if they cannot be read.
    """
    osd = unsafe(state, down)
    reason = f'aborted by {actor}'
    if state.direction is Direction.RECOVER:
        known = recovery_ending(state)
        if osd is not None and known.outcome is Outcome.ABORTED:
            refuse_while_deadly(state, osd, entries)
            reason = f'aborted again by {actor} before osd.{osd.osd_id} was seen restored'
            osd = None
        reason = f'{known.reason}; {reason}'
    elif state.direction is Direction.BACK:
        reason = f'rollback {reason}'
    ending = Ending(Outcome.ABORTED, reason)
    if osd is None:
        return describe_leftovers(stamped(state, ended(state, ending), now_s), entries)
    return phases.resumed(state, now_s, ending=ending)


def refuse_while_deadly(
    state: RolloutState, osd: OsdProgress, entries: Optional[Mapping[str, str]]
) -> None:
    """Raises OperationRefused while an OSD that may not start keeps the entry of the rollout."""
    who = own(osd.osd_id)
    if entries is None or entries.get(who) != state.before.entry(who):
        raise OperationRefused(
            errno.EBUSY,
            f'{who} may not start with its entry: once the entry is restored, as by '
            f'"{restoring_command(state, osd.osd_id)}", this ends',
        )


def action_failed(state: RolloutState, action: Action, error: str, now_s: float) -> RolloutState:
    failed = replace(state, errors=state.errors + 1, last_error=clip(error), updated_s=now_s)
    osd = state.in_flight
    if not isinstance(action, RestartOsd):
        return failed
    if failed.asked is not None:
        failed = replace(failed, asked=replace(failed.asked, refused=True))
    if osd is not None and osd.restarts_asked == 1:
        # Presumably refused: due again, unless the process changes all the same.
        due = replace(osd, step=OsdStep.RESTART_DUE, restarts_asked=0)
        return with_osd(failed, due, failed.errors)
    return failed


def _restart_attempts_exhausted(state: RolloutState) -> Optional[OsdProgress]:
    """The OSD whose restart attempts are exhausted."""
    osd = state.in_flight
    if osd is None or osd.step is not OsdStep.RESTARTING or osd.restarts_asked < 2:
        return None
    held = state.paused_by is not None and state.direction is not Direction.RECOVER
    waits = not held and state.paused_reason is not None
    exhausted = osd.restarts_asked > 2 or state.direction is not Direction.FORWARD
    return osd if waits and exhausted else None
