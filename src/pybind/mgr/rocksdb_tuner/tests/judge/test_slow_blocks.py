"""Slow requests of arms compared with those of controls."""

from __future__ import annotations

import random
from typing import Optional

from rocksdb_tuner.judge.evidence import Block, Measured
from rocksdb_tuner.judge.noise import slow_blocks
from rocksdb_tuner.judge.records import Effect, SignalVerdict
from rocksdb_tuner.judge.signals import judged_signals

SIGNAL = next(signal for signal in judged_signals() if signal.name == 'slow_ops')
ARM = (0, 1)
CONTROLS = (2, 3, 4, 5)
RATE = 0.0005


def judged(before: list[Block], after: list[Block]) -> SignalVerdict:
    return slow_blocks(SIGNAL, before, [(block, ARM) for block in after], CONTROLS, RATE)


def blocks(count: int, arm: Optional[float], controls: Optional[float]) -> list[Block]:
    by_osd = {n: Measured(slow_ops=arm) for n in ARM}
    by_osd.update({n: Measured(slow_ops=controls) for n in CONTROLS})
    return [Block(by_osd)] * count


def test_slow_requests_of_one_arm_drop_it() -> None:
    """In every block, and in none of the controls."""
    found = judged(blocks(4, 0, 0), blocks(8, 3, 0))
    assert (found.effect, found.change_percent) == (Effect.WORSE, 100)


def test_one_block_is_not_enough() -> None:
    """It may happen by chance."""
    assert judged(blocks(4, 0, 0), blocks(1, 3, 0)).effect is Effect.SAME


def test_slow_requests_of_all_or_from_before_are_not_blamed_on_the_arm() -> None:
    """It does not stand out, neither from others nor from before."""
    assert judged(blocks(4, 0, 0), blocks(20, 3, 3)).effect is Effect.SAME
    assert judged(blocks(4, 1, 0), blocks(20, 3, 0)).effect is Effect.UNCLEAR


def test_fewer_slow_requests_are_no_worsening() -> None:
    """Only the controls are slow."""
    found = judged(blocks(4, 0, 0), blocks(20, 0, 3))
    assert (found.effect, found.change_percent) == (Effect.SAME, -100)


def test_unknown_slow_requests_are_ignored() -> None:
    """Pacific knows of no slow commits."""
    assert judged(blocks(4, None, None), blocks(9, None, None)).effect is Effect.UNCLEAR


def test_equal_arms_are_rarely_called_worse() -> None:
    """A tenth of all blocks of all OSDs, often at the same times, evaluated 30 times."""
    rng = random.Random(3)
    wrong = 0
    for _ in range(200):
        after = []
        for _ in range(30):
            rate = rng.choice((0.0, 0.0, 0.3))
            after.append(
                Block({n: Measured(slow_ops=rng.random() < rate) for n in (*ARM, *CONTROLS)})
            )
        wrong += judged(blocks(4, 0, 0), after).effect is Effect.WORSE
    assert wrong <= 1
