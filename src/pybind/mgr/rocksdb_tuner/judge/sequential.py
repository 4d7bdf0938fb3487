"""An always-valid t-test: one error rate covers all evaluations of the data together.

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
from typing import Optional


def e_value(t: float, free: int, spread: float) -> float:
    """The evidence for an effect in a t statistic with ``free`` degrees of freedom."""
    squared = t * t / free
    logarithm = (free + 1) / 2 * (math.log1p(squared) - math.log1p(squared / (1 + spread)))
    return math.exp(logarithm - math.log1p(spread) / 2)


def always_valid_p(largest_e_value: float) -> float:
    """The p-value for the largest e-value so far."""
    return min(1.0, 1.0 / largest_e_value)


def critical(rate: float, free: int, spread: float) -> Optional[float]:
    """Critical t, where ``e_value`` reaches 1 / ``rate``.

    None if no t does with so few degrees of freedom.
    """
    if free < 1:
        return None
    needed = math.exp(2 / (free + 1) * (math.log1p(spread) / 2 - math.log(rate)))
    left = 1 - needed / (1 + spread)
    return math.sqrt(free * (needed - 1) / left) if left > 0 else None
