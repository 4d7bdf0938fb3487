"""Single decisions about experiments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.judge.arms import Answer, ArmResult, Comparison, Conclusion, Contrast
from rocksdb_tuner.judge.records import Effect, SignalVerdict
from rocksdb_tuner.operations.experiment import driving, judging
from rocksdb_tuner.operations.experiment.driving import View
from rocksdb_tuner.operations.experiment.machine import ExperimentMachine
from rocksdb_tuner.operations.experiment.records import DroppedArm, ExperimentState, LegKind, Stage
from rocksdb_tuner.operations.experiment.wording import in_words
from rocksdb_tuner.operations.phases import Outcome, Phase
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


def test_change_that_cannot_start_ends_the_experiment(
    run: ExperimentRun, changing: ExperimentState
) -> None:
    """And is not tried again and again."""
    leg = changing.leg
    assert leg is not None
    failed = replace(leg, stage=Phase.FAILED, outcome=Outcome.FAILED, failure='it could not')
    state = replace(changing, leg=failed)
    found = driving._leg_failed(ROLLOUTS, state, failed, 'it could not', seen(run), 1.0)
    assert (found.stage, found.failure) == (Stage.FAILED, 'it could not')


def result(name: str, estimate: float, half: float) -> ArmResult:
    gain = Contrast(estimate, estimate - half, estimate + half)
    return ArmResult(name, gain, (SignalVerdict('kv_sync_ms_per_txn', Effect.UNCLEAR),))


def test_no_conclusion_about_lost_arms(changing: ExperimentState) -> None:
    lost = tuple(DroppedArm(arm.name, 'lost', (), 1, 1) for arm in changing.request.arms)
    results = tuple(result(arm.name, 0.0, 0.01) for arm in changing.request.arms)
    state = judging.concluded(replace(changing, dropped=lost, results=results), over=True)
    assert state.conclusion == Conclusion(Answer.UNCLEAR)


def test_old_trace_is_thinned_out(changing: ExperimentState) -> None:
    arms = tuple(result(arm.name, 0.0, 9.0) for arm in changing.request.arms)
    names = [arm.name for arm in arms]
    pairs = {(a, b): Contrast(0.0) for a in names for b in names if a != b}
    comparison = Comparison(arms, pairs)
    state = changing
    for number in range(judging.TRACE_MAX + 5):
        state = judging.compared(replace(state, blocks=number), comparison, float(number))
    assert len(state.trace) <= judging.TRACE_MAX
    assert (state.trace[0].block, state.trace[-1].block) == (0, judging.TRACE_MAX + 4)


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
