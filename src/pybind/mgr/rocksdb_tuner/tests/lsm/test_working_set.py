"""The number of written objects is estimated from their writes, with the precision that allows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.lsm.levels import columns
from rocksdb_tuner.lsm.model import (
    Measured,
    TreeInputs,
    amplification_of,
    model,
    most_objects,
    working_set,
)
from rocksdb_tuner.lsm.records import Load, TreeModel
from rocksdb_tuner.options.syntax import parse

from .samples import GIB, PACIFIC_CFS

DAY_S = 86400.0
#: 10 GiB of metadata: room for more than a million objects of 4 MiB.
INPUTS = TreeInputs(
    parse(profile('bluestore-default-pacific').options),
    '6.8',
    columns(PACIFIC_CFS),
    load=Load(workload='rbd-randwrite', wal_bytes_per_s=20e6, data_bytes=10.0 * GIB),
)


def amplification(objects: float, inputs: TreeInputs = INPUTS) -> float:
    write = model(replace(inputs, load=replace(inputs.load, objects=objects))).amplification.write
    assert write is not None
    return write.value


@pytest.mark.parametrize('objects', [2e4, 5e4, 1e5, 3e5])
def test_estimate_follows_from_the_written_bytes(objects: float) -> None:
    """The median is the true number within a factor of 2, where the prior spans four orders."""
    seen = Measured(amplification(objects) * 0.95, DAY_S)
    found = working_set(INPUTS, seen)
    assert found is not None
    assert found.fitted is not None
    assert found.prior.high / found.prior.low > 1e3
    assert found.fitted.low <= objects * 1.1
    assert found.fitted.high >= objects / 1.1
    assert objects / 2 <= found.fitted.value <= objects * 2
    assert found.fitted.high / found.fitted.low < found.prior.high / found.prior.low


def test_few_objects_are_estimated_within_the_spread_of_their_writes() -> None:
    """Ten objects and a thousand make an OSD write the same: any of them may be it."""
    found = working_set(INPUTS, Measured(amplification(10) * 0.95, DAY_S))
    assert found is not None
    assert found.fitted is not None
    assert found.fitted.low < 100
    assert found.fitted.high > 500


def test_whole_model_is_evaluated_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dozens of numbers are tried, and of each only the amplification counts."""
    asked: list[TreeInputs] = []

    def counted(inputs: TreeInputs) -> TreeModel:
        asked.append(inputs)
        return model(inputs)

    monkeypatch.setattr('rocksdb_tuner.lsm.model.model', counted)
    found = working_set(INPUTS, Measured(amplification(4e4) * 0.951, DAY_S))
    assert found is not None
    assert found.fitted is not None
    assert asked == [INPUTS]


@pytest.mark.parametrize(
    'load',
    [
        INPUTS.load,
        Load(workload='rbd-randwrite'),
        Load(workload='omap-heavy', data_bytes=3.0 * GIB),
        Load(),
    ],
)
def test_amplification_equals_that_of_the_whole_model(load: Load) -> None:
    """To the last digit, also where the workload or the size of the database is not known."""
    inputs = replace(INPUTS, load=load)
    assert amplification_of(inputs) == model(inputs).amplification


def test_estimate_is_limited_by_the_size_of_the_database() -> None:
    most = most_objects(INPUTS)
    assert most is not None
    assert 5e5 < most < 1e6
    found = working_set(INPUTS, Measured(amplification(most), DAY_S))
    assert found is not None
    assert found.fitted is not None
    # With a log that is still short there is room for some more.
    assert found.fitted.high <= most * 1.01


@pytest.mark.parametrize('window_s', [0.0, 60.0, 300.0])
def test_window_of_few_compactions_gives_no_estimate(window_s: float) -> None:
    found = working_set(INPUTS, Measured(amplification(3e4), window_s))
    assert found is not None
    assert found.fitted is None


@pytest.mark.parametrize('write_amplification', [0.8, 20.0])
def test_writes_not_explained_by_the_model_give_no_estimate(write_amplification: float) -> None:
    """Other writes: a reshard, a requested compaction."""
    found = working_set(INPUTS, Measured(write_amplification, DAY_S))
    assert found is not None
    assert found.fitted is None


@pytest.mark.parametrize(
    'load',
    [
        Load(),
        Load(workload='rbd-randwrite'),
        Load(workload='omap-heavy', data_bytes=10.0 * GIB),
        Load(workload='rbd-randwrite', data_bytes=1000.0),
    ],
    ids=['no workload', 'no size', 'grows with every write', 'hardly any data'],
)
def test_missing_input_gives_no_estimate(load: Load) -> None:
    assert working_set(replace(INPUTS, load=load), Measured(2.0, DAY_S)) is None


@given(st.floats(1.0, 30.0), st.floats(0, 1e6))
def test_an_estimate_lies_within_what_was_possible(
    write_amplification: float, window_s: float
) -> None:
    found = working_set(INPUTS, Measured(write_amplification, window_s))
    assert found is not None
    for estimate in (found.prior, found.fitted):
        if estimate is not None:
            assert 10 <= estimate.low <= estimate.value <= estimate.high


@given(st.floats(1, 1e6), st.floats(1, 100))
def test_more_objects_are_written_no_less_for(objects: float, factor: float) -> None:
    """So a measured amplification gives one number, or a range, and not several."""
    assert amplification(objects) <= amplification(objects * factor) * 1.001


def test_young_osd_with_a_short_log_is_explained() -> None:
    """4,000 objects, a log of a tenth, memtables of 512 KiB: the model then gives what it wrote."""
    options = (
        'compression=kNoCompression,max_write_buffer_number=16,write_buffer_size=512K,'
        'max_bytes_for_level_base=4M,max_bytes_for_level_multiplier=8,max_total_wal_size=8M'
    )
    load = Load(workload='rbd-randwrite', wal_bytes_per_s=3e6, data_bytes=1e8)
    young = replace(INPUTS, options=parse(options), load=load)
    written = amplification(4000, replace(young, load=replace(load, log_entries=30_000)))
    found = working_set(young, Measured(written * 0.95, 600.0))
    assert found is not None
    assert found.fitted is not None
    assert found.log_entries is not None
    again = replace(load, objects=found.fitted.value, log_entries=found.log_entries)
    write = model(replace(young, load=again)).amplification.write
    assert write is not None
    assert write.value == pytest.approx(written, rel=0.1)


def test_trimmed_log_is_modeled_as_is() -> None:
    cut = replace(INPUTS, load=replace(INPUTS.load, log_entries=1000.0))
    found = working_set(cut, Measured(amplification(1e5, cut) * 0.95, DAY_S))
    assert found is not None
    assert found.fitted is not None
    assert found.log_entries == 1000
    assert found.fitted.low <= 1.1e5
    assert found.fitted.high >= 0.9e5
