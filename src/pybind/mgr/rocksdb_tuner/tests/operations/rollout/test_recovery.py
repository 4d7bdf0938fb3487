"""The OSD that does not start with its new options: neither an abort nor the store stops it from
being restored.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.operations.phases import OperationRefused, Outcome, Phase
from rocksdb_tuner.operations.rollout.osd_step import must_not_wait, unsafe
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep, with_osd
from rocksdb_tuner.plan.commands import Action, RemoveEntry, RestartOsd, SetEntry
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import NEW, Run, set_profile
from .one_step import observed, rollback_of, rollout

BAD = 'write_buffer_size=foo'
DEFAULT = DEFAULTS['pacific']
RM = '"ceph config rm osd.0 bluestore_rocksdb_options"'


def abort(run: Run) -> str:
    """The reason that the answer gives."""
    state = run.driver.abort('client.ann', run.cluster.now_s)
    return (state.ending.reason if state.ending else state.failure) or ''


def not_starting(run: Run) -> None:
    """osd.0 is down with an entry that it does not start with."""
    run.start(set_profile(run.cluster, BAD))
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.tick()
    assert run.cluster.down == {0}


def in_recovery(run: Run) -> None:
    """Its recovery has begun, and the entry cannot be removed."""
    not_starting(run)
    run.cluster.errors['config rm'] = run.refusal
    run.until(lambda s: s.direction is Direction.RECOVER)
    run.tick()


def test_time_down_counts_while_the_config_store_cannot_be_read(run: Run) -> None:
    not_starting(run)
    run.cluster.errors['config dump'] = run.refusal
    since_s = run.cluster.now_s
    while run.cluster.now_s < since_s + 560:
        run.tick()
    del run.cluster.errors['config dump']
    answers_s = run.cluster.now_s
    run.until(lambda s: s.direction is Direction.RECOVER)
    assert run.cluster.now_s - answers_s < 30


# -- abort


def test_abort_during_a_recovery_restores_the_osd_first(run: Run) -> None:
    in_recovery(run)
    assert abort(run) == 'osd.0 did not come back up within 300 s; aborted by client.ann'
    assert not run.state.ended
    del run.cluster.errors['config rm']
    state = run.run_to_end()
    assert (state.outcome, state.failure) == (
        Outcome.ABORTED,
        'osd.0 did not come back up within 300 s; aborted by client.ann',
    )
    assert (run.cluster.entries_of(), run.cluster.runs(0)) == ({}, DEFAULT)


def test_abort_is_refused_while_the_entry_stays_and_the_refusal_names_its_removal(
    run: Run,
) -> None:
    in_recovery(run)
    abort(run)
    with pytest.raises(OperationRefused, match=RM):
        abort(run)
    run.cluster.errors['config dump'] = run.refusal
    with pytest.raises(OperationRefused, match=RM):
        abort(run)
    assert not run.state.ended
    del run.cluster.errors['config dump']
    run.cluster.operator_removes('osd.0')
    assert 'aborted again by client.ann before osd.0 was seen restored' in abort(run)
    assert run.state.outcome is Outcome.ABORTED


def test_abort_of_a_recovery_ends_by_a_second_one_if_the_osd_is_dead(run: Run) -> None:
    not_starting(run)
    run.cluster.osds[0].broken = True
    run.to_a_wait('start osd.0 next')
    abort(run)
    run.fail_over()
    for _ in range(30):
        run.tick()
    assert not run.state.ended
    told = abort(run)
    assert run.state.outcome is Outcome.ABORTED
    assert (
        'the previous entry of osd.0 is restored, but was not seen in effect; '
        '"ceph rocksdb-tuner rollback r1" restarts what needs it'
    ) in told
    assert 'stays' not in told


@pytest.mark.parametrize('held', ['paused', 'mode off'])
def test_held_rollback_restores_an_osd_that_is_down_with_the_entry(run: Run, held: str) -> None:
    run.start()
    run.until(lambda s: s.osds[1].step is OsdStep.RESTARTING)
    run.cluster.osds[1].broken = True
    run.tick()
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    if held == 'paused':
        run.driver.pause('client.ann', run.cluster.now_s)
    run.may_act = held != 'mode off'
    run.cluster.osds[1].broken = False
    for _ in range(60):
        run.tick()
    assert (run.cluster.entries_of(), run.cluster.down) == ({'osd.0': NEW}, set())
    assert [run.cluster.runs(n) for n in range(3)] == [NEW, DEFAULT, DEFAULT]
    run.may_act = True
    if held == 'paused':
        run.driver.resume(run.cluster.now_s)
    state = run.run_to_end()
    assert (state.phase, state.failure) == (Phase.ROLLED_BACK, 'rolled back by client.ann')
    assert [run.cluster.runs(n) for n in range(3)] == [DEFAULT] * 3


# -- a store that refuses


def test_osd_that_does_not_start_is_restored_though_nothing_can_be_stored(run: Run) -> None:
    not_starting(run)
    run.store.error = run.refusal
    began_s = run.cluster.now_s
    while run.cluster.down and run.cluster.now_s < began_s + 900.0:
        run.tick()
    assert run.cluster.now_s - began_s < 400.0
    assert (run.cluster.entries_of(), run.cluster.runs(0)) == ({}, DEFAULT)
    for _ in range(30):
        run.tick()
    assert not run.state.ended
    run.store.error = None
    state = run.run_to_end()
    assert (state.outcome, state.failure) == (
        Outcome.FAILED,
        'osd.0 did not come back up within 300 s',
    )
    assert [osd.boots for osd in run.cluster.osds.values()] == [2, 1, 1]


def test_store_that_refuses_names_the_osd_in_flight_and_the_command(run: Run) -> None:
    not_starting(run)
    run.store.error = run.refusal
    run.cluster.errors['config rm'] = run.refusal
    run.to_a_wait('attempts failed')
    assert run.state.paused_reason == (
        f'osd.0 may not start with its entry, and its removal is refused: {RM} (3 attempts failed, '
        'retrying: read-only file system)'
    )
    run.tick()
    assert run.driver.problems == (
        (
            'the rollout cannot store its state: read-only file system; osd.0 is finished all the '
            f'same: if it does not start, {RM} is run, and the OSD is started again'
        ),
    )
    run.cluster.errors.clear()
    run.store.error = None
    assert run.run_to_end().outcome is Outcome.FAILED


def test_later_steps_wait_until_the_recovery_is_stored(run: Run) -> None:
    """The others are rolled back by whoever has it stored that they are."""
    run.start()
    run.until(lambda s: s.osds[1].step is OsdStep.RESTARTING)
    run.cluster.osds[1].broken = True
    run.store.error = run.refusal
    run.until(lambda s: s.direction is Direction.RECOVER)
    run.cluster.osds[1].broken = False
    for _ in range(100):
        run.tick()
    assert run.cluster.entries_of() == {'osd.0': NEW}
    assert [run.cluster.runs(n) for n in range(3)] == [NEW, DEFAULT, DEFAULT]
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
    for _ in range(30):
        run.tick()
    run.fail_over()
    assert run.state.direction is Direction.FORWARD
    run.cluster.orchestrator_idle = False
    for _ in range(400):
        run.tick()
    assert not run.cluster.down
    run.store.error = None
    state = run.run_to_end()
    assert state.outcome is Outcome.ABORTED
    assert (run.cluster.entries_of(), run.cluster.runs(0)) == ({}, DEFAULT)


# -- which OSD is not safe


@pytest.mark.parametrize(
    ('step', 'restart_needed', 'safe'),
    [
        (OsdStep.SETTING, False, False),
        (OsdStep.RESTART_DUE, False, False),
        (OsdStep.RESTART_DUE, True, True),
        (OsdStep.RESTARTING, True, False),
        (OsdStep.CHECKING, True, False),
        (OsdStep.SETTLING, True, True),
        (OsdStep.COLLAPSING, False, True),
        (OsdStep.VERIFIED, False, True),
    ],
)
def test_osd_of_a_rollback_is_safe_unless_it_is_restarting_or_was_never_verified(
    step: OsdStep, restart_needed: bool, safe: bool
) -> None:
    state = rollback_of(FakeCluster(3), step)
    state = with_osd(state, replace(state.osds[0], restart_needed=restart_needed))
    assert unsafe(state, ()) == (None if safe else state.osds[0])
    down = {OsdStep.SETTLING, OsdStep.COLLAPSING}
    assert unsafe(state, {0}) == (None if step in down else state.osds[0])


@pytest.mark.parametrize(
    ('step', 'direction', 'down', 'action', 'taken'),
    [
        (OsdStep.RESTARTING, Direction.FORWARD, True, None, True),
        (OsdStep.RESTARTING, Direction.FORWARD, True, RestartOsd(0), True),
        (OsdStep.RESTARTING, Direction.FORWARD, False, RestartOsd(0), False),
        (OsdStep.RESTARTING, Direction.FORWARD, True, SetEntry('osd.0', NEW), False),
        (OsdStep.RESTORING, Direction.RECOVER, True, RemoveEntry('osd.0'), True),
        (OsdStep.PENDING, Direction.FORWARD, True, None, False),
    ],
)
def test_only_an_unsafe_osd_is_followed_without_the_store(
    step: OsdStep, direction: Direction, down: bool, action: Optional[Action], taken: bool
) -> None:
    cluster = FakeCluster(3)
    state = rollout(cluster, step, direction=direction)
    if down:
        cluster.stop_osd(0)
        cluster.advance(30)
    actions = () if action is None else (action,)
    assert must_not_wait(state, state, actions, observed(cluster)) is taken
    ended = replace(state, stage=Phase.FAILED)
    assert not must_not_wait(state, ended, actions, observed(cluster))


def test_abort_in_the_soak_restores_a_canary_that_is_down(run: Run) -> None:
    run.start(soak=SoakPlan(300.0, 600.0))
    run.until(lambda s: s.stage is Phase.SOAKING)
    run.cluster.stop_osd(0)
    assert abort(run) == 'aborted by client.ann'
    state = run.run_to_end()
    assert (state.outcome, run.cluster.runs(0)) == (Outcome.ABORTED, DEFAULT)
    assert run.cluster.entries_of() == {}


@pytest.mark.parametrize('held', ['paused', 'mode off', 'neither'])
def test_abort_of_a_rollback_removes_the_entry_of_an_osd_that_is_down(run: Run, held: str) -> None:
    not_starting(run)
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    if held == 'paused':
        run.driver.pause('client.ann', run.cluster.now_s)
    run.may_act = held != 'mode off'
    assert 'rollback aborted by client.ann' in abort(run)
    assert not run.state.ended
    state = run.run_to_end()
    assert (state.outcome, run.cluster.runs(0)) == (Outcome.ABORTED, DEFAULT)
    assert run.cluster.entries_of() == {}


def test_abort_of_a_rollback_finishes_the_osd_in_flight_and_starts_no_other(run: Run) -> None:
    run.start()
    run.run_to_end()
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    abort(run)
    state = run.run_to_end()
    assert [run.cluster.runs(n) for n in range(3)] == [DEFAULT, NEW, NEW]
    assert (state.outcome, state.failure) == (
        Outcome.ABORTED,
        (
            'rolled back by client.ann; rollback aborted by client.ann; the previous entry of '
            'osd.1, osd.2 is restored, but was not seen in effect; "ceph rocksdb-tuner rollback '
            'r1" restarts what needs it'
        ),
    )
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert [run.cluster.runs(n) for n in range(3)] == [DEFAULT] * 3


def test_abort_of_a_later_recovery_leaves_the_other_osds_to_the_operator(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[1].step is OsdStep.RESTARTING)
    run.cluster.osds[1].broken = True
    run.until(lambda s: s.direction is Direction.RECOVER)
    abort(run)
    run.cluster.osds[1].broken = False
    state = run.run_to_end()
    assert (state.outcome, run.cluster.runs(1)) == (Outcome.ABORTED, DEFAULT)
    assert 'the change stays on osd.0' in (state.failure or '')
    assert run.cluster.entries_of() == {'osd.0': NEW}


def test_manager_that_takes_over_restores_an_osd_though_nothing_can_be_stored(run: Run) -> None:
    """It cannot know whether the restart was lost: it asks once more, and then restores."""
    not_starting(run)
    run.store.error = run.refusal
    run.fail_over()
    began_s = run.cluster.now_s
    while run.cluster.down and run.cluster.now_s < began_s + 1800.0:
        run.tick()
    assert run.cluster.now_s - began_s < 700.0
    assert run.cluster.entries_of() == {}


def test_rollback_starts_an_osd_that_is_down_though_nothing_can_be_stored(run: Run) -> None:
    not_starting(run)
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.store.error = run.refusal
    for _ in range(60):
        run.tick()
    assert (run.cluster.entries_of(), run.cluster.runs(0)) == ({}, DEFAULT)
    run.store.error = None
    assert run.run_to_end().phase is Phase.ROLLED_BACK
