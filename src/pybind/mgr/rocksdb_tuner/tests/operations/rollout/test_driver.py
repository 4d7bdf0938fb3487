"""The driver: what it refuses, what it keeps, and that readers never wait."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Callable

import pytest

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.operations.phases import OperationRefused, Outcome, Phase
from rocksdb_tuner.operations.rollout.records import OsdStep
from rocksdb_tuner.operations.rollout.storage import CURRENT
from rocksdb_tuner.store.stored import BROKEN

from .conftest import OLD, Run, set_profile


@contextmanager
def refused(code: int, text: str) -> Iterator[None]:
    with pytest.raises(OperationRefused, match=text) as refusal:
        yield
    assert refusal.value.errno == code


def outcomes(run: Run) -> list[Outcome]:
    return [record.outcome for record in run.driver.history]


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


# -- history


def test_rollout_starts_though_its_history_cannot_be_written(run: Run) -> None:
    def refuse(key: str) -> None:
        if key.startswith('history/'):
            raise CommandError(5, 'no')

    run.store.on_set = refuse
    run.start()
    assert not run.driver.history
    run.store.on_set = lambda key: None
    run.run_to_end()
    assert outcomes(run) == [Outcome.DONE]


def test_end_missing_in_history_is_written_later(run: Run) -> None:
    run.start()
    run.until(lambda s: s.osds[2].step is OsdStep.SETTLING)

    def refuse(key: str) -> None:
        if key.startswith('history/'):
            raise CommandError(5, 'no')

    run.store.on_set = refuse
    run.run_to_end()
    assert outcomes(run) == [Outcome.WAITING]
    assert run.driver.problems
    run.fail_over()
    run.store.on_set = lambda key: None
    run.tick()
    assert outcomes(run) == [Outcome.DONE]
    assert not run.driver.problems


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
