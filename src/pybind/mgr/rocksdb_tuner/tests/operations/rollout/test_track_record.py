"""How right predictions were is counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.predictions import PredictionResult
from rocksdb_tuner.judge.records import Effect, Judgement, Predicted, SignalVerdict, Verdict
from rocksdb_tuner.operations.history import (
    HistoryRecord,
    TrackRecord,
    compared,
    reliability,
    track_record,
)
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout.storage import record_of
from rocksdb_tuner.tests.judge.test_predictions import AMPLIFICATION, IOPS, latency

from .conftest import Run, set_profile
from .one_step import SOAK


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
def test_incomparable_result_counts_neither_for_nor_against(
    predicted: Optional[Predicted], signal: Optional[SignalVerdict]
) -> None:
    one = record(predicted, signal)
    assert compared(one) is None
    assert track_record([one]) == TrackRecord(1, 0, 0, 0, 0, not_compared=1)


def test_totals_count_every_ended_change_once() -> None:
    predicted = Predicted(IOPS, 0.0, 25.0)
    records = [
        record(predicted, latency(-10.0)),
        record(predicted, latency(-40.0)),
        record(predicted, latency(30.0), Outcome.ROLLED_BACK),
        record(None, None, Outcome.FAILED),
        record(predicted, latency(-10.0), Outcome.WAITING),
    ]
    found = track_record(records)
    assert found[:5] == (4, 3, 1, 1, 1)
    assert found.not_compared == 1


@pytest.mark.parametrize(
    ('factor', 'result'), [(1.0, PredictionResult.RIGHT), (1.25, PredictionResult.WRONG)]
)
def test_rollout_leaves_prediction_and_measurement_in_history(
    run: Run, factor: float, result: PredictionResult
) -> None:
    run.clients.factor = factor
    predicted = Predicted(IOPS, 0.0, 23.0)
    run.start(set_profile(run.cluster, predicted=predicted), soak=SOAK)
    state = run.run_to_end()
    (kept,) = run.driver.history
    assert kept == record_of(state)
    assert kept.predicted == predicted
    comparison = compared(kept)
    assert comparison is not None
    assert comparison.result is result
    run.fail_over()
    assert run.driver.history == (kept,)


def _bytes(seen: SignalVerdict) -> SignalVerdict:
    return replace(seen, name='db_bytes_per_txn')


def test_reliability_counts_measured_values_in_the_interval_by_signal() -> None:
    """What overlaps but lies outside is right, and yet not in the interval; nothing waits there."""
    records = [
        record(Predicted(AMPLIFICATION, -20.0, -10.0), _bytes(latency(-12.0, 1.0))),
        record(Predicted(AMPLIFICATION, -20.0, -10.0), _bytes(latency(-22.0, 5.0))),
        record(
            Predicted(AMPLIFICATION, -20.0, -10.0), _bytes(latency(-12.0, 1.0)), Outcome.WAITING
        ),
        record(Predicted(IOPS, 0.0, 25.0), latency(-10.0, 1.0)),
    ]
    assert reliability(records) == [('db_bytes_per_txn', 2, 1), ('op_w_latency_ms', 1, 1)]
    assert [c.held for r in records if (c := compared(r))] == [True, False, True, True]
