"""How experiments end: by what they find, by failures, by operators, by lost OSDs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.judge.winner import Answer
from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations.errors import OperationRefused
from rocksdb_tuner.operations.experiment.records import ExperimentState, LegKind, Stage
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.records import OsdStep
from rocksdb_tuner.operations.rollout.states import in_flight
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, OPTION

from .conftest import SLOW, STRINGS, ExperimentRun, plan, request

OPERATORS = 'write_buffer_size=33554432'


def at_step(state: ExperimentState, step: OsdStep, kind: LegKind = LegKind.CHANGE) -> bool:
    flying = None if state.leg is None else in_flight(state.leg)
    return state.leg_kind is kind and flying is not None and flying.step is step


def measuring(state: ExperimentState) -> bool:
    return state.stage is Stage.MEASURING


def restored(run: ExperimentRun, *but: int) -> bool:
    """Whether OSDs have no entry and run what they ran."""
    osds = set(run.cluster.osds) - set(but)
    entries = {f'osd.{n}' for n in osds} & set(run.cluster.entries_of())
    return not entries and {run.cluster.runs(n) for n in osds} == {DEFAULTS['pacific']}


# -- what it finds


def test_arms_that_differ_by_little_end_it_as_no_difference(run: ExperimentRun) -> None:
    run.clients.factors = {}
    run.begin(
        request(
            plan(('same',), columns=((0, 3, 6),), controls=(4, 5, 7, 8), blocks=8), min_effect=0.5
        )
    )
    state = run.finish()
    assert state.conclusion is not None
    assert state.conclusion.answer is Answer.NO_DIFFERENCE


def test_what_cannot_be_told_is_unclear(run: ExperimentRun) -> None:
    """Nobody writes: nothing is measured, and the plan is followed to its end."""
    run.clients.writes_per_s = 0
    run.begin(request(plan(blocks=1)))
    state = run.finish()
    assert state.conclusion is not None
    assert (state.conclusion.answer, state.outcome) == (Answer.UNCLEAR, Outcome.DONE)
    assert restored(run)


def test_time_that_is_up_ends_it_with_what_is_known(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=50), max_duration_s=1500.0))
    state = run.finish()
    assert state.conclusion is not None
    assert state.stage is Stage.DONE
    assert restored(run)


def test_time_that_is_up_before_anything_was_changed_ends_it_at_once(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=50), max_duration_s=120.0))
    state = run.finish()
    assert state.conclusion is not None
    assert (state.conclusion.answer, state.legs) == (Answer.UNCLEAR, 0)


def test_time_that_is_up_while_no_osd_may_be_begun_ends_it(run: ExperimentRun) -> None:
    run.begin(request(max_duration_s=900.0))
    run.come_to(lambda state: state.leg_kind is LegKind.CHANGE)
    run.outside_window = 'outside the maintenance window'
    state = run.finish()
    assert state.conclusion is not None
    assert state.conclusion.answer is Answer.UNCLEAR
    assert restored(run)


def test_an_arm_that_is_worse_is_restored_while_the_others_are_measured(
    run: ExperimentRun,
) -> None:
    run.clients.factors = {SLOW: 3.0}
    run.begin(request(plan(blocks=12), min_effect=0.001))
    run.come_to(lambda state: bool(state.dropped))
    (dropped,) = run.now.dropped
    assert dropped.name == 'slow'
    assert dropped.reason.startswith('worse: ')
    run.come_to(lambda state: state.leg_kind is LegKind.DROP)
    state = run.come_to(lambda state: state.leg is None)
    assert measuring(state)
    assert {osd.osd_id for osd in state.osds if osd.arm is not None} == {0, 3, 2, 6}
    assert {run.cluster.runs(n) for n in (1, 4)} == {DEFAULTS['pacific']}
    run.finish()
    assert restored(run)


# -- failures


def test_an_osd_that_does_not_start_ends_arm_and_experiment(run: ExperimentRun) -> None:
    run.cluster.refuses_to_start = lambda value: value == SLOW
    run.begin()
    state = run.finish()
    assert (state.stage, state.outcome, state.crashed) == (Stage.FAILED, Outcome.FAILED, ('slow',))
    assert state.conclusion is not None
    assert state.conclusion.answer is Answer.FAILED
    assert 'did not come back up' in (state.failure or '')
    assert restored(run)


def test_an_osd_that_crashes_while_it_is_measured_ends_it(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9)))
    run.come_to(measuring)
    run.tick()
    run.cluster.stop_osd(3)
    state = run.finish()
    assert (state.outcome, state.crashed) == (Outcome.FAILED, ('fast',))
    assert state.failure == 'the process of osd.3 ended by itself'
    assert restored(run)


def test_an_osd_that_crashes_while_others_are_changed_ends_it(run: ExperimentRun) -> None:
    run.begin()
    run.come_to(
        lambda state: (
            state.leg is not None and [o.step for o in state.leg.osds].count(OsdStep.VERIFIED) == 2
        )
    )
    first = run.now.leg
    assert first is not None
    run.cluster.stop_osd(first.request.order[0])
    state = run.finish()
    assert (state.outcome, state.crashed) == (Outcome.FAILED, ('fast',))
    assert restored(run)


def test_an_osd_that_crashes_while_an_arm_is_dropped_ends_it(run: ExperimentRun) -> None:
    run.clients.factors = {SLOW: 3.0}
    run.begin(request(plan(blocks=12), min_effect=0.001))
    run.come_to(lambda state: state.leg_kind is LegKind.DROP)
    run.cluster.stop_osd(0)
    state = run.finish()
    assert (state.outcome, state.crashed) == (Outcome.FAILED, ('fast',))
    assert restored(run)


def test_an_osd_without_effect_ends_it_and_is_no_crash(run: ExperimentRun) -> None:
    run.begin()
    run.come_to(lambda state: at_step(state, OsdStep.RESTARTING))
    run.cluster.osds[0].stubborn = RunningOption(DEFAULTS['pacific'], 'mon', ignores_mon=False)
    state = run.come_to(lambda state: state.ending is not None or state.ended)
    run.cluster.osds[0].stubborn = None
    state = run.finish()
    assert (state.outcome, state.crashed) == (Outcome.FAILED, ())
    assert 'without effect' in (state.failure or '')


def test_a_host_that_reboots_is_no_crash(run: ExperimentRun) -> None:
    """Its OSDs are checked again, and measured after the settle time."""
    run.begin(request(plan(blocks=6), min_effect=0.0001))
    run.come_to(lambda state: measuring(state) and state.blocks > 0)
    for n in (3, 4, 5):
        run.cluster.restart_by_hand(n)
    run.come_to(lambda state: state.leg_kind is LegKind.RECHECK)
    state = run.come_to(lambda state: state.leg is None and not state.settle_due)
    assert state.crashed == ()
    state = run.finish()
    assert state.outcome is Outcome.DONE
    assert restored(run)


def test_an_osd_that_does_not_come_back_with_its_host_ends_its_arm(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9)))
    run.come_to(lambda state: measuring(state) and state.blocks > 0)
    for n in (3, 4, 5):
        run.cluster.restart_by_hand(n)
    run.cluster.osds[3].broken = True
    run.come_to(lambda state: state.crashed != (), 3000)
    run.cluster.osds[3].broken = False
    state = run.finish()
    assert (state.outcome, state.crashed) == (Outcome.FAILED, ('fast',))
    assert restored(run)


def test_an_upgrade_in_the_middle_ends_it(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9)))
    run.come_to(measuring)
    run.cluster.osds[8].release = 'reef'
    state = run.come_to(lambda state: state.ending is not None)
    assert state.ending is not None
    assert 'osd.8 now runs reef' in (state.ending.reason or '')
    run.cluster.osds[8].release = 'pacific'
    assert run.finish().outcome is Outcome.FAILED
    assert restored(run)


def test_an_osd_of_another_release_before_it_is_changed_ends_it(run: ExperimentRun) -> None:
    run.begin()
    run.come_to(lambda state: state.leg_kind is LegKind.CHANGE)
    run.outside_window = 'closed'
    run.come_to(lambda state: state.paused_reason == 'closed')
    run.cluster.osds[6].release = 'reef'
    # Nothing is restarted while an upgrade is under way.
    run.come_to(lambda state: state.stage is Stage.RESTORING or state.ended)
    run.cluster.osds[6].release = 'pacific'
    state = run.finish()
    assert state.outcome is Outcome.FAILED
    assert 'osd.6 now runs reef' in (state.failure or '')


def test_an_osd_whose_options_come_from_elsewhere_ends_it(run: ExperimentRun) -> None:
    run.begin()
    run.come_to(lambda state: at_step(state, OsdStep.SETTLING))
    leg = run.now.leg
    assert leg is not None
    second = leg.request.order[1]
    told = RunningOption(OPERATORS, 'file', ignores_mon=True)
    run.cluster.osds[second].shown[OPTION] = run.cluster.osds[second].reported[OPTION] = told
    state = run.finish()
    assert state.outcome is Outcome.FAILED
    assert f'osd.{second} comes from its ceph.conf' in (state.failure or '')


# -- operators


@pytest.mark.parametrize('who', ['osd', 'global', 'osd/class:ssd', 'osd.8', 'osd.3'])
def test_an_operators_change_ends_it_and_stays(run: ExperimentRun, who: str) -> None:
    run.begin(request(plan(blocks=9)))
    run.come_to(measuring)
    run.cluster.operator_sets(who, OPERATORS)
    state = run.finish()
    assert (state.stage, state.outcome) == (Stage.ABORTED, Outcome.ABORTED)
    assert f'{who} was changed by somebody else' in (state.failure or '')
    assert run.cluster.entries_of() == {who: OPERATORS}
    assert state.phase is Phase.ROLLED_BACK


def test_a_change_of_an_entry_that_is_being_restored_stays(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9)))
    run.come_to(measuring)
    run.cluster.flags.add('noout')
    run.experiment.abort('client.a', run.cluster.now_s)
    run.come_to(lambda state: state.paused_reason is not None and state.stage is Stage.RESTORING)
    run.cluster.operator_sets('osd.4', OPERATORS)
    for _ in range(5):
        run.tick()
    run.cluster.flags.clear()
    state = run.finish()
    assert state.outcome is Outcome.ABORTED
    assert run.cluster.entries_of() == {'osd.4': OPERATORS}
    assert restored(run, 4)


def test_a_change_of_an_entry_that_is_being_dropped_ends_it(run: ExperimentRun) -> None:
    run.clients.factors = {SLOW: 3.0}
    run.begin(request(plan(blocks=12), min_effect=0.001))
    run.come_to(lambda state: bool(state.dropped))
    run.cluster.flags.add('noout')
    run.come_to(
        lambda state: (
            state.leg_kind is LegKind.DROP and state.leg is not None and state.leg.entries_done == 2
        )
    )
    run.cluster.operator_sets('osd.1', OPERATORS)
    for _ in range(5):
        run.tick()
    run.cluster.flags.clear()
    state = run.finish()
    assert state.outcome is Outcome.ABORTED
    assert run.cluster.entries_of() == {'osd.1': OPERATORS}


def test_a_change_of_an_entry_that_comes_and_goes_is_nothing(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=2)))
    run.come_to(measuring)
    run.cluster.operator_sets('osd', OPERATORS)
    run.tick(0.5)
    noticed = run.now
    assert noticed.pending_conflict is not None
    run.cluster.operator_removes('osd')
    run.tick()
    assert run.now.pending_conflict is None
    assert run.finish().outcome is Outcome.DONE


@pytest.mark.parametrize(
    'step',
    [OsdStep.SETTING, OsdStep.RESTART_DUE, OsdStep.RESTARTING, OsdStep.CHECKING, OsdStep.SETTLING],
)
@pytest.mark.parametrize('period', [1, 2])
@pytest.mark.usefixtures('one_step_a_tick')
def test_an_abort_at_any_step_restores_everything(
    run: ExperimentRun, step: OsdStep, period: int
) -> None:
    run.clients.factors = {}
    run.begin(request(plan(periods=2, blocks=1), min_effect=0.0001))
    run.come_to(lambda state: at_step(state, step) and state.period == period)
    run.experiment.abort('client.a', run.cluster.now_s)
    state = run.finish()
    assert (state.outcome, state.failure) == (Outcome.ABORTED, 'aborted by client.a')
    assert restored(run)


def test_an_abort_before_anything_is_changed_ends_it_at_once(run: ExperimentRun) -> None:
    run.begin()
    run.tick()
    run.experiment.abort('client.a', run.cluster.now_s)
    assert run.now.ended
    assert run.cluster.commands == []


def test_a_second_abort_ends_it_and_tells_what_is_left(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9)))
    run.come_to(measuring)
    run.cluster.errors['config rm'] = run.refusal
    run.experiment.abort('client.a', run.cluster.now_s)
    for _ in range(5):
        run.tick()
    run.experiment.abort('client.b', run.cluster.now_s)
    state = run.now
    assert (state.stage, state.outcome) == (Stage.FAILED, Outcome.ABORTED)
    assert 'ceph config rm osd.0 bluestore_rocksdb_options' in (state.failure or '')
    assert 'and 3 more' in (state.failure or '')


def test_a_second_abort_of_own_entries_tells_how_to_set_them(run: ExperimentRun) -> None:
    for n in range(9):
        run.cluster.operator_sets(f'osd.{n}', DEFAULTS['pacific'])
        run.cluster.restart_by_hand(n)
    run.cluster.advance(120)
    run.tick()
    run.begin(request(plan(('fast',), columns=((0, 3),), blocks=9)))
    run.come_to(measuring)
    run.cluster.errors['config set'] = run.refusal
    run.experiment.abort('client.a', run.cluster.now_s)
    run.tick()
    run.experiment.abort('client.b', run.cluster.now_s)
    assert "ceph config set osd.0 bluestore_rocksdb_options '" in (run.now.failure or '') or (
        'ceph config set osd.0' in (run.now.failure or '')
    )


def test_a_winner_that_cannot_be_restored_is_no_success(run: ExperimentRun) -> None:
    run.begin()
    run.come_to(lambda state: state.stage is Stage.RESTORING)
    run.experiment.abort('client.b', run.cluster.now_s)
    assert (run.now.stage, run.now.outcome) == (Stage.FAILED, Outcome.FAILED)


def test_a_pause_holds_everything_until_it_is_resumed(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=3)))
    run.come_to(lambda state: state.leg_kind is LegKind.CHANGE)
    run.experiment.pause('client.a', run.cluster.now_s)
    run.come_to(
        lambda state: (
            (state.leg is not None and in_flight(state.leg) is None) or state.paused_by is not None
        )
    )
    for _ in range(60):
        run.tick()
    commands = list(run.cluster.commands)
    for _ in range(60):
        run.tick()
    assert run.cluster.commands == commands
    assert run.now.phase is Phase.WAITING
    assert run.now.paused_reason == 'paused by client.a'
    run.experiment.resume(run.cluster.now_s)
    run.come_to(measuring)
    run.experiment.pause('client.a', run.cluster.now_s)
    blocks = run.now.blocks
    for _ in range(120):
        run.tick()
    assert run.now.blocks == blocks
    run.experiment.resume(run.cluster.now_s)
    assert run.finish().outcome is Outcome.DONE


def test_what_is_not_paused_is_not_resumed(run: ExperimentRun) -> None:
    run.begin()
    run.tick()
    with pytest.raises(OperationRefused, match='not paused; it is running'):
        run.experiment.resume(run.cluster.now_s)
    run.may_act = False
    run.tick()
    with pytest.raises(OperationRefused, match='it waits: the mode'):
        run.experiment.resume(run.cluster.now_s)


def test_in_mode_off_nothing_is_done_but_for_the_osd_in_flight(run: ExperimentRun) -> None:
    run.begin()
    run.come_to(lambda state: at_step(state, OsdStep.RESTARTING))
    run.may_act = False
    run.experiment.abort('client.a', run.cluster.now_s)
    for _ in range(300):
        run.tick()
    assert run.now.stage is Stage.RESTORING
    run.may_act = True
    assert run.finish().outcome is Outcome.ABORTED
    assert restored(run)


def test_a_pause_while_a_failed_osd_is_restored_holds_the_rest(run: ExperimentRun) -> None:
    run.cluster.refuses_to_start = lambda value: value == STRINGS['same']
    run.begin()
    run.come_to(lambda state: bool(state.crashed))
    run.experiment.pause('client.a', run.cluster.now_s)
    run.come_to(lambda state: state.stage is Stage.RESTORING)
    for _ in range(100):
        run.tick()
    assert not run.cluster.down
    assert run.now.paused_reason == 'paused by client.a'
    run.experiment.resume(run.cluster.now_s)
    assert run.finish().outcome is Outcome.FAILED
    assert restored(run)


# -- OSDs that leave


def test_an_arm_that_loses_an_osd_ends_and_the_others_go_on(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9), min_effect=0.0001))
    run.come_to(measuring)
    run.cluster.purge(3)
    state = run.come_to(lambda state: bool(state.dropped))
    assert [(arm.name, arm.reason) for arm in state.dropped] == [
        ('fast', '1 of its OSDs are left, it needs 2')
    ]
    run.come_to(lambda state: state.leg is None and measuring(state))
    assert 'osd.3' not in run.cluster.entries_of()
    state = run.finish()
    assert 'osd.3 was removed from the cluster' in (state.failure or '')
    assert restored(run)


def test_an_osd_that_is_made_again_has_no_entry_of_an_arm(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9)))
    run.come_to(measuring)
    run.cluster.make_again(3)
    state = run.finish()
    assert 'osd.3 was removed and made again' in (state.failure or '')
    assert run.cluster.entries_of() == {}


def test_one_that_is_down_and_out_is_waited_for_and_then_left(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9)))
    run.come_to(measuring)
    run.cluster.mark_out(3)
    state = run.come_to(lambda state: state.paused_reason is not None)
    assert 'the experiment continues without it if that stays so' in (state.paused_reason or '')
    state = run.finish()
    assert 'osd.3 is down and out' in (state.failure or '')
    assert restored(run, 3)


def test_too_few_controls_end_it(run: ExperimentRun) -> None:
    run.begin(request(plan(blocks=9)))
    run.come_to(measuring)
    run.cluster.purge(5)
    run.cluster.purge(7)
    state = run.finish()
    assert state.conclusion is not None
    assert state.conclusion.answer is Answer.UNCLEAR
    assert '1 of its controls are left, it needs 2' in (state.failure or '')
    assert restored(run)


def test_all_arms_lost_in_the_baseline_end_it_without_a_change(run: ExperimentRun) -> None:
    run.begin(request(plan(('fast',), columns=((0, 3),), blocks=9)))
    run.come_to(lambda state: state.stage is Stage.BASELINE)
    run.cluster.purge(3)
    state = run.finish()
    assert state.conclusion is not None
    assert (state.conclusion.answer, state.legs) == (Answer.UNCLEAR, 0)


def test_the_first_osd_of_a_change_that_is_away_is_left(run: ExperimentRun) -> None:
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


def test_an_experiment_is_paused_by_the_state_alone(run: ExperimentRun) -> None:
    """Whoever pauses it before it begins finds it waiting."""
    run.begin()
    run.experiment.pause('client.a', run.cluster.now_s)
    run.tick()
    assert replace(run.now, updated_s=0.0).paused_reason == 'paused by client.a'
