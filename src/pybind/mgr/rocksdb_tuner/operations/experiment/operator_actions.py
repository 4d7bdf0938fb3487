"""State changes from outside: operator requests, and actions the cluster refused. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Optional

from ...plan.commands import Action
from ..phases import Outcome, paused_text
from ..rollout import machine as of_rollouts
from ..rollout.osd_step import unsafe
from ..rollout.records import Direction
from ..rollout.rules import restoring_command
from . import legs
from .records import ExperimentState, LegKind
from .states import ending, finished

#: Maximum number of commands in a text.
_COMMANDS_MAX = 3


def paused(state: ExperimentState, actor: str, now_s: float) -> ExperimentState:
    """Start no change and no measurement until `resumed`.

    An OSD that is restarting is still monitored, and a failed one is restored first.
    """
    leg = None if state.leg is None else of_rollouts.paused(state.leg, actor, now_s)
    recovering = leg is not None and leg.direction is Direction.RECOVER
    reason = state.paused_reason if recovering else paused_text(actor)
    return replace(state, leg=leg, paused_by=actor, paused_reason=reason, updated_s=now_s)


def waits_for_operator(state: ExperimentState) -> bool:
    leg = state.leg
    return state.paused_by is not None or (leg is not None and of_rollouts.waits_for_operator(leg))


def resumed(state: ExperimentState, now_s: float) -> ExperimentState:
    """End a pause, and retry failed attempts."""
    leg = None if state.leg is None else of_rollouts.resumed(state.leg, now_s)
    return replace(state, leg=leg, paused_by=None, paused_reason=None, updated_s=now_s)


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
    given_up = state.leg_kind is LegKind.RESTORE
    if leg is not None and osd is not None:
        if leg.direction is Direction.RECOVER:
            leg = of_rollouts.aborted(leg, actor, now_s, entries, down)
            given_up = leg.ended
        elif given_up:
            of_rollouts.refuse_while_deadly(leg, osd, entries)
    if given_up:
        left = f'{reason} before every OSD was restored: {_leftovers(state)}'
        ended = finished(ending(state, Outcome.ABORTED), now_s, left)
        return replace(ended, updated_s=now_s)
    stopping = replace(ending(state, Outcome.ABORTED, reason), updated_s=now_s)
    if not state.off:
        return finished(stopping, now_s)
    leg = None if leg is None else replace(leg, paused_by=None, paused_reason=None)
    return replace(stopping, leg=leg, paused_by=None, paused_reason=None)


def action_failed(
    state: ExperimentState, action: Action, error: str, now_s: float
) -> ExperimentState:
    """The state after the cluster refused an action of the leg."""
    assert state.leg is not None
    leg = of_rollouts.action_failed(state.leg, action, error, now_s)
    return replace(state, leg=leg, asked=leg.asked, updated_s=now_s)


def _leftovers(state: ExperimentState) -> str:
    """How an operator restores the remaining changes."""
    rollout = legs.now(replace(state, leg=None))
    commands = [f'"{restoring_command(rollout, n)}"' for n in sorted(state.off)]
    more = len(commands) - _COMMANDS_MAX
    shown = ', '.join(commands[:_COMMANDS_MAX]) + (f' and {more} more' if more > 0 else '')
    return f'{shown}, then restart the OSD(s)'
