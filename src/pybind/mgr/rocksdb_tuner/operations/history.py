"""The permanent record of each change, and predictions compared with their outcomes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, Optional

from ..judge.arms import Arm, Conclusion
from ..judge.predictions import Comparison, PredictionResult, compared_with
from ..judge.records import Effect, Judgement, Predicted, SignalVerdict, Verdict
from ..notes import AsTime, Count, Named
from ..plan.experiment_design import ExperimentPlan
from ..plan.records import OPTION
from .phases import Outcome


@dataclass(frozen=True)
class HistoryRecord:
    """A change with its actor and outcome.

    One record per rollout, written when it starts, and again when it ends or is rolled back.
    Compactions and experiments get one when they end: they leave options unchanged.
    """

    rollout_id: Annotated[str, Named('id'), 'Id of the rollout.']
    time_s: Annotated[float, Named('time'), AsTime(), 'Start time. ISO 8601, UTC.']
    recommendation_id: Annotated[str, Named('recommendation'), 'Id of the recommendation.']
    who: Annotated[str, 'Config mask.']
    options_from: Annotated[str, Named('from'), 'Option string before.']
    options_to: Annotated[str, Named('to'), 'Option string after.']
    actor: Annotated[str, 'Client that requested it.']
    outcome: Annotated[Outcome, 'Outcome; "waiting": not ended yet.']
    reason: Annotated[Optional[str], 'What went wrong; null if nothing did.']
    prediction: Annotated[Optional[str], 'Prediction, in words; null: none.']
    measured: Annotated[Optional[str], 'Measurement, in words; null: none.']
    predicted: Annotated[
        Optional[Predicted], Named('predicted_effect'), 'Prediction, in numbers; null: none.'
    ] = None
    judgement: Optional[Judgement] = None
    option: Annotated[
        str, 'Changed option: the option string, or the annex that OSDs append to it.'
    ] = OPTION
    #: An experiment, with the results of its arms; None: this was none.
    experiment: Optional[ExperimentPlan] = None
    #: None: it ended before it could be concluded.
    conclusion: Optional[Conclusion] = None

    @property
    def kind(
        self,
    ) -> Annotated[Literal['rollout', 'compaction', 'experiment'], 'Kind of operation.']:
        if self.experiment is not None:
            return 'experiment'
        return 'compaction' if self.rollout_id.startswith('c') else 'rollout'


class TrackRecord(NamedTuple):
    """Accuracy of the predictions for all ended changes."""

    changes: Annotated[Count, 'Number of ended changes.']
    compared: Annotated[
        Count, 'Changes, and arms of experiments, with a prediction and a comparable measurement.'
    ]
    right: Annotated[Count, 'Changes whose measured and predicted intervals overlap.']
    direction: Annotated[Count, 'Changes of which only the direction was predicted correctly.']
    wrong: Annotated[Count, 'All other compared changes.']
    held: Annotated[Count, 'Measured values within the predicted interval.'] = 0
    #: Changes without a comparison; experiments change nothing for good.
    not_compared: int = 0


def reliability(records: Iterable[HistoryRecord]) -> list[tuple[str, int, int]]:
    """Of each signal, how often it was compared, and was in the predicted 80% interval.

    Predictions are stored before the change, and compared when it has ended.
    """
    ended = [record for record in records if record.outcome is not Outcome.WAITING]
    found = [(c.signal, c.held) for record in ended for c in comparisons(record)]
    names = [name for name, _ in found]
    return sorted({(name, names.count(name), found.count((name, True))) for name in names})


def compared(record: HistoryRecord) -> Optional[Comparison]:
    """None without a prediction, or if the outcome is unknown."""
    return compared_with(record.predicted, record.judgement)


def comparisons(record: HistoryRecord) -> tuple[Comparison, ...]:
    """Of a change at most one, of an experiment one for each arm."""
    found = record.experiment
    pairs = (
        [compared(record)]
        if found is None
        else [compared_with(e.predicted, _measured(found.objective, e)) for e in found.arms]
    )
    return tuple(pair for pair in pairs if pair is not None)


def _measured(objective: str, arm: Arm) -> Optional[Judgement]:
    """None if the interval is not bounded."""
    if None in arm.percents:
        return None
    # The interval is what the prediction is compared with.
    return Judgement(Verdict.NO_WORSE, (SignalVerdict(objective, Effect.SAME, *arm.percents),))


def track_record(records: Iterable[HistoryRecord]) -> TrackRecord:
    ended = [record for record in records if record.outcome is not Outcome.WAITING]
    found = [comparison for record in ended for comparison in comparisons(record)]
    results = [comparison.result for comparison in found]
    changes = [record for record in ended if record.experiment is None]
    return TrackRecord(
        changes=len(changes),
        compared=len(found),
        right=results.count(PredictionResult.RIGHT),
        direction=results.count(PredictionResult.DIRECTION),
        wrong=results.count(PredictionResult.WRONG),
        held=sum(c.held for c in found),
        not_compared=sum(compared(record) is None for record in changes),
    )
