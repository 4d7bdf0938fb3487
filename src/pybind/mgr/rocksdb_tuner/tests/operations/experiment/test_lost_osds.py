"""OSDs that leave an experiment, and gates."""

from __future__ import annotations

from dataclasses import replace

from rocksdb_tuner.judge.arms import Answer
from rocksdb_tuner.operations.experiment.records import LegKind, Stage
from rocksdb_tuner.operations.phases import Outcome

from .conftest import (
    ExperimentRun,
    measuring,
    plan,
    request,
    restored,
)

OPERATORS = 'write_buffer_size=33554432'


def test_arm_that_loses_an_osd_is_dropped_and_the_others_continue(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9), min_effect=0.0001))
    run.come_to(measuring)
    run.cluster.purge(3)
    state = run.come_to(lambda state: bool(state.dropped))
    assert [(arm.name, arm.reason) for arm in state.dropped] == [
        ('fast', 'only 1 of its OSDs are left, and it needs 2')
    ]
    run.come_to(lambda state: state.leg is None and measuring(state))
    assert 'osd.3' not in run.cluster.entries_of()
    state = run.finish()
    assert 'osd.3 was removed from the cluster' in (state.failure or '')
    assert restored(run)


def test_recreated_osd_has_no_entry_of_an_arm(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9)))
    run.come_to(measuring)
    run.cluster.recreate(3)
    state = run.finish()
    assert 'osd.3 was removed and recreated' in (state.failure or '')
    assert (state.outcome, state.crashed) == (Outcome.DONE, ())
    assert run.cluster.entries_of() == {}


def test_osd_down_and_out_is_awaited_and_then_left_behind(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9)))
    run.come_to(measuring)
    run.cluster.mark_out(3)
    state = run.come_to(lambda state: state.paused_reason is not None)
    assert 'the experiment will continue without it unless it returns' in (
        state.paused_reason or ''
    )
    state = run.finish()
    assert 'osd.3 is down and out' in (state.failure or '')
    assert restored(run, 3)


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


def test_too_few_controls_end_the_experiment(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9)))
    run.come_to(measuring)
    run.cluster.purge(5)
    run.cluster.purge(7)
    state = run.finish()
    assert state.conclusion is not None
    assert state.conclusion.answer is Answer.UNCLEAR
    assert 'only 1 of its controls are left, and it needs 2' in (state.failure or '')
    assert restored(run)


def test_losing_all_arms_in_the_baseline_ends_the_experiment_without_a_change(
    run: ExperimentRun,
) -> None:
    run.begin(request(plan(('fast',), columns=((0, 3),), blocks=9)))
    run.come_to(lambda state: state.stage is Stage.BASELINE)
    run.cluster.purge(3)
    state = run.finish()
    assert state.conclusion is not None
    assert (state.conclusion.answer, state.legs) == (Answer.UNCLEAR, 0)


def test_absent_first_osd_of_a_change_is_left_behind(run: ExperimentRun) -> None:
    run.begin(request(plan(('fast', 'slow'), columns=((0, 3, 6), (1, 4, 7)), controls=(2, 5, 8))))
    run.come_to(lambda state: state.leg_kind is LegKind.CHANGE)
    run.outside_window = 'closed'
    run.come_to(lambda state: state.paused_reason == 'closed')
    first = run.now.leg
    assert first is not None
    run.cluster.purge(first.request.order[0])
    run.tick()
    run.outside_window = None
    run.come_to(measuring)
    assert [osd.osd_id for osd in run.now.osds if osd.lost] == [first.request.order[0]]
    assert run.finish().outcome is Outcome.DONE


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
