"""The verdict on a canary: its error rates, and its reason if it is inconclusive."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.judge.evidence import Block, Evidence, Measured
from rocksdb_tuner.judge.records import Effect, Judgement, SignalVerdict, Verdict
from rocksdb_tuner.judge.signals import limits
from rocksdb_tuner.judge.verdict import judge

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


def test_no_verdict_without_a_changed_osd() -> None:
    """All of a batch may be gone when its rollback ends."""
    found = judge(replace(evidence(wobble(20), wobble(20)), changed=()))
    assert found.verdict is Verdict.NO_DATA


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


def test_worsening_without_a_flush_is_still_a_worsening() -> None:
    judged = judge(evidence(wobble(12), flushing(wobble(10, factor=1.3), *[0] * 10)))
    assert judged.verdict is Verdict.WORSE
