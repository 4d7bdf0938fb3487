"""Noise of unchanged OSDs, the basis of experiment plans, from blocks of their history. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import and_
from statistics import fmean
from typing import NamedTuple, Optional

from ..observe.load_history import KeptWork, Work
from .evidence import Block, Measured, logarithms
from .signals import limits, signal_named

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
    half, found = len(blocks) // 2, [logarithms(signal_named(signal), block) for block in blocks]
    osds = sorted({*found[0]}.intersection(*found)) if found else []
    known = {n: [values[n] for values in found] for n in osds}
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


#: Intervals of the history vary with the sampling interval.
_ABOUT = 0.9


def history_blocks(kept: KeptWork, block_s: float) -> tuple[Block, ...]:
    """Consecutive blocks of about ``block_s``, oldest first; the last one ends with the history."""
    found: list[Block] = []
    end = len(kept.times_s) - 1
    for begin in range(end - 1, -1, -1):
        if kept.times_s[end] - kept.times_s[begin] < _ABOUT * block_s:
            continue
        found.append(Block({n: _measured(work[begin:end]) for n, work in kept.by_osd.items()}))
        end = begin
    return tuple(reversed(found))


def undisturbed(blocks: Sequence[Block], signal: str, least: int) -> tuple[Block, ...]:
    """The newest of ``blocks`` without restarts and gaps.

    An OSD without a value in every block has no noise, so more than the ``least`` blocks are only
    taken if that costs at most a tenth of the OSDs.
    """
    known = (frozenset(logarithms(signal_named(signal), block)) for block in reversed(blocks))
    # Of so many of the newest blocks.
    osds = [len(complete) for complete in accumulate(known, and_)]
    enough = max(LEAST_OSDS, 0.9 * osds[least - 1] if len(osds) >= least else 0.0)
    return tuple(blocks[len(blocks) - sum(count >= enough for count in osds) :])


def _measured(work: Sequence[Work]) -> Measured:
    def mean(amount: str, count: str, unit: float) -> Optional[float]:
        """None: not known of every interval, or too few writes."""
        amounts, counts = ([getattr(one, name) for one in work] for name in (amount, count))
        if None in amounts + counts or sum(counts) < limits().least_writes:
            return None
        return float(sum(amounts) * unit / sum(counts))

    return Measured(
        op_w_latency_ms=mean('write_s', 'writes', 1e3),
        kv_sync_ms_per_txn=mean('kv_sync_s', 'txns', 1e3),
        db_bytes_per_txn=mean('db_bytes', 'txns', 1.0),
        db_used_bytes=work[-1].db_used_bytes,
    )
