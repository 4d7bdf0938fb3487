"""The driver: what it stores, observes and answers, also if others are late or fail."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, TypeVar

import pytest

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.operations import announce
from rocksdb_tuner.operations.phases import OperationRefused, Outcome, Permission, Phase
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.operations.rollout.machine import Machine
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.rules import Observation, Step
from rocksdb_tuner.operations.rollout.storage import (
    ARCHIVE,
    CURRENT,
)
from rocksdb_tuner.store.stored import BROKEN
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .conftest import NEW, OLD, Run, refusing, same_meaning, set_profile


@contextmanager
def refused(code: int, text: str) -> Iterator[None]:
    with pytest.raises(OperationRefused, match=text) as refusal:
        yield
    assert refusal.value.errno == code


def test_osd_under_recovery_is_not_paused(run: Run) -> None:
    run.start(set_profile(run.cluster, 'foo'))
    run.until(lambda s: s.stage is Phase.ROLLING_BACK)
    with refused(errno.EBUSY, 'cannot be interrupted'):
        run.driver.pause('client.ann', run.cluster.now_s)


# -- rollback


def test_unknown_rollout_is_answered_with_the_existing_ones(run: Run) -> None:
    run.start()
    run.run_to_end()
    with refused(errno.ENOENT, 'there is no rollout "r9" to roll back; the last are r1'):
        run.driver.rollback('r9', 'client.ann', run.cluster.now_s)


def test_preparation_of_a_rollback_runs_once_nothing_refuses_it(run: Run) -> None:
    """It ends what else is under way."""
    called: list[bool] = []
    before: Callable[[], None] = lambda: called.append(True)  # noqa: E731
    run.start()
    run.run_to_end()
    run.cluster.operator_sets('osd', 'write_buffer_size=1')
    with pytest.raises(OperationRefused, match='has been changed outside r1 since then'):
        run.driver.rollback(None, 'client.ann', run.cluster.now_s, before)
    assert called == []
    run.cluster.operator_sets('osd', NEW)
    run.driver.rollback(None, 'client.ann', run.cluster.now_s, before)
    assert called == [True]


def test_nothing_is_rolled_back_twice(run: Run) -> None:
    run.start()
    run.run_to_end()
    run.driver.rollback('r1', 'client.ann', run.cluster.now_s)
    with refused(errno.EALREADY, 'r1 is being rolled back'):
        run.driver.rollback('r1', 'client.ann', run.cluster.now_s)
    run.run_to_end()
    with refused(errno.EALREADY, 'r1 has already been rolled back'):
        run.driver.rollback('ssd-lz4', 'client.ann', run.cluster.now_s)


def test_earlier_rollout_is_rolled_back_if_unchanged_since(run: Run) -> None:
    hdd = run.cluster.osds[2]
    hdd.device_class = 'hdd'
    run.start(set_profile(run.cluster))
    run.run_to_end()
    other = set_profile(
        run.cluster,
        recommendation_id='hdd',
        who='osd.2',
        targets=((2, OLD),),
        order=(2,),
        final_entries=(('osd.2', OLD),),
    )
    run.start(other)
    run.run_to_end()
    run.driver.rollback('ssd-lz4', 'client.ann', run.cluster.now_s)
    state = run.run_to_end()
    assert (state.rollout_id, state.phase) == ('r1', Phase.ROLLED_BACK)
    assert run.cluster.entries_of() == {'osd.2': OLD}
    assert hdd.boots == 2
    assert [(r.rollout_id, r.outcome) for r in run.driver.history] == [
        ('r1', Outcome.ROLLED_BACK),
        ('r2', Outcome.DONE),
    ]


# -- operator commands are stored


@pytest.mark.parametrize('command', ['start', 'rollback', 'pause', 'abort', 'resume'])
def test_command_that_cannot_be_stored_is_refused_and_dropped(run: Run, command: str) -> None:
    driver, now_s = run.driver, run.cluster.now_s
    if command != 'start':
        run.start()
        driver.pause('client.ann', now_s) if command == 'resume' else None
    state = driver.state
    run.store.error = CommandError(errno.EROFS, 'read-only file system')
    commands: dict[str, Callable[[], object]] = {
        'start': run.start,
        'rollback': lambda: driver.rollback(None, 'client.ann', now_s),
        'pause': lambda: driver.pause('client.ann', now_s),
        'resume': lambda: driver.resume(now_s),
        'abort': lambda: driver.abort('client.ann', now_s),
    }
    with refused(errno.EROFS, 'cannot store the request: read-only file system; try again'):
        commands[command]()
    assert driver.state == state


@pytest.mark.parametrize('command', ['start', 'rollback'])
def test_unreadable_config_store_refuses_a_start(run: Run, command: str) -> None:
    if command == 'rollback':
        run.start()
    run.cluster.errors['config dump'] = CommandError(errno.EIO, 'no')
    with refused(errno.EIO, 'cannot read the config store: no; try again'):
        if command == 'start':
            run.start()
        else:
            run.driver.rollback(None, 'client.ann', run.cluster.now_s)


# -- what is stored may be broken


def test_broken_state_never_stops_the_module_and_is_not_acted_on(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.SETTLING)
    run.store.values[CURRENT] = run.store.values[CURRENT][:200]
    done = len(run.cluster.commands)
    run.fail_over()
    for _ in range(100):
        run.tick()
    assert run.driver.state is None
    assert len(run.cluster.commands) == done
    assert 'could not be read and was quarantined' in run.driver.problems[0]
    (record,) = run.driver.history
    assert (record.outcome, record.reason) == (
        Outcome.FAILED,
        'its stored state could not be read: nothing further was done',
    )
    # OSDs it left behind are named when the next rollout is requested.
    with refused(errno.EINVAL, r'osd\.0 has its own entry'):
        run.start()


def test_running_rollout_that_can_be_read_again_is_paused(run: Run) -> None:
    """It does not go on restarting OSDs by itself, however long it was unreadable."""
    run.start()
    run.store.values[BROKEN + CURRENT] = run.store.values.pop(CURRENT)
    run.fail_over()
    assert run.state.paused_by == 'the module'


_T = TypeVar('_T')


class Forgiving:
    """A guard that goes on without what raises."""

    def __init__(self) -> None:
        self.failed: set[str] = set()

    def value(self, step: str, work: Callable[[], _T], otherwise: _T) -> _T:
        try:
            return work()
        except ZeroDivisionError:
            self.failed.add(step)
            return otherwise


def with_parts(run: Run, **parts: Any) -> Driver:
    return Driver(
        run.cluster,
        run.store,
        same_meaning,
        **parts,
    )


def test_failing_judge_and_announcer_do_not_block_a_rollout(run: Run) -> None:
    """An OSD in flight waits for neither."""
    guard = Forgiving()

    def fail(*_: object) -> Any:
        return 1 / 0

    run.driver = with_parts(run, guard=guard)
    run.driver._announce = fail  # type: ignore[method-assign,assignment]
    run.driver._recording.found = fail  # type: ignore[method-assign,assignment]
    run.start()
    assert run.run_to_end().phase is Phase.DONE
    assert guard.failed == {'judging', 'announcements'}
    assert {run.cluster.runs(n) for n in run.cluster.osds} == {NEW}


# -- names and notes


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


def test_note_that_cannot_be_stored_is_refused_and_a_stored_one_ends_with_its_rollout(
    run: Run,
) -> None:
    run.cluster.refuses_to_start = lambda value: value == NEW
    run.start()
    run.run_to_end()
    run.store.error = CommandError(errno.EROFS, 'read-only')
    with refused(errno.EROFS, 'cannot store the request: read-only; try again'):
        run.driver.acknowledge()
    assert not noted(run)
    run.store.error = None
    assert run.driver.acknowledge()
    assert noted(run)
    run.start(set_profile(run.cluster, OLD))
    assert not noted(run)


# -- what only a long wait shows


def long_wait(run: Run) -> Optional[str]:
    """The reports half a minute later, with a long minute."""
    for _ in range(4):
        run.tick(30.0)
    return run.driver.why_waiting()


def test_persistently_closed_gate_is_reported_and_an_operator_choice_is_not(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announce, 'GATE_ALARM_AFTER_S', 60.0)
    run.cluster.flags.add('noout')
    run.start()
    assert 'noout' in (long_wait(run) or '')
    run.fail_over()
    assert run.driver.why_waiting() is None
    run.cluster.flags.clear()
    run.outside_window = 'outside the maintenance window'
    assert long_wait(run) is None
    run.outside_window = None
    run.may_act = False
    assert long_wait(run) is None
    run.may_act = True
    run.driver.pause('client.ann', run.cluster.now_s)
    assert long_wait(run) is None
    run.driver.resume(run.cluster.now_s)
    run.cluster.flags.add('noout')
    assert 'noout' in (long_wait(run) or '')


def writes(run: Run, prefix: str) -> list[str]:
    """The keys that are stored from now on."""
    found: list[str] = []

    def on_set(key: str) -> None:
        if key.startswith(prefix):
            found.append(key)

    run.store.on_set = on_set
    return found


def test_sample_without_a_change_stores_nothing(run: Run) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.to_a_wait('noout')
    found = writes(run, CURRENT)
    for _ in range(5):
        run.tick()
    assert found == []


def test_rollback_does_not_wait_for_storing_the_end_it_reverts(run: Run) -> None:
    def refuse(key: str) -> None:
        if key.startswith(ARCHIVE):
            raise refusing('no space')

    run.store.on_set = refuse
    run.start()
    run.until(lambda s: s.ended)
    run.tick()
    assert 'no space' in run.driver.problems[0]
    # Another one would take its place.
    with refused(5, 'cannot store the end of r1: no space; try again'):
        run.start(set_profile(run.cluster, OLD))
    assert run.driver.rollback(None, 'client.ann', run.cluster.now_s).rollout_id == 'r1'
    run.until(lambda s: s.ended)
    assert run.state.stage is Phase.ROLLED_BACK


@dataclass(frozen=True)
class AlwaysReporting(Machine):
    """A machine that keeps all that it was shown."""

    samples: list[Observation] = field(default_factory=list)

    def step(self, state: RolloutState, seen: Observation, now_s: float) -> Step:
        self.samples.append(seen)
        return super().step(state, seen, now_s)


class Watched(Run):
    def __init__(self, cluster: Optional[FakeCluster] = None) -> None:
        super().__init__(cluster)
        self.samples = self.listen()

    def listen(self) -> list[Observation]:
        machine = AlwaysReporting(same_meaning)
        self.driver.machine = machine
        return machine.samples

    def fail_over(self) -> None:
        super().fail_over()
        self.samples = self.listen()

    def look(self) -> Observation:
        """The first one of one more tick."""
        self.samples.clear()
        self.tick()
        return self.samples[0]


@pytest.fixture
def run() -> Watched:
    return Watched(FakeCluster(4))


# -- what moved


@pytest.mark.parametrize('how', ['nonce', 'down', 'out'])
def test_moved_osd_is_named_for_two_minutes_and_disturbs_a_measurement(
    run: Watched, how: str
) -> None:
    run.cluster.flags.add('noout')
    run.start()
    # What is seen first may have changed just before.
    still = [run.look() for _ in range(8)][-1]
    assert (still.osds_moved, still.moved) == (False, frozenset())
    if how == 'nonce':
        run.cluster.osds[2].nonce += 1
    elif how == 'down':
        run.cluster.osds[2].up = False
    else:
        run.cluster.osds[2].in_cluster = False
    seen = [run.look() for _ in range(62)]
    # Until each OSD has reported since.
    assert all(look.osds_moved for look in seen[:3])
    assert not any(look.osds_moved for look in seen[6:])
    assert [look.moved for look in seen] == [{2}] * 60 + [frozenset()] * 2


# -- the source of the information


@pytest.mark.parametrize(
    ('no_reports_reason', 'reports_unknown', 'forward', 'back'),
    [
        (None, None, None, None),
        ('no_reports_reason', None, 'no_reports_reason', 'no_reports_reason'),
        (None, 'perhaps', 'perhaps', None),
        ('no_reports_reason', 'perhaps', 'no_reports_reason', 'no_reports_reason'),
    ],
)
def test_rollback_does_not_wait_for_osd_reports(
    run: Watched,
    no_reports_reason: Optional[str],
    reports_unknown: Optional[str],
    forward: str,
    back: str,
) -> None:
    def reported() -> Optional[str]:
        run.samples.clear()
        run.driver.tick(
            run.cluster.now_s,
            Permission(no_reports_reason=no_reports_reason, reports_unknown=reports_unknown),
            run.cluster.now_s,
        )
        return run.samples[0].no_reports_reason

    run.start()
    run.until(lambda state: state.osds[0].step is OsdStep.VERIFIED)
    run.cluster.flags.add('noout')
    assert reported() == forward
    run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    assert reported() == back


# -- queries of the cluster, and missing answers


def test_only_failed_queries_are_missing(run: Watched) -> None:
    run.cluster.flags.add('noout')
    run.start()
    run.until(lambda state: state.stage is Phase.PREFLIGHT)
    seen = run.look()
    assert set(seen.running) == {0}
    assert seen.ok_to_stop == {0: None}
    assert seen.versions == run.cluster.daemon_versions()
    assert (seen.upgrade, seen.orchestrator_reason) == (None, None)
    run.cluster.osds[0].silent = True
    run.cluster.errors['versions'] = refusing('no answer')
    run.cluster.errors['orch upgrade'] = refusing('no answer')
    run.cluster.errors['osd ok-to-stop'] = refusing('no answer')
    lost = run.look()
    assert lost.versions is None
    assert lost.upgrade in {None, 'its state is unknown (no answer)'}
    assert 0 not in lost.running
