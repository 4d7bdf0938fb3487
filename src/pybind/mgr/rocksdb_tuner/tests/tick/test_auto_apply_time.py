"""auto-apply depends on elapsed time, not on the clock, and on intact stored state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.operations.errors import OperationRefused
from rocksdb_tuner.operations.history import HistoryRecord
from rocksdb_tuner.operations.phases import Outcome
from rocksdb_tuner.options.verdict import BadQuestionError
from rocksdb_tuner.present import views
from rocksdb_tuner.present.advice import plan_of
from rocksdb_tuner.present.health import health_checks
from rocksdb_tuner.snapshot import Mode

from ..test_tuner import World, automatically, world

__all__ = ['world']

DAY_S = 86400.0


def with_override(world: World, after_s: float) -> None:
    world.cluster.operator_sets('osd', world.cluster.mon_defaults['bluestore_rocksdb_options'])
    for n in world.cluster.osds:
        world.cluster.restart_by_hand(n)
    world.run(120)
    world.settings = replace(
        world.settings, mode=Mode.AUTO_APPLY, auto_apply=automatically(after_s)
    )


@pytest.mark.parametrize('jump_s', [DAY_S, 30 * DAY_S, -DAY_S])
def test_advice_of_a_minute_is_not_applied_after_a_clock_jump(world: World, jump_s: float) -> None:
    with_override(world, DAY_S)
    assert world.tuner.snapshot.recommendations
    for offset_s in (jump_s, 0.0, jump_s):
        world.clock_offset_s = offset_s
        world.run(30)
        assert world.tuner.snapshot.rollout is None


def test_nothing_starts_automatically_while_stored_state_is_broken(world: World) -> None:
    world.store.values['history/r7'] = 'no JSON'
    world.takeover()
    with_override(world, 60.0)
    world.run(300)
    assert world.tuner.snapshot.rollout is None
    (refusal, *_) = world.tuner.snapshot.auto_apply_refusals
    assert 'while stored data is unreadable: the stored "history/r7" could not be read' in (
        refusal.reason
    )
    del world.store.values['broken/history/r7']
    world.run(120)
    assert world.tuner.snapshot.rollout is not None


def test_contradictory_options_are_reported_and_nothing_is_applied(world: World) -> None:
    world.settings = replace(world.settings, soak=SoakPlan(600.0, 60.0))
    with_override(world, 60.0)
    world.run(300)
    snapshot = world.tuner.snapshot
    reported = 'soak_min (600 s) is greater than soak_max (60 s)'
    assert reported in snapshot.auto_apply_refusals[0].reason
    assert snapshot.rollout is None
    assert reported in views.show('status', snapshot, 'plain').replace('\n  ', ' ')
    raised = health_checks(snapshot)['ROCKSDB_TUNER_OPTIONS_CONFLICT']
    assert reported in str(raised['detail'])
    with pytest.raises(BadQuestionError, match='soak_min'):
        views.show('plan', plan_of(snapshot.recommendations[0], world.settings.soak), 'plain')
    with pytest.raises(OperationRefused, match='soak_min'):
        world.tuner.operations.start(snapshot.recommendations[0], 'client.ann')
    world.settings = replace(world.settings, soak=SoakPlan())
    world.run(60)
    assert world.tuner.snapshot.rollout is not None
    assert health_checks(world.tuner.snapshot) == {}


@pytest.mark.parametrize('ended', ['c1', 'e1'])
def test_cooldown_starts_at_the_end_of_any_operation(world: World, ended: str) -> None:
    """A campaign or an experiment, with no rollout before it."""
    with_override(world, 60.0)
    world.settings = replace(world.settings, auto_apply=automatically(60.0, cooldown_s=600.0))
    record = HistoryRecord(
        ended, 0.0, 'osd-abc', 'osd', 'ttl=1', 'ttl=1', 'operator', Outcome.DONE, None, None, None
    )
    world.submit(lambda: world.tuner.operations.driver.add_record(record))
    world.run(300)
    (refusal,) = world.tuner.snapshot.auto_apply_refusals
    assert refusal.reason.startswith(f'{ended} ended less than 10m ago; ')
    world.run(250)
    assert world.tuner.snapshot.rollout is None
    world.run(100)
    assert world.tuner.snapshot.rollout is not None
