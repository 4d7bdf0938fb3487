"""The predicted effect of a change on write amplification, and none if it is unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.advise import effect
from rocksdb_tuner.advise.effect import (
    Change,
    predicted_write_amplification,
    prediction_of,
    reason_of,
)
from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.advise.whatif.situation import Situation
from rocksdb_tuner.advise.whatif.tree import packed
from rocksdb_tuner.lsm.calibration import calibration
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
    assert change.is_better
    after = change.after
    prediction = prediction_of(change)
    assert -100 < prediction.low_percent <= prediction.high_percent < 0
    assert f'{after.value:.1f}' in reason_of(change).statement


def change_of(before: Estimate, after: Estimate, *, off: float = 0.1) -> Change:
    ratio = after.value / before.value
    return Change(before, after, Estimate(ratio * (1 - off), ratio, ratio * (1 + off)))


def test_predicted_interval_is_the_interval_of_the_change() -> None:
    """Not the worst of one against the best of the other: what is wrong of both falls out."""
    prediction = prediction_of(
        change_of(Estimate(2.0, 2.5, 4.0), Estimate(1.0, 1.5, 3.0), off=0.25)
    )
    assert prediction.low_percent == pytest.approx(-55)
    assert prediction.high_percent == pytest.approx(-25)


@pytest.mark.parametrize(
    ('after', 'better', 'worse'),
    [(2.0, True, False), (2.25, True, False), (2.3, False, False), (2.5, False, False),
     (2.75, False, False), (2.8, False, True)],
)  # fmt: skip
def test_change_within_its_interval_is_none(after: float, better: bool, worse: bool) -> None:
    change = change_of(Estimate(2.0, 2.5, 3.0), Estimate(after * 0.9, after, after * 1.1))
    assert (change.is_better, change.is_worse) == (better, worse)
    assert ('too close' in reason_of(change).statement) == (not better and not worse)


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
def test_nothing_is_predicted_without_a_model(options_to: str, situation: Situation) -> None:
    assert predicted_write_amplification(OLD, options_to, situation) is None


def test_prediction_is_one_sentence() -> None:
    before = Estimate(2.0, 2.5, 4.0)
    message = reason_of(change_of(before, Estimate(1.0, 1.5, 1.9)))
    assert message.statement == (
        'The model predicts a write amplification of RocksDB of 1.5 (1.0 to 1.9) instead of '
        '2.5 (2.0 to 4.0).'
    )
    assert message.source == 'model'
    alike = reason_of(change_of(before, Estimate(2.0, 2.4, 2.5))).statement
    assert alike.endswith('2.5 (2.0 to 4.0): too close for it to tell apart.')
    prediction = prediction_of(change_of(before, Estimate(1.0, 1.5, 1.9)))
    assert prediction.metric == 'write amplification of RocksDB'
    assert '80% of the comparisons with real OSDs' in prediction.basis


@pytest.mark.parametrize('from_one', [True, False])
def test_interval_that_just_reaches_zero_is_no_change(from_one: bool) -> None:
    same = Estimate(2.0, 2.0, 2.0)
    ratio = Estimate(1.0, 1.1, 1.2) if from_one else Estimate(0.8, 0.9, 1.0)
    change = Change(same, same, ratio)
    assert (change.is_better, change.is_worse) == (False, False)


@pytest.mark.parametrize(
    ('held', 'least', 'most'),
    [
        (None, 0.7, 0.7),
        (Estimate(10.0, 20.0, 30.0), 0.5, 0.9),
        # More objects are not more change in each case.
        (Estimate(30.0, 20.0, 10.0), 0.5, 0.9),
    ],
)
def test_interval_covers_the_smallest_and_largest_number_of_objects(
    monkeypatch: pytest.MonkeyPatch, held: Optional[Estimate], least: float, most: float
) -> None:
    by_objects = {None: 1.4, 10.0: 1.0, 30.0: 1.8}

    def written(options: str, situation: Situation) -> Estimate:
        value = 2.0 if options == OLD else by_objects[situation.load.objects]
        return Estimate(value, value, value)

    monkeypatch.setattr(effect, '_written', written)
    change = effect._remembered.__wrapped__(OLD, LZ4, replace(RGW, objects=held))
    assert change is not None
    around = calibration().quantities['write_amplification_change'].around
    assert (change.ratio.low, change.ratio.high) == (around(least).low, around(most).high)
    assert change.ratio.value == pytest.approx(0.7)
    assert (change.before.value, change.after.value) == (2.0, 1.4)


def test_interval_is_valid_in_both_directions() -> None:
    """From one set to another, and back: an improvement reversed is a worsening.

    The data is compressed for the reverse change.
    """
    there = predicted_write_amplification(OLD, LZ4, RGW)
    back = predicted_write_amplification(LZ4, OLD, packed(OLD, LZ4, RGW))
    assert there is not None
    assert back is not None
    assert there.ratio.value * back.ratio.value == pytest.approx(1, rel=0.001)
    assert there.is_better
    assert back.is_worse


def test_equal_writes_and_slightly_more_data_are_no_change() -> None:
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
