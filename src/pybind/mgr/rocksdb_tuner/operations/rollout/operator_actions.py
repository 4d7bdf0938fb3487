"""State changes from outside: operator requests, and actions the cluster refused."""

from __future__ import annotations

import errno
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Optional

from ...plan.commands import Action, RestartOsd
from ...plan.entries import own
from ..errors import OperationRefused
from ..phases import Outcome
from ..texts import clip, paused_text
from .conflicts import describe_leftovers
from .records import Direction, Ending, OsdProgress, OsdStep, RolloutState
from .recovery import unsafe
from .rules import restoring_command
from .soak import promote, undecided
from .states import ended, in_flight, others_changed, recovery_ending, stamped, with_osd


def paused(state: RolloutState, actor: str, now_s: float) -> RolloutState:
    """No new action until `resumed`; an OSD that is restarting is still monitored.

    The restore of a failed OSD is completed first: the pause holds everything after it.
    """
    recovering = state.direction is Direction.RECOVER
    return replace(
        state,
        paused_by=actor,
        paused_reason=state.paused_reason if recovering else paused_text(actor),
        updated_s=now_s,
    )


def something_follows(state: RolloutState) -> bool:
    """Whether other OSDs must be rolled back after the OSD in flight."""
    osd = in_flight(state)
    return others_changed(state, None if osd is None else osd.osd_id)


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
    return replace(state, paused_by=None, paused_reason=None, errors=0, updated_s=now_s)


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
    return replace(state, ending=ending, paused_by=None, paused_reason=None, updated_s=now_s)


def refuse_while_deadly(
    state: RolloutState, osd: OsdProgress, entries: Optional[Mapping[str, str]]
) -> None:
    """Raises OperationRefused while an OSD that may not start keeps the entry of the rollout."""
    who = own(osd.osd_id)
    known = entries is not None and entries.get(who) == state.before.entry(who)
    if not known:
        raise OperationRefused(
            errno.EBUSY,
            f'{who} may not start with its entry: once the entry is restored, as by '
            f'"{restoring_command(state, osd.osd_id)}", this ends',
        )


def action_failed(state: RolloutState, action: Action, error: str, now_s: float) -> RolloutState:
    """The state after the cluster refused an action."""
    failed = replace(state, errors=state.errors + 1, last_error=clip(error), updated_s=now_s)
    osd = in_flight(state)
    if isinstance(action, RestartOsd) and failed.asked is not None:
        failed = replace(failed, asked=replace(failed.asked, refused=True))
    if isinstance(action, RestartOsd) and osd is not None and osd.restarts_asked == 1:
        # Presumably refused: due again, unless the process changes all the same.
        return with_osd(
            failed, replace(osd, step=OsdStep.RESTART_DUE, restarts_asked=0), errors=failed.errors
        )
    return failed


def _restart_attempts_exhausted(state: RolloutState) -> Optional[OsdProgress]:
    """The OSD whose restart attempts are exhausted."""
    osd = in_flight(state)
    if osd is None or osd.step is not OsdStep.RESTARTING or osd.restarts_asked < 2:
        return None
    held = state.paused_by is not None and state.direction is not Direction.RECOVER
    waits = not held and state.paused_reason is not None
    exhausted = osd.restarts_asked > 2 or state.direction is not Direction.FORWARD
    return osd if waits and exhausted else None
