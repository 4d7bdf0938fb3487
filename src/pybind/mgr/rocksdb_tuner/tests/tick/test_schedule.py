"""Evaluations are rare while only measured values change, and prompt otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable

import pytest

from rocksdb_tuner.sampler import WARM_UP_ROUNDS
from rocksdb_tuner.snapshot import Mode
from rocksdb_tuner.tests.test_tuner import World
from rocksdb_tuner.tick.evaluation import PERIOD_S, STEADY_PERIOD_S, Schedule
from rocksdb_tuner.workload.records import WorkloadClass

BASIS = ('what it rests on', 3)


@pytest.fixture
def evaluated() -> Schedule:
    """Evaluated at second 1000."""
    schedule = Schedule()
    schedule.done(BASIS, 1000.0)
    return schedule


def test_first_evaluation_needs_no_sample() -> None:
    assert Schedule().due(BASIS, 1000.0, fresh=False, partial=False, settling=False)


@pytest.mark.parametrize(
    ('now_s', 'fresh', 'paces_changed', 'due'),
    [
        (1000.0 + PERIOD_S - 1, True, 8, False),
        (1000.0 + PERIOD_S, True, 8, True),
        (1000.0 + PERIOD_S, False, 8, False),
        (1000.0 + STEADY_PERIOD_S - 1, True, 7, False),
        (1000.0 + STEADY_PERIOD_S, True, 7, True),
        (1000.0 + STEADY_PERIOD_S, False, 7, False),
        # The clock went backwards.
        (900.0, True, 7, True),
    ],
)
def test_without_changes_new_samples_are_evaluated_once_per_period(
    evaluated: Schedule, now_s: float, fresh: bool, paces_changed: int, due: bool
) -> None:
    """The longer one while all OSDs work as they did at the last evaluation."""
    evaluated.done(BASIS, 1000.0, paces_changed=7)
    found = evaluated.due(
        BASIS, now_s, fresh=fresh, partial=False, settling=False, paces_changed=paces_changed
    )
    assert found is due


def test_samples_of_some_osds_wait_for_one_of_all_while_all_work_as_before(
    evaluated: Schedule,
) -> None:
    evaluated.done(BASIS, 1000.0, paces_changed=7)

    def due(paces_changed: int, *, partial: bool, settling: bool = False) -> bool:
        return evaluated.due(
            BASIS,
            1000.0 + STEADY_PERIOD_S,
            fresh=True,
            partial=partial,
            settling=settling,
            paces_changed=paces_changed,
        )

    assert not due(7, partial=True)
    assert due(7, partial=False)
    assert due(8, partial=True)
    assert due(7, partial=True, settling=True)


def test_every_new_sample_is_evaluated_while_conclusions_settle(evaluated: Schedule) -> None:
    assert evaluated.due(BASIS, 1005.0, fresh=True, partial=False, settling=True)
    assert not evaluated.due(BASIS, 1005.0, fresh=False, partial=False, settling=True)


def test_changes_requests_and_failures_are_evaluated_at_the_next_tick(
    evaluated: Schedule,
) -> None:
    other = ('another', 3)
    assert evaluated.due(other, 1001.0, fresh=False, partial=False, settling=False)
    assert not evaluated.due(BASIS, 1001.0, fresh=False, partial=False, settling=False)
    evaluated.invalidate()
    assert evaluated.due(BASIS, 1001.0, fresh=False, partial=False, settling=False)


@pytest.fixture
def world() -> World:
    """Past the warm-up, and just evaluated."""
    world = World()
    world.settings = replace(world.settings, sample_interval_s=10.0)
    world.run(10.0 * (WARM_UP_ROUNDS + 1))
    until_evaluated(world)
    return world


def until_evaluated(world: World) -> None:
    before = world.tuner.snapshot.taken_s
    while world.tuner.snapshot.taken_s == before:
        world.run(2.0)


def ticks_until(world: World, shown: Callable[[], bool]) -> int:
    ticks = 0
    while not shown():
        world.run(2.0)
        ticks += 1
        assert ticks < 60
    return ticks


def test_snapshot_and_its_inputs_are_of_the_same_moment_between_evaluations(world: World) -> None:
    """So `report` and `offline` reach the conclusions that are shown."""
    before = world.tuner.published
    world.load_ops_per_s = 0
    world.run(12.0)
    after = world.tuner.published
    # It sampled, but published no part of that.
    assert world.tuner.sampler.observed_s != before.snapshot.taken_s
    assert after.inputs is before.inputs
    assert after.snapshot.taken_s == before.snapshot.taken_s


def test_sixth_sample_of_steady_osds_is_evaluated_at_an_interval_of_10_s(world: World) -> None:
    before = world.tuner.snapshot.taken_s
    until_evaluated(world)
    after = world.tuner.snapshot.taken_s
    assert before is not None
    assert after is not None
    assert after - before == 60.0


def test_third_sample_is_evaluated_if_an_osd_works_at_another_pace(world: World) -> None:
    world.load_ops_per_s = 800
    world.run(120.0)
    until_evaluated(world)
    before = world.tuner.snapshot.taken_s
    # The workload stays the same
    world.load_ops_per_s = 2000
    until_evaluated(world)
    after = world.tuner.snapshot.taken_s
    assert before is not None
    assert after is not None
    assert after - before == 30.0


def test_dead_osd_and_changed_options_show_at_once(world: World) -> None:
    world.cluster.osds[1].up = False
    assert ticks_until(world, lambda: not world.tuner.snapshot.osds[1].info.up) == 1
    world.run(2.0)
    world.settings = replace(world.settings, mode=Mode.OBSERVE)
    assert ticks_until(world, lambda: world.tuner.snapshot.mode is Mode.OBSERVE) == 1


def test_another_interval_shows_once_it_applies(world: World) -> None:
    """With the sample that it begins with: the next one is far away."""
    world.settings = replace(world.settings, sample_interval_s=300.0)
    ticks = ticks_until(world, lambda: world.tuner.snapshot.sampling.interval_s == 300.0)
    assert 2.0 * ticks <= 10.0


def test_workload_is_recognized_within_a_minute(world: World) -> None:
    def recognized() -> bool:
        (group,) = world.tuner.snapshot.groups
        return (
            group.workload is not None
            and group.workload.workload_class is WorkloadClass.RBD_SMALL_WRITE
        )

    assert not recognized()
    world.load_ops_per_s = 800
    assert 2.0 * ticks_until(world, recognized) <= 60.0


def test_tick_ms_is_the_mean_over_the_ticks_between_two_evaluations(world: World) -> None:
    sampler = world.tuner.sampler
    for cost_s, evaluated in ((0.003, True), (0.001, False), (0.001, False), (0.004, True)):
        sampler.charge(cost_s, evaluated=evaluated)
    assert sampler.cost_s == pytest.approx(0.002)
