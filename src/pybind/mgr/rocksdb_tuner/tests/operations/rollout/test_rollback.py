"""Single decisions of a rollback and of a recovery, and acts of operators."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations.gates import NOT_ALLOWED
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.machine import (
    aborted,
    resumed,
    waits_for_operator,
)
from rocksdb_tuner.operations.rollout.records import (
    Direction,
    Ending,
    OsdBefore,
    OsdProgress,
    OsdStep,
    RolloutState,
    with_osd,
)
from rocksdb_tuner.operations.rollout.rollback import presumed_changed
from rocksdb_tuner.operations.rollout.rules import Observation, Step, suppressed_in_mode_off
from rocksdb_tuner.plan.commands import RemoveEntry, RestartOsd, SetEntry
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import ALL, NEW, OLD, overridden
from .one_step import (
    BACK,
    FAILED,
    MACHINE,
    RECOVER,
    canary,
    observed,
    other,
    rollback_of,
    rollout,
    without,
)

DEFAULT = DEFAULTS['pacific']


# -- turning round


def test_entries_are_restored_one_by_one_and_confirmed_before_any_osd_is_classified() -> None:
    cluster = overridden(ALL, osds=4)
    state = rollback_of(cluster, OsdStep.VERIFIED, entries_done=0)
    seen = observed(cluster, entries={ALL: NEW, 'osd.0': NEW})
    assert MACHINE.step(state, seen, 2.0).actions == (SetEntry(ALL, OLD),)
    half = replace(seen, entries={ALL: OLD, 'osd.0': NEW})
    first = MACHINE.step(
        replace(state, errors=2), replace(seen, entries={ALL: OLD, 'osd.0': NEW}), 2.0
    )
    assert (first.actions, first.state.entries_done, first.state.errors) == ((), 1, 0)
    assert canary(first).step is OsdStep.VERIFIED
    second = MACHINE.step(first.state, half, 2.0)
    assert second.actions == (RemoveEntry('osd.0'),)
    both = MACHINE.step(first.state, replace(seen, entries={ALL: OLD}), 2.0)
    assert (both.actions, both.state.entries_done) == ((), 2)
    assert canary(both).step is OsdStep.RESTART_DUE


def restored(state: RolloutState, seen: Observation) -> Step:
    """The step with which the last entry is seen in place."""
    return MACHINE.step(replace(state, entries_done=1), replace(seen, entries={}), 2.0)


@pytest.mark.parametrize(
    ('at', 'same_process', 'then', 'doubtful'),
    [
        (OsdStep.SETTING, True, OsdStep.RESTORED, False),
        (OsdStep.RESTART_DUE, True, OsdStep.RESTORED, False),
        (OsdStep.RESTORING, True, OsdStep.RESTORED, False),
        # The requested restart is still pending: the process that comes up may have read it.
        (OsdStep.RESTARTING, True, OsdStep.RESTARTING, True),
        (OsdStep.SETTING, False, OsdStep.RESTART_DUE, False),
        (OsdStep.RESTARTING, False, OsdStep.RESTART_DUE, False),
        (OsdStep.CHECKING, False, OsdStep.RESTART_DUE, False),
        (OsdStep.SETTLING, False, OsdStep.RESTART_DUE, False),
        (OsdStep.VERIFIED, False, OsdStep.RESTART_DUE, False),
        (OsdStep.VERIFIED, True, OsdStep.RESTART_DUE, False),
        (OsdStep.COLLAPSED, False, OsdStep.RESTART_DUE, False),
        (OsdStep.PENDING, True, OsdStep.PENDING, False),
        (OsdStep.RESTORED, False, OsdStep.RESTORED, False),
    ],
)
def test_osd_is_restarted_if_its_process_may_have_read_the_reverted_value(
    cluster: FakeCluster, at: OsdStep, same_process: bool, then: OsdStep, doubtful: bool
) -> None:
    state = rollback_of(cluster, at)
    nonce = cluster.osds[0].nonce
    osd = replace(state.osds[0], nonce_before=nonce if same_process else 1, flaps=2)
    found = canary(restored(replace(state, osds=(osd, *state.osds[1:])), observed(cluster)))
    assert (found.step, found.doubtful) == (then, doubtful)
    if then is OsdStep.RESTART_DUE:
        assert (found.nonce_before, found.restart_needed, found.flaps) == (nonce, True, 0)


def test_osd_down_while_its_entry_is_restored_is_not_trusted(cluster: FakeCluster) -> None:
    down = other(observed(cluster), 0, up=False)
    found = canary(restored(rollback_of(cluster, OsdStep.VERIFIED), down))
    assert (found.step, found.doubtful) == (OsdStep.RESTART_DUE, True)
    due = replace(found, nonce_before=cluster.osds[0].nonce)
    state = replace(rollback_of(cluster, OsdStep.VERIFIED), osds=(due,), entries_done=2)
    up = other(observed(cluster, entries={}, waited_s=1.0), 0, nonce=99)
    again = canary(MACHINE.step(state, up, 2.0))
    # Its options are unknown: restart once more.
    assert (again.step, again.nonce_before, again.doubtful) == (OsdStep.RESTART_DUE, 99, False)


def test_down_osd_is_started_before_any_other_is_restarted(
    cluster: FakeCluster,
) -> None:
    state = rollback_of(cluster, OsdStep.RESTART_DUE, restoring=(), entries_done=0)
    osds = tuple(
        replace(osd, step=OsdStep.RESTART_DUE, nonce_before=cluster.osds[osd.osd_id].nonce)
        for osd in state.osds
    )
    state = replace(state, osds=osds)
    down = other(observed(cluster, entries={}, waited_s=1000.0), 2, up=False)
    assert MACHINE.step(state, down, 2.0).actions == (RestartOsd(2),)
    out = replace(state, osds=(*osds[:2], replace(osds[2], step=OsdStep.RESTORED), osds[3]))
    assert MACHINE.step(out, down, 2.0).actions == ()


# -- one OSD that failed


def recovering(
    cluster: FakeCluster, at: OsdStep, *others: OsdStep, **changes: object
) -> RolloutState:
    fields: dict[str, object] = {
        'direction': Direction.RECOVER,
        'ending': FAILED,
        'stage': Phase.ROLLING_BACK,
        **changes,
    }
    return replace(rollout(cluster, at, *others), **fields)  # type: ignore[arg-type]


def test_failed_osd_gets_its_entry_back_in_any_mode_or_pause(
    cluster: FakeCluster,
) -> None:
    state = recovering(cluster, OsdStep.RESTORING, paused_by='client.ann')
    seen = observed(cluster, entries={'osd.0': NEW}, may_act=False)
    assert MACHINE.step(state, seen, 2.0).actions == (RemoveEntry('osd.0'),)
    gone = replace(seen, entries={})
    assert canary(MACHINE.step(state, gone, 2.0)).step is OsdStep.RESTORED
    needed = replace(state, osds=(replace(state.osds[0], restart_needed=True), *state.osds[1:]))
    due = canary(MACHINE.step(needed, gone, 2.0))
    assert (due.step, due.nonce_before, due.restarts_asked) == (
        OsdStep.RESTART_DUE,
        cluster.osds[0].nonce,
        0,
    )


def test_failed_osd_in_mode_off_is_started_if_down_and_not_stopped_if_up(
    cluster: FakeCluster,
) -> None:
    state = recovering(cluster, OsdStep.RESTART_DUE)
    due = replace(state.osds[0], nonce_before=cluster.osds[0].nonce, restart_needed=True)
    state = replace(state, osds=(due, *state.osds[1:]))
    serves = observed(cluster, may_act=False)
    held = MACHINE.step(state, serves, 2.0)
    assert (held.actions, held.state.paused_reason) == ((), NOT_ALLOWED)
    assert MACHINE.step(state, replace(serves, may_act=True), 2.0).actions == (RestartOsd(0),)
    down = other(serves, 0, up=False)
    assert MACHINE.step(state, down, 2.0).actions == (RestartOsd(0),)


@pytest.mark.parametrize(
    ('direction', 'up', 'start', 'entry'),
    [
        (Direction.FORWARD, True, True, True),
        (Direction.FORWARD, False, True, True),
        (Direction.BACK, True, True, True),
        (Direction.BACK, False, True, True),
        (Direction.RECOVER, True, True, False),
        (Direction.RECOVER, None, True, False),
        (Direction.RECOVER, False, False, False),
    ],
)
def test_actions_held_by_mode_off(
    cluster: FakeCluster, direction: Direction, up: Optional[bool], start: bool, entry: bool
) -> None:
    """``up`` None: it is not in the map."""
    state = replace(recovering(cluster, OsdStep.RESTARTING), direction=direction)
    look = observed(cluster)
    seen = without(look, 0) if up is None else other(look, 0, up=up)
    assert suppressed_in_mode_off(state, RestartOsd(0), seen) is start
    assert suppressed_in_mode_off(state, RemoveEntry('osd.0'), seen) is entry
    assert suppressed_in_mode_off(state, SetEntry('osd.0', OLD), seen) is entry


def test_failed_osd_ends_the_rollout_alone_or_rolls_back_the_others(cluster: FakeCluster) -> None:
    seen = observed(cluster, entries={'osd.1': NEW})
    alone = MACHINE.step(recovering(cluster, OsdStep.RESTORED), observed(cluster), 2.0).state
    assert (alone.stage, alone.outcome, alone.failure) == (
        Phase.FAILED,
        Outcome.FAILED,
        'it failed',
    )
    others = recovering(cluster, OsdStep.RESTORED, OsdStep.VERIFIED)
    turned = MACHINE.step(others, seen, 2.0).state
    assert (turned.direction, turned.ended) == (Direction.BACK, False)
    assert turned.failure == 'it failed; rolled back by the module on all OSDs'
    # After an operator's abort the operator decides.
    ended = replace(others, ending=Ending(Outcome.ABORTED, 'aborted by client.ann'))
    left = MACHINE.step(ended, seen, 2.0).state
    assert (left.stage, left.outcome) == (Phase.FAILED, Outcome.ABORTED)
    assert 'the change stays on osd.1' in (left.failure or '')


@pytest.mark.parametrize(
    ('nonce', 'up', 'running', 'needed'),
    [
        ('before', True, None, False),
        ('before', False, None, True),
        ('other', True, None, True),
        ('after', True, DEFAULT, False),
        ('after', True, NEW, True),
        ('after', False, DEFAULT, True),
        ('other', True, DEFAULT, True),
    ],
)
def test_failed_osd_is_restarted_unless_known_to_run_its_previous_value(
    cluster: FakeCluster, nonce: str, up: bool, running: Optional[str], needed: bool
) -> None:
    state = rollout(cluster, OsdStep.CHECKING, ending=Ending(Outcome.ABORTED, 'aborted'))
    osd = replace(state.osds[0], step=OsdStep.RESTART_DUE, nonce_before=7, nonce_after=8)
    state = replace(state, osds=(osd, *state.osds[1:]))
    known = {} if running is None else {0: RunningOption(running, 'mon', ignores_mon=False)}
    seen = observed(cluster, entries={'osd.0': NEW}, running=known)
    process = {'before': 7, 'after': 8, 'other': 9}[nonce]
    step = MACHINE.step(state, other(seen, 0, nonce=process, up=up), 2.0)
    found = canary(step)
    assert step.state.direction is Direction.RECOVER
    assert (found.step, found.restart_needed) == (OsdStep.RESTORING, needed)


# -- acts of operators, and of the cluster


def in_vain(
    cluster: FakeCluster, asked: int, direction: Direction = Direction.FORWARD
) -> RolloutState:
    state = rollout(cluster, OsdStep.RESTARTING, direction=direction, paused_reason='by hand')
    osd = replace(state.osds[0], restarts_asked=asked)
    return replace(state, osds=(osd, *state.osds[1:]))


@pytest.mark.parametrize(
    ('asked', 'direction', 'waits'),
    [
        (1, Direction.FORWARD, False),
        (2, Direction.FORWARD, False),
        (3, Direction.FORWARD, True),
        (1, Direction.BACK, False),
        (2, Direction.BACK, True),
        (2, Direction.RECOVER, True),
    ],
)
def test_osd_requested_too_often_waits_for_the_operator_and_is_due_again_after_resume(
    cluster: FakeCluster, asked: int, direction: Direction, waits: bool
) -> None:
    state = in_vain(cluster, asked, direction)
    assert waits_for_operator(state) == waits
    again = resumed(state, 9.0)
    assert (again.paused_reason, again.updated_s) == (None, 9.0)
    expected = (OsdStep.RESTART_DUE, 0) if waits else (OsdStep.RESTARTING, asked)
    assert (again.osds[0].step, again.osds[0].restarts_asked) == expected
    assert not waits_for_operator(replace(state, paused_reason=None))


def test_abort_ends_at_once_or_makes_the_osd_in_flight_safe_first(cluster: FakeCluster) -> None:
    idle = aborted(rollout(cluster, OsdStep.PENDING), 'client.ann', 9.0, {}, ())
    assert (idle.stage, idle.outcome, idle.failure, idle.updated_s) == (
        Phase.FAILED,
        Outcome.ABORTED,
        'aborted by client.ann',
        9.0,
    )
    flying = rollout(cluster, OsdStep.RESTARTING, paused_by='client.bob', paused_reason='x')
    waits = aborted(flying, 'client.ann', 9.0, {}, ())
    assert (waits.ended, waits.ending) == (False, Ending(Outcome.ABORTED, 'aborted by client.ann'))
    assert (waits.paused_by, waits.paused_reason, waits.updated_s) == (None, None, 9.0)
    due = rollback_of(cluster, OsdStep.RESTART_DUE)
    due = with_osd(due, replace(due.osds[0], restart_needed=True))
    back = aborted(due, 'client.ann', 9.0, {}, ())
    assert (back.outcome, back.failure) == (Outcome.ABORTED, 'rollback aborted by client.ann')
    recovers = aborted(recovering(cluster, OsdStep.RESTORING), 'client.ann', 9.0, {}, ())
    assert recovers.ending == Ending(Outcome.ABORTED, 'it failed; aborted by client.ann')


def with_steps(state: RolloutState, **steps: OsdStep) -> RolloutState:
    """``osd_1=OsdStep.RESTART_DUE`` and so on."""
    at = {int(name[4:]): step for name, step in steps.items()}
    osds = tuple(replace(osd, step=at.get(osd.osd_id, osd.step)) for osd in state.osds)
    return replace(state, osds=osds)


def changed(state: RolloutState, osd_id: int = 0, **fields: object) -> RolloutState:
    osds = tuple(
        replace(osd, **fields) if osd.osd_id == osd_id else osd  # type: ignore[arg-type]
        for osd in state.osds
    )
    return replace(state, osds=osds)


def recovering_by_restart(cluster: FakeCluster, at: OsdStep, **fields: object) -> RolloutState:
    state = rollout(cluster, at, direction=RECOVER, ending=FAILED)
    state = changed(state, restart_needed=True)
    return replace(state, stage=Phase.ROLLING_BACK, **fields)  # type: ignore[arg-type]


# -- a rollout with unknown progress


def test_possibly_changed_osds_count_as_changed_unless_left_behind(
    cluster: FakeCluster,
) -> None:
    state = rollback_of(cluster, OsdStep.RESTORED, shared_touched=False)
    state = with_steps(state, osd_1=OsdStep.LEFT_BEHIND, osd_2=OsdStep.PENDING)
    found = presumed_changed(state)
    assert [osd.step for osd in found.osds] == [
        OsdStep.VERIFIED,
        OsdStep.LEFT_BEHIND,
        OsdStep.VERIFIED,
        OsdStep.VERIFIED,
    ]
    assert (found.direction, found.shared_touched) == (Direction.FORWARD, True)
    assert found.osds[1] == state.osds[1]


# -- the end


def test_pause_continues_when_a_failed_osd_rolls_back_the_others(cluster: FakeCluster) -> None:
    state = recovering_by_restart(cluster, OsdStep.RESTORED, paused_by='client.ann', failure='x')
    state = with_steps(state, osd_1=OsdStep.VERIFIED)
    turned = MACHINE.step(state, observed(cluster, entries={'osd.1': NEW}), 5.0).state
    assert (turned.direction, turned.restoring) == (BACK, ('osd.1',))
    assert (turned.paused_by, turned.paused_reason) == ('client.ann', 'paused by client.ann')
    assert turned.failure == 'it failed; rolled back by the module on all OSDs'


# -- one that is down comes first


def due(cluster: FakeCluster, **steps: OsdStep) -> RolloutState:
    """The first OSD is somewhere, all others are to be restarted; entries are back already."""
    state = rollback_of(cluster, OsdStep.RESTART_DUE, restoring=(), entries_done=0)
    osds = tuple(
        OsdProgress(n, OsdStep.RESTART_DUE, nonce_before=cluster.osds[n].nonce) for n in range(4)
    )
    return with_steps(replace(state, osds=osds), **steps)


@pytest.mark.parametrize(
    ('waited_s', 'second_down', 'itself_down', 'second_due', 'gives_way'),
    [
        (300.0, True, False, True, True),
        (299.9, True, False, True, False),
        (300.0, False, False, True, False),
        (300.0, True, True, True, False),
        (300.0, True, False, False, False),
    ],
)
def test_unrestarted_osd_gives_way_to_a_down_one(
    cluster: FakeCluster,
    waited_s: float,
    second_down: bool,
    itself_down: bool,
    second_due: bool,
    gives_way: bool,
) -> None:
    second = OsdStep.RESTART_DUE if second_due else OsdStep.RESTORED
    state = changed(due(cluster, osd_0=OsdStep.RESTARTING, osd_1=second), restarts_asked=1)
    seen = observed(cluster, entries={}, waited_s=waited_s)
    seen = other(other(seen, 1, up=not second_down), 0, up=not itself_down)
    step = MACHINE.step(state, seen, 2.0)
    assert (canary(step).step is OsdStep.RESTART_DUE) == gives_way
    if gives_way:
        assert step.actions == ()
        assert MACHINE.step(step.state, seen, 3.0).actions == (RestartOsd(1),)


# -- one OSD that failed


@pytest.mark.parametrize('errors', [2, 3])
def test_entry_error_of_a_failed_osd_is_reported_and_retried(errors: int) -> None:
    state = recovering_by_restart(
        FakeCluster(4), OsdStep.RESTORING, errors=errors, last_error='EROFS'
    )
    state = replace(state, before=replace(state.before, entries=(('osd.0', OLD),)))
    step = MACHINE.step(state, observed(FakeCluster(4), entries={'osd.0': NEW}), 2.0)
    assert step.actions == (SetEntry('osd.0', OLD),)
    reported = (
        'osd.0 may not start with its entry, and its removal is refused: "ceph config set osd.0 '
        f"bluestore_rocksdb_options '{OLD}'\" (3 attempts failed, retrying: EROFS)"
    )
    assert step.state.paused_reason == (reported if errors == 3 else None)


# -- whether a process runs the restored value


def runs(
    state: RolloutState, seen: Observation, value: str, source: str, waited_s: float = 59.9
) -> RolloutState:
    running = {0: RunningOption(value, source, ignores_mon=False)}
    step = MACHINE.step(state, replace(seen, running=running, waited_s=waited_s), 2.0)
    assert step.actions == ()
    return step.state


@pytest.mark.parametrize(
    ('direction', 'then'), [('back', OsdStep.SETTLING), ('recover', OsdStep.RESTORED)]
)
@pytest.mark.parametrize('known', [True, False])
def test_process_under_rollback_is_trusted_after_five_seconds_and_given_up_after_a_minute(
    cluster: FakeCluster, direction: str, then: OsdStep, known: bool
) -> None:
    state = rollback_of(cluster, OsdStep.CHECKING, restoring=(), entries_done=0)
    if direction == 'recover':
        state = recovering_by_restart(cluster, OsdStep.CHECKING)
    seen = observed(cluster, entries={})
    assert runs(state, seen, DEFAULT, 'default', 4.9).osds[0].step is OsdStep.CHECKING
    assert runs(state, seen, DEFAULT, 'default', 5.0).osds[0].step is then
    wrong = {0: RunningOption(NEW, 'mon', ignores_mon=False)} if known else {}
    early = MACHINE.step(state, replace(seen, running=wrong, waited_s=59.9), 2.0)
    assert (early.state.osds, early.state.paused_reason) == (state.osds, None)
    assert not early.state.ended
    lost = MACHINE.step(state, other(replace(seen, running=wrong, waited_s=60.0), 0, nonce=99), 2.0)
    assert (canary(lost).step, canary(lost).flaps) == (OsdStep.RESTARTING, 1)
    late = MACHINE.step(state, replace(seen, running=wrong, waited_s=60.0), 2.0).state
    assert (late.stage, late.outcome) == (Phase.FAILED, Outcome.FAILED)
    found = f'it runs {NEW} (source mon)' if known else 'its running options cannot be read'
    reason = f'osd.0 was restarted during the rollback, but {found}'
    assert reason in (late.failure or '')
    assert (late.failure or '').startswith('it failed; ') == (direction == 'recover')


def test_osd_with_other_running_options_is_not_given_up_while_others_are_changed(
    cluster: FakeCluster,
) -> None:
    """Ending here would leave them as they are."""
    state = rollback_of(cluster, OsdStep.CHECKING, restoring=(), entries_done=0)
    state = with_steps(state, osd_1=OsdStep.RESTART_DUE)
    found = runs(state, observed(cluster, entries={}), 'write_buffer_size=1 a', 'file', 60.0)
    assert (found.ended, found.osds) == (False, state.osds)
    assert found.paused_reason == (
        "osd.0 was restarted during the rollback, but it runs 'write_buffer_size=1 a' "
        '(source file); correct it and restart the OSD'
    )


HOST, OTHER_HOST = 'osd/host:node0', 'osd/host:node1'


@pytest.mark.parametrize(
    ('entries', 'value', 'source', 'before', 'believed'),
    [
        # Nothing decides: its own default, and nothing else.
        ({}, DEFAULT, 'default', None, True),
        ({}, DEFAULT, 'mon', None, False),
        # The entry that it starts with.
        ({ALL: OLD}, OLD, 'mon', None, True),
        ({ALL: OLD}, OLD, 'default', None, False),
        ({ALL: OLD}, NEW, 'mon', None, False),
        # A mask that may reach it, and means something else than what the rollout wrote.
        ({HOST: OLD}, OLD, 'mon', None, True),
        ({HOST: OLD}, OLD, 'file', None, False),
        ({HOST: OLD}, DEFAULT, 'mon', None, False),
        ({OTHER_HOST: OLD}, OLD, 'mon', None, False),
        ({ALL: DEFAULT, HOST: OLD}, OLD, 'mon', None, True),
        ({ALL: DEFAULT, HOST: OLD}, DEFAULT, 'mon', None, True),
        # It has the same meaning: then only the previous value decides.
        ({HOST: NEW}, NEW, 'mon', None, False),
        ({HOST: NEW}, NEW, 'mon', (NEW, 'mon'), True),
        ({HOST: NEW}, NEW, 'mon', (NEW, 'file'), False),
        ({HOST: NEW}, NEW, 'mon', (OLD, 'mon'), False),
        ({HOST: NEW, 'osd/class:ssd': OLD}, OLD, 'mon', None, True),
    ],
)
def test_restored_values_are_distinguished_from_written_ones(
    cluster: FakeCluster,
    entries: dict[str, str],
    value: str,
    source: str,
    before: Optional[tuple[str, str]],
    believed: bool,
) -> None:
    state = rollback_of(cluster, OsdStep.CHECKING, restoring=(), entries_done=0)
    recorded = tuple(b for b in state.before.osds if b.osd_id != 0)
    recorded = (*recorded, OsdBefore(0, *(before or (DEFAULT, 'default')), 'pacific'))
    state = replace(state, before=replace(state.before, osds=recorded))
    found = runs(state, observed(cluster, entries=entries), value, source)
    assert (found.osds[0].step is OsdStep.SETTLING) == believed
