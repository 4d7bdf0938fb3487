"""Single decisions about a restart, the process after it, and entries changed by others."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import (
    Inconclusive,
    Judgement,
    SoakPlan,
    Verdict,
)
from rocksdb_tuner.mgr.records import OrchestratedDaemon, PgSummary
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.osd_step import process_lost, until_settled
from rocksdb_tuner.operations.rollout.records import (
    AskedRestart,
    Direction,
    Ending,
    OsdStep,
    RolloutState,
)
from rocksdb_tuner.operations.rollout.rollback import conflicting_entries
from rocksdb_tuner.operations.rollout.rules import Observation, Step
from rocksdb_tuner.operations.rollout.soak import soak, undecided
from rocksdb_tuner.plan.batches import planned_batch
from rocksdb_tuner.plan.commands import RemoveEntry, RestartOsd
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import ALL, NEW, OLD, overridden
from .one_step import (
    ABORTED,
    BACK,
    FAILED,
    FORWARD,
    MACHINE,
    RECOVER,
    SOAK,
    canary,
    observed,
    other,
    reason,
    rollback_of,
    rollout,
    stepped,
    without,
)

UNCLEAN = PgSummary(33, 32, (('active+clean', 32), ('peering', 1)))
MAY_STILL = 'the orchestrator may still restart osd.'


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
        'restart osd.0 next: "systemctl restart ceph-osd@0" on node0; the operation '
        'continues after that (none)'
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
            'restart osd.0 next: "systemctl restart ceph-osd@0" on node0; the operation '
            'continues after that (osd.0 did not restart when requested)'
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
        'start osd.0 next: "systemctl start ceph-osd@0" on node0; the operation '
        'continues after that (osd.0 did not come back up)'
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


UNSURE = Judgement(Verdict.INCONCLUSIVE, missing=('precision',))
NOTHING = Judgement(Verdict.NO_DATA, missing=('writes',))


# -- a process that is not the one that came up


def again(seen: Observation, state: RolloutState, flaps: int = 0) -> Optional[Step]:
    osd = replace(state.osds[0], flaps=flaps)
    return process_lost(MACHINE, state, osd, seen)


@pytest.mark.parametrize('direction', [Direction.FORWARD, Direction.BACK])
def test_osd_with_a_new_process_is_lost_even_if_never_seen_down(
    cluster: FakeCluster, direction: Direction
) -> None:
    state = rollout(cluster, OsdStep.CHECKING, direction=direction)
    seen = observed(cluster)
    assert again(seen, state) is None
    for lost in (
        other(seen, 0, nonce=99),
        other(seen, 0, nonce=None),
        other(seen, 0, up=False),
        without(seen, 0),
    ):
        step = again(lost, state)
        assert step is not None
        assert (step.state.osds[0].step, step.state.osds[0].flaps) == (OsdStep.RESTARTING, 1)
        assert step.actions == ()


def test_osd_fails_on_going_down_for_the_third_time(cluster: FakeCluster) -> None:
    state = rollout(cluster, OsdStep.SETTLING)
    lost = other(observed(cluster), 0, up=False)
    second, third = again(lost, state, flaps=1), again(lost, state, flaps=2)
    assert second is not None
    assert second.state.direction is Direction.FORWARD
    assert third is not None
    assert third.state.direction is Direction.RECOVER
    assert third.state.ending == Ending(Outcome.FAILED, 'osd.0 came up and went down again 3 times')
    back = again(lost, replace(state, direction=Direction.BACK), flaps=20)
    assert back is not None
    assert back.state.direction is Direction.BACK


# -- the soak


def soaked(
    state: RolloutState, seen: Observation, soaking: SoakPlan = SOAK, number: int = 0
) -> RolloutState:
    step = soak(state, planned_batch(state.request, soaking, number), seen)
    assert step.actions == ()
    return step.state


@pytest.mark.parametrize('policy', Inconclusive)
def test_missing_data_waits_whatever_the_policy(cluster: FakeCluster, policy: Inconclusive) -> None:
    state = rollout(cluster, OsdStep.VERIFIED)
    seen = observed(cluster, after_s=600.0, judgement=NOTHING, unsampled=(0, 2))
    waits = soaked(state, seen, replace(SOAK, inconclusive=policy))
    assert (waits.judgement, waits.verdicts, waits.direction) == (NOTHING, (), Direction.FORWARD)
    reported = waits.paused_reason or ''
    assert 'missing: no current samples of OSD 0,2: it continues once they report' in reported
    assert NOTHING.missing[0] in reported
    assert undecided(waits)


def test_doubt_waits_promotes_or_rolls_back_as_configured(cluster: FakeCluster) -> None:
    state = rollout(cluster, OsdStep.VERIFIED)
    seen = observed(cluster, after_s=600.0, judgement=UNSURE)
    waits = soaked(state, seen)
    assert (waits.judgement, waits.verdicts) == (UNSURE, ())
    assert UNSURE.missing[0] in (waits.paused_reason or '')
    assert undecided(waits)
    promoted = soaked(state, seen, replace(SOAK, inconclusive=Inconclusive.PROMOTE))
    assert (promoted.judgement, promoted.verdicts) == (UNSURE, (UNSURE.verdict,))
    assert not undecided(promoted)
    back = soaked(state, seen, replace(SOAK, inconclusive=Inconclusive.ROLLBACK))
    assert (back.judgement, back.direction) == (UNSURE, Direction.BACK)
    assert not undecided(back)


# -- rollback


def test_paused_rollback_changes_no_entry_and_restarts_no_osd(cluster: FakeCluster) -> None:
    written = observed(cluster, entries={ALL: NEW, 'osd.0': NEW}, waited_s=1000.0)
    restored = replace(written, entries={})
    entries = rollback_of(cluster, OsdStep.VERIFIED, entries_done=0, shared_touched=True)
    due = rollback_of(cluster, OsdStep.RESTART_DUE, restoring=(), entries_done=0)
    waiting = replace(due.osds[0], nonce_before=cluster.osds[0].nonce)
    due = replace(due, osds=(waiting, *due.osds[1:]))
    for state, seen in ((entries, written), (due, restored)):
        for look in (seen, other(seen, 0, up=False)):
            held = MACHINE.step(replace(state, paused_by='client.ann'), look, 2.0)
            assert held.actions == ()
            assert held.state.osds == state.osds
            assert held.state.paused_reason == 'paused by client.ann'
            off = MACHINE.step(state, replace(look, may_act=False), 2.0)
            assert off.actions == ()
    # Only the pause holds it.
    assert MACHINE.step(entries, written, 2.0).actions == (RemoveEntry(ALL),)
    for look in (restored, other(restored, 0, up=False)):
        assert MACHINE.step(due, look, 2.0).actions == (RestartOsd(0),)


# -- a restart


def restarting(
    cluster: FakeCluster, step: OsdStep = OsdStep.RESTARTING, **changes: object
) -> RolloutState:
    """The canary, whose process is still the previous one; it was requested once."""
    state = rollout(cluster, step)
    osd = replace(
        state.osds[0], nonce_before=cluster.osds[0].nonce, nonce_after=None, restarts_asked=1
    )
    return replace(state, osds=(osd, *state.osds[1:]), **changes)  # type: ignore[arg-type]


def entries_of(state: RolloutState) -> dict[str, str]:
    return {'osd.0': dict(state.request.targets)[0]}


@pytest.mark.parametrize(
    ('changes', 'asked'),
    [
        ({}, True),
        ({'restart_is_ours': True}, False),
        ({'orchestrator_reason': 'none'}, False),
        ({'may_act': False}, False),
    ],
)
def test_osd_stopped_under_another_manager_is_started_again_before_it_fails(
    cluster: FakeCluster, changes: dict[str, object], asked: bool
) -> None:
    state = restarting(cluster)
    seen = observed(
        cluster,
        entries=entries_of(state),
        waited_s=300.0,
        down_s=300.0,
        **{'restart_is_ours': False, **changes},
    )
    down = other(seen, 0, up=False)
    step = MACHINE.step(state, down, 2.0)
    assert (step.actions == (RestartOsd(0),)) == asked
    assert (step.state.direction is Direction.RECOVER) == (not asked)
    if asked:
        often = replace(state, osds=(replace(state.osds[0], restarts_asked=3), *state.osds[1:]))
        assert MACHINE.step(often, down, 2.0).state.direction is Direction.RECOVER
        ending = replace(state, ending=Ending(Outcome.ABORTED, 'aborted by client.ann'))
        assert MACHINE.step(ending, down, 2.0).state.direction is Direction.RECOVER


def test_osd_not_restarted_after_two_requests_fails_if_no_other_is_changed(
    cluster: FakeCluster,
) -> None:
    state = restarting(cluster)
    twice = replace(state, osds=(replace(state.osds[0], restarts_asked=2), *state.osds[1:]))
    seen = observed(cluster, entries=entries_of(state), waited_s=300.0)
    failed = MACHINE.step(twice, seen, 2.0)
    assert (failed.state.direction, canary(failed).step) == (Direction.RECOVER, OsdStep.RESTORING)
    assert failed.state.ending == Ending(Outcome.FAILED, 'osd.0 did not restart after 2 requests')
    # Its process is that of before: it need not be restarted for its old entry.
    assert not canary(failed).restart_needed


# -- entries changed by others


THERE, GONE = 'write_buffer_size=1', None


@pytest.mark.parametrize(
    ('at', 'ours'),
    [
        (OsdStep.PENDING, {GONE}),
        (OsdStep.SETTING, {GONE, NEW}),
        (OsdStep.RESTART_DUE, {NEW}),
        (OsdStep.RESTARTING, {NEW}),
        (OsdStep.CHECKING, {NEW}),
        (OsdStep.SETTLING, {NEW}),
        (OsdStep.VERIFIED, {NEW}),
        (OsdStep.COLLAPSING, {NEW, GONE}),
        (OsdStep.COLLAPSED, {GONE}),
    ],
)
def test_expected_own_entry_follows_from_the_progress_of_the_osd(
    cluster: FakeCluster, at: OsdStep, ours: set[Optional[str]]
) -> None:
    state = rollout(cluster, at)
    for value in (GONE, NEW, OLD, THERE):
        entries = {} if value is None else {'osd.0': value}
        found = conflicting_entries(state, observed(cluster, entries=entries))
        assert found == (() if value in ours else ('osd.0',)), value


@pytest.mark.parametrize(
    ('touched', 'done', 'ours'),
    [(False, 0, {GONE}), (True, 0, {GONE, NEW}), (True, 1, {NEW})],
)
def test_expected_shared_entry_follows_from_its_write_and_confirmation(
    cluster: FakeCluster, touched: bool, done: int, ours: set[Optional[str]]
) -> None:
    state = rollout(cluster, shared_touched=touched, entries_done=done)
    for value in (GONE, NEW, OLD):
        entries = {} if value is None else {ALL: value}
        found = conflicting_entries(state, observed(cluster, entries=entries))
        assert found == (() if value in ours else (ALL,)), value


@pytest.mark.parametrize(
    ('who', 'forward', 'back'),
    [
        ('osd/class:ssd', True, False),
        ('osd/host:node0', True, False),
        ('global', True, False),
        ('osd/class:hdd', False, False),
        ('osd.9', False, False),
        ('mon', False, False),
        ('osd.3', True, False),
        ('osd.0', True, True),
        (ALL, True, True),
    ],
)
def test_foreign_entry_matters_if_it_may_apply_or_is_to_be_restored(
    cluster: FakeCluster, who: str, forward: bool, back: bool
) -> None:
    seen = observed(cluster, entries={who: THERE})
    assert (conflicting_entries(rollout(cluster), seen) == (who,)) == forward
    state = rollback_of(cluster, OsdStep.RESTART_DUE)
    assert (conflicting_entries(state, seen) == (who,)) == back


def test_entry_under_rollback_is_old_or_new_until_confirmed() -> None:
    cluster = overridden(ALL, osds=4)
    for done in (0, 1, 2):
        state = rollback_of(cluster, OsdStep.VERIFIED, entries_done=done)
        for shared, single in ((OLD, GONE), (NEW, GONE), (OLD, NEW), (THERE, GONE), (OLD, THERE)):
            entries = {ALL: shared, **({} if single is None else {'osd.0': single})}
            expected = [
                who
                for who, value, ours in (
                    (ALL, shared, {OLD} if done >= 1 else {OLD, NEW}),
                    ('osd.0', single, {GONE} if done >= 2 else {GONE, NEW}),
                )
                if value not in ours
            ]
            found = conflicting_entries(state, observed(cluster, entries=entries))
            assert found == tuple(expected), (done, shared, single)


def test_only_the_own_entry_matters_during_recovery(cluster: FakeCluster) -> None:
    state = rollout(cluster, OsdStep.RESTORING, direction=Direction.RECOVER)
    for entries, expected in (
        ({}, ()),
        ({'osd.0': NEW}, ()),
        ({'osd.0': THERE}, ('osd.0',)),
        ({ALL: THERE, 'osd.1': THERE}, ()),
    ):
        assert conflicting_entries(state, observed(cluster, entries=entries)) == expected
    for needed, ours in ((True, GONE), (False, NEW)):
        due = rollout(cluster, OsdStep.RESTARTING, direction=Direction.RECOVER)
        due = replace(due, osds=(replace(due.osds[0], restart_needed=needed), *due.osds[1:]))
        for value in (GONE, NEW):
            entries = {} if value is None else {'osd.0': value}
            found = conflicting_entries(due, observed(cluster, entries=entries))
            assert found == (() if value == ours else ('osd.0',))


def test_conflict_counts_after_two_seconds(cluster: FakeCluster) -> None:
    """A monitor may answer from just before the last change."""
    state = rollout(cluster, OsdStep.VERIFIED)
    seen = observed(cluster, entries={'osd.0': THERE})
    once = MACHINE.step(state, seen, 2.0)
    assert (once.state.ended, once.actions) == (False, ())
    assert 'osd.0' in (once.state.pending_conflict or '')
    early = MACHINE.step(once.state, replace(seen, waited_s=1.9), 3.0)
    assert (early.state.ended, early.actions) == (False, ())
    late = MACHINE.step(once.state, replace(seen, waited_s=2.0), 3.0)
    assert (late.state.stage, late.state.outcome) == (Phase.FAILED, Outcome.ABORTED)
    assert 'was changed outside this rollout' in (late.state.failure or '')
    gone = MACHINE.step(once.state, observed(cluster, entries={'osd.0': NEW}), 3.0)
    assert (gone.state.pending_conflict, gone.state.ended) == (None, False)
    another = MACHINE.step(once.state, replace(seen, entries={'osd.0': THERE, 'osd.1': THERE}), 3.0)
    assert not another.state.ended


def test_osd_in_flight_is_made_safe_before_a_foreign_change_ends_the_rollout(
    cluster: FakeCluster,
) -> None:
    state = rollout(cluster, OsdStep.VERIFIED, OsdStep.SETTLING)
    entries = {'osd.0': NEW, 'osd.1': NEW, 'osd.3': THERE}
    seen = observed(cluster, entries=entries)
    once = MACHINE.step(state, seen, 2.0).state
    on = MACHINE.step(once, seen, 3.0).state
    assert (on.ended, on.osds[1].step) == (False, OsdStep.VERIFIED)
    assert on.ending is not None
    assert on.ending.outcome is Outcome.ABORTED
    assert MACHINE.step(on, seen, 4.0).state.outcome is Outcome.ABORTED
    # If it is the OSD in flight itself, the operator's change takes precedence.
    its_own = replace(seen, entries={'osd.0': NEW, 'osd.1': THERE})
    once = MACHINE.step(state, its_own, 2.0).state
    assert MACHINE.step(once, its_own, 3.0).state.outcome is Outcome.ABORTED
