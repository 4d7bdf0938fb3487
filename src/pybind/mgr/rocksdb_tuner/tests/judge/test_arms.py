"""Arms compared with controls, and what is concluded from that."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Optional

import pytest

from rocksdb_tuner.judge.arms import Answer, Arm, Conclusion, Terms, conclude, rate_of
from rocksdb_tuner.judge.arms import compare as compare_arms
from rocksdb_tuner.judge.evidence import NOTHING, Block, Measured
from rocksdb_tuner.judge.records import Effect, SignalVerdict
from rocksdb_tuner.judge.signals import experiment_limits, judged_signals

OBJECTIVE = 'kv_sync_ms_per_txn'
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


@dataclass(frozen=True)
class Seen:
    before: tuple[Block, ...]
    after: tuple[Block, ...]
    controls: tuple[int, ...] = CONTROLS
    objective: str = OBJECTIVE
    arms: tuple[Arm, ...] = ARMS
    looks: int = 4


def measured(effects: Mapping[str, float], blocks: int = 4, seed: int = 1) -> Seen:
    rng = random.Random(seed)
    before = tuple(block(rng, {}) for _ in range(blocks))
    return Seen(before, tuple(block(rng, effects) for _ in range(blocks)))


def compare(seen: Seen) -> tuple[Arm, ...]:
    terms = Terms(seen.controls, seen.objective, 0.1, seen.looks)
    return compare_arms(seen.arms, terms, seen.before, seen.after)


def without(found: Seen, osds: tuple[int, ...], part: Literal['before', 'after']) -> Seen:
    """The same, without those OSDs before or after the change."""
    left = tuple(
        Block({n: NOTHING if n in osds else one for n, one in b.by_osd.items()})
        for b in getattr(found, part)
    )
    return replace(found, before=left) if part == 'before' else replace(found, after=left)


def effects(found: tuple[Arm, ...], signal: str = OBJECTIVE) -> dict[str, Effect]:
    return {a.name: one.effect for a in found for one in a.signals if one.name == signal}


def dropped(found: tuple[Arm, ...]) -> dict[str, list[str]]:
    """The signals for which each arm is dropped."""
    for arm in found:
        assert arm.dropped is bool(arm.of(Effect.WORSE))
        assert (arm.why_dropped is None) is not arm.dropped
    return {arm.name: [one.name for one in arm.of(Effect.WORSE)] for arm in found}


def test_better_and_equal_are_distinguished() -> None:
    """An arm that is 20% better, and one without an effect; the goal comes first."""
    found = compare(measured({'a': -0.2}))
    assert effects(found) == {'a': Effect.BETTER, 'b': Effect.SAME}
    assert [arm.verdict for arm in found] == ['better', 'same']
    assert found[0].gain.name == OBJECTIVE
    change, low, high = found[0].percents
    assert change is not None
    assert low is not None
    assert high is not None
    assert low < 100 * math.expm1(-0.2) < high
    assert low < change < high < 0


def test_arm_that_is_worse_in_any_signal_is_dropped_with_its_reason() -> None:
    """Worse by more than the tolerance, in the objective or in a guard."""
    found = compare(measured({'b': 0.2}))
    assert dropped(found) == {'a': [], 'b': [OBJECTIVE]}
    assert found[1].dropped_after == 4
    assert str(found[1].why_dropped).startswith('worse: kv_sync time per write +2')
    guarded = compare(replace(measured({'b': 0.2}), objective='op_w_latency_ms'))
    assert dropped(guarded) == {'a': [], 'b': [OBJECTIVE]}
    assert [arm.verdict for arm in guarded] == ['same', 'worse']
    assert effects(guarded)['a'] is Effect.SAME
    guarded = compare(replace(measured({'a': -0.2}), objective='op_w_latency_ms'))
    assert effects(guarded)['a'] is Effect.BETTER


def test_dropped_arm_keeps_its_result() -> None:
    seen = measured({'b': 0.2}, blocks=8)
    first = compare(replace(seen, after=seen.after[:3]))
    later = compare(replace(seen, arms=first))
    assert later[1] == first[1]
    assert later[0] != first[0]


def test_verdict_on_an_arm_before_and_after_its_comparison() -> None:
    assert (ARMS[0].verdict, ARMS[0].percents) == (None, (None, None, None))
    assert replace(ARMS[0], crashed=True).verdict == 'failed'


def test_tolerated_change_is_not_worse() -> None:
    """5% is above nothing with certainty, and below the tolerance."""
    found = compare(measured({'a': 0.05}, blocks=8))[0]
    assert (found.gain.low_percent or 0.0) > 0
    assert not found.dropped


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
        assert found[0].gain == SignalVerdict(OBJECTIVE, Effect.UNCLEAR)
        assert found[1].gain.change_percent is not None


def test_blocks_with_fewer_than_two_controls_do_not_count() -> None:
    """Without them there is nothing to compare with."""
    for left in (
        without(measured({}), CONTROLS[1:], 'after'),
        without(measured({}), CONTROLS, 'before'),
    ):
        assert compare(left)[0].gain.change_percent is None


def test_too_few_osds_bound_nothing() -> None:
    """An estimate without an interval decides nothing, whether goal or guard."""
    found = replace(measured({'a': 0.5}), arms=ARMS[:1], controls=(4, 5))
    gain = compare(found)[0].gain
    assert gain.change_percent is not None
    assert (gain.effect, gain.low_percent, gain.high_percent) == (Effect.UNCLEAR, None, None)
    guarded = compare(replace(found, objective='op_w_latency_ms'))
    assert effects(guarded)['a'] is Effect.UNCLEAR


def test_interval_beyond_any_measure_is_unbounded() -> None:
    """OSDs of an arm that differ without limit."""
    found = measured({})
    wild = tuple(
        Block({n: m._replace(kv_sync_ms_per_txn=1e9 ** (n % 2)) for n, m in b.by_osd.items()})
        for b in found.after
    )
    gain = compare(replace(found, after=wild))[0].gain
    assert (gain.low_percent, gain.high_percent) == (None, None)


def test_missing_values_of_controls_do_not_move_the_others() -> None:
    """A control with another level that reports in some blocks only."""
    found = measured({}, blocks=6)
    high = tuple(
        Block({**b.by_osd, 4: Measured(kv_sync_ms_per_txn=90.0) if i % 2 else NOTHING})
        for i, b in enumerate(found.after)
    )
    before = tuple(Block({**b.by_osd, 4: Measured(kv_sync_ms_per_txn=90.0)}) for b in found.before)
    gain = compare(replace(found, before=before, after=high))[0].gain
    assert gain.change_percent == pytest.approx(0.0, abs=10)


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


@pytest.mark.parametrize('arms', [1, 2, 5])
def test_error_rates_of_all_intervals_sum_to_the_total_rate(arms: int) -> None:
    others = len(judged_signals()) - 1
    total = arms * (rate_of(arms, goal=True) + others * rate_of(arms, goal=False))
    assert total == pytest.approx(experiment_limits().error_rate)


# -- conclusions


def gain(low: float, high: float, effect: Effect = Effect.UNCLEAR) -> SignalVerdict:
    return SignalVerdict(OBJECTIVE, effect, (low + high) / 2, low, high)


BETTER = gain(-25.0, -15.0, Effect.BETTER)
SAME = gain(-5.0, 5.0, Effect.SAME)
UNCLEAR = gain(-20.0, 10.0)
NOT_BETTER = gain(-5.0, 25.0)
UNBOUNDED = SignalVerdict(OBJECTIVE, Effect.UNCLEAR, -10.0)
UNKNOWN = SignalVerdict(OBJECTIVE, Effect.UNCLEAR)


def arms(*gains: SignalVerdict, dropped: tuple[str, ...] = ()) -> tuple[Arm, ...]:
    """Arms a, b and so on."""
    return tuple(
        Arm(name, '', signals=(found,), dropped_after=1 if name in dropped else None)
        for name, found in zip('abc', gains)
    )


def concluded(
    compared: tuple[Arm, ...], over: bool = False, blocks: int = 3
) -> Optional[Conclusion]:
    return conclude(compared, blocks, 0.1, over)


def answer(compared: tuple[Arm, ...], over: bool = False, blocks: int = 3) -> Optional[Answer]:
    found = concluded(compared, over, blocks)
    return None if found is None else found.answer


def test_clear_winner_ends_the_experiment_at_once() -> None:
    """Better than the old set, and than all others with certainty."""
    assert concluded(arms(SAME, BETTER)) == Conclusion(Answer.WINNER, 'b', 'a', ahead=True)
    assert concluded(arms(BETTER)) == Conclusion(Answer.WINNER, 'a', ahead=True)


def test_first_blocks_conclude_nothing_before_the_end() -> None:
    assert answer(arms(BETTER), blocks=2) is None
    assert answer(arms(BETTER), over=True, blocks=2) is Answer.WINNER
    assert conclude((), 0, 0.1, over=False) is None
    assert conclude((), 0, 0.1, over=True) == Conclusion(Answer.UNCLEAR)


@pytest.mark.parametrize('other', [UNCLEAR, UNBOUNDED, UNKNOWN, gain(-30.0, 10.0)])
def test_experiment_continues_until_the_best_arm_is_known(other: SignalVerdict) -> None:
    """A lead that is not certain waits for the end; then the winner is one that is better."""
    close = arms(BETTER, other)
    assert answer(close) is None
    assert concluded(close, over=True) == Conclusion(Answer.WINNER, 'a', 'b')


def test_no_difference_is_a_result_with_a_bound() -> None:
    """Equivalence of all that are left: as a ratio either way round."""
    found = concluded(arms(SAME, gain(-2.0, 7.0, Effect.SAME)))
    assert found == Conclusion(Answer.NO_DIFFERENCE, within=0.07)
    lower = concluded(arms(SAME))
    assert lower is not None
    assert lower.within == pytest.approx(1 / 0.95 - 1)


def test_no_possible_improvement_is_a_result() -> None:
    """Each is the same or worse, or all have ended."""
    assert answer(arms(SAME, NOT_BETTER)) is Answer.NO_GAIN
    assert answer(arms(BETTER, dropped=('a',))) is Answer.NO_GAIN


@pytest.mark.parametrize(('low', 'excluded'), [(-9.08, True), (-9.1, False)])
def test_minimum_gain_is_a_share_of_the_old_figure(low: float, excluded: bool) -> None:
    """10% less work is a factor of 1.1."""
    assert (answer(arms(gain(low, 25.0))) is Answer.NO_GAIN) is excluded


@pytest.mark.parametrize('found', [UNCLEAR, UNBOUNDED, UNKNOWN])
def test_inconclusive_is_a_result_only_at_the_end(found: SignalVerdict) -> None:
    assert answer(arms(found, UNKNOWN)) is None
    assert answer(arms(found, UNKNOWN), over=True) is Answer.UNCLEAR


def test_dropped_arm_does_not_win() -> None:
    """However well it does in the objective."""
    assert answer(arms(BETTER, SAME, dropped=('a',))) is Answer.NO_DIFFERENCE
