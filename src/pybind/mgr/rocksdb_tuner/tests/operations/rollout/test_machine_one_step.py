"""The queries of the machine, its evaluation of a sample, and its predicates."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import Judgement, Verdict
from rocksdb_tuner.mgr.records import OrchestratedDaemon
from rocksdb_tuner.operations.announce import ACTION_AFTER_S
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout import records
from rocksdb_tuner.operations.rollout.announce import why_failed, why_waiting
from rocksdb_tuner.operations.rollout.machine import (
    aborted,
    action_failed,
    resumed,
    wait_key,
    waits_for_operator,
)
from rocksdb_tuner.operations.rollout.observer import Liveness
from rocksdb_tuner.operations.rollout.records import (
    AskedRestart,
    Direction,
    Ending,
    OsdStep,
    RolloutState,
)
from rocksdb_tuner.operations.rollout.rollback import (
    describe_leftovers,
    entries_blocking_rollback,
)
from rocksdb_tuner.operations.rollout.rules import (
    Limits,
    Needs,
    Rules,
    entry,
    why_held,
)
from rocksdb_tuner.plan.commands import RestartOsd, SetEntry
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import ALL, NEW, same_meaning
from .one_step import MACHINE, observed, rollback_of, rollout

FORWARD, BACK, RECOVER = Direction.FORWARD, Direction.BACK, Direction.RECOVER
FAILED = Ending(Outcome.FAILED, 'it failed')
ABORTED = Ending(Outcome.ABORTED, 'aborted by client.ann')
VERIFIED = OsdStep.VERIFIED
THERE = 'write_buffer_size=1'


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(4)


def at(cluster: FakeCluster, step: OsdStep, **changes: object) -> RolloutState:
    """The second OSD is there, and the canary was decided upon."""
    fields: dict[str, object] = {'verdicts': (Verdict.NO_WORSE,), **changes}
    return rollout(cluster, VERIFIED, step, **fields)


# -- what is to be seen


STOP = Needs(ok_to_stop=(1,), orchestrator=True, described=(1,))


@pytest.mark.parametrize(
    ('step', 'direction', 'expected'),
    [
        # The next OSD to start, and none without a decision.
        (OsdStep.PENDING, FORWARD, Needs(running=(1,), ok_to_stop=(1,))),
        (OsdStep.PENDING, BACK, Needs()),
        (OsdStep.PENDING, RECOVER, Needs()),
        (OsdStep.SETTING, FORWARD, Needs()),
        (OsdStep.RESTART_DUE, FORWARD, STOP),
        (OsdStep.RESTART_DUE, BACK, STOP),
        (OsdStep.RESTARTING, FORWARD, STOP),
        (OsdStep.RESTARTING, RECOVER, STOP),
        (OsdStep.CHECKING, FORWARD, Needs(running=(1,))),
        (OsdStep.SETTLING, FORWARD, Needs()),
        (OsdStep.COLLAPSING, FORWARD, Needs()),
        (OsdStep.RESTORING, RECOVER, Needs()),
        # It waits for a verdict on the second one.
        (VERIFIED, FORWARD, Needs(running=(2,), ok_to_stop=(2,))),
    ],
)
def test_sample_requests_only_the_data_of_the_next_decision(
    cluster: FakeCluster, step: OsdStep, direction: Direction, expected: Needs
) -> None:
    state = at(cluster, step, direction=direction)
    assert MACHINE.needs(state, 1000.0) == expected
    # A request for another OSD is tracked concurrently.
    other_asked = replace(state, asked=AskedRestart(3))
    described = (3, *expected.described)
    found = MACHINE.needs(other_asked, 1000.0)
    assert replace(found, described=tuple(sorted(found.described, reverse=True))) == replace(
        expected, described=described
    )
    same = replace(state, asked=AskedRestart(1))
    assert MACHINE.needs(same, 1000.0) == replace(expected, described=(1,))


def test_absent_osd_is_not_queried(cluster: FakeCluster) -> None:
    state = at(cluster, OsdStep.PENDING)
    assert MACHINE.needs(state, 0.0, frozenset({1})) == Needs()
    assert MACHINE.needs(state, 0.0, frozenset({2})).running == (1,)
    last = rollout(cluster, *[OsdStep.LEFT_BEHIND] * 4)
    assert MACHINE.needs(last, 0.0) == Needs()


def test_nothing_is_queried_while_awaiting_a_verdict_or_after_the_end(
    cluster: FakeCluster,
) -> None:
    assert MACHINE.needs(rollout(cluster, VERIFIED), 0.0) == Needs()
    # An OSD in flight is seen to before that.
    flying = rollout(cluster, VERIFIED, OsdStep.CHECKING)
    assert MACHINE.needs(flying, 0.0) == Needs(running=(1,))
    for stage in (Phase.DONE, Phase.FAILED, Phase.ROLLED_BACK):
        done = replace(at(cluster, OsdStep.PENDING), stage=stage)
        assert MACHINE.needs(done, 0.0) == Needs()


@pytest.mark.parametrize(('waited_s', 'patient'), [(299.9, True), (300.0, False)])
def test_requested_osd_has_five_minutes_before_further_queries(
    cluster: FakeCluster, waited_s: float, patient: bool
) -> None:
    state = at(cluster, OsdStep.RESTARTING)
    assert MACHINE.needs(state, waited_s) == (Needs(described=(1,)) if patient else STOP)
    due = at(cluster, OsdStep.RESTART_DUE)
    assert MACHINE.needs(due, waited_s) == STOP


def test_timers_restart_with_each_wait(cluster: FakeCluster) -> None:
    state = at(cluster, OsdStep.RESTARTING)

    def with_osd(**changes: object) -> RolloutState:
        osd = replace(state.osds[1], **changes)  # type: ignore[arg-type]
        return replace(state, osds=(state.osds[0], osd, *state.osds[2:]))

    others = [
        replace(state, rollout_id='r2'),
        replace(state, direction=BACK),
        replace(state, entries_done=1),
        replace(state, errors=1),
        replace(state, pending_conflict='x'),
        with_osd(step=OsdStep.CHECKING),
        with_osd(restarts_asked=1),
        with_osd(nonce_after=5),
        with_osd(step=OsdStep.PENDING),
    ]
    keys = [wait_key(found) for found in (state, *others)]
    assert len(set(keys)) == len(keys)
    assert wait_key(replace(state, updated_s=9.0, paused_reason='x')) == wait_key(state)
    assert wait_key(with_osd(flaps=1, doubtful=True, restart_needed=True)) == wait_key(state)


# -- a sample


@pytest.mark.parametrize(('watched_s', 'acts'), [(9.9, False), (10.0, True)])
def test_new_active_manager_observes_for_ten_seconds(
    cluster: FakeCluster, watched_s: float, acts: bool
) -> None:
    state = rollout(cluster, OsdStep.SETTING)
    step = MACHINE.step(state, observed(cluster, entries={}, watched_s=watched_s), 2.0)
    assert step.actions == ((SetEntry('osd.0', NEW),) if acts else ())
    reported = 'this manager has just become active and samples first'
    assert step.state.paused_reason == (None if acts else reported)
    assert step.state.updated_s == (1.0 if acts else 2.0)


def test_ended_state_does_not_change(cluster: FakeCluster) -> None:
    state = replace(rollout(cluster, OsdStep.SETTING), stage=Phase.FAILED)
    step = MACHINE.step(state, observed(cluster, entries={}, watched_s=0.0), 2.0)
    assert (step.state, step.actions) == (state, ())


@pytest.mark.parametrize('over', [True, False])
def test_expired_requests_and_past_reasons_are_dropped(cluster: FakeCluster, over: bool) -> None:
    state = rollout(cluster, OsdStep.SETTLING, asked=AskedRestart(3), paused_reason='osd.0 is down')
    seen = observed(cluster, entries={'osd.0': NEW}, restart_settled=over, osds_moved=True)
    found = MACHINE.step(state, seen, 2.0).state
    assert found.asked == (None if over else AskedRestart(3))
    assert (found.paused_reason, found.updated_s) == (None, 2.0)


@pytest.mark.parametrize(('waited_s', 'ends'), [(1.9, False), (2.0, True)])
@pytest.mark.parametrize('direction', [FORWARD, BACK, RECOVER])
def test_foreign_change_of_affected_entries_ends_the_rollout(
    cluster: FakeCluster, waited_s: float, ends: bool, direction: Direction
) -> None:
    reported = 'bluestore_rocksdb_options of osd.0 was changed outside this rollout'
    state = rollout(cluster, OsdStep.CHECKING, direction=direction, pending_conflict=reported)
    state = replace(state, restoring=('osd.0',), entries_done=1)
    if direction is RECOVER:
        state = replace(state, ending=FAILED)
    seen = observed(cluster, entries={'osd.0': THERE}, waited_s=waited_s)
    found = MACHINE.step(state, seen, 2.0).state
    assert found.ended == ends
    if ends:
        assert found.outcome is Outcome.ABORTED
        begin = f'it failed; {reported}' if direction is RECOVER else reported
        assert (found.failure or '').startswith(begin)
        assert (found.failure or '').count(reported) == 1
    else:
        assert found == replace(state, updated_s=found.updated_s)


def test_any_change_of_restored_entries_ends_a_rollback_at_once(
    cluster: FakeCluster,
) -> None:
    """Also of an entry that is not that of the OSD in flight."""
    reported = 'bluestore_rocksdb_options of osd was changed outside this rollout'
    state = rollback_of(cluster, OsdStep.RESTARTING, pending_conflict=reported)
    seen = observed(cluster, entries={ALL: THERE}, waited_s=2.0)
    found = MACHINE.step(state, seen, 2.0).state
    assert (found.outcome, found.failure) == (Outcome.ABORTED, reported)


def test_reason_of_an_ending_is_reported_once(cluster: FakeCluster) -> None:
    reported = 'bluestore_rocksdb_options of osd.0 was changed outside this rollout'
    ending = Ending(Outcome.ABORTED, reported)
    state = rollout(
        cluster, OsdStep.RESTARTING, direction=RECOVER, pending_conflict=reported, ending=ending
    )
    seen = observed(cluster, entries={'osd.0': THERE}, waited_s=2.0)
    found = MACHINE.step(state, seen, 2.0).state
    assert (found.failure or '').startswith(f'{reported}; the change stays on osd.0: ')


# -- small questions


def test_watched_osd_in_flight_takes_precedence_over_the_next_action(
    cluster: FakeCluster,
) -> None:
    watched = {OsdStep.RESTARTING, OsdStep.CHECKING, OsdStep.SETTLING}
    resting = {OsdStep.PENDING, VERIFIED, OsdStep.COLLAPSED, OsdStep.RESTORED, OsdStep.LEFT_BEHIND}
    for step in OsdStep:
        found = rollout(cluster, VERIFIED, step).in_flight
        assert (found is None) == (step in resting)
        later = rollout(cluster, OsdStep.RESTART_DUE, step)
        flying = later.in_flight
        assert flying is not None
        assert flying.osd_id == (1 if step in watched else 0)


def test_changed_state_is_stamped_and_a_pause_is_reported(cluster: FakeCluster) -> None:
    state = rollout(cluster)
    assert records.stamped(state, replace(state), 9.0).updated_s == 1.0
    assert records.stamped(state, replace(state, errors=1), 9.0).updated_s == 9.0
    paused = replace(state, paused_by='client.ann', paused_reason='osd.0 is down')
    assert records.stamped(state, paused, 9.0).paused_reason == 'paused by client.ann'
    recovers = replace(paused, direction=RECOVER)
    assert records.stamped(state, recovers, 9.0).paused_reason == 'osd.0 is down'
    done = replace(paused, stage=Phase.DONE, paused_reason=None)
    assert records.stamped(state, done, 9.0).paused_reason is None


# -- reports of the orchestrator


def reported(running: Optional[bool], started: str, refreshed: Optional[str]) -> OrchestratedDaemon:
    return OrchestratedDaemon(running, started, refreshed)


def test_process_lives_if_two_samples_since_down_found_the_same() -> None:
    signs = Liveness()
    for key, daemon, lives in (
        (1, None, None),
        (1, reported(True, 's1', 'r1'), None),
        (1, reported(True, 's1', None), None),
        (1, reported(True, 's1', 'r2'), True),
        # Found dead, it is no more the same one though it has the same name.
        (1, reported(False, 's1', 'r3'), False),
        (1, reported(True, 's1', 'r4'), None),
        (1, reported(True, 's1', 'r4'), None),
        (1, reported(True, 's1', 'r5'), True),
        (1, reported(True, 's2', 'r6'), None),
        (1, reported(True, 's2', 'r7'), True),
        # Another time that it is down: what was found before is old.
        (2, reported(True, 's2', 'r7'), None),
        (2, reported(True, 's2', 'r8'), None),
        (2, reported(True, 's2', 'r9'), True),
        (3, reported(False, 's2', 'r9'), None),
        (3, reported(False, 's2', 'r10'), False),
    ):
        assert signs.update(key, daemon) is lives


# -- acts


def test_abort_reports_its_progress(cluster: FakeCluster) -> None:
    stays = '; the change stays on osd.0: "ceph rocksdb-tuner rollback r1" '
    state = rollout(cluster, VERIFIED)
    known = aborted(state, 'client.ann', 9.0, {'osd.0': NEW}, ())
    assert known.failure == f'aborted by client.ann{stays}reverts it'
    unknown = aborted(state, 'client.ann', 9.0, None, ())
    assert unknown.failure == f'{known.failure}, unless it has been changed since'
    blocked = aborted(state, 'client.ann', 9.0, {'osd.0': THERE}, ())
    assert blocked.failure == (
        f'aborted by client.ann{stays}refuses to revert it, because osd.0 has been '
        'changed outside this rollout: correct bluestore_rocksdb_options by hand'
    )
    back = aborted(rollback_of(cluster, VERIFIED), 'client.ann', 9.0, {}, ())
    assert (back.failure, back.updated_s) == ('rollback aborted by client.ann', 9.0)


def test_refusal_counts_and_only_for_the_restart_in_flight(
    cluster: FakeCluster,
) -> None:
    state = rollout(cluster, VERIFIED, errors=1)
    failed = action_failed(state, RestartOsd(0), 'x' * 700, 9.0)
    assert (failed.errors, failed.last_error, failed.updated_s) == (2, 'x' * 597 + '...', 9.0)
    assert (failed.osds, failed.asked) == (state.osds, None)
    flying = rollout(cluster, OsdStep.RESTARTING)
    for asked_times, step in ((0, OsdStep.RESTARTING), (1, OsdStep.RESTART_DUE)):
        osd = replace(flying.osds[0], restarts_asked=asked_times)
        tried = replace(flying, osds=(osd, *flying.osds[1:]))
        found = action_failed(tried, RestartOsd(0), 'EBUSY', 9.0)
        assert (found.osds[0].step, found.osds[0].restarts_asked) == (step, 0)
        assert (found.errors, found.last_error) == (1, 'EBUSY')
        assert action_failed(tried, SetEntry('osd.0', NEW), 'EBUSY', 9.0).osds == tried.osds


@pytest.mark.parametrize(
    ('direction', 'paused', 'waits'),
    [
        (FORWARD, None, True),
        (FORWARD, 'client.ann', False),
        (BACK, None, True),
        (BACK, 'client.ann', False),
        (RECOVER, None, True),
        # A recovering OSD reports its wait reason despite a pause.
        (RECOVER, 'client.ann', True),
    ],
)
def test_osd_without_a_restart_is_due_again_unless_paused(
    cluster: FakeCluster, direction: Direction, paused: Optional[str], waits: bool
) -> None:
    state = rollout(
        cluster, OsdStep.RESTARTING, direction=direction, paused_by=paused, paused_reason='by hand'
    )
    osd = replace(state.osds[0], restarts_asked=3)
    state = replace(state, osds=(osd, *state.osds[1:]))
    found = resumed(state, 9.0)
    expected = (OsdStep.RESTART_DUE, 0) if waits else (OsdStep.RESTARTING, 3)
    assert (found.osds[0].step, found.osds[0].restarts_asked) == expected
    assert (found.paused_by, found.paused_reason, found.errors) == (None, None, 0)
    # One that is due already, or is checked, does not wait.
    for step in (OsdStep.RESTART_DUE, OsdStep.CHECKING):
        elsewhere = replace(state, osds=(replace(osd, step=step), *state.osds[1:]))
        assert not waits_for_operator(replace(elsewhere, paused_by=None))


# -- alarms


@pytest.mark.parametrize(
    ('stage', 'outcome', 'verdict', 'failure', 'changed', 'reported'),
    [
        (Phase.FAILED, Outcome.FAILED, None, 'it crashed', False, 'it crashed'),
        (Phase.FAILED, Outcome.FAILED, None, None, False, 'no reason was recorded'),
        (Phase.FAILED, Outcome.ABORTED, None, 'aborted', False, None),
        (Phase.FAILED, Outcome.ABORTED, None, 'aborted', True, 'aborted'),
        (
            Phase.ROLLED_BACK,
            Outcome.ROLLED_BACK,
            Verdict.WORSE,
            'it is worse',
            False,
            'it is worse',
        ),
        (
            Phase.ROLLED_BACK,
            Outcome.ROLLED_BACK,
            Verdict.WORSE,
            None,
            False,
            'rolled back by the verdict',
        ),
        (Phase.ROLLED_BACK, Outcome.ROLLED_BACK, Verdict.NO_WORSE, 'x', False, None),
        (Phase.ROLLED_BACK, Outcome.ROLLED_BACK, None, 'x', False, None),
        (Phase.DONE, Outcome.DONE, Verdict.WORSE, 'x', True, None),
        (Phase.ROLLING_BACK, None, Verdict.WORSE, 'x', True, None),
    ],
)
def test_failure_is_an_unrequested_or_partly_aborted_end(
    cluster: FakeCluster,
    stage: Phase,
    outcome: Optional[Outcome],
    verdict: Optional[Verdict],
    failure: Optional[str],
    changed: bool,
    reported: Optional[str],
) -> None:
    state = rollout(cluster, VERIFIED if changed else OsdStep.LEFT_BEHIND, outcome=outcome)
    judgement = None if verdict is None else Judgement(verdict)
    state = replace(state, stage=stage, judgement=judgement, failure=failure)
    assert why_failed(state) == reported


@pytest.mark.parametrize(
    ('changes', 'waited_s', 'reported'),
    [
        ({}, 599.9, None),
        ({}, 600.0, 'it waits'),
        ({'step': OsdStep.PENDING}, 1800.0, 'it waits; '),
        ({'step': OsdStep.PENDING}, 1799.9, None),
        ({'step': OsdStep.PENDING, 'errors': 1}, 0.0, 'it waits'),
        ({'step': VERIFIED, 'judgement': Judgement(Verdict.INCONCLUSIVE)}, 0.0, 'it waits'),
        ({'paused_by': 'client.ann'}, 1e6, None),
        ({'paused_by': 'client.ann', 'direction': RECOVER}, 600.0, 'it waits'),
        ({'paused_reason': None, 'errors': 1}, 1e6, None),
        ({'paused_reason': None, 'step': OsdStep.PENDING}, 1e6, None),
        ({'stage': Phase.FAILED, 'errors': 1}, 1e6, None),
    ],
)
def test_wait_for_the_operator_raises_an_alarm(
    cluster: FakeCluster,
    changes: dict[str, object],
    waited_s: float,
    reported: Optional[str],
) -> None:
    assert ACTION_AFTER_S == 600.0
    changes = dict(changes)
    state = rollout(cluster, changes.pop('step', OsdStep.RESTARTING))  # type: ignore[arg-type]
    state = replace(state, **{'paused_reason': 'it waits', **changes})  # type: ignore[arg-type]
    found = why_waiting(state, waited_s)
    if reported is None or not reported.endswith('; '):
        assert found == reported
    else:
        assert found == f'{reported}"ceph rocksdb-tuner operation abort" ends the rollout'


# -- foreign entries


def test_rollback_that_would_lose_a_foreign_change_has_a_conflict(cluster: FakeCluster) -> None:
    state = rollout(cluster, VERIFIED, VERIFIED, OsdStep.RESTORED, shared_touched=True)
    ours = {ALL: NEW, 'osd.0': NEW}
    assert entries_blocking_rollback(state, ours) == ()
    assert entries_blocking_rollback(state, {}) == ()
    assert entries_blocking_rollback(state, {**ours, 'osd.1': THERE, 'osd.2': THERE}) == ('osd.1',)
    assert entries_blocking_rollback(state, {ALL: THERE}) == (ALL,)
    untouched = replace(state, shared_touched=False)
    assert entries_blocking_rollback(untouched, {ALL: THERE}) == ()


@pytest.mark.parametrize(
    ('stage', 'direction', 'changed', 'tells'),
    [
        (Phase.FAILED, FORWARD, 1, True),
        (Phase.FAILED, RECOVER, 1, True),
        (Phase.FAILED, BACK, 1, False),
        (Phase.FAILED, FORWARD, 0, False),
        (Phase.DONE, FORWARD, 1, False),
    ],
)
def test_leftovers_of_an_unfinished_rollout_are_reported(
    cluster: FakeCluster, stage: Phase, direction: Direction, changed: int, tells: bool
) -> None:
    state = rollout(cluster, *[VERIFIED] * changed, direction=direction, failure=None)
    state = replace(state, stage=stage)
    found = describe_leftovers(state, {'osd.0': NEW})
    reported = 'the change stays on osd.0: "ceph rocksdb-tuner rollback r1" reverts it'
    assert found.failure == (reported if tells else None)


# -- common rules of a rollout: its timeouts, and its blockers

RULES = Rules(same_meaning)


def test_timeouts_match_the_manual() -> None:
    limits = Limits()
    assert (limits.observe_first_s, limits.confirm_s) == (10.0, 2.0)
    assert (limits.restart_s, limits.boot_s, limits.boot_most_s) == (300.0, 300.0, 3600.0)
    assert (limits.report_s, limits.verify_s) == (5.0, 60.0)
    assert (limits.retry_s, limits.tries, limits.flaps) == (30.0, 3, 2)


@pytest.mark.parametrize(
    ('direction', 'paused_by', 'may_act', 'held'),
    [
        (Direction.FORWARD, None, True, None),
        (Direction.FORWARD, None, False, 'mode'),
        (Direction.FORWARD, 'client.ann', True, 'paused by client.ann'),
        (Direction.FORWARD, 'client.ann', False, 'paused by client.ann'),
        (Direction.BACK, None, False, 'mode'),
        (Direction.BACK, 'client.ann', True, 'paused by client.ann'),
        # A failed OSD gets its entry back despite any pause.
        (Direction.RECOVER, 'client.ann', False, None),
    ],
)
def test_pause_and_mode_off_hold_everything_except_recovery(
    direction: Direction, paused_by: Optional[str], may_act: bool, held: Optional[str]
) -> None:
    cluster = FakeCluster()
    state = rollout(cluster, direction=direction, paused_by=paused_by)
    seen = observed(cluster, may_act=may_act)
    why = why_held(state, seen)
    assert (why is None) is (held is None)
    assert (held or '') in (why or '')
    step = entry(RULES, state, seen, 'osd.0', 'ttl=1')
    assert step is not None
    assert step.state.paused_reason == why
    assert step.actions == ((SetEntry('osd.0', 'ttl=1'),) if why is None else ())
