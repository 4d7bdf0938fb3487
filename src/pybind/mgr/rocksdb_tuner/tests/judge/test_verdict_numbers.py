"""The numbers of a verdict against SciPy, its shares of the rate of errors, and those rates.

Expectations are made here from SciPy and NumPy, never with the module's own statistics. Without an
explicit tolerance, a number must agree to one part in a million.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, Callable, Optional

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rocksdb_tuner.judge.evidence import Block, Evidence, Measured, measured
from rocksdb_tuner.judge.records import Effect, Judgement, SignalVerdict, Verdict
from rocksdb_tuner.judge.signals import judged_signals, limits
from rocksdb_tuner.judge.statistics import chance_of_as_many, critical, shift
from rocksdb_tuner.judge.verdict import harmless, in_words, judge
from rocksdb_tuner.observe.details import SlowEvents
from rocksdb_tuner.observe.window import Latency, Window

LATENCY = 'op_w_latency_ms'


def numbers(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def independent(count: int, seed: int, scale: float = 1.0) -> np.ndarray:
    """Values whose neighbors have nothing in common, and measurably so."""
    rng = np.random.default_rng(seed)
    while True:
        found: np.ndarray = rng.normal(scale=scale, size=count)
        if lag_one([found]) < -0.2:
            return found


def lag_one(parts: Sequence[np.ndarray]) -> float:
    """Autocorrelation with the neighbor, over parts that have means of their own."""
    centered = [part - part.mean() for part in parts]
    squares = sum(float(part @ part) for part in centered)
    return sum(float(part[:-1] @ part[1:]) for part in centered) / squares


def scipy_half_width(before: np.ndarray, after: np.ndarray, z: float) -> float:
    """The shifts that Mann and Whitney's test accepts, and one difference more on each side."""
    level = 2 * stats.norm.sf(z)
    differences = np.sort(np.subtract.outer(after, before).ravel())

    def accepted(i: int) -> bool:
        moved = (differences[i] + differences[i + 1]) / 2
        test = stats.mannwhitneyu(after - moved, before, method='asymptotic', use_continuity=False)
        return bool(test.pvalue > level)

    middle = len(differences) // 2
    first = _first(accepted, 0, middle)
    refused = _first(lambda i: not accepted(i), middle, len(differences) - 1)
    low, high = differences[first - 1], differences[refused + 1]
    estimate = float(np.median(differences))
    return float(max(high - estimate, estimate - low))


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first number from which on it holds."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


@pytest.mark.parametrize(('m', 'n'), [(8, 8), (9, 14), (20, 11)])
@pytest.mark.parametrize('sign', [1, -1])
@pytest.mark.parametrize('z', [1.64, 2.326])
def test_shift_is_bounded_by_the_acceptance_region_of_scipys_rank_test(
    m: int, n: int, sign: int, z: float
) -> None:
    before = sign * np.exp(independent(m, seed=m))
    after = sign * np.exp(independent(n, seed=n + 50)) + 0.7
    while lag_one([before, after]) > -0.1:
        after = np.random.default_rng(1).permutation(after)
    estimate, half_width = shift(list(before), list(after), z)
    assert estimate == pytest.approx(np.median(np.subtract.outer(after, before)))
    assert half_width == pytest.approx(scipy_half_width(before, after, z))


def autocorrelated(count: int, r: float, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=count)
    found = [noise[0]]
    for value in noise[1:]:
        found.append(r * found[-1] + math.sqrt(1 - r * r) * value)
    return np.array(found)


@pytest.mark.parametrize(('m', 'n', 'seed'), [(30, 30, 3), (16, 40, 5), (40, 25, 9)])
def test_autocorrelated_values_widen_the_interval_by_kendalls_estimate(
    m: int, n: int, seed: int
) -> None:
    before, after = autocorrelated(m, 0.4, seed), autocorrelated(n, 0.4, seed + 100)
    found = lag_one([before, after])
    r = found + (1 + 4 * found) / min(m, n)
    assert 0.1 < r < 0.7
    wider = 1.5 * math.sqrt((1 + r) / (1 - r))
    assert shift(list(before), list(after), 1.5)[1] == pytest.approx(
        scipy_half_width(before, after, wider)
    )


def test_slowly_reverting_series_has_a_correlation_of_nine_tenths() -> None:
    slow = np.arange(60.0) + independent(60, seed=2, scale=0.01)
    assert lag_one([slow]) > 0.9
    _, half_width = shift(list(slow), list(slow), 0.5)
    assert half_width == pytest.approx(scipy_half_width(slow, slow, 0.5 * math.sqrt(19)))


def test_constant_series_differ_by_their_exact_distance() -> None:
    assert shift([2.0] * 8, [5.0] * 8, 2.0) == (3.0, 0.0)


def test_too_few_values_for_the_requested_confidence_bound_nothing() -> None:
    """With 4 and 4 values the rank test cannot reach 1%; with 4 and 5 the first difference does."""
    z = 8 / math.sqrt(4 * 4 * 9 / 12)
    values = list(independent(4, seed=1))
    assert shift(values, values, z * 0.99)[1] is None
    assert shift(values, values, z * 7 / 8 * 1.001)[1] is None
    differences = np.sort(np.subtract.outer(values, values).ravel())
    widest = shift(values, values, z * 7 / 8 * 0.999)[1]
    assert widest == pytest.approx(max(differences[-1], -differences[0]))


@given(st.integers(0, 40), st.integers(1, 40), st.integers(0, 40), st.integers(1, 40))
def test_the_exact_test_agrees_with_scipys(a: int, more: int, b: int, rest: int) -> None:
    of, of_other = a + more, b + rest
    found = chance_of_as_many(a, of, b, of_other)
    table = [[a, of - a], [b, of_other - b]]
    assert found == pytest.approx(stats.fisher_exact(table, alternative='greater').pvalue, 1e-6)


# -- the verdict on one signal


def of_signal(name: str, values: Sequence[Any], changed: int, at: int) -> Evidence:
    """A row of blocks for each OSD, the changed ones first; the change is before block ``at``."""
    rows = [list(row) for row in values]
    blocks = tuple(
        Block({n: Measured(**{name: row[i]}) for n, row in enumerate(rows) if row[i] is not None})
        for i in range(len(rows[0]))
    )
    osds = tuple(range(len(rows)))
    return Evidence('r1', 0, osds[:changed], osds[changed:], 30.0, blocks[:at], blocks[at:])


def verdict_on(name: str, judgement: Judgement) -> SignalVerdict:
    return next(s for s in judgement.signals if s.name == name)


def bounds(judged: SignalVerdict) -> tuple[float, float, float]:
    """Estimate and ends of the interval as logarithms."""
    assert judged.change_percent is not None
    assert judged.low_percent is not None
    assert judged.high_percent is not None
    middle, low, high = (
        math.log1p(p / 100)
        for p in (judged.change_percent, judged.low_percent, judged.high_percent)
    )
    return middle, low, high


def share_of_errors(among: int) -> float:
    """The share of 5% for each of the four means, after 0.2% for each kind of events."""
    return (0.05 - 2 * 0.002) / 4 / among


@pytest.mark.parametrize('among', [1, 2, 7])
@pytest.mark.parametrize('name', [LATENCY, 'kv_sync_ms_per_txn', 'db_bytes_per_txn'])
def test_each_mean_of_each_verdict_gets_its_share_of_the_errors(name: str, among: int) -> None:
    before, after = independent(20, seed=5, scale=0.02), independent(24, seed=6, scale=0.02) + 0.05
    canary = np.exp(np.concatenate([before, after]))
    judged = judge(of_signal(name, [canary, [3.0] * 44, [4.0] * 44], 1, 20), among)
    z = float(stats.norm.isf(share_of_errors(among)))
    half = scipy_half_width(before, after, z)
    middle, low, high = bounds(verdict_on(name, judged))
    assert middle == pytest.approx(np.median(np.subtract.outer(after, before)))
    assert (high - middle, middle - low) == pytest.approx((half, half))


@pytest.mark.parametrize('changed', [1, 2, 4])
@pytest.mark.parametrize('moved', [(0.0, 0.3), (-0.1, 0.0, 0.25), (0.2, -0.2, 0.1, -0.1, 0.0)])
def test_divergence_of_controls_widens_the_interval(moved: tuple[float, ...], changed: int) -> None:
    """Between them by their variance, within from the blocks, weighted by their precision."""
    noise = independent(32, seed=8, scale=0.02)
    canaries = [np.exp(noise + 0.01 * n) for n in range(changed)]
    controls = [np.exp(np.where(np.arange(32) < 16, 0.0, shifted)) * 5 for shifted in moved]
    evidence = of_signal(LATENCY, [*canaries, *controls], changed, 16)
    middle, low, high = bounds(verdict_on(LATENCY, judge(evidence)))
    z = float(stats.norm.isf(share_of_errors(1)))
    # What the controls do in each block: against their own middle over before, then over all.
    others = [np.log(c) - np.median(np.log(c[:16])) for c in controls]
    apart = noise - np.median(noise[:16]) - np.median(others, axis=0)
    within = scipy_half_width(apart[:16], apart[16:], z * inflation(apart[:16], apart[16:])) / z
    between = np.var(moved, ddof=1) * (1 / changed + 1 / len(moved))
    prior, free = limits().prior_controls, len(moved) - 1
    pooled = (prior * within**2 + free * between) / (prior + free)
    half = z * math.sqrt(max(within**2, pooled))
    assert pooled > within**2
    assert middle == pytest.approx(np.median(np.subtract.outer(apart[16:], apart[:16])))
    assert (high - middle, middle - low) == pytest.approx((half, half))


def inflation(before: np.ndarray, after: np.ndarray) -> float:
    found = lag_one([before, after])
    r = min(max(found + (1 + 4 * found) / min(len(before), len(after)), 0.0), 0.9)
    return math.sqrt((1 + r) / (1 - r))


def test_unusually_close_controls_do_not_narrow_the_interval() -> None:
    """Two that changed alike by chance have less weight than the variation from block to block."""
    noise = independent(32, seed=8, scale=0.05)
    evidence = of_signal(LATENCY, [np.exp(noise), [5.0] * 32, [5.0] * 32], 1, 16)
    middle, low, _ = bounds(verdict_on(LATENCY, judge(evidence)))
    z = float(stats.norm.isf(share_of_errors(1)))
    wider = z * inflation(noise[:16], noise[16:])
    assert middle - low == pytest.approx(scipy_half_width(noise[:16], noise[16:], wider))


def sizes(before: float, *after: float) -> list[float]:
    """GB, eight blocks before the change."""
    return [gb * 1e9 for gb in (*[before] * 8, *after)]


def test_db_size_is_the_maximum_of_the_second_half_since_the_change() -> None:
    """Against the controls' middle, and as certain as twice the farthest of them is from it."""
    canary = sizes(10, 99, 1, 50, 40, *[13, 14, 15, 90])
    controls = [
        sizes(20, 1, 1, 1, 1, *[22] * 4),
        sizes(30, 7, 7, 7, 7, *[36] * 4),
        sizes(5, *[5] * 4, *[5.25] * 4),
    ]
    judged = judge(of_signal('db_used_bytes', [canary, *controls], 1, 8))
    middle, low, high = bounds(verdict_on('db_used_bytes', judged))
    reached = (math.log(1.4) + math.log(1.5)) / 2
    farthest = max(math.log(1.2 / 1.1), math.log(1.1 / 1.05))
    assert middle == pytest.approx(reached - math.log(1.1))
    assert (high - middle, middle - low) == pytest.approx((2 * farthest, 2 * farthest))


def test_db_below_the_floor_counts_as_the_floor() -> None:
    floor = 1 << 30
    small = [float(floor) / 4] * 16
    for to, percent in ((floor / 2, 0.0), (floor * 1.2, 20.0)):
        canary = [floor / 4] * 8 + [to] * 8
        judged = judge(of_signal('db_used_bytes', [canary, small, small], 1, 8))
        assert verdict_on('db_used_bytes', judged).change_percent == pytest.approx(percent)


def events(before: int, after: int, beside: int, of: int = 20, controls: int = 1) -> Evidence:
    """So many blocks with slow requests, of the canary before and after, of controls after."""

    def flags(count: int) -> list[float]:
        return [2.0] * count + [0.0] * (of - count)

    canary = flags(before) + flags(after)
    others = [[0.0] * of + flags(beside) for _ in range(controls + 1)]
    return of_signal('slow_ops', [canary, *others], 1, of)


@pytest.mark.parametrize('of', [10, 20, 40])
def test_blocks_with_slow_requests_are_worse_from_the_limit_of_scipys_exact_test_on(
    of: int,
) -> None:
    """0.2% for each kind of events; and by more than a fifth of the blocks."""
    for after in range(of + 1):
        reported = [
            stats.fisher_exact([[after, of - after], [0, n]], alternative='greater').pvalue
            for n in (of, 2 * of)
        ]
        expected = Effect.WORSE if max(reported) <= 0.002 and after / of > 0.2 else Effect.SAME
        judged = verdict_on('slow_ops', judge(events(0, after, 0, of)))
        assert judged.effect is expected, after
        assert judged.change_percent == pytest.approx(100 * after / of)


@pytest.mark.parametrize(
    ('before', 'after', 'beside', 'effect', 'change'),
    [
        (0, 20, 20, Effect.SAME, 0),
        (20, 20, 0, Effect.SAME, 0),
        (2, 18, 4, Effect.WORSE, 70),
        (4, 18, 2, Effect.WORSE, 70),
        (18, 2, 16, Effect.BETTER, -70),
        (16, 2, 18, Effect.BETTER, -70),
        (2, 10, 18, Effect.SAME, 0),
        (18, 10, 2, Effect.SAME, 0),
        # Beyond doubt, but by no more than a fifth.
        (0, 4, 0, Effect.SAME, 20),
    ],
)
def test_events_are_compared_with_the_nearer_of_before_and_controls(
    before: int, after: int, beside: int, effect: Effect, change: float
) -> None:
    judged = verdict_on('slow_ops', judge(events(before, after, beside)))
    assert judged.effect is effect
    assert judged.change_percent == pytest.approx(change, abs=1e-9)


@pytest.mark.parametrize('lacking', ['before', 'after', 'beside'])
def test_events_need_eight_blocks_on_each_side(lacking: str) -> None:
    def judged(known: int) -> Effect:
        rows: list[list[Optional[float]]] = [[0.0] * 24 for _ in range(3)]
        for row in {'before': rows[:1], 'after': rows[:1], 'beside': rows[1:]}[lacking]:
            first = 0 if lacking == 'before' else 12
            # Of the controls, the blocks of both count together.
            left = known if lacking != 'beside' else known // 2
            end = first + 12 - left
            row[first:end] = [None] * (12 - left)
        return verdict_on('slow_ops', judge(of_signal('slow_ops', rows, 1, 12))).effect

    assert (judged(7 if lacking != 'beside' else 6), judged(8)) == (Effect.UNCLEAR, Effect.SAME)


# -- what is enough


def steady(blocks: int, *, gaps: int = 0) -> list[Optional[float]]:
    return [None] * gaps + [1.0] * (blocks - gaps)


def sufficient(rows: Sequence[Sequence[Optional[float]]], changed: int, at: int) -> bool:
    judged = verdict_on(LATENCY, judge(of_signal(LATENCY, rows, changed, at)))
    return judged.effect is Effect.SAME


def test_half_of_the_changed_osds_are_enough_and_fewer_are_not() -> None:
    silent: list[Optional[float]] = [None] * 20
    controls = [steady(20), steady(20)]
    assert sufficient([steady(20), silent, *controls], 2, 10)
    assert sufficient([steady(20), steady(20), silent, silent, *controls], 4, 10)
    assert not sufficient([steady(20), silent, silent, *controls], 3, 10)
    assert not sufficient([silent, *controls], 1, 10)


@pytest.mark.parametrize(('idle', 'since'), [((0, 1), 0), ((3, 4), 12)])
def test_blocks_need_half_of_the_changed_osds_and_two_controls(
    idle: tuple[int, int], since: int
) -> None:
    """Three changed OSDs and three controls, two with gaps: eight blocks of twelve are left."""
    for gaps, enough in ((4, True), (5, False)):
        made = [steady(24) for _ in range(6)]
        for block in range(since, since + gaps):
            made[idle[0]][block] = made[idle[1]][block] = None
        assert sufficient(made, 3, 12) is enough


def test_intermittent_control_does_not_shift_the_result() -> None:
    """Its level differs from the others'; against its own before, its absence is no change."""
    made: list[list[Optional[float]]] = [steady(24), [50.0] * 24, [0.02] * 24, steady(24)]
    for block in range(12, 15):
        made[1][block] = None
    judged = verdict_on(LATENCY, judge(of_signal(LATENCY, made, 1, 12)))
    assert judged.effect is Effect.SAME
    assert judged.change_percent == pytest.approx(0.0)


@pytest.mark.parametrize('side', [0, 12])
def test_control_with_too_few_blocks_on_either_side_is_ignored(side: int) -> None:
    """Seven blocks of one that went another way: it would count as a control that parted."""
    unusual: list[Optional[float]] = [*[1.0] * 12, *[3.0] * 12]
    end = side + 5
    unusual[side:end] = [None] * 5
    made = [steady(24), steady(24), steady(24), unusual]
    judged = verdict_on(LATENCY, judge(of_signal(LATENCY, made, 1, 12)))
    assert (judged.effect, judged.low_percent, judged.high_percent) == (Effect.SAME, 0.0, 0.0)
    unusual[side + 4] = 1.0 if side == 0 else 3.0
    wide = verdict_on(LATENCY, judge(of_signal(LATENCY, made, 1, 12)))
    assert wide.effect is Effect.UNCLEAR


def test_zero_operations_have_no_mean() -> None:
    zeros: list[Optional[float]] = [0.0] * 20
    assert not sufficient([zeros, steady(20), steady(20)], 1, 10)


def apart_by(percent: float, noise: float = 0.0) -> SignalVerdict:
    rows = [[1.0] * 12 + [1 + percent / 100] * 12, *[[1.0] * 24] * 2]
    rows[0] = [v * math.exp(noise * (-1) ** i) for i, v in enumerate(rows[0])]
    return verdict_on(LATENCY, judge(of_signal(LATENCY, rows, 1, 12)))


def test_ten_percent_are_tolerated_in_either_direction() -> None:
    assert apart_by(9.99).effect is Effect.SAME
    assert apart_by(10.01).effect is Effect.WORSE
    # In logarithms, as everything: a tenth more and a tenth less are 1.1 and 1 / 1.1.
    assert apart_by(100 / 1.0999 - 100).effect is Effect.SAME
    assert apart_by(100 / 1.1001 - 100).effect is Effect.BETTER


def test_precision_separates_a_relevant_worsening_from_a_tolerated_one() -> None:
    """The half-width at most log(1.2 / 1.1), which is less than log(1.1)."""
    needed = {s.name: s.precision for s in judged_signals()}
    assert needed[LATENCY] == pytest.approx(math.log(1.2 / 1.1))
    assert needed['db_used_bytes'] == pytest.approx(math.log(2 / 1.5))
    loose = judged_signals()[0]._replace(tolerance=0.05, detects=0.5)
    assert loose.precision == pytest.approx(math.log(1.05))


def uncertain(by: float, percent: float = 0.0) -> tuple[Judgement, SignalVerdict]:
    """Controls that differ by so much, and a canary in their middle or outside."""
    rows = [
        [1.0] * 16 + [1 + percent / 100] * 16,
        [1.0] * 16 + [math.exp(by)] * 16,
        [1.0] * 16 + [math.exp(-by)] * 16,
    ]
    judged = judge(of_signal(LATENCY, rows, 1, 16))
    return judged, verdict_on(LATENCY, judged)


def test_uncertain_signal_is_named_and_only_certain_parts_decide() -> None:
    judged, wide = uncertain(0.1)
    assert (judged.verdict, wide.effect) == (Verdict.INCONCLUSIVE, Effect.UNCLEAR)
    assert 'precision: the uncertainty is' in judged.missing[0]
    assert 'at most 9% is allowed' in judged.missing[0]
    middle, low, high = bounds(wide)
    half = (high - low) / 2
    assert middle == pytest.approx(0.0, abs=1e-9)
    just = 100 * (1.1 * math.exp(half) - 1)
    assert uncertain(0.1, just - 0.5)[1].effect is Effect.UNCLEAR
    assert uncertain(0.1, just + 0.5)[1].effect is Effect.WORSE
    assert uncertain(0.1, just + 0.5)[0].verdict is Verdict.WORSE
    least = 100 * (1 / (1.1 * math.exp(half)) - 1)
    assert uncertain(0.1, least + 0.5)[1].effect is Effect.UNCLEAR
    assert uncertain(0.1, least - 0.5)[1].effect is Effect.BETTER


# -- the sequential test, which may be evaluated at any time


def test_no_degrees_of_freedom_give_no_evidence() -> None:
    """Nothing is bounded by a spread that is not known."""
    assert critical(0.05, 0, 8.0) is None


def test_checks_at_every_value_do_not_raise_the_error_rate() -> None:
    """Means of values without an effect, evaluated after each of 200."""
    rng = random.Random(7)
    crossed = 0
    for _ in range(200):
        total = squares = 0.0
        for n in range(1, 201):
            value = rng.gauss(0, 3)
            total, squares = total + value, squares + value * value
            least = critical(0.1, n - 1, 0.2 * n)
            if least is not None:
                deviation = math.sqrt(max(squares - total**2 / n, 1e-12) / (n - 1))
                if abs(total) / math.sqrt(n) >= least * deviation:
                    crossed += 1
                    break
    assert crossed <= 24


# -- what a block is made of


def window(**changes: object) -> Window:
    values: dict[str, object] = dict.fromkeys(Window._fields)
    values.update(
        window_s=30.0,
        kv_sync=Latency(0.5, 30),
        commit=Latency(0.5, 100),
        op_w_latency=Latency(0.2, 40),
        bytes_written_wal=700,
        bytes_written_sst=300,
    )
    return Window(**{**values, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ('commit', 'known'), [(Latency(0.5, 50), True), (Latency(0.5, 49), False), (None, False)]
)
def test_signal_per_transaction_needs_fifty_transactions(
    commit: Optional[Latency], known: bool
) -> None:
    found = measured(window(commit=commit), None, 50)
    assert found.kv_sync_ms_per_txn == (pytest.approx(10.0) if known else None)
    assert found.db_bytes_per_txn == (pytest.approx(20.0) if known else None)
    assert measured(window(kv_sync=None), None, 50).kv_sync_ms_per_txn is None
    assert measured(window(op_w_latency=None), None, 10).op_w_latency_ms is None
    writes = [measured(window(), None, least).op_w_latency_ms for least in (40, 41)]
    assert [one is None for one in writes] == [False, True]
    for lacks in ('bytes_written_wal', 'bytes_written_sst'):
        assert measured(window(**{lacks: None}), None, 50).db_bytes_per_txn is None


@pytest.mark.parametrize(('written', 'flushed'), [(None, None), (0, 0), (1, 1), (1 << 40, 1)])
def test_flush_is_detected_by_bytes_written_to_sst_files(
    written: Optional[int], flushed: Optional[int]
) -> None:
    assert measured(window(bytes_written_sst=written), 7, 40).flushed == flushed


def test_slow_commits_are_counted_from_the_first_to_the_last_report() -> None:
    def risen(*reported: Optional[int]) -> Optional[float]:
        return measured(window(), None, 50, [SlowEvents(None, n) for n in reported]).slow_commits

    assert risen() is None
    assert risen(5) is None
    assert risen(5, 5) == 0
    assert risen(5, 99, 7) == 2
    assert risen(5, 4) is None
    assert risen(None, 5) is None
    assert risen(5, None) is None


@pytest.mark.parametrize(
    ('promised', 'name', 'effect', 'verdict'),
    [
        (None, LATENCY, Effect.BETTER, Verdict.BETTER),
        (None, 'kv_sync_ms_per_txn', Effect.BETTER, Verdict.BETTER),
        (None, 'db_bytes_per_txn', Effect.BETTER, Verdict.NO_WORSE),
        (None, LATENCY, Effect.SAME, Verdict.NO_WORSE),
        ('db_bytes_per_txn', 'db_bytes_per_txn', Effect.BETTER, Verdict.BETTER),
        ('db_bytes_per_txn', LATENCY, Effect.BETTER, Verdict.NO_WORSE),
        ('db_bytes_per_txn', 'db_bytes_per_txn', Effect.SAME, Verdict.NO_WORSE),
    ],
)
def test_better_requires_the_expected_gain_or_any_required_signal(
    promised: Optional[str], name: str, effect: Effect, verdict: Verdict
) -> None:
    assert harmless((SignalVerdict(name, effect, -30.0, -40.0, -20.0),), promised) is verdict


def test_verdict_text_has_the_cause_and_each_change_with_its_bounds() -> None:
    latency = SignalVerdict(LATENCY, Effect.WORSE, 31.4, 20.6, 43.2)
    bare = SignalVerdict('slow_ops', Effect.SAME, 0.4)
    half = SignalVerdict('db_used_bytes', Effect.UNCLEAR, 5.0, 1.0, None)
    other = SignalVerdict('db_bytes_per_txn', Effect.UNCLEAR, 6.0, None, 7.0)
    unknown = SignalVerdict('slow_commits', Effect.UNCLEAR)
    unusual = SignalVerdict('of_a_later_version', Effect.SAME, -2.0, -3.0, -1.0)
    assert in_words(Judgement(Verdict.WORSE, (latency, bare, half, other, unknown, unusual))) == (
        'worse: client write latency +31% (+21 to +43%), spans with slow requests 0%, '
        'space used by the DB +5%, DB bytes written per write +6%, '
        'of_a_later_version -2% (-3 to -1%)'
    )
    assert in_words(Judgement(Verdict.NO_DATA, (unknown,))) == 'no-data'
    assert in_words(Judgement(Verdict.WORSE, cause='it crashed')) == 'worse: it crashed'


def test_too_few_controls_are_distinguished_from_none() -> None:
    for controls, cause in ((0, 'no controls'), (1, 'too few controls')):
        judged = judge(of_signal(LATENCY, [steady(20)] * (1 + controls), 1, 10))
        assert (judged.verdict, judged.cause) == (Verdict.INCONCLUSIVE, f'not judged: {cause}')


def test_only_required_signals_are_reported_missing() -> None:
    """DB bytes are not known here, and nothing waits for them."""
    rows = [steady(20)] * 3
    one = judge(of_signal(LATENCY, rows, 1, 10))
    assert one.verdict is Verdict.INCONCLUSIVE
    assert len(one.missing) == 1
    assert one.missing[0].startswith(
        'kv_sync time per write: at least 50 writes in each of 8 spans'
    )
    other = judge(of_signal('db_bytes_per_txn', rows, 1, 10))
    assert (other.verdict, len(other.missing)) == (Verdict.NO_DATA, 2)


def test_many_verdicts_share_the_error_rate_of_events() -> None:
    assert verdict_on('slow_ops', judge(events(0, 9, 0), 2)).effect is Effect.WORSE
    assert verdict_on('slow_ops', judge(events(0, 9, 0), 4)).effect is Effect.SAME


def test_idle_spans_of_enough_osds_at_once_are_counted_for_each_side() -> None:
    made = [steady(24) for _ in range(3)]
    for block in range(3):
        made[1][block] = made[2][block + 3] = None
    judged = judge(of_signal(LATENCY, made, 1, 12))
    assert judged.missing[0] == (
        'client write latency: 8 spans of 30 s with writes to changed OSDs and controls; '
        'before: 6, after: 12'
    )
