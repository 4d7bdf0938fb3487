"""Noise of unchanged OSDs, the basis of experiment plans."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple, Optional

from .evidence import Block
from .signals import signal_named

#: Needed to estimate the drift between the two halves.
LEAST_BLOCKS = 4
LEAST_OSDS = 3


class Noise(NamedTuple):
    """Standard deviations of the logarithm, relative to the mean of all OSDs."""

    #: Between blocks of an OSD.
    block: float
    #: Between periods of an OSD, independent of their number of blocks.
    persistent: float

    def variance(self, blocks: float) -> float:
        """Variance of a mean over ``blocks`` of one OSD in one period."""
        return self.persistent**2 + self.block**2 / blocks


@dataclass(frozen=True)
class MeasuredNoise:
    """Noise of one signal in a group."""

    group: Noise
    #: Between blocks, per OSD.
    by_osd: Mapping[int, float]


def measured_noise(signal: str, blocks: Sequence[Block]) -> Optional[MeasuredNoise]:
    """Estimate the noise from consecutive ``blocks``.

    None for too few blocks, or too few OSDs with a value in every block. The persistent part is
    the drift between the two halves; for periods longer than a half it is an underestimate.
    """
    floor = signal_named(signal).floor
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
    # The mean of k OSDs contains a k-th of each.
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
