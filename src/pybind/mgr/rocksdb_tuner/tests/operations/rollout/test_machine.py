"""Single decisions of a rollout: what it asks, which OSD is next, and whether that starts."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import Judgement, SoakPlan, Verdict
from rocksdb_tuner.mgr.records import OrchestratedDaemon, RunningOption
from rocksdb_tuner.operations.announce import ACTION_AFTER_S
from rocksdb_tuner.operations.gates import NOT_ALLOWED
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.announce import why_waiting
from rocksdb_tuner.operations.rollout.machine import (
    action_failed,
)
from rocksdb_tuner.operations.rollout.observer import Liveness
from rocksdb_tuner.operations.rollout.records import (
    AskedRestart,
    Direction,
    Ending,
    OsdStep,
    RolloutState,
)
from rocksdb_tuner.operations.rollout.rules import (
    Limits,
    Needs,
    Observation,
    Rules,
    entry,
    why_held,
)
from rocksdb_tuner.plan.commands import RestartOsd, SetEntry
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import ALL, NEW, OLD, same_meaning
from .one_step import (
    ABORTED,
    BACK,
    FAILED,
    FORWARD,
    MACHINE,
    PENDING,
    RECOVER,
    VERIFIED,
    canary,
    observed,
    other,
    reason,
    rollout,
    stepped,
    without,
)

THERE = 'write_buffer_size=1'


def second_at(cluster: FakeCluster, step: OsdStep, **changes: object) -> RolloutState:
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
    state = second_at(cluster, step, direction=direction)
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
    ended = replace(state, stage=Phase.FAILED)
    assert MACHINE.step(ended, observed(cluster, entries={}), 2.0).state == ended
    assert MACHINE.needs(ended, 1000.0) == Needs()


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
    asked = replace(flying, asked=AskedRestart(0))
    refused = action_failed(asked, RestartOsd(0), 'EBUSY', 9.0)
    assert refused.asked == AskedRestart(0, refused=True)


# -- alarms


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


DEFAULT = DEFAULTS['pacific']


def seen_by(cluster: FakeCluster, state: RolloutState, **changes: object) -> Observation:
    """Entries are those that the rollout wrote; OSDs run what they ran before."""
    fields: dict[str, object] = {
        'entries': {f'osd.{osd.osd_id}': NEW for osd in state.osds if osd.step is not PENDING},
        'running': {n: RunningOption(DEFAULT, 'default', ignores_mon=False) for n in range(4)},
        'before_s': 300.0,
        **changes,
    }
    return observed(cluster, **fields)


def unwatched(cluster: FakeCluster, *steps: OsdStep, **changes: object) -> RolloutState:
    """A rollout that does not wait for a verdict."""
    return rollout(cluster, *steps, **{'soak': SoakPlan(), **changes})


# -- what follows


@pytest.mark.parametrize(
    ('how', 'absent_s', 'leaves'),
    [('gone', 2.0, True), ('gone', 1.9, False), ('out', 300.0, True), ('out', 299.9, False)],
)
@pytest.mark.parametrize('first', [True, False])
def test_absent_osd_is_awaited_before_it_is_left_behind(
    cluster: FakeCluster, how: str, absent_s: float, leaves: bool, first: bool
) -> None:
    """Two seconds where it was removed, five minutes where it is down and out."""
    n = 0 if first else 1
    state = unwatched(cluster) if first else unwatched(cluster, VERIFIED)
    seen = seen_by(cluster, state, absent_s=absent_s)
    away = without(seen, n) if how == 'gone' else other(seen, n, up=False, in_cluster=False)
    reported = f'osd.{n} ' + (
        'was removed from the cluster' if how == 'gone' else 'is down and out'
    )
    step = stepped(state, away)
    assert step.actions == ()
    if not leaves:
        assert reason(step) == f'{reported}: it will be left behind unless it returns'
        assert step.state.osds == state.osds
    elif first:
        assert (step.state.stage, step.state.outcome) == (Phase.FAILED, Outcome.FAILED)
        assert step.state.failure == (
            f'{reported}; it is the canary, so nothing was changed: apply again to use another OSD'
        )
    else:
        assert (step.state.osds[1].step, step.state.osds[1].left_reason) == (
            OsdStep.LEFT_BEHIND,
            reported,
        )
        assert not step.state.ended
    held = stepped(state, replace(away, may_act=False))
    assert (reason(held), held.state.osds) == (NOT_ALLOWED, state.osds)


def test_entry_of_a_removed_changed_osd_is_restored_before_others_follow(
    cluster: FakeCluster,
) -> None:
    state = unwatched(cluster, VERIFIED, OsdStep.LEFT_BEHIND)
    seen = seen_by(cluster, state)
    step = stepped(state, without(seen, 0))
    assert (step.actions, canary(step).step) == ((), OsdStep.RESTORING)
    assert canary(step).left_reason == 'osd.0 was removed from the cluster'
    # One that is only down and out keeps it, and who was left behind before has none.
    for away in (other(seen, 0, up=False, in_cluster=False), without(seen, 1)):
        step = stepped(state, away)
        assert step.state.osds[:2] == state.osds[:2]


# -- whether it starts


@pytest.mark.parametrize(
    ('changes', 'reported'),
    [
        ({'may_act': False}, NOT_ALLOWED),
        ({'health': frozenset({'MON_DOWN'})}, 'cluster health: MON_DOWN'),
        ({'schedule_reason': 'outside the maintenance window'}, 'outside the maintenance window'),
        ({'running': {}}, 'cannot read the running options of osd.0'),
    ],
)
def test_osd_starts_only_without_blockers(
    cluster: FakeCluster, changes: dict[str, object], reported: str
) -> None:
    state = rollout(cluster)
    step = stepped(state, seen_by(cluster, state, **changes))
    assert (step.actions, reason(step), step.state.osds) == ((), reported, state.osds)
    outstanding = replace(state, asked=AskedRestart(3))
    waits = stepped(outstanding, seen_by(cluster, state))
    assert waits.actions == ()
    assert reason(waits).startswith('the orchestrator may still restart osd.3')


@pytest.mark.parametrize(('before_s', 'begins'), [(299.9, False), (300.0, True)])
def test_only_the_canary_is_measured_before_its_change(
    cluster: FakeCluster, before_s: float, begins: bool
) -> None:
    state = rollout(cluster)
    step = stepped(state, seen_by(cluster, state, before_s=before_s))
    assert (step.actions == (SetEntry('osd.0', NEW),)) == begins
    if not begins:
        assert (step.state.baseline_s, step.state.paused_reason) == (before_s, None)
        # An unjudgeable change is not measured.
        alone = replace(state, request=replace(state.request, controls=(1,)))
        assert stepped(alone, seen_by(cluster, state, before_s=0.0)).actions
    next_one = rollout(cluster, VERIFIED, verdicts=(Verdict.NO_WORSE,))
    assert stepped(next_one, seen_by(cluster, next_one, before_s=0.0)).actions == (
        SetEntry('osd.1', NEW),
    )


def test_osd_recreated_before_its_turn_ends_the_rollout_or_is_left_behind(
    cluster: FakeCluster,
) -> None:
    reported = 'osd.{} now has device class hdd: the plan was made for ssd'
    state = rollout(cluster)
    ended = stepped(state, other(seen_by(cluster, state), 0, device_class='hdd'))
    assert (ended.actions, ended.state.outcome) == ((), Outcome.FAILED)
    assert ended.state.failure == reported.format(0)
    later = unwatched(cluster, VERIFIED)
    left = stepped(later, other(seen_by(cluster, later), 1, device_class='hdd'))
    assert (left.actions, left.state.ended) == ((), False)
    assert (left.state.osds[1].step, left.state.osds[1].left_reason) == (
        OsdStep.LEFT_BEHIND,
        reported.format(1),
    )


FILE = RunningOption(OLD, 'file', ignores_mon=True)
FROM_FILE = (
    'bluestore_rocksdb_options of osd.{} comes from its ceph.conf, which the config store does not '
    'override: remove it there first, and restart the OSD'
)


@pytest.mark.parametrize('kind', ['release', 'file'])
def test_deviation_ends_the_rollout_or_waits_if_partly_applied(
    cluster: FakeCluster, kind: str
) -> None:
    for n, state in ((0, rollout(cluster)), (1, unwatched(cluster, VERIFIED))):
        seen = seen_by(cluster, state)
        if kind == 'release':
            seen = other(seen, n, release='reef')
            reported = f'osd.{n} now runs reef: the plan was made for pacific'
        else:
            seen = replace(seen, running={n: FILE})
            reported = FROM_FILE.format(n)
        step = stepped(state, seen)
        assert step.actions == ()
        if n == 0:
            assert (step.state.outcome, step.state.failure) == (Outcome.FAILED, reported)
        else:
            assert not step.state.ended
            assert reason(step) == (f'{reported}; or roll back: "ceph rocksdb-tuner rollback"')


# -- an OSD in the middle of its change


MIDDLE = [
    OsdStep.SETTING,
    OsdStep.RESTART_DUE,
    OsdStep.RESTARTING,
    OsdStep.CHECKING,
    OsdStep.SETTLING,
]


@pytest.mark.parametrize('at', MIDDLE)
def test_osd_removed_during_its_change_restores_its_entry(
    cluster: FakeCluster, at: OsdStep
) -> None:
    state = unwatched(cluster, VERIFIED, at)
    seen = seen_by(cluster, state)
    for lost, reported in (
        (without(seen, 1), 'osd.1 was removed from the cluster'),
        (
            other(seen, 1, device_class='hdd'),
            (
                'osd.1 now has device class hdd: the plan was made for ssd; it may run the new '
                'string until its next restart'
            ),
        ),
    ):
        step = stepped(state, lost)
        assert (step.actions, step.state.direction) == ((), FORWARD)
        assert (step.state.osds[1].step, step.state.osds[1].left_reason) == (
            OsdStep.RESTORING,
            reported,
        )
    # It ends: a started OSD is finished first, in any mode.
    ending = replace(state, ending=ABORTED)
    step = stepped(ending, replace(without(seen, 1), may_act=False))
    assert (step.state.direction, step.state.osds[1].step) == (RECOVER, OsdStep.RESTORING)
    assert step.state.osds[1].restart_needed


@pytest.mark.parametrize(
    ('at', 'gone', 'recreated'),
    [
        (OsdStep.RESTORING, OsdStep.LEFT_BEHIND, OsdStep.LEFT_BEHIND),
        (OsdStep.COLLAPSING, OsdStep.COLLAPSED, OsdStep.COLLAPSED),
    ],
)
def test_osd_removed_with_only_its_entry_left_is_not_restored_again(
    cluster: FakeCluster, at: OsdStep, gone: OsdStep, recreated: OsdStep
) -> None:
    state = unwatched(cluster, at, *[VERIFIED] * 3, shared_touched=True)
    state = replace(state, stage=Phase.COLLAPSING)
    seen = seen_by(cluster, state)
    entries = {**seen.entries, ALL: NEW}
    del entries['osd.0']
    seen = replace(seen, entries=entries)
    for lost, then in ((without(seen, 0), gone), (other(seen, 0, device_class='hdd'), recreated)):
        step = stepped(state, lost)
        assert (step.state.direction, canary(step).step) == (FORWARD, then)
        if at is OsdStep.COLLAPSING:
            assert stepped(replace(state, ending=ABORTED), lost).state.osds == step.state.osds


def test_restart_is_due_once_the_entry_is_confirmed_and_counts_from_the_current_process(
    cluster: FakeCluster,
) -> None:
    state = rollout(cluster, OsdStep.SETTING, errors=2)
    state = replace(state, osds=(replace(state.osds[0], restarts_asked=2), *state.osds[1:]))
    seen = seen_by(cluster, state)
    there = stepped(state, seen)
    assert (there.actions, there.state.errors) == ((), 0)
    due = canary(there)
    assert (due.step, due.nonce_before, due.restarts_asked) == (
        OsdStep.RESTART_DUE,
        cluster.osds[0].nonce,
        0,
    )
    missing = stepped(state, replace(seen, entries={}))
    assert missing.actions == (SetEntry('osd.0', NEW),)
    assert canary(missing).step is OsdStep.SETTING
    held = stepped(replace(state, paused_by='client.ann'), replace(seen, entries={}))
    assert (held.actions, reason(held)) == ((), 'paused by client.ann')
    # It may be missing in one sample: its known process is kept.
    empty = stepped(state, replace(seen, cluster=replace(seen.cluster, osds=())))
    assert canary(empty).nonce_before == 1


@pytest.mark.parametrize(
    ('running', 'reported'),
    [
        (None, 'osd.0 was restarted, but its running options cannot be read'),
        (FILE, FROM_FILE.format(0)),
        (
            RunningOption('write_buffer_size=1 a', 'mon', ignores_mon=False),
            "osd.0 was restarted without effect: it runs 'write_buffer_size=1 a' (source mon)",
        ),
        (
            RunningOption(NEW, 'default', ignores_mon=False),
            f'osd.0 was restarted without effect: it runs {NEW} (source default)',
        ),
    ],
)
def test_failure_reason_after_a_restart_is_reported(
    cluster: FakeCluster, running: Optional[RunningOption], reported: str
) -> None:
    state = rollout(cluster, OsdStep.CHECKING)
    seen = seen_by(cluster, state, running={} if running is None else {0: running}, waited_s=60.0)
    failed = stepped(state, seen).state
    assert (failed.direction, failed.stage) == (RECOVER, Phase.ROLLING_BACK)
    assert failed.ending == Ending(Outcome.FAILED, reported)
    # The first reason is kept, and so is its ending.
    ending = replace(state, ending=ABORTED)
    both = stepped(ending, seen).state.ending
    assert both == Ending(Outcome.FAILED, f'aborted by client.ann; {reported}')
