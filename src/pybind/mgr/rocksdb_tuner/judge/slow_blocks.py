"""Test whether OSDs of an arm have slow events in more blocks than the controls. Pure.

E-values for two Bernoulli streams by Turner, Ly and Grünwald (arXiv:2106.02693): per block, the
likelihood under two rates, estimated from the previous blocks, over the likelihood under their
common rate. Without a difference the mean is at most 1, even if the same events hit all OSDs at
once, so the test may be evaluated after every block. It ignores that an OSD's events cluster in
consecutive blocks; hence its small share of the error rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from .evidence import Block
from .records import Effect, SignalVerdict
from .signals import JudgedSignal

#: Blocks with events, and without.
_Count = tuple[float, float]
#: Prior of both streams.
_PRIOR: _Count = (0.5, 1.5)


def slow_blocks(
    signal: JudgedSignal,
    before: Sequence[Block],
    after: Iterable[tuple[Block, Sequence[int]]],
    controls: Sequence[int],
    rate: float,
) -> SignalVerdict:
    """``after``: blocks, each with its OSDs in the arm.

    OSDs with such events before the change are not counted.
    """
    quiet = [n for n in controls if _quiet(signal, before, n)]
    ours, others = _PRIOR, _PRIOR
    evidence = most = 0.0
    for block, osds in after:
        mine = _events(signal, [(block, [n for n in osds if _quiet(signal, before, n)])])
        theirs = _events(signal, [(block, quiet)])
        if sum(mine) and sum(theirs):
            evidence += _log_e_value(mine, theirs, _share(ours), _share(others))
            most = max(most, evidence)
            ours = ours[0] + mine[0], ours[1] + mine[1]
            others = others[0] + theirs[0], others[1] + theirs[1]
    if ours == _PRIOR:
        return SignalVerdict(signal.name, Effect.UNCLEAR)
    more = _share(_less_prior(ours)) - _share(_less_prior(others))
    worse = more > signal.tolerance and most >= -math.log(rate)
    return SignalVerdict(signal.name, Effect.WORSE if worse else Effect.SAME, more * 100)


def _quiet(signal: JudgedSignal, before: Sequence[Block], osd_id: int) -> bool:
    found = _events(signal, [(block, (osd_id,)) for block in before])
    return found[0] <= signal.tolerance * sum(found)


def _events(signal: JudgedSignal, spans: Iterable[tuple[Block, Sequence[int]]]) -> _Count:
    values = [getattr(block.of(n), signal.name) for block, osds in spans for n in osds]
    known = [value > 0 for value in values if value is not None]
    return sum(known), len(known) - sum(known)


def _less_prior(count: _Count) -> _Count:
    return count[0] - _PRIOR[0], count[1] - _PRIOR[1]


def _share(count: _Count) -> float:
    return count[0] / sum(count)


def _log_e_value(mine: _Count, theirs: _Count, ours: float, others: float) -> float:
    """Log e-value of one block."""
    if ours <= others:
        return 0.0
    total = sum(mine) + sum(theirs)
    both = (sum(mine) * ours + sum(theirs) * others) / total
    return (
        mine[0] * math.log(ours / both)
        + mine[1] * math.log((1 - ours) / (1 - both))
        + theirs[0] * math.log(others / both)
        + theirs[1] * math.log((1 - others) / (1 - both))
    )
