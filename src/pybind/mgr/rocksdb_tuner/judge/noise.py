"""How OSDs vary that nothing was done to: what a plan of an experiment goes by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple, Optional

from .evidence import Block
from .signals import judged_signals

#: Fewer tell nothing of how far the halves of the time lie apart.
LEAST_BLOCKS = 4
LEAST_OSDS = 3


class Noise(NamedTuple):
    """Standard deviations of the logarithm, beside what all OSDs did together."""

    #: From one block of an OSD to the next.
    block: float
    #: From one period of an OSD to the next, however many blocks either holds.
    persistent: float

    def variance(self, blocks: float) -> float:
        """Of the mean of so many blocks of one OSD in one period."""
        return self.persistent**2 + self.block**2 / blocks


@dataclass(frozen=True)
class MeasuredNoise:
    """One signal of a group."""

    group: Noise
    #: From block to block, for each OSD.
    by_osd: Mapping[int, float]


def measured_noise(signal: str, blocks: Sequence[Block]) -> Optional[MeasuredNoise]:
    """``blocks`` follow one another; None: too few, or too few OSDs that were measured in all.

    What persists shows from one half of them to the other: it holds for periods as long as half
    of the time, and of longer ones says too little.
    """
    floor = next(one.floor for one in judged_signals() if one.name == signal)
    values = {
        n: [getattr(block.of(n), signal) for block in blocks]
        for n in sorted({n for block in blocks for n in block.by_osd})
    }
    known = {
        n: [math.log(max(value, floor)) for value in of_osd]
        for n, of_osd in values.items()
        if all(of_osd)
    }
    half = len(blocks) // 2
    if len(blocks) < LEAST_BLOCKS or len(known) < LEAST_OSDS:
        return None
    middle = [fmean(at) for at in zip(*known.values())]
    left = {n: [v - m for v, m in zip(of_osd, middle)] for n, of_osd in known.items()}
    # The mean of k OSDs holds a k-th of each.
    stretch = len(known) / (len(known) - 1)
    by_osd = {
        n: stretch * fmean((b - a) ** 2 for a, b in zip(of_osd, of_osd[1:])) / 2
        for n, of_osd in left.items()
    }
    within = fmean(by_osd.values())
    apart = [fmean(of_osd[-half:]) - fmean(of_osd[:half]) for of_osd in left.values()]
    between = stretch * fmean(d * d for d in apart) / 2
    return MeasuredNoise(
        Noise(math.sqrt(within), math.sqrt(max(between - within / half, 0.0))),
        {n: math.sqrt(variance) for n, variance in by_osd.items()},
    )
