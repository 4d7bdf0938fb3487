"""One step of an OSD: its entry, its restart, and what it runs afterwards. Pure.

An OSD that is changed, one that failed, and one that is rolled back take the same steps, with
another entry and another value to run:

============  ===============================================  ===================
step          until                                            then
============  ===============================================  ===================
setting       the config store has the new entry               restart due
restoring     it has the recorded entry                        restart due
restart due   the gates are open: a restart is requested       restarting
restarting    the OSD map shows a new process                  checking
checking      the process runs what the config store gives it  settling
settling      placement groups are clean                       verified, restored
collapsing    the config store has no entry for it, or, if     collapsed
              own entries stay, has its own entry again        verified
============  ===============================================  ===================

The nonce in the OSD map identifies an OSD's process. A changed nonce is no proof that the requested
restart happened: an operator, a crash or a flap changes it too, while the orchestrator still holds
the request. Until the request is settled, no other restart is requested.

cephadm (16.2.15, 18.2.7, 20.2.4) holds at most one request per daemon. Its serve loop executes it
and adds an event "restart osd.N from host ..." whether that succeeded or not. Events are in the
memory of one manager; Pacific does not repeat an event with the same text, later releases update
its time. Scheduled requests are stored with the host: by Reef and later at once, by Pacific only
the next time that host is stored for another reason. A manager that takes over executes the stored
requests only.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Callable, Optional

from ...mgr.records import OsdInfo, RunningOption
from ...plan.commands import Action, RestartOsd, manual_command, manual_host
from ...plan.entries import masked_for, own, starts_with
from ...plan.records import overruled, target
from ..gates import Away, absent, not_yet_reported, placement_groups, why_away
from ..phases import Outcome, Phase
from .admission import gone_or_replaced, identity_mismatch, left_behind, start_leaving
from .records import (
    RESTARTING,
    AskedRestart,
    Direction,
    Ending,
    OsdProgress,
    OsdStep,
    RolloutState,
    ended,
    others_changed,
    recovery_ending,
    waiting,
    watched_batch,
    with_osd,
)
from .rules import Observation, Rules, Step, entry, repeated_error, why_closed, why_held

#: An OSD that is gone in one of these steps is left behind.
_IN_THE_MIDDLE = RESTARTING | {OsdStep.SETTING, OsdStep.RESTART_DUE}


def drive(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    if state.direction is Direction.FORWARD:
        lost = _if_gone(rules, state, osd, seen)
        if lost is not None:
            return lost
        if state.ending is not None and osd.step in {OsdStep.SETTING, OsdStep.RESTART_DUE}:
            return Step(start_recovery(rules, state, osd, seen, state.ending))
    if osd.step in {OsdStep.CHECKING, OsdStep.SETTLING}:
        lost = process_lost(rules, state, osd, seen)
        if lost is not None:
            return lost
    return _STEPS[osd.step](rules, state, osd, seen)


def _if_gone(
    rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation
) -> Optional[Step]:
    """The step if the OSD in flight is gone or was replaced; None if it is present."""
    in_the_middle = osd.step in _IN_THE_MIDDLE
    another = identity_mismatch(state, osd.osd_id, seen) if in_the_middle else None
    if another is not None:
        # Recreated in the middle of its change, it may have started with the new entry.
        reason = f'{another}; it may run the new string until its next restart'
        return Step(start_leaving(state, osd, reason))
    if absent(seen, osd.osd_id) is not Away.GONE:
        return None
    if state.ending is not None and osd.step is not OsdStep.COLLAPSING:
        # In any mode: an OSD in flight is finished.
        return Step(start_recovery(rules, state, osd, seen, state.ending))
    reason = why_away(osd.osd_id, Away.GONE)
    return Step(start_leaving(state, osd, reason)) if in_the_middle else None


# -- entries


def _setting(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    # A process with a new nonce started after the entry was stored.
    return entry(rules, state, seen, own(n), target(state.request, n)) or Step(
        with_osd(state, due(osd, seen))
    )


def _restoring(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    who = own(osd.osd_id)
    # An OSD that cannot start is restored in any mode, even during a pause.
    write = entry(rules, state, seen, who, state.before.entry(who))
    if write is not None:
        return write
    if state.direction is Direction.FORWARD:
        return Step(left_behind(state, osd, osd.left_reason or f'{who} is a different OSD now'))
    restored = replace(osd, step=OsdStep.RESTORED)
    # One that is down may be starting, with the entry that was just restored.
    again = replace(due(osd, seen), doubtful=osd.osd_id in seen.cluster.down)
    return Step(with_osd(state, again if osd.restart_needed else restored))


def _collapsing(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    who = own(osd.osd_id)
    value, after = None, OsdStep.COLLAPSED
    if state.own_entries_stay is not None:
        gone = gone_or_replaced(state, osd, seen)
        if gone is not None:
            # Also after an abort: nobody is to inherit its entry.
            return Step(start_leaving(state, osd, gone))
        restart, after = state.request.restart, OsdStep.VERIFIED
        value = target(state.request, osd.osd_id) if restart else state.before.entry(who)
    if state.ending is not None and who in seen.entries:
        # What is shared may no longer be the target
        return Step(with_osd(state, replace(osd, step=OsdStep.VERIFIED)))
    return entry(rules, state, seen, who, value) or Step(with_osd(state, replace(osd, step=after)))


# -- the restart


def due(osd: OsdProgress, seen: Observation) -> OsdProgress:
    info = seen.osd(osd.osd_id)
    nonce = osd.nonce_before if info is None else info.nonce
    return replace(osd, step=OsdStep.RESTART_DUE, nonce_before=nonce, restarts_asked=0)


def _restart_due(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    info, away = seen.osd(n), absent(seen, n)
    if away is Away.GONE:
        return Step(left_behind(state, osd, why_away(n, away)))
    if _is_new(osd, info):
        return Step(_up(state, osd, seen))
    if info is not None and not info.up and state.direction is Direction.FORWARD:
        # It went down by itself, and the new entry may keep it from starting.
        return _down(rules, state, osd, seen)
    # After this long it hangs, or is marked down while it runs: a restart is due in any case.
    if seen.alive and seen.down_s < rules.limits.boot_most_s:
        return Step(waiting(state, _starting_text(rules, n, seen, seen.down_s)))
    return _ask(rules, state, osd, seen)


def _restarting(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    info, away = seen.osd(n), absent(seen, n)
    if info is None and away is not None:
        return Step(left_behind(state, osd, why_away(n, away)))
    if info is None:
        return Step(waiting(state, f'osd.{n} is not in the OSD map'))
    if _is_new(osd, info):
        return Step(_up(state, osd, seen))
    if not info.up:
        return _down(rules, state, osd, seen)
    if seen.waited_s < rules.limits.restart_s:
        return Step(state)
    if state.direction is Direction.FORWARD:
        # If others are changed already, a manual restart is better than a rollback of all of them:
        # a missing restart does not indicate bad options.
        ending = state.ending
        if ending is None and osd.restarts_asked > 1 and not others_changed(state, n):
            reason = f'osd.{n} did not restart after {osd.restarts_asked} requests'
            ending = Ending(Outcome.FAILED, reason)
        if ending is not None:
            return Step(start_recovery(rules, state, osd, seen, ending))
    return _ask(rules, state, osd, seen, f'osd.{n} did not restart when requested')


def _is_new(osd: OsdProgress, info: Optional[OsdInfo]) -> bool:
    return info is not None and info.up and info.nonce not in {osd.nonce_before, None}


def _up(state: RolloutState, osd: OsdProgress, seen: Observation) -> RolloutState:
    """A new process is up."""
    # It may have read its options before they were restored, and does not report which: see
    # `Observation.running`.
    again = replace(due(osd, seen), doubtful=False)
    checking = replace(osd, step=OsdStep.CHECKING, nonce_after=again.nonce_before)
    return with_osd(state, again if osd.doubtful else checking)


def _down(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    """It is down, and may be starting."""
    n, forward = osd.osd_id, state.direction is Direction.FORWARD
    asked_for = osd.step is OsdStep.RESTARTING
    # It may have stopped long after the request, or been down long before it.
    down_s = min(seen.down_s, seen.waited_s) if forward else seen.waited_s
    if not asked_for:
        down_s = seen.down_s
    limit_s = rules.limits.boot_s
    if seen.alive and (down_s >= limit_s or not asked_for):
        if not forward or state.ending is None or down_s < rules.limits.boot_most_s:
            return Step(waiting(state, _starting_text(rules, n, seen, down_s)))
        # The rollout is aborted, and has waited long enough.
        return Step(start_recovery(rules, state, osd, seen, state.ending))
    # An OSD that was alive until now may just be restarted manually.
    if min(down_s, seen.lifeless_s) < limit_s:
        return Step(state if asked_for else waiting(state, f'osd.{n} is down'))
    # A restart that stopped the OSD may have been lost with its manager. That is no sign of a bad
    # entry: it is worth one more request.
    may_be_lost = (
        asked_for
        and not seen.restart_is_ours
        and seen.orchestrator_reason is None
        and state.ending is None
        and osd.restarts_asked < rules.limits.tries
        and why_held(state, seen) is None
    )
    if not forward or may_be_lost:
        return _ask(rules, state, osd, seen, f'osd.{n} did not come back up')
    ending = Ending(Outcome.FAILED, f'osd.{n} did not come back up within {limit_s:.0f} s')
    return Step(start_recovery(rules, state, osd, seen, ending))


def _ask(
    rules: Rules,
    state: RolloutState,
    osd: OsdProgress,
    seen: Observation,
    error: Optional[str] = None,
) -> Step:
    """Request a restart if nothing holds it, or a manual one once the attempts are exhausted.

    ``error``: why the previous request was not enough.
    """
    n = osd.osd_id
    info, away = seen.osd(n), absent(seen, n)
    # Starting an OSD that is down and not starting is harmless.
    gated = info is None or info.up
    closed = why_closed(state, n, seen) if gated else why_held(state, seen)
    if closed is not None:
        return Step(waiting(state, closed))
    exhausted = error if osd.restarts_asked >= rules.limits.tries else None
    impossible = seen.orchestrator_reason or exhausted
    manual = impossible or (repeated_error(rules, state) if error is None else None)
    if manual is not None:
        long = error is not None or seen.absent_s >= rules.limits.boot_s
        if away is not None and long:
            # If it ever starts, it starts with its restored entry.
            return Step(left_behind(state, osd, why_away(n, away)))
        state = waiting(state, manual_restart(n, info, manual))
    errors = state.errors if error is None else 0
    if impossible is not None or (errors and seen.waited_s < rules.limits.retry_s):
        return Step(state)
    request = state.asked
    refused = request is not None and request.refused and request.osd_id == n
    outstanding = None if refused else why_restart_outstanding(state)
    if outstanding is not None:
        return Step(waiting(state, outstanding))
    # The next process to come up is a new one.
    restarting = replace(
        osd, step=OsdStep.RESTARTING, restarts_asked=osd.restarts_asked + 1, doubtful=False
    )
    daemon = seen.described.get(n)
    asked = AskedRestart(n)
    if daemon is not None:
        asked = AskedRestart(n, daemon.executed, daemon.stored_started)
    return Step(replace(with_osd(state, restarting, errors), asked=asked), (RestartOsd(n),))


def process_lost(
    rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation
) -> Optional[Step]:
    """The step if the new process is gone; None while it is up."""
    info = seen.osd(osd.osd_id)
    if info is not None and info.up and info.nonce == osd.nonce_after:
        return None
    # The requested restart happened only now, after another one: not a crash.
    late = seen.restart_settled or (state.asked is not None and state.asked.osd_id == osd.osd_id)
    flaps = osd.flaps if late else osd.flaps + 1
    if state.direction is Direction.FORWARD and flaps > rules.limits.flaps:
        reason = f'osd.{osd.osd_id} came up and went down again {flaps} times'
        return Step(start_recovery(rules, state, osd, seen, Ending(Outcome.FAILED, reason)))
    return Step(with_osd(state, replace(osd, step=OsdStep.RESTARTING, flaps=flaps)))


def _starting_text(rules: Rules, osd_id: int, seen: Observation, down_s: float) -> str:
    if down_s < rules.limits.boot_most_s:
        return f'osd.{osd_id} is not up yet, but its process is running: waiting for it'
    info = seen.osd(osd_id)
    return (
        f'osd.{osd_id} is not up after {rules.limits.boot_most_s / 60:.0f} minutes, although '
        'its process is running: see its log; if it hangs, '
        f'"{manual_command(osd_id, info.daemon if info else None)}"'
    )


def manual_restart(osd_id: int, info: Optional[OsdInfo], reason: str) -> str:
    """Ask the operator for a manual restart."""
    verb = 'start' if info is not None and not info.up else 'restart'
    daemon = None if info is None else info.daemon
    host = manual_host(daemon)
    command = f'"{manual_command(osd_id, daemon, verb)}"' + (f' on {host}' if host else '')
    return f'{verb} osd.{osd_id} next: {command}; the operation continues after that ({reason})'


# -- what it runs


def _checking(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n, forward = osd.osd_id, state.direction is Direction.FORWARD
    if seen.waited_s < rules.limits.report_s:
        return Step(state)
    running = seen.running.get(n)
    if running is not None and (
        running.source == 'mon' and rules.same_meaning(running.value, target(state.request, n))
        if forward
        else _runs_what_store_gives(rules, state, n, running, seen)
    ):
        recovered = state.direction is Direction.RECOVER
        step = OsdStep.RESTORED if recovered else OsdStep.SETTLING
        return Step(with_osd(state, replace(osd, step=step)))
    if seen.waited_s < rules.limits.verify_s:
        return Step(state)
    if not forward:
        reason = unverified(n, running)
        if others_changed(state, n):
            # Ending here would leave the other OSDs changed.
            return Step(waiting(state, f'{reason}; correct it and restart the OSD'))
        if state.ending is not None:
            reason = f'{state.ending.reason}; {reason}'
        return Step(ended(state, Ending(Outcome.FAILED, reason)))
    if running is None:
        reason = f'osd.{n} was restarted, but its running options cannot be read'
    elif running.beats_config_store:
        reason = overruled(state.request, n, running)
    else:
        reason = (
            f'osd.{n} was restarted without effect: it runs '
            f'{shlex.quote(running.value)} (source {running.source})'
        )
    return Step(start_recovery(rules, state, osd, seen, Ending(Outcome.FAILED, reason)))


def _runs_what_store_gives(
    rules: Rules, state: RolloutState, osd_id: int, running: RunningOption, seen: Observation
) -> bool:
    """Whether a process that started after the last change runs the value of the config store."""
    started = starts_with(seen.entries, osd_id)
    if started is None and running.source == 'default':
        return True
    if running.source != 'mon':
        return False
    if started is not None and rules.same_meaning(running.value, started[1]):
        return True
    # A masked entry reaches an OSD that names its host in its ceph.conf. If it equals the target,
    # only the previous running value tells them apart.
    masked = masked_for(seen.cluster, seen.entries, osd_id)
    if not any(rules.same_meaning(running.value, value) for value in masked):
        return False
    if not rules.same_meaning(running.value, target(state.request, osd_id)):
        return True
    before = state.before.by_id[osd_id]
    return before.source == 'mon' and rules.same_meaning(running.value, before.value)


def unverified(osd_id: int, running: Optional[RunningOption]) -> str:
    """Why an OSD with its recorded entry does not count as restored; None: no report of it."""
    found = 'its running options cannot be read'
    if running is not None:
        found = f'it runs {shlex.quote(running.value)} (source {running.source})'
    return f'osd.{osd_id} was restarted during the rollback, but {found}'


def _settling(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    # While another OSD of a rollback is down, placement groups cannot become clean.
    if state.ending is None and down_and_due(state, seen) is None:
        unsettled = until_settled(rules, state, seen)
        if unsettled is not None:
            return unsettled
    forward = state.direction is Direction.FORWARD
    step = OsdStep.VERIFIED if forward else OsdStep.RESTORED
    return Step(with_osd(state, replace(osd, step=step)))


def until_settled(rules: Rules, state: RolloutState, seen: Observation) -> Optional[Step]:
    """Wait for clean placement groups after a restart; None once they are clean.

    The requested restart must be settled too: the new process may come from another one.
    """
    closed = not_yet_reported(seen)
    if closed is None:
        outstanding = why_restart_outstanding(state)
        if outstanding is not None:
            return Step(waiting(state, outstanding))
        closed = placement_groups(seen)
    if closed is None:
        return None
    # Recovery after a restart is expected, and reported only if it takes long.
    return Step(state if seen.waited_s < rules.limits.boot_s else waiting(state, closed))


def down_and_due(state: RolloutState, seen: Observation) -> Optional[OsdProgress]:
    """An OSD that is down and has to be started comes first, in any order.

    While it is down, the gates are closed for all others.
    """
    due = (osd for osd in state.osds if osd.step is OsdStep.RESTART_DUE)
    return next((osd for osd in due if osd.osd_id in seen.cluster.down), None)


_STEPS: Mapping[OsdStep, Callable[[Rules, RolloutState, OsdProgress, Observation], Step]] = {
    OsdStep.SETTING: _setting,
    OsdStep.RESTORING: _restoring,
    OsdStep.RESTART_DUE: _restart_due,
    OsdStep.RESTARTING: _restarting,
    OsdStep.CHECKING: _checking,
    OsdStep.SETTLING: _settling,
    OsdStep.COLLAPSING: _collapsing,
}


# -- the requested restart


def why_restart_outstanding(state: RolloutState) -> Optional[str]:
    """Why no OSD may be restarted, with a remedy: a requested restart may happen at any time."""
    if state.asked is None:
        return None
    n = state.asked.osd_id
    return (
        f'the orchestrator may still restart osd.{n} as requested: no other OSD is restarted until '
        'then; if it takes too long, check "ceph orch status" (paused?) and "ceph orch ps '
        f'--daemon_type osd --daemon_id {n}"'
    )


# -- an OSD that is not safe


def unsafe(state: RolloutState, down: Collection[int]) -> Optional[OsdProgress]:
    """The OSD that is brought to a safe state before an aborted rollout ends; None: all are safe.

    The one in flight, or one that is ``down`` in its soak. A rollback has many in flight: of those,
    the one that is restarting, was not verified yet, or is ``down``.
    """
    osd, back = state.in_flight, state.direction is Direction.BACK
    if osd is not None and not (back and _is_as_before(osd)):
        return osd
    watched = watched_batch(state)
    endangered = (
        state.osds if back else () if watched is None else map(state.by_id.get, watched.osds)
    )
    changed = {OsdStep.VERIFIED, OsdStep.RESTART_DUE}
    return next((o for o in endangered if o and o.step in changed and o.osd_id in down), None)


def _is_as_before(osd: OsdProgress) -> bool:
    """Whether the process of an OSD in a rollback was verified before, and is not restarting."""
    verified = {OsdStep.COLLAPSING, OsdStep.SETTLING}
    return osd.step in verified or (osd.step is OsdStep.RESTART_DUE and osd.restart_needed)


def must_not_wait(
    state: RolloutState, after: RolloutState, actions: Sequence[Action], seen: Observation
) -> bool:
    """Whether a step is taken although it cannot be stored.

    An OSD that is not safe is followed to the point where it does not start. Then its recorded
    entry is restored, and it is started: both can be repeated by a manager that does not know of
    it. All else waits for the store.
    """
    down = seen.cluster.down
    return (
        unsafe(state, down) is not None
        and not after.ended
        and all(
            action.osd_id in down
            if isinstance(action, RestartOsd)
            else after.direction is not Direction.FORWARD
            for action in actions
        )
    )


def start_recovery(
    rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation, ending: Ending
) -> RolloutState:
    """Restore the OSD in flight, then end.

    A pause does not hold the recovery, but everything after it.
    """
    if state.ending not in {None, ending}:
        ending = replace(ending, reason=f'{recovery_ending(state).reason}; {ending.reason}')
    info, running = seen.osd(osd.osd_id), seen.running.get(osd.osd_id)
    as_before = False
    if info is not None and info.up:
        value = state.before.by_id[osd.osd_id].value
        # The verified process, with a running value that is no longer stale.
        as_before = info.nonce == osd.nonce_before or (
            info.nonce == osd.nonce_after
            and running is not None
            and rules.same_meaning(running.value, value)
        )
    restoring = replace(
        osd,
        step=OsdStep.RESTORING,
        restart_needed=osd.restart_needed or not as_before,
        restarts_asked=0,
        flaps=0,
    )
    return replace(
        with_osd(state, restoring),
        direction=Direction.RECOVER,
        stage=Phase.ROLLING_BACK,
        ending=ending,
    )
