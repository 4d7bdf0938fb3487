"""Workload thresholds: the committed ones are within the recorded ranges."""

from __future__ import annotations

import pytest

from harness import workload_thresholds
from harness.workload_thresholds import Range, Side, Window
from rocksdb_tuner.tests.workload import replay
from rocksdb_tuner.workload.classify import Activity
from rocksdb_tuner.workload.records import Thresholds, thresholds

#: Thresholds that do not separate windows: the number of operations for certain shares.
CHOSEN = {'full_confidence_ops_per_s'}


@pytest.fixture(scope='module')
def found() -> dict[str, Range]:
    seen = workload_thresholds.windows(workload_thresholds.recordings())
    return {one.threshold: one for one in workload_thresholds.ranges(seen)}


@pytest.mark.parametrize('name', sorted(set(Thresholds._fields) - CHOSEN))
def test_kept_threshold_is_between_the_recordings(name: str, found: dict[str, Range]) -> None:
    one = found[name]
    assert one.below.nearest < one.value <= one.above.nearest


def test_threshold_without_a_recording_is_five_times_the_noise() -> None:
    kept = thresholds()
    assert kept.full_confidence_ops_per_s == 5 * kept.noise_ops_per_s


def test_no_threshold_is_derived_from_an_evaluation_run() -> None:
    parts = {replay.load(name).part for name in workload_thresholds.recordings()}
    assert parts == {'', 'set'}
    held_out = {name for name in replay.campaign() if replay.load(name).part == 'held-out'}
    assert held_out
    assert not held_out & set(workload_thresholds.recordings())


def window(truth: str, operations_per_s: float) -> Window:
    done = Activity(1, 30.0, operations_per_s, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return Window('made', truth, truth, done, 0.0)


def test_nearest_window_of_each_side_bounds_a_threshold() -> None:
    boundary = workload_thresholds.BOUNDARIES['noise_ops_per_s']
    seen = [window('idle', n) for n in (2, 7, 5)] + [window('mixed', n) for n in (90, 40, 60)]
    below = workload_thresholds.side(boundary.signal, boundary.below, seen, largest=True)
    above = workload_thresholds.side(boundary.signal, boundary.above, seen, largest=False)
    assert (below.nearest, below.windows) == (7, 3)
    assert (above.nearest, above.windows) == (40, 3)


@pytest.mark.parametrize(('value', 'holds'), [(7, False), (7.1, True), (40, True), (41, False)])
def test_threshold_is_above_one_side_and_up_to_the_other(value: float, holds: bool) -> None:
    one = Range('made', value, Side(3, 7, 'a', 'idle'), Side(3, 40, 'b', 'mixed'))
    assert one.holds is holds
