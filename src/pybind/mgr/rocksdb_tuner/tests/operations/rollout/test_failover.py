"""A manager may end between any two operations, and its stored state be lost: the next goes on."""

from __future__ import annotations

import errno
from typing import Any, Callable, Optional

import pytest

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.operations.phases import Outcome, Permission, Phase
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.operations.rollout.machine import Machine
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.rules import Observation, Step
from rocksdb_tuner.operations.rollout.storage import CURRENT
from rocksdb_tuner.plan.records import ChangeRequest
from rocksdb_tuner.store.stored import BROKEN
from rocksdb_tuner.tests.chaos.cluster import ChaosCluster
from rocksdb_tuner.tests.chaos.faults import Killed, NextWrite, WriteFault
from rocksdb_tuner.tests.chaos.invariants import Watch
from rocksdb_tuner.tests.chaos.schedule import nothing_planned
from rocksdb_tuner.tests.chaos.topology import small
from rocksdb_tuner.tests.chaos.world import World
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeCluster

from .conftest import NEW, OLD, Run, refused, refusing, remove_override, same_meaning, set_profile
from .one_step import SETTLING, VERIFIED

DEFAULT = DEFAULTS['pacific']


# -- the manager dies at each of its writes


class MortalRun(World):
    """A run whose manager may die at a write, before or after it."""

    def __init__(self, cluster: ChaosCluster) -> None:
        self.writes = 0
        super().__init__(nothing_planned(cluster.topology), cluster)

    def due(self) -> Optional[WriteFault]:
        self.writes += 1
        return super().due()

    def tick(self, seconds: float = 2.0) -> None:
        try:
            Run.tick(self, seconds)
        except Killed:
            self.take_over()
            Run.tick(self, seconds)


def overridden(cluster: FakeCluster) -> ChangeRequest:
    cluster.operator_sets('osd', OLD)
    for n in cluster.osds:
        cluster.restart_by_hand(n)
        cluster.advance(60)
    return remove_override(cluster)


def bad(cluster: FakeCluster) -> ChangeRequest:
    return set_profile(cluster, 'write_buffer_size=foo')


def executed(
    prepare: Callable[[FakeCluster], ChangeRequest], back: bool, *faults: NextWrite
) -> tuple[MortalRun, RolloutState]:
    cluster = ChaosCluster(small(osds=2))
    request = prepare(cluster)
    before = cluster.entries_of()
    run = MortalRun(cluster)
    watch = Watch(run)
    run.start(request)
    run.writes, run.next_writes = 0, list(faults)
    state = run.run_to_end()
    if back:
        watch.check_end(before)
        run.guarded(lambda: run.rollback(None, 'client.admin'))
        run.tick()
        if run.state.ended:
            run.rollback(None, 'client.admin')
        state = run.run_to_end()
    watch.check_end(before)
    assert run.driver.history[-1].outcome is state.outcome
    return run, state


@pytest.mark.parametrize(
    ('prepare', 'back', 'ends'),
    [
        pytest.param(set_profile, False, Phase.DONE, id='forward'),
        pytest.param(overridden, False, Phase.DONE, id='removal of an override'),
        pytest.param(set_profile, True, Phase.ROLLED_BACK, id='and back'),
        pytest.param(bad, False, Phase.FAILED, id='an OSD that does not start'),
    ],
)
@pytest.mark.parametrize('fault', [WriteFault.KILLED_BEFORE, WriteFault.KILLED_AFTER])
def test_takeover_at_any_operation_does_not_change_the_result(
    prepare: Callable[[FakeCluster], ChangeRequest], back: bool, ends: Phase, fault: WriteFault
) -> None:
    def result(run: MortalRun) -> tuple[object, ...]:
        osds = run.cluster.osds.values()
        return run.cluster.entries_of(), run.running, [osd.boots for osd in osds]

    undisturbed, state = executed(prepare, back)
    assert state.phase is ends
    # Between two operations is after the one or before the other
    for number in range(int(fault is WriteFault.KILLED_AFTER), undisturbed.writes, 2):
        run, state = executed(prepare, back, NextWrite(fault, number))
        assert not run.next_writes
        assert state.phase is ends, f'killed at write {number}'
        assert result(run) == result(undisturbed), f'killed at write {number}'
        assert not run.cluster.down


# -- what is stored is lost or broken


def test_broken_state_never_stops_the_module_and_is_not_acted_on(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is SETTLING)
    run.store.values[CURRENT] = run.store.values[CURRENT][:200]
    done = len(run.cluster.commands)
    run.fail_over()
    run.ticks(100)
    assert run.driver.state is None
    assert len(run.cluster.commands) == done
    assert 'could not be read and was quarantined' in run.driver.problems[0]
    (record,) = run.driver.history
    lost = 'its stored state could not be read: nothing further was done'
    assert (record.outcome, record.reason) == (Outcome.FAILED, lost)
    # OSDs it left behind are named when the next rollout is requested.
    with refused(errno.EINVAL, r'osd\.0 has its own entry'):
        run.start()


def test_running_rollout_that_can_be_read_again_is_paused(run: Run) -> None:
    """It does not go on restarting OSDs by itself, however long it was unreadable."""
    run.start()
    run.store.values[BROKEN + CURRENT] = run.store.values.pop(CURRENT)
    run.fail_over()
    assert run.state.paused_by == 'the module'


@pytest.mark.parametrize('step', list(OsdStep)[1:6])
@pytest.mark.parametrize('name', [None, 'r1'])
def test_rollout_with_lost_state_is_rolled_back_from_the_archive(
    one_step_a_tick: None, run: Run, step: OsdStep, name: Optional[str]
) -> None:
    """How far it came is not known then: each OSD is taken for changed."""
    run.start()
    run.until(lambda s: s.osds[1].step is step)
    del run.store.values[CURRENT]
    run.fail_over()
    run.cluster.advance(60)
    run.ticks(10)
    run.roll_back(name)
    assert (run.cluster.entries_of(), run.running) == ({}, [DEFAULT] * 3)


def test_lost_state_of_the_last_rollout_is_reported(run: Run) -> None:
    run.start()
    run.run_to_end()
    assert run.driver.broken == ()
    del run.store.values[CURRENT]
    run.fail_over()
    reported = '; '.join(run.driver.broken)
    assert 'the stored state of the last rollout in the history is lost' in reported


# -- parts that fail, and answers that do not come


class Forgiving:
    """A guard that goes on without what raises."""

    def __init__(self) -> None:
        self.failed: set[str] = set()

    def value(self, step: str, work: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return work()
        except ZeroDivisionError:
            self.failed.add(step)
            return otherwise


def test_failing_judge_and_announcer_do_not_block_a_rollout(run: Run) -> None:
    """An OSD in flight waits for neither."""
    guard = Forgiving()

    def fail(*_: object) -> Any:
        return 1 / 0

    run.driver = Driver(run.cluster, run.store, same_meaning, guard=guard)
    run.driver._announce = fail  # type: ignore[method-assign,assignment]
    run.driver._recording.found = fail  # type: ignore[method-assign,assignment]
    run.start()
    assert run.run_to_end().phase is Phase.DONE
    assert guard.failed == {'judging', 'announcements'}
    assert run.running == [NEW] * 3


def test_actor_is_not_stored_without_a_rollout_or_a_working_store(run: Run) -> None:
    """The caller gets the reason; an earlier actor stays."""
    run.driver.name_actor('r1', 'client.zoe')
    assert run.store.values == {}
    run.start()
    run.store.error = CommandError(errno.EROFS, 'read-only')
    with pytest.raises(CommandError, match='read-only'):
        run.driver.name_actor('r1', 'client.zoe')
    assert run.state.request.actor == 'client.admin'


def noted(run: Run) -> bool:
    return run.driver.acknowledged


def test_failure_is_acknowledged_until_the_next_rollout_and_across_managers(run: Run) -> None:
    assert not run.driver.acknowledge()
    run.cluster.refuses_to_start = lambda value: value == NEW
    run.start()
    assert not run.driver.acknowledge()
    run.run_to_end()
    run.store.error = CommandError(errno.EROFS, 'read-only')
    with refused(errno.EROFS, 'cannot store the request: read-only; try again'):
        run.driver.acknowledge()
    assert not noted(run)
    run.store.error = None
    assert run.driver.acknowledge()
    assert not run.driver.acknowledge()
    run.fail_over()
    assert noted(run)
    run.ticks(10)
    run.start(set_profile(run.cluster))
    assert not noted(run)
    run.run_to_end()
    assert not noted(run)


class Watched(Run):
    """A run that shows what its machine is shown."""

    def __init__(self) -> None:
        super().__init__(FakeCluster(4))
        seen = self.seen = list[Observation]()

        class Listening(Machine):
            def step(self, state: RolloutState, seen_now: Observation, now_s: float) -> Step:
                seen.append(seen_now)
                return super().step(state, seen_now, now_s)

        self.driver.machine = Listening(same_meaning)
        self.cluster.flags.add('noout')

    def look(self) -> Observation:
        """The first one of one more tick."""
        self.seen.clear()
        self.tick()
        return self.seen[0]


@pytest.mark.parametrize('how', ['nonce', 'up', 'in_cluster'])
def test_moved_osd_is_named_for_two_minutes_and_disturbs_a_measurement(how: str) -> None:
    run = Watched()
    run.start()
    # What is seen first may have changed just before.
    still = [run.look() for _ in range(8)][-1]
    assert (still.osds_moved, still.moved) == (False, frozenset())
    setattr(run.cluster.osds[2], how, 9999 if how == 'nonce' else False)
    seen = [run.look() for _ in range(62)]
    # Until each OSD has reported since.
    assert all(look.osds_moved for look in seen[:3])
    assert not any(look.osds_moved for look in seen[6:])
    assert [look.moved for look in seen] == [{2}] * 60 + [frozenset()] * 2


@pytest.mark.parametrize(
    ('none', 'unknown', 'forward', 'back'),
    [
        (None, None, None, None),
        ('none', None, 'none', 'none'),
        (None, 'perhaps', 'perhaps', None),
        ('none', 'perhaps', 'none', 'none'),
    ],
)
def test_rollback_does_not_wait_for_osd_reports(
    none: Optional[str], unknown: Optional[str], forward: Optional[str], back: Optional[str]
) -> None:
    run = Watched()

    def reported() -> Optional[str]:
        run.seen.clear()
        allowed = Permission(no_reports_reason=none, reports_unknown=unknown)
        run.driver.tick(run.cluster.now_s, allowed, run.cluster.now_s)
        return run.seen[0].no_reports_reason

    run.cluster.flags.clear()
    run.start()
    run.until(lambda state: state.osds[0].step is VERIFIED)
    run.cluster.flags.add('noout')
    assert reported() == forward
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    assert reported() == back


def test_only_failed_queries_are_missing() -> None:
    run = Watched()
    run.start()
    run.until(lambda state: state.stage is Phase.PREFLIGHT)
    seen = run.look()
    assert (set(seen.running), seen.ok_to_stop) == ({0}, {0: None})
    assert seen.versions == run.cluster.daemon_versions()
    assert (seen.upgrade, seen.orchestrator_reason) == (None, None)
    run.cluster.osds[0].silent = True
    for prefix in ('versions', 'orch upgrade status', 'osd ok-to-stop'):
        run.cluster.errors[prefix] = refusing('no answer')
    lost = run.look()
    assert (lost.versions, dict(lost.ok_to_stop)) == (None, {})
    assert lost.upgrade == 'its state is unknown (no answer)'
    assert 0 not in lost.running
