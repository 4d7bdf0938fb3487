"""The class that is shown changes once per change of the workload, for OSDs and their groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.mgr.records import ClusterMap
from rocksdb_tuner.observe.load_history import PoolRates
from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.tests.observe.samples import osd_info
from rocksdb_tuner.workload.classifier import Classifier, Memory, remember
from rocksdb_tuner.workload.records import UNKNOWN_WORKLOAD, Workload, WorkloadClass

from .test_classify import pool, signals

IDLE, RBD_WRITE = WorkloadClass.IDLE, WorkloadClass.RBD_SMALL_WRITE
MIXED, READS = WorkloadClass.MIXED, WorkloadClass.READ_MOSTLY


def cluster_of(*classes: Optional[str]) -> ClusterMap:
    """OSDs of these device classes, with a pool for RBD."""
    osds = tuple(replace(osd_info(n), device_class=name) for n, name in enumerate(classes))
    return ClusterMap(1, frozenset(), None, osds, (pool(1, 'rbd'),))


def recognized(own: Signals, other: Signals, device_class: Optional[str] = 'ssd') -> list[Workload]:
    """The settled workload of the first of two OSDs, and of the group of the second."""
    cluster_map, classifier = cluster_of(device_class, 'ssd'), Classifier()
    for now_s in (0.0, 10.0, 20.0, 30.0):
        found = classifier.recognize({0: own, 1: other}, cluster_map, now_s)
    return [found.per_osd[0], found.per_group['ssd']]


@pytest.mark.parametrize(
    ('other', 'expected'),
    [
        (signals(write_iops=500.0), 'rbd-small-write'),
        (signals(recovery=20.0), 'recovery'),
        (signals(), 'idle'),
    ],
)
def test_replicating_osd_has_the_class_of_its_group(other: Signals, expected: str) -> None:
    replica = signals()._replace(wal_bytes_per_s=2e6)
    assert [w.workload_class.value for w in recognized(replica, other)] == [expected] * 2


def test_osd_without_a_device_class_belongs_to_no_group_and_no_pools() -> None:
    busy = signals(write_iops=500.0)
    still, _ = recognized(signals()._replace(wal_bytes_per_s=1e9), busy, None)
    assert still.workload_class is IDLE
    for own in (signals(write_iops=500.0, write_bytes=0.0), busy):
        unknown, _ = recognized(own, busy, None)
        assert unknown == UNKNOWN_WORKLOAD._replace(evidence=unknown.evidence)


def test_pool_work_is_weighed_against_the_changes_of_the_whole_class() -> None:
    """Both pools in one class: by its statistics the gateway does most of it."""
    calls = signals(write_iops=100.0, rw_iops=100.0)
    cluster_map = replace(cluster_of('ssd', 'ssd'), pools=(pool(1, 'rbd'), pool(2, 'rgw')))
    rates = {1: PoolRates(0.0, 0.0, 40.0, 4e5), 2: PoolRates(0.0, 0.0, 9000.0, 4e5)}
    classifier = Classifier()
    for now_s in (0.0, 10.0):
        found = classifier.recognize({0: calls, 1: calls}, cluster_map, now_s, pool_rates=rates)
    group = found.per_group['ssd']
    assert group.workload_class is WorkloadClass.RGW_METADATA
    assert group.evidence[0].statement.endswith('90% to RGW, 10% to RBD.')


def work(workload_class: WorkloadClass) -> Workload:
    return Workload(workload_class, 0.0 if workload_class is WorkloadClass.UNKNOWN else 0.9, ())


def shown(polls: list[WorkloadClass], every_s: float = 10.0) -> list[WorkloadClass]:
    memory: Memory | None = None
    result = []
    for i, look in enumerate(polls):
        memory = remember(memory, work(look), i * every_s)
        result.append(memory.shown.workload_class)
    return result


def test_single_outlier_sample_changes_nothing() -> None:
    polls = [IDLE, IDLE, RBD_WRITE, IDLE, IDLE]
    assert shown(polls) == [IDLE] * 5


def test_lasting_change_is_accepted_at_the_second_sample_for_any_interval() -> None:
    polls = [IDLE, *[RBD_WRITE] * 3]
    for every_s in (5.0, 10.0, 75.0):
        assert shown(polls, every_s) == [IDLE, IDLE, RBD_WRITE, RBD_WRITE]


def test_mixed_is_accepted_when_it_outlasts_a_window_across_a_change() -> None:
    """Windows span 30 s, so that reads after writes seem mixed for two samples."""
    across = [RBD_WRITE, RBD_WRITE, MIXED, MIXED, READS, READS]
    assert MIXED not in shown(across)
    assert shown([RBD_WRITE, RBD_WRITE, *[MIXED] * 3])[-1] is MIXED
    assert shown([RBD_WRITE, RBD_WRITE, *[MIXED] * 2])[-1] is RBD_WRITE


def test_mixed_sample_between_two_workloads_does_not_delay_the_second() -> None:
    polls = [RBD_WRITE, RBD_WRITE, MIXED, MIXED, READS]
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


@given(st.lists(st.sampled_from([READS, RBD_WRITE]), max_size=40))
def test_there_are_never_more_changes_than_lasting_ones(polls: list[WorkloadClass]) -> None:
    result = shown(polls)
    changes = sum(a is not b for a, b in zip(result, result[1:]))
    lasting = sum(
        polls[i] is polls[i + 1] and (i == 0 or polls[i] is not polls[i - 1])
        for i in range(len(polls) - 1)
    )
    assert changes <= lasting


@pytest.mark.parametrize(
    ('now_s', 'confidence', 'expected'),
    [(23.9, 0.95, RBD_WRITE), (24.0, 0.95, READS), (24.0, 0.9, READS), (24.0, 0.89, RBD_WRITE)],
)
def test_certain_class_needs_no_second_sample_after_four_seconds_of_doubt(
    now_s: float, confidence: float, expected: WorkloadClass
) -> None:
    memory: Memory | None = None
    for at_s, found in ((0.0, RBD_WRITE), (10.0, RBD_WRITE), (20.0, MIXED)):
        memory = remember(memory, work(found), at_s)
    memory = remember(memory, Workload(READS, confidence, ()), now_s)
    assert memory.shown.workload_class is expected


def test_osds_are_unsettled_from_the_first_sign_of_another_class_until_it_is_confirmed() -> None:
    """So that the next sample is evaluated as well, instead of one half a minute later."""
    cluster_map, classifier = cluster_of('ssd'), Classifier()
    unsettled = []
    for now_s, seen in ((0.0, 0.0), (10.0, 0.0), (40.0, 500.0), (50.0, 500.0), (80.0, 500.0)):
        of_osds = {0: signals(write_iops=seen)}
        classifier.recognize_groups(of_osds, cluster_map, now_s)
        found = classifier.recognize_osds(of_osds, cluster_map, now_s)
        unsettled.append(bool(classifier.unsettled_osds))
    assert found[0].workload_class is WorkloadClass.RBD_SMALL_WRITE
    assert unsettled == [False, False, True, False, False]
