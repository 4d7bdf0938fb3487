"""The plan of recordings, and how their times are printed."""

from __future__ import annotations

from collections import Counter

from harness.record_set import _path
from harness.recording_plan import CLUSTERS, HELD_OUT, RUNS, SET
from harness.workloads import complete
from rocksdb_tuner.tests.workload import replay
from rocksdb_tuner.workload.records import WorkloadClass

CLASSES = {workload_class.value for workload_class in WorkloadClass}


def test_every_run_has_a_unique_name_a_part_and_a_cluster() -> None:
    assert max(Counter(run.name for run in RUNS).values()) == 1
    assert {run.part for run in RUNS} == {SET, HELD_OUT}
    assert {run.cluster for run in RUNS} == set(CLUSTERS)


def test_every_label_is_a_class_and_every_client_takes_its_parameters() -> None:
    for run in RUNS:
        for step in run.steps:
            assert set(step.labels) <= CLASSES
            for client in step.clients:
                complete(client.name, step.seconds, client.parameters)


def test_every_recording_belongs_to_its_planned_part() -> None:
    """A recording that judges must never have been one that sets thresholds."""
    planned = {run.name: run.part for run in RUNS}
    for name in replay.campaign():
        assert replay.load(name).part == planned[name]
        assert _path(next(r for r in RUNS if r.name == name), replay.DATA).exists()
