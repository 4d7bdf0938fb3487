"""Workloads of real clients, recorded on a real cluster, named within a minute."""

from __future__ import annotations

import pytest

from rocksdb_tuner.workload.classifier import Classifier
from rocksdb_tuner.workload.records import WorkloadClass

from . import replay

#: The work of a client once it has filled its data.
EXPECTED = {
    'idle': WorkloadClass.IDLE,
    'rbd-randread': WorkloadClass.READ_MOSTLY,
    'rbd-randread-2': WorkloadClass.READ_MOSTLY,
    'rbd-randwrite': WorkloadClass.RBD_SMALL_WRITE,
    'rbd-seqwrite': WorkloadClass.LARGE_WRITE,
    'reef-rbd-randwrite': WorkloadClass.RBD_SMALL_WRITE,
    'reef-s3-put': WorkloadClass.RGW_METADATA,
    's3-delete': WorkloadClass.RGW_METADATA,
    's3-large-put': WorkloadClass.LARGE_WRITE,
    's3-list': WorkloadClass.READ_MOSTLY,
    's3-put': WorkloadClass.RGW_METADATA,
    's3-put-2': WorkloadClass.RGW_METADATA,
    's3-put-3': WorkloadClass.RGW_METADATA,
    'tentacle-rbd-randwrite': WorkloadClass.RBD_SMALL_WRITE,
    'tentacle-s3-put': WorkloadClass.RGW_METADATA,
}


def named(name: str, offset_s: float = 0.0) -> list[tuple[float, WorkloadClass, float]]:
    """(seconds since the start of the client, class, confidence) of the group at each tick."""
    return seen_in(replay.load(name), offset_s)


def seen_in(
    recording: replay.Recording, offset_s: float = 0.0
) -> list[tuple[float, WorkloadClass, float]]:
    classifier, cluster_map = Classifier(), recording.cluster_map()
    samples = []
    for now_s, signals in recording.play(offset_s):
        found = classifier.recognize(signals, cluster_map, now_s).per_group
        if replay.DEVICE_CLASS in found:
            workload = found[replay.DEVICE_CLASS]
            since_s = now_s - recording.load_start_s
            samples.append((since_s, workload.workload_class, workload.confidence))
    return samples


@pytest.mark.parametrize('offset_s', [0.0, 2.5, 5.0, 7.5])
@pytest.mark.parametrize(
    'name',
    [
        'rbd-randwrite',
        's3-put',
        's3-put-2',
        's3-put-3',
        'rbd-seqwrite',
        's3-large-put',
        'reef-rbd-randwrite',
        'reef-s3-put',
        'tentacle-rbd-randwrite',
        'tentacle-s3-put',
    ],
)
def test_immediately_started_clients_are_classified_within_60_s_with_confidence(
    name: str, offset_s: float
) -> None:
    samples = [look for look in named(name, offset_s) if look[1] is EXPECTED[name]]
    since_s, _, confidence = samples[0]
    assert since_s <= 60
    assert confidence >= 0.8


def test_small_writes_of_rbd_and_cephfs_are_not_guessed() -> None:
    """Both really ran with pools of the other."""
    guesses = {WorkloadClass.RBD_SMALL_WRITE, WorkloadClass.CEPHFS_METADATA}
    for name in ('rbd-randwrite-2', 'cephfs-metadata'):
        classes = {c for _, c, _ in named(name)}
        assert WorkloadClass.UNKNOWN in classes
        assert not classes & guesses


def test_cephfs_is_classified_once_its_journal_is_trimmed() -> None:
    """Until then, the first minute, a metadata server only writes large pieces of a journal."""
    samples = seen_in(replay.load('cephfs-metadata').without_pools_of('rbd'))
    client = [c for since_s, c, _ in samples if 0 < since_s < 133 and c is not WorkloadClass.IDLE]
    assert client[0] is WorkloadClass.LARGE_WRITE
    assert client[-1] is WorkloadClass.CEPHFS_METADATA
    assert set(client) <= {
        WorkloadClass.LARGE_WRITE,
        WorkloadClass.CEPHFS_METADATA,
        WorkloadClass.UNKNOWN,
    }


@pytest.mark.parametrize('name', sorted(set(EXPECTED) - {'idle', 'rbd-randread'}))
def test_cluster_is_idle_before_and_well_after_a_client(name: str) -> None:
    recording = replay.load(name)
    end_s = recording.load_end_s - recording.load_start_s
    samples = named(name)
    before = {c for since_s, c, _ in samples if -15 < since_s < 0}
    after = {c for since_s, c, _ in samples if since_s > end_s + 60}
    assert before <= {WorkloadClass.IDLE, WorkloadClass.UNKNOWN}
    assert after <= {WorkloadClass.IDLE}


def test_recovery_is_classified_and_is_no_client() -> None:
    """osd.2 returned after clients wrote without it; the cluster was idle then."""
    groups = [c for _, c, _ in named('recovery')]
    assert WorkloadClass.RECOVERY in groups
    assert set(groups) <= {WorkloadClass.RECOVERY, WorkloadClass.IDLE, WorkloadClass.UNKNOWN}
    assert groups[-1] is WorkloadClass.IDLE
