"""Robust statistics of two short time series, without assumptions about their distribution.

The Hodges-Lehmann shift with the interval of the Mann-Whitney rank test, as in Hollander, Wolfe and
Chicken, Nonparametric Statistical Methods, 4.2 and 4.3. That interval assumes independent values;
it is widened by the autocorrelation of the series.

An always-valid t-test: one error rate covers all evaluations of the data together.

The t-mixture of Robbins (Ann. Math. Stat. 41, 1970) and Lai (Ann. Stat. 4, 1976) in the form that
Lindon, Ham, Tingley and Bojinov (arXiv:2210.08589) give for linear models: the likelihood ratio of
an effect drawn from a normal distribution to no effect, with unknown variance. Without an effect
its mean is at most 1 at every evaluation and under any stopping rule, so by Ville's inequality it
ever exceeds 1 / ``rate`` with probability at most ``rate``.

``spread`` is the expected size of effects: the variance of the mixture over the variance of the
current estimate. It affects the power of the test, not its error rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median
from typing import Optional

#: Higher estimates cannot be distinguished from a random walk.
_MOST_CORRELATED = 0.9
#: Larger exponents overflow.
_LARGEST = 700.0


def percent(logarithm: float) -> float:
    """The relative change, in percent, for a difference of logarithms."""
    # A stored one may be any number.
    return math.expm1(min(logarithm, _LARGEST)) * 100


def shift(
    before: Sequence[float], after: Sequence[float], z: float
) -> tuple[float, Optional[float]]:
    """Location shift from ``before`` to ``after``, both non-empty; ``z`` is the normal quantile.

    With the half-width of its interval; None: the series are too short, or too correlated.
    """
    differences = sorted(b - a for a in before for b in after)
    estimate = median(differences)
    m, n = len(before), len(after)
    spread = math.sqrt(_inflation(before, after) * m * n * (m + n + 1) / 12)
    rank = math.floor(m * n / 2 - z * spread)
    if rank < 1:
        return estimate, None
    low, high = differences[rank - 1], differences[m * n - rank]
    return estimate, max(high - estimate, estimate - low)


def chance_of_as_many(found: int, of: int, found_elsewhere: int, of_elsewhere: int) -> float:
    """Fisher's exact test: probability of at least ``found`` of ``of`` at equal rates."""
    all_found, total = found + found_elsewhere, of + of_elsewhere
    ways = math.comb(total, all_found)
    return sum(
        math.comb(of, k) * math.comb(of_elsewhere, all_found - k) / ways
        for k in range(found, min(of, all_found) + 1)
    )


def _inflation(before: Sequence[float], after: Sequence[float]) -> float:
    """Variance inflation of the mean by autocorrelation.

    (1 + r) / (1 - r) for a first-order process, r with Kendall's correction for short series: the
    estimate of r is biased by -(1 + 4 r) / n.
    """
    centered = [[v - fmean(part) for v in part] for part in (before, after)]
    variance = sum(v * v for part in centered for v in part)
    if variance == 0:
        return 1.0
    products = sum(a * b for part in centered for a, b in zip(part, part[1:]))
    found = products / variance
    shortest = min(len(before), len(after))
    r = min(max(found + (1 + 4 * found) / shortest, 0.0), _MOST_CORRELATED)
    return (1 + r) / (1 - r)


def critical(rate: float, free: int, spread: float) -> Optional[float]:
    """The t of an estimate from which the likelihood ratio exceeds 1 / ``rate``.

    None if no t does with so few degrees of freedom.
    """
    if free < 1:
        return None
    needed = math.exp(2 / (free + 1) * (math.log1p(spread) / 2 - math.log(rate)))
    left = 1 - needed / (1 + spread)
    return math.sqrt(free * (needed - 1) / left) if left > 0 else None
