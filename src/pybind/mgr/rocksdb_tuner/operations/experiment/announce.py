"""Cluster log lines and progress of an experiment, and when it requires operator action."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from ...units import format_ids
from ..announce import (
    ACTION_AFTER_S,
    Line,
    Progress,
    Texts,
    gate_stays_closed,
    with_remedy,
)
from ..rollout.announce import in_danger, osd_transitions
from ..rollout.records import Direction
from .records import ExperimentState, Stage, as_rollout
from .results import in_words

_LEGS = {
    Stage.CHANGING: 'get the option strings of their arms, one OSD at a time',
    Stage.MEASURING: 'get their old option string back, one OSD at a time',
    Stage.RESTORING: (
        'get their old option string back, one OSD at a time, and the experiment ends'
    ),
}
#: Complete only at the end.
_DONE = 0.99


def transitions(before: Optional[ExperimentState], after: ExperimentState) -> Iterator[Line]:
    """Log lines for the transition between two states, in order."""
    request = after.request
    if before is None or before.experiment_id != after.experiment_id:
        arms = ', '.join(arm.name for arm in after.arms)
        yield Line(
            f'{request.actor} compares {arms} on {len(request.plan.changed)} OSD(s) of '
            f'{request.who} with {len(request.plan.controls)} unchanged OSD(s)'
        )
        return
    for arm, earlier in zip(after.arms, before.arms):
        if arm.dropped and not earlier.dropped:
            yield Line(f'{arm.name} ends early: {arm.why_dropped}', warning=True)
    if after.conclusion is not None and before.conclusion is None:
        yield Line(str(in_words(after)))
    if after.ending is not None and before.ending is None and after.ending.reason:
        yield Line(f'ends: {after.ending.reason}', warning=True)
    if after.stage is Stage.MEASURING and before.stage is not Stage.MEASURING:
        yield Line('the arms are being measured')
    yield from _of_leg(before, after)
    if after.ended and not before.ended:
        failure = why_failed(after)
        reason = failure or after.failure
        outcome = 'ended' if after.outcome is None else after.outcome.value
        yield Line(f'{outcome}: {reason}' if reason else outcome, warning=failure is not None)
    elif after.paused_reason != before.paused_reason:
        reason = after.paused_reason
        yield Line('continues' if reason is None else f'waiting: {reason}')


def _of_leg(before: ExperimentState, after: ExperimentState) -> Iterator[Line]:
    leg = after.leg
    if leg is not None and after.legs != before.legs:
        yield Line(f'OSD(s) {format_ids(leg.request.order)} {_LEGS[after.stage]}')
    # Same number of legs: the leg is the same, and its phases are the experiment's.
    elif leg is not None and before.leg is not None:
        yield from osd_transitions(before.leg, leg)


def progress(state: ExperimentState) -> Progress:
    plan, blocks = state.request.plan, state.measured_blocks
    arms = len(state.remaining)
    message = (
        f'Comparing {arms} RocksDB option strings on {state.request.who} ({state.phase.value})'
    )
    done = blocks / (2 * plan.blocks)
    return Progress(message, _DONE if state.stage is Stage.RESTORING else min(_DONE, done))


def why_failed(state: ExperimentState) -> Optional[str]:
    """The failure of an ended experiment; None if it completed or was aborted."""
    if state.stage is Stage.FAILED:
        return state.failure or 'no reason was recorded'
    return None


def why_waiting(state: ExperimentState, waited_s: float) -> Optional[str]:
    """What the operator has to do for a waiting experiment; None if no action is required.

    ``waited_s`` is how long this manager has seen it wait without a step, for a reason the operator
    did not choose.
    """
    leg = state.leg
    recovering = leg is not None and leg.direction is Direction.RECOVER
    paused = state.paused_by is not None and not recovering
    if state.ended or state.paused_reason is None or paused:
        return None
    if leg is not None:
        # An OSD in the middle of its change may not wait as long for a gate as one before it.
        in_the_middle = leg.in_flight is not None and waited_s >= ACTION_AFTER_S
        if leg.errors > 0 or in_the_middle:
            return state.paused_reason
    if gate_stays_closed(waited_s):
        may_abort = state.stage is not Stage.RESTORING
        return with_remedy(state.paused_reason, 'experiment', may_abort)
    return None


TEXTS: Texts[ExperimentState] = Texts(
    transitions,
    progress,
    why_failed,
    why_waiting,
    lambda state: in_danger(as_rollout(state)),
)
