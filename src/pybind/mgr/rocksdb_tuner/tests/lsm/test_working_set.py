"""The number of written objects is estimated from their writes, with the precision that allows."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.lsm.model import Measured, TreeInputs, amplification_of, model, working_set
from rocksdb_tuner.lsm.records import Estimate, Load
from rocksdb_tuner.options.syntax import columns, parse

from .samples import GIB, PACIFIC_CFS

DAY_S = 86400.0
#: 10 GiB of metadata: room for more than half a million objects of 4 MiB.
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


def objects(written: float, inputs: TreeInputs = INPUTS) -> Estimate:
    found = working_set(inputs, Measured(written, DAY_S))
    assert found is not None
    assert found.objects is not None
    assert found.written_ratio == 1
    return found.objects


@pytest.mark.parametrize('number', [2e4, 5e4, 1e5, 3e5])
def test_estimate_follows_from_the_written_bytes(number: float) -> None:
    found = objects(amplification(number) * 0.95)
    assert found.low <= number * 1.1
    assert found.high >= number / 1.1
    assert number / 2 <= found.value <= number * 2


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


@pytest.mark.parametrize(
    ('window_s', 'load'),
    [
        (60.0, INPUTS.load),
        (DAY_S, Load()),
        (DAY_S, Load(workload='rbd-randwrite', wal_bytes_per_s=2e7)),
        (DAY_S, replace(INPUTS.load, wal_bytes_per_s=None)),
    ],
    ids=['few compactions', 'no workload', 'no size', 'no rate'],
)
def test_missing_input_gives_no_estimate(window_s: float, load: Load) -> None:
    assert working_set(replace(INPUTS, load=load), Measured(2.0, window_s)) is None


@pytest.mark.parametrize(
    ('workload', 'written', 'expected'),
    [
        # New keys: the writes do not depend on a number of objects.
        ('omap-heavy', 1.35, 1.35),
        # Fewer than any number of objects.
        ('rbd-randwrite', 1.02, 1.02),
        # More than any: a reshard, a requested compaction.
        ('rbd-randwrite', 20.0, None),
    ],
)
def test_model_writes_as_measured_where_no_number_explains_it(
    workload: str, written: float, expected: Optional[float]
) -> None:
    """Else it predicts 4.8 instead of 6.1 for an OSD that wrote 1.35."""
    inputs = replace(INPUTS, load=replace(INPUTS.load, workload=workload))
    found = working_set(inputs, Measured(written, DAY_S))
    assert found is not None
    assert found.objects is None
    load = replace(inputs.load, written_ratio=found.written_ratio)
    write = amplification_of(replace(inputs, load=load)).write
    assert write is not None
    if expected is None:
        assert write == amplification_of(inputs).write
    else:
        assert write.low <= expected <= write.high


@given(st.floats(1.0, 30.0))
def test_an_estimate_lies_within_what_is_possible(written: float) -> None:
    found = working_set(INPUTS, Measured(written, DAY_S))
    if found is not None and found.objects is not None:
        assert 10 <= found.objects.low <= found.objects.value <= found.objects.high < 1e6


@given(st.floats(1, 1e6), st.floats(1, 100))
def test_more_objects_are_written_no_less_for(number: float, factor: float) -> None:
    """So a measured amplification gives one number, or a range, and not several."""
    assert amplification(number) <= amplification(number * factor) * 1.001


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
    assert found.objects is not None
    again = replace(load, objects=found.objects.value, log_entries=found.log_entries)
    assert amplification(found.objects.value, replace(young, load=again)) == pytest.approx(
        written, rel=0.1
    )
