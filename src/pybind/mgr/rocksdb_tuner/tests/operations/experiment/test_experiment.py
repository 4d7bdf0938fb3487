"""Experiments from their start to their end."""

from __future__ import annotations

from rocksdb_tuner.judge.arms import Answer
from rocksdb_tuner.operations.experiment.records import Stage
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.tests.fake_cluster import DEFAULTS

from .conftest import STRINGS, ExperimentRun, plan, request


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


def test_every_column_runs_every_arm_in_a_crossover(run: ExperimentRun) -> None:
    """OSDs swap arms between periods."""
    run.clients.factors = {}
    run.begin(request(plan(periods=3, blocks=3), min_effect=0.0001))
    seen: set[tuple[int, str]] = set()
    while not run.now.ended:
        run.tick()
        seen |= {(n, run.cluster.runs(n)) for n in run.cluster.osds}
    assert {(n, STRINGS[name]) for n in (0, 1, 2, 3, 4, 6) for name in STRINGS} <= seen
    assert run.now.stage is Stage.DONE
    assert run.cluster.entries_of() == {}
