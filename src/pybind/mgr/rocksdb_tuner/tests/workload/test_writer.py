"""The writer of a mixture is known too, and the load of the kv_sync threads under it."""

from __future__ import annotations

from typing import Optional

import pytest

from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.workload.classify import Activity, classify, writer_of
from rocksdb_tuner.workload.pools import RBD, RGW, PoolContext, Share, leading
from rocksdb_tuner.workload.pressure import KV_SYNC_BUSY, measured, with_pressure
from rocksdb_tuner.workload.records import Evidence, Workload, WorkloadClass

KIB = 1024
OF_RBD = PoolContext(frozenset({'rbd'}))


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
def test_reads_do_not_hide_the_writer_of_block_devices(reads: int) -> None:
    assert writer(doing(1000 - 10 * reads, 10 * reads), OF_RBD) == (MIXED, SMALL)


@pytest.mark.parametrize('size_kib', [20, 32, 63])
def test_writes_neither_small_nor_large_have_a_writer(size_kib: int) -> None:
    assert writer(doing(1000, 10, size_kib), OF_RBD) == (MIXED, SMALL)


def test_large_writes_are_no_metadata() -> None:
    assert writer(doing(200, 900, 128), OF_RBD)[1] is None


def test_few_writes_among_reads_have_no_writer() -> None:
    assert writer(doing(12, 900), OF_RBD)[1] is None
    assert writer(doing(13, 900), OF_RBD)[1] is SMALL


@pytest.mark.parametrize(('share', 'who'), [(0.55, SMALL), (0.49, None)])
def test_client_type_with_most_changes_is_the_writer(
    share: float, who: Optional[WorkloadClass]
) -> None:
    shares = {RBD: Share(share, share), RGW: Share(0.3, 0.3), 'other': Share(0.7 - share, 0.0)}
    both = PoolContext(frozenset({RBD, RGW}), shares, leading(shares))
    assert writer(doing(1000, 10), both)[1] is who


def test_doubtful_mixture_makes_its_writer_doubtful() -> None:
    found = classify(doing(500, 500), OF_RBD)
    doubted = writer_of(found._replace(confidence=0.35))
    assert doubted is not None
    assert doubted.confidence == 0.35


def test_writer_unknown_to_this_version_is_none() -> None:
    odd = Workload(MIXED, 0.7, (Evidence('writer:tape', 0.9, 'confidence', 30.0, 'x'),))
    assert writer_of(odd) is None
    assert writer_of(None) is None


def test_thread_load_is_the_mean_of_reporting_osds() -> None:
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
