"""Workloads of real clients, recorded on a real cluster, named within a minute."""

from __future__ import annotations

import pytest

from rocksdb_tuner.workload.recogniser import Recogniser
from rocksdb_tuner.workload.records import WorkloadClass

from . import replay

#: What a client does once it has filled what it works on.
EXPECTED = {
    'idle': WorkloadClass.IDLE,
    'rbd-randread': WorkloadClass.READ_MOSTLY,
    'rbd-randwrite': WorkloadClass.RBD_SMALL_WRITE,
    'rbd-seqwrite': WorkloadClass.LARGE_WRITE,
    's3-delete': WorkloadClass.RGW_METADATA,
    's3-large-put': WorkloadClass.LARGE_WRITE,
    's3-list': WorkloadClass.READ_MOSTLY,
    's3-put': WorkloadClass.RGW_METADATA,
}


def named(name: str) -> list[tuple[float, WorkloadClass, float]]:
    """(seconds since the start of the client, class, confidence) of the group at each tick."""
    recording = replay.load(name)
    recogniser, cluster_map = Recogniser(), recording.cluster_map()
    looks = []
    for now_s, signals in recording.play():
        found = recogniser.recognise(signals, cluster_map, now_s).per_group
        if replay.DEVICE_CLASS in found:
            workload = found[replay.DEVICE_CLASS]
            since_s = now_s - recording.load_start_s
            looks.append((since_s, workload.workload_class, workload.confidence))
    return looks


@pytest.mark.parametrize('name', sorted(EXPECTED))
def test_a_recorded_client_is_named(name: str) -> None:
    recording = replay.load(name)
    length_s = recording.load_end_s - recording.load_start_s
    during = [
        c
        for since_s, c, confidence in named(name)
        if 0 < since_s < length_s + 30 and confidence >= 0.75
    ]
    assert EXPECTED[name] in during


@pytest.mark.parametrize('name', ['rbd-randwrite', 's3-put', 'rbd-seqwrite', 's3-large-put'])
def test_clients_that_begin_at_once_are_named_within_60_s_with_confidence(name: str) -> None:
    looks = [look for look in named(name) if look[1] is EXPECTED[name]]
    since_s, _, confidence = looks[0]
    assert since_s <= 60
    assert confidence >= 0.8


@pytest.mark.parametrize('name', sorted(set(EXPECTED) - {'idle', 'rbd-randread'}))
def test_before_and_well_after_a_client_the_cluster_is_idle(name: str) -> None:
    recording = replay.load(name)
    end_s = recording.load_end_s - recording.load_start_s
    looks = named(name)
    before = {c for since_s, c, _ in looks if -15 < since_s < 0}
    after = {c for since_s, c, _ in looks if since_s > end_s + 60}
    assert before <= {WorkloadClass.IDLE, WorkloadClass.UNKNOWN}
    assert after <= {WorkloadClass.IDLE}


def test_a_client_is_never_taken_for_recovery() -> None:
    for name in replay.names():
        assert WorkloadClass.RECOVERY not in {c for _, c, _ in named(name)}
