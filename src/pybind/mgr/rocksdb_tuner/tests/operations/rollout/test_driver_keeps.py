"""The stored state and messages of the driver, and its behavior if others are late or fail."""

from __future__ import annotations

import errno
from typing import Any, Callable, Optional, TypeVar

import pytest

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.operations import announce
from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.operations.rollout.storage import (
    ARCHIVE,
    CURRENT,
)

from .conftest import NEW, OLD, Run, refusing, same_meaning, set_profile
from .test_driver import refused

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
    run.driver._on_change = fail
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
