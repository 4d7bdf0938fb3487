"""The inputs of an experiment, and which of its results count as evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.arms import Answer, Conclusion
from rocksdb_tuner.judge.predictions import PredictionResult
from rocksdb_tuner.judge.records import Effect, SignalVerdict
from rocksdb_tuner.operations.experiment.announce import in_words, measured_arms, record_of
from rocksdb_tuner.operations.experiment.records import with_arms
from rocksdb_tuner.operations.history import comparisons, track_record
from rocksdb_tuner.tests.present import experiment_samples as experiments
from rocksdb_tuner.tests.present import samples
from rocksdb_tuner.tests.present.experiment_samples import BEST, OBJECTIVE, OTHER

UNBOUNDED = SignalVerdict(OBJECTIVE, Effect.BETTER, -39.0)


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
    open_ended = replace(state.arms[0], signals=(UNBOUNDED,))
    nothing = replace(state.arms[1], signals=())
    assert measured_arms([record_of(with_arms(state, (open_ended, nothing)))]) == ()
    unknown = replace(state, request=replace(state.request, release=None))
    assert measured_arms([record_of(unknown)]) == ()
    record = record_of(state)
    assert record.experiment is not None
    later = replace(record.experiment, objective='of a later version')
    assert measured_arms([replace(record, experiment=later)]) == ()


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
    state = experiments.ended()
    open_ended = replace(state.arms[0], signals=(UNBOUNDED,))
    assert comparisons(record_of(with_arms(state, (open_ended, state.arms[1])))) == ()


@pytest.mark.parametrize(
    ('conclusion', 'words'),
    [
        (None, None),
        (Conclusion(Answer.NO_DIFFERENCE, within=0.042), 'by more than 5%.'),
        (Conclusion(Answer.NO_DIFFERENCE), 'by more than 10%.'),
        (
            Conclusion(Answer.FAILED),
            f'An OSD with {BEST} or {OTHER} crashed or did not start.',
        ),
    ],
)
def test_conclusion_is_in_sentences(conclusion: Optional[Conclusion], words: Optional[str]) -> None:
    """The others are among the samples of answers."""
    state = experiments.ended()
    state = with_arms(state, (replace(arm, crashed=True) for arm in state.arms))
    found = in_words(replace(state, conclusion=conclusion))
    assert found == words or (words is not None and (found or '').endswith(words))


def test_winner_without_bounds_is_said_to_be_unbounded() -> None:
    state = experiments.ended()
    open_ended = replace(state.arms[0], signals=(UNBOUNDED,))
    state = with_arms(state, (open_ended, state.arms[1]))
    found = in_words(replace(state, conclusion=Conclusion(Answer.WINNER, BEST)))
    assert (
        found == f'{BEST} is better than the old options: kv_sync time per write -39% (unbounded).'
    )
