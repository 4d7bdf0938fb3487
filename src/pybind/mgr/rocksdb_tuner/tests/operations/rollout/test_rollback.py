"""A rollback, the recovery of an OSD that failed, and the end of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from rocksdb_tuner.operations.gates import NOT_ALLOWED
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.machine import aborted, resumed, waits_for_operator
from rocksdb_tuner.operations.rollout.osd_step import must_not_wait, unsafe
from rocksdb_tuner.operations.rollout.records import Direction, Ending, OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.rollback import presumed_changed
from rocksdb_tuner.operations.rollout.rules import suppressed_in_mode_off
from rocksdb_tuner.plan.commands import RemoveEntry, RestartOsd, SetEntry
from rocksdb_tuner.tests.fake_cluster import DEFAULTS

from .conftest import ALL, NEW, OLD
from .one_step import (
    ABORTED,
    BACK,
    CHECKING,
    COLLAPSED,
    COLLAPSING,
    DUE,
    FORWARD,
    LEFT,
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
    runs,
    sampled,
    table,
)

DEFAULT = DEFAULTS['pacific']
NONCE = cluster_of().osds[0].nonce
ROLLED_BACK = 'it failed; rolled back by the module on all OSDs'


# -- everything is rolled back


def test_entries_are_restored_one_by_one_and_confirmed_before_any_osd_is_classified() -> None:
    state = rollback_of(VERIFIED, entries_done=0, errors=2, before={ALL: OLD})
    decides(state, {'entries': {ALL: NEW, 'osd.0': NEW}}, {'does': SetEntry(ALL, OLD)})
    half = {'entries': {ALL: OLD, 'osd.0': NEW}}
    first = decides(state, half, {'entries_done': 1, 'errors': 0, 'step': VERIFIED}).state
    decides(first, half, {'does': RemoveEntry('osd.0')})
    decides(first, {'entries': {ALL: OLD}}, {'entries_done': 2, 'step': DUE})


@pytest.mark.parametrize(
    ('at_step', 'same_process', 'then'),
    [
        *((step, True, RESTORED) for step in (SETTING, DUE, RESTORING)),
        # The requested restart is still pending: the process that comes up may have read it.
        (RESTARTING, True, RESTARTING),
        *((step, False, DUE) for step in (SETTING, RESTARTING, CHECKING, SETTLING, COLLAPSED)),
        *((VERIFIED, same, DUE) for same in (True, False)),
        (PENDING, True, PENDING),
        (RESTORED, False, RESTORED),
    ],
)
def test_osd_is_restarted_if_its_process_may_have_read_the_reverted_value(
    at_step: OsdStep, same_process: bool, then: OsdStep
) -> None:
    state = rollback_of(at_step, entries_done=1)
    state = osd(state, nonce_before=NONCE if same_process else 1, flaps=2)
    expected = {'step': then, 'doubtful': then is RESTARTING}
    if then is DUE:
        expected.update(nonce_before=NONCE, restart_needed=True, flaps=0)
    decides(state, {'entries': {}}, expected)


def test_osd_down_while_its_entry_is_restored_is_not_trusted() -> None:
    state = rollback_of(VERIFIED, entries_done=1)
    found = decides(state, {'up': False}, {'step': DUE, 'doubtful': True}).state
    # The options of the process that comes up are unknown: it is restarted once more.
    again = {'step': DUE, 'nonce_before': 99, 'doubtful': False}
    decides(osd(found, nonce_before=NONCE), {'nonce': 99, 'waited_s': 1.0}, again)


def test_possibly_changed_osds_count_as_changed_unless_left_behind() -> None:
    state = rollback_of(RESTORED, shared_touched=False)
    state = osd(osd(state, 1, step=LEFT), 2, step=PENDING)
    found = presumed_changed(state)
    assert [one.step for one in found.osds] == [VERIFIED, LEFT, VERIFIED, VERIFIED]
    assert (found.direction, found.shared_touched) == (FORWARD, True)
    assert found.osds[1] == state.osds[1]


# -- one OSD failed


WRITTEN = {'entries': {'osd.0': NEW}}
SERVES = at(DUE, RECOVER)
CHANGED = {'entries': {'osd.1': NEW}}
REFUSED = (
    'osd.0 may not start with its entry, and its removal is refused: "ceph config set osd.0 '
    f"bluestore_rocksdb_options '{OLD}'\" (3 attempts failed, retrying: EROFS)"
)


@table(
    case(
        'its entry is restored in any mode or pause',
        at(RESTORING, RECOVER, paused_by='client.ann'), {**WRITTEN, 'may_act': False},
        does=RemoveEntry('osd.0'),
    ),
    case(
        'which is all if it runs as before',
        at(RESTORING, RECOVER, paused_by='client.ann', restart_needed=False),
        {'may_act': False}, step=RESTORED,
    ),
    case(
        'or it is restarted', at(RESTORING, RECOVER, restarts_asked=2, nonce_before=1),
        step=DUE, nonce_before=NONCE, restarts_asked=0,
    ),
    case('in mode off it is not stopped', SERVES, {'may_act': False}, says=NOT_ALLOWED),
    case('else it is restarted', SERVES, does=RestartOsd(0)),
    case(
        'in mode off it is started', SERVES, {'may_act': False, 'up': False}, does=RestartOsd(0)
    ),
    *(
        case(
            f'{errors} errors',
            at(
                RESTORING, RECOVER, errors=errors, last_error='EROFS', before={'osd.0': OLD}
            ),
            WRITTEN, does=SetEntry('osd.0', OLD), says=REFUSED if errors == 3 else '',
        )
        for errors in (2, 3)
    ),
    case(
        'alone, it ends the rollout', at(RESTORED, RECOVER),
        stage=Phase.FAILED, outcome=Outcome.FAILED, failure='it failed',
    ),
    case(
        'with others, it rolls them back', at(RESTORED, RECOVER, VERIFIED), CHANGED,
        direction=BACK, ended=False, restoring=('osd.1',), failure=ROLLED_BACK,
    ),
    case(
        'which a pause still holds', at(RESTORED, RECOVER, VERIFIED, paused_by='client.ann'),
        CHANGED, direction=BACK, paused_by='client.ann', says='paused by client.ann',
    ),
    case(
        'after an abort the operator decides on those',
        at(RESTORED, RECOVER, VERIFIED, ending=ABORTED), CHANGED,
        stage=Phase.FAILED, outcome=Outcome.ABORTED,
        failure='aborted by client.ann; the change stays on osd.1: "ceph rocksdb-tuner rollback '
        'r1" reverts it',
    ),
)  # fmt: skip
def test_recovery_of_a_failed_osd(
    state: RolloutState, seen: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    decides(state, seen, expected)


@pytest.mark.parametrize(
    ('process', 'up', 'running', 'needed'),
    [
        ('before', True, {}, False),
        ('before', False, {}, True),
        ('other', True, {}, True),
        ('after', True, runs(DEFAULT), False),
        ('after', True, runs(NEW), True),
        ('after', False, runs(DEFAULT), True),
        ('other', True, runs(DEFAULT), True),
    ],
)
def test_failed_osd_is_restarted_unless_known_to_run_its_previous_value(
    process: str, up: bool, running: dict[str, object], needed: bool
) -> None:
    state = at(DUE, nonce_before=7, nonce_after=8, ending=ABORTED)
    seen = {'nonce': {'before': 7, 'after': 8, 'other': 9}[process], 'up': up, **running}
    decides(state, seen, {'direction': RECOVER, 'step': RESTORING, 'restart_needed': needed})


# -- mode off, and a store that refuses: what is done all the same


@pytest.mark.parametrize(
    ('direction', 'seen', 'start', 'entry'),
    [
        *((way, {'up': up}, True, True) for way in (FORWARD, BACK) for up in (True, False)),
        (RECOVER, {}, True, False),
        (RECOVER, {'gone': True}, True, False),
        (RECOVER, {'up': False}, False, False),
    ],
)
def test_actions_held_by_mode_off(
    direction: Direction, seen: dict[str, Any], start: bool, entry: bool
) -> None:
    state = at(RESTARTING, direction)
    look = sampled(state, **seen)
    assert suppressed_in_mode_off(state, RestartOsd(0), look) is start
    assert suppressed_in_mode_off(state, RemoveEntry('osd.0'), look) is entry
    assert suppressed_in_mode_off(state, SetEntry('osd.0', OLD), look) is entry


@pytest.mark.parametrize(
    ('step', 'restart_needed', 'safe'),
    [
        (SETTING, False, False),
        (DUE, False, False),
        (DUE, True, True),
        (RESTARTING, True, False),
        (CHECKING, True, False),
        (SETTLING, True, True),
        (COLLAPSING, False, True),
        (VERIFIED, False, True),
    ],
)
def test_osd_of_a_rollback_is_safe_unless_it_is_restarting_or_was_never_verified(
    step: OsdStep, restart_needed: bool, safe: bool
) -> None:
    state = osd(rollback_of(step), restart_needed=restart_needed)
    assert unsafe(state, ()) == (None if safe else state.osds[0])
    assert unsafe(state, {0}) == (None if step in {SETTLING, COLLAPSING} else state.osds[0])


@pytest.mark.parametrize(
    ('step', 'direction', 'down', 'actions', 'taken'),
    [
        (RESTARTING, FORWARD, True, (), True),
        (RESTARTING, FORWARD, True, (RestartOsd(0),), True),
        (RESTARTING, FORWARD, False, (RestartOsd(0),), False),
        (RESTARTING, FORWARD, True, (SetEntry('osd.0', NEW),), False),
        (RESTORING, RECOVER, True, (RemoveEntry('osd.0'),), True),
        (PENDING, FORWARD, True, (), False),
    ],
)
def test_only_an_unsafe_osd_is_followed_without_the_store(
    step: OsdStep, direction: Direction, down: bool, actions: tuple[Any, ...], taken: bool
) -> None:
    state = at(step, direction)
    seen = sampled(state, up=not down)
    assert must_not_wait(state, state, actions, seen) is taken
    assert not must_not_wait(state, replace(state, stage=Phase.FAILED), actions, seen)


# -- operators


@pytest.mark.parametrize(
    ('asked', 'direction', 'waits'),
    [
        *((asked, FORWARD, asked == 3) for asked in (1, 2, 3)),
        *((asked, BACK, asked == 2) for asked in (1, 2)),
        (2, RECOVER, True),
    ],
)
def test_osd_requested_too_often_waits_for_the_operator_and_is_due_again_after_resume(
    asked: int, direction: Direction, waits: bool
) -> None:
    state = at(RESTARTING, direction, restarts_asked=asked, paused_reason='by hand')
    assert waits_for_operator(state) == waits
    again = resumed(state, 9.0)
    assert (again.paused_reason, again.updated_s) == (None, 9.0)
    found = again.osds[0]
    assert (found.step, found.restarts_asked) == ((DUE, 0) if waits else (RESTARTING, asked))
    assert not waits_for_operator(replace(state, paused_reason=None))


def test_abort_ends_at_once_or_makes_the_osd_in_flight_safe_first() -> None:
    def abort(state: RolloutState) -> RolloutState:
        return aborted(state, 'client.ann', 9.0, {}, ())

    idle = abort(rollout(PENDING))
    assert (idle.stage, idle.outcome, idle.updated_s) == (Phase.FAILED, Outcome.ABORTED, 9.0)
    assert idle.failure == 'aborted by client.ann'
    waits = abort(rollout(RESTARTING, paused_by='client.bob', paused_reason='x'))
    assert (waits.ended, waits.ending, waits.updated_s) == (False, ABORTED, 9.0)
    assert (waits.paused_by, waits.paused_reason) == (None, None)
    back = abort(osd(rollback_of(DUE), restart_needed=True))
    assert (back.outcome, back.failure) == (Outcome.ABORTED, 'rollback aborted by client.ann')
    recovers = abort(at(RESTORING, RECOVER))
    assert recovers.ending == Ending(Outcome.ABORTED, 'it failed; aborted by client.ann')
