"""Who writes is known in a mixture too, and how busy that keeps the kv_sync threads."""

from __future__ import annotations

from typing import Optional

import pytest

from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.workload.activity import Activity
from rocksdb_tuner.workload.classify import classify
from rocksdb_tuner.workload.pools import RBD, RGW, PoolContext, Share, leading
from rocksdb_tuner.workload.pressure import KV_SYNC_BUSY, measured, with_pressure
from rocksdb_tuner.workload.records import Evidence, Workload, WorkloadClass
from rocksdb_tuner.workload.writer import writer_of

KIB = 1024
OF_RBD = PoolContext(rbd=True, rgw=False, cephfs_metadata=False)
OF_RGW = PoolContext(rbd=False, rgw=True, cephfs_metadata=False)


def doing(
    writes: float, reads: float, size_kib: float = 4, calls: float = 0.0, osds: int = 1
) -> Activity:
    return Activity(
        osds, 30.0, writes, calls, reads, writes * size_kib * KIB, 0.0, reads * 4 * KIB, 0.0
    )


def writer(seen: Activity, pools: PoolContext) -> tuple[WorkloadClass, Optional[WorkloadClass]]:
    workload = classify(seen, pools)
    found = writer_of(workload)
    if found is not None:
        assert found.confidence >= 0.7
    return workload.workload_class, found and found.workload_class


SMALL, MIXED = WorkloadClass.RBD_SMALL_WRITE, WorkloadClass.MIXED


@pytest.mark.parametrize('reads', [50, 70])
def test_reads_do_not_hide_who_writes_to_block_devices(reads: int) -> None:
    assert writer(doing(1000 - 10 * reads, 10 * reads), OF_RBD) == (MIXED, SMALL)


def test_nor_where_reads_dominate() -> None:
    assert writer(doing(100, 900), OF_RBD) == (WorkloadClass.READ_MOSTLY, SMALL)


@pytest.mark.parametrize('size_kib', [20, 32, 63])
def test_writes_that_are_not_small_and_not_large_are_somebodys(size_kib: int) -> None:
    assert writer(doing(1000, 10, size_kib), OF_RBD) == (MIXED, SMALL)


def test_the_load_of_the_publication_of_lz4_is_a_gateways() -> None:
    """45% gets, the rest puts, which call classes."""
    assert writer(doing(220, 450, calls=330), OF_RGW) == (MIXED, WorkloadClass.RGW_METADATA)


def test_large_writes_are_nobodys_metadata() -> None:
    assert writer(doing(200, 900, 128), OF_RBD)[1] is None


def test_few_writes_among_reads_are_nobodys() -> None:
    assert writer(doing(12, 900), OF_RBD)[1] is None
    assert writer(doing(13, 900), OF_RBD)[1] is SMALL


@pytest.mark.parametrize(('share', 'who'), [(0.55, SMALL), (0.49, None)])
def test_of_two_kinds_of_clients_the_one_with_most_changes_is_it(
    share: float, who: Optional[WorkloadClass]
) -> None:
    shares = {RBD: Share(share, share), RGW: Share(0.3, 0.3), 'other': Share(0.7 - share, 0.0)}
    both = PoolContext(True, True, False, shares, leading(shares))
    assert writer(doing(1000, 10), both)[1] is who


def test_a_doubted_mixture_makes_its_writer_doubtful() -> None:
    found = classify(doing(500, 500), OF_RBD)
    doubted = writer_of(found._replace(confidence=0.35))
    assert doubted is not None
    assert doubted.confidence == 0.35


def test_who_is_not_known_by_this_version_is_nobody() -> None:
    odd = Workload(MIXED, 0.7, (Evidence('writer:tape', 0.9, 'confidence', 30.0, 'x'),))
    assert writer_of(odd) is None
    assert writer_of(None) is None


def test_how_busy_the_threads_are_is_the_mean_of_those_that_tell() -> None:
    seen = [
        Signals(0, window_s=30.0, kv_sync_busy=0.2, kv_sync_ms=1.0),
        Signals(1, window_s=30.0, kv_sync_busy=0.6),
        Signals(2, window_s=30.0),
    ]
    found = with_pressure(Workload(SMALL, 0.9, ()), seen)
    assert [e.statement for e in found.evidence] == [
        'The kv_sync threads are 40% busy.',
        'A commit takes 1.00 ms.',
    ]
    assert with_pressure(Workload(SMALL, 0.9, ()), seen[2:]).evidence == ()
    idle = Workload(WorkloadClass.IDLE, 0.9, ())
    assert with_pressure(idle, seen) is idle
    assert measured(None, KV_SYNC_BUSY) is None
