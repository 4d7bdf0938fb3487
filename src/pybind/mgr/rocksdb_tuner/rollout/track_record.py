"""Predictions against outcomes: how often this module was right on this cluster. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import NamedTuple, Optional

from ..knowledge import loader
from .history import HistoryRecord
from .records import Effect, Outcome, Predicted, SignalVerdict

#: Of measured values, what an interval leaves outside.
_NOT_HELD = 0.2


class Rightness(str, Enum):
    """What the measurement makes of the prediction."""

    #: The two intervals have values in common.
    RIGHT = 'right'
    #: They have not, but the change went the way that was predicted.
    DIRECTION = 'direction'
    WRONG = 'wrong'


class Comparison(NamedTuple):
    """A prediction beside what was measured, both as percent change of one signal."""

    signal: str
    predicted_low_percent: float
    predicted_high_percent: float
    measured_percent: float
    measured_low_percent: float
    measured_high_percent: float
    rightness: Rightness


class TrackRecord(NamedTuple):
    """Counts over all changes that ended."""

    changes: int
    #: Those with a prediction, and a measurement precise enough to hold it against.
    compared: int
    right: int
    direction: int
    wrong: int
    #: Measured values that lay in the predicted interval.
    held: int = 0
    #: Width of the predicted intervals, in points of percent; None: none was compared.
    mean_width_percent: Optional[float] = None
    #: Mean interval scores of the predictions, and of a forecast that nothing ever changes: the
    #: less, the better. An interval that says everything is possible scores its width.
    interval_score: Optional[float] = None
    naive_interval_score: Optional[float] = None


class Shows(NamedTuple):
    """The signal that a prediction shows in, which may be one that no verdict goes by."""

    signal: str
    inverse: bool


@lru_cache(maxsize=1)
def _shown_by() -> dict[str, Shows]:
    return {
        entry['metric']: Shows(entry['signal'], entry['relation'] == 'inverse')
        for entry in loader.load('judged_signals')['predictions']
    }


def shown_by(metric: str) -> Optional[Shows]:
    """Where what is predicted of ``metric`` is measured; None: nowhere."""
    return _shown_by().get(metric)


def compared(record: HistoryRecord) -> Optional[Comparison]:
    """None where there was no prediction, or it cannot be told whether it came true."""
    shown = None if record.predicted is None else shown_by(record.predicted.metric)
    if record.predicted is None or shown is None or record.judgement is None:
        return None
    for signal in record.judgement.signals:
        if signal.name == shown.signal and signal.effect is not Effect.UNCLEAR:
            return _comparison(_interval(record.predicted, shown), signal)
    return None


def track_record(records: Iterable[HistoryRecord]) -> TrackRecord:
    ended = [record for record in records if record.outcome is not Outcome.WAITING]
    found = [comparison for comparison in map(compared, ended) if comparison is not None]
    rightness = [comparison.rightness for comparison in found]
    return TrackRecord(
        changes=len(ended),
        compared=len(found),
        right=rightness.count(Rightness.RIGHT),
        direction=rightness.count(Rightness.DIRECTION),
        wrong=rightness.count(Rightness.WRONG),
        held=sum(
            c.predicted_low_percent <= c.measured_percent <= c.predicted_high_percent for c in found
        ),
        mean_width_percent=_mean(c.predicted_high_percent - c.predicted_low_percent for c in found),
        interval_score=_mean(
            interval_score(c.predicted_low_percent, c.predicted_high_percent, c.measured_percent)
            for c in found
        ),
        naive_interval_score=_mean(interval_score(0.0, 0.0, c.measured_percent) for c in found),
    )


def interval_score(low: float, high: float, measured: float) -> float:
    """Width of an interval that shall hold 80 %, and a penalty for how far outside a value lies.

    T. Gneiting and A. Raftery, Strictly Proper Scoring Rules, Prediction, and Estimation, 2007,
    section 6.2: no other interval than the one that one believes in has a lower expected score.
    """
    outside = max(low - measured, measured - high, 0.0)
    return high - low + 2 / _NOT_HELD * outside


def _mean(values: Iterable[float]) -> Optional[float]:
    """None of nothing, and where one has no bound."""
    found = list(values)
    mean = sum(found) / len(found) if found else None
    return mean if mean is not None and math.isfinite(mean) else None


def _interval(predicted: Predicted, shown: Shows) -> tuple[float, float]:
    if not shown.inverse:
        return predicted.low_percent, predicted.high_percent
    return _inverse(predicted.high_percent), _inverse(predicted.low_percent)


def _inverse(percent: float) -> float:
    """Of 1/x, where x changes by ``percent``; nothing is left of it from -100 % on."""
    return float('inf') if percent <= -100 else (100 / (100 + percent) - 1) * 100


def _comparison(predicted: tuple[float, float], signal: SignalVerdict) -> Optional[Comparison]:
    measured = signal.change_percent
    if measured is None:
        return None
    low = measured if signal.low_percent is None else signal.low_percent
    high = measured if signal.high_percent is None else signal.high_percent
    if predicted[0] <= high and low <= predicted[1]:
        rightness = Rightness.RIGHT
    elif measured * (predicted[0] + predicted[1]) > 0:
        rightness = Rightness.DIRECTION
    else:
        rightness = Rightness.WRONG
    return Comparison(signal.name, *predicted, measured, low, high, rightness)
