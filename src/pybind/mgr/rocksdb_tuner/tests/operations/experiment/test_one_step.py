"""Single decisions about experiments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.judge.arms import Answer, Conclusion, Contrast
from rocksdb_tuner.operations.experiment.machine import ExperimentMachine, View
from rocksdb_tuner.operations.experiment.records import ExperimentState, LegKind, Stage
from rocksdb_tuner.operations.experiment.results import in_words
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout.machine import Machine
from rocksdb_tuner.operations.rollout.rules import Observation
from rocksdb_tuner.tests.operations.rollout.conftest import same_meaning

from .conftest import ExperimentRun

ROLLOUTS = Machine(same_meaning)


@pytest.fixture
def changing(run: ExperimentRun) -> ExperimentState:
    """Before the first OSD is changed."""
    run.begin()
    run.cluster.flags.add('noout')
    return run.come_to(lambda state: state.leg_kind is LegKind.CHANGE)


def seen(run: ExperimentRun) -> Observation:
    cluster = run.cluster
    return Observation(
        cluster.cluster_map(),
        cluster.pg_summary(),
        frozenset(),
        entries=cluster.entries_of(),
        other_entries={},
        watched_s=100.0,
    )


def test_ended_experiment_does_not_change(run: ExperimentRun, changing: ExperimentState) -> None:
    ended = replace(changing, stage=Stage.DONE, leg=None, leg_kind=None, outcome=Outcome.DONE)
    step = ExperimentMachine(ROLLOUTS).step(ended, View(seen(run)), 1.0)
    assert (step.state, step.actions) == (ended, ())


@pytest.mark.parametrize(
    ('conclusion', 'reported'),
    [
        (None, None),
        (
            Conclusion(Answer.NO_GAIN),
            'No arm is better than the old options by 10% or more.',
        ),
        (
            Conclusion(Answer.NO_DIFFERENCE, within=0.07),
            'No arm differs from the old options by more than 7%.',
        ),
        (
            Conclusion(Answer.NO_DIFFERENCE, within=0.042),
            'No arm differs from the old options by more than 5%.',
        ),
        (
            Conclusion(Answer.NO_DIFFERENCE),
            'No arm differs from the old options by more than 10%.',
        ),
        (
            Conclusion(Answer.FAILED, failed=('a', 'b')),
            'An OSD with a or b crashed or did not start.',
        ),
        (Conclusion(Answer.WINNER, 'fast'), 'fast is better than the old options.'),
        (
            Conclusion(Answer.WINNER, 'fast', gain=Contrast(-0.5)),
            'fast is better than the old options: kv_sync time per write -39% (unbounded).',
        ),
    ],
)
def test_conclusion_is_in_sentences(
    changing: ExperimentState, conclusion: Conclusion, reported: str
) -> None:
    assert in_words(replace(changing, conclusion=conclusion)) == reported
