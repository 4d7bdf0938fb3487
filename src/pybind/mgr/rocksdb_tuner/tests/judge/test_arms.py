"""Arms compared with controls and each other: what can be concluded, and what cannot."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import pytest

from rocksdb_tuner.judge import arms
from rocksdb_tuner.judge.arms import (
    Comparison,
    Contrast,
    Observed,
    Period,
    compare,
    guard_rate,
    objective_rate,
)
from rocksdb_tuner.judge.crossover import Fit
from rocksdb_tuner.judge.evidence import NOTHING, Block, Measured
from rocksdb_tuner.judge.records import Effect
from rocksdb_tuner.judge.signals import experiment_limits, judged_signals

OBJECTIVE = 'kv_sync_ms_per_txn'
ARMS = {'a': (0, 1), 'b': (2, 3)}
CONTROLS = tuple(range(4, 12))


def block(
    rng: random.Random, arms: Mapping[str, tuple[int, ...]], effects: Mapping[str, float]
) -> Block:
    """OSDs that scatter by 1%, all of them by 20% together; effects are on kv_sync."""
    together = rng.gauss(0, 0.2)
    arm_of = {n: arm for arm, osds in arms.items() for n in osds}
    return Block(
        {
            n: Measured(
                op_w_latency_ms=math.exp(together + rng.gauss(0, 0.01)),
                kv_sync_ms_per_txn=math.exp(
                    together + rng.gauss(0, 0.01) + effects.get(arm_of.get(n, ''), 0.0)
                ),
                slow_ops=0,
            )
            for n in range(12)
        }
    )


def observed(effects: Mapping[str, float], blocks: int = 4, seed: int = 1) -> Observed:
    rng = random.Random(seed)
    before = tuple(block(rng, {}, {}) for _ in range(blocks))
    after = tuple(block(rng, ARMS, effects) for _ in range(blocks))
    return Observed(('a', 'b'), CONTROLS, OBJECTIVE, 0.1, (Period({}, before), Period(ARMS, after)))


def without(found: Observed, osds: tuple[int, ...], period: int) -> Observed:
    """The same, without those OSDs in one period."""
    periods = list(found.periods)
    left = tuple(
        Block({n: NOTHING if n in osds else one for n, one in b.by_osd.items()})
        for b in periods[period].blocks
    )
    periods[period] = Period(periods[period].arms, left)
    return Observed(('a', 'b'), CONTROLS, OBJECTIVE, 0.1, tuple(periods))


def effects(found: Comparison, signal: str = OBJECTIVE) -> dict[str, Effect]:
    return {a.name: one.effect for a in found.arms for one in a.signals if one.name == signal}


def test_better_and_equal_are_distinguished() -> None:
    """An arm that is 20% better, and one without an effect."""
    found = compare(observed({'a': -0.2}))
    assert effects(found) == {'a': Effect.BETTER, 'b': Effect.SAME}
    assert found.pairs['a', 'b'].below
    assert found.pairs['b', 'a'].above
    gain = found.arms[0].gain
    assert gain is not None
    assert gain.low is not None
    assert gain.high is not None
    assert gain.low < -0.2 < gain.high
    reported = next(one for one in found.arms[0].signals if one.name == OBJECTIVE)
    assert reported.change_percent == pytest.approx(math.expm1(gain.estimate) * 100)


def test_only_worse_arms_are_dropped() -> None:
    """Worse by more than the tolerance, in the objective or in a guard."""
    found = compare(observed({'b': 0.2}))
    assert [arm.worse for arm in found.arms] == [(), (OBJECTIVE,)]
    other = observed({'b': 0.2})
    guarded = compare(Observed(other.arms, other.controls, 'op_w_latency_ms', 0.1, other.periods))
    assert [arm.worse for arm in guarded.arms] == [(), (OBJECTIVE,)]
    assert effects(guarded)['a'] is Effect.SAME
    better = observed({'a': -0.2})
    guarded = compare(Observed(better.arms, CONTROLS, 'op_w_latency_ms', 0.1, better.periods))
    assert effects(guarded)['a'] is Effect.BETTER


def test_tolerated_change_is_not_worse() -> None:
    """5% is above nothing with certainty, and below the tolerance."""
    found = compare(observed({'a': 0.05}, blocks=8))
    assert found.arms[0].gain is not None
    assert found.arms[0].gain.above
    assert not found.arms[0].worse


def test_effect_between_zero_and_the_minimum_is_unclear() -> None:
    """8% worse: no gain, not the same with certainty, and tolerated."""
    found = compare(observed({'a': 0.085}))
    assert effects(found)['a'] is Effect.UNCLEAR


def test_unmeasured_signal_gives_no_result() -> None:
    """Unknown is not the same."""
    found = compare(observed({}))
    assert effects(found, 'db_used_bytes') == {'a': Effect.UNCLEAR, 'b': Effect.UNCLEAR}
    assert effects(found, 'slow_ops') == {'a': Effect.SAME, 'b': Effect.SAME}
    assert effects(found, 'slow_commits') == {'a': Effect.UNCLEAR, 'b': Effect.UNCLEAR}


def test_arm_with_one_osd_left_is_not_separated_from_the_osd() -> None:
    """Nor is one whose OSD has no baseline."""
    for period in (0, 1):
        found = compare(without(observed({'a': -0.2}), (0,), period))
        assert found.arms[0].gain is None
        assert found.arms[1].gain is not None
        assert not found.pairs


def test_blocks_with_fewer_than_two_controls_do_not_count() -> None:
    """Without them there is nothing to compare with."""
    assert compare(without(observed({}), CONTROLS[1:], 1)).arms[0].gain is None
    assert compare(without(observed({}), CONTROLS, 0)).pairs == {}


def test_too_few_osds_bound_nothing() -> None:
    """An estimate without an interval decides nothing."""
    found = observed({'a': 0.5})
    arms = (Period({}, found.periods[0].blocks), Period({'a': (0, 1)}, found.periods[1].blocks))
    result = compare(Observed(('a',), (4, 5), OBJECTIVE, 0.1, arms))
    gain = result.arms[0].gain
    assert gain is not None
    assert gain.low is None
    assert gain.furthest is None
    assert (gain.above, gain.below, gain.within(9.0)) == (False, False, False)
    reported = next(one for one in result.arms[0].signals if one.name == OBJECTIVE)
    assert (reported.effect, reported.low_percent, reported.high_percent) == (
        Effect.UNCLEAR,
        None,
        None,
    )
    guarded = compare(Observed(('a',), (4, 5), 'op_w_latency_ms', 0.1, arms))
    assert effects(guarded)['a'] is Effect.UNCLEAR


def test_restored_osd_is_not_counted_until_it_is_in_an_arm_again() -> None:
    """It is neither a control nor of its arm."""
    found = observed({'a': -0.2})
    last = Period({'a': (0, 1)}, found.periods[1].blocks)
    result = compare(Observed(('a', 'b'), CONTROLS, OBJECTIVE, 0.1, (*found.periods, last)))
    assert result.arms[0].worse == ()
    assert effects(result)['a'] is Effect.BETTER


@pytest.mark.parametrize('arms', [1, 2, 5])
def test_error_rates_of_all_intervals_sum_to_the_total_rate(arms: int) -> None:
    """Nothing is spent twice."""
    kinds = [signal.kind for signal in judged_signals()]
    total = (
        objective_rate(arms) * (arms + arms * (arms - 1) / 2)
        + guard_rate(arms) * arms * (len(kinds) - kinds.count('events') - 1)
        + guard_rate(arms, events=True) * arms * kinds.count('events')
    )
    assert total == pytest.approx(experiment_limits().error_rate)


def test_equivalence_is_within_the_least_effect_on_both_sides() -> None:
    """As a ratio either way round."""
    assert Contrast(0.0, -0.09, 0.09).within(0.1)
    assert not Contrast(0.0, -0.1, 0.05).within(0.1)
    assert Contrast(0.0, -0.1, 0.05).furthest == pytest.approx(math.expm1(0.1))


@pytest.mark.parametrize(('variance', 'bounded'), [(0.01, True), (1e6, False)])
def test_interval_beyond_any_measure_is_unbounded(variance: float, *, bounded: bool) -> None:
    """With few degrees of freedom it would be too wide for a number."""
    found = Fit({'a': 0.2}, {('a', 'a'): 1.0}, variance, free=5)
    contrast = arms._contrast(found, 'a', None, 0.01)
    assert contrast is not None
    assert contrast.estimate == 0.2
    assert (contrast.low is not None, contrast.high is not None) == (bounded, bounded)
    assert (contrast.furthest is not None) is bounded
