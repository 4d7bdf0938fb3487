"""Restarting one OSD, in any direction.

An OSD's process is known by the nonce in the OSD map. An OSD was restarted when the nonce changed;
what the new process runs is then read from itself. Whether it was restarted as asked, or may be
once more, is another question: `outstanding`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from ...mgr.records import OsdInfo
from ...plan.actions import RestartOsd
from ..gates import placement_groups
from ..leaving import Away, absent, why_away
from ..phases import Outcome
from .failing import failing
from .identity import left_behind
from .observation import Observation
from .outstanding import asked, why_not_yet
from .records import Direction, Ending, OsdProgress, OsdStep, RolloutState
from .rules import Rules, Step, trouble_of, why_closed, why_held
from .states import others_changed, waiting, with_osd

#: An OSD may need so many times as long to start as those before it.
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
        return Step(_with_boot(with_osd(state, _came_up(osd, info)), seen))
    forward = state.direction is Direction.FORWARD
    if info is not None and not info.up and forward:
        # It went down by itself, and what keeps it down may be its new entry.
        if seen.alive:
            return Step(waiting(state, _still_starting(rules, n, seen.down_s)))
        if min(seen.down_s, seen.lifeless_s) >= _boot_limit_s(rules, state, seen):
            return Step(failing(rules, state, osd, seen, _not_back(rules, state, seen, n)))
        return Step(waiting(state, f'osd.{n} is down'))
    # After so long it hangs, or is called down while it runs: a restart is due in any case.
    if seen.alive and seen.down_s < rules.limits.boot_most_s:
        return Step(waiting(state, _still_starting(rules, n, seen.down_s)))
    return _ask_if_open(rules, state, osd, seen)


def _ask_if_open(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    """Ask for the restart that is due, where nothing stands against it."""
    n = osd.osd_id
    info, away = seen.osd(n), absent(seen, n)
    # What is down already, and not starting, cannot be hurt by being started.
    gated = info is None or info.up
    closed = why_closed(state, n, seen) if gated else why_held(state, seen)
    if closed is not None:
        return Step(waiting(state, closed))
    trouble = trouble_of(rules, state)
    nobody_can = seen.orchestrator_reason is not None or trouble is not None
    if away is not None and nobody_can and seen.absent_s >= rules.limits.boot_s:
        return _left_behind(state, osd, away)
    if seen.orchestrator_reason is not None:
        return Step(waiting(state, by_hand(n, info, seen.orchestrator_reason, rules.operation)))
    told = state if trouble is None else waiting(state, by_hand(n, info, trouble, rules.operation))
    if state.errors and seen.waited_s < rules.limits.retry_s:
        return Step(told)
    outstanding = _outstanding(state, n)
    if outstanding is not None:
        return Step(waiting(state, outstanding))
    return _ask(told, osd, seen, errors=state.errors)


def why_outstanding(state: RolloutState) -> Optional[str]:
    """Why no OSD may be restarted: one that was asked to may be restarted at any time."""
    return None if state.asked is None else why_not_yet(state.asked)


def _outstanding(state: RolloutState, osd_id: int) -> Optional[str]:
    """The same for this OSD, which is asked once more where it was refused."""
    request = state.asked
    refused = request is not None and request.refused and request.osd_id == osd_id
    return None if refused else why_outstanding(state)


def _ask(state: RolloutState, osd: OsdProgress, seen: Observation, errors: int = 0) -> Step:
    """Ask for a restart: the process that comes up then is a fresh one."""
    n = osd.osd_id
    begun = replace(
        osd, step=OsdStep.RESTARTING, restarts_asked=osd.restarts_asked + 1, doubtful=False
    )
    request = asked(n, seen.described.get(n))
    return Step(replace(with_osd(state, begun, errors), asked=request), (RestartOsd(n),))


def restarting(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    info = seen.osd(n)
    if info is None:
        away = absent(seen, n)
        if away is not None:
            return _left_behind(state, osd, away)
        return Step(waiting(state, f'osd.{n} is not in the OSD map'))
    if info.up and info.nonce not in {osd.nonce_before, None}:
        return Step(_with_boot(with_osd(state, _came_up(osd, info)), seen))
    if not info.up:
        return _starting(rules, state, osd, seen)
    if seen.waited_s < rules.limits.restart_s:
        return Step(state)
    forward = state.direction is Direction.FORWARD
    if forward and state.ending is not None:
        return Step(failing(rules, state, osd, seen, state.ending))
    # Where others are changed already, the operator's hand is better than taking all of them back:
    # that this one is not restarted says nothing of its options.
    if forward and osd.restarts_asked > 1 and not others_changed(state, n):
        ending = Ending(
            Outcome.FAILED,
            f'osd.{n} was asked to restart {osd.restarts_asked} times and did not',
        )
        return Step(failing(rules, state, osd, seen, ending))
    closed = why_closed(state, n, seen)
    if closed is not None:
        return Step(waiting(state, closed))
    return _ask_again(rules, state, osd, seen, f'osd.{n} was not restarted when asked')


def _starting(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    forward = state.direction is Direction.FORWARD
    # It may have stopped long after it was asked, or been down for long when it was asked.
    down_s = min(seen.down_s, seen.waited_s) if forward else seen.waited_s
    limit_s = _boot_limit_s(rules, state, seen)
    # One that was alive until now may just be restarted by hand.
    if down_s < limit_s or (not seen.alive and seen.lifeless_s < limit_s):
        return Step(state)
    if seen.alive:
        if state.ending is None or not forward or down_s < rules.limits.boot_most_s:
            return Step(waiting(state, _still_starting(rules, n, down_s)))
        # It is aborted, and waited for long enough.
        return Step(failing(rules, state, osd, seen, state.ending))
    if not forward:
        return _ask_again(rules, state, osd, seen, f'osd.{n} did not come up again')
    if _perhaps_never_started(rules, state, osd, seen):
        outstanding = _outstanding(state, n)
        return _ask(state, osd, seen) if outstanding is None else Step(waiting(state, outstanding))
    return Step(failing(rules, state, osd, seen, _not_back(rules, state, seen, n)))


def _perhaps_never_started(
    rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation
) -> bool:
    """Whether a restart that stopped the OSD may have ended with the manager it ran in.

    That says nothing about the OSD's new entry: it is worth one more request.
    """
    return (
        not seen.asked_by_us
        and seen.orchestrator_reason is None
        and state.ending is None
        and osd.restarts_asked < rules.limits.tries
        and why_held(state, seen) is None
    )


def _ask_again(
    rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation, trouble: str
) -> Step:
    """One more restart, or, where that was asked for often enough, the operator's hand."""
    reason = seen.orchestrator_reason or trouble
    hand = by_hand(osd.osd_id, seen.osd(osd.osd_id), reason, rules.operation)
    if seen.orchestrator_reason is not None or osd.restarts_asked >= rules.limits.tries:
        away = absent(seen, osd.osd_id)
        return Step(waiting(state, hand)) if away is None else _left_behind(state, osd, away)
    held = why_held(state, seen) or _outstanding(state, osd.osd_id)
    if held is not None:
        return Step(waiting(state, held))
    return _ask(state, osd, seen)


def _left_behind(state: RolloutState, osd: OsdProgress, away: Away) -> Step:
    """Nobody can restart it, and what it starts with, if ever, is what it had: that is all."""
    return Step(left_behind(state, osd, why_away(osd.osd_id, away)))


def lost_again(
    rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation
) -> Optional[Step]:
    """The process that had come up is gone; None while it is there."""
    info = seen.osd(osd.osd_id)
    if info is not None and info.up and info.nonce == osd.nonce_after:
        return None
    # What was asked for came only now, after somebody else had restarted it: no crash.
    late = seen.asked_over or (state.asked is not None and state.asked.osd_id == osd.osd_id)
    flaps = osd.flaps if late else osd.flaps + 1
    flapped = replace(osd, step=OsdStep.RESTARTING, flaps=flaps)
    if state.direction is Direction.FORWARD and flapped.flaps > rules.limits.flaps:
        ending = Ending(
            Outcome.FAILED,
            f'osd.{osd.osd_id} came up and went down again {flapped.flaps} times',
        )
        return Step(failing(rules, state, osd, seen, ending))
    return Step(with_osd(state, flapped))


def until_settled(rules: Rules, state: RolloutState, seen: Observation) -> Optional[Step]:
    """Waiting for clean placement groups after a restart; None once they are.

    What was asked for must be over, too: that the process is another one may be somebody else's
    doing.
    """
    if seen.waited_s < rules.limits.settle_s:
        return Step(state)
    outstanding = why_outstanding(state)
    if outstanding is not None:
        return Step(waiting(state, outstanding))
    closed = placement_groups(seen)
    if closed is None:
        return None
    # Recovery after a restart is part of it, and worth a word only if it takes long.
    return Step(state if seen.waited_s < rules.limits.boot_s else waiting(state, closed))


def _not_back(rules: Rules, state: RolloutState, seen: Observation, osd_id: int) -> Ending:
    within_s = _boot_limit_s(rules, state, seen)
    return Ending(Outcome.FAILED, f'osd.{osd_id} did not come back up within {within_s:.0f} s')


def _boot_limit_s(rules: Rules, state: RolloutState, seen: Observation) -> float:
    """How long an OSD may be down after a restart.

    Where nothing tells whether it starts, what its peers needed tells how long that may take.
    """
    least_s = rules.limits.boot_s
    if seen.alive is not None:
        return least_s
    return max(least_s, min(_BOOT_FACTOR * state.longest_boot_s, rules.limits.boot_most_s))


def _still_starting(rules: Rules, osd_id: int, down_s: float) -> str:
    if down_s < rules.limits.boot_most_s:
        return f'osd.{osd_id} is not up yet: its process runs, and is left alone'
    return (
        f'osd.{osd_id} is not up after {rules.limits.boot_most_s / 60:.0f} minutes, though its '
        'process runs: see its log; if it hangs, '
        f'"systemctl restart ceph-osd@{osd_id}"'
    )


def _with_boot(state: RolloutState, seen: Observation) -> RolloutState:
    return replace(state, longest_boot_s=max(state.longest_boot_s, seen.was_down_s))


def by_hand(osd_id: int, info: Optional[OsdInfo], reason: str, operation: str = 'rollout') -> str:
    """What the operator is asked to do where no orchestrator does it."""
    verb = 'start' if info is not None and not info.up else 'restart'
    host = f' on {info.host}' if info is not None and info.host else ''
    return (
        f'{verb} osd.{osd_id} next: "systemctl {verb} ceph-osd@{osd_id}"{host}; '
        f'the {operation} continues after that ({reason})'
    )


def _came_up(osd: OsdProgress, info: OsdInfo) -> OsdProgress:
    if osd.doubtful:
        # It may have read its options before they were put back, and cannot be asked: see
        # `Observation.running`.
        return replace(
            osd, step=OsdStep.RESTART_DUE, nonce_before=info.nonce, restarts_asked=0, doubtful=False
        )
    return replace(osd, step=OsdStep.CHECKING, nonce_after=info.nonce)
