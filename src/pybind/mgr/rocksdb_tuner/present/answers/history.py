"""Every change, with what was predicted and what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Optional

from ...judge.predictions import Comparison as FoundComparison
from ...judge.predictions import Rightness
from ...judge.records import Predicted
from ...operations.history import HistoryRecord
from ...operations.phases import Outcome
from ...operations.rollout.track_record import compared
from ...units import format_time
from .judgment import Judged, SignalEffect, effects_of, judged_of
from .notes import InPlace, Time


@dataclass(frozen=True)
class PredictedEffect:
    """A predicted change of one metric."""

    metric: Annotated[str, 'What would change.']
    low_percent: Annotated[Optional[float], 'Change in percent.']
    high_percent: Annotated[Optional[float], 'The other end.']


@dataclass(frozen=True)
class Comparison:
    """A prediction beside the measurement."""

    signal: Annotated[str, 'The signal in which the prediction shows.']
    predicted_low_percent: Annotated[Optional[float], 'What the prediction means for this signal.']
    predicted_high_percent: Annotated[Optional[float], 'The other end.']
    measured_percent: Annotated[Optional[float], 'Change of the signal.']
    measured_low_percent: Annotated[Optional[float], 'The interval of that.']
    measured_high_percent: Annotated[Optional[float], 'The other end.']
    result: Annotated[
        Rightness,
        'right: the intervals meet; direction: they do not, but it went the way that was '
        'predicted.',
    ]


@dataclass(frozen=True)
class Change:
    """One change: by whom, from what to what, and what came of it."""

    id: Annotated[str, 'Id of the rollout.']
    time: Annotated[Optional[Time], 'When it started. ISO 8601, UTC.']
    recommendation: Annotated[str, 'Id of the recommendation.']
    who: Annotated[str, 'Mask of the config store.']
    option: Annotated[
        str, 'Option that is changed: the string, or the annex that OSDs append to it.'
    ]
    from_: Annotated[str, 'Option string before.']
    to: Annotated[str, 'Option string after.']
    actor: Annotated[str, 'Who asked for it.']
    outcome: Annotated[Outcome, 'How it ended; "waiting": not yet.']
    reason: Annotated[Optional[str], 'What happened, where it did not go as planned.']
    prediction: Annotated[Optional[str], 'What was predicted, in words; null for nothing.']
    predicted_effect: Annotated[Optional[PredictedEffect], 'The same in numbers; null for nothing.']
    measured: Annotated[Optional[str], 'What was measured, in words; null for nothing.']
    judged: Annotated[Judged, InPlace()]
    measured_effects: Annotated[
        tuple[SignalEffect, ...],
        'By how much the first OSD moved more than those it was compared with.',
    ]
    comparison: Annotated[
        Optional[Comparison],
        'The prediction beside the measurement; null where there is nothing to compare.',
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
        measured_effects=effects_of(() if judgement is None else judgement.signals),
        comparison=_comparison(compared(record)),
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
        result=found.rightness,
    )
