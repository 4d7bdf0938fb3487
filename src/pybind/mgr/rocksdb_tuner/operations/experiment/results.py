"""The result of an experiment: in words, in the history, and as evidence. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Optional

from ...advise.experimented import known_arms
from ...advise.records import MeasuredArm
from ...judge.arms import Answer, Conclusion, Contrast
from ...judge.records import Effect
from ...judge.signals import signal_named
from ...judge.statistics import percent
from ...units import format_effect
from ..history import ArmOutcome, ExperimentResult, HistoryRecord
from ..phases import Outcome
from .records import ExperimentState


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
    arm = next(arm for arm in state.arms if arm.name == found.winner)
    title = signal_named(state.request.objective).title
    yield (
        f'{arm.name} is better than the old options: {title} '
        f'{format_effect(*in_percent(arm.gain))}.'
    )
    if found.lead is not None:
        yield (
            f'It is ahead of {found.runner_up}.'
            if found.lead.below
            else f'The measurements do not show whether it is better than {found.runner_up}.'
        )
    unproven = ', '.join(signal_named(signal.name).title for signal in arm.of(Effect.UNCLEAR))
    if unproven:
        yield f'Not shown to be no worse: {unproven}.'


def in_percent(
    contrast: Optional[Contrast],
) -> tuple[Optional[float], Optional[float], Optional[float]]:
    """Estimate and interval in percent, as stored; None: not known, or not bounded."""
    estimate, low, high = (
        None if value is None else round(percent(value), 2) for value in contrast or (None,) * 3
    )
    return estimate, low, high


def record_of(state: ExperimentState) -> HistoryRecord:
    """The history record of an ended experiment."""
    request, conclusion = state.request, state.conclusion
    winner = None if conclusion is None else conclusion.winner
    gains = {arm.name: arm.gain for arm in state.arms}
    estimate, low, high = in_percent(None if winner is None else gains[winner])
    return HistoryRecord(
        rollout_id=state.experiment_id,
        time_s=state.started_s,
        recommendation_id=state.experiment_id,
        who=request.who,
        # All OSDs have their old option string again.
        options_from=request.from_options,
        options_to=request.from_options,
        actor=request.actor,
        outcome=state.outcome or Outcome.WAITING,
        reason=state.failure,
        prediction=None,
        measured=in_words(state),
        experiment=ExperimentResult(
            arms=tuple((arm.name, arm.options) for arm in state.arms),
            objective=request.objective,
            min_effect=request.min_effect,
            answer=None if conclusion is None else conclusion.answer,
            winner=winner,
            gain_percent=estimate,
            gain_low_percent=low,
            gain_high_percent=high,
            dropped=tuple((arm.name, arm.why_dropped) for arm in state.arms if arm.dropped),
            effects=tuple(
                ArmOutcome(arm.name, *in_percent(arm.gain), arm.predicted)
                for arm in state.arms
                if arm.gain is not None
            ),
            release=request.release,
            workload=request.workload,
        ),
    )


def measured_arms(records: Iterable[HistoryRecord]) -> tuple[MeasuredArm, ...]:
    """Bounded effects of all arms of past experiments, as evidence for recommendations."""
    return known_arms(
        MeasuredArm(
            experiment_id=record.rollout_id,
            time_s=record.time_s,
            name=effect.name,
            options=dict(found.arms)[effect.name],
            options_from=record.options_from,
            who=record.who,
            release=found.release,
            workload=found.workload,
            signal=found.objective,
            change_percent=effect.change_percent,
            low_percent=effect.low_percent,
            high_percent=effect.high_percent,
            won=found.answer is Answer.WINNER and found.winner == effect.name,
        )
        for record in records
        for found in [record.experiment]
        if found is not None and found.release is not None
        for effect in found.effects
        if effect.change_percent is not None
        and effect.low_percent is not None
        and effect.high_percent is not None
        and effect.name in dict(found.arms)
    )
