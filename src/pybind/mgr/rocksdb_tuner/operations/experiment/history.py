"""The history record of an experiment. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ...advise.experimented import known_arms
from ...advise.records import MeasuredArm
from ...judge.arms import Answer
from ..history import ArmOutcome, ExperimentResult, HistoryRecord
from ..phases import Outcome
from .records import ExperimentState
from .wording import in_percent, in_words


def record_of(state: ExperimentState) -> HistoryRecord:
    """The history record of an ended experiment."""
    request, conclusion = state.request, state.conclusion
    gain = None if conclusion is None else conclusion.gain
    estimate, low, high = (None, None, None) if gain is None else in_percent(gain)
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
            arms=tuple((arm.name, arm.options) for arm in request.arms),
            objective=request.objective,
            min_effect=request.min_effect,
            answer=None if conclusion is None else conclusion.answer,
            winner=None if conclusion is None else conclusion.winner,
            gain_percent=estimate,
            gain_low_percent=low,
            gain_high_percent=high,
            dropped=tuple((arm.name, arm.reason) for arm in state.dropped),
            effects=_effects(state),
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


def _effects(state: ExperimentState) -> tuple[ArmOutcome, ...]:
    predicted = {arm.name: arm.predicted for arm in state.request.arms}
    return tuple(
        ArmOutcome(
            result.name,
            *in_percent(result.gain),
            predicted.get(result.name),
        )
        for result in state.results
        if result.gain is not None
    )
