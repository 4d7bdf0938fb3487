"""OSDs whose class is settled are classified less often; a change is seen at once."""

from __future__ import annotations

from rocksdb_tuner.observe.signals import Signals
from rocksdb_tuner.tests.fake_cluster import FakeCluster
from rocksdb_tuner.workload.classifier import REUSE_S, Classifier
from rocksdb_tuner.workload.records import WorkloadClass


def _signals(osd_id: int, write_iops: float, window_s: float | None = 30.0) -> Signals:
    return Signals(
        osd_id, window_s=window_s, write_iops=write_iops, read_iops=0.0, rw_iops=0.0,
        write_bytes_per_s=write_iops * 4096, read_bytes_per_s=0.0, rw_bytes_per_s=0.0,
    )  # fmt: skip


def _settled() -> tuple[Classifier, FakeCluster]:
    """Two idle OSDs, classified at 0 s."""
    classifier, cluster = Classifier(), FakeCluster(2)
    classifier.recognize({i: _signals(i, 0.0) for i in (0, 1)}, cluster.cluster_map(), 0.0)
    return classifier, cluster


def test_the_class_of_a_settled_osd_is_as_old_as_told_at_most() -> None:
    """The evidence of an OSD is renewed after `REUSE_S`, not before."""
    classifier, cluster = _settled()
    # Too few operations to be a load.
    signals = {0: _signals(0, 0.1), 1: _signals(1, 0.0)}
    before = classifier.recognize(signals, cluster.cluster_map(), REUSE_S - 1)
    assert before.per_osd[0].evidence[0].value == 0.0
    after = classifier.recognize(signals, cluster.cluster_map(), REUSE_S)
    assert after.per_osd[0].evidence[0].value == 0.1


def test_a_group_that_starts_to_work_takes_its_osds_along() -> None:
    """With the group no OSD waits for the next look."""
    classifier, cluster = _settled()
    signals = {i: _signals(i, 500.0) for i in (0, 1)}
    for at_s in (5.0, 10.0):
        found = classifier.recognize(signals, cluster.cluster_map(), at_s)
    group = found.per_group['ssd'].workload_class
    assert group is not WorkloadClass.IDLE
    assert {w.workload_class for w in found.per_osd.values()} == {group}


def test_an_osd_that_restarts_or_goes_is_not_shown_as_before() -> None:
    """Without a window its class is open again, and an OSD without signals has none."""
    classifier, cluster = _settled()
    found = classifier.recognize({0: _signals(0, 0.0)}, cluster.cluster_map(), 5.0)
    assert set(found.per_osd) == {0}
    working = _signals(0, 500.0)
    classifier.recognize({0: working}, cluster.cluster_map(), 10.0)
    busy = classifier.recognize({0: working}, cluster.cluster_map(), 15.0).per_osd[0]
    assert busy.workload_class is not WorkloadClass.IDLE
    no_window = working._replace(window_s=None)
    again = classifier.recognize({0: no_window}, cluster.cluster_map(), 20.0).per_osd[0]
    assert again.confidence < busy.confidence
