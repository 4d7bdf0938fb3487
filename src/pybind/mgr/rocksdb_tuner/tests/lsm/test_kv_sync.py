"""What smaller memtables spare the kv_sync thread is what was published of them.

The parameters come from a profile of the thread and from inserts that were timed; the IOPS of the
publication set none of them. Where the thread limits, IOPS go as one over its time for a write.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.advise.profiles import profile
from rocksdb_tuner.lsm.calibration import calibration
from rocksdb_tuner.lsm.cpu import kv_sync_change, kv_sync_time
from rocksdb_tuner.lsm.records import Estimate, Load

from .samples import GIB, PACIFIC_CFS, tree_of

DEFAULT = profile('bluestore-default-pacific').options
SMALL = f'{DEFAULT},max_write_buffer_number=16,write_buffer_size=64M'
MERGED = f'{SMALL},min_write_buffer_number_to_merge=2'
RBD = Load(workload='rbd-randwrite', data_bytes=10.0 * GIB)
OMAP = Load(workload='omap-heavy', data_bytes=10.0 * GIB)
INSERTS = calibration().inserts_of(RBD.workload)


def change(before: str, after: str, load: Load = RBD) -> Estimate:
    found = kv_sync_change(
        tree_of(before, '6.8', PACIFIC_CFS, load=load).column_families,
        tree_of(after, '6.8', PACIFIC_CFS, load=load).column_families,
        calibration().inserts_of(load.workload, thread_waits=load.thread_waits),
    )
    assert found is not None
    return found


@pytest.mark.parametrize(
    ('options', 'iops'),
    [
        (MERGED, 574837),
        (profile('alternate-2019').options, 577384),
        (profile('variant-2022-d').options, 632513),
    ],
    ids=['16 x 64 MiB, merge 2', 'alternate', 'variant D'],
)
def test_published_iops_are_within_the_predicted_interval(options: str, iops: int) -> None:
    """M. Nelson, 2022: 527,603 IOPS with the default, and the thread its bottleneck."""
    predicted = change(DEFAULT, options)
    assert 1 / predicted.high <= iops / 527603 <= 1 / predicted.low
    assert 1 / predicted.value == pytest.approx(iops / 527603, rel=0.04)


@pytest.mark.parametrize(('mib', 'least', 'most'), [(8, 0.71, 0.82), (16, 0.73, 0.92)])
def test_measured_thread_times_are_close(mib: int, least: float, most: float) -> None:
    """CPU of bstore_kv_sync for a write against 256 MiB, OSDs of 16.2.15, four rounds."""
    predicted = change(DEFAULT, f'{DEFAULT},max_write_buffer_number=128,write_buffer_size={mib}M')
    assert predicted.low < most
    assert predicted.high > least


def test_inserts_cost_more_if_the_thread_waits_for_its_device() -> None:
    """By 16% and 18%: OSDs of 16.2.15 whose rounds took 10 ms, 23 against 2 MiB."""
    before, after = (
        f'{DEFAULT},max_write_buffer_number=64,write_buffer_size={kib}K' for kib in (23 << 10, 2048)
    )
    waiting = change(before, after, replace(RBD, thread_waits=True))
    assert all(waiting.low < measured < waiting.high for measured in (0.822, 0.845))
    assert waiting.value < change(before, after).value
    # Nothing else was measured.
    assert change(before, after, replace(OMAP, thread_waits=True)) == change(before, after, OMAP)


@pytest.mark.parametrize(
    ('before_kib', 'after_kib', 'measured'),
    [
        (16 << 10, 2 << 10, (0.82, 0.83, 0.85, 0.81)),
        (4 << 10, 512, (0.9, 0.94, 0.84, 0.9, 0.82)),
    ],
)
def test_thread_mostly_inserts_with_many_keys_per_write(
    before_kib: int, after_kib: int, measured: tuple[float, ...]
) -> None:
    """CPU of bstore_kv_sync for a byte in the WAL, nine rounds of bench_cpu.py, three releases."""
    before, after = (
        f'{DEFAULT},max_write_buffer_number=64,write_buffer_size={kib}K'
        for kib in (before_kib, after_kib)
    )
    predicted = change(before, after, OMAP)
    held = [predicted.low <= ratio <= predicted.high for ratio in measured]
    assert sum(held) >= len(measured) - 1
    assert predicted.value == pytest.approx(sum(measured) / len(measured), abs=0.025)
    assert predicted.high < change(before, after).value


@given(st.integers(20, 30), st.integers(0, 8))
def test_larger_memtables_never_take_less(power: int, more: int) -> None:
    small, large = (f'{DEFAULT},write_buffer_size={1 << n}' for n in (power, power + more))
    found = change(small, large)
    assert found.low <= found.value <= found.high
    assert found.low >= 1 - 1e-9


def test_full_wal_keeps_memtables_small() -> None:
    """Memtables of 1 GiB under a WAL of 64 MiB are never larger than that."""
    huge = f'{DEFAULT},write_buffer_size=1G,max_total_wal_size=64M'
    assert change(DEFAULT, huge).high < 0.95


def test_unknown_workload_gives_unknown_time() -> None:
    tree = tree_of(DEFAULT)
    assert tree.kv_sync_time is None
    assert kv_sync_time(tree.column_families, INSERTS) is None
    assert kv_sync_change(tree.column_families, tree.column_families, INSERTS) is None
