"""What a canary must show follows from the prediction, and from objections to the running set."""

from __future__ import annotations

from typing import Optional

import pytest

from rocksdb_tuner.advise.proposal import is_gain, predicted_signal
from rocksdb_tuner.advise.records import Prediction
from rocksdb_tuner.plan.records import Purpose

IOPS, WRITES = '4 KiB random write IOPS', 'DB writes'
KV_SYNC = 'kv_sync thread time per write'


def predicted(metric: str, signal: str, low: float, value: float, high: float) -> Prediction:
    return Prediction(metric, signal, value, low, high, 'published')


FASTER = predicted(IOPS, 'write_iops', 0.0, 17.0, 17.0)
SLOWER = predicted(IOPS, 'write_iops', -9.0, -9.0, 0.0)
FEWER = predicted(WRITES, 'db_write_amp', -40.0, -30.0, -20.0)
MORE = predicted(WRITES, 'db_write_amp', 20.0, 30.0, 40.0)
PERHAPS_FEWER = predicted(WRITES, 'db_write_amp', -10.0, -2.0, 6.0)
LESS_LOADED = predicted(KV_SYNC, 'kv_sync_busy', -30.0, -20.0, -10.0)
THROUGHPUT = predicted('S3 throughput', 'rw_iops', 0.0, 8.0, 8.0)
SPACE = predicted('BlueFS db_used_bytes', 'db_used_bytes', -50.0, -50.0, 0.0)


@pytest.mark.parametrize(
    ('predictions', 'purpose', 'promised'),
    [
        ((), Purpose.SAFETY, None),
        ((FASTER,), Purpose.GAIN, 'op_w_latency_ms'),
        ((SLOWER,), Purpose.SAFETY, None),
        ((FEWER, FASTER), Purpose.GAIN, 'db_bytes_per_txn'),
        ((MORE,), Purpose.SAFETY, None),
        # A possible loss is no expected gain.
        ((PERHAPS_FEWER,), Purpose.SAFETY, None),
        ((MORE, LESS_LOADED), Purpose.GAIN, 'kv_sync_ms_per_txn'),
        # No judged signal shows these.
        ((THROUGHPUT,), Purpose.GAIN, None),
        ((SPACE,), Purpose.GAIN, None),
    ],
)
def test_prediction_without_a_loss_is_an_expected_gain(
    predictions: tuple[Prediction, ...], purpose: Purpose, promised: Optional[str]
) -> None:
    assert any(map(is_gain, predictions)) == (purpose is Purpose.GAIN)
    assert predicted_signal(predictions) == promised
