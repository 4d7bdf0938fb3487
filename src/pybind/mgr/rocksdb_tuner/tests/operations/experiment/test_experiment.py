"""Experiments from their start to their end."""

from __future__ import annotations

from rocksdb_tuner.judge.arms import Answer
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.tests.fake_cluster import DEFAULTS

from .conftest import ExperimentRun


def test_better_string_is_found_and_everything_restored(run: ExperimentRun) -> None:
    """The worse arm ends early, the better one wins, and no entry is left."""
    run.begin()
    state = run.finish()
    assert state.outcome is Outcome.DONE
    assert state.conclusion is not None
    assert (state.conclusion.answer, state.conclusion.winner) == (Answer.WINNER, 'fast')
    assert [arm.name for arm in state.dropped] == ['slow']
    assert run.cluster.entries_of() == {}
    assert {run.cluster.runs(n) for n in run.cluster.osds} == {DEFAULTS['pacific']}
    run.tick()
    assert [found.experiment_id for found in run.winners] == ['E1']
    assert [record.rollout_id for record in run.driver.history] == ['E1']
