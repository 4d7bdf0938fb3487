"""Operator actions during an experiment: entries, aborts, pauses, mode off; and a broken store."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable

import pytest

from rocksdb_tuner.judge.arms import Arm
from rocksdb_tuner.operations.experiment.records import ExperimentState, Stage
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
    dropping,
    measuring,
    plan,
    restored,
    restoring,
)

OPERATORS = 'write_buffer_size=33554432'


def recovers(state: ExperimentState) -> bool:
    return state.leg is not None and state.leg.direction is Direction.RECOVER


# -- entries


@pytest.mark.parametrize('who', ['osd', 'global', 'osd/class:ssd', 'osd.8', 'osd.3'])
def test_operator_change_ends_the_experiment_and_is_kept(run: ExperimentRun, who: str) -> None:
    run.begun(measuring, blocks=9)
    run.cluster.operator_sets(who, OPERATORS)
    state = run.finish()
    assert (state.stage, state.phase, state.outcome) == (
        *(Stage.ABORTED, Stage.ABORTED),
        Outcome.ABORTED,
    )
    assert f'{who} was changed outside this experiment' in run.why
    assert run.cluster.entries_of() == {who: OPERATORS}


def aborted_and_restoring(run: ExperimentRun) -> int:
    run.begun(measuring, blocks=9)
    run.cluster.flags.add('noout')
    run.abort_it()
    run.come_to(lambda state: state.paused_reason is not None and restoring(state))
    return 4


def dropped_and_restored(run: ExperimentRun) -> int:
    run.clients.factors = {SLOW: 3.0}
    run.begun(lambda state: any(arm.dropped for arm in state.arms), blocks=12, min_effect=0.001)
    run.cluster.flags.add('noout')
    run.come_to(lambda state: dropping(state) and run.leg.entries_done == 2)
    return 1


@pytest.mark.parametrize('prepare', [aborted_and_restoring, dropped_and_restored])
def test_foreign_entry_change_on_a_restored_osd_is_kept(
    run: ExperimentRun, prepare: Callable[[ExperimentRun], int]
) -> None:
    """It ends the experiment."""
    osd_id = prepare(run)
    run.cluster.operator_sets(f'osd.{osd_id}', OPERATORS)
    run.ticks(5)
    run.cluster.flags.clear()
    assert run.finish().outcome is Outcome.ABORTED
    assert run.cluster.entries_of() == {f'osd.{osd_id}': OPERATORS}
    assert restored(run, osd_id)


def test_brief_foreign_entry_change_is_ignored(run: ExperimentRun) -> None:
    run.begun(measuring, blocks=2)
    run.cluster.operator_sets('osd', OPERATORS)
    run.tick(0.5)
    suspected = run.now.pending_conflict
    run.cluster.operator_removes('osd')
    run.tick()
    assert suspected is not None
    assert run.now.pending_conflict is None
    assert run.finish().outcome is Outcome.DONE


# -- abort


@pytest.mark.parametrize('step', list(OsdStep)[1:6])
@pytest.mark.usefixtures('one_step_a_tick')
def test_abort_at_any_step_restores_everything(run: ExperimentRun, step: OsdStep) -> None:
    run.clients.factors = {}
    run.begun(lambda state: at_step(state, step), blocks=1, min_effect=0.0001)
    run.abort_it()
    assert run.finish().outcome is Outcome.ABORTED
    assert run.why == 'aborted by client.a'
    assert restored(run)


def test_abort_before_any_change_ends_the_experiment_at_once(run: ExperimentRun) -> None:
    run.begin()
    run.tick()
    run.abort_it()
    assert run.now.ended
    assert run.cluster.commands == []


def test_second_abort_ends_the_experiment_and_reports_leftovers(run: ExperimentRun) -> None:
    run.begun(measuring, blocks=9)
    run.cluster.errors['config rm'] = run.refusal
    run.abort_it()
    run.ticks(5)
    run.abort_it()
    assert (run.now.stage, run.now.outcome) == (Stage.FAILED, Outcome.ABORTED)
    assert 'ceph config rm osd.0 bluestore_rocksdb_options' in run.why
    assert 'and 3 more' in run.why


def test_second_abort_with_own_entries_shows_the_commands_to_set_them(run: ExperimentRun) -> None:
    for n in range(9):
        run.cluster.operator_sets(f'osd.{n}', DEFAULTS['pacific'])
        run.cluster.restart_by_hand(n)
    run.cluster.advance(120)
    run.tick()
    run.begun(measuring, ('fast',), columns=((0, 3),), blocks=9)
    run.cluster.errors['config set'] = run.refusal
    run.abort_it()
    run.tick()
    run.abort_it()
    assert "ceph config set osd.0 bluestore_rocksdb_options '" in run.why


@pytest.fixture
def deadly(run: ExperimentRun) -> ExperimentRun:
    """The first OSD of an arm does not start with its string."""
    found = plan(blocks=9)
    bad = Arm('fast', 'write_buffer_size=foo', osds=(0, 3))
    run.begin(replace(found, arms=(bad, *found.arms[1:])))
    run.come_to(lambda state: at_step(state, OsdStep.RESTARTING))
    run.tick()
    assert run.cluster.down == {0}
    return run


def test_second_abort_is_refused_while_an_osd_is_down_with_the_string_of_its_arm(
    deadly: ExperimentRun,
) -> None:
    deadly.cluster.errors['config rm'] = deadly.refusal
    deadly.abort_it()
    deadly.tick()
    for prefix in ('config rm', 'config dump'):
        deadly.cluster.errors[prefix] = deadly.refusal
        with pytest.raises(OperationRefused, match='"ceph config rm osd'):
            deadly.abort_it()
    deadly.cluster.errors.clear()
    assert deadly.finish().outcome is Outcome.ABORTED
    assert restored(deadly)


def test_second_abort_ends_a_recovery_of_an_osd_that_is_dead(deadly: ExperimentRun) -> None:
    deadly.cluster.osds[0].broken = True
    deadly.come_to(recovers)
    deadly.come_to(lambda state: at_step(state, OsdStep.RESTARTING))
    for ended in (False, True):
        deadly.abort_it()
        assert deadly.now.ended is ended
        deadly.tick()
    assert 'aborted by client.a before every OSD was restored' in deadly.why
    assert deadly.cluster.entries_of() == {}


def test_winner_that_cannot_be_restored_is_no_success(run: ExperimentRun) -> None:
    run.begun(lambda state: state.stage is Stage.RESTORING)
    run.abort_it()
    assert (run.now.stage, run.now.outcome) == (Stage.FAILED, Outcome.FAILED)


# -- a store that refuses


@pytest.mark.parametrize('fails_over', [False, True])
def test_osd_of_an_arm_that_does_not_start_is_restored_though_nothing_can_be_stored(
    deadly: ExperimentRun, fails_over: bool
) -> None:
    run = deadly
    run.store.error = run.refusal
    run.come_to(recovers)
    run.tick()
    assert '"ceph config rm osd.0 bluestore_rocksdb_options" is run' in str(run.experiment.problems)
    if fails_over:
        run.come_to(lambda _: not run.cluster.entries_of())
        run.fail_over()
    run.ticks(250)
    assert (run.cluster.entries_of(), run.cluster.down) == ({}, set())
    run.store.error = None
    assert run.finish().outcome is (Outcome.ABORTED if fails_over else Outcome.FAILED)
    assert restored(run)


def test_crashed_osd_of_an_arm_is_restored_though_nothing_can_be_stored(
    run: ExperimentRun,
) -> None:
    run.begun(measuring, blocks=9)
    run.store.error = run.refusal
    run.cluster.stop_osd(0)
    run.ticks(60)
    assert ('osd.0' in run.cluster.entries_of(), run.cluster.down) == (False, set())
    run.store.error = None
    assert run.finish().outcome is Outcome.FAILED
    assert restored(run)


# -- pauses and mode off


def test_pause_holds_everything_until_resume(run: ExperimentRun) -> None:
    def paused() -> None:
        run.experiment.pause('client.a', run.cluster.now_s)
        run.ticks(60)
        before = list(run.cluster.commands), run.now.blocks
        run.ticks(120)
        assert (run.cluster.commands, run.now.blocks) == before
        assert run.now.phase is Stage.WAITING
        assert run.now.paused_reason == 'paused by client.a'
        run.experiment.resume(run.cluster.now_s)

    run.begun(changing, blocks=3)
    paused()
    run.come_to(measuring)
    paused()
    assert run.finish().outcome is Outcome.DONE


def test_resume_requires_a_pause(run: ExperimentRun) -> None:
    run.begin()
    run.tick()
    for may_act, why in ((True, 'not paused; it is running'), (False, 'waiting: the module mode')):
        run.may_act = may_act
        run.tick()
        with pytest.raises(OperationRefused, match=why):
            run.experiment.resume(run.cluster.now_s)


def test_mode_off_allows_only_recovery_of_the_osd_in_flight(run: ExperimentRun) -> None:
    run.begun(lambda state: at_step(state, OsdStep.RESTARTING))
    run.may_act = False
    run.abort_it()
    run.ticks(300)
    assert run.now.stage is Stage.RESTORING
    run.may_act = True
    assert run.finish().outcome is Outcome.ABORTED
    assert restored(run)


def test_pause_during_the_restore_of_a_failed_osd_holds_the_rest(run: ExperimentRun) -> None:
    run.cluster.refuses_to_start = lambda value: value == STRINGS['same']
    run.begun(lambda state: bool(crashed(state)))
    run.experiment.pause('client.a', run.cluster.now_s)
    run.come_to(lambda state: state.stage is Stage.RESTORING)
    run.ticks(100)
    assert not run.cluster.down
    assert run.now.paused_reason == 'paused by client.a'
    run.experiment.resume(run.cluster.now_s)
    assert run.finish().outcome is Outcome.FAILED
    assert restored(run)
