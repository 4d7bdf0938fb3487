"""An OSD that fails is restored, in spite of aborts, pauses, mode off and a broken store."""

from __future__ import annotations

import errno

import pytest

from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.records import RolloutState
from rocksdb_tuner.plan.records import OPTION
from rocksdb_tuner.tests.fake_cluster import DEFAULTS

from .conftest import NEW, Run, refused, set_profile
from .one_step import BACK, FORWARD, PENDING, RECOVER, RESTARTING, RESTORED

BAD = 'write_buffer_size=foo'
DEFAULT = DEFAULTS['pacific']
RM = f'"ceph config rm osd.0 {OPTION}"'
NOT_BACK = 'osd.{} did not come back up within 300 s'


def recovers(state: RolloutState) -> bool:
    return state.direction is RECOVER


def is_restored(run: Run) -> bool:
    return (run.cluster.entries_of(), run.cluster.runs(0), run.cluster.down) == ({}, DEFAULT, set())


def not_starting(run: Run) -> None:
    """osd.0 is down with an entry that it does not start with."""
    run.start(set_profile(run.cluster, BAD))
    run.until(lambda s: s.osds[0].step is RESTARTING)
    run.tick()
    assert run.cluster.down == {0}


def later_not_starting(run: Run) -> None:
    """osd.0 was changed, and the disk of osd.1 is dead."""
    run.start()
    run.until(lambda s: s.osds[1].step is RESTARTING)
    run.cluster.osds[1].broken = True


# -- alone, and with others


@pytest.mark.parametrize('may_act', [True, False])
def test_osd_that_does_not_start_loses_the_entry_and_is_started_again(
    run: Run, may_act: bool
) -> None:
    """Safety rule 4, in mode off too; nothing else is changed."""
    not_starting(run)
    run.may_act = may_act
    state = run.run_to_end()
    assert (state.phase, state.outcome) == (Phase.FAILED, Outcome.FAILED)
    assert state.failure == NOT_BACK.format(0)
    assert is_restored(run)
    assert [osd.boots for osd in run.cluster.osds.values()] == [2, 1, 1]
    assert [osd.step for osd in state.osds] == [RESTORED, PENDING, PENDING]


def test_later_osd_that_does_not_start_rolls_back_everything(run: Run) -> None:
    """No part of the cluster is left with options with which an OSD did not start."""
    later_not_starting(run)
    run.until(recovers)
    run.cluster.osds[1].broken = False
    state = run.run_to_end()
    assert (state.phase, state.outcome) == (Phase.ROLLED_BACK, Outcome.ROLLED_BACK)
    assert (run.cluster.entries_of(), run.running) == ({}, [DEFAULT] * 3)
    assert state.failure == f'{NOT_BACK.format(1)}; rolled back by the module on all OSDs'
    # It was started again once, with what it had, and not once more for the others' sake.
    assert [osd.boots for osd in run.cluster.osds.values()] == [3, 2, 1]


def test_overriding_ceph_conf_is_reported_and_left_alone(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is RESTARTING)
    run.cluster.osds[0].conf_file[OPTION] = DEFAULT
    state = run.run_to_end()
    assert 'of osd.0 comes from its ceph.conf' in (state.failure or '')
    assert (run.cluster.entries_of(), run.cluster.osds[0].boots) == ({}, 2)


def test_time_down_counts_while_the_config_store_cannot_be_read(run: Run) -> None:
    not_starting(run)
    run.cluster.errors['config dump'] = run.refusal
    run.ticks(280)
    del run.cluster.errors['config dump']
    answers_s = run.cluster.now_s
    run.until(recovers)
    assert run.cluster.now_s - answers_s < 30


# -- operators


@pytest.fixture
def in_recovery(run: Run) -> Run:
    """Its recovery has begun, and the entry cannot be removed."""
    not_starting(run)
    run.cluster.errors['config rm'] = run.refusal
    run.until(recovers)
    run.tick()
    return run


def test_recovery_is_not_paused_and_an_abort_restores_the_osd_first(in_recovery: Run) -> None:
    run = in_recovery
    with refused(errno.EBUSY, 'cannot be interrupted'):
        run.driver.pause('client.ann', run.cluster.now_s)
    told = f'{NOT_BACK.format(0)}; aborted by client.ann'
    assert run.ask_abort() == told
    assert not run.state.ended
    del run.cluster.errors['config rm']
    state = run.run_to_end()
    assert (state.outcome, state.failure) == (Outcome.ABORTED, told)
    assert is_restored(run)


def test_abort_is_refused_while_the_entry_stays_and_the_refusal_names_its_removal(
    in_recovery: Run,
) -> None:
    run = in_recovery
    run.ask_abort()
    with refused(errno.EBUSY, RM):
        run.ask_abort()
    run.cluster.errors['config dump'] = run.refusal
    with refused(errno.EBUSY, RM):
        run.ask_abort()
    assert not run.state.ended
    del run.cluster.errors['config dump']
    run.cluster.operator_removes('osd.0')
    assert 'aborted again by client.ann before osd.0 was seen restored' in run.ask_abort()
    assert run.state.outcome is Outcome.ABORTED


def test_abort_of_a_recovery_ends_by_a_second_one_if_the_osd_is_dead(run: Run) -> None:
    not_starting(run)
    run.cluster.osds[0].broken = True
    run.to_a_wait('start osd.0 next')
    run.ask_abort()
    run.fail_over()
    run.ticks(30)
    assert not run.state.ended
    told = run.ask_abort()
    assert run.state.outcome is Outcome.ABORTED
    assert (
        'the previous entry of osd.0 is restored, but was not seen in effect; '
        '"ceph rocksdb-tuner rollback r1" restarts what needs it'
    ) in told
    assert 'stays' not in told


def test_abort_of_a_later_recovery_leaves_the_other_osds_to_the_operator(run: Run) -> None:
    later_not_starting(run)
    run.until(recovers)
    run.ask_abort()
    run.cluster.osds[1].broken = False
    state = run.run_to_end()
    assert (state.outcome, run.cluster.runs(1)) == (Outcome.ABORTED, DEFAULT)
    assert 'the change stays on osd.0' in (state.failure or '')
    assert run.cluster.entries_of() == {'osd.0': NEW}


def test_abort_in_the_soak_restores_a_canary_that_is_down(run: Run) -> None:
    run.start(soak=SoakPlan(300.0, 600.0))
    run.until(lambda s: s.stage is Phase.SOAKING)
    run.cluster.stop_osd(0)
    assert run.ask_abort() == 'aborted by client.ann'
    assert run.run_to_end().outcome is Outcome.ABORTED
    assert is_restored(run)


def hold(run: Run, how: str) -> None:
    if how == 'paused':
        run.driver.pause('client.ann', run.cluster.now_s)
    run.may_act = how != 'mode off'


@pytest.mark.parametrize('how', ['paused', 'mode off'])
def test_held_rollback_restores_an_osd_that_is_down_with_the_entry(run: Run, how: str) -> None:
    later_not_starting(run)
    run.tick()
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    hold(run, how)
    run.cluster.osds[1].broken = False
    run.ticks(60)
    assert (run.cluster.entries_of(), run.cluster.down) == ({'osd.0': NEW}, set())
    assert run.running == [NEW, DEFAULT, DEFAULT]
    run.may_act = True
    if how == 'paused':
        run.driver.resume(run.cluster.now_s)
    state = run.run_to_end()
    assert (state.phase, state.failure) == (Phase.ROLLED_BACK, 'rolled back by client.ann')
    assert run.running == [DEFAULT] * 3


@pytest.mark.parametrize('how', ['paused', 'mode off', 'neither'])
def test_abort_of_a_rollback_removes_the_entry_of_an_osd_that_is_down(run: Run, how: str) -> None:
    not_starting(run)
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    hold(run, how)
    assert 'rollback aborted by client.ann' in run.ask_abort()
    assert not run.state.ended
    assert run.run_to_end().outcome is Outcome.ABORTED
    assert is_restored(run)


def test_abort_of_a_rollback_finishes_the_osd_in_flight_and_starts_no_other(run: Run) -> None:
    run.start()
    run.run_to_end()
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.until(lambda s: s.osds[0].step is RESTARTING)
    run.ask_abort()
    state = run.run_to_end()
    assert (state.outcome, run.running) == (Outcome.ABORTED, [DEFAULT, NEW, NEW])
    assert state.failure == (
        'rolled back by client.ann; rollback aborted by client.ann; the previous entry of '
        'osd.1, osd.2 is restored, but was not seen in effect; "ceph rocksdb-tuner rollback '
        'r1" restarts what needs it'
    )
    run.roll_back()
    assert run.running == [DEFAULT] * 3


# -- a store that refuses


@pytest.mark.parametrize('takes_over', [False, True])
def test_osd_that_does_not_start_is_restored_though_nothing_can_be_stored(
    run: Run, takes_over: bool
) -> None:
    """A manager that takes over cannot know whether the restart was lost: it asks once more."""
    not_starting(run)
    run.store.error = run.refusal
    if takes_over:
        run.fail_over()
    began_s = run.cluster.now_s
    while run.cluster.down and run.cluster.now_s < began_s + 1800.0:
        run.tick()
    assert run.cluster.now_s - began_s < (700.0 if takes_over else 400.0)
    assert is_restored(run)
    if takes_over:
        return
    run.ticks(30)
    assert not run.state.ended
    run.store.error = None
    state = run.run_to_end()
    assert (state.outcome, state.failure) == (Outcome.FAILED, NOT_BACK.format(0))
    assert [osd.boots for osd in run.cluster.osds.values()] == [2, 1, 1]


def test_store_that_refuses_names_the_osd_in_flight_and_the_command(run: Run) -> None:
    not_starting(run)
    run.store.error = run.cluster.errors['config rm'] = run.refusal
    run.to_a_wait('attempts failed')
    assert run.state.paused_reason == (
        f'osd.0 may not start with its entry, and its removal is refused: {RM} (3 attempts failed, '
        'retrying: read-only file system)'
    )
    run.tick()
    (problem,) = run.driver.problems
    assert problem == (
        'the rollout cannot store its state: read-only file system; osd.0 is finished all the '
        f'same: if it does not start, {RM} is run, and the OSD is started again'
    )
    run.cluster.errors.clear()
    run.store.error = None
    assert run.run_to_end().outcome is Outcome.FAILED


def test_later_steps_wait_until_the_recovery_is_stored(run: Run) -> None:
    """The others are rolled back by whoever has it stored that they are."""
    later_not_starting(run)
    run.store.error = run.refusal
    run.until(recovers)
    run.cluster.osds[1].broken = False
    run.ticks(100)
    assert run.cluster.entries_of() == {'osd.0': NEW}
    assert run.running == [NEW, DEFAULT, DEFAULT]
    run.store.error = None
    assert run.run_to_end().phase is Phase.ROLLED_BACK


@pytest.mark.parametrize('started', [False, True])
def test_manager_that_only_knows_the_state_before_the_recovery_ends_safely(
    run: Run, started: bool
) -> None:
    not_starting(run)
    run.store.error = run.refusal
    run.cluster.orchestrator_idle = not started
    run.until(lambda _: not run.cluster.entries_of())
    run.ticks(30)
    run.fail_over()
    assert run.state.direction is FORWARD
    run.cluster.orchestrator_idle = False
    run.ticks(400)
    assert not run.cluster.down
    run.store.error = None
    assert run.run_to_end().outcome is Outcome.ABORTED
    assert is_restored(run)


def test_rollback_starts_an_osd_that_is_down_though_nothing_can_be_stored(run: Run) -> None:
    not_starting(run)
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.store.error = run.refusal
    began_s = run.cluster.now_s
    while run.cluster.down and run.cluster.now_s < began_s + 900.0:
        run.tick()
    assert is_restored(run)
    assert run.state.direction in {BACK, RECOVER}
    run.store.error = None
    assert run.run_to_end().phase is Phase.ROLLED_BACK
