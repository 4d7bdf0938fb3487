"""The history record of a rollout.

The history of changes, and the rollouts that can still be rolled back.

Predictions compared with outcomes on this cluster.
"""

from __future__ import annotations

import errno
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, NamedTuple, Optional

from ...judge.arms import Arm
from ...judge.predictions import Comparison, PredictionResult, compared_with, interval_score
from ...judge.records import Effect, Judgement, SignalVerdict, Verdict
from ...judge.verdict import in_words
from ...notes import Amount, Count
from ..errors import OperationRefused
from ..history import HistoryRecord
from ..phases import Outcome
from .records import RolloutState
from .rollback import presumed_changed
from .storage import RolloutStorage, number_of


def record_of(state: RolloutState) -> HistoryRecord:
    """The history record of the present state."""
    request = state.request
    options_from, options_to = request.strings or (
        state.before.by_id[request.order[0]].value,
        request.target_by_osd[request.order[0]],
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


class RolloutArchive:
    """The history of changes, and the rollouts that can still be rolled back."""

    def __init__(self, storage: RolloutStorage) -> None:
        self._storage = storage
        #: Every change, oldest first.
        self.records: tuple[HistoryRecord, ...] = ()

    @property
    def rollout_ids(self) -> tuple[str, ...]:
        """Oldest first."""
        return tuple(r.rollout_id for r in self.records if r.rollout_id.startswith('r'))

    def load(self, running: Optional[RolloutState]) -> None:
        self.records = tuple(_known(r, running) for r in self._storage.load_history())

    def holds(self, state: RolloutState) -> bool:
        """Whether an ended rollout is archived."""
        known = self._storage.archived(state.rollout_id)
        return record_of(state) in self.records and known is not None and known.ended

    def keep(self, record: HistoryRecord) -> None:
        """Raises CommandError."""
        self._storage.save_record(record)
        others = (r for r in self.records if r.rollout_id != record.rollout_id)
        # In the order in which the next manager reads it.
        self.records = tuple(sorted((*others, record), key=lambda r: number_of(r.rollout_id)))

    def found(self, name: Optional[str]) -> RolloutState:
        """The rollout to roll back (None: the last one); raises OperationRefused."""
        found = self._storage.archived(self.rollout_ids[-1] if name is None else name)
        if found is None:
            known = ', '.join(r.rollout_id for r in self.records[-8:])
            raise OperationRefused(
                errno.ENOENT, f'there is no rollout "{name}" to roll back; the last are {known}'
            )
        # A state stored before the end does not show the final progress.
        return found if found.ended else presumed_changed(found)


def _known(record: HistoryRecord, running: Optional[RolloutState]) -> HistoryRecord:
    """A change recorded as under way without a stored state has failed."""
    if record.outcome is not Outcome.WAITING or (
        running is not None and record.rollout_id == running.rollout_id
    ):
        return record
    return replace(
        record,
        outcome=Outcome.FAILED,
        reason='its stored state could not be read: nothing further was done',
    )


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
    mean_width_percent: Annotated[
        Optional[Amount],
        'Mean width of the predicted intervals, in percentage points; null without comparisons.',
    ] = None
    interval_score: Annotated[
        Optional[Amount],
        'Mean interval score of the predictions at 80%: width plus ten times the distance of '
        'measured values outside the interval. Lower is better.',
    ] = None
    naive_interval_score: Annotated[
        Optional[Amount], 'Interval score of a forecast without any change, for comparison.'
    ] = None
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
        mean_width_percent=_mean(c.predicted_high_percent - c.predicted_low_percent for c in found),
        interval_score=_mean(
            interval_score(c.predicted_low_percent, c.predicted_high_percent, c.measured_percent)
            for c in found
        ),
        naive_interval_score=_mean(interval_score(0.0, 0.0, c.measured_percent) for c in found),
        not_compared=sum(compared(record) is None for record in changes),
    )


def _mean(values: Iterable[float]) -> Optional[float]:
    """None without values, or if one is infinite."""
    found = list(values)
    mean = sum(found) / len(found) if found else None
    return mean if mean is not None and math.isfinite(mean) else None
