"""The CPU cost of RocksDB follows from its work, and is close to the published values."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.lsm.calibration import CompressionCost, CpuCosts, calibration
from rocksdb_tuner.lsm.cpu import cpu, cpu_change, cpu_parts_ns
from rocksdb_tuner.lsm.records import (
    CompressionWork,
    CpuModel,
    CpuWork,
    Estimate,
    Load,
    TreeModel,
)

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


def of_work(work: CpuWork) -> CpuModel:
    """The same thread and memtables, with other flushes and compactions."""
    known = calibration()
    found = cpu(work, tree(DEFAULT).column_families, known.workloads[work.workload], known)
    assert found is not None
    return found


def with_work(found: TreeModel, work: CpuWork) -> TreeModel:
    return replace(found, cpu=of_work(work))


AMOUNTS = st.floats(0, 1000)
AMOUNT_NAMES = ('flush_written', 'compaction_read', 'compaction_written')


@st.composite
def works(draw: st.DrawFn, *, compressed: bool = False) -> CpuWork:
    flushed, read, written = draw(AMOUNTS), draw(AMOUNTS), draw(AMOUNTS)
    compression = CompressionWork('kLZ4Compression', flushed + written, read)
    return CpuWork(
        draw(st.sampled_from(WORKLOADS)),
        flushed,
        read,
        written,
        (compression,) if compressed else (),
    )


# -- what must hold of any work


@given(works(), st.sampled_from(AMOUNT_NAMES), AMOUNTS, st.sampled_from(['low', 'value', 'high']))
def test_more_work_never_costs_less(work: CpuWork, name: str, more: float, end: str) -> None:
    """Neither with the costs that are expected nor with the ends of their intervals."""
    costs = {
        'kv_sync': COSTS[work.workload].kv_sync,
        'flush_taken': COSTS[work.workload].flush_taken,
        'flush_written': COSTS[work.workload].flush_written,
        'compaction_read': COSTS[work.workload].compaction_read,
        'compaction_written': COSTS[work.workload].compaction_written,
    }
    chosen = {cost: getattr(estimate, end) for cost, estimate in costs.items()}
    grown = replace(work, **{name: getattr(work, name) + more})
    before, after = (sum(cpu_parts_ns(w, chosen, 1.0)) for w in (work, grown))
    assert after >= before
    if more > 1e-3:
        assert of_work(grown).us_per_wal_kib.value > of_work(work).us_per_wal_kib.value


@given(works(compressed=True))
def test_compression_costs_more_than_none_at_equal_bytes(work: CpuWork) -> None:
    plain, packed = of_work(replace(work, compression=())), of_work(work)
    assert packed.us_per_wal_kib.value >= plain.us_per_wal_kib.value
    if work.flush_written + work.compaction_written > 1e-3:
        assert packed.us_per_wal_kib.value > plain.us_per_wal_kib.value
        assert packed.compression_us_per_wal_kib > 0


@given(works(compressed=True))
def test_parts_are_the_whole_and_the_interval_holds_it(work: CpuWork) -> None:
    found = of_work(work)
    parts = (
        found.kv_sync_us_per_wal_kib
        + found.flushes_us_per_wal_kib
        + found.compactions_us_per_wal_kib
        + found.compression_us_per_wal_kib
    )
    assert found.us_per_wal_kib.value == pytest.approx(parts)
    assert 0 < found.us_per_wal_kib.low <= found.us_per_wal_kib.value <= found.us_per_wal_kib.high
    written_bytes = calibration().workloads[work.workload].written_bytes
    assert found.us_per_write.value == pytest.approx(parts * written_bytes / 1024)


@given(works(), works(compressed=True))
def test_there_and_back_again_is_no_change(one: CpuWork, other: CpuWork) -> None:
    base = tree(DEFAULT)
    other = replace(other, workload=one.workload)
    there = change(with_work(base, one), with_work(base, other))
    back = change(with_work(base, other), with_work(base, one))
    assert there.value * back.value == pytest.approx(1)
    assert 0 < there.low <= there.value <= there.high


@given(works(compressed=True))
def test_the_same_work_is_exactly_no_change(work: CpuWork) -> None:
    base = with_work(tree(DEFAULT), work)
    assert change(base, base) == Estimate(1.0, 1.0, 1.0)


@given(works(), AMOUNTS)
def test_more_compaction_is_a_change_for_the_worse(work: CpuWork, more: float) -> None:
    base = tree(DEFAULT)
    grown = replace(work, compaction_written=work.compaction_written + more)
    assert change(with_work(base, work), with_work(base, grown)).value >= 1 - 1e-9


@given(works(compressed=True), st.floats(0.1, 10))
def test_a_processor_slower_by_a_factor_changes_no_ratio(work: CpuWork, factor: float) -> None:
    """Why a ratio is worth more than microseconds: costs are those of another machine."""
    known = calibration()

    def slower(cost: Estimate) -> Estimate:
        return Estimate(cost.low * factor, cost.value * factor, cost.high * factor)

    measured = known.cpu.costs[work.workload]
    costs = CpuCosts(
        kv_sync=slower(measured.kv_sync),
        flush_taken=slower(measured.flush_taken),
        flush_written=slower(measured.flush_written),
        compaction_read=slower(measured.compaction_read),
        compaction_written=slower(measured.compaction_written),
        compression={
            name: CompressionCost(slower(cost.compress), slower(cost.decompress))
            for name, cost in measured.compression.items()
        },
    )
    other = replace(known, cpu=replace(known.cpu, costs={work.workload: costs}))
    before = with_work(tree(DEFAULT), replace(work, compression=()))
    after = with_work(tree(DEFAULT), work)
    here, there = cpu_change(before, after, known), cpu_change(before, after, other)
    assert here is not None
    assert there is not None
    assert (there.low, there.value, there.high) == pytest.approx((here.low, here.value, here.high))


# -- what follows from a tree


def test_uncompressed_work_follows_from_amplification() -> None:
    """Bytes of the tree's own flushes and compactions."""
    for workload in WORKLOADS:
        found = tree(DEFAULT, workload)
        work = cpu_of(found).work
        assert work.flush_written == pytest.approx(found.amplification.flushes)
        assert work.compaction_written == pytest.approx(found.amplification.compactions)
        assert work.compression == ()


def test_overwritten_data_is_read_once_more_than_it_is_written() -> None:
    """A database of a steady size: compactions drop as much as flushes add."""
    work = cpu_of(tree(DEFAULT)).work
    assert work.compaction_read == pytest.approx(work.compaction_written + work.flush_written)


def test_retained_data_is_read_as_often_as_it_is_written() -> None:
    """New keys of a bucket index: only what is not kept is dropped."""
    work = cpu_of(tree(DEFAULT, 'omap-heavy')).work
    dropped = work.compaction_read - work.compaction_written
    assert 0 <= dropped < 0.1 * work.flush_written


def test_compression_is_counted_for_compressed_bytes() -> None:
    """More bytes than go to the device: as many as were packed into them."""
    found = tree(LZ4)
    work = cpu_of(found).work
    assert [c.name for c in work.compression] == ['kLZ4Compression']
    packed = (found.amplification.flushes or 0) + (found.amplification.compactions or 0)
    assert work.compression[0].compressed == pytest.approx(
        work.flush_written + work.compaction_written
    )
    assert work.compression[0].compressed > 1.05 * packed
    assert work.compression[0].decompressed == pytest.approx(work.compaction_read)


def test_column_without_own_compression_is_not_counted() -> None:
    """Options of a column come over those of the database."""
    cfs = 'm(3) p(3,0-12) O(3,0-13)=compression=kNoCompression L P'
    load = Load(workload='rbd-randwrite', data_bytes=30.0 * GIB)
    found = cpu_of(tree_of(LZ4, '7.9', cfs, load=load))
    assert found.work.compression[0].compressed < 0.5 * (
        found.work.flush_written + found.work.compaction_written
    )


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


def test_costs_match_the_requested_end_of_the_interval() -> None:
    """Low and high are other costs, not a margin: each thread's are moved together."""
    work = CpuWork('rbd-randwrite', 0.5, 2.5, 2.0, ())
    measured = COSTS[work.workload]
    costs = {
        'kv_sync': measured.kv_sync.value,
        'flush_taken': measured.flush_taken.value,
        'flush_written': measured.flush_written.value,
        'compaction_read': measured.compaction_read.high,
        'compaction_written': measured.compaction_written.high,
    }
    found = of_work(work).us_per_wal_kib
    time = tree(DEFAULT).kv_sync_time
    assert time is not None
    assert found.value < sum(cpu_parts_ns(work, costs, time.value)) * 1.024 < found.high


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
    assert cost.compress.value < 2 * 1000 / compress
    assert cost.decompress.value < 2 * 1000 / decompress


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


def test_every_cost_has_its_source_and_an_interval() -> None:
    """None is a guess without a word on where it comes from."""
    assert set(COSTS) == set(WORKLOADS)
    found = [
        cost
        for costs in COSTS.values()
        for cost in (
            costs.kv_sync,
            costs.flush_taken,
            costs.flush_written,
            costs.compaction_read,
            costs.compaction_written,
            *(c.compress for c in costs.compression.values()),
            *(c.decompress for c in costs.compression.values()),
        )
    ]
    for cost in found:
        assert 0 < cost.low <= cost.value <= cost.high
        assert math.isfinite(cost.high)
