"""The history record of a campaign. Pure."""

from __future__ import annotations

from ...judge.records import Effect, Judgement, SignalVerdict, Verdict
from ..history import HistoryRecord
from ..phases import Outcome
from .announce import change_percent, in_words
from .records import CampaignState

#: The signal of its prediction in `knowledge/judged_signals.json`.
SPACE = 'db_used_bytes_after_compaction'
#: Smaller changes come from flushes and from files that await removal.
SAME_PERCENT = 5.0


def record_of(state: CampaignState) -> HistoryRecord:
    """The history record of an ended campaign."""
    request = state.request
    return HistoryRecord(
        rollout_id=state.campaign_id,
        time_s=state.started_s,
        recommendation_id=request.recommendation_id,
        who=request.who,
        options_from=request.options,
        options_to=request.options,
        actor=request.actor,
        outcome=state.outcome or Outcome.WAITING,
        reason=state.failure,
        prediction=request.prediction,
        measured=in_words(state) if state.measured else None,
        predicted=request.predicted,
        judgement=_judgement(state),
    )


def _judgement(state: CampaignState) -> Judgement:
    used = state.used_bytes
    percent = None if used is None else change_percent(*used)
    if percent is None:
        return Judgement(Verdict.NO_DATA, (SignalVerdict(SPACE, Effect.UNCLEAR),))
    effect, verdict = Effect.SAME, Verdict.NO_WORSE
    if percent < -SAME_PERCENT:
        effect, verdict = Effect.BETTER, Verdict.BETTER
    elif percent > SAME_PERCENT:
        effect = Effect.WORSE
    return Judgement(verdict, (SignalVerdict(SPACE, effect, percent),))
