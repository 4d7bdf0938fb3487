"""Workloads from signals: what each class needs, and unknown rather than a guess."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.mgr.records import ClusterMap, PoolInfo
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.tests.observe.samples import osd_info
from rocksdb_tuner.workload.classifier import Classifier, Memory, remember
from rocksdb_tuner.workload.classify import activity, classify
from rocksdb_tuner.workload.pools import PoolContext, Share, leading, pool_context
from rocksdb_tuner.workload.records import Workload, WorkloadClass, thresholds

KNOWLEDGE = Path(__file__).parents[2] / 'knowledge'
RBD = PoolContext(frozenset({'rbd'}))
RGW = PoolContext(frozenset({'rgw'}))
RBD_AND_RGW = PoolContext(frozenset({'rbd', 'rgw'}))
CEPHFS = PoolContext(frozenset({'cephfs_metadata'}))
RBD_AND_CEPHFS = PoolContext(frozenset({'rbd', 'cephfs_metadata'}))
NONE = PoolContext()
ALL_KINDS = frozenset({'rbd', 'rgw', 'cephfs_metadata'})


def signals(
    write_iops: float = 0.0,
    write_bytes: float = 4096.0,
    rw_iops: float = 0.0,
    rw_bytes: float = 0.0,
    read_iops: float = 0.0,
    read_bytes: float = 4096.0,
    recovery: float = 0.0,
) -> Signals:
    return Signals(
        osd_id=0,
        window_s=30.0,
        write_iops=write_iops,
        rw_iops=rw_iops,
        read_iops=read_iops,
        write_bytes_per_s=write_iops * write_bytes,
        rw_bytes_per_s=rw_iops * rw_bytes,
        read_bytes_per_s=read_iops * read_bytes,
        recovery_ops_per_s=recovery,
    )


def seen(pools: PoolContext, *osds: Signals) -> Workload:
    return classify(activity(osds), pools)


@pytest.mark.parametrize(
    ('osd', 'pools', 'expected'),
    [
        (signals(), RBD, 'idle'),
        (signals(write_iops=1.0, rw_iops=3.0, read_iops=6.0, read_bytes=20.0), RGW, 'idle'),
        (signals(write_iops=400.0), RBD, 'rbd-small-write'),
        (signals(write_iops=400.0, write_bytes=16384.0), RBD, 'rbd-small-write'),
        (signals(write_iops=400.0, rw_iops=4.0), RBD_AND_RGW, 'rbd-small-write'),
        (signals(write_iops=70.0, rw_iops=100.0), RGW, 'rgw-metadata'),
        (signals(write_iops=70.0, rw_iops=100.0), RBD_AND_RGW, 'rgw-metadata'),
        (signals(rw_iops=190.0, read_iops=70.0, read_bytes=900.0), RGW, 'rgw-metadata'),
        (signals(write_iops=200.0, write_bytes=0.0), RGW, 'rgw-metadata'),
        (signals(write_iops=2.7, write_bytes=4e6, rw_iops=12.0), RGW, 'large-write'),
        (signals(write_iops=50.0, write_bytes=4e6), RBD, 'large-write'),
        (signals(rw_iops=60.0, rw_bytes=8e5, read_iops=20.0), RGW, 'large-write'),
        (signals(rw_iops=60.0, rw_bytes=2e3, read_iops=20.0), RGW, 'rgw-metadata'),
        (signals(read_iops=900.0), RBD, 'read-mostly'),
        (signals(read_iops=40.0, read_bytes=25000.0, rw_iops=2.0), RGW, 'read-mostly'),
        (signals(write_iops=100.0, read_iops=180.0), RBD, 'mixed'),
        (signals(write_iops=100.0, write_bytes=40000.0), RBD, 'mixed'),
        (signals(write_iops=800.0, write_bytes=13000.0), CEPHFS, 'cephfs-metadata'),
        (signals(write_iops=200.0, write_bytes=0.0), CEPHFS, 'cephfs-metadata'),
        (signals(recovery=20.0), RBD, 'recovery'),
        (signals(write_iops=10.0, recovery=20.0), RBD, 'recovery'),
        (signals(write_iops=400.0), RBD_AND_CEPHFS, 'unknown'),
        (signals(write_iops=400.0), NONE, 'unknown'),
        (signals(write_iops=70.0, rw_iops=100.0), RBD, 'unknown'),
        (signals(write_iops=70.0, rw_iops=100.0), CEPHFS, 'unknown'),
        (signals(write_iops=20.0, write_bytes=1e6, read_iops=900.0), RBD, 'mixed'),
        (signals(write_iops=200.0, write_bytes=0.0), RBD, 'unknown'),
    ],
)
def test_each_class_by_its_signals(osd: Signals, pools: PoolContext, expected: str) -> None:
    workload = seen(pools, osd)
    assert workload.workload_class.value == expected
    assert (workload.confidence == 0.0) == (expected == 'unknown')


def cluster_of(osds: int) -> ClusterMap:
    """One device class with a pool for RBD."""
    pool = PoolInfo(1, 'rbd', ('rbd',), 3, 2, (), cephfs_metadata=False, crush_rule=0)
    return ClusterMap(1, frozenset(), None, tuple(osd_info(i) for i in range(osds)), (pool,))


def recognized(replica: Signals, *others: Signals) -> tuple[str, str]:
    """(class of the first OSD, class of the group) when both have settled."""
    cluster_map, classifier = cluster_of(1 + len(others)), Classifier()
    for now_s in (0.0, 10.0, 20.0, 30.0):
        found = classifier.recognize(dict(enumerate((replica, *others))), cluster_map, now_s)
    return found.per_osd[0].workload_class.value, found.per_group['ssd'].workload_class.value


def test_replicating_osd_has_the_class_of_its_group() -> None:
    replica = signals()._replace(wal_bytes_per_s=2e6)
    assert recognized(replica, signals(write_iops=500.0)) == ('rbd-small-write',) * 2
    assert recognized(replica, signals(recovery=20.0)) == ('recovery',) * 2
    assert recognized(replica, signals()) == ('idle',) * 2


@given(
    st.lists(
        st.builds(
            signals,
            write_iops=st.floats(0, 1e6),
            write_bytes=st.floats(0, 1e8),
            rw_iops=st.floats(0, 1e6),
            rw_bytes=st.floats(0, 1e7),
            read_iops=st.floats(0, 1e6),
            read_bytes=st.floats(0, 1e8),
            recovery=st.floats(0, 1e6),
        )
        | st.just(Signals(osd_id=1)),
        max_size=5,
    ),
    st.builds(
        PoolContext,
        st.frozensets(st.sampled_from(sorted(ALL_KINDS))),
        st.none()
        | st.dictionaries(
            st.sampled_from(['rbd', 'rgw', 'cephfs_metadata', 'cephfs_data', 'other']),
            st.builds(Share, st.floats(0, 1), st.floats(0, 1)),
        ),
    ),
)
def test_any_signals_give_a_class_with_an_honest_confidence(
    osds: list[Signals], pools: PoolContext
) -> None:
    workload = seen(pools, *osds)
    assert 0.0 <= workload.confidence <= 0.95
    unknown = workload.workload_class is WorkloadClass.UNKNOWN
    assert unknown == (workload.confidence == 0.0)


def test_pool_with_a_rule_of_another_class_does_not_count() -> None:
    def pool(name: str, application: str, *classes: str) -> PoolInfo:
        return PoolInfo(1, name, (application,), 3, 2, classes, cephfs_metadata=False, crush_rule=0)

    cluster_map = ClusterMap(1, frozenset(), None, (), (pool('a', 'rbd', 'hdd'), pool('b', 'rgw')))
    assert pool_context(cluster_map, 'ssd', {}, 0.0) == RGW
    assert pool_context(cluster_map, 'hdd', {}, 0.0) == RBD_AND_RGW


@pytest.mark.parametrize(
    ('osd', 'shares', 'expected'),
    [
        (signals(write_iops=400.0), {'rbd': 0.9, 'cephfs_metadata': 0.1}, 'rbd-small-write'),
        (signals(write_iops=400.0), {'rbd': 0.1, 'cephfs_metadata': 0.9}, 'cephfs-metadata'),
        (signals(write_iops=400.0, write_bytes=0.0), {'rgw': 1.0}, 'rgw-metadata'),
        (signals(write_iops=400.0, write_bytes=0.0), {'other': 1.0}, 'unknown'),
        (signals(write_iops=400.0), {'other': 0.8, 'rbd': 0.2}, 'unknown'),
        (signals(write_iops=100.0, rw_iops=60.0), {'rbd': 0.4, 'rgw': 0.6}, 'mixed'),
        (signals(write_iops=100.0, rw_iops=60.0), {'rbd': 0.1, 'rgw': 0.9}, 'rgw-metadata'),
        (signals(write_iops=50.0, write_bytes=4e5), {'cephfs_metadata': 1.0}, 'cephfs-metadata'),
        (signals(write_iops=50.0, write_bytes=4e5), {'rbd': 1.0}, 'large-write'),
        (signals(read_iops=900.0, write_iops=9.0), {'rbd': 0.5, 'rgw': 0.5}, 'read-mostly'),
    ],
)
def test_pool_statistics_identify_the_client(
    osd: Signals, shares: dict[str, float], expected: str
) -> None:
    """Pools of all kinds exist; their applications alone prove nothing."""
    reported = {kind: Share(share, share) for kind, share in shares.items()}
    pools = PoolContext(ALL_KINDS, reported, leading(reported))
    workload = seen(pools, osd)
    assert workload.workload_class.value == expected
    if expected not in {'read-mostly', 'large-write'}:
        assert 'pools' in {e.signal for e in workload.evidence}


def work(workload_class: WorkloadClass) -> Workload:
    return Workload(workload_class, 0.0 if workload_class is WorkloadClass.UNKNOWN else 0.9, ())


def shown(polls: list[WorkloadClass], every_s: float = 10.0) -> list[WorkloadClass]:
    memory: Memory | None = None
    result = []
    for i, look in enumerate(polls):
        memory = remember(memory, work(look), i * every_s)
        result.append(memory.shown.workload_class)
    return result


IDLE, RBD_WRITE = WorkloadClass.IDLE, WorkloadClass.RBD_SMALL_WRITE


def test_single_outlier_sample_changes_nothing() -> None:
    polls = [IDLE, IDLE, RBD_WRITE, IDLE, IDLE]
    assert shown(polls) == [IDLE] * 5


def test_lasting_change_is_accepted_at_the_second_sample_for_any_interval() -> None:
    polls = [IDLE, *[RBD_WRITE] * 3]
    for every_s in (5.0, 10.0, 75.0):
        assert shown(polls, every_s) == [IDLE, IDLE, RBD_WRITE, RBD_WRITE]


def test_mixed_is_accepted_when_it_outlasts_a_window_across_a_change() -> None:
    """Windows span 30 s, so that reads after writes seem mixed for two samples."""
    mixed = WorkloadClass.MIXED
    across = [RBD_WRITE, RBD_WRITE, mixed, mixed, READS, READS]
    assert mixed not in shown(across)
    assert shown([RBD_WRITE, RBD_WRITE, *[mixed] * 3])[-1] is mixed
    assert shown([RBD_WRITE, RBD_WRITE, *[mixed] * 2])[-1] is RBD_WRITE


def test_mixed_sample_between_two_workloads_does_not_delay_the_second() -> None:
    polls = [RBD_WRITE, RBD_WRITE, WorkloadClass.MIXED, WorkloadClass.MIXED, READS]
    assert shown(polls)[-1] is READS
    assert shown([RBD_WRITE, RBD_WRITE, READS])[-1] is RBD_WRITE


def test_recovery_is_accepted_at_once_and_left_like_any_other_class() -> None:
    """The class of ended clients must not represent recovery in the meantime."""
    recovery = WorkloadClass.RECOVERY
    polls = [RBD_WRITE, RBD_WRITE, recovery, RBD_WRITE, recovery, RBD_WRITE, RBD_WRITE]
    assert shown(polls)[1:] == [RBD_WRITE, *[recovery] * 4, RBD_WRITE]


def test_first_sample_is_unclassified_or_idle() -> None:
    """Just after a start gateways are busy with themselves."""
    assert shown([RBD_WRITE]) == [WorkloadClass.UNKNOWN]
    assert shown([IDLE]) == [IDLE]


READS = WorkloadClass.READ_MOSTLY


@given(st.lists(st.sampled_from([READS, RBD_WRITE]), max_size=40))
def test_there_are_never_more_changes_than_lasting_ones(polls: list[WorkloadClass]) -> None:
    result = shown(polls)
    changes = sum(a is not b for a, b in zip(result, result[1:]))
    lasting = sum(
        polls[i] is polls[i + 1] and (i == 0 or polls[i] is not polls[i - 1])
        for i in range(len(polls) - 1)
    )
    assert changes <= lasting


def test_thresholds_file_matches_its_schema_and_is_complete() -> None:
    document = json.loads((KNOWLEDGE / 'workload.json').read_text())
    schema = json.loads((KNOWLEDGE / 'schemas' / 'workload.schema.json').read_text())
    jsonschema.validate(document, schema)
    assert thresholds().small_write_bytes < thresholds().large_write_bytes


def test_osds_are_unsettled_from_the_first_sign_of_another_class_until_it_is_confirmed() -> None:
    """So that the next sample is evaluated as well, instead of one half a minute later."""
    cluster_map, classifier = cluster_of(1), Classifier()
    unsettled = []
    for now_s, seen in ((0.0, 0.0), (10.0, 0.0), (40.0, 500.0), (50.0, 500.0), (80.0, 500.0)):
        of_osds = {0: signals(write_iops=seen)}
        classifier.recognize_groups(of_osds, cluster_map, now_s)
        found = classifier.recognize_osds(of_osds, cluster_map, now_s)
        unsettled.append(bool(classifier.unsettled_osds))
    assert found[0].workload_class is WorkloadClass.RBD_SMALL_WRITE
    assert unsettled == [False, False, True, False, False]
