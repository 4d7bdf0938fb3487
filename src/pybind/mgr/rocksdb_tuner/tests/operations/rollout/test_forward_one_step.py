"""Single decisions of a rollout: which OSD is next, whether it starts, and how it is finished."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.records import SoakPlan, Verdict
from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations.gates import NOT_ALLOWED
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.machine import following
from rocksdb_tuner.operations.rollout.records import (
    AskedRestart,
    Direction,
    Ending,
    OsdStep,
    RolloutState,
)
from rocksdb_tuner.operations.rollout.rules import Observation, Step
from rocksdb_tuner.plan.commands import SetEntry
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import ALL, NEW, OLD
from .one_step import MACHINE, canary, observed, other, rollout, without

DEFAULT = DEFAULTS['pacific']
FORWARD, RECOVER = Direction.FORWARD, Direction.RECOVER
ABORTED = Ending(Outcome.ABORTED, 'aborted by client.ann')
PENDING, VERIFIED = OsdStep.PENDING, OsdStep.VERIFIED


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(4)


def look(cluster: FakeCluster, state: RolloutState, **changes: object) -> Observation:
    """Entries are those that the rollout wrote; OSDs run what they ran before."""
    fields: dict[str, object] = {
        'entries': {f'osd.{osd.osd_id}': NEW for osd in state.osds if osd.step is not PENDING},
        'running': {n: RunningOption(DEFAULT, 'default', ignores_mon=False) for n in range(4)},
        'before_s': 300.0,
        **changes,
    }
    return observed(cluster, **fields)


def stepped(state: RolloutState, seen: Observation) -> Step:
    return MACHINE.step(state, seen, 2.0)


def reason(step: Step) -> str:
    return step.state.paused_reason or ''


def unwatched(cluster: FakeCluster, *steps: OsdStep, **changes: object) -> RolloutState:
    """A rollout that does not wait for a verdict."""
    return rollout(cluster, *steps, **{'soak': SoakPlan(), **changes})


# -- what follows


def test_rollout_proceeds_from_plan_to_canary_with_a_sample(
    cluster: FakeCluster,
) -> None:
    state = replace(rollout(cluster), stage=Phase.PLANNED)
    first = stepped(state, look(cluster, state))
    assert (first.actions, first.state.stage) == ((), Phase.PREFLIGHT)
    second = stepped(first.state, look(cluster, state))
    assert (second.actions, second.state.stage) == ((SetEntry('osd.0', NEW),), Phase.CANARY)
    started = canary(second)
    assert (started.step, started.nonce_before) == (OsdStep.SETTING, cluster.osds[0].nonce)


@pytest.mark.parametrize(
    ('batches', 'done', 'away', 'expected'),
    [
        ((), 0, (), 0),
        ((), 1, (), 1),
        ((), 4, (), None),
        # Each by itself: it is waited for.
        ((), 1, (1,), 1),
        (((0,), (1, 2), (3,)), 1, (), 1),
        (((0,), (1, 2), (3,)), 1, (1,), 2),
        (((0,), (1, 2), (3,)), 2, (), 2),
        # No OSD of a later batch comes before its time.
        (((0,), (1, 2), (3,)), 1, (1, 2), 1),
        (((0,), (1, 2), (3,)), 2, (2,), 2),
        (((0,), (1, 2), (3,)), 3, (0, 1, 2), 3),
        (((0,), (1, 2, 3)), 1, (1, 3), 2),
    ],
)
def test_absent_osds_are_skipped_within_their_batch(
    cluster: FakeCluster,
    batches: tuple[tuple[int, ...], ...],
    done: int,
    away: tuple[int, ...],
    expected: Optional[int],
) -> None:
    state = unwatched(cluster, *[VERIFIED] * done)
    state = replace(state, request=replace(state.request, batches=batches))
    assert following(state, frozenset(away)) == expected


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
    seen = look(cluster, state, absent_s=absent_s)
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
    seen = look(cluster, state)
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
    step = stepped(state, look(cluster, state, **changes))
    assert (step.actions, reason(step), step.state.osds) == ((), reported, state.osds)
    outstanding = replace(state, asked=AskedRestart(3))
    waits = stepped(outstanding, look(cluster, state))
    assert waits.actions == ()
    assert reason(waits).startswith('the orchestrator may still restart osd.3')


@pytest.mark.parametrize(('before_s', 'begins'), [(299.9, False), (300.0, True)])
def test_only_the_canary_is_measured_before_its_change(
    cluster: FakeCluster, before_s: float, begins: bool
) -> None:
    state = rollout(cluster)
    step = stepped(state, look(cluster, state, before_s=before_s))
    assert (step.actions == (SetEntry('osd.0', NEW),)) == begins
    if not begins:
        assert (step.state.baseline_s, step.state.paused_reason) == (before_s, None)
        # An unjudgeable change is not measured.
        alone = replace(state, request=replace(state.request, controls=(1,)))
        assert stepped(alone, look(cluster, state, before_s=0.0)).actions
    next_one = rollout(cluster, VERIFIED, verdicts=(Verdict.NO_WORSE,))
    assert stepped(next_one, look(cluster, next_one, before_s=0.0)).actions == (
        SetEntry('osd.1', NEW),
    )


def test_osd_recreated_before_its_turn_ends_the_rollout_or_is_left_behind(
    cluster: FakeCluster,
) -> None:
    reported = 'osd.{} now has device class hdd: the plan was made for ssd'
    state = rollout(cluster)
    ended = stepped(state, other(look(cluster, state), 0, device_class='hdd'))
    assert (ended.actions, ended.state.outcome) == ((), Outcome.FAILED)
    assert ended.state.failure == reported.format(0)
    later = unwatched(cluster, VERIFIED)
    left = stepped(later, other(look(cluster, later), 1, device_class='hdd'))
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
        seen = look(cluster, state)
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
    seen = look(cluster, state)
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
    seen = look(cluster, state)
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
    seen = look(cluster, state)
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
    seen = look(cluster, state, running={} if running is None else {0: running}, waited_s=60.0)
    failed = stepped(state, seen).state
    assert (failed.direction, failed.stage) == (RECOVER, Phase.ROLLING_BACK)
    assert failed.ending == Ending(Outcome.FAILED, reported)
    # The first reason is kept, and so is its ending.
    ending = replace(state, ending=ABORTED)
    both = stepped(ending, seen).state.ending
    assert both == Ending(Outcome.FAILED, f'aborted by client.ann; {reported}')
