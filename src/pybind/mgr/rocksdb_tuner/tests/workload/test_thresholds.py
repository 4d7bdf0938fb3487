"""The boundaries between classes, and the confidence near them."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.mgr.records import ClusterMap, PoolInfo
from rocksdb_tuner.observe.load_history import PoolRates
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.tests.observe.samples import osd_info
from rocksdb_tuner.workload.classifier import Classifier, remember
from rocksdb_tuner.workload.classify import Activity, activity, classify
from rocksdb_tuner.workload.pools import PoolContext, Share, leading, pool_context
from rocksdb_tuner.workload.records import UNKNOWN_WORKLOAD, Workload, WorkloadClass, thresholds

NONE = PoolContext()
ALL_KINDS = frozenset({'rbd', 'rgw', 'cephfs_metadata'})
RBD = PoolContext(frozenset({'rbd'}))
RGW = PoolContext(frozenset({'rgw'}))
CEPHFS = PoolContext(frozenset({'cephfs_metadata'}))
LIMITS = thresholds()

#: 4 KiB writes of block devices, beyond all that is needed to be sure.
BUSY = Activity(
    osds=2,
    window_s=30.0,
    writes_per_s=1000.0,
    class_calls_per_s=0.0,
    reads_per_s=0.0,
    write_bytes_per_s=1000 * 4096.0,
    class_call_bytes_per_s=0.0,
    read_bytes_per_s=0.0,
    recovery_per_s=0.0,
)


def doing(**changes: float) -> Activity:
    return BUSY._replace(**changes)  # type: ignore[arg-type]


def named(seen: Activity, pools: PoolContext = RBD) -> WorkloadClass:
    return classify(seen, pools).workload_class


# -- the ends of each class


def test_idle_is_at_most_the_background_noise_per_osd() -> None:
    """Operations and bytes: what exceeds one of them is a client's."""
    operations = LIMITS.noise_ops_per_s * 2
    noise = doing(writes_per_s=operations, write_bytes_per_s=LIMITS.noise_bytes_per_s * 2)
    assert named(noise) is WorkloadClass.IDLE
    assert named(noise._replace(writes_per_s=operations * 1.01)) is not WorkloadClass.IDLE
    more_bytes = noise._replace(write_bytes_per_s=LIMITS.noise_bytes_per_s * 2.02)
    assert named(more_bytes) is not WorkloadClass.IDLE
    assert classify(noise, RBD).confidence == 0.95


def test_recovery_with_clients_depends_on_its_share_of_their_changes() -> None:
    enough = LIMITS.recovery_ops_share * 1000
    assert named(doing(recovery_per_s=enough)) is WorkloadClass.RECOVERY
    assert named(doing(recovery_per_s=enough * 0.99)) is WorkloadClass.RBD_SMALL_WRITE
    # Class calls are changes, too; reads are not.
    calls = doing(recovery_per_s=enough, class_calls_per_s=10.0)
    assert named(calls) is not WorkloadClass.RECOVERY
    assert named(doing(recovery_per_s=enough, reads_per_s=100.0)) is WorkloadClass.RECOVERY


def test_reads_dominate_from_their_share_on() -> None:
    reads = 1000 * LIMITS.read_share / (1 - LIMITS.read_share)
    assert named(doing(reads_per_s=reads * 1.001)) is WorkloadClass.READ_MOSTLY
    assert named(doing(reads_per_s=reads * 0.999)) is WorkloadClass.MIXED


def test_small_and_large_depend_on_the_mean_write() -> None:
    def sized(mean: float, pools: PoolContext = RBD) -> WorkloadClass:
        return named(doing(write_bytes_per_s=1000 * mean), pools)

    assert sized(LIMITS.small_write_bytes) is WorkloadClass.RBD_SMALL_WRITE
    assert sized(LIMITS.small_write_bytes + 1) is WorkloadClass.MIXED
    # A metadata server writes its journal in pieces of any size.
    assert sized(LIMITS.small_write_bytes + 1, CEPHFS) is WorkloadClass.CEPHFS_METADATA
    assert sized(LIMITS.large_write_bytes - 1) is WorkloadClass.MIXED
    assert sized(LIMITS.large_write_bytes) is WorkloadClass.LARGE_WRITE
    assert sized(1.0) is WorkloadClass.RBD_SMALL_WRITE
    # Less than a byte each: they set keys, and the pool of these is unknown.
    assert sized(0.9) is WorkloadClass.UNKNOWN


def test_few_large_writes_beside_more_read_bytes_do_not_decide_the_class() -> None:
    large = {'writes_per_s': 10.0, 'write_bytes_per_s': 10 * 1e6}
    assert named(doing(**large, reads_per_s=2.0, read_bytes_per_s=10e6)) is (
        WorkloadClass.LARGE_WRITE
    )
    assert named(doing(**large, reads_per_s=2.0, read_bytes_per_s=10e6 + 1)) is (
        WorkloadClass.MIXED
    )
    noise = LIMITS.noise_bytes_per_s * 2
    rare = doing(writes_per_s=noise / 1e6, write_bytes_per_s=noise, class_calls_per_s=500.0)
    assert named(rare, RGW) is WorkloadClass.RGW_METADATA
    more = noise * 1.01
    often = doing(writes_per_s=more / 1e6, write_bytes_per_s=more, class_calls_per_s=500.0)
    assert named(often, RGW) is WorkloadClass.LARGE_WRITE


def test_gateway_metadata_is_identified_by_its_share_of_class_calls() -> None:
    calls = 1000 * LIMITS.class_call_share / (1 - LIMITS.class_call_share)
    assert named(
        doing(class_calls_per_s=calls * 1.001), PoolContext(frozenset({'rbd', 'rgw'}))
    ) is (WorkloadClass.RGW_METADATA)
    assert named(
        doing(class_calls_per_s=calls * 0.999), PoolContext(frozenset({'rbd', 'rgw'}))
    ) is (WorkloadClass.RBD_SMALL_WRITE)


# -- pools


def reported(seen: Activity, **shares: float) -> Workload:
    kinds = {kind: Share(share, share) for kind, share in shares.items()}
    return classify(seen, PoolContext(ALL_KINDS, kinds, leading(kinds)))


def test_pool_type_leads_with_its_dominant_share() -> None:
    dominant = LIMITS.dominant_kind_share
    enough = reported(BUSY, rbd=dominant, rgw=1 - dominant)
    assert enough.workload_class is WorkloadClass.RBD_SMALL_WRITE
    assert enough.confidence == pytest.approx(0.75)
    short = reported(BUSY, rbd=dominant - 0.01, rgw=1.01 - dominant)
    assert short.workload_class is WorkloadClass.MIXED
    # The leader gets weaker: mixed becomes more certain.
    assert short.confidence == pytest.approx(0.75 + 0.01 * 1.5)


def test_journal_belongs_to_cephfs_only_with_most_of_the_written_bytes() -> None:
    large = doing(write_bytes_per_s=1000 * 1e6)
    dominant = LIMITS.dominant_kind_share
    journal = reported(large, cephfs_metadata=dominant, rbd=1 - dominant)
    assert journal.workload_class is WorkloadClass.CEPHFS_METADATA
    assert journal.confidence == pytest.approx(0.75)
    assert journal.evidence[0].statement.startswith(f'{100 * dominant:.0f}% of the written bytes')
    less = reported(large, cephfs_metadata=dominant - 0.01, rbd=1.01 - dominant)
    assert less.workload_class is WorkloadClass.LARGE_WRITE


def pool(pool_id: int, *applications: str, metadata: bool = False, classes: str = '') -> PoolInfo:
    of = tuple(filter(None, [classes]))
    name = f'pool{pool_id}'
    return PoolInfo(pool_id, name, applications, 3, 2, of, cephfs_metadata=metadata, crush_rule=0)


def shares(
    changes_per_s: float, *pools: PoolInfo, **rates: tuple[float, float]
) -> Optional[dict[str, Share]]:
    """Pools with so many writes and bytes per second, by ``p`` and their id."""
    cluster_map = ClusterMap(1, frozenset(), None, (), pools)
    known = {int(name[1:]): PoolRates(0.0, 0.0, *rate) for name, rate in rates.items()}
    found = pool_context(cluster_map, 'ssd', known, changes_per_s).shares
    return None if found is None else dict(found)


def test_backtraces_count_with_the_work_of_the_metadata_pool() -> None:
    """Attributes in the pool of the data: less than half a KiB on average."""
    files, metadata = pool(1, 'cephfs'), pool(2, 'cephfs', metadata=True)
    blocks = pool(3, 'rbd')
    found = shares(
        200.0, files, metadata, blocks, p1=(50.0, 50 * 511.0), p2=(50.0, 1e6), p3=(100.0, 1e6)
    )
    assert found is not None
    assert found['cephfs_metadata'].changes == pytest.approx(0.5)
    alone = shares(150.0, files, blocks, p1=(50.0, 50 * 511.0), p3=(100.0, 1e6))
    assert alone is not None
    assert alone['cephfs_metadata'].changes == pytest.approx(1 / 3)
    assert alone['cephfs_metadata'].write_bytes == 0.0
    data = shares(150.0, files, blocks, p1=(50.0, 50 * 512.0), p3=(100.0, 1e6))
    assert data is not None
    assert data['cephfs_data'].changes == pytest.approx(1 / 3)


def test_rest_of_the_operations_belongs_to_the_gateway() -> None:
    """A put is three operations of fifteen parts; 165 puts and 500 block writes per second."""
    pools = pool(1, 'rbd'), pool(2, 'rgw')
    found = shares(995.0, *pools, p1=(500.0, 0.0), p2=(15 * 165.0, 0.0))
    assert found is not None
    assert found['rbd'].changes == pytest.approx(500 / 995)


def test_pool_statistics_must_cover_half_of_the_changes() -> None:
    assert shares(100.0, pool(1, 'mgr'), p1=(100.0, 0.0)) is None
    assert shares(100.0, pool(1, 'rbd'), p1=(50.0, 0.0)) == {'rbd': Share(1.0, 0.0)}
    assert shares(100.0, pool(1, 'rbd'), p1=(49.9, 0.0)) is None
    assert shares(0.0, pool(1, 'rbd'), p1=(0.0, 0.0)) is None


# -- how sure


def test_few_operations_are_less_certain_unless_they_carry_many_bytes() -> None:
    full = LIMITS.full_confidence_ops_per_s * 2

    def at(share: float, mean: float = 4096.0) -> float:
        writes = full * share
        return classify(doing(writes_per_s=writes, write_bytes_per_s=writes * mean), RBD).confidence

    assert at(1.0) == pytest.approx(0.95)
    bytes_of_half = full * 0.5 * 4096 / 2 / (16 * LIMITS.noise_bytes_per_s)
    assert at(0.5) == pytest.approx(0.95 * (0.7 + 0.3 * max(0.5, bytes_of_half)), abs=0.001)
    few = 10.0
    written = 2 * 8 * LIMITS.noise_bytes_per_s
    large = classify(doing(writes_per_s=few, write_bytes_per_s=written), RBD)
    by_operations = few / full
    assert large.confidence == pytest.approx(
        0.95 * (0.7 + 0.3 * max(0.5, by_operations)), abs=0.001
    )


# -- what is summed


WINDOW = Signals(
    osd_id=0,
    window_s=30.0,
    write_iops=1.0,
    rw_iops=2.0,
    read_iops=3.0,
    write_bytes_per_s=4.0,
    rw_bytes_per_s=5.0,
    read_bytes_per_s=6.0,
    recovery_ops_per_s=7.0,
)


@pytest.mark.parametrize(
    'lacks',
    [
        'window_s',
        'write_iops',
        'read_iops',
        'rw_iops',
        'write_bytes_per_s',
        'rw_bytes_per_s',
        'read_bytes_per_s',
    ],
)
def test_osd_with_an_unknown_value_does_not_count(lacks: str) -> None:
    lacking = WINDOW._replace(**{lacks: None})  # type: ignore[arg-type]
    assert activity([lacking]) is None
    both = activity([lacking, WINDOW])
    assert both is not None
    assert both.osds == 1


# -- over time


def work(workload_class: WorkloadClass, confidence: float = 0.95) -> Workload:
    return Workload(workload_class, confidence, ())


RBD_WRITE, READS = WorkloadClass.RBD_SMALL_WRITE, WorkloadClass.READ_MOSTLY


def shown(*polls: tuple[float, WorkloadClass, float]) -> WorkloadClass:
    memory = None
    for now_s, workload_class, confidence in polls:
        memory = remember(memory, work(workload_class, confidence), now_s)
    assert memory is not None
    return memory.shown.workload_class


def test_certain_class_needs_no_second_sample_after_four_seconds_of_doubt() -> None:
    begin = ((0.0, RBD_WRITE, 0.95), (10.0, RBD_WRITE, 0.95), (20.0, WorkloadClass.MIXED, 0.7))
    assert shown(*begin, (23.9, READS, 0.95)) is RBD_WRITE
    assert shown(*begin, (24.0, READS, 0.95)) is READS
    assert shown(*begin, (24.0, READS, 0.9)) is READS
    assert shown(*begin, (24.0, READS, 0.89)) is RBD_WRITE


def recognized(
    own: Signals, *, classes: tuple[Optional[str], ...] = ('ssd', 'ssd')
) -> tuple[Workload, Optional[Workload]]:
    """The class of the first of two OSDs, the second of which is busy, and of its group."""
    busy = WINDOW._replace(
        write_iops=500.0, write_bytes_per_s=500 * 4096.0, rw_iops=0.0, read_iops=0.0
    )
    osds = tuple(replace(osd_info(n), device_class=c) for n, c in enumerate(classes))
    cluster_map = ClusterMap(1, frozenset(), None, osds, (pool(1, 'rbd'),))
    classifier = Classifier()
    for now_s in (0.0, 10.0, 20.0):
        found = classifier.recognize({0: own, 1: busy}, cluster_map, now_s)
    assert set(found.per_group) == {name for name in classes if name is not None}
    assert found.per_osd[1].workload_class is RBD_WRITE or classes[1] is None
    return found.per_osd[0], found.per_group.get(classes[0] or '')


STILL = WINDOW._replace(
    write_iops=0.0,
    rw_iops=0.0,
    read_iops=0.0,
    write_bytes_per_s=0.0,
    rw_bytes_per_s=0.0,
    read_bytes_per_s=0.0,
    recovery_ops_per_s=0.0,
)


def test_osd_without_a_device_class_belongs_to_no_group_and_no_pools() -> None:
    still, _ = recognized(STILL._replace(wal_bytes_per_s=1e9), classes=(None, 'ssd'))
    assert still.workload_class is WorkloadClass.IDLE
    keys = STILL._replace(write_iops=500.0)
    small = keys._replace(write_bytes_per_s=500 * 4096.0)
    for own in (keys, small):
        unknown, _ = recognized(own, classes=(None, 'ssd'))
        assert unknown == UNKNOWN_WORKLOAD._replace(evidence=unknown.evidence)


def test_pool_work_is_weighed_against_the_changes_of_the_whole_class() -> None:
    """Both pools in one class: by its statistics the gateway does most of it."""
    calls = WINDOW._replace(
        write_iops=100.0, rw_iops=100.0, read_iops=0.0, write_bytes_per_s=4e5, rw_bytes_per_s=0.0
    )
    pools = (pool(1, 'rbd'), pool(2, 'rgw'))
    cluster_map = ClusterMap(1, frozenset(), None, (osd_info(0), osd_info(1)), pools)
    rates = {1: PoolRates(0.0, 0.0, 40.0, 4e5), 2: PoolRates(0.0, 0.0, 9000.0, 4e5)}
    classifier = Classifier()
    for now_s in (0.0, 10.0):
        found = classifier.recognize({0: calls, 1: calls}, cluster_map, now_s, pool_rates=rates)
    group = found.per_group['ssd']
    assert group.workload_class is WorkloadClass.RGW_METADATA
    assert group.evidence[0].statement.endswith('90% to RGW, 10% to RBD.')
