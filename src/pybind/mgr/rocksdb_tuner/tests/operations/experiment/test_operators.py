"""Operator actions during an experiment."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.judge.arms import Arm
from rocksdb_tuner.operations.experiment.records import Stage
from rocksdb_tuner.operations.phases import OperationRefused, Outcome
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep
from rocksdb_tuner.tests.fake_cluster import DEFAULTS

from .conftest import (
    SLOW,
    STRINGS,
    ExperimentRun,
    at_step,
    changing,
    crashed,
    dropped,
    dropping,
    measuring,
    plan,
    restored,
)

OPERATORS = 'write_buffer_size=33554432'
BAD = 'write_buffer_size=foo'


@pytest.mark.parametrize('who', ['osd', 'global', 'osd/class:ssd', 'osd.8', 'osd.3'])
def test_operator_change_ends_the_experiment_and_is_kept(run: ExperimentRun, who: str) -> None:
    run.begin(plan(blocks=9))
    run.come_to(measuring)
    run.cluster.operator_sets(who, OPERATORS)
    state = run.finish()
    assert (state.stage, state.outcome) == (Stage.ABORTED, Outcome.ABORTED)
    assert f'{who} was changed outside this experiment' in (state.failure or '')
    assert run.cluster.entries_of() == {who: OPERATORS}
    assert state.phase is Stage.ABORTED


def test_foreign_entry_change_on_a_restored_osd_is_kept(run: ExperimentRun) -> None:
    run.begin(plan(blocks=9))
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


def test_foreign_entry_change_on_a_dropped_osd_ends_the_experiment(run: ExperimentRun) -> None:
    run.clients.factors = {SLOW: 3.0}
    run.begin(plan(blocks=12, min_effect=0.001))
    run.come_to(lambda state: bool(dropped(state)))
    run.cluster.flags.add('noout')
    run.come_to(
        lambda state: dropping(state) and state.leg is not None and state.leg.entries_done == 2
    )
    run.cluster.operator_sets('osd.1', OPERATORS)
    for _ in range(5):
        run.tick()
    run.cluster.flags.clear()
    state = run.finish()
    assert state.outcome is Outcome.ABORTED
    assert run.cluster.entries_of() == {'osd.1': OPERATORS}


def test_brief_foreign_entry_change_is_ignored(run: ExperimentRun) -> None:
    run.begin(plan(blocks=2))
    run.come_to(measuring)
    run.cluster.operator_sets('osd', OPERATORS)
    run.tick(0.5)
    suspected = run.now.pending_conflict
    run.cluster.operator_removes('osd')
    run.tick()
    assert suspected is not None
    assert run.now.pending_conflict is None
    assert run.finish().outcome is Outcome.DONE


@pytest.mark.parametrize(
    'step',
    [OsdStep.SETTING, OsdStep.RESTART_DUE, OsdStep.RESTARTING, OsdStep.CHECKING, OsdStep.SETTLING],
)
@pytest.mark.usefixtures('one_step_a_tick')
def test_abort_at_any_step_restores_everything(run: ExperimentRun, step: OsdStep) -> None:
    run.clients.factors = {}
    run.begin(plan(blocks=1, min_effect=0.0001))
    run.come_to(lambda state: at_step(state, step))
    run.experiment.abort('client.a', run.cluster.now_s)
    state = run.finish()
    assert (state.outcome, state.failure) == (Outcome.ABORTED, 'aborted by client.a')
    assert restored(run)


def test_abort_before_any_change_ends_the_experiment_at_once(run: ExperimentRun) -> None:
    run.begin()
    run.tick()
    run.experiment.abort('client.a', run.cluster.now_s)
    assert run.now.ended
    assert run.cluster.commands == []


def test_second_abort_ends_the_experiment_and_reports_leftovers(run: ExperimentRun) -> None:
    run.begin(plan(blocks=9))
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


def test_second_abort_with_own_entries_shows_the_commands_to_set_them(run: ExperimentRun) -> None:
    for n in range(9):
        run.cluster.operator_sets(f'osd.{n}', DEFAULTS['pacific'])
        run.cluster.restart_by_hand(n)
    run.cluster.advance(120)
    run.tick()
    run.begin(plan(('fast',), columns=((0, 3),), blocks=9))
    run.come_to(measuring)
    run.cluster.errors['config set'] = run.refusal
    run.experiment.abort('client.a', run.cluster.now_s)
    run.tick()
    run.experiment.abort('client.b', run.cluster.now_s)
    assert "ceph config set osd.0 bluestore_rocksdb_options '" in (run.now.failure or '')


def deadly(run: ExperimentRun) -> None:
    """The first OSD of an arm does not start with its string."""
    found = plan(blocks=9)
    arms = (Arm('fast', BAD, osds=(0, 3)), *found.arms[1:])
    run.begin(replace(found, arms=arms))
    run.come_to(lambda state: at_step(state, OsdStep.RESTARTING))
    run.tick()
    assert run.cluster.down == {0}


def test_second_abort_is_refused_while_an_osd_is_down_with_the_string_of_its_arm(
    run: ExperimentRun,
) -> None:
    deadly(run)
    run.cluster.errors['config rm'] = run.refusal
    run.experiment.abort('client.a', run.cluster.now_s)
    run.tick()
    for error in ({}, {'config dump': run.refusal}):
        run.cluster.errors.update(error)
        with pytest.raises(OperationRefused, match='"ceph config rm osd'):
            run.experiment.abort('client.a', run.cluster.now_s)
    run.cluster.errors.clear()
    assert run.finish().outcome is Outcome.ABORTED
    assert restored(run)


def test_second_abort_ends_a_recovery_of_an_osd_that_is_dead(run: ExperimentRun) -> None:
    deadly(run)
    run.cluster.osds[0].broken = True
    run.come_to(lambda s: s.leg is not None and s.leg.direction is Direction.RECOVER)
    run.come_to(lambda s: s.leg is not None and at_step(s, OsdStep.RESTARTING))
    for ended in (False, True):
        run.experiment.abort('client.a', run.cluster.now_s)
        assert run.now.ended is ended
        run.tick()
    assert 'aborted by client.a before every OSD was restored' in (run.now.failure or '')
    assert run.cluster.entries_of() == {}


@pytest.mark.parametrize('fails_over', [False, True])
def test_osd_of_an_arm_that_does_not_start_is_restored_though_nothing_can_be_stored(
    run: ExperimentRun, fails_over: bool
) -> None:
    deadly(run)
    run.store.error = run.refusal
    if fails_over:
        run.come_to(lambda _: not run.cluster.entries_of())
        run.fail_over()
    for _ in range(250):
        run.tick()
    assert (run.cluster.entries_of(), run.cluster.down) == ({}, set())
    run.store.error = None
    state = run.finish()
    assert state.outcome is (Outcome.ABORTED if fails_over else Outcome.FAILED)
    assert restored(run)


def test_store_that_refuses_names_the_osd_of_an_arm_and_the_command(run: ExperimentRun) -> None:
    deadly(run)
    run.store.error = run.refusal
    run.come_to(lambda s: s.leg is not None and s.leg.direction is Direction.RECOVER)
    run.tick()
    assert '"ceph config rm osd.0 bluestore_rocksdb_options" is run' in str(run.experiment.problems)


def test_crashed_osd_of_an_arm_is_restored_though_nothing_can_be_stored(
    run: ExperimentRun,
) -> None:
    run.begin(plan(blocks=9))
    run.come_to(measuring)
    run.store.error = run.refusal
    run.cluster.stop_osd(0)
    for _ in range(60):
        run.tick()
    assert ('osd.0' in run.cluster.entries_of(), run.cluster.down) == (False, set())
    run.store.error = None
    assert run.finish().outcome is Outcome.FAILED
    assert restored(run)


def test_winner_that_cannot_be_restored_is_no_success(run: ExperimentRun) -> None:
    run.begin()
    run.come_to(lambda state: state.stage is Stage.RESTORING)
    run.experiment.abort('client.b', run.cluster.now_s)
    assert (run.now.stage, run.now.outcome) == (Stage.FAILED, Outcome.FAILED)


def test_pause_holds_everything_until_resume(run: ExperimentRun) -> None:
    run.begin(plan(blocks=3))
    run.come_to(changing)
    run.experiment.pause('client.a', run.cluster.now_s)
    for _ in range(60):
        run.tick()
    commands = list(run.cluster.commands)
    for _ in range(60):
        run.tick()
    assert run.cluster.commands == commands
    assert run.now.phase is Stage.WAITING
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


def test_resume_requires_a_pause(run: ExperimentRun) -> None:
    run.begin()
    run.tick()
    with pytest.raises(OperationRefused, match='not paused; it is running'):
        run.experiment.resume(run.cluster.now_s)
    run.may_act = False
    run.tick()
    with pytest.raises(OperationRefused, match='it is waiting: the module mode'):
        run.experiment.resume(run.cluster.now_s)


def test_mode_off_allows_only_recovery_of_the_osd_in_flight(run: ExperimentRun) -> None:
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


def test_pause_during_the_restore_of_a_failed_osd_holds_the_rest(run: ExperimentRun) -> None:
    run.cluster.refuses_to_start = lambda value: value == STRINGS['same']
    run.begin()
    run.come_to(lambda state: bool(crashed(state)))
    run.experiment.pause('client.a', run.cluster.now_s)
    run.come_to(lambda state: state.stage is Stage.RESTORING)
    for _ in range(100):
        run.tick()
    assert not run.cluster.down
    assert run.now.paused_reason == 'paused by client.a'
    run.experiment.resume(run.cluster.now_s)
    assert run.finish().outcome is Outcome.FAILED
    assert restored(run)
