"""Comparison of predictions with measurements."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Annotated, NamedTuple, Optional

from ..knowledge import loader
from ..notes import Unbounded
from .records import Effect, Judgement, Predicted, SignalVerdict


class PredictionResult(str, Enum):
    #: The predicted and the measured interval overlap.
    RIGHT = 'right'
    #: No overlap, but the change has the predicted sign.
    DIRECTION = 'direction'
    WRONG = 'wrong'


class Comparison(NamedTuple):
    """Comparison of a prediction with the measurement."""

    signal: Annotated[str, 'Signal of the comparison.']
    predicted_low_percent: Annotated[
        float, Unbounded(), 'Lower end of the predicted change of this signal; null: unbounded.'
    ]
    predicted_high_percent: Annotated[
        float, Unbounded(), 'Upper end of the predicted change of this signal; null: unbounded.'
    ]
    measured_percent: Annotated[float, Unbounded(), 'Measured change of the signal.']
    measured_low_percent: Annotated[float, Unbounded(), 'Lower end of the measured interval.']
    measured_high_percent: Annotated[float, Unbounded(), 'Upper end of the measured interval.']
    result: Annotated[
        PredictionResult,
        'right: the intervals overlap; direction: they do not, but the direction was '
        'predicted correctly.',
    ]

    @property
    def held(self) -> Annotated[bool, 'Whether the measured change is in the predicted interval.']:
        return self.predicted_low_percent <= self.measured_percent <= self.predicted_high_percent


class Shows(NamedTuple):
    """The signal that a prediction is checked against; it need not be a judged signal."""

    signal: str
    inverse: bool


@lru_cache(maxsize=1)
def _shown_by() -> dict[str, Shows]:
    return {
        entry['metric']: Shows(entry['signal'], entry['relation'] == 'inverse')
        for entry in loader.load('judged_signals')['predictions']
    }


def shown_by(metric: str) -> Optional[Shows]:
    """The signal for predictions of ``metric``; None: it is not measured."""
    return _shown_by().get(metric)


def compared_with(
    predicted: Optional[Predicted], judgement: Optional[Judgement]
) -> Optional[Comparison]:
    """None without a prediction or a clear measurement."""
    shown = None if predicted is None else shown_by(predicted.metric)
    if predicted is None or shown is None or judgement is None:
        return None
    for signal in judgement.signals:
        if signal.name == shown.signal and signal.effect is not Effect.UNCLEAR:
            return _comparison(_interval(predicted, shown), signal)
    return None


def _interval(predicted: Predicted, shown: Shows) -> tuple[float, float]:
    if not shown.inverse:
        return predicted.low_percent, predicted.high_percent
    return _inverse(predicted.high_percent), _inverse(predicted.low_percent)


def _inverse(percent: float) -> float:
    """Percent change of 1/x when x changes by ``percent``; infinite from -100% down."""
    return float('inf') if percent <= -100 else (100 / (100 + percent) - 1) * 100


def _comparison(predicted: tuple[float, float], signal: SignalVerdict) -> Optional[Comparison]:
    measured = signal.change_percent
    if measured is None:
        return None
    low = measured if signal.low_percent is None else signal.low_percent
    high = measured if signal.high_percent is None else signal.high_percent
    missed = (
        PredictionResult.DIRECTION
        if measured * (predicted[0] + predicted[1]) > 0
        else PredictionResult.WRONG
    )
    result = PredictionResult.RIGHT if predicted[0] <= high and low <= predicted[1] else missed
    return Comparison(signal.name, *predicted, measured, low, high, result)
