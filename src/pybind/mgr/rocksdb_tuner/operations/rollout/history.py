"""The history record of a rollout."""

from __future__ import annotations

from ...judge.verdict import in_words
from ..history import HistoryRecord
from ..phases import Outcome
from .records import RolloutState


def record_of(state: RolloutState) -> HistoryRecord:
    """The history record of the present state."""
    request = state.request
    first = request.order[0]
    options_from, options_to = request.strings or (
        state.before.by_id[first].value,
        request.target_by_osd[first],
    )
    return HistoryRecord(
        rollout_id=state.rollout_id,
        time_s=state.started_s,
        recommendation_id=request.recommendation_id,
        who=request.who,
        options_from=options_from,
        options_to=options_to,
        actor=request.actor,
        outcome=state.outcome or Outcome.WAITING,
        reason=state.failure,
        prediction=request.prediction,
        measured=None if state.judgement is None else in_words(state.judgement),
        predicted=request.predicted,
        judgement=state.judgement,
        option=request.option,
    )
