"""Parts of a tick that raise for ever: each fails alone, and the operation goes on without them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Callable

import pytest

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.operations.phases import OperationRefused, Phase
from rocksdb_tuner.operations.rollout.records import OsdStep
from rocksdb_tuner.present import views
from rocksdb_tuner.present.health import health_checks
from rocksdb_tuner.snapshot import Mode, Snapshot
from rocksdb_tuner.steps import Steps

from .test_tuner import World

STEP_FAILED = 'ROCKSDB_TUNER_STEP_FAILED'


def broken(*_: Any, **__: Any) -> Any:
    raise RuntimeError('planted')


#: The failing part, and the step that is named for it.
BREAK: dict[str, tuple[str, Callable[[World], None]]] = {
    'counters': ('sampling', lambda w: setattr(w.cluster, 'latest', broken)),
    'sampling': ('sampling', lambda w: setattr(w.tuner.sampler.observer, 'observe', broken)),
    'evidence': ('evidence', lambda w: setattr(w.tuner.operations.driver, 'observed', broken)),
    'verdict': (
        'judging',
        lambda w: setattr(w.tuner.operations.driver._recording, 'found', broken),
    ),
    'trends': ('trends', lambda w: setattr(w.tuner.sampler.trends, 'add', broken)),
    'pools': ('pools', lambda w: setattr(w.cluster, 'pool_counters', broken)),
    'workload': (
        'workload',
        lambda w: setattr(w.tuner.sampler.classifier, 'recognize_groups', broken),
    ),
    'workload of OSDs': (
        'workload of OSDs',
        lambda w: setattr(w.tuner.sampler.classifier, 'recognize_osds', broken),
    ),
    'facts': ('evaluation', lambda w: setattr(w.tuner.evaluation, '_facts', broken)),
    'advice': ('advice', lambda w: setattr(w.tuner.evaluation, '_conclude', broken)),
    'starts': ('OSD starts', lambda w: setattr(w.tuner.sampler.starts, 'sample', broken)),
    'options': (
        'running options',
        lambda w: setattr(w.tuner.cluster_state.options, 'refresh', broken),
    ),
    'managers': ('managers', lambda w: setattr(w.cluster, 'managers', broken)),
    'health': (
        'cluster health',
        lambda w: setattr(w.tuner.cluster_state, '_refresh_health', broken),
    ),
    'announcing': (
        'announcements',
        lambda w: setattr(w.tuner.operations.driver, '_announce', broken),
    ),
    'statistics': (
        'statistics',
        lambda w: setattr(w.tuner.osd_queries, '_ask_kv_stats', broken),
    ),
}
everything = pytest.mark.parametrize('what', BREAK)


def restarting(what: str) -> World:
    """The first OSD is down for its restart when ``what`` begins to raise."""
    world = World()
    world.apply(world.recommended_for_rbd())
    while not world.cluster.down:
        world.run(1, step_s=1.0)
    BREAK[what][1](world)
    return world


def detail_of(snapshot: Snapshot) -> Iterable[object]:
    found: Any = health_checks(snapshot)[STEP_FAILED]['detail']
    return list(found)


@everything
def test_osd_completes_its_restart_and_rollback_is_executed(
    what: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The failure is named until it is fixed, logged once, and without its text."""
    caplog.set_level(logging.INFO)
    world, step = restarting(what), BREAK[what][0]
    world.run(20)
    reported = [r for r in caplog.records if r.levelno >= logging.WARNING and step in r.message]
    if what == 'announcing':
        # Without a change there is nothing to announce.
        assert reported
    else:
        assert len(reported) <= 1
        snapshot = world.tuner.snapshot
        (sentence,) = (f.sentence for f in snapshot.failing if f.step == step)
        assert sentence.startswith(f'"{step}" failed: internal error (RuntimeError)')
        assert 'planted' not in sentence
        assert any(step in str(line) for line in detail_of(snapshot))
        assert f'"{step}" failed' in ' '.join(views.show('status', snapshot, 'plain').split())
    world.run(40)
    assert world.cluster.down == set()
    rollout = world.tuner.snapshot.rollout
    assert rollout is not None
    assert rollout.osds[0].step not in {OsdStep.SETTING, OsdStep.RESTART_DUE, OsdStep.RESTARTING}
    if not rollout.ended:
        world.submit(lambda: world.tuner.operations.pause('operator'))
    world.submit(lambda: world.tuner.operations.rollback(None, 'operator'))
    world.run_until(Phase.ROLLED_BACK, Phase.FAILED)
    assert world.phase() is Phase.ROLLED_BACK
    assert world.cluster.store == {}
    default = world.cluster.mon_defaults[next(iter(world.cluster.mon_defaults))]
    assert {world.cluster.runs(n) for n in world.cluster.osds} == {default}


@everything
def test_osd_that_does_not_start_gets_its_entry_back(what: str) -> None:
    world = World()
    recommendation = world.recommended_for_rbd()
    default = next(iter(world.cluster.mon_defaults.values()))
    world.cluster.refuses_to_start = lambda value: value != default
    world.apply(recommendation)
    while not world.cluster.down:
        world.run(1, step_s=1.0)
    BREAK[what][1](world)
    world.run_until(Phase.FAILED)
    assert world.cluster.down == set()
    assert world.cluster.store == {}


@everything
def test_restricted_new_manager_still_recovers_the_osd(what: str) -> None:
    """Broken from its first tick on; `abort` is taken, and the OSD in flight finished."""
    world = restarting(what)
    world.takeover()
    BREAK[what][1](world)
    world.run(40)
    if not (state := world.tuner.snapshot.rollout) or not state.ended:
        world.submit(lambda: world.tuner.operations.abort('operator'))
        world.run_until(Phase.FAILED, Phase.DONE)
    assert world.cluster.down == set()
    world.submit(lambda: world.tuner.operations.rollback(None, 'operator'))
    world.run_until(Phase.ROLLED_BACK)
    assert world.cluster.store == {}


@pytest.mark.parametrize('what', ['counters', 'sampling'])
def test_manager_without_its_own_sample_starts_no_osd(what: str) -> None:
    world = World()
    recommendation = world.recommended_for_rbd()
    world.cluster.flags.add('noout')
    world.apply(recommendation)
    world.run(20)
    world.takeover()
    world.cluster.flags.discard('noout')
    fix = world.cluster.latest, world.tuner.sampler.observer.observe
    BREAK[what][1](world)
    world.run(300)
    assert world.cluster.commands == []
    assert world.phase() is Phase.WAITING
    world.cluster.latest, world.tuner.sampler.observer.observe = fix  # type: ignore[method-assign]
    world.run_until(Phase.DONE)


def test_recovered_step_is_cleared() -> None:
    world = World()
    world.run(20)
    works = world.cluster.pool_counters
    world.cluster.pool_counters = broken  # type: ignore[method-assign]
    world.run(20)
    assert STEP_FAILED in health_checks(world.tuner.snapshot)
    world.cluster.pool_counters = works  # type: ignore[method-assign]
    world.run(20)
    assert world.tuner.snapshot.failing == ()
    assert STEP_FAILED not in health_checks(world.tuner.snapshot)


def test_mode_that_was_unreadable_at_load_is_no_failure_for_ever() -> None:
    """A new manager asks for it before there is a sample to take."""
    world = World()
    works, world.tuner.current.read_mode = world.tuner.current.read_mode, broken
    assert world.tuner.current.mode() is Mode.OFF
    world.tuner.current.read_mode = works
    world.run(20)
    assert world.tuner.snapshot.failing == ()


def test_command_refused_briefly_by_monitors_raises_no_alarm() -> None:
    world = World()
    world.run(20)
    world.cluster.errors['config dump'] = CommandError(11, 'try again')
    world.run(30)
    assert '"running options" failed: try again' in views.show(
        'status', world.tuner.snapshot, 'json-pretty'
    ).replace('\\"', '"')
    assert STEP_FAILED not in health_checks(world.tuner.snapshot)
    world.run(90)
    assert STEP_FAILED in health_checks(world.tuner.snapshot)


def test_failed_advice_is_not_shown_or_applied() -> None:
    world = World()
    world.cluster.store['osd', 'bluestore_rocksdb_options'] = next(
        iter(world.cluster.mon_defaults.values())
    )
    world.run(60)
    assert world.tuner.snapshot.recommendations
    world.tuner.evaluation._conclude = broken  # type: ignore[method-assign]
    world.settings = replace(world.settings, mode=Mode.AUTO_APPLY)
    world.settings = replace(
        world.settings, auto_apply=replace(world.settings.auto_apply, after_s=60.0)
    )
    world.run(600)
    assert world.tuner.snapshot.recommendations == ()
    assert world.tuner.snapshot.rollout is None
    assert world.tuner.snapshot.sampling.osds == 3


def test_unreadable_options_only_block_new_work() -> None:
    world = World()
    world.apply(world.recommended_for_rbd())
    while not world.cluster.down:
        world.run(1, step_s=1.0)
    mode = Mode.RECOMMEND

    def unreadable() -> Any:
        raise ValueError('restart_timeout is no number')

    world.tuner.current.read = unreadable
    world.tuner.current.read_mode = lambda: mode
    world.run(120)
    assert world.cluster.down == set()
    rollout = world.tuner.snapshot.rollout
    assert rollout is not None
    assert rollout.osds[0].step is OsdStep.VERIFIED
    assert rollout.osds[1].step is OsdStep.PENDING
    assert rollout.paused_reason == 'the options of the module cannot be read'
    assert STEP_FAILED in health_checks(world.tuner.snapshot)
    anything: Any = None
    with pytest.raises(OperationRefused, match='restart_timeout is no number'):
        world.tuner.operations.start(anything, 'operator')
    world.submit(lambda: world.tuner.operations.rollback(None, 'operator'))
    world.run_until(Phase.ROLLED_BACK)
    mode = Mode.OFF
    world.run(4)
    assert world.tuner.snapshot.mode is Mode.OFF


def test_other_errors_are_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    now_s = 0.0
    steps = Steps(lambda: now_s)

    def fail(error: Exception) -> None:
        raise error

    for error in (ValueError('1'), ValueError('2'), TypeError('3'), ValueError('4')):
        steps.run('one', lambda error=error: fail(error))  # type: ignore[misc]
    assert len(caplog.records) == 2
    assert steps.failing[0].since_s == 0.0
    now_s = 4000.0
    steps.run('one', lambda: fail(ValueError('5')))
    assert len(caplog.records) == 3
    assert steps.run('one', lambda: None)
    assert steps.failing == ()
