"""What is kept of every change for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ...judge.records import Judgement, Predicted
from ...judge.verdict import in_words
from ...plan.records import OPTION
from .records import Outcome, RolloutState


@dataclass(frozen=True)
class HistoryRecord:
    """One change: by whom, from what to what, and what came of it.

    There is one record per rollout; it is written when the rollout starts and again when it ends
    or is rolled back.
    """

    rollout_id: str
    #: Seconds since the epoch at which it was started.
    time_s: float
    recommendation_id: str
    who: str
    #: What the first OSD ran before, and what it was to run: string and annex together.
    options_from: str
    options_to: str
    actor: str
    outcome: Outcome
    #: What happened, where it did not go as planned.
    reason: Optional[str]
    prediction: Optional[str]
    #: In words; None: nothing was measured.
    measured: Optional[str]
    #: The same two in numbers; None also in what an older version of the module stored.
    predicted: Optional[Predicted] = None
    judgement: Optional[Judgement] = None
    #: Which of the two options was changed.
    option: str = OPTION


def record_of(state: RolloutState) -> HistoryRecord:
    """The history record of a rollout as it stands."""
    request = state.request
    first = request.order[0]
    before = {osd.osd_id: osd.value for osd in state.before.osds}
    options_from, options_to = request.strings or (before[first], dict(request.targets)[first])
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
