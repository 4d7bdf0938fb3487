"""The permanent record of each change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Optional

from ..judge.arms import Conclusion
from ..judge.records import Judgement, Predicted
from ..notes import AsTime, Named
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
