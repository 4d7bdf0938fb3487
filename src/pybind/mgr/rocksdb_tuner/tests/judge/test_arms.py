"""Arms compared with controls and each other, and what is concluded from that."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, Optional

import pytest

from rocksdb_tuner.judge.arms import (
    Answer,
    Arm,
    Comparison,
    Conclusion,
    Observed,
    compare,
    conclude,
    event_rate,
    guard_rate,
    objective_rate,
)
from rocksdb_tuner.judge.evidence import NOTHING, Block, Measured
from rocksdb_tuner.judge.records import Effect, SignalVerdict
from rocksdb_tuner.judge.signals import experiment_limits, judged_signals
from rocksdb_tuner.judge.statistics import Contrast

OBJECTIVE = 'kv_sync_ms_per_txn'
SLOW = SignalVerdict('slow_ops', Effect.WORSE, 40.0)
ARMS = (Arm('a', '', osds=(0, 1)), Arm('b', '', osds=(2, 3)))
CONTROLS = tuple(range(4, 12))


def block(rng: random.Random, effects: Mapping[str, float]) -> Block:
    """OSDs that scatter by 1%, all of them by 20% together; effects are on kv_sync."""
    together = rng.gauss(0, 0.2)
    arm_of = {n: arm.name for arm in ARMS for n in arm.osds}
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


def measured(effects: Mapping[str, float], blocks: int = 4, seed: int = 1) -> Observed:
    rng = random.Random(seed)
    before = tuple(block(rng, {}) for _ in range(blocks))
    after = tuple(block(rng, effects) for _ in range(blocks))
    return Observed(ARMS, CONTROLS, OBJECTIVE, 0.1, blocks, before, after)


def without(found: Observed, osds: tuple[int, ...], part: Literal['before', 'after']) -> Observed:
    """The same, without those OSDs before or after the change."""
    left = tuple(
        Block({n: NOTHING if n in osds else one for n, one in b.by_osd.items()})
        for b in getattr(found, part)
    )
    return replace(found, before=left) if part == 'before' else replace(found, after=left)


def effects(found: Comparison, signal: str = OBJECTIVE) -> dict[str, Effect]:
    return {a.name: one.effect for a in found.arms for one in a.signals if one.name == signal}


def dropped(found: Comparison) -> dict[str, list[str]]:
    """The signals for which each arm is dropped."""
    for arm in found.arms:
        assert (arm.dropped_after == found.blocks) is arm.dropped
        assert arm.dropped is bool(arm.of(Effect.WORSE))
    return {arm.name: [one.name for one in arm.of(Effect.WORSE)] for arm in found.arms}


def test_better_and_equal_are_distinguished() -> None:
    """An arm that is 20% better, and one without an effect."""
    found = compare(measured({'a': -0.2}))
    assert effects(found) == {'a': Effect.BETTER, 'b': Effect.SAME}
    assert found.pairs['a', 'b'].below
    assert (found.pairs['b', 'a'].low or 0.0) > 0
    gain = found.arms[0].gain
    assert gain is not None
    assert gain.low is not None
    assert gain.high is not None
    assert gain.low < -0.2 < gain.high
    reported = next(one for one in found.arms[0].signals if one.name == OBJECTIVE)
    assert reported.change_percent == pytest.approx(math.expm1(gain.estimate) * 100)


def test_only_worse_arms_are_dropped() -> None:
    """Worse by more than the tolerance, in the objective or in a guard."""
    found = compare(measured({'b': 0.2}))
    assert dropped(found) == {'a': [], 'b': [OBJECTIVE]}
    guarded = compare(replace(measured({'b': 0.2}), objective='op_w_latency_ms'))
    assert dropped(guarded) == {'a': [], 'b': [OBJECTIVE]}
    assert effects(guarded)['a'] is Effect.SAME
    guarded = compare(replace(measured({'a': -0.2}), objective='op_w_latency_ms'))
    assert effects(guarded)['a'] is Effect.BETTER


def test_dropped_arm_keeps_its_result() -> None:
    seen = measured({'b': 0.2}, blocks=8)
    first = compare(replace(seen, after=seen.after[:3]))
    later = compare(replace(seen, arms=first.arms))
    assert later.arms[1] == first.arms[1]
    assert later.arms[0] != first.arms[0]
    assert first.arms[1].why_dropped.startswith('worse: kv_sync time per write +2')
    slow = replace(first.arms[1], signals=(SLOW,))
    assert slow.why_dropped == 'worse: spans with slow requests +40%'


def test_tolerated_change_is_not_worse() -> None:
    """5% is above nothing with certainty, and below the tolerance."""
    found = compare(measured({'a': 0.05}, blocks=8))
    assert found.arms[0].gain is not None
    assert (found.arms[0].gain.low or 0.0) > 0
    assert not found.arms[0].dropped


def test_effect_between_zero_and_the_minimum_is_unclear() -> None:
    """8% worse: no gain, not the same with certainty, and tolerated."""
    found = compare(measured({'a': 0.085}))
    assert effects(found)['a'] is Effect.UNCLEAR


def test_unmeasured_signal_gives_no_result() -> None:
    """Unknown is not the same."""
    found = compare(measured({}))
    assert effects(found, 'db_used_bytes') == {'a': Effect.UNCLEAR, 'b': Effect.UNCLEAR}
    assert effects(found, 'slow_ops') == {'a': Effect.SAME, 'b': Effect.SAME}
    assert effects(found, 'slow_commits') == {'a': Effect.UNCLEAR, 'b': Effect.UNCLEAR}


def test_arm_with_one_osd_left_is_not_separated_from_the_osd() -> None:
    """Nor is one whose OSD has no baseline."""
    seen = measured({'a': -0.2})
    for left in (without(seen, (0,), 'before'), without(seen, (0,), 'after')):
        found = compare(left)
        assert found.arms[0].gain is None
        assert found.arms[1].gain is not None
        assert not found.pairs


def test_blocks_with_fewer_than_two_controls_do_not_count() -> None:
    """Without them there is nothing to compare with."""
    assert compare(without(measured({}), CONTROLS[1:], 'after')).arms[0].gain is None
    assert compare(without(measured({}), CONTROLS, 'before')).pairs == {}


def test_too_few_osds_bound_nothing() -> None:
    """An estimate without an interval decides nothing."""
    found = replace(measured({'a': 0.5}), arms=ARMS[:1], controls=(4, 5))
    result = compare(found)
    gain = result.arms[0].gain
    assert gain is not None
    assert gain.low is None
    assert gain.furthest is None
    assert (gain.below, gain.within(9.0)) == (False, False)
    reported = next(one for one in result.arms[0].signals if one.name == OBJECTIVE)
    assert (reported.effect, reported.low_percent, reported.high_percent) == (
        Effect.UNCLEAR,
        None,
        None,
    )
    guarded = compare(replace(found, objective='op_w_latency_ms'))
    assert effects(guarded)['a'] is Effect.UNCLEAR


def test_missing_values_of_controls_do_not_move_the_others() -> None:
    """A control with another level that reports in some blocks only."""
    found = measured({}, blocks=6)
    high = tuple(
        Block({**b.by_osd, 4: Measured(kv_sync_ms_per_txn=90.0) if i % 2 else NOTHING})
        for i, b in enumerate(found.after)
    )
    before = tuple(Block({**b.by_osd, 4: Measured(kv_sync_ms_per_txn=90.0)}) for b in found.before)
    gain = compare(replace(found, before=before, after=high)).arms[0].gain
    assert gain is not None
    assert gain.estimate == pytest.approx(0.0, abs=0.1)


def test_slow_requests_of_one_arm_drop_it() -> None:
    """In every block; those of all OSDs, or from before, are not blamed on the arm."""

    def slow(osds: tuple[int, ...], blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        return tuple(
            Block({n: m._replace(slow_ops=int(n in osds)) for n, m in b.by_osd.items()})
            for b in blocks
        )

    found = measured({}, blocks=8)
    bad = compare(replace(found, after=slow((0, 1), found.after)))
    assert effects(bad, 'slow_ops') == {'a': Effect.WORSE, 'b': Effect.SAME}
    assert dropped(bad) == {'a': ['slow_ops'], 'b': []}
    everywhere = slow(tuple(range(12)), found.after)
    earlier = slow((0, 1), found.before)
    for same in (
        replace(found, after=everywhere),
        replace(found, before=earlier, after=slow((0, 1), found.after)),
        replace(found, after=slow((0, 1), found.after[:1])),
    ):
        assert effects(compare(same), 'slow_ops')['a'] in {Effect.SAME, Effect.UNCLEAR}


def test_slow_requests_at_the_same_times_are_rarely_blamed_on_an_arm() -> None:
    """A tenth of all blocks of all OSDs, looked at 10 times."""
    rng, wrong = random.Random(3), 0
    for _ in range(20):
        shares = [rng.choice((0.0, 0.0, 0.3)) for _ in range(34)]
        blocks = tuple(
            Block({n: Measured(slow_ops=rng.random() < share) for n in range(12)})
            for share in shares
        )
        seen = Observed(ARMS, CONTROLS, OBJECTIVE, 0.1, 30, blocks[:4])
        looks = (compare(replace(seen, after=blocks[4 : 4 + n])) for n in range(3, 31, 3))
        wrong += any(arm.dropped for found in looks for arm in found.arms)
    assert wrong <= 1


@pytest.mark.parametrize('arms', [1, 2, 5])
def test_error_rates_of_all_intervals_sum_to_the_total_rate(arms: int) -> None:
    """Nothing is spent twice."""
    kinds = [signal.kind for signal in judged_signals()]
    total = (
        objective_rate(arms) * (arms + arms * (arms - 1) / 2)
        + guard_rate(arms) * arms * (len(kinds) - kinds.count('events') - 1)
        + event_rate(arms, 7) * 7 * arms * kinds.count('events')
    )
    assert total == pytest.approx(experiment_limits().error_rate)


def test_equivalence_is_within_the_least_effect_on_both_sides() -> None:
    """As a ratio either way round."""
    assert Contrast(0.0, -0.09, 0.09).within(0.1)
    assert not Contrast(0.0, -0.1, 0.05).within(0.1)
    assert Contrast(0.0, -0.1, 0.05).furthest == pytest.approx(math.expm1(0.1))


def test_interval_beyond_any_measure_is_unbounded() -> None:
    """OSDs of an arm that differ without limit."""
    found = measured({})
    wild = tuple(
        Block({n: m._replace(kv_sync_ms_per_txn=1e9 ** (n % 2)) for n, m in b.by_osd.items()})
        for b in found.after
    )
    gain = compare(replace(found, after=wild)).arms[0].gain
    assert gain is not None
    assert (gain.low, gain.high, gain.furthest) == (None, None, None)


# -- conclusions

#: Contrasts by their conclusion.
BETTER = Contrast(-0.2, -0.25, -0.15)
SAME = Contrast(0.0, -0.05, 0.05)
UNCLEAR = Contrast(-0.05, -0.2, 0.1)
NOT_BETTER = Contrast(0.1, -0.05, 0.25)
UNBOUNDED = Contrast(-0.1)


def arm(name: str, gain: Optional[Contrast], dropped: bool = False) -> Arm:
    return Arm(name, '', gain=gain, dropped_after=1 if dropped else None)


def compared(*arms: Arm, lead: Contrast = BETTER, blocks: int = 3) -> Comparison:
    names = [a.name for a in arms]
    return Comparison(arms, {(a, b): lead for a in names for b in names if a != b}, blocks)


def concluded(comparison: Comparison, over: bool = False) -> Optional[Conclusion]:
    return conclude(comparison, 0.1, over)


def answer(comparison: Comparison, over: bool = False) -> Optional[Answer]:
    found = concluded(comparison, over)
    return None if found is None else found.answer


def test_clear_winner_ends_the_experiment_at_once() -> None:
    """Better than the old set, and ahead of the runner-up."""
    found = concluded(compared(arm('a', SAME), arm('b', BETTER)))
    assert found == Conclusion(Answer.WINNER, 'b', 'a', BETTER)
    assert concluded(compared(arm('a', BETTER))) == Conclusion(Answer.WINNER, 'a')


def test_first_blocks_conclude_nothing_before_the_end() -> None:
    early = compared(arm('a', BETTER), blocks=2)
    assert answer(early) is None
    assert answer(early, over=True) is Answer.WINNER
    assert conclude(None, 0.1, over=False) is None
    assert conclude(None, 0.1, over=True) == Conclusion(Answer.UNCLEAR)


def test_equally_good_runner_up_does_not_delay_the_winner() -> None:
    """A difference below the least effect is none."""
    assert answer(compared(arm('a', BETTER), arm('b', BETTER), lead=SAME)) is Answer.WINNER


def test_experiment_continues_until_the_best_arm_is_known() -> None:
    """A lead that is not certain waits for the end."""
    close = compared(arm('a', BETTER), arm('b', UNCLEAR), lead=UNCLEAR)
    assert answer(close) is None
    found = concluded(close, over=True)
    assert found is not None
    assert (found.answer, found.winner, found.lead) == (Answer.WINNER, 'a', UNCLEAR)


def test_no_difference_is_a_result_with_a_bound() -> None:
    """Equivalence of all that are left."""
    found = concluded(compared(arm('a', SAME), arm('b', SAME)))
    assert found == Conclusion(Answer.NO_DIFFERENCE, within=math.expm1(0.05))


def test_no_possible_improvement_is_a_result() -> None:
    """Each is the same or worse, or all have ended."""
    assert answer(compared(arm('a', SAME), arm('b', NOT_BETTER))) is Answer.NO_GAIN
    assert answer(compared(arm('a', BETTER, dropped=True))) is Answer.NO_GAIN


def test_minimum_gain_is_a_share_of_the_old_figure() -> None:
    """10% less work is a factor of 1.1: both sides are logarithms."""
    least = math.log1p(0.1)
    for low, excluded in ((-0.999 * least, True), (-least, False), (-1.02 * least, False)):
        found = compared(arm('a', Contrast(0.05, low, 0.25)))
        assert (answer(found) is Answer.NO_GAIN) == excluded, low


def test_inconclusive_is_a_result_only_at_the_end() -> None:
    """Any unbounded one."""
    for gain in (UNCLEAR, UNBOUNDED, None):
        found = compared(arm('a', gain), arm('b', None))
        assert answer(found) is None
        assert answer(found, over=True) is Answer.UNCLEAR


def test_arm_without_known_effect_does_not_prevent_a_winner_at_the_end() -> None:
    """The unknown arm holds it up until then."""
    found = Comparison((arm('a', BETTER), arm('b', None)), {}, 3)
    assert answer(found) is None
    reported = concluded(found, over=True)
    assert reported is not None
    assert (reported.winner, reported.runner_up, reported.lead) == ('a', None, None)


def test_dropped_arm_does_not_win() -> None:
    """However well it does in the objective."""
    found = compared(arm('a', BETTER, dropped=True), arm('c', SAME))
    assert concluded(found) == Conclusion(Answer.NO_DIFFERENCE, within=math.expm1(0.05))
