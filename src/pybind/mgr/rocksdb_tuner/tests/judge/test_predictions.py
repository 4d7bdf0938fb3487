"""Predictions are held against measurements."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.predictions import (
    Comparison,
    PredictionResult,
    compared_with,
)
from rocksdb_tuner.judge.records import Effect, Judgement, Predicted, SignalVerdict, Verdict

IOPS = '4 KiB random write IOPS'
AMPLIFICATION = 'write amplification of RocksDB'


def latency(
    change: Optional[float], half_width: float = 5.0, effect: Effect = Effect.SAME
) -> SignalVerdict:
    if change is None:
        return SignalVerdict('op_w_latency_ms', Effect.UNCLEAR)
    return SignalVerdict(
        'op_w_latency_ms', effect, change, change - half_width, change + half_width
    )


def compared(predicted: Predicted, signal: SignalVerdict) -> Comparison:
    comparison = compared_with(predicted, Judgement(Verdict.NO_WORSE, (signal,)))
    assert comparison is not None
    return comparison


def test_more_writes_are_compared_with_less_time_per_write() -> None:
    comparison = compared(Predicted(IOPS, 0.0, 25.0), latency(-22.0, 1.0))
    assert comparison.predicted_low_percent == pytest.approx(-20.0)
    assert comparison.predicted_high_percent == pytest.approx(0.0)
    assert comparison.result is PredictionResult.DIRECTION


@pytest.mark.parametrize(
    ('measured', 'result'),
    [
        (-12.0, PredictionResult.RIGHT),
        (2.0, PredictionResult.RIGHT),
        (-27.0, PredictionResult.DIRECTION),
        (12.0, PredictionResult.WRONG),
    ],
)
def test_overlapping_intervals_are_right_and_otherwise_signs_decide(
    measured: float, result: PredictionResult
) -> None:
    assert compared(Predicted(IOPS, 0.0, 25.0), latency(measured)).result is result


def amplification(
    change: Optional[float], low: Optional[float] = None, high: Optional[float] = None
) -> SignalVerdict:
    return SignalVerdict('db_bytes_per_txn', Effect.SAME, change, low, high)


@pytest.mark.parametrize(
    ('predicted', 'signal', 'result'),
    [
        # Intervals that only touch have a value in common.
        ((-40.0, -25.0), amplification(-45.0, -50.0, -40.0), PredictionResult.RIGHT),
        ((-40.0, -25.0), amplification(-20.0, -25.0, -15.0), PredictionResult.RIGHT),
        ((-40.0, -25.0), amplification(-45.0, -50.0, -40.1), PredictionResult.DIRECTION),
        ((1.0, 3.0), amplification(10.0, 9.0, 11.0), PredictionResult.DIRECTION),
        ((0.1, 0.2), amplification(0.5, 0.4, 0.6), PredictionResult.DIRECTION),
        ((1.0, 3.0), amplification(0.0, -0.5, 0.5), PredictionResult.WRONG),
        # Either way was predicted.
        ((-1.0, 1.0), amplification(5.0, 4.0, 6.0), PredictionResult.WRONG),
        # One that is not bounded is as it was found.
        ((1.0, 3.0), amplification(2.0), PredictionResult.RIGHT),
        ((1.0, 3.0), amplification(4.0), PredictionResult.DIRECTION),
    ],
)
def test_prediction_accuracy(
    predicted: tuple[float, float], signal: SignalVerdict, result: PredictionResult
) -> None:
    comparison = compared(Predicted(AMPLIFICATION, *predicted), signal)
    assert comparison.result is result
    low, high = signal.low_percent, signal.high_percent
    change = signal.change_percent
    assert comparison.measured_percent == change
    assert comparison.measured_low_percent == (change if low is None else low)
    assert comparison.measured_high_percent == (change if high is None else high)


def test_stopped_writes_take_infinite_time() -> None:
    for least in (-100.0, -120.0):
        comparison = compared(Predicted(IOPS, least, 0.0), latency(5.0))
        assert comparison.predicted_high_percent == float('inf')
    assert compared(
        Predicted(IOPS, -99.5, 0.0), latency(5.0)
    ).predicted_high_percent == pytest.approx(19900.0)
    unknown = Judgement(Verdict.NO_WORSE, (amplification(None),))
    assert compared_with(Predicted(AMPLIFICATION, 0.0, 1.0), unknown) is None


def test_metric_is_compared_with_its_signal() -> None:
    written = SignalVerdict('db_bytes_per_txn', Effect.BETTER, -30.0, -33.0, -27.0)
    both = Judgement(Verdict.NO_WORSE, (latency(50.0), written))
    comparison = compared_with(Predicted(AMPLIFICATION, -40.0, -25.0), both)
    assert comparison is not None
    assert (comparison.signal, comparison.result) == ('db_bytes_per_txn', PredictionResult.RIGHT)
    assert comparison.predicted_low_percent == -40.0


def test_unmeasured_prediction_is_not_compared() -> None:
    """Without a prediction, a signal for it, a judgment, or a change that is clear."""
    judged = Judgement(Verdict.NO_WORSE, (latency(5.0),))
    iops = Predicted(IOPS, 0.0, 25.0)
    assert compared_with(iops, judged) is not None
    assert compared_with(None, judged) is None
    assert compared_with(replace(iops, metric='the weather'), judged) is None
    assert compared_with(iops, None) is None
    assert compared_with(iops, Judgement(Verdict.NO_DATA)) is None
    unclear = Judgement(Verdict.INCONCLUSIVE, (latency(5.0, effect=Effect.UNCLEAR),))
    assert compared_with(iops, unclear) is None
