"""A restart: when it is requested, of whom, and when the OSD is given up instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Mapping

import pytest

from rocksdb_tuner.mgr.records import OrchestratedDaemon, PgSummary
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.operations.rollout.machine import action_failed
from rocksdb_tuner.operations.rollout.observer import Liveness
from rocksdb_tuner.operations.rollout.records import AskedRestart, Ending, RolloutState
from rocksdb_tuner.operations.rollout.rules import Limits, Needs
from rocksdb_tuner.plan.commands import RestartOsd, SetEntry

from .conftest import NEW
from .one_step import (
    ABORTED,
    BACK,
    CHECKING,
    COLLAPSING,
    DIRECTIONS,
    DUE,
    FORWARD,
    LEFT,
    MACHINE,
    PENDING,
    RECOVER,
    RESTARTING,
    RESTORED,
    RESTORING,
    SETTING,
    SETTLING,
    VERIFIED,
    at,
    case,
    cluster_of,
    decides,
    osd,
    rollback_of,
    rollout,
    sampled,
    table,
)

UNCLEAN = PgSummary(33, 32, (('active+clean', 32), ('peering', 1)))
ASKS = RestartOsd(0)
DOWN = {'up': False}
OUT = {'up': False, 'in_cluster': False}
UNDO = (BACK, RECOVER)
MAY_STILL = 'the orchestrator may still restart osd.{} as requested'
IS_OUT = 'osd.0 is down and out'
NEXT = (
    '{0} osd.0 next: "systemctl {0} ceph-osd@0" on node0; the operation continues after that ({1})'
)
STARTING = 'osd.0 is not up yet, but its process is running: waiting for it'
HANGS = (
    'osd.0 is not up after 60 minutes, although its process is running: see its log; if it '
    'hangs, "systemctl restart ceph-osd@0"'
)
NOT_BACK = Ending(Outcome.FAILED, 'osd.0 did not come back up within 300 s')
LONG = {'waited_s': 300.0}
VERY_LONG = {'waited_s': 9999.0}


def test_timeouts_match_the_manual() -> None:
    limits = Limits()
    assert (limits.observe_first_s, limits.confirm_s) == (10.0, 2.0)
    assert (limits.restart_s, limits.boot_s, limits.boot_most_s) == (300.0, 300.0, 3600.0)
    assert (limits.report_s, limits.verify_s) == (5.0, 60.0)
    assert (limits.retry_s, limits.tries, limits.flaps) == (30.0, 3, 2)


# -- the process that comes up, or does not


@table(
    *(
        row
        for way in DIRECTIONS
        for step in (DUE, RESTARTING)
        for row in (
            case(
                f'{step.value} {way.value}: a new process is checked',
                at(step, way, restarts_asked=2, errors=2), {'nonce': 99},
                step=CHECKING, nonce_after=99, errors=0,
            ),
            case(
                f'{step.value} {way.value}: one that may have read the old entry is not',
                at(step, way, restarts_asked=2, doubtful=True), {'nonce': 99},
                step=DUE, nonce_before=99, nonce_after=None, restarts_asked=0, doubtful=False,
            ),
        )
    ),
    *(
        row
        for way in UNDO
        for step in (DUE, RESTARTING)
        for row in (
            case(
                f'{step.value} {way.value}: a removed OSD is left behind', at(step, way),
                {'gone': True}, step=LEFT, left_reason='osd.0 was removed from the cluster',
            ),
            case(
                f'{step.value} {way.value}: an empty map says nothing', at(step, way),
                {'gone': 'all', **VERY_LONG}, step=step, says='osd.0 is not in the OSD map',
            ),
        )
    ),
)  # fmt: skip
def test_process_after_a_restart(
    state: RolloutState, seen: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    decides(state, seen, expected)


@table(
    *(
        case(
            f'{step.value}: down {down_s:g} s, lifeless {lifeless_s:g} s, alive {alive}',
            at(step, restarts_asked=1),
            {**DOWN, **VERY_LONG, 'down_s': down_s, 'lifeless_s': lifeless_s, 'alive': alive},
            **(
                {'direction': RECOVER, 'ending': NOT_BACK, 'restart_needed': True}
                if fails
                else {'direction': FORWARD, 'says': 'osd.0 is down' if step is DUE else ''}
            ),
        )
        for step in (DUE, RESTARTING)
        for down_s, lifeless_s, alive, fails in (
            (300.0, 1e9, None, True),
            (299.9, 1e9, None, False),
            (1000.0, 299.9, None, False),
            (1000.0, 300.0, None, True),
            # The orchestrator sees that it is dead.
            (300.0, 1e9, False, True),
            (299.9, 1e9, False, False),
        )
    ),
    *(
        case(
            f'due {way.value}: alive, down {down_s:g} s', at(DUE, way),
            {**DOWN, **VERY_LONG, 'down_s': down_s, 'lifeless_s': 9999.0, 'alive': True},
            # In a rollback a restart is due in any case.
            **(
                {'does': ASKS}
                if down_s >= 3600.0 and way is not FORWARD
                else {'says': HANGS if down_s >= 3600.0 else STARTING, 'step': DUE}
            ),
        )
        for way in DIRECTIONS
        for down_s in (10.0, 3599.9, 3600.0)
    ),
    *(
        case(
            f'restarting {way.value}: alive, down {down_s:g} s, {ending and "aborted"}',
            at(RESTARTING, way, restarts_asked=1, ending=ending),
            {**DOWN, 'waited_s': down_s, 'down_s': down_s, 'lifeless_s': 0.0, 'alive': True},
            **(
                {'direction': RECOVER, 'ending': ABORTED, 'step': RESTORING}
                if says is None
                else {'says': says, 'step': RESTARTING}
            ),
        )
        for way, ending, down_s, says in (
            (FORWARD, None, 299.9, ''),
            (FORWARD, None, 300.0, STARTING),
            (FORWARD, None, 3600.0, HANGS),
            (FORWARD, ABORTED, 3599.9, STARTING),
            # It is aborted, and waited for long enough.
            (FORWARD, ABORTED, 3600.0, None),
            (BACK, None, 3600.0, HANGS),
            (RECOVER, ABORTED, 3600.0, HANGS),
        )
    ),
    *(
        case(
            f'restarting {way.value}: lifeless {lifeless_s:g} s, {waited_s:g} s after the request',
            at(RESTARTING, way, restarts_asked=1),
            {
                **DOWN, 'waited_s': waited_s, 'lifeless_s': lifeless_s, 'down_s': 0.0,
                'alive': False, 'ok_to_stop': {}, 'pgs': UNCLEAN,
            },
            does=ASKS if asks else None, restarts_asked=2 if asks else 1,
        )
        for way in UNDO
        for waited_s, lifeless_s, asks in (
            (300.0, 300.0, True), (299.9, 300.0, False), (300.0, 299.9, False)
        )
    ),
)  # fmt: skip
def test_osd_that_is_down_is_given_up_or_started_after_five_minutes_without_life(
    state: RolloutState, seen: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    """A process that runs is left alone for an hour; of a rollback nobody is given up."""
    decides(state, seen, expected)


@pytest.mark.parametrize(
    ('changes', 'asks'),
    [
        ({}, True),
        ({'restart_is_ours': True}, False),
        ({'orchestrator_reason': 'none'}, False),
        ({'may_act': False}, False),
    ],
)
def test_osd_stopped_under_another_manager_is_started_again_before_it_fails(
    changes: dict[str, object], asks: bool
) -> None:
    state = at(RESTARTING, restarts_asked=1)
    seen = {**DOWN, **LONG, 'down_s': 300.0, 'restart_is_ours': False, **changes}
    fails = {'direction': RECOVER}
    decides(state, seen, {'does': ASKS, 'direction': FORWARD} if asks else fails)
    decides(osd(state, restarts_asked=3), seen, fails)
    decides(replace(state, ending=ABORTED), seen, fails)
    outstanding = {'has': MAY_STILL.format(0), 'same': True} if asks else fails
    decides(replace(state, asked=AskedRestart(0)), seen, outstanding)
    refused = replace(state, asked=AskedRestart(0, refused=True))
    decides(refused, seen, {'does': ASKS} if asks else fails)


# -- whether it is requested


@table(
    *(
        row
        for way in UNDO
        for row in (
            case(
                f'{way.value}: a down OSD is started whatever the gates are', at(DUE, way),
                {**DOWN, 'pgs': UNCLEAN, 'ok_to_stop': {}, 'health': frozenset({'OSD_DOWN'})},
                does=ASKS,
            ),
            case(
                f'{way.value}: one that is up waits for them', at(DUE, way),
                {'pgs': UNCLEAN, 'ok_to_stop': {}, 'health': frozenset({'OSD_DOWN'})},
                step=DUE, says='cluster health: OSD_DOWN',
            ),
            case(
                f'{way.value}: after three attempts the operator starts it',
                at(RESTARTING, way, restarts_asked=3), {**DOWN, **LONG},
                step=RESTARTING, says=NEXT.format('start', 'osd.0 did not come back up'),
            ),
            case(
                f'{way.value}: which is not waited for if it is out',
                at(RESTARTING, way, restarts_asked=3), {**OUT, **LONG}, left_reason=IS_OUT,
            ),
            case(
                f'{way.value}: whoever could start it',
                at(RESTARTING, way, restarts_asked=3),
                {**OUT, **LONG, 'orchestrator_reason': 'none'}, left_reason=IS_OUT,
            ),
            case(
                f'{way.value}: but the attempts are made',
                at(RESTARTING, way, restarts_asked=2), {**OUT, **LONG}, does=ASKS,
            ),
        )
    ),
    *(
        row
        for reason, absent_s, errors, left in (
            ('none', 300.0, 0, True), ('none', 299.9, 0, False), (None, 300.0, 3, True),
            (None, 299.9, 3, False), (None, 300.0, 2, False), (None, 9999.0, 0, False),
        )
        for seen in [{'orchestrator_reason': reason, 'absent_s': absent_s, 'waited_s': 1.0}]
        for state in [at(DUE, BACK, errors=errors, last_error='EIO')]
        for asks in [ASKS if reason is None and not errors else None]
        for row in (
            case(
                f'out for {absent_s:g} s, {errors} errors, orchestrator {reason or "there"}',
                state, {**OUT, **seen},
                **({'step': LEFT, 'left_reason': IS_OUT} if left else {'does': asks}),
            ),
            case(
                f'only down, {absent_s:g} s, {errors} errors, orchestrator {reason or "there"}',
                state, {**DOWN, **seen}, does=asks, step=RESTARTING if asks else DUE,
            ),
        )
    ),
    *(
        case(
            f'{way.value}: without an orchestrator the operator is asked', at(DUE, way),
            {'orchestrator_reason': 'none', **VERY_LONG},
            step=DUE, says=NEXT.format('restart', 'none'),
        )
        for way in DIRECTIONS
    ),
    *(
        case(
            f'{errors} errors, {waited_s} s ago', at(DUE, errors=errors, last_error='EBUSY'),
            # Only what comes up ends a row of errors.
            {'waited_s': waited_s}, does=ASKS if asks else None, errors=errors,
            **({'has': 'attempts failed, retrying: EBUSY'} if errors == 3 else {'says': ''}),
        )
        for errors, waited_s, asks in (
            (0, 0.0, True), (1, 29.9, False), (1, 30.0, True), (3, 29.9, False), (3, 30.0, True)
        )
    ),
    *(
        case(
            f'{way.value}: {(again and "repeated") or "first"}, outstanding: {asked}',
            at(RESTARTING if again else DUE, way, restarts_asked=int(again), asked=asked), LONG,
            **(
                {'does': ASKS, 'asked': AskedRestart(0)}
                if waits_for is None
                else {'asked': asked, 'has': MAY_STILL.format(waits_for)}
            ),
        )
        for way in DIRECTIONS
        for again in (False, True)
        for asked, waits_for in (
            (None, None), (AskedRestart(0), 0), (AskedRestart(3), 3),
            (AskedRestart(0, refused=True), None), (AskedRestart(3, refused=True), 3),
        )
    ),
    case(
        'what the orchestrator has done so far is stored with it',
        at(DUE, doubtful=True),
        {
            'described': {
                0: OrchestratedDaemon(running=True, executed=('t1',), stored_started='s1'),
                1: OrchestratedDaemon(running=True, executed=('t9',)),
            }
        },
        does=ASKS, asked=AskedRestart(0, ('t1',), 's1'),
        step=RESTARTING, restarts_asked=1, doubtful=False,
    ),
)  # fmt: skip
def test_request(state: RolloutState, seen: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """With open gates, one at a time, again after a refusal; else the operator is told what to do.

    An OSD that is out is left behind where nobody can start it; one that is down never is.
    """
    decides(state, seen, expected)


# -- requested restarts that did not happen


def again(way: object, asked: int) -> RolloutState:
    return at(RESTARTING, way, VERIFIED, restarts_asked=asked)  # type: ignore[arg-type]


@table(
    *(
        row
        for way in DIRECTIONS
        for row in (
            *(
                case(
                    f'{way.value}: requested {asked} times', again(way, asked), LONG,
                    does=ASKS if asked < 3 else None, restarts_asked=min(asked + 1, 3),
                    direction=way,
                    says=''
                    if asked < 3
                    else NEXT.format('restart', 'osd.0 did not restart when requested'),
                )
                for asked in (1, 2, 3)
            ),
            case(
                f'{way.value}: the gates hold it', again(way, 1),
                {**LONG, 'health': frozenset({'MON_DOWN'})}, says='cluster health: MON_DOWN',
            ),
            case(
                f'{way.value}: nobody can', again(way, 1), {**LONG, 'orchestrator_reason': 'none'},
                has='(none)',
            ),
        )
    ),
    case(
        'a pause holds a repeated one',
        at(RESTARTING, BACK, restarts_asked=1, paused_by='client.a'), {**DOWN, **LONG},
        says='paused by client.a',
    ),
    case(
        'without other changed OSDs it fails after the second',
        at(RESTARTING, restarts_asked=2), LONG, step=RESTORING, direction=RECOVER,
        # Its process is that of before: it need not be restarted for its old entry.
        ending=Ending(Outcome.FAILED, 'osd.0 did not restart after 2 requests'),
        restart_needed=False,
    ),
    case(
        'an abort waits for it', replace(again(FORWARD, 1), ending=ABORTED),
        {'waited_s': 299.9}, direction=FORWARD,
    ),
    case(
        'but no longer', replace(again(FORWARD, 1), ending=ABORTED), LONG, direction=RECOVER,
        ending=ABORTED, step=RESTORING, restart_needed=False,
    ),
)  # fmt: skip
def test_request_without_effect_is_repeated_and_then_left_to_the_operator(
    state: RolloutState, seen: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    decides(state, seen, expected)


def test_refusal_counts_and_only_for_the_restart_in_flight() -> None:
    state = rollout(VERIFIED, errors=1)
    failed = action_failed(state, ASKS, 'x' * 700, 9.0)
    assert (failed.errors, failed.last_error, failed.updated_s) == (2, 'x' * 597 + '...', 9.0)
    assert (failed.osds, failed.asked) == (state.osds, None)
    flying = rollout(RESTARTING)
    for asked_times, step in ((0, RESTARTING), (1, DUE)):
        tried = osd(flying, restarts_asked=asked_times)
        found = action_failed(tried, ASKS, 'EBUSY', 9.0)
        assert (found.osds[0].step, found.osds[0].restarts_asked) == (step, 0)
        assert (found.errors, found.last_error) == (1, 'EBUSY')
        assert action_failed(tried, SetEntry('osd.0', NEW), 'EBUSY', 9.0).osds == tried.osds
    asked = replace(flying, asked=AskedRestart(0))
    assert action_failed(asked, ASKS, 'EBUSY', 9.0).asked == AskedRestart(0, refused=True)


# -- in a rollback one that is down comes first


def all_due(first: object = DUE, second: object = DUE, **changes: Any) -> RolloutState:
    """Entries are restored, and the others are to be restarted."""
    state = rollback_of(first, restoring=(), entries_done=0)  # type: ignore[arg-type]
    for n, info in cluster_of().osds.items():
        at_step = (first, second)[n] if n < 2 else DUE
        state = osd(state, n, step=at_step, nonce_before=info.nonce)
    return osd(state, **changes)


@table(
    case('it is started', all_due(), {'osd': 2, **DOWN, **VERY_LONG}, does=RestartOsd(2)),
    case(
        'not if nothing is due of it', osd(all_due(), 2, step=RESTORED),
        {'osd': 2, **DOWN, **VERY_LONG},
    ),
    *(
        case(
            f'one that does not restart gives way: {name}',
            all_due(RESTARTING, second, restarts_asked=1),
            {'osd': 1, 'up': up, 'waited_s': waited_s},
            step=DUE if gives_way else RESTARTING,
            **({'does': ASKS, 'restarts_asked': 2} if asks else {}),
        )
        for name, waited_s, up, second, gives_way, asks in (
            ('after five minutes', 300.0, False, DUE, True, False),
            ('not before', 299.9, False, DUE, False, False),
            ('not to one that is up', 300.0, True, DUE, False, True),
            ('not to one of which nothing is due', 300.0, False, RESTORED, False, False),
        )
    ),
)  # fmt: skip
def test_down_osd_is_started_before_any_other_is_restarted(
    state: RolloutState, seen: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    decides(state, seen, expected)


# -- what is asked of the cluster and the orchestrator for that


STOP = Needs(ok_to_stop=(1,), orchestrator=True, described=(1,))


@pytest.mark.parametrize(
    ('step', 'direction', 'needs'),
    [
        # The next OSD to start, and none without a decision.
        (PENDING, FORWARD, Needs(running=(1,), ok_to_stop=(1,))),
        *((PENDING, way, Needs()) for way in UNDO),
        *((step, FORWARD, Needs()) for step in (SETTING, SETTLING, COLLAPSING)),
        *((DUE, way, STOP) for way in (FORWARD, BACK)),
        *((RESTARTING, way, STOP) for way in (FORWARD, RECOVER)),
        (CHECKING, FORWARD, Needs(running=(1,))),
        (RESTORING, RECOVER, Needs()),
        # It waits for a verdict on the second one.
        (VERIFIED, FORWARD, Needs(running=(2,), ok_to_stop=(2,))),
    ],
)
def test_sample_requests_only_the_data_of_the_next_decision(
    step: Any, direction: Any, needs: Needs
) -> None:
    state = rollout(VERIFIED, step, direction=direction, verdicts=('no-worse',))
    assert MACHINE.needs(state, 1000.0) == needs
    # A request for another OSD is tracked concurrently.
    found = MACHINE.needs(replace(state, asked=AskedRestart(3)), 1000.0)
    assert set(found.described) == {3, *needs.described}
    assert replace(found, described=needs.described) == needs
    same = replace(state, asked=AskedRestart(1))
    assert MACHINE.needs(same, 1000.0) == replace(needs, described=(1,))


def test_process_lives_if_two_samples_since_down_found_the_same() -> None:
    signs = Liveness()
    for key, running, started, refreshed, lives in (
        (1, None, 's1', None, None),
        (1, True, 's1', 'r1', None),
        (1, True, 's1', None, None),
        (1, True, 's1', 'r2', True),
        # Found dead, it is no more the same one though it has the same name.
        (1, False, 's1', 'r3', False),
        (1, True, 's1', 'r4', None),
        (1, True, 's1', 'r4', None),
        (1, True, 's1', 'r5', True),
        (1, True, 's2', 'r6', None),
        (1, True, 's2', 'r7', True),
        # Another time that it is down: what was found before is old.
        (2, True, 's2', 'r7', None),
        (2, True, 's2', 'r8', None),
        (2, True, 's2', 'r9', True),
        (3, False, 's2', 'r9', None),
        (3, False, 's2', 'r10', False),
    ):
        daemon = None if running is None else OrchestratedDaemon(running, started, refreshed)
        assert signs.update(key, daemon) is lives


def test_pause_and_mode_off_hold_a_rollback() -> None:
    """Its entries and its restarts."""
    entries = rollback_of(VERIFIED, entries_done=0, shared_touched=True)
    written = {'entries': {'osd': NEW, 'osd.0': NEW}, **VERY_LONG}
    for state, seen in ((entries, written), (all_due(), VERY_LONG)):
        for look in (seen, {**seen, **DOWN}):
            paused = replace(state, paused_by='client.ann')
            decides(paused, look, {'same': True, 'says': 'paused by client.ann'})
            decides(state, {**look, 'may_act': False}, {'has': ''})
    assert MACHINE.step(entries, sampled(entries, **written), 2.0).actions
    for look in (VERY_LONG, {**VERY_LONG, **DOWN}):
        decides(all_due(), look, {'does': ASKS})
