"""The CPU cost of RocksDB follows from its work, and is close to the published values."""

from __future__ import annotations

from functools import lru_cache

import pytest

from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.lsm.calibration import calibration
from rocksdb_tuner.lsm.cpu import cpu_change
from rocksdb_tuner.lsm.records import CpuModel, Estimate, Load, TreeModel

from .samples import GIB, PACIFIC_CFS, tree_of

DEFAULT = profile('bluestore-default-pacific').options
LZ4 = f'{DEFAULT},compression=kLZ4Compression'
WORKLOADS = tuple(calibration().workloads)
COSTS = calibration().cpu.costs


@lru_cache(maxsize=32)
def tree(
    options: str, workload: str = 'rbd-randwrite', data_bytes: float = 30.0 * GIB
) -> TreeModel:
    load = Load(workload=workload, data_bytes=data_bytes)
    return tree_of(options, '7.9', PACIFIC_CFS, load=load)


def cpu_of(found: TreeModel) -> CpuModel:
    assert found.cpu is not None
    return found.cpu


def change(before: TreeModel, after: TreeModel) -> Estimate:
    found = cpu_change(before, after)
    assert found is not None
    return found


@pytest.mark.parametrize('workload', WORKLOADS)
@pytest.mark.parametrize('options', [DEFAULT, LZ4])
def test_parts_are_the_whole_and_the_interval_holds_it(options: str, workload: str) -> None:
    found = cpu_of(tree(options, workload))
    parts = (
        found.kv_sync_us_per_wal_kib
        + found.flushes_us_per_wal_kib
        + found.compactions_us_per_wal_kib
        + found.compression_us_per_wal_kib
    )
    total = found.us_per_wal_kib
    assert total.value == pytest.approx(parts)
    assert 0 < total.low <= total.value <= total.high
    assert found.us_per_write.value / total.value == pytest.approx(
        found.us_per_write.high / total.high
    )
    assert (found.compression_us_per_wal_kib > 0) is (options == LZ4)


def test_there_and_back_again_is_no_change() -> None:
    there, back = change(tree(DEFAULT), tree(LZ4)), change(tree(LZ4), tree(DEFAULT))
    assert there.value * back.value == pytest.approx(1)
    assert 0 < there.low <= there.value <= there.high
    assert change(tree(LZ4), tree(LZ4)) == Estimate(1.0, 1.0, 1.0)


# -- what follows from a tree


def test_small_memtables_take_less_of_the_thread_and_more_of_flushes() -> None:
    """Each part goes its own way; the guard of a change is their sum."""
    small = f'{DEFAULT},max_write_buffer_number=64,write_buffer_size=16M'
    before, after = (
        cpu_of(tree(DEFAULT, data_bytes=2.0 * GIB)),
        cpu_of(tree(small, data_bytes=2.0 * GIB)),
    )
    assert after.kv_sync_us_per_wal_kib < 0.9 * before.kv_sync_us_per_wal_kib
    assert after.flushes_us_per_wal_kib > before.flushes_us_per_wal_kib
    assert after.compactions_us_per_wal_kib > before.compactions_us_per_wal_kib


def test_unknown_input_gives_none() -> None:
    """No workload, a compression that was not measured, two workloads: never a number."""
    known = tree(DEFAULT)
    for unknown in (tree_of(DEFAULT), tree(f'{DEFAULT},compression=kZlibCompression')):
        assert unknown.cpu is None
        assert cpu_change(known, unknown) is None
        assert cpu_change(unknown, known) is None
    assert cpu_change(known, tree(DEFAULT, 'omap-heavy')) is None


# -- what was published


@pytest.mark.parametrize('workload', WORKLOADS)
@pytest.mark.parametrize(
    ('name', 'compress', 'decompress'),
    [('kLZ4Compression', 780, 4970), ('kSnappyCompression', 565, 1950)],
)
def test_compression_cost_matches_the_published_benchmarks(
    workload: str, name: str, compress: float, decompress: float
) -> None:
    """MB/s on one core, lz4's README (v1.9, Silesia corpus). Smaller files spare a part of it."""
    cost = COSTS[workload].compression[name]
    assert cost.compressed.value < 2 * 1000 / compress
    assert cost.decompressed.value < 2 * 1000 / decompress


@pytest.mark.parametrize('name', ['alternate-2019', 'variant-2022-d'])
def test_sets_with_more_published_iops_take_no_more_cpu(name: str) -> None:
    """M. Nelson, 2022: +9.4 and +19.9% IOPS on the same cores."""
    for data_gib in (1, 30):
        data_bytes = float(data_gib) * GIB
        found = change(
            tree(DEFAULT, data_bytes=data_bytes),
            tree(profile(name).options, data_bytes=data_bytes),
        )
        assert found.value < 1


def test_sets_are_close_to_each_other_on_two_cores() -> None:
    """M. Nelson, 2022, Effects of Limiting CPU: puts of RGW are "fairly even" on 2 cores.

    RocksDB is a part of the OSD, so a difference of a quarter in it is far less of the whole.
    """
    before = tree(DEFAULT, 'omap-heavy', 10.0 * GIB)
    for name in ('alternate-2019', 'variant-2022-d'):
        found = change(before, tree(profile(name).options, 'omap-heavy', 10.0 * GIB))
        assert found.high > 0.75
        assert found.low < 1.33


def test_lz4_of_a_bucket_index_costs_an_insignificant_part_of_the_whole() -> None:
    """2025: LZ4 had no measurable effect on the CPU of OSDs, and 2.68 times less to store.

    The same keys before and after, so the database that is compressed is as much smaller.
    """
    options = profile('lz4-2025').options
    plain = options.replace('kLZ4Compression', 'kNoCompression')
    found = change(
        tree(plain, 'omap-heavy', 2.68 * 20 * GIB), tree(options, 'omap-heavy', 20.0 * GIB)
    )
    assert 1 < found.value < 1.4
