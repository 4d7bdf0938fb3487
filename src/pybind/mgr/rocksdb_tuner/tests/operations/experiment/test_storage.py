"""Stored experiments: what is read back is what was written, and nothing else is believed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable

import pytest

from rocksdb_tuner.operations.experiment.measuring import (
    BLOCKS,
    CURRENT,
    Measurements,
    Measuring,
    contradictions,
    stored_experiment,
)
from rocksdb_tuner.operations.experiment.records import ExperimentState, with_arms
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.store.stored import BROKEN, Quarantine, Stored

from .conftest import (
    ExperimentRun,
    changing,
    plan,
)


@pytest.fixture
def in_leg(run: ExperimentRun) -> ExperimentState:
    run.begin()
    return run.come_to(changing)


def test_every_experiment_state_round_trips(run: ExperimentRun) -> None:
    run.begin(plan(blocks=2))
    while not run.now.recorded:
        run.tick()
        assert stored_experiment(run.store).load() == run.now
    assert all(arm.signals for arm in run.now.arms)


@pytest.mark.parametrize(
    ('change', 'reported'),
    [
        (lambda s: with_arms(s, s.arms[:2]), '"osds" does not match'),
        (lambda s: replace(s, osds=s.osds[:-1]), '"osds" does not match'),
        (lambda s: replace(s, before=replace(s.before, osds=())), '"before.osds"'),
        (lambda s: replace(s, osds=(s.osds[1], *s.osds[1:])), '"osds"'),
        (
            lambda s: replace(s, leg=replace(s.leg, request=replace(s.leg.request, order=(99,)))),
            'outside the experiment',
        ),
        (lambda s: replace(s, outcome=Outcome.DONE), '"outcome" and "stage"'),
        (lambda s: replace(s, leg=replace(s.leg, osds=())), '"osds" does not match'),
    ],
)
def test_contradictory_state_is_rejected(
    in_leg: ExperimentState, change: Callable[[Any], ExperimentState], reported: str
) -> None:
    assert list(contradictions(in_leg)) == []
    assert any(reported in text for text in contradictions(change(in_leg)))


def test_unreadable_state_is_reported_and_restored_paused(run: ExperimentRun) -> None:
    run.begun(lambda state: state.leg is not None)
    kept = run.store.values[CURRENT]
    run.store.values[CURRENT] = 'damaged'
    run.fail_over()
    assert run.experiment.state is None
    assert 'OSDs may still have the option strings of its arms' in run.experiment.problems[0]
    # As after a downgrade that is undone.
    run.store.values[BROKEN + CURRENT] = kept
    run.fail_over()
    assert run.now.paused_by == 'the module'
    assert run.experiment.problems == ()


def test_blocks_are_stored_with_five_digits(run: ExperimentRun) -> None:
    run.begun(lambda state: state.blocks == 2)
    found = Stored(run.store, BLOCKS, Measurements).load()
    assert found is not None
    assert (len(found.before), found.after) == (2, ())
    latency = found.before[0].of(0).op_w_latency_ms
    assert latency == float(f'{latency:.5g}')

    def known(experiment_id: str = 'E1') -> Measurements:
        """To a manager that takes over."""
        state = replace(run.now, experiment_id=experiment_id)
        return Measuring(run.store, Quarantine(run.store)).known(state)

    assert (known(), known('E2')) == (found, Measurements('E2'))
    good = run.store.values[BLOCKS]
    run.store.values[BLOCKS] = 'damaged'
    assert known() == Measurements('E1')
    run.store.values[f'{BROKEN}{BLOCKS}'] = good
    assert known() == found


def test_ended_experiment_is_restored_unchanged(run: ExperimentRun) -> None:
    run.begin(plan(blocks=1))
    run.finish()
    run.tick()
    ended = run.now
    run.store.values[BROKEN + CURRENT] = run.store.values.pop(CURRENT)
    run.fail_over()
    assert run.now == ended
