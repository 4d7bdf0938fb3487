"""Predictions compared with outcomes on this cluster. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple, Optional

from ...judge.predictions import Comparison, PredictionResult, compared_with, interval_score
from ...judge.records import Effect, Judgement, SignalVerdict, Verdict
from ..history import ArmOutcome, HistoryRecord
from ..phases import Outcome


class TrackRecord(NamedTuple):
    """Counts over all ended changes."""

    changes: int
    #: Changes and arms of experiments with a prediction, and a measurement precise enough to
    #: compare it with.
    compared: int
    right: int
    direction: int
    wrong: int
    #: Measured values inside the predicted interval.
    held: int = 0
    #: Mean width of the predicted intervals, in percentage points; None: none compared.
    mean_width_percent: Optional[float] = None
    #: Mean interval scores of the predictions and of a naive forecast of no change; lower is
    #: better. A very wide interval scores its width.
    interval_score: Optional[float] = None
    naive_interval_score: Optional[float] = None
    #: Changes without a comparison; experiments change nothing for good.
    not_compared: int = 0


def compared(record: HistoryRecord) -> Optional[Comparison]:
    """None without a prediction, or if the outcome is unknown."""
    return compared_with(record.predicted, record.judgement)


def comparisons(record: HistoryRecord) -> tuple[Comparison, ...]:
    """Of a change at most one, of an experiment one for each arm."""
    found = record.experiment
    if found is None:
        pairs = [compared(record)]
    else:
        pairs = [
            compared_with(effect.predicted, _measured(found.objective, effect))
            for effect in found.effects
        ]
    return tuple(pair for pair in pairs if pair is not None)


def _measured(objective: str, effect: ArmOutcome) -> Optional[Judgement]:
    """None if the interval is not bounded."""
    percents = effect.change_percent, effect.low_percent, effect.high_percent
    if None in percents:
        return None
    # The interval is what the prediction is compared with.
    signal = SignalVerdict(objective, Effect.SAME, *percents)
    return Judgement(Verdict.NO_WORSE, (signal,))


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
        held=sum(
            c.predicted_low_percent <= c.measured_percent <= c.predicted_high_percent for c in found
        ),
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
