"""Predictions are held against measurements, and counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.rollout.history import HistoryRecord, record_of
from rocksdb_tuner.rollout.records import (
    Effect,
    Judgement,
    Outcome,
    Predicted,
    SignalVerdict,
    Verdict,
)
from rocksdb_tuner.rollout.track_record import (
    Comparison,
    Rightness,
    TrackRecord,
    compared,
    interval_score,
    track_record,
)

from .conftest import Run, set_profile
from .test_soak import SOAK

IOPS = '4 KiB random write IOPS'
AMPLIFICATION = 'write amplification of RocksDB'


def record(
    predicted: Optional[Predicted],
    signal: Optional[SignalVerdict],
    outcome: Outcome = Outcome.DONE,
) -> HistoryRecord:
    return HistoryRecord(
        rollout_id='r1',
        time_s=0.0,
        recommendation_id='ssd-1',
        who='osd',
        options_from='',
        options_to='',
        actor='operator',
        outcome=outcome,
        reason=None,
        prediction=None,
        measured=None,
        predicted=predicted,
        judgement=Judgement(Verdict.NO_WORSE, (signal,)) if signal else None,
    )


def latency(
    change: Optional[float], half_width: float = 5.0, effect: Effect = Effect.SAME
) -> SignalVerdict:
    if change is None:
        return SignalVerdict('op_w_latency_ms', Effect.UNCLEAR)
    return SignalVerdict(
        'op_w_latency_ms', effect, change, change - half_width, change + half_width
    )


def told(predicted: Predicted, signal: SignalVerdict) -> Comparison:
    comparison = compared(record(predicted, signal))
    assert comparison is not None
    return comparison


def test_more_writes_are_compared_with_less_time_for_each() -> None:
    comparison = told(Predicted(IOPS, 0.0, 25.0), latency(-22.0, 1.0))
    assert comparison.predicted_low_percent == pytest.approx(-20.0)
    assert comparison.predicted_high_percent == pytest.approx(0.0)
    assert comparison.rightness is Rightness.DIRECTION


@pytest.mark.parametrize(
    ('measured', 'rightness'),
    [
        (-12.0, Rightness.RIGHT),
        (2.0, Rightness.RIGHT),
        (-27.0, Rightness.DIRECTION),
        (12.0, Rightness.WRONG),
    ],
)
def test_intervals_that_meet_are_right_and_signs_decide_otherwise(
    measured: float, rightness: Rightness
) -> None:
    assert told(Predicted(IOPS, 0.0, 25.0), latency(measured)).rightness is rightness


def amplification(
    change: Optional[float], low: Optional[float] = None, high: Optional[float] = None
) -> SignalVerdict:
    return SignalVerdict('db_bytes_per_txn', Effect.SAME, change, low, high)


@pytest.mark.parametrize(
    ('predicted', 'signal', 'rightness'),
    [
        # Intervals that only touch have a value in common.
        ((-40.0, -25.0), amplification(-45.0, -50.0, -40.0), Rightness.RIGHT),
        ((-40.0, -25.0), amplification(-20.0, -25.0, -15.0), Rightness.RIGHT),
        ((-40.0, -25.0), amplification(-45.0, -50.0, -40.1), Rightness.DIRECTION),
        ((1.0, 3.0), amplification(10.0, 9.0, 11.0), Rightness.DIRECTION),
        ((0.1, 0.2), amplification(0.5, 0.4, 0.6), Rightness.DIRECTION),
        ((1.0, 3.0), amplification(0.0, -0.5, 0.5), Rightness.WRONG),
        # Either way was predicted.
        ((-1.0, 1.0), amplification(5.0, 4.0, 6.0), Rightness.WRONG),
        # One that is not bounded is as it was found.
        ((1.0, 3.0), amplification(2.0), Rightness.RIGHT),
        ((1.0, 3.0), amplification(4.0), Rightness.DIRECTION),
    ],
)
def test_how_right_a_prediction_was(
    predicted: tuple[float, float], signal: SignalVerdict, rightness: Rightness
) -> None:
    comparison = told(Predicted(AMPLIFICATION, *predicted), signal)
    assert comparison.rightness is rightness
    low, high = signal.low_percent, signal.high_percent
    change = signal.change_percent
    assert comparison.measured_percent == change
    assert comparison.measured_low_percent == (change if low is None else low)
    assert comparison.measured_high_percent == (change if high is None else high)


def test_of_writes_that_stop_altogether_each_takes_for_ever() -> None:
    for least in (-100.0, -120.0):
        comparison = told(Predicted(IOPS, least, 0.0), latency(5.0))
        assert comparison.predicted_high_percent == float('inf')
    assert told(Predicted(IOPS, -99.5, 0.0), latency(5.0)).predicted_high_percent == pytest.approx(
        19900.0
    )
    assert compared(record(Predicted(AMPLIFICATION, 0.0, 1.0), amplification(None))) is None


def test_a_metric_is_compared_with_its_own_signal() -> None:
    written = SignalVerdict('db_bytes_per_txn', Effect.BETTER, -30.0, -33.0, -27.0)
    both = Judgement(Verdict.NO_WORSE, (latency(50.0), written))
    change = record(Predicted(AMPLIFICATION, -40.0, -25.0), None)
    comparison = compared(HistoryRecord(**{**vars(change), 'judgement': both}))
    assert comparison is not None
    assert (comparison.signal, comparison.rightness) == ('db_bytes_per_txn', Rightness.RIGHT)
    assert comparison.predicted_low_percent == -40.0


@pytest.mark.parametrize(
    ('predicted', 'signal'),
    [
        (None, latency(3.0)),
        (Predicted('S3 throughput', 0.0, 5.0), latency(3.0)),
        (Predicted(IOPS, 0.0, 25.0), None),
        (Predicted(IOPS, 0.0, 25.0), latency(None)),
        (Predicted(IOPS, 0.0, 25.0), latency(-12.0, 40.0, Effect.UNCLEAR)),
    ],
)
def test_what_cannot_be_compared_counts_neither_for_nor_against(
    predicted: Optional[Predicted], signal: Optional[SignalVerdict]
) -> None:
    one = record(predicted, signal)
    assert compared(one) is None
    assert track_record([one]) == TrackRecord(1, 0, 0, 0, 0)


def test_totals_count_every_change_that_ended_once() -> None:
    predicted = Predicted(IOPS, 0.0, 25.0)
    records = [
        record(predicted, latency(-10.0)),
        record(predicted, latency(-40.0)),
        record(predicted, latency(30.0), Outcome.ROLLED_BACK),
        record(None, None, Outcome.FAILED),
        record(predicted, latency(-10.0), Outcome.WAITING),
    ]
    assert track_record(records)[:5] == (4, 3, 1, 1, 1)


@pytest.mark.parametrize(('factor', 'rightness'), [(1.0, Rightness.RIGHT), (1.25, Rightness.WRONG)])
def test_a_rollout_leaves_its_prediction_and_its_measurement_in_history(
    run: Run, factor: float, rightness: Rightness
) -> None:
    run.clients.factor = factor
    predicted = Predicted(IOPS, 0.0, 23.0)
    run.start(set_profile(run.cluster, predicted=predicted), soak=SOAK)
    state = run.to_the_end()
    (kept,) = run.driver.history
    assert kept == record_of(state)
    assert kept.predicted == predicted
    comparison = compared(kept)
    assert comparison is not None
    assert comparison.rightness is rightness
    run.fail_over()
    assert run.driver.history == (kept,)


@pytest.mark.parametrize(
    ('low', 'high', 'measured', 'score'),
    [
        (-20.0, -10.0, -15.0, 10.0),
        (-20.0, -10.0, -20.0, 10.0),
        (-20.0, -10.0, -22.0, 30.0),
        (-20.0, -10.0, 0.0, 110.0),
        (0.0, 0.0, -15.0, 150.0),
        (0.0, 0.0, 0.0, 0.0),
        (-100.0, 100.0, -15.0, 200.0),
    ],
)
def test_an_interval_scores_its_width_and_what_it_misses(
    low: float, high: float, measured: float, score: float
) -> None:
    assert interval_score(low, high, measured) == pytest.approx(score)


def test_a_forecast_that_says_everything_is_possible_scores_worse_than_an_exact_one() -> None:
    """Both are right each time; a forecast of no change is better than the vague one."""
    measured = [latency(change, 1.0) for change in (-12.0, -15.0, -18.0)]
    exact = track_record(
        record(Predicted(AMPLIFICATION, -20.0, -10.0), _bytes(m)) for m in measured
    )
    vague = track_record(record(Predicted(AMPLIFICATION, -99.0, 99.0), _bytes(m)) for m in measured)
    assert exact.held == vague.held == 3
    assert (exact.mean_width_percent, vague.mean_width_percent) == (10.0, 198.0)
    assert exact.interval_score == pytest.approx(10)
    assert vague.interval_score == pytest.approx(198)
    assert exact.naive_interval_score == vague.naive_interval_score == pytest.approx(150)


def _bytes(seen: SignalVerdict) -> SignalVerdict:
    return replace(seen, name='db_bytes_per_txn')


def test_without_a_comparison_nothing_is_scored() -> None:
    found = track_record([record(None, None)])
    assert (found.held, found.mean_width_percent) == (0, None)
    assert (found.interval_score, found.naive_interval_score) == (None, None)


def test_an_interval_without_a_bound_has_no_score() -> None:
    """An inverse of -100 % or less: every amount is possible."""
    found = track_record([record(Predicted(IOPS, -100.0, 25.0), latency(-12.0, 1.0))])
    assert found.compared == 1
    assert found.interval_score is None
