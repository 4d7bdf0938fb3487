"""The model grows where RocksDB's tree grows, and never gives impossible values."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.lsm.calibration import calibration
from rocksdb_tuner.lsm.levels import NotModeledError
from rocksdb_tuner.lsm.model import TreeInputs, model
from rocksdb_tuner.lsm.records import Devices, Load, TreeModel, VolumeSelection
from rocksdb_tuner.options.syntax import OptionSet, columns, parse

from .samples import GIB, MIB, PACIFIC_CFS, REEF_CFS

SIZES = st.integers(1 << 16, 1 << 36)
DEVICE_SIZES = st.integers(1, 1 << 44)
WORKLOADS = st.sampled_from([None, 'rbd-randwrite', 'omap-heavy'])
VERSIONS = st.sampled_from(['6.8', '6.15', '7.9'])


@st.composite
def option_sets(draw: st.DrawFn) -> dict[str, str]:
    numbers = {
        'write_buffer_size': draw(SIZES),
        'max_write_buffer_number': draw(st.integers(2, 256)),
        'min_write_buffer_number_to_merge': draw(st.integers(1, 64)),
        'level0_file_num_compaction_trigger': draw(st.integers(1, 64)),
        'max_bytes_for_level_base': draw(st.integers(1, 1 << 40)),
        'max_bytes_for_level_multiplier': draw(st.integers(1, 20)),
        'max_total_wal_size': draw(st.one_of(st.just(0), SIZES)),
        'max_background_jobs': draw(st.integers(1, 32)),
        'num_levels': draw(st.integers(2, 12)),
    }
    compression = draw(st.sampled_from(['kNoCompression', 'kLZ4Compression']))
    return {name: str(n) for name, n in numbers.items()} | {'compression': compression}


@st.composite
def all_inputs(draw: st.DrawFn) -> TreeInputs:
    return TreeInputs(
        options=OptionSet(tuple(draw(option_sets()).items())),
        rocksdb_version=draw(VERSIONS),
        columns=columns(draw(st.sampled_from(['', PACIFIC_CFS, REEF_CFS]))),
        devices=Devices(
            dedicated_db=draw(st.sampled_from([None, False, True])),
            dedicated_wal=draw(st.sampled_from([None, False, True])),
            db_bytes=draw(st.one_of(st.none(), st.integers(1, 1 << 44))),
            wal_bytes=draw(st.one_of(st.none(), st.integers(1, 1 << 44))),
        ),
        selection=VolumeSelection(
            policy=draw(st.sampled_from(['use_some_extra', 'rocksdb_original', 'fit_to_fast'])),
            reserved_factor=draw(st.floats(1, 4)),
            reserved_bytes=draw(st.one_of(st.just(0), st.integers(0, 1 << 44))),
        ),
        load=Load(
            workload=draw(WORKLOADS),
            wal_bytes_per_s=draw(st.one_of(st.none(), st.floats(1, 1e9))),
            bytes_per_key=draw(st.one_of(st.none(), st.floats(1, 1e6))),
            data_bytes=draw(st.one_of(st.none(), st.floats(1, 1e13))),
        ),
        memory_target_bytes=draw(st.one_of(st.none(), st.integers(1 << 29, 1 << 37))),
    )


def changed(inputs: TreeInputs, name: str, factor: float) -> TreeInputs:
    """The same with one option (that is a number) larger."""
    before = inputs.options.get(name)
    assert before is not None
    return replace(
        inputs, options=inputs.options.replaced({name: str(math.ceil(int(before) * factor))})
    )


def numbers_of(value: object) -> list[float]:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return []
    if isinstance(value, (int, float)):
        return [float(value)]
    if isinstance(value, tuple):
        return [n for item in value for n in numbers_of(item)]
    return [n for item in vars(value).values() for n in numbers_of(item)]


@given(all_inputs())
def test_no_number_is_negative_infinite_or_nan(inputs: TreeInputs) -> None:
    assert all(math.isfinite(n) and n >= 0 for n in numbers_of(model(inputs)))


@given(all_inputs())
def test_every_interval_contains_its_value(inputs: TreeInputs) -> None:
    tree = model(inputs)
    estimates = [tree.wal.device_bytes, tree.memtables.bounded_bytes]
    estimates += [c.full_flush_bytes for c in tree.column_families]
    optional = [tree.amplification.write, tree.amplification.space]
    optional += [c.expected_flush_bytes for c in tree.column_families]
    for estimate in [*estimates, *(e for e in optional if e is not None)]:
        assert estimate.low <= estimate.value <= estimate.high
    # Nothing is written or kept less than once.
    assert all(e is None or e.low >= 1 for e in optional[:2])


@given(all_inputs())
def test_unknown_inputs_give_none_and_known_ones_do_not(inputs: TreeInputs) -> None:
    tree = model(inputs)
    workload_known = inputs.load.workload is not None
    assert (tree.amplification.write is not None) == workload_known
    assert (tree.wal.fill_s is not None) == (inputs.load.wal_bytes_per_s is not None)
    known_target = inputs.memory_target_bytes is not None
    assert (tree.memtables.share_of_memory_target is not None) == known_target
    device_known = bool(inputs.devices.dedicated_db) and inputs.devices.db_bytes is not None
    assert (tree.db_device is not None) == device_known
    assert all((level.on_db_device is not None) == device_known for level in tree.levels.levels)
    for column in tree.column_families:
        assert (column.share is not None) == workload_known


def with_db(inputs: TreeInputs, size_bytes: int) -> TreeInputs:
    devices = replace(inputs.devices, dedicated_db=True, db_bytes=size_bytes)
    return replace(inputs, devices=devices)


@given(all_inputs(), DEVICE_SIZES)
def test_the_parts_of_a_db_device_are_all_of_it(inputs: TreeInputs, size_bytes: int) -> None:
    device = model(with_db(inputs, size_bytes)).db_device
    assert device is not None
    parts = device.levels_bytes + device.extra_bytes + device.unused_bytes
    assert parts == device.usable_bytes <= device.total_bytes


@pytest.mark.parametrize(
    'name', ['write_buffer_size', 'max_write_buffer_number', 'min_write_buffer_number_to_merge']
)
@given(inputs=all_inputs(), factor=st.floats(1, 16))
def test_memtables_grow_with_their_options(name: str, inputs: TreeInputs, factor: float) -> None:
    small, large = model(inputs), model(changed(inputs, name, factor))
    assert large.memtables.ceiling_bytes >= small.memtables.ceiling_bytes
    assert large.wal.limit_bytes >= small.wal.limit_bytes
    assert large.levels.level0_bytes >= small.levels.level0_bytes


@pytest.mark.parametrize('name', ['max_bytes_for_level_base', 'max_bytes_for_level_multiplier'])
@given(inputs=all_inputs(), factor=st.floats(1, 16))
def test_level_targets_grow_with_base_and_multiplier(
    name: str, inputs: TreeInputs, factor: float
) -> None:
    small, large = model(inputs).levels.levels, model(changed(inputs, name, factor)).levels.levels
    # From where a level would not fit into a number, RocksDB leaves it as the one above it.
    for number, (before, after) in enumerate(zip(small, large)):
        if number and after.target_bytes == large[number - 1].target_bytes:
            break
        assert after.target_bytes >= before.target_bytes
        assert after.cumulative_bytes >= before.cumulative_bytes


@given(all_inputs(), DEVICE_SIZES, DEVICE_SIZES)
def test_a_larger_db_device_holds_no_fewer_levels(
    inputs: TreeInputs, one_bytes: int, other_bytes: int
) -> None:
    sizes = sorted((one_bytes, other_bytes))
    small, large = (model(with_db(inputs, size)).levels.levels for size in sizes)
    assert sum(bool(level.on_db_device) for level in small) <= sum(
        bool(level.on_db_device) for level in large
    )


@given(all_inputs(), st.floats(1, 16))
def test_a_larger_limit_of_the_wal_makes_no_flush_smaller(
    inputs: TreeInputs, factor: float
) -> None:
    size = inputs.options.get('max_total_wal_size')
    limited = inputs.options.replaced({'max_total_wal_size': '1048576' if size == '0' else size})
    inputs = replace(inputs, options=limited)
    small = model(inputs)
    large = model(changed(inputs, 'max_total_wal_size', factor))
    assert large.wal.limit_bytes >= small.wal.limit_bytes
    for before, after in zip(small.column_families, large.column_families):
        if before.expected_flush_bytes is not None and after.expected_flush_bytes is not None:
            assert after.expected_flush_bytes.value >= before.expected_flush_bytes.value * 0.999


@given(
    st.sampled_from(['rbd-randwrite', 'omap-heavy']),
    st.floats(1e8, 1e12),
    st.floats(1, 100),
    option_sets(),
)
def test_a_larger_database_is_written_no_less_often(
    workload: str, data_bytes: float, factor: float, options: dict[str, str]
) -> None:
    inputs = TreeInputs(
        OptionSet(tuple(options.items())),
        '7.9',
        columns(PACIFIC_CFS),
        load=Load(workload=workload, data_bytes=data_bytes),
    )
    more = replace(inputs, load=replace(inputs.load, data_bytes=data_bytes * factor))
    assert _written(model(inputs)) <= _written(model(more)) * 1.001


def _written(tree: TreeModel) -> float:
    write = tree.amplification.write
    assert write is not None
    return write.value


@given(st.sampled_from(['rbd-randwrite', 'omap-heavy']), st.integers(1, 15))
def test_compression_writes_no_more(workload: str, merge: int) -> None:
    def written(compression: str) -> float:
        options = {
            'compression': compression,
            'write_buffer_size': '16M',
            'max_write_buffer_number': '64',
            'min_write_buffer_number_to_merge': str(merge),
        }
        load = Load(workload=workload, data_bytes=20.0 * GIB)
        inputs = TreeInputs(
            OptionSet(tuple(options.items())), '7.9', columns(PACIFIC_CFS), load=load
        )
        return _written(model(inputs))

    assert written('kLZ4Compression') <= written('kNoCompression')


@given(st.integers(1 << 20, 1 << 33), st.sampled_from(['6.8', '7.9']))
def test_a_full_memtable_is_near_its_size(size: int, version: str) -> None:
    """0.6 of an arena block above at most, and not more than a block and a quarter below."""
    options = OptionSet((('write_buffer_size', str(size)),))
    tree = model(TreeInputs(options, version, columns('')))
    column = tree.column_families[0]
    assert 0.8 * size <= column.full_flush_bytes.value <= 1.08 * size


@pytest.mark.parametrize(
    ('text', 'why'),
    [
        ('max_bytes_for_level_multiplier=nan', 'no level has a size'),
        ('max_bytes_for_level_multiplier=inf', 'no level has a size'),
        ('compaction_style=kCompactionStyleUniversal', 'kCompactionStyleLevel is modeled'),
    ],
)
def test_what_has_no_levels_is_not_modeled(text: str, why: str) -> None:
    with pytest.raises(NotModeledError, match=why):
        model(TreeInputs(parse(text), '7.9', columns('')))


def test_wal_file_holds_a_memtable_of_a_single_family() -> None:
    options = OptionSet((('write_buffer_size', str(64 * MIB)), ('max_write_buffer_number', '4')))
    wal = model(TreeInputs(options, '7.9', columns(''))).wal
    assert wal.device_bytes.value == pytest.approx(4 * 64 * MIB * 1.1 + wal.file_bytes, rel=0.01)


HUGE = ('1e308', '0x1p1023', '-1e308', 'inf', '-inf', 'nan', '5e-324', '1e-308', '0', '-1', '1e19')
LARGEST = ('0', '1', '-1', '18446744073709551615', '16777215T', '9223372036854775807', '2147483647')


@given(
    multiplier=st.sampled_from(HUGE),
    sizes=st.dictionaries(
        st.sampled_from(
            [
                'write_buffer_size',
                'max_bytes_for_level_base',
                'arena_block_size',
                'max_total_wal_size',
                'db_write_buffer_size',
                'soft_pending_compaction_bytes_limit',
                'hard_pending_compaction_bytes_limit',
                'target_file_size_base',
            ]
        ),
        st.sampled_from(LARGEST),
        max_size=4,
    ),
    device_bytes=st.sampled_from([None, 1, 60 << 30, 1 << 60]),
    factor=st.sampled_from([0.0, 2.0, 1e6]),
    workload=st.sampled_from([None, *calibration().workloads]),
)
def test_no_number_that_rocksdb_takes_is_too_large_for_the_model(
    multiplier: str,
    sizes: dict[str, str],
    device_bytes: Optional[int],
    factor: float,
    workload: Optional[str],
) -> None:
    """A multiplier of 1e308 raised OverflowError in the space that higher levels may use."""
    options = {**sizes, 'max_bytes_for_level_multiplier': multiplier}
    text = ','.join(f'{name}={value}' for name, value in options.items())
    inputs = TreeInputs(
        options=parse(text),
        rocksdb_version='7.9',
        columns=columns('m(3) p(3,0-12) O(3,0-13) L P'),
        devices=Devices(dedicated_db=True, db_bytes=device_bytes),
        selection=VolumeSelection(reserved_factor=factor),
        load=Load(workload=workload, data_bytes=1e18, wal_bytes_per_s=1e12),
    )
    try:
        found = model(inputs)
    except NotModeledError:
        found = None
    if found is None:
        assert multiplier in {'inf', 'nan'}
        return
    assert all(math.isfinite(number) and number >= 0 for number in numbers_of(found))
