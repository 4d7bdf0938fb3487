"""The record of an experiment that history keeps. Pure."""

from __future__ import annotations

import math
from typing import Optional

from ..history import ExperimentResult, HistoryRecord
from ..phases import Outcome
from .records import ExperimentState
from .wording import in_words


def record_of(state: ExperimentState) -> HistoryRecord:
    """The history record of an experiment that ended."""
    request, conclusion = state.request, state.conclusion
    gain = None if conclusion is None else conclusion.gain
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
            gain_percent=None if gain is None else _percent(gain.estimate),
            gain_low_percent=None if gain is None else _percent(gain.low),
            gain_high_percent=None if gain is None else _percent(gain.high),
            dropped=tuple((arm.name, arm.reason) for arm in state.dropped),
        ),
    )


def _percent(logarithm: Optional[float]) -> Optional[float]:
    return None if logarithm is None else round(math.expm1(logarithm) * 100, 2)
