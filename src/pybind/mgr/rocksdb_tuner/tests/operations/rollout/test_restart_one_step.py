"""Single decisions about the restart of one OSD, in each direction.

Each row of a table differs from the previous one in one respect, and times cover both sides of
their limits.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.mgr.records import OrchestratedDaemon, PgSummary
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout.osd_step import process_lost, until_settled
from rocksdb_tuner.operations.rollout.records import (
    AskedRestart,
    Direction,
    Ending,
    OsdStep,
    RolloutState,
)
from rocksdb_tuner.operations.rollout.rules import Observation, Step
from rocksdb_tuner.plan.commands import RestartOsd
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import NEW
from .one_step import MACHINE, canary, observed, other, rollout, without

FORWARD, BACK, RECOVER = Direction.FORWARD, Direction.BACK, Direction.RECOVER
FAILED = Ending(Outcome.FAILED, 'it failed')
ABORTED = Ending(Outcome.ABORTED, 'aborted by client.ann')
UNCLEAN = PgSummary(33, 32, (('active+clean', 32), ('peering', 1)))
MAY_STILL = 'the orchestrator may still restart osd.'


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(4)


def at(
    cluster: FakeCluster,
    step: OsdStep,
    direction: Direction = FORWARD,
    asked: int = 0,
    others: OsdStep = OsdStep.PENDING,
    **changes: object,
) -> RolloutState:
    """The canary, whose process is still the previous one; all entries are restored."""
    fields: dict[str, object] = {'direction': direction, **changes}
    if direction is RECOVER:
        fields.setdefault('ending', FAILED)
    state = rollout(cluster, step, others, **fields)
    osd = replace(
        state.osds[0],
        nonce_before=cluster.osds[0].nonce,
        nonce_after=None,
        restarts_asked=asked,
        restart_needed=direction is not FORWARD,
    )
    return replace(state, osds=(osd, *state.osds[1:]))


def look(cluster: FakeCluster, state: RolloutState, **changes: object) -> Observation:
    """Entries are those that the rollout wrote."""
    ours = {
        f'osd.{osd.osd_id}': NEW
        for osd in state.osds
        if osd.step is not OsdStep.PENDING and state.direction is FORWARD
    }
    if state.direction is RECOVER:
        ours = {f'osd.{osd.osd_id}': NEW for osd in state.osds[1:] if osd.step is OsdStep.VERIFIED}
    return observed(cluster, **{'entries': ours, **changes})


def down(seen: Observation, **changes: object) -> Observation:
    return other(replace(seen, **changes), 0, up=False)  # type: ignore[arg-type]


def out(seen: Observation, **changes: object) -> Observation:
    seen = replace(seen, **changes)  # type: ignore[arg-type]
    return other(seen, 0, up=False, in_cluster=False)


def stepped(state: RolloutState, seen: Observation) -> Step:
    return MACHINE.step(state, seen, 2.0)


def reason(step: Step) -> str:
    return step.state.paused_reason or ''


# -- a restart is due


@pytest.mark.parametrize('at_step', [OsdStep.RESTART_DUE, OsdStep.RESTARTING])
@pytest.mark.parametrize('direction', [FORWARD, BACK, RECOVER])
def test_started_osd_is_checked_unless_it_may_have_read_its_old_entry(
    cluster: FakeCluster, at_step: OsdStep, direction: Direction
) -> None:
    state = at(cluster, at_step, direction, asked=2, errors=2)
    seen = other(look(cluster, state), 0, nonce=99)
    step = stepped(state, seen)
    assert (step.actions, step.state.errors) == ((), 0)
    assert (canary(step).step, canary(step).nonce_after) == (OsdStep.CHECKING, 99)
    doubtful = replace(state, osds=(replace(state.osds[0], doubtful=True), *state.osds[1:]))
    found = canary(stepped(doubtful, seen))
    assert (found.step, found.nonce_before, found.nonce_after) == (OsdStep.RESTART_DUE, 99, None)
    assert (found.restarts_asked, found.doubtful) == (0, False)


@pytest.mark.parametrize('direction', [BACK, RECOVER])
@pytest.mark.parametrize('at_step', [OsdStep.RESTART_DUE, OsdStep.RESTARTING])
def test_osd_removed_during_rollback_is_left_behind(
    cluster: FakeCluster, direction: Direction, at_step: OsdStep
) -> None:
    state = at(cluster, at_step, direction)
    step = stepped(state, without(look(cluster, state), 0))
    assert step.actions == ()
    assert (canary(step).step, canary(step).left_reason) == (
        OsdStep.LEFT_BEHIND,
        'osd.0 was removed from the cluster',
    )


@pytest.mark.parametrize('direction', [BACK, RECOVER])
@pytest.mark.parametrize('at_step', [OsdStep.RESTART_DUE, OsdStep.RESTARTING])
def test_map_without_any_osd_leaves_nobody_behind_and_restarts_nobody(
    cluster: FakeCluster, direction: Direction, at_step: OsdStep
) -> None:
    state = at(cluster, at_step, direction)
    seen = look(cluster, state, waited_s=9999.0)
    step = stepped(state, replace(seen, cluster=replace(seen.cluster, osds=())))
    assert (step.actions, canary(step).step) == ((), at_step)
    assert reason(step) == 'osd.0 is not in the OSD map'


@pytest.mark.parametrize(
    ('down_s', 'lifeless_s', 'alive', 'fails'),
    [
        (300.0, math.inf, None, True),
        (299.9, math.inf, None, False),
        (1000.0, 299.9, None, False),
        (1000.0, 300.0, None, True),
        # The orchestrator sees that it is dead.
        (300.0, math.inf, False, True),
        (299.9, math.inf, False, False),
    ],
)
@pytest.mark.parametrize('at_step', [OsdStep.RESTART_DUE, OsdStep.RESTARTING])
def test_osd_is_given_up_when_down_without_a_sign_of_life_for_five_minutes(
    cluster: FakeCluster,
    at_step: OsdStep,
    down_s: float,
    lifeless_s: float,
    alive: Optional[bool],
    fails: bool,
) -> None:
    state = at(cluster, at_step, asked=1)
    seen = look(cluster, state, waited_s=9999.0)
    step = stepped(state, down(seen, down_s=down_s, lifeless_s=lifeless_s, alive=alive))
    assert step.actions == ()
    assert (step.state.direction is RECOVER) == fails
    if fails:
        reported = 'osd.0 did not come back up within 300 s'
        assert step.state.ending == Ending(Outcome.FAILED, reported)
        assert canary(step).restart_needed
    else:
        assert reason(step) == ('osd.0 is down' if at_step is OsdStep.RESTART_DUE else '')


STARTING = 'osd.0 is not up yet, but its process is running: waiting for it'
HANGS = (
    'osd.0 is not up after 60 minutes, although its process is running: see its log; if it '
    'hangs, "systemctl restart ceph-osd@0"'
)


@pytest.mark.parametrize('direction', [FORWARD, BACK, RECOVER])
@pytest.mark.parametrize('down_s', [10.0, 3599.9, 3600.0])
def test_running_process_due_for_a_restart_is_left_alone_for_an_hour(
    cluster: FakeCluster, direction: Direction, down_s: float
) -> None:
    state = at(cluster, OsdStep.RESTART_DUE, direction)
    seen = look(cluster, state, waited_s=9999.0)
    step = stepped(state, down(seen, down_s=down_s, lifeless_s=9999.0, alive=True))
    hangs = down_s >= 3600.0
    # In a rollback a restart is due in any case.
    assert step.actions == ((RestartOsd(0),) if hangs and direction is not FORWARD else ())
    if not step.actions:
        assert reason(step) == (HANGS if hangs else STARTING)
        assert canary(step).step is OsdStep.RESTART_DUE


@pytest.mark.parametrize(
    ('direction', 'ending', 'down_s', 'reported'),
    [
        (FORWARD, None, 299.9, ''),
        (FORWARD, None, 300.0, STARTING),
        (FORWARD, None, 3600.0, HANGS),
        (FORWARD, ABORTED, 3599.9, STARTING),
        # It is aborted, and waited for long enough.
        (FORWARD, ABORTED, 3600.0, None),
        (BACK, None, 3600.0, HANGS),
        (RECOVER, ABORTED, 3600.0, HANGS),
    ],
)
def test_running_process_after_its_restart_is_left_alone(
    cluster: FakeCluster,
    direction: Direction,
    ending: Optional[Ending],
    down_s: float,
    reported: Optional[str],
) -> None:
    state = at(cluster, OsdStep.RESTARTING, direction, asked=1, ending=ending)
    seen = look(cluster, state, waited_s=down_s)
    step = stepped(state, down(seen, down_s=down_s, lifeless_s=0.0, alive=True))
    assert step.actions == ()
    if reported is None:
        assert (step.state.direction, step.state.ending) == (RECOVER, ABORTED)
        assert canary(step).step is OsdStep.RESTORING
    else:
        assert (reason(step), canary(step).step) == (reported, OsdStep.RESTARTING)


@pytest.mark.parametrize('direction', [BACK, RECOVER])
@pytest.mark.parametrize(
    ('waited_s', 'lifeless_s', 'asks'),
    [(300.0, 300.0, True), (299.9, 300.0, False), (300.0, 299.9, False)],
)
def test_osd_that_does_not_start_during_rollback_is_started_again_after_five_minutes(
    cluster: FakeCluster, direction: Direction, waited_s: float, lifeless_s: float, asks: bool
) -> None:
    """Since the request: its downtime does not matter."""
    state = at(cluster, OsdStep.RESTARTING, direction, asked=1)
    seen = look(cluster, state, waited_s=waited_s, ok_to_stop={}, pgs=UNCLEAN)
    step = stepped(state, down(seen, down_s=0.0, lifeless_s=lifeless_s, alive=False))
    assert step.actions == ((RestartOsd(0),) if asks else ())
    assert canary(step).restarts_asked == (2 if asks else 1)


# -- whether it is requested


@pytest.mark.parametrize('direction', [BACK, RECOVER])
def test_down_osd_is_started_whatever_the_gates_are(
    cluster: FakeCluster, direction: Direction
) -> None:
    state = at(cluster, OsdStep.RESTART_DUE, direction)
    seen = look(cluster, state, pgs=UNCLEAN, ok_to_stop={}, health=frozenset({'OSD_DOWN'}))
    assert stepped(state, down(seen)).actions == (RestartOsd(0),)
    up = stepped(state, seen)
    assert (up.actions, canary(up).step) == ((), OsdStep.RESTART_DUE)
    assert reason(up) == 'cluster health: OSD_DOWN'


@pytest.mark.parametrize(
    ('absent_s', 'orchestrator_reason', 'errors', 'left'),
    [
        (300.0, 'none', 0, True),
        (299.9, 'none', 0, False),
        (300.0, None, 3, True),
        (299.9, None, 3, False),
        (300.0, None, 2, False),
        (9999.0, None, 0, False),
    ],
)
def test_osd_down_and_out_is_left_behind_if_nobody_can_start_it(
    cluster: FakeCluster,
    absent_s: float,
    orchestrator_reason: Optional[str],
    errors: int,
    left: bool,
) -> None:
    state = at(cluster, OsdStep.RESTART_DUE, BACK, errors=errors, last_error='EIO')
    seen = look(cluster, state, orchestrator_reason=orchestrator_reason, absent_s=absent_s)
    step = stepped(state, out(seen, waited_s=1.0))
    assert (canary(step).step is OsdStep.LEFT_BEHIND) == left
    if left:
        assert (step.actions, canary(step).left_reason) == ((), 'osd.0 is down and out')
    # One that is only down is never left behind.
    assert canary(stepped(state, down(seen, waited_s=1.0))).step is not OsdStep.LEFT_BEHIND


@pytest.mark.parametrize('direction', [FORWARD, BACK, RECOVER])
def test_restart_is_requested_of_the_operator_without_an_orchestrator(
    cluster: FakeCluster, direction: Direction
) -> None:
    state = at(cluster, OsdStep.RESTART_DUE, direction)
    step = stepped(state, look(cluster, state, orchestrator_reason='none', waited_s=9999.0))
    assert (step.actions, canary(step).step) == ((), OsdStep.RESTART_DUE)
    assert reason(step) == (
        'restart osd.0 next: "systemctl restart ceph-osd@0" on node0; the rollout continues '
        'after that (none)'
    )


@pytest.mark.parametrize(
    ('errors', 'waited_s', 'asks', 'reported'),
    [
        (0, 0.0, True, False),
        (1, 29.9, False, False),
        (1, 30.0, True, False),
        (3, 29.9, False, True),
        (3, 30.0, True, True),
    ],
)
def test_refused_restart_is_retried_and_its_error_reported(
    cluster: FakeCluster, errors: int, waited_s: float, asks: bool, reported: bool
) -> None:
    state = at(cluster, OsdStep.RESTART_DUE, errors=errors, last_error='EBUSY')
    step = stepped(state, look(cluster, state, waited_s=waited_s))
    assert step.actions == ((RestartOsd(0),) if asks else ())
    # Only what comes up ends a row of errors.
    assert step.state.errors == errors
    assert ('attempts failed, retrying: EBUSY' in reason(step)) == reported


@pytest.mark.parametrize('direction', [FORWARD, BACK, RECOVER])
@pytest.mark.parametrize(
    ('asked', 'waits_for'),
    [
        (None, None),
        (AskedRestart(0), 0),
        (AskedRestart(3), 3),
        (AskedRestart(0, refused=True), None),
        (AskedRestart(3, refused=True), 3),
    ],
)
@pytest.mark.parametrize('again', [False, True])
def test_one_restart_is_requested_at_a_time_unless_refused_for_the_same_osd(
    cluster: FakeCluster,
    direction: Direction,
    asked: Optional[AskedRestart],
    waits_for: Optional[int],
    again: bool,
) -> None:
    step = OsdStep.RESTARTING if again else OsdStep.RESTART_DUE
    state = at(cluster, step, direction, asked=int(again))
    state = replace(state, asked=asked)
    found = stepped(state, look(cluster, state, waited_s=300.0))
    if waits_for is None:
        assert found.actions == (RestartOsd(0),)
        assert found.state.asked == AskedRestart(0)
    else:
        assert (found.actions, found.state.asked) == ((), asked)
        assert reason(found).startswith(f'{MAY_STILL}{waits_for} as requested')


def test_last_state_of_the_orchestrator_is_stored_with_the_request(
    cluster: FakeCluster,
) -> None:
    state = at(cluster, OsdStep.RESTART_DUE)
    state = replace(state, osds=(replace(state.osds[0], doubtful=True), *state.osds[1:]))
    reported = OrchestratedDaemon(running=True, executed=('t1',), stored_started='s1')
    step = stepped(state, look(cluster, state, described={0: reported, 1: replace(reported)}))
    assert step.state.asked == AskedRestart(0, ('t1',), 's1')
    found = canary(step)
    assert (found.step, found.restarts_asked, found.doubtful) == (OsdStep.RESTARTING, 1, False)


# -- requested restarts that did not happen


@pytest.mark.parametrize('direction', [FORWARD, BACK, RECOVER])
@pytest.mark.parametrize(('asked', 'asks'), [(1, True), (2, True), (3, False)])
def test_restart_is_requested_three_times_and_then_of_the_operator_if_others_are_changed(
    cluster: FakeCluster, direction: Direction, asked: int, asks: bool
) -> None:
    state = at(cluster, OsdStep.RESTARTING, direction, asked, others=OsdStep.VERIFIED)
    seen = look(cluster, state, waited_s=300.0)
    step = stepped(state, seen)
    assert step.state.direction is direction
    assert step.actions == ((RestartOsd(0),) if asks else ())
    assert canary(step).restarts_asked == (asked + 1 if asks else asked)
    if not asks:
        assert reason(step) == (
            'restart osd.0 next: "systemctl restart ceph-osd@0" on node0; the rollout continues '
            'after that (osd.0 did not restart when requested)'
        )
    # The gates hold it, and if nobody can restart it that is the reason.
    closed = stepped(state, replace(seen, health=frozenset({'MON_DOWN'})))
    assert (closed.actions, reason(closed)) == ((), 'cluster health: MON_DOWN')
    nobody = stepped(state, replace(seen, orchestrator_reason='none'))
    assert nobody.actions == ()
    assert '(none)' in reason(nobody)


@pytest.mark.parametrize('direction', [BACK, RECOVER])
def test_osd_that_does_not_start_during_rollback_requires_operator_action_after_three_attempts(
    cluster: FakeCluster, direction: Direction
) -> None:
    state = at(cluster, OsdStep.RESTARTING, direction, asked=3)
    seen = look(cluster, state, waited_s=300.0)
    step = stepped(state, down(seen))
    assert (step.actions, canary(step).step) == ((), OsdStep.RESTARTING)
    assert reason(step) == (
        'start osd.0 next: "systemctl start ceph-osd@0" on node0; the rollout continues '
        'after that (osd.0 did not come back up)'
    )
    for gone in (out(seen), out(seen, orchestrator_reason='none')):
        assert canary(stepped(state, gone)).left_reason == 'osd.0 is down and out'
    once = replace(state, osds=(replace(state.osds[0], restarts_asked=2), *state.osds[1:]))
    assert stepped(once, out(seen)).actions == (RestartOsd(0),)


def test_pause_holds_a_repeated_request_during_rollback(cluster: FakeCluster) -> None:
    state = at(cluster, OsdStep.RESTARTING, BACK, asked=1, paused_by='client.ann')
    step = stepped(state, down(look(cluster, state, waited_s=300.0)))
    assert (step.actions, reason(step)) == ((), 'paused by client.ann')


def test_aborted_rollout_restores_osds_that_were_not_restarted_in_time(
    cluster: FakeCluster,
) -> None:
    state = at(cluster, OsdStep.RESTARTING, asked=1, ending=ABORTED, others=OsdStep.VERIFIED)
    early = stepped(state, look(cluster, state, waited_s=299.9))
    assert (early.state.direction, early.actions) == (FORWARD, ())
    late = stepped(state, look(cluster, state, waited_s=300.0))
    assert (late.state.direction, late.state.ending) == (RECOVER, ABORTED)
    assert (canary(late).step, canary(late).restart_needed) == (OsdStep.RESTORING, False)


@pytest.mark.parametrize(('refused', 'asks'), [(False, False), (True, True)])
def test_osd_stopped_under_another_manager_waits_for_its_request_before_it_is_started(
    cluster: FakeCluster, refused: bool, asks: bool
) -> None:
    state = at(cluster, OsdStep.RESTARTING, asked=1)
    state = replace(state, asked=AskedRestart(0, refused=refused))
    seen = look(cluster, state, waited_s=300.0, restart_is_ours=False)
    step = stepped(state, down(seen, down_s=300.0))
    assert step.actions == ((RestartOsd(0),) if asks else ())
    assert reason(step).startswith(MAY_STILL) == (not asks)


# -- after it came up


@pytest.mark.parametrize(
    ('restart_settled', 'asked', 'counts'),
    [
        (False, None, True),
        (True, None, False),
        (False, AskedRestart(0), False),
        (False, AskedRestart(3), True),
    ],
)
def test_late_requested_restart_is_no_crash(
    cluster: FakeCluster, restart_settled: bool, asked: Optional[AskedRestart], counts: bool
) -> None:
    state = rollout(cluster, OsdStep.CHECKING)
    state = replace(state, asked=asked)
    seen = other(observed(cluster, restart_settled=restart_settled), 0, nonce=99)
    osd = replace(state.osds[0], flaps=2)
    step = process_lost(MACHINE, state, osd, seen)
    assert step is not None
    if counts:
        reported = 'osd.0 came up and went down again 3 times'
        assert step.state.ending == Ending(Outcome.FAILED, reported)
        assert step.state.direction is RECOVER
    else:
        assert (step.state.osds[0].flaps, step.state.direction) == (2, FORWARD)
        assert step.state.osds[0].step is OsdStep.RESTARTING


@pytest.mark.parametrize(
    ('waited_s', 'moved', 'asked', 'unclean', 'reported'),
    [
        (299.9, True, None, False, ''),
        (300.0, True, None, False, 'not every OSD'),
        (0.0, False, None, False, None),
        (299.9, True, AskedRestart(3), False, ''),
        (0.0, False, AskedRestart(3), False, MAY_STILL),
        (0.0, False, AskedRestart(3), True, MAY_STILL),
        (299.9, False, None, True, ''),
        (300.0, False, None, True, 'placement groups'),
    ],
)
def test_osd_is_settled_with_clean_placement_groups_and_no_pending_request(
    cluster: FakeCluster,
    waited_s: float,
    moved: bool,
    asked: Optional[AskedRestart],
    unclean: bool,
    reported: Optional[str],
) -> None:
    state = replace(rollout(cluster, OsdStep.SETTLING), asked=asked)
    seen = observed(cluster, waited_s=waited_s, osds_moved=moved)
    if unclean:
        seen = replace(seen, pgs=UNCLEAN)
    step = until_settled(MACHINE, state, seen)
    if reported is None:
        assert step is None
    else:
        assert step is not None
        assert (step.actions, step.state.osds) == ((), state.osds)
        assert reason(step)[: len(MAY_STILL)].startswith(reported)
        assert (reason(step) == '') == (reported == '')
