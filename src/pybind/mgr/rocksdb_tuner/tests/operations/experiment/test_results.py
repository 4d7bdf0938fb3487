"""The inputs of an experiment, and which of its results count as evidence."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest

from rocksdb_tuner.judge.arms import Answer
from rocksdb_tuner.judge.predictions import PredictionResult
from rocksdb_tuner.operations.errors import OperationRefused
from rocksdb_tuner.operations.experiment.admission import request_of
from rocksdb_tuner.operations.experiment.results import measured_arms, record_of
from rocksdb_tuner.operations.rollout.history import comparisons, track_record
from rocksdb_tuner.tests.present import experiment_samples as experiments
from rocksdb_tuner.tests.present import samples
from rocksdb_tuner.tests.present.experiment_samples import BEST, OBJECTIVE, OTHER


def test_request_equals_the_plan() -> None:
    planned = experiments.possible()
    found = request_of(planned, 'client.admin', adopt=True)
    assert found.plan is planned.plan
    assert (found.who, found.actor, found.adopt) == ('osd/class:ssd', 'client.admin', True)
    assert [(arm.name, arm.options) for arm in found.arms] == [
        (arm.name, arm.options) for arm in planned.arms
    ]
    assert [arm.predicted for arm in found.arms] == [arm.predicted for arm in planned.arms]
    assert (found.objective, found.min_effect) == (planned.objective, planned.min_effect)
    assert (found.max_duration_s, found.from_options) == (43200.0, planned.from_options)
    assert (found.fill_s, found.release, found.workload) == (
        planned.fill_s,
        'pacific',
        'rbd-small-write',
    )


def test_nothing_starts_without_a_plan() -> None:
    with pytest.raises(OperationRefused, match='not possible here: 2 arms of 2') as error:
        request_of(experiments.impossible(), 'client.admin', adopt=False)
    assert error.value.errno == errno.EINVAL


def test_bounded_effects_of_all_arms_are_evidence() -> None:
    record = record_of(experiments.ended())
    best, other = measured_arms([*samples.HISTORY, record])
    assert (best.name, best.won, best.options) == (BEST, True, samples.LZ4)
    assert (best.experiment_id, best.time_s, best.who) == ('E7', record.time_s, 'osd/class:ssd')
    assert (best.release, best.workload, best.signal) == ('pacific', 'rbd-small-write', OBJECTIVE)
    assert (best.change_percent, best.low_percent, best.high_percent) == (-12.5, -18.1, -6.3)
    assert best.options_from == samples.PACIFIC_DEFAULT
    assert (other.name, other.won, other.change_percent) == (OTHER, False, 31.0)
    lost = record_of(experiments.ended(Answer.NO_GAIN))
    assert [arm.won for arm in measured_arms([lost])] == [False, False]


def test_unbounded_results_and_unknown_releases_are_no_evidence() -> None:
    state = experiments.ended()
    open_ended = replace(state.results[0], gain=experiments.contrast(-12.5))
    nothing = replace(state.results[1], gain=None)
    assert measured_arms([record_of(replace(state, results=(open_ended, nothing)))]) == ()
    unknown = replace(state, request=replace(state.request, release=None))
    assert measured_arms([record_of(unknown)]) == ()


def test_predictions_of_arms_join_the_track_record() -> None:
    """An experiment is no change, but each predicted arm is a comparison."""
    record = record_of(experiments.ended())
    (found,) = comparisons(record)
    assert (found.signal, found.result) == (OBJECTIVE, PredictionResult.RIGHT)
    assert (found.predicted_low_percent, found.measured_percent) == (-30.0, -12.5)
    before = track_record(samples.HISTORY)
    after = track_record([*samples.HISTORY, record])
    assert (after.changes, after.compared) == (before.changes, before.compared + 1)
    assert after.held == before.held + 1
    assert after.not_compared == before.not_compared
    open_ended = replace(experiments.ended().results[0], gain=experiments.contrast(-12.5))
    assert comparisons(record_of(replace(experiments.ended(), results=(open_ended,)))) == ()
