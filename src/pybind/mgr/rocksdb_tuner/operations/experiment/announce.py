"""What is said of an experiment: log lines, progress, when it requires operator action.

Its result: in words, in the history, and as evidence. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Optional

from ...advise.proposal import SHOWN_AS
from ...advise.records import MeasuredArm
from ...judge.arms import Answer, Conclusion
from ...judge.records import Effect
from ...judge.signals import signal_named
from ...units import format_effect, format_ids
from ..announce import (
    ACTION_AFTER_S,
    Line,
    Progress,
    Texts,
    gate_stays_closed,
    with_remedy,
)
from ..history import HistoryRecord
from ..phases import Outcome
from ..rollout.announce import in_danger, osd_transitions
from ..rollout.records import Direction
from .records import ExperimentState, Stage, as_rollout

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
            f'{after.actor} compares {arms} on {len(request.changed)} OSD(s) of '
            f'{request.who} with {len(request.controls)} unchanged OSD(s)'
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
    plan, blocks = state.request, state.measured_blocks
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


# -- the result


def in_words(state: ExperimentState) -> Optional[str]:
    """The conclusion in sentences; None: there is none."""
    found = state.conclusion
    if found is None:
        return None
    least = state.request.min_effect
    if found.answer is Answer.WINNER:
        return ' '.join(_winner(state, found))
    crashed = ' or '.join(arm.name for arm in state.arms if arm.crashed)
    # A bound in percent is not rounded down.
    within = math.ceil(round(100 * (least if found.within is None else found.within), 6))
    return {
        Answer.NO_DIFFERENCE: f'No arm differs from the old options by more than {within}%.',
        Answer.NO_GAIN: f'No arm is better than the old options by {least:.0%} or more.',
        Answer.UNCLEAR: 'The measurements do not show which option string is better.',
        Answer.FAILED: f'An OSD with {crashed} crashed or did not start.',
    }[found.answer]


def _winner(state: ExperimentState, found: Conclusion) -> Iterator[str]:
    arm = state.best
    assert arm is not None
    title = signal_named(state.request.objective).title
    yield (f'{arm.name} is better than the old options: {title} {format_effect(*arm.percents)}.')
    if found.runner_up is not None:
        yield (
            f'It is ahead of {found.runner_up}.'
            if found.ahead
            else f'The measurements do not show whether it is better than {found.runner_up}.'
        )
    unproven = ', '.join(signal_named(signal.name).title for signal in arm.of(Effect.UNCLEAR))
    if unproven:
        yield f'Not shown to be no worse: {unproven}.'


def record_of(state: ExperimentState) -> HistoryRecord:
    """The history record of an ended experiment."""
    request = state.request
    return HistoryRecord(
        rollout_id=state.experiment_id,
        time_s=state.started_s,
        recommendation_id=state.experiment_id,
        who=request.who,
        # All OSDs have their old option string again.
        options_from=request.from_options,
        options_to=request.from_options,
        actor=state.actor,
        outcome=state.outcome or Outcome.WAITING,
        reason=state.failure,
        prediction=None,
        measured=in_words(state),
        experiment=request,
        conclusion=state.conclusion,
    )


def measured_arms(records: Iterable[HistoryRecord]) -> tuple[MeasuredArm, ...]:
    """Bounded effects of all arms of past experiments, as evidence for recommendations.

    Only on signals that this version knows.
    """
    return tuple(
        MeasuredArm(
            experiment_id=record.rollout_id,
            time_s=record.time_s,
            name=arm.name,
            options=arm.options,
            options_from=record.options_from,
            who=record.who,
            release=found.release,
            workload=found.workload,
            signal=found.objective,
            change_percent=change,
            low_percent=low,
            high_percent=high,
            won=record.conclusion is not None and record.conclusion.winner == arm.name,
        )
        for record in records
        for found in [record.experiment]
        if found is not None and found.release is not None and found.objective in SHOWN_AS
        for arm in found.arms
        for change, low, high in [arm.percents]
        if change is not None and low is not None and high is not None
    )
