"""The verdict on a canary: its error rates, and its reason if it is inconclusive."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.judge.evidence import Block, Evidence, Measured, measured
from rocksdb_tuner.judge.records import Effect, Judgement, SignalVerdict, Verdict
from rocksdb_tuner.judge.signals import limits
from rocksdb_tuner.judge.statistics import shift
from rocksdb_tuner.judge.verdict import in_words, judge
from rocksdb_tuner.observe.window import Latency, Window

from .simulated import MEANS, RECORDINGS, Outcome, Trial, run, source

USUAL = Trial(controls=2, before_blocks=20, least_after=20, most_after=40)
RUNS = 99
EVENTS = ('slow_ops', 'slow_commits')


def outcomes(trial: Trial, seed: int, runs: int = RUNS) -> list[Outcome]:
    rng = random.Random(seed)
    sources = [source(name) for name in RECORDINGS]
    return [run(trial, sources[i % len(sources)], rng) for i in range(runs)]


def share(found: list[Outcome], verdict: Verdict) -> float:
    return sum(o.judgement.verdict is verdict for o in found) / len(found)


def test_null_change_is_failed_or_called_better_in_at_most_5_percent() -> None:
    found = outcomes(USUAL, seed=1)
    assert share(found, Verdict.WORSE) <= limits().error_rate
    assert share(found, Verdict.BETTER) <= limits().error_rate
    assert share(found, Verdict.NO_WORSE) + share(found, Verdict.BETTER) >= 0.9


@pytest.mark.parametrize('signal', MEANS)
def test_worsening_by_20_percent_fails_in_at_least_95_percent(signal: str) -> None:
    found = outcomes(replace(USUAL, worsening=0.2, worsened=signal), seed=2)
    assert share(found, Verdict.WORSE) >= 0.95


def test_expected_gain_of_a_null_change_is_confirmed_in_at_most_5_percent() -> None:
    found = outcomes(replace(USUAL, promised='db_bytes_per_txn'), seed=4)
    assert share(found, Verdict.BETTER) <= limits().error_rate
    assert share(found, Verdict.WORSE) <= limits().error_rate


@pytest.mark.parametrize('promised', ['op_w_latency_ms', 'db_bytes_per_txn'])
def test_expected_gain_of_20_percent_is_found_in_at_least_95_percent(
    promised: str,
) -> None:
    gains = replace(USUAL, promised=promised, worsening=-0.2, worsened=promised)
    assert share(outcomes(gains, seed=5), Verdict.BETTER) >= 0.95


def test_noise_delays_the_verdict_instead_of_misleading_it() -> None:
    found = outcomes(replace(USUAL, noise=6.0, most_after=22), seed=3)
    assert share(found, Verdict.INCONCLUSIVE) > 0.3
    assert share(found, Verdict.WORSE) <= limits().error_rate


def block(canary: float, *controls: Optional[float]) -> Block:
    """Every signal at 1, 2 or the given values, in ms or bytes."""
    values = enumerate((canary, *controls))
    return Block({n: Measured(v, v, v, v) for n, v in values if v is not None})


def evidence(
    before: tuple[Block, ...], after: tuple[Block, ...], controls: tuple[int, ...] = (1, 2)
) -> Evidence:
    return Evidence(
        'r1', 0, changed=(0,), controls=controls, block_s=30.0, before=before, after=after
    )


def wobble(count: int, factor: float = 1.0, common: float = 1.0) -> tuple[Block, ...]:
    """Blocks that differ by a percent; the canary by ``factor``, all by ``common``."""
    rng = random.Random(count)
    return tuple(
        block(*(common * f * rng.uniform(0.99, 1.01) for f in (5 * factor, 3.0, 4.0)))
        for _ in range(count)
    )


def of(judgement: Judgement, name: str) -> SignalVerdict:
    return next(s for s in judgement.signals if s.name == name)


def test_change_of_all_osds_is_not_blamed_on_the_rollout() -> None:
    judged = judge(evidence(wobble(12), wobble(10, common=3.0)))
    assert judged.verdict is Verdict.NO_WORSE
    assert {s.effect for s in judged.signals if s.name not in EVENTS} == {Effect.SAME}
    assert {of(judged, name).effect for name in EVENTS} == {Effect.UNCLEAR}


def test_worsening_fails_with_its_size() -> None:
    judged = judge(evidence(wobble(12), wobble(10, factor=1.3)))
    assert judged.verdict is Verdict.WORSE
    latency = of(judged, 'op_w_latency_ms')
    assert latency.effect is Effect.WORSE
    assert latency.change_percent == pytest.approx(30, abs=2)
    assert latency.low_percent is not None
    assert latency.high_percent is not None
    assert latency.low_percent < 30 < latency.high_percent


def test_improvement_passes_as_better() -> None:
    judged = judge(evidence(wobble(12), wobble(10, factor=0.7)))
    assert judged.verdict is Verdict.BETTER
    assert of(judged, 'kv_sync_ms_per_txn').effect is Effect.BETTER


def test_osd_without_writes_is_named_and_nothing_passes() -> None:
    quiet = tuple(block(1.0, 1.0, None) for _ in range(12))
    judged = judge(evidence(quiet, quiet))
    assert judged.verdict is Verdict.NO_DATA
    assert all(s.effect is Effect.UNCLEAR for s in judged.signals)
    assert 'client write latency: at least 50 writes' in judged.missing[0]
    assert judged.missing[0].endswith('found: osd.2 (0 before, 0 after)')


def test_slow_drift_does_not_count_as_many_independent_values() -> None:
    def swinging(count: int, phase: float) -> tuple[Block, ...]:
        return tuple(block(math.exp(math.sin(phase + i / 4)), 1.0, 1.0) for i in range(count))

    assert judge(evidence(swinging(12, 0.0), swinging(12, 3.0))).verdict is Verdict.INCONCLUSIVE


def grown_db(before_gb: float, after_gb: float) -> Judgement:
    """Of a canary whose DB grows a third of the way through; those of its controls do not."""

    def sized(used_gb: float) -> Block:
        sizes = (used_gb, before_gb, before_gb)
        return Block({n: Measured(1.0, 1.0, 1.0, gb * 1e9) for n, gb in enumerate(sizes)})

    grown = (*(sized(before_gb) for _ in range(4)), *(sized(after_gb) for _ in range(8)))
    return judge(evidence(tuple(sized(before_gb) for _ in range(12)), grown))


def test_preallocated_logs_of_an_empty_osd_are_no_growth() -> None:
    """Measured on 16.2.15: 0.09 GB with a write_buffer_size of 64 MiB, 0.31 GB with 256 MiB."""
    judged = grown_db(0.09, 0.31)
    assert judged.verdict is Verdict.NO_WORSE
    assert of(judged, 'db_used_bytes').effect is Effect.SAME


def test_doubled_db_beside_steady_ones_fails() -> None:
    judged = grown_db(5.0, 10.0)
    assert judged.verdict is Verdict.WORSE
    assert of(judged, 'db_used_bytes').effect is Effect.WORSE
    assert of(judged, 'op_w_latency_ms').effect is Effect.SAME


def troubled(canary: Sequence[Optional[int]], controls: int = 0) -> tuple[Block, ...]:
    """Blocks that differ in nothing but the canary's slow requests and those of its controls."""
    return tuple(
        Block({n: Measured(5.0, 3.0, 4.0, 5.0, controls if n else slow, 0) for n in range(3)})
        for slow in canary
    )


def test_slow_requests_of_the_canary_alone_since_the_change_fail_it() -> None:
    judged = judge(evidence(troubled([0] * 20), troubled([3, 0] * 10)))
    assert judged.verdict is Verdict.WORSE
    assert of(judged, 'slow_ops').effect is Effect.WORSE
    assert of(judged, 'slow_ops').change_percent == pytest.approx(50.0)
    assert of(judged, 'slow_commits').effect is Effect.SAME
    assert 'spans with slow requests +50%' in in_words(judged)


@pytest.mark.parametrize(('written', 'flushed'), [(None, None), (0, 0), (1, 1), (1 << 40, 1)])
def test_flush_is_detected_by_bytes_written_to_sst_files(
    written: Optional[int], flushed: Optional[int]
) -> None:
    assert measured(_window()._replace(bytes_written_sst=written), 7, 40).flushed == flushed


def flushing(blocks: tuple[Block, ...], *flushed: Optional[float]) -> tuple[Block, ...]:
    """The same blocks, with what the canary flushed in each of them."""
    return tuple(
        Block({**block.by_osd, 0: block.of(0)._replace(flushed=found)})
        for block, found in zip(blocks, flushed)
    )


def test_pass_without_a_flush_is_no_data_with_a_reason() -> None:
    """The options are about what happens to memtables: nothing of that showed yet."""
    before, after = wobble(12), wobble(10)
    never = judge(evidence(before, flushing(after, *[0] * 10)))
    assert never.verdict is Verdict.NO_DATA
    assert never.cause == 'osd.0 flushed nothing to SST files during the soak'
    assert 'a memtable flush' in never.missing[0]
    assert of(never, 'op_w_latency_ms').effect is Effect.SAME
    gains = judge(evidence(before, flushing(wobble(10, factor=0.7), *[0] * 10)))
    assert gains.verdict is Verdict.NO_DATA
    once = flushing(after, *[0] * 9, 1)
    assert judge(evidence(before, once)).verdict is Verdict.NO_WORSE
    unknown = flushing(after, *[None] * 10)
    assert judge(evidence(before, unknown)).verdict is Verdict.NO_WORSE
    partly = flushing(after, *[None] * 9, 0)
    assert judge(evidence(before, partly)).verdict is Verdict.NO_DATA


def test_expected_gain_is_awaited_until_detectable() -> None:
    """The bytes for each write need no precision, unless a gain in them was promised."""
    rng = random.Random(1)

    def noisy(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        return tuple(
            Block(
                {
                    n: one._replace(db_bytes_per_txn=rng.uniform(1, 20))
                    for n, one in block.by_osd.items()
                }
            )
            for block in blocks
        )

    made = evidence(noisy(wobble(12)), noisy(wobble(10)))
    assert judge(made).verdict is Verdict.NO_WORSE
    promised = judge(made, promised='db_bytes_per_txn')
    assert promised.verdict is Verdict.INCONCLUSIVE
    assert promised.missing[0].startswith('DB bytes written per write: precision')
    steady = evidence(wobble(12), wobble(10, factor=0.7))
    assert judge(steady, promised='db_bytes_per_txn').verdict is Verdict.BETTER


_VALUES = st.lists(st.floats(-5, 5), min_size=8, max_size=20)


@given(_VALUES, _VALUES, st.floats(-3, 3))
def test_a_shift_follows_what_is_added_and_keeps_its_width(
    before: list[float], after: list[float], added: float
) -> None:
    plain, moved = shift(before, after, 2.0), shift(before, [v + added for v in after], 2.0)
    assert moved.estimate == pytest.approx(plain.estimate + added, abs=1e-9)
    assert (moved.half_width is None) == (plain.half_width is None)
    if plain.half_width is not None:
        assert moved.half_width == pytest.approx(plain.half_width, abs=1e-9)


@given(_VALUES, _VALUES)
def test_turning_time_round_turns_the_shift_round(before: list[float], after: list[float]) -> None:
    assert shift(after, before, 2.0).estimate == pytest.approx(-shift(before, after, 2.0).estimate)


def _window() -> Window:
    return Window(
        window_s=30.0,
        kv_sync=Latency(0.05, 30),
        kv_flush=None,
        commit=Latency(0.5, 100),
        op_w=40,
        op_w_in_bytes=1,
        op_w_latency=Latency(0.2, 40),
        op_r=0,
        op_r_out_bytes=0,
        op_rw=0,
        op_rw_in_bytes=0,
        recovery_ops=0,
        recovery_bytes=0,
        bytes_written_wal=700,
        bytes_written_sst=300,
        bytes_written_slow=0,
    )


def test_worsening_without_a_flush_is_still_a_worsening() -> None:
    judged = judge(evidence(wobble(12), flushing(wobble(10, factor=1.3), *[0] * 10)))
    assert judged.verdict is Verdict.WORSE


def test_latency_of_few_writes_is_unknown() -> None:
    latency = _window().op_w_latency
    assert latency is not None
    writes = latency.operations
    assert measured(_window(), 7, writes).op_w_latency_ms is not None
    assert measured(_window(), 7, writes + 1).op_w_latency_ms is None
