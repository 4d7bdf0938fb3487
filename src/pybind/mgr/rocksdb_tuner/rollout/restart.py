"""Restarting one OSD, in any direction.

An OSD's process is known by the nonce in the OSD map. A restart is over when the nonce changed;
what the new process runs is then read from itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from ..mgr.records import OsdInfo
from .failing import failing
from .gates import placement_groups
from .observation import Observation, RestartOsd
from .records import Direction, Ending, OsdProgress, OsdStep, Outcome, RolloutState
from .rules import Rules, Step, trouble_of, why_closed, why_held
from .states import others_changed, waiting, with_osd


def due(osd: OsdProgress, seen: Observation) -> OsdProgress:
    info = seen.osd(osd.osd_id)
    nonce = osd.nonce_before if info is None else info.nonce
    return replace(osd, step=OsdStep.RESTART_DUE, nonce_before=nonce, restarts_asked=0)


def restart_due(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    info = seen.osd(n)
    if info is not None and info.up and info.nonce not in {osd.nonce_before, None}:
        return Step(with_osd(state, _came_up(osd, info)))
    forward = state.direction is Direction.FORWARD
    if info is not None and not info.up and forward:
        # It went down by itself, and what keeps it down may be its new entry.
        if seen.down_s >= rules.limits.boot_s:
            return Step(failing(rules, state, osd, seen, _not_back(rules, n)))
        return Step(waiting(state, f'osd.{n} is down'))
    # What is down already cannot be hurt by being started.
    gated = forward or info is None or info.up
    closed = why_closed(state, n, seen) if gated else why_held(state, seen)
    if closed is not None:
        return Step(waiting(state, closed))
    if seen.orchestrator_reason is not None:
        return Step(waiting(state, by_hand(n, info, seen.orchestrator_reason)))
    trouble = trouble_of(rules, state)
    told = state if trouble is None else waiting(state, by_hand(n, info, trouble))
    if state.errors and seen.waited_s < rules.limits.retry_s:
        return Step(told)
    return Step(with_osd(told, _asked(osd), errors=state.errors), (RestartOsd(n),))


def restarting(rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation) -> Step:
    n = osd.osd_id
    info = seen.osd(n)
    if info is None:
        return Step(waiting(state, f'osd.{n} is not in the OSD map'))
    if info.up and info.nonce not in {osd.nonce_before, None}:
        return Step(with_osd(state, _came_up(osd, info)))
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
    if down_s < rules.limits.boot_s:
        return Step(state)
    if not forward:
        return _ask_again(rules, state, osd, seen, f'osd.{n} did not come up again')
    if _perhaps_never_started(rules, state, osd, seen):
        return Step(with_osd(state, _asked(osd)), (RestartOsd(n),))
    return Step(failing(rules, state, osd, seen, _not_back(rules, n)))


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
    hand = by_hand(osd.osd_id, seen.osd(osd.osd_id), seen.orchestrator_reason or trouble)
    if seen.orchestrator_reason is not None or osd.restarts_asked >= rules.limits.tries:
        return Step(waiting(state, hand))
    held = why_held(state, seen)
    if held is not None:
        return Step(waiting(state, held))
    return Step(with_osd(state, _asked(osd)), (RestartOsd(osd.osd_id),))


def lost_again(
    rules: Rules, state: RolloutState, osd: OsdProgress, seen: Observation
) -> Optional[Step]:
    """The process that had come up is gone; None while it is there."""
    info = seen.osd(osd.osd_id)
    if info is not None and info.up and info.nonce == osd.nonce_after:
        return None
    flapped = replace(osd, step=OsdStep.RESTARTING, flaps=osd.flaps + 1)
    if state.direction is Direction.FORWARD and flapped.flaps > rules.limits.flaps:
        ending = Ending(
            Outcome.FAILED,
            f'osd.{osd.osd_id} came up and went down again {flapped.flaps} times',
        )
        return Step(failing(rules, state, osd, seen, ending))
    return Step(with_osd(state, flapped))


def until_settled(rules: Rules, state: RolloutState, seen: Observation) -> Optional[Step]:
    """Waiting for clean placement groups after a restart; None once they are."""
    if seen.waited_s < rules.limits.settle_s:
        return Step(state)
    closed = placement_groups(seen)
    if closed is None:
        return None
    # Recovery after a restart is part of it, and worth a word only if it takes long.
    return Step(state if seen.waited_s < rules.limits.boot_s else waiting(state, closed))


def _not_back(rules: Rules, osd_id: int) -> Ending:
    return Ending(
        Outcome.FAILED, f'osd.{osd_id} did not come back up within {rules.limits.boot_s:.0f} s'
    )


def by_hand(osd_id: int, info: Optional[OsdInfo], reason: str) -> str:
    """What the operator is asked to do where no orchestrator does it."""
    verb = 'start' if info is not None and not info.up else 'restart'
    host = f' on {info.host}' if info is not None and info.host else ''
    return (
        f'{verb} osd.{osd_id} next: "systemctl {verb} ceph-osd@{osd_id}"{host}; '
        f'the rollout goes on by itself then ({reason})'
    )


def _came_up(osd: OsdProgress, info: OsdInfo) -> OsdProgress:
    if osd.doubtful:
        # It may have read its options before they were put back, and cannot be asked: see
        # `Observation.running`.
        return replace(
            osd, step=OsdStep.RESTART_DUE, nonce_before=info.nonce, restarts_asked=0, doubtful=False
        )
    return replace(osd, step=OsdStep.CHECKING, nonce_after=info.nonce)


def _asked(osd: OsdProgress) -> OsdProgress:
    """The OSD, once more asked to restart: the process that comes up then is a fresh one."""
    return replace(
        osd, step=OsdStep.RESTARTING, restarts_asked=osd.restarts_asked + 1, doubtful=False
    )
