"""The model says of a change what it does to write amplification, and nothing where it cannot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.advise.effect import (
    predicted_write_amplification,
    prediction_of,
    reason_of,
)
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.situation import Situation
from rocksdb_tuner.lsm.records import Estimate, Load
from rocksdb_tuner.options.releases import release_of
from rocksdb_tuner.workload.records import WorkloadClass

PACIFIC = release_of('16.2.15', None)
assert PACIFIC is not None
RGW = Situation(
    PACIFIC,
    WorkloadClass.RGW_METADATA,
    load=Load(workload='omap-heavy', data_bytes=30.0 * (1 << 30)),
)
OLD, LZ4 = profile('bluestore-default-pacific').options, profile('lz4-2025').options


def test_larger_levels_and_compression_write_less() -> None:
    """The published LZ4 set against the default of Pacific, for metadata."""
    change = predicted_write_amplification(OLD, LZ4, RGW)
    assert change is not None
    before, after = change
    assert after.high < before.low
    prediction = prediction_of(change)
    assert -100 < prediction.low_percent <= prediction.high_percent < 0
    assert f'{after.value:.1f}' in reason_of(change).statement


def test_the_worst_and_the_best_of_both_intervals_are_the_ends() -> None:
    prediction = prediction_of((Estimate(2.0, 2.5, 4.0), Estimate(1.0, 1.5, 3.0)))
    assert (prediction.low_percent, prediction.high_percent) == (-75.0, 50.0)


@pytest.mark.parametrize(
    ('after', 'alike'),
    [
        (Estimate(2.5, 3.0, 3.5), True),
        (Estimate(1.0, 1.5, 2.0), True),
        (Estimate(1.0, 1.5, 1.9), False),
        (Estimate(3.1, 3.5, 4.0), False),
    ],
)
def test_values_whose_intervals_overlap_are_not_told_apart(after: Estimate, alike: bool) -> None:
    said = reason_of((Estimate(2.0, 2.5, 3.0), after)).statement
    assert ('too close' in said) == alike


@pytest.mark.parametrize(
    ('options_to', 'situation'),
    [
        (LZ4, replace(RGW, load=Load(data_bytes=30.0 * (1 << 30)))),
        ('compaction_style=kCompactionStyleUniversal', RGW),
        ('write_buffer_size=abc', RGW),
        (LZ4, replace(RGW, load=Load(workload='omap-heavy'))),
    ],
    ids=['workload not measured', 'no levels', 'refused', 'database of unknown size'],
)
def test_where_there_is_no_model_nothing_is_predicted(
    options_to: str, situation: Situation
) -> None:
    assert predicted_write_amplification(OLD, options_to, situation) is None


def test_what_the_model_predicts_is_said_in_one_sentence() -> None:
    before, after = Estimate(2.0, 2.5, 4.0), Estimate(1.0, 1.5, 1.9)
    said = reason_of((before, after))
    assert said.statement == (
        'The model predicts a write amplification of RocksDB of 1.5 (1.0 to 1.9) instead of '
        '2.5 (2.0 to 4.0).'
    )
    assert said.source == 'model'
    alike = reason_of((before, Estimate(1.0, 1.5, 2.0))).statement
    assert alike.endswith('2.5 (2.0 to 4.0): too close for it to tell apart.')
    above = reason_of((before, Estimate(4.0, 4.5, 5.0))).statement
    assert above.endswith(': too close for it to tell apart.')
    assert reason_of((before, Estimate(4.1, 4.5, 5.0))).statement.endswith('4.0).')
    prediction = prediction_of((before, after))
    assert prediction.metric == 'write amplification of RocksDB'
    assert '80 % of the comparisons with real OSDs' in prediction.basis


def test_what_is_written_now_and_a_little_more_data_change_nothing() -> None:
    base = predicted_write_amplification(OLD, LZ4, RGW)
    assert base is not None
    data_bytes = RGW.load.data_bytes
    assert data_bytes is not None
    busy = replace(RGW.load, wal_bytes_per_s=5e7, data_bytes=data_bytes * 1.0004)
    assert predicted_write_amplification(OLD, LZ4, replace(RGW, load=busy)) is base
    more = replace(RGW.load, data_bytes=data_bytes * 20)
    assert predicted_write_amplification(OLD, LZ4, replace(RGW, load=more)) != base
    for refused in ('write_buffer_size=abc', 'compaction_style=kCompactionStyleUniversal'):
        assert predicted_write_amplification(refused, LZ4, RGW) is None
