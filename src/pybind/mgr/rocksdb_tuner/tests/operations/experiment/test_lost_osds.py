"""OSDs that leave an experiment, and gates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.operations.experiment.records import LegKind, Stage
from rocksdb_tuner.operations.phases import Outcome

from .conftest import (
    ExperimentRun,
    measuring,
    plan,
    request,
    restored,
)


@pytest.mark.parametrize('osd_id', [3, 7])
def test_osd_that_is_removed_ends_the_experiment(run: ExperimentRun, osd_id: int) -> None:
    """Of an arm as well as a control: the plan no longer matches the cluster."""
    run.begin(request(plan(blocks=9), min_effect=0.0001))
    run.come_to(measuring)
    run.cluster.purge(osd_id)
    state = run.finish()
    assert (state.outcome, state.crashed) == (Outcome.FAILED, ())
    assert state.failure == f'osd.{osd_id} was removed from the cluster'
    assert f'osd.{osd_id}' not in run.cluster.entries_of()
    assert restored(run)


def test_recreated_osd_has_no_entry_of_an_arm(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9)))
    run.come_to(measuring)
    run.cluster.recreate(3)
    state = run.finish()
    assert 'osd.3 was removed and recreated' in (state.failure or '')
    assert (state.outcome, state.crashed) == (Outcome.FAILED, ())
    assert run.cluster.entries_of() == {}


def test_control_down_and_out_is_awaited_and_then_ends_the_experiment(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9)))
    run.come_to(measuring)
    run.cluster.mark_out(7)
    run.come_to(lambda state: state.paused_reason == 'osd.7 is down')
    state = run.finish()
    assert state.failure == 'osd.7 is down and out'
    assert restored(run, 7)


def test_nothing_is_measured_while_an_osd_is_down_from_the_first_sample_on(
    run: ExperimentRun,
) -> None:
    """Before placement groups are reported as degraded, in the baseline as later."""
    run.begin(request(plan(blocks=9)))
    for stage in (Stage.BASELINE, Stage.MEASURING):
        run.come_to(lambda state, stage=stage: state.stage is stage)  # type: ignore[misc]
        run.cluster.stop_osd(7)
        run.tick()
        assert run.now.paused_reason == 'osd.7 is down'
        run.cluster.start_osd(7)
        run.come_to(lambda state: state.paused_reason is None)


def test_losing_an_osd_in_the_baseline_ends_the_experiment_without_a_change(
    run: ExperimentRun,
) -> None:
    run.begin(request(plan(('fast',), columns=((0, 3),), blocks=9)))
    run.come_to(lambda state: state.stage is Stage.BASELINE)
    run.cluster.purge(3)
    state = run.finish()
    assert (state.outcome, state.legs) == (Outcome.FAILED, 0)


def test_osd_removed_before_its_change_ends_the_experiment(run: ExperimentRun) -> None:
    run.begin()
    run.come_to(lambda state: state.leg_kind is LegKind.CHANGE)
    run.outside_window = 'closed'
    run.come_to(lambda state: state.paused_reason == 'closed')
    run.cluster.purge(6)
    state = run.finish()
    assert state.failure == 'osd.6 was removed from the cluster'
    assert restored(run)


def test_gates_hold_a_change(run: ExperimentRun) -> None:
    run.begin()
    run.cluster.flags.add('noout')
    state = run.come_to(lambda state: state.leg is not None and state.paused_reason is not None)
    assert 'noout' in (state.paused_reason or '')
    run.cluster.flags.clear()
    assert run.finish().outcome is Outcome.DONE


def test_experiment_is_paused_by_the_state_alone(run: ExperimentRun) -> None:
    """A pause before its start is kept."""
    run.begin()
    run.experiment.pause('client.a', run.cluster.now_s)
    run.tick()
    assert replace(run.now, updated_s=0.0).paused_reason == 'paused by client.a'
