"""Start the recovery of one OSD that failed, or is not safe. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Optional

from ...mgr.records import OrchestratedDaemon, OsdInfo
from ...plan.commands import Action, RestartOsd, manual_command, manual_host
from ..gates import Away, absent, not_yet_reported, placement_groups, why_away
from ..phases import Outcome, Phase
from .admission import left_behind
from .records import (
    AskedRestart,
    Direction,
    Ending,
    OsdProgress,
    OsdStep,
    RolloutState,
    in_flight,
    others_changed,
    recovery_ending,
    waiting,
    watched_batch,
    with_osd,
)
from .rules import Observation, Rules, Step, repeated_error, why_closed, why_held


def unsafe(state: RolloutState, down: Collection[int]) -> Optional[OsdProgress]:
    """The OSD that is brought to a safe state before an aborted rollout ends; None: all are safe.

    The one in flight, or one that is ``down`` in its soak. A rollback has many in flight: of those,
    the one that is restarting, was not verified yet, or is ``down``.
    """
    osd, back = in_flight(state), state.direction is Direction.BACK
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
    verified = {OsdStep.COLLAPSING, OsdStep.REPINNING, OsdStep.SETTLING}
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
    info = seen.osd(osd.osd_id)
    running = seen.running.get(osd.osd_id)
    recorded = state.before.by_id[osd.osd_id]
    untouched = info is not None and info.up and info.nonce == osd.nonce_before
    # The verified process, with a running value that is no longer stale.
    as_before = (
        info is not None
        and info.up
        and info.nonce == osd.nonce_after
        and running is not None
        and rules.same_meaning(running.value, recorded.value)
    )
    restoring = replace(
        osd,
        step=OsdStep.RESTORING,
        restart_needed=osd.restart_needed or not (untouched or as_before),
        restarts_asked=0,
        flaps=0,
    )
    return replace(
        with_osd(state, restoring),
        direction=Direction.RECOVER,
        stage=Phase.ROLLING_BACK,
        ending=ending,
    )


#: An OSD may take this many times as long to start as the previous ones.
_BOOT_FACTOR = 3.0


def due(osd: OsdProgress, seen: Observation) -> OsdProgress:
    info = seen.osd(osd.osd_id)
    nonce = osd.nonce_before if info is None else info.nonce
    return replace(osd, step=OsdStep.RESTART_DUE, nonce_before=nonce, restarts_asked=0)


def restart_due(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    info = seen.osd(n)
    away = absent(seen, n)
    if away is Away.GONE:
        return _left_behind(state, osd, away)
    if info is not None and info.up and info.nonce not in {osd.nonce_before, None}:
        return Step(_with_boot(with_osd(state, _started(osd, info)), seen))
    forward = state.direction is Direction.FORWARD
    if info is not None and not info.up and forward:
        # It went down by itself, and the new entry may keep it from starting.
        if seen.alive:
            return Step(waiting(state, _starting_text(rules, n, seen, seen.down_s)))
        if min(seen.down_s, seen.lifeless_s) >= _boot_limit_s(rules, state, seen):
            return Step(
                start_recovery(rules, state, osd, seen, _did_not_start(rules, state, seen, n))
            )
        return Step(waiting(state, f'osd.{n} is down'))
    # After this long it hangs, or is marked down while it runs: a restart is due in any case.
    if seen.alive and seen.down_s < rules.limits.boot_most_s:
        return Step(waiting(state, _starting_text(rules, n, seen, seen.down_s)))
    return _ask_if_open(rules, state, osd, seen)


def _ask_if_open(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    """Request the due restart if nothing holds it."""
    n = osd.osd_id
    info, away = seen.osd(n), absent(seen, n)
    # Starting an OSD that is down and not starting is harmless.
    gated = info is None or info.up
    closed = why_closed(state, n, seen) if gated else why_held(state, seen)
    if closed is not None:
        return Step(waiting(state, closed))
    error = repeated_error(rules, state)
    impossible = seen.orchestrator_reason is not None or error is not None
    if away is not None and impossible and seen.absent_s >= rules.limits.boot_s:
        return _left_behind(state, osd, away)
    if seen.orchestrator_reason is not None:
        return Step(
            waiting(state, manual_restart(n, info, seen.orchestrator_reason, rules.operation))
        )
    noted = (
        state if error is None else waiting(state, manual_restart(n, info, error, rules.operation))
    )
    if state.errors and seen.waited_s < rules.limits.retry_s:
        return Step(noted)
    outstanding = _outstanding(state, n)
    if outstanding is not None:
        return Step(waiting(state, outstanding))
    return _ask(noted, osd, seen, errors=state.errors)


def why_restart_outstanding(state: RolloutState) -> Optional[str]:
    """Why no OSD may be restarted: a requested restart may happen at any time."""
    return None if state.asked is None else outstanding_text(state.asked)


def _outstanding(state: RolloutState, osd_id: int) -> Optional[str]:
    """The same for this OSD, whose refused request may be repeated."""
    request = state.asked
    refused = request is not None and request.refused and request.osd_id == osd_id
    return None if refused else why_restart_outstanding(state)


def _ask(state: RolloutState, osd: OsdProgress, seen: Observation, errors: int = 0) -> Step:
    """Request a restart: the next process to come up is a new one."""
    n = osd.osd_id
    restarting_osd = replace(
        osd, step=OsdStep.RESTARTING, restarts_asked=osd.restarts_asked + 1, doubtful=False
    )
    request = asked(n, seen.described.get(n))
    return Step(replace(with_osd(state, restarting_osd, errors), asked=request), (RestartOsd(n),))


def restarting(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    info = seen.osd(n)
    if info is None:
        away = absent(seen, n)
        if away is not None:
            return _left_behind(state, osd, away)
        return Step(waiting(state, f'osd.{n} is not in the OSD map'))
    if info.up and info.nonce not in {osd.nonce_before, None}:
        return Step(_with_boot(with_osd(state, _started(osd, info)), seen))
    if not info.up:
        return _starting(rules, state, osd, seen)
    if seen.waited_s < rules.limits.restart_s:
        return Step(state)
    forward = state.direction is Direction.FORWARD
    if forward and state.ending is not None:
        return Step(start_recovery(rules, state, osd, seen, state.ending))
    # If others are changed already, a manual restart is better than a rollback of all of them: a
    # missing restart does not indicate bad options.
    if forward and osd.restarts_asked > 1 and not others_changed(state, n):
        ending = Ending(
            Outcome.FAILED,
            f'osd.{n} did not restart after {osd.restarts_asked} requests',
        )
        return Step(start_recovery(rules, state, osd, seen, ending))
    closed = why_closed(state, n, seen)
    if closed is not None:
        return Step(waiting(state, closed))
    return _ask_again(rules, state, osd, seen, f'osd.{n} did not restart when requested')


def _starting(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    forward = state.direction is Direction.FORWARD
    # It may have stopped long after the request, or been down long before it.
    down_s = min(seen.down_s, seen.waited_s) if forward else seen.waited_s
    limit_s = _boot_limit_s(rules, state, seen)
    # An OSD that was alive until now may just be restarted manually.
    if down_s < limit_s or (not seen.alive and seen.lifeless_s < limit_s):
        return Step(state)
    if seen.alive:
        if state.ending is None or not forward or down_s < rules.limits.boot_most_s:
            return Step(waiting(state, _starting_text(rules, n, seen, down_s)))
        # The rollout is aborted, and has waited long enough.
        return Step(start_recovery(rules, state, osd, seen, state.ending))
    if not forward:
        return _ask_again(rules, state, osd, seen, f'osd.{n} did not come back up')
    if _restart_may_be_lost(rules, state, osd, seen):
        outstanding = _outstanding(state, n)
        return _ask(state, osd, seen) if outstanding is None else Step(waiting(state, outstanding))
    return Step(start_recovery(rules, state, osd, seen, _did_not_start(rules, state, seen, n)))


def _restart_may_be_lost(
    rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation
) -> bool:
    """Whether a restart that stopped the OSD may have been lost with its manager.

    That is no sign of a bad entry: it is worth one more request.
    """
    return (
        not seen.restart_is_ours
        and seen.orchestrator_reason is None
        and state.ending is None
        and osd.restarts_asked < rules.limits.tries
        and why_held(state, seen) is None
    )


def _ask_again(
    rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation, error: str
) -> Step:
    """Request another restart, or a manual one once the attempts are exhausted."""
    reason = seen.orchestrator_reason or error
    manual = manual_restart(osd.osd_id, seen.osd(osd.osd_id), reason, rules.operation)
    if seen.orchestrator_reason is not None or osd.restarts_asked >= rules.limits.tries:
        away = absent(seen, osd.osd_id)
        return Step(waiting(state, manual)) if away is None else _left_behind(state, osd, away)
    held = why_held(state, seen) or _outstanding(state, osd.osd_id)
    if held is not None:
        return Step(waiting(state, held))
    return _ask(state, osd, seen)


def _left_behind(state: RolloutState, osd: OsdProgress, away: Away) -> Step:
    """Leave behind an absent OSD: if it ever starts, it starts with its restored entry."""
    return Step(left_behind(state, osd, why_away(osd.osd_id, away)))


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
    flapped = replace(osd, step=OsdStep.RESTARTING, flaps=flaps)
    if state.direction is Direction.FORWARD and flapped.flaps > rules.limits.flaps:
        ending = Ending(
            Outcome.FAILED,
            f'osd.{osd.osd_id} came up and went down again {flapped.flaps} times',
        )
        return Step(start_recovery(rules, state, osd, seen, ending))
    return Step(with_osd(state, flapped))


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


def _did_not_start(rules: Rules, state: RolloutState, seen: Observation, osd_id: int) -> Ending:
    within_s = _boot_limit_s(rules, state, seen)
    return Ending(Outcome.FAILED, f'osd.{osd_id} did not come back up within {within_s:.0f} s')


def _boot_limit_s(rules: Rules, state: RolloutState, seen: Observation) -> float:
    """How long an OSD may be down after a restart.

    If it is unknown whether its process runs, the start times of its peers extend the limit.
    """
    least_s = rules.limits.boot_s
    if seen.alive is not None:
        return least_s
    return max(least_s, min(_BOOT_FACTOR * state.longest_boot_s, rules.limits.boot_most_s))


def _starting_text(rules: Rules, osd_id: int, seen: Observation, down_s: float) -> str:
    if down_s < rules.limits.boot_most_s:
        return f'osd.{osd_id} is not up yet, but its process is running: waiting for it'
    info = seen.osd(osd_id)
    return (
        f'osd.{osd_id} is not up after {rules.limits.boot_most_s / 60:.0f} minutes, although '
        'its process is running: see its log; if it hangs, '
        f'"{manual_command(osd_id, info.daemon if info else None)}"'
    )


def _with_boot(state: RolloutState, seen: Observation) -> RolloutState:
    return replace(state, longest_boot_s=max(state.longest_boot_s, seen.was_down_s))


def manual_restart(
    osd_id: int, info: Optional[OsdInfo], reason: str, operation: str = 'rollout'
) -> str:
    """Ask the operator for a manual restart."""
    verb = 'start' if info is not None and not info.up else 'restart'
    daemon = info.daemon if info is not None else None
    host = manual_host(daemon)
    where = f' on {host}' if host else ''
    return (
        f'{verb} osd.{osd_id} next: "{manual_command(osd_id, daemon, verb)}"{where}; '
        f'the {operation} continues after that ({reason})'
    )


def _started(osd: OsdProgress, info: OsdInfo) -> OsdProgress:
    if osd.doubtful:
        # It may have read its options before they were restored, and does not report which: see
        # `Observation.running`.
        return replace(
            osd, step=OsdStep.RESTART_DUE, nonce_before=info.nonce, restarts_asked=0, doubtful=False
        )
    return replace(osd, step=OsdStep.CHECKING, nonce_after=info.nonce)


def asked(osd_id: int, daemon: Optional[OrchestratedDaemon]) -> AskedRestart:
    """The record of an imminent request; ``daemon`` is the orchestrator's report before it."""
    if daemon is None:
        return AskedRestart(osd_id)
    return AskedRestart(osd_id, daemon.executed, daemon.stored_started)


def is_settled(
    request: AskedRestart,
    daemon: Optional[OrchestratedDaemon],
    *,
    by_this_manager: bool,
    seen_scheduled: bool,
    watched_s: float,
    most_s: float,
) -> bool:
    """Whether the request was executed or is lost.

    ``watched_s`` is how long this manager has known of it. Without orchestrator reports a request
    counts as settled after ``most_s``.
    """
    if daemon is not None:
        if set(daemon.executed) - set(request.executed):
            return True
        # A paused orchestrator executes the request once it is resumed, stored or not.
        if daemon.scheduled or daemon.paused:
            return False
        if daemon.scheduled is False and (
            seen_scheduled
            or not by_this_manager
            or _restarted(request.stored_started, daemon.stored_started)
        ):
            return True
    return watched_s >= most_s


def outstanding_text(request: AskedRestart) -> str:
    """The outstanding restart, with a remedy."""
    return (
        f'the orchestrator may still restart osd.{request.osd_id} as requested: no other '
        'OSD is restarted until then; if it takes too long, check "ceph orch status" (paused?) '
        f'and "ceph orch ps --daemon_type osd --daemon_id {request.osd_id}"'
    )


def _restarted(before: Optional[str], now: Optional[str]) -> bool:
    """Whether a new process was stored, and with it an empty schedule."""
    return before is not None and now is not None and before != now
