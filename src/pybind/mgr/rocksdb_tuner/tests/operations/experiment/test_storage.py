"""Stored experiments: what is read back is what was written, and nothing else is believed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable

import pytest

from rocksdb_tuner.judge.evidence import Block, Measured
from rocksdb_tuner.operations.experiment.records import ExperimentState, LegKind
from rocksdb_tuner.operations.experiment.storage import (
    BLOCKS,
    CURRENT,
    ExperimentStorage,
    contradictions,
)
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.store.stored import BROKEN

from .conftest import ExperimentRun, plan, request


@pytest.fixture
def changing(run: ExperimentRun) -> ExperimentState:
    run.begin()
    return run.come_to(lambda state: state.leg_kind is LegKind.CHANGE)


def test_every_experiment_state_round_trips(run: ExperimentRun) -> None:
    run.begin(request(plan(periods=2, blocks=2)))
    while not run.now.recorded:
        run.tick()
        assert ExperimentStorage(run.store).load() == run.now
    assert run.now.comparison is not None
    assert run.now.trace


@pytest.mark.parametrize(
    ('change', 'reported'),
    [
        (lambda s: replace(s, request=replace(s.request, arms=())), 'names an arm twice'),
        (lambda s: replace(s, request=replace(s.request, arms=s.request.arms[:2])), 'an arm that'),
        (lambda s: replace(s, osds=s.osds[:-1]), '"osds" does not match'),
        (lambda s: replace(s, before=replace(s.before, osds=())), '"before.osds"'),
        (lambda s: replace(s, osds=(replace(s.osds[0], arm='x'), *s.osds[1:])), 'names an arm'),
        (lambda s: replace(s, period=7), '"period"'),
        (lambda s: replace(s, assigned=()), '"period"'),
        (lambda s: replace(s, leg_kind=None), '"leg" and "leg_kind"'),
        (
            lambda s: replace(s, leg=replace(s.leg, request=replace(s.leg.request, order=(99,)))),
            'outside the experiment',
        ),
        (lambda s: replace(s, outcome=Outcome.DONE), '"outcome" and "stage"'),
        (lambda s: replace(s, leg=replace(s.leg, osds=())), '"osds" does not match'),
    ],
)
def test_contradictory_state_is_rejected(
    changing: ExperimentState, change: Callable[[Any], ExperimentState], reported: str
) -> None:
    assert list(contradictions(changing)) == []
    assert any(reported in text for text in contradictions(change(changing)))


def test_unreadable_state_is_reported_and_restored_paused(run: ExperimentRun) -> None:
    run.begin()
    run.come_to(lambda state: state.leg is not None)
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


def test_block_is_stored_with_five_digits(run: ExperimentRun) -> None:
    block = Block({3: Measured(op_w_latency_ms=1.234567), 1: Measured(slow_ops=2.0)})
    storage = ExperimentStorage(run.store)
    for number in (0, 1):
        storage.save_block('E1', 2, number, block)
    storage.save_block('E2', 0, 0, block)
    rounded = Block({1: Measured(slow_ops=2.0), 3: Measured(op_w_latency_ms=1.2346)})
    assert storage.load_blocks('E1') == {2: (rounded, rounded)}
    good = run.store.values[f'{BLOCKS}2/000001']
    run.store.values[f'{BLOCKS}2/000001'] = 'damaged'
    assert {n: len(b) for n, b in storage.load_blocks('E1').items()} == {2: 1}
    assert storage.problems()
    run.store.values[f'{BROKEN}{BLOCKS}2/000001'] = good
    run.store.values[f'{BROKEN}experiment/other'] = 'kept'
    storage.restore_readable(lambda state: state)
    assert {n: len(b) for n, b in storage.load_blocks('E1').items()} == {2: 2}
    storage.forget_blocks()
    assert storage.load_blocks('E1') == {}


def test_ended_experiment_is_restored_unchanged(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=1)))
    run.finish()
    run.tick()
    ended = run.now
    run.store.values[BROKEN + CURRENT] = run.store.values.pop(CURRENT)
    run.fail_over()
    assert run.now == ended
