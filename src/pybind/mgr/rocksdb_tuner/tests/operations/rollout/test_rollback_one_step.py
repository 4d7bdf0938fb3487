"""Single decisions of a rollback: which OSD is next, and whether it runs the restored value."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.mgr.records import RunningOption
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.records import (
    Direction,
    Ending,
    OsdBefore,
    OsdProgress,
    OsdStep,
    RolloutState,
)
from rocksdb_tuner.operations.rollout.rollback import presumed_changed
from rocksdb_tuner.operations.rollout.rules import Observation
from rocksdb_tuner.plan.commands import RestartOsd, SetEntry
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import ALL, NEW, OLD
from .one_step import MACHINE, canary, observed, other, rollback_of, rollout, without

DEFAULT = DEFAULTS['pacific']
BACK, RECOVER = Direction.BACK, Direction.RECOVER
FAILED = Ending(Outcome.FAILED, 'it failed')


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(4)


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


def recovering(cluster: FakeCluster, at: OsdStep, **fields: object) -> RolloutState:
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
    state = recovering(cluster, OsdStep.RESTORED, paused_by='client.ann', failure='x')
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


@pytest.mark.parametrize('runs', [NEW, OLD])
def test_down_osd_is_not_trusted_to_run_the_restored_value(cluster: FakeCluster, runs: str) -> None:
    """An entry of before that means what the rollout wrote: no restart is needed of what is up."""
    state = due(cluster, osd_1=OsdStep.RESTORED)
    state = replace(state, before=replace(state.before, entries=((ALL, runs),)))
    seen = observed(cluster, entries={ALL: runs})
    up = MACHINE.step(state, seen, 2.0)
    assert (canary(up).step is OsdStep.RESTORED) == (runs == NEW)
    assert MACHINE.step(state, other(seen, 0, up=False), 2.0).actions == (RestartOsd(0),)
    gone = MACHINE.step(state, without(seen, 0), 2.0)
    assert canary(gone).step is OsdStep.LEFT_BEHIND


# -- what becomes of each OSD once the entries are back


@pytest.mark.parametrize(
    ('kind', 'step', 'reported'),
    [
        ('there', OsdStep.RESTART_DUE, None),
        ('gone', OsdStep.RESTORED, None),
        ('made again', OsdStep.LEFT_BEHIND, 'osd.0 now has device class hdd'),
        ('entries only', OsdStep.RESTORED, None),
    ],
)
def test_removed_or_unrestarted_osd_is_restored_by_its_entry(
    cluster: FakeCluster, kind: str, step: OsdStep, reported: Optional[str]
) -> None:
    state = changed(
        rollback_of(cluster, OsdStep.VERIFIED, entries_done=1), flaps=2, restarts_asked=3
    )
    seen = observed(cluster, entries={})
    if kind == 'gone':
        seen = without(seen, 0)
    if kind == 'made again':
        seen = other(seen, 0, device_class='hdd')
    if kind == 'entries only':
        state = replace(state, request=replace(state.request, restart=False))
    found = MACHINE.step(replace(state, errors=2), seen, 2.0)
    assert (found.actions, found.state.entries_done, found.state.errors) == ((), 2, 0)
    assert canary(found).step is step
    assert (canary(found).left_reason or '').startswith(reported or '')
    if step is OsdStep.RESTART_DUE:
        assert canary(found) == OsdProgress(
            0,
            OsdStep.RESTART_DUE,
            nonce_before=cluster.osds[0].nonce,
            nonce_after=cluster.osds[0].nonce,
            restart_needed=True,
        )


# -- one OSD that failed


@pytest.mark.parametrize('errors', [2, 3])
def test_entry_error_of_a_failed_osd_is_reported_and_retried(errors: int) -> None:
    state = recovering(FakeCluster(4), OsdStep.RESTORING, errors=errors, last_error='EROFS')
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
        state = recovering(cluster, OsdStep.CHECKING)
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
