"""All changes, with predictions and measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Optional

from ...judge.arms import Answer
from ...judge.predictions import Comparison as FoundComparison
from ...judge.predictions import PredictionResult
from ...judge.records import Predicted, SignalVerdict
from ...notes import Amount, InPlace, Time
from ...operations.history import ExperimentResult, HistoryRecord
from ...operations.phases import Outcome
from ...operations.rollout.history import compared
from ...units import format_time
from .rollout import Judged, judged_of


@dataclass(frozen=True)
class PredictedEffect:
    """A predicted change of one metric."""

    metric: Annotated[str, 'The metric that would change.']
    low_percent: Annotated[Optional[float], 'Lower end of the predicted change, in percent.']
    high_percent: Annotated[Optional[float], 'Upper end of the predicted change.']


@dataclass(frozen=True)
class Comparison:
    """Comparison of a prediction with the measurement."""

    signal: Annotated[str, 'Signal of the comparison.']
    predicted_low_percent: Annotated[
        Optional[float], 'Lower end of the predicted change of this signal.'
    ]
    predicted_high_percent: Annotated[
        Optional[float], 'Upper end of the predicted change of this signal.'
    ]
    measured_percent: Annotated[Optional[float], 'Measured change of the signal.']
    measured_low_percent: Annotated[Optional[float], 'Lower end of the measured interval.']
    measured_high_percent: Annotated[Optional[float], 'Upper end of the measured interval.']
    result: Annotated[
        PredictionResult,
        'right: the intervals overlap; direction: they do not, but the direction was predicted '
        'correctly.',
    ]


@dataclass(frozen=True)
class TriedOptions:
    """One arm of an experiment."""

    name: Annotated[str, 'Name of the arm: the profile that it tried.']
    options: Annotated[str, 'Option string of the arm.']
    change_percent: Annotated[
        Optional[float], 'Change of the signal against unchanged OSDs; null: unknown.'
    ]
    low_percent: Annotated[Optional[float], 'Lower end of the interval; null: unbounded.']
    high_percent: Annotated[Optional[float], 'Upper end of the interval; null: unbounded.']
    dropped: Annotated[Optional[str], 'Why it ended early; null if it did not.']


@dataclass(frozen=True)
class ExperimentOutcome:
    """Result of an experiment."""

    signal: Annotated[str, 'The judged signal that arms were expected to improve.']
    min_effect_percent: Annotated[Amount, 'Smaller differences counted as none.']
    conclusion: Annotated[Optional[Answer], 'Result; null: it ended before.']
    winner: Annotated[Optional[str], 'Best arm; null: none.']
    arms: tuple[TriedOptions, ...]


@dataclass(frozen=True)
class Change:
    """A change with its actor and outcome."""

    id: Annotated[str, 'Id of the rollout.']
    time: Annotated[Optional[Time], 'Start time. ISO 8601, UTC.']
    recommendation: Annotated[str, 'Id of the recommendation.']
    who: Annotated[str, 'Config mask.']
    option: Annotated[
        str, 'Changed option: the option string, or the annex that OSDs append to it.'
    ]
    from_: Annotated[str, 'Option string before.']
    to: Annotated[str, 'Option string after.']
    actor: Annotated[str, 'Client that requested it.']
    outcome: Annotated[Outcome, 'Outcome; "waiting": not ended yet.']
    reason: Annotated[Optional[str], 'What went wrong; null if nothing did.']
    prediction: Annotated[Optional[str], 'Prediction, in words; null: none.']
    predicted_effect: Annotated[Optional[PredictedEffect], 'Prediction, in numbers; null: none.']
    measured: Annotated[Optional[str], 'Measurement, in words; null: none.']
    judged: Annotated[Judged, InPlace()]
    measured_effects: Annotated[
        tuple[SignalVerdict, ...],
        'Change of the first OSD relative to its controls.',
    ]
    comparison: Annotated[
        Optional[Comparison],
        'Comparison of prediction and measurement; null if one is missing.',
    ]
    experiment: Annotated[
        Optional[ExperimentOutcome],
        'Result of an experiment, which leaves all options as they were; null: a change.',
    ]


def history_of(records: Sequence[HistoryRecord]) -> tuple[Change, ...]:
    """Oldest first."""
    return tuple(_change(record) for record in records)


def _change(record: HistoryRecord) -> Change:
    judgement = record.judgement
    return Change(
        id=record.rollout_id,
        time=format_time(record.time_s),
        recommendation=record.recommendation_id,
        who=record.who,
        option=record.option,
        from_=record.options_from,
        to=record.options_to,
        actor=record.actor,
        outcome=record.outcome,
        reason=record.reason,
        prediction=record.prediction,
        predicted_effect=_predicted(record.predicted),
        measured=record.measured,
        judged=judged_of(None if judgement is None else judgement.verdict),
        measured_effects=() if judgement is None else judgement.signals,
        comparison=_comparison(compared(record)),
        experiment=None if record.experiment is None else _experiment(record.experiment),
    )


def _experiment(found: ExperimentResult) -> ExperimentOutcome:
    effects = {effect.name: effect for effect in found.effects}
    dropped = dict(found.dropped)
    return ExperimentOutcome(
        signal=found.objective,
        min_effect_percent=found.min_effect * 100,
        conclusion=found.answer,
        winner=found.winner,
        arms=tuple(
            TriedOptions(
                name=name,
                options=options,
                change_percent=effects[name].change_percent if name in effects else None,
                low_percent=effects[name].low_percent if name in effects else None,
                high_percent=effects[name].high_percent if name in effects else None,
                dropped=dropped.get(name),
            )
            for name, options in found.arms
        ),
    )


def _predicted(found: Optional[Predicted]) -> Optional[PredictedEffect]:
    if found is None:
        return None
    return PredictedEffect(found.metric, found.low_percent, found.high_percent)


def _comparison(found: Optional[FoundComparison]) -> Optional[Comparison]:
    if found is None:
        return None
    return Comparison(
        signal=found.signal,
        predicted_low_percent=found.predicted_low_percent,
        predicted_high_percent=found.predicted_high_percent,
        measured_percent=found.measured_percent,
        measured_low_percent=found.measured_low_percent,
        measured_high_percent=found.measured_high_percent,
        result=found.result,
    )
