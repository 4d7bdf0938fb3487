"""A prediction against what was measured."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import NamedTuple, Optional

from ..knowledge import loader
from .records import Effect, Judgement, Predicted, SignalVerdict

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


def compared_with(
    predicted: Optional[Predicted], judgement: Optional[Judgement]
) -> Optional[Comparison]:
    """None where there was no prediction, or it is unknown whether it came true."""
    shown = None if predicted is None else shown_by(predicted.metric)
    if predicted is None or shown is None or judgement is None:
        return None
    for signal in judgement.signals:
        if signal.name == shown.signal and signal.effect is not Effect.UNCLEAR:
            return _comparison(_interval(predicted, shown), signal)
    return None


def interval_score(low: float, high: float, measured: float) -> float:
    """Width of an interval that shall hold 80%, and a penalty for how far outside a value lies.

    T. Gneiting and A. Raftery, Strictly Proper Scoring Rules, Prediction, and Estimation, 2007,
    section 6.2: no other interval than the one that one believes in has a lower expected score.
    """
    outside = max(low - measured, measured - high, 0.0)
    return high - low + 2 / _NOT_HELD * outside


def _interval(predicted: Predicted, shown: Shows) -> tuple[float, float]:
    if not shown.inverse:
        return predicted.low_percent, predicted.high_percent
    return _inverse(predicted.high_percent), _inverse(predicted.low_percent)


def _inverse(percent: float) -> float:
    """Of 1/x, where x changes by ``percent``; nothing is left of it from -100% on."""
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
