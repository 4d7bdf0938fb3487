"""The stored state and messages of the driver, and its behavior if others are late or fail."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Optional, TypeVar

import pytest

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import OrchestratedDaemon
from rocksdb_tuner.operations import announce
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.operations.rollout.history import record_of
from rocksdb_tuner.operations.rollout.machine import Machine
from rocksdb_tuner.operations.rollout.records import AskedRestart, Direction, OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.rules import Limits, Observation, Step
from rocksdb_tuner.operations.rollout.storage import (
    ACKNOWLEDGED,
    ARCHIVE,
    CLOCK,
    CURRENT,
    HISTORY,
)

from .conftest import NEW, OLD, Run, refusing, same_meaning, set_profile
from .test_driver import refused
from .test_driver_observes import Watched
from .test_soak import SOAK

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


def test_nothing_is_known_before_loading(run: Run) -> None:
    driver = with_parts(run)
    assert (driver.state, driver.history, driver.problems, driver.broken) == (None, (), (), ())
    assert (driver.acknowledged, driver.since_end_s) == (False, None)
    assert driver.why_waiting() is None


def test_failing_judge_and_announcer_do_not_block_a_rollout(run: Run) -> None:
    """An OSD in flight waits for neither."""
    guard = Forgiving()

    def fail(*_: object) -> Any:
        return 1 / 0

    run.driver = with_parts(run, guard=guard, on_change=fail)
    run.driver._recording.found = fail  # type: ignore[method-assign,assignment]
    run.start()
    assert run.run_to_end().phase is Phase.DONE
    assert guard.failed == {'judging', 'announcements'}
    assert {run.cluster.runs(n) for n in run.cluster.osds} == {NEW}


def test_error_without_a_guard_is_raised(run: Run) -> None:
    run.driver = with_parts(run, on_change=lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run.start()


def test_configured_wait_applies_from_its_start(run: Run) -> None:
    run.driver = with_parts(run, limits=Limits(restart_s=10.0))
    run.cluster.orchestrator_idle = True
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    assert run.run_to_end(within_s=60).phase is Phase.FAILED


@dataclass(frozen=True)
class Restless(Machine):
    """Never done, and never doing anything."""

    samples: list[Observation] = field(default_factory=list)

    def step(self, state: RolloutState, seen: Observation, now_s: float) -> Step:
        self.samples.append(seen)
        return Step(replace(state, updated_s=state.updated_s + 1.0))


def test_tick_has_at_most_ten_steps(run: Run) -> None:
    run.start()
    machine = Restless(same_meaning)
    run.driver._machine = machine
    run.tick()
    assert len(machine.samples) == 10


# -- what happens only once


def test_repeated_error_is_logged_once_and_reported_until_over(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    run.start()
    run.cluster.errors['config dump'] = refusing('no quorum')
    for _ in range(3):
        run.tick()
    reported = 'the rollout cannot continue: no quorum'
    assert run.driver.problems == (reported,)
    assert [r.getMessage() for r in caplog.records].count(reported) == 1
    run.cluster.errors['config dump'] = refusing('timeout')
    run.tick()
    assert run.driver.problems == ('the rollout cannot continue: timeout',)
    run.cluster.errors.clear()
    run.tick()
    assert not run.driver.problems


def test_log_has_actions_failures_and_the_conclusion(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level('INFO', logger='rocksdb_tuner.operations')
    run.start()
    run.cluster.errors['orch daemon'] = refusing('host is offline')
    run.until(lambda s: s.errors > 0)
    run.cluster.errors.clear()

    def refuse(key: str) -> None:
        if key == CLOCK:
            raise refusing('no space')

    run.store.on_set = refuse
    run.run_to_end()
    reported = [(record.levelname, record.getMessage()) for record in caplog.records]

    def count(level: str, *texts: str) -> int:
        return sum(found == level and all(t in text for t in texts) for found, text in reported)

    assert count('INFO', "rollout: SetEntry(who='osd.0'") == 1
    assert count('INFO', 'rollout: RestartOsd(osd_id=0)') == 2
    assert count('WARNING', 'RestartOsd(osd_id=0) failed: host is offline') == 1
    assert count('WARNING', 'cannot store a restart: no space') == 3
    assert count('INFO', 'rollout r1: done') == 1


def test_log_has_failed_writes(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    on = True
    run.driver._changes_allowed = lambda: on

    def refuse(key: str) -> None:
        if key.startswith(HISTORY):
            raise refusing('no space')

    run.store.on_set = refuse
    run.start()
    reported = [record.getMessage() for record in caplog.records]
    assert reported == ['cannot store the history of r1: no space']
    caplog.set_level('INFO', logger='rocksdb_tuner.operations')

    def changed(_: object, state: RolloutState) -> None:
        nonlocal on
        on = on and state.osds[0].step is not OsdStep.SETTING

    run.driver._on_change = changed
    run.until(lambda _: not on)
    assert run.cluster.commands == []
    assert any('not sent in mode off: SetEntry' in r.getMessage() for r in caplog.records)
    # Stored again unchanged: unsent commands are not awaited.
    assert run.state.osds[0].step is OsdStep.PENDING


# -- history and archive


def test_change_outside_rollouts_is_kept_in_history(run: Run) -> None:
    run.start()
    run.run_to_end()
    other = replace(run.driver.history[0], rollout_id='c2', recommendation_id='compact')
    run.driver.add_record(other)
    run.start(set_profile(run.cluster, OLD, recommendation_id='more'))
    assert [r.rollout_id for r in run.driver.history] == ['r1', 'c2', 'r3']
    run.driver.add_record(replace(other, reason='it is over'))
    kept = run.driver.history
    assert [(r.rollout_id, r.reason) for r in kept[:2]] == [('r1', None), ('c2', 'it is over')]
    run.fail_over()
    assert run.driver.history == kept


def test_single_compaction_is_no_lost_rollout(run: Run) -> None:
    run.start()
    run.run_to_end()
    record = run.driver.history[0]
    for key in list(run.store.values):
        del run.store.values[key]
    run.fail_over()
    run.driver.add_record(replace(record, rollout_id='c1'))
    assert run.driver.broken == ()
    with refused(errno.ENOENT, 'there has been no rollout yet'):
        run.driver.rollback(None, 'client.ann', run.cluster.now_s)
    run.driver.add_record(record)
    assert len(run.driver.broken) == 1


@pytest.mark.parametrize('lost', [ARCHIVE + 'r1', HISTORY + 'r1', None])
def test_partly_lost_end_is_written_again_by_the_next_manager(
    run: Run, lost: Optional[str]
) -> None:
    run.start()
    ended = run.run_to_end()
    whole = dict(run.store.values)
    if lost is not None:
        del run.store.values[lost]
    written: list[str] = []
    run.fail_over()
    run.store.on_set = written.append
    run.tick()
    assert (ARCHIVE + 'r1' in written, HISTORY + 'r1' in written) == ((lost is not None),) * 2
    assert run.store.values[ARCHIVE + 'r1'] == whole[ARCHIVE + 'r1']
    assert run.driver.history == (record_of(ended),)
    # And not once more.
    written.clear()
    run.tick()
    assert written == []


def test_any_query_loads_the_stored_state(run: Run) -> None:
    run.start()
    questions: tuple[Callable[[Driver], object], ...] = (
        lambda d: d.next_number(),
        lambda d: d.load(),
        lambda d: d.pause('client.ann', 1.0),
        lambda d: d.abort('client.ann', 1.0),
        lambda d: d.tick(run.cluster.now_s, run.allowed(), run.cluster.now_s),
        lambda d: d.acknowledge(),
        lambda d: d.rollback(None, 'client.ann', 1.0),
    )
    for ask in questions:
        driver = run.new_driver()
        ask(driver)
        assert driver.state is not None
    with refused(errno.EBUSY, 'rollout r1 is running'):
        run.new_driver().start(set_profile(run.cluster), 1.0)


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
    assert run.store.get('rollout/acknowledged') is None


# -- a requested restart


def test_request_no_longer_scheduled_is_over(run: Run) -> None:
    watched = Watched()
    watched.cluster.orchestrator_idle = True
    watched.start()
    watched.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    reported = OrchestratedDaemon(running=True, started='s', refreshed='r', scheduled=False)
    watched.cluster.describe_osd = lambda *_: reported  # type: ignore[method-assign]
    assert not watched.look().restart_settled
    reported = replace(reported, scheduled=True)
    assert not watched.look().restart_settled
    reported = replace(reported, scheduled=False)
    assert watched.look().restart_settled


def test_time_of_a_paused_orchestrator_does_not_count(run: Run) -> None:
    watched = Watched()
    watched.cluster.orchestrator_idle = True
    watched.start()
    watched.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    reported = OrchestratedDaemon(running=True, started='s', refreshed='r', paused=True)
    watched.cluster.describe_osd = lambda *_: reported  # type: ignore[method-assign]
    for _ in range(140):
        assert not watched.look().restart_settled
    reported = replace(reported, paused=False)
    # As long as ever after that.
    over = [watched.look().restart_settled for _ in range(152)]
    assert over.index(True) == 300 / 2 - 1


def test_restarted_rollout_begins_without_evidence(run: Run) -> None:
    watched = Watched()
    watched.start(soak=SOAK)
    watched.until(lambda s: s.baseline_s >= 120)
    seen = watched.look()
    assert (seen.before_s >= 120, seen.after_s, seen.judgement) == (True, 0.0, None)
    watched.driver.abort('client.ann', watched.cluster.now_s)
    watched.tick()
    watched.start(soak=SOAK)
    assert watched.look().before_s == 0.0
    assert watched.state.direction is Direction.FORWARD
    assert watched.driver.history[0].outcome is Outcome.ABORTED
    assert watched.store.get(CURRENT) is not None


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


def test_only_waiting_states_are_stuck(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A soak waits for its time; the gate that closes at its end closed just now."""
    monkeypatch.setattr(announce, 'GATE_ALARM_AFTER_S', 60.0)
    run.start(soak=SOAK)
    state = run.until(lambda s: s.phase is Phase.SOAKING)
    begun_s = run.cluster.now_s
    run.cluster.flags.add('noout')
    state = run.to_a_wait('noout')
    assert run.cluster.now_s - begun_s > 120
    assert [osd.step for osd in state.osds] == [OsdStep.VERIFIED, OsdStep.PENDING, OsdStep.PENDING]
    assert run.driver.why_waiting() is None
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


def test_tick_ends_at_an_action_held_by_mode_off() -> None:
    watched = Watched()
    on = True
    watched.driver._changes_allowed = lambda: on

    def changed(_: object, state: RolloutState) -> None:
        nonlocal on
        on = on and state.osds[0].step is not OsdStep.SETTING

    watched.driver._on_change = changed
    watched.start()
    watched.until(lambda _: not on)
    assert watched.cluster.commands == []
    assert watched.samples[-1].may_act
    assert not watched.look().may_act


def test_pending_request_outlives_its_rollout(run: Run) -> None:
    run.start()
    run.run_to_end()
    asked = AskedRestart(2, ('restart at 7',))
    run.driver._state = replace(run.state, asked=asked)
    assert run.start(set_profile(run.cluster, OLD)).asked == asked
    assert run.state.asked == asked
    # There was no request before the first.
    other = Run()
    assert other.start().asked is None


def test_stored_end_is_not_written_again_for_later_changes(run: Run) -> None:
    run.start()
    run.run_to_end()
    run.tick()
    found = writes(run, '')
    run.start(set_profile(run.cluster, OLD))
    kept = [key for key in found if key.startswith((ARCHIVE, ACKNOWLEDGED))]
    assert kept == [ARCHIVE + 'r2']


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


def test_unobserved_end_is_dated_now(run: Run) -> None:
    run.start()
    run.run_to_end()
    del run.store.values['rollout/clock']
    run.fail_over()
    run.tick()
    assert run.driver.since_end_s == 0.0
    assert '"ended":["r1",' in run.store.values['rollout/clock']


def test_nothing_is_measured_without_a_judge(run: Run) -> None:
    asked: list[int] = []
    run.driver.observed(asked.append, 1.0)
    run.start()
    run.driver.observed(asked.append, 2.0)
    run.until(lambda s: s.osds[1].step is OsdStep.RESTARTING)
    run.driver.observed(asked.append, 3.0)
    run.run_to_end()
    run.start(set_profile(run.cluster, OLD), SOAK)
    run.driver.abort('client.ann', run.cluster.now_s)
    run.driver.observed(asked.append, 4.0)
    assert asked == []


def test_running_state_quarantined_by_an_older_manager_is_restored_paused(run: Run) -> None:
    run.start()
    run.store.values['broken/' + CURRENT] = run.store.values.pop(CURRENT)
    run.fail_over()
    assert run.state.paused_by == 'the module'
    run.driver.resume(run.cluster.now_s)
    assert run.run_to_end().phase is Phase.DONE


def test_manager_taking_over_halfway_assumes_nothing_lost(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[0].step is OsdStep.RESTARTING)
    run.fail_over()
    (record,) = run.driver.history
    assert (record.outcome, record.reason) == (Outcome.WAITING, None)
    assert run.driver.problems == run.driver.broken == ()
    # Neither for ended.
    run.tick()
    assert not run.state.ended
