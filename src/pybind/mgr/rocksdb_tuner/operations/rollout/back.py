"""The way back: of one OSD that failed (`recover`), or of all that was changed (`back`)."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Optional

from ...mgr.records import RunningOption
from ...plan.entries import masked_for, own, starts_with
from ...plan.request import shared_entries, target
from ..phases import Outcome, Phase
from ..texts import clip, paused_text
from .identity import stranger, who_was_left
from .observation import Observation
from .records import Direction, Ending, OsdProgress, OsdStep, RolloutState
from .restart import due, lost_again, restart_due, restarting, until_settled
from .rules import Rules, Step, entry_action, with_trouble, write
from .states import (
    UNCHANGED,
    ended,
    finished,
    in_flight,
    others_changed,
    the_ending,
    waiting,
    with_osd,
)


def rolled_back(
    state: RolloutState, actor: str, now_s: float, paused_by: Optional[str] = None
) -> RolloutState:
    """Turn the rollout round: whatever it changed goes back.

    ``paused_by`` is whose pause holds; None: an operator asked for this, whatever he paused before.
    """
    told = f'{state.failure}; ' if state.failure else ''
    shared = tuple(who for who, _ in shared_entries(state.request))
    return replace(
        state,
        direction=Direction.BACK,
        stage=Phase.ROLLING_BACK,
        restoring=(
            *(shared if state.shared_touched else ()),
            *(own(osd.osd_id) for osd in state.osds if osd.step not in UNCHANGED),
        ),
        entries_done=0,
        ending=None,
        outcome=None,
        failure=clip(f'{told}rolled back by {actor}'),
        paused_by=paused_by,
        paused_reason=None if paused_by is None else paused_text(paused_by),
        suspicion=None,
        errors=0,
        updated_s=now_s,
    )


def perhaps_changed(state: RolloutState) -> RolloutState:
    """A rollout of which it is not known how far it came: as if each OSD were changed."""
    osds = tuple(
        osd if osd.step is OsdStep.LEFT_BEHIND else replace(osd, step=OsdStep.VERIFIED)
        for osd in state.osds
    )
    return replace(state, osds=osds, direction=Direction.FORWARD, shared_touched=True)


def recover(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    osd = in_flight(state)
    if osd is None:
        return _after_recovery(state, the_ending(state))
    if osd.step is OsdStep.RESTORING:
        who = own(osd.osd_id)
        value = state.before.entry(who)
        if seen.entries.get(who) != value:
            # An OSD that cannot start is not left alone, whatever the mode or a pause says.
            return Step(with_trouble(rules, state), (entry_action(who, value),))
        if not osd.restart_needed:
            return Step(with_osd(state, replace(osd, step=OsdStep.RESTORED)))
        return Step(with_osd(state, due(osd, seen)))
    if osd.step is OsdStep.RESTART_DUE:
        return restart_due(rules, state, osd, seen)
    if osd.step is OsdStep.RESTARTING:
        return restarting(rules, state, osd, seen)
    return _checking(rules, state, osd, seen)


def _after_recovery(state: RolloutState, ending: Ending) -> Step:
    """An OSD that failed fails the change: no part of the cluster is left with it.

    Where an operator ended the rollout, what was changed until then is for him to decide.
    """
    if ending.outcome is Outcome.FAILED and others_changed(state):
        told = replace(state, failure=ending.reason)
        actor = 'the module, of all OSDs'
        return Step(rolled_back(told, actor, state.updated_s, paused_by=state.paused_by))
    return Step(ended(state, ending))


def back(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    if state.entries_done < len(state.restoring):
        return _restore_entries(rules, state, seen)
    osd = in_flight(state)
    if osd is None:
        left = who_was_left(state)
        told = state.failure if left is None else f'{state.failure}; left behind: {left}'
        done = finished(state, Phase.ROLLED_BACK, Outcome.ROLLED_BACK)
        return Step(replace(done, failure=told and clip(told)))
    dead = _down_and_due(state, seen)
    if osd.step is OsdStep.RESTART_DUE:
        osd = dead or osd
        if _runs_restored(rules, state, osd, seen):
            return Step(with_osd(state, replace(osd, step=OsdStep.RESTORED)))
        return restart_due(rules, state, osd, seen)
    if osd.step is OsdStep.RESTARTING:
        info = seen.osd(osd.osd_id)
        overdue = seen.waited_s >= rules.limits.restart_s
        if dead is not None and overdue and info is not None and info.up:
            # Whatever became of what was asked of it: the one that is down comes first.
            return Step(with_osd(state, replace(osd, step=OsdStep.RESTART_DUE)))
        return restarting(rules, state, osd, seen)
    if osd.step is OsdStep.CHECKING:
        return _checking(rules, state, osd, seen)
    lost = lost_again(rules, state, osd, seen)
    if lost is not None:
        return lost
    # While that one is down, placement groups do not get clean.
    unsettled = None if dead is not None else until_settled(rules, state, seen)
    return unsettled or Step(with_osd(state, replace(osd, step=OsdStep.RESTORED)))


def _down_and_due(state: RolloutState, seen: Observation) -> Optional[OsdProgress]:
    """An OSD that is down and is to be started: it comes first, whatever the order.

    As long as it is down every gate is closed to the others.
    """
    for osd in state.osds:
        info = seen.osd(osd.osd_id)
        if osd.step is OsdStep.RESTART_DUE and info is not None and not info.up:
            return osd
    return None


def _restore_entries(rules: Rules, state: RolloutState, seen: Observation) -> Step:
    done = state.entries_done
    while done < len(state.restoring):
        who = state.restoring[done]
        value = state.before.entry(who)
        if seen.entries.get(who) != value:
            break
        done += 1
    if done == len(state.restoring):
        osds = tuple(_classified(state, osd, seen) for osd in state.osds)
        return Step(replace(state, entries_done=done, osds=osds, errors=0))
    if done > state.entries_done:
        return Step(replace(state, entries_done=done, errors=0))
    return write(rules, state, seen, who, value)


def _classified(state: RolloutState, osd: OsdProgress, seen: Observation) -> OsdProgress:
    """Whether the OSD's process may have started with what was just taken back."""
    if osd.step in UNCHANGED:
        return osd
    another = stranger(state, osd.osd_id, seen)
    if another is not None:
        # It never ran what was there before; its entry is gone, and the rest is not ours.
        return replace(osd, step=OsdStep.LEFT_BEHIND, left_reason=another)
    info = seen.osd(osd.osd_id)
    if info is None or not state.request.restart:
        return replace(osd, step=OsdStep.RESTORED)
    same_process = info.nonce == osd.nonce_before and not osd.restart_needed
    if same_process and osd.step is OsdStep.RESTARTING:
        # The restart that was asked for is still to come, or under way.
        return replace(osd, restart_needed=True, doubtful=True)
    if same_process and osd.step in {OsdStep.SETTING, OsdStep.RESTART_DUE, OsdStep.RESTORING}:
        return replace(osd, step=OsdStep.RESTORED)
    return replace(
        osd,
        step=OsdStep.RESTART_DUE,
        nonce_before=info.nonce,
        restart_needed=True,
        doubtful=not info.up,
        restarts_asked=0,
        flaps=0,
    )


def _runs_restored(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> bool:
    """True where no restart is needed: whatever the OSD may start with now means the same."""
    info = seen.osd(osd.osd_id)
    started = starts_with(seen.entries, osd.osd_id)
    if info is None or not info.up or started is None:
        return False
    may_start_with = (started[1], *masked_for(seen.cluster, seen.entries, osd.osd_id))
    wanted = target(state.request, osd.osd_id)
    return all(rules.same_meaning(value, wanted) for value in may_start_with)


def _checking(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    lost = lost_again(rules, state, osd, seen)
    if lost is not None:
        return lost
    if seen.waited_s < rules.limits.report_s:
        return Step(state)
    running = seen.running.get(n)
    if running is not None and _as_store_says(rules, state, n, running, seen):
        back = state.direction is Direction.BACK
        return Step(
            with_osd(state, replace(osd, step=OsdStep.SETTLING if back else OsdStep.RESTORED))
        )
    if seen.waited_s < rules.limits.verify_s:
        return Step(state)
    found = 'what it runs cannot be read'
    if running is not None:
        found = f'it runs {shlex.quote(running.value)} (source {running.source})'
    reason = f'osd.{n} was restarted during the rollback, but {found}'
    if others_changed(state, n):
        # Ending here would leave them as they are.
        return Step(waiting(state, f'{reason}; correct it and restart the OSD'))
    if state.ending is not None:
        reason = f'{state.ending.reason}; {reason}'
    return Step(ended(state, Ending(Outcome.FAILED, reason)))


def _as_store_says(
    rules: Rules, state: RolloutState, osd_id: int, running: RunningOption, seen: Observation
) -> bool:
    """Whether a process that started after the last change runs what the store gives it."""
    started = starts_with(seen.entries, osd_id)
    if started is None and running.source == 'default':
        return True
    if running.source != 'mon':
        return False
    if started is not None and rules.same_meaning(running.value, started[1]):
        return True
    # An entry with a mask reaches an OSD that names its host in its ceph.conf. Where it means what
    # the rollout wrote, only what was running before tells one from the other.
    masked = masked_for(seen.cluster, seen.entries, osd_id)
    if not any(rules.same_meaning(running.value, value) for value in masked):
        return False
    if not rules.same_meaning(running.value, target(state.request, osd_id)):
        return True
    before = next((b for b in state.before.osds if b.osd_id == osd_id), None)
    return (
        before is not None
        and before.source == 'mon'
        and rules.same_meaning(running.value, before.value)
    )
