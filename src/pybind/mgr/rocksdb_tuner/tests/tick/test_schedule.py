"""Evaluations are rare while only measured values change, and prompt otherwise."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Callable

import pytest

from rocksdb_tuner.sampler import WARM_UP_ROUNDS
from rocksdb_tuner.snapshot import Mode
from rocksdb_tuner.tests.test_tuner import World
from rocksdb_tuner.tick.evaluation import PERIOD_S, STEADY_PERIOD_S, Evaluation

ANYTHING: Any = None
AFTER_PERIOD_S, AFTER_STEADY_S = 1000.0 + PERIOD_S, 1000.0 + STEADY_PERIOD_S
#: Of an OSD that works at another pace than at the last evaluation.
PACE = {'paces': 8}


@pytest.mark.parametrize(
    ('now_s', 'news', 'due'),
    [
        # An OSD works at another pace: new samples are evaluated once per period.
        (AFTER_PERIOD_S - 1, PACE, False),
        (AFTER_PERIOD_S, PACE, True),
        (AFTER_PERIOD_S, {**PACE, 'fresh': False}, False),
        # All work as they did at the last evaluation: a longer period, and samples of all OSDs.
        (AFTER_STEADY_S - 1, {}, False),
        (AFTER_STEADY_S, {}, True),
        (AFTER_STEADY_S, {'fresh': False}, False),
        (AFTER_STEADY_S, {'partial': True}, False),
        (AFTER_STEADY_S, {**PACE, 'partial': True}, True),
        (AFTER_STEADY_S, {'partial': True, 'settling': True}, True),
        # The clock went backwards.
        (900.0, {}, True),
        # Conclusions settle: every new sample.
        (1005.0, {'settling': True}, True),
        (1005.0, {'settling': True, 'fresh': False}, False),
        # Something else changed.
        (1001.0, {'basis': 'another', 'fresh': False}, True),
    ],
)
def test_new_samples_are_evaluated_as_often_as_they_say_something(
    now_s: float, news: dict[str, Any], due: bool
) -> None:
    given: dict[str, Any] = {
        'partial': False,
        'settling': False,
        'paces': 7,
        'fresh': True,
        'basis': 'same',
    } | news
    sampler: Any = SimpleNamespace(**given, observer=SimpleNamespace(paces_changed=given['paces']))
    evaluation = Evaluation(sampler, *([ANYTHING] * 6))
    evaluation._rests_on = lambda *_: ('same',)  # type: ignore[method-assign]
    evaluation._basis = (given['basis'],)
    evaluation._evaluated_s, evaluation._paces_changed = 1000.0, 7
    assert evaluation.due(ANYTHING, ANYTHING, now_s, fresh=given['fresh']) is due


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


def test_requests_are_evaluated_at_the_next_tick(world: World) -> None:
    world.run(2.0)
    assert world.tuner.snapshot.taken_s != world.cluster.now_s
    world.submit(lambda: None)
    assert world.tuner.snapshot.taken_s == world.cluster.now_s


def test_advice_that_failed_is_given_at_the_next_tick(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ValueError

    with monkeypatch.context() as failing:
        failing.setattr(world.tuner.evaluation, '_conclude', broken)
        world.submit(lambda: None)
    assert world.tuner.snapshot.taken_s == world.cluster.now_s
    world.run(2.0)
    assert world.tuner.snapshot.taken_s == world.cluster.now_s


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


def test_tick_ms_is_the_mean_over_the_ticks_between_two_evaluations(world: World) -> None:
    sampler = world.tuner.sampler
    for cost_s, evaluated in ((0.003, True), (0.001, False), (0.001, False), (0.004, True)):
        sampler.charge(cost_s, evaluated=evaluated)
    assert sampler.cost_s == pytest.approx(0.002)
