"""A t-test that may be looked at any time: the errors of all looks together keep to one rate.

The t-mixture of Robbins (Ann. Math. Stat. 41, 1970) and Lai (Ann. Stat. 4, 1976) in the form that
Lindon, Ham, Tingley and Bojinov (arXiv:2210.08589) give it for linear models: the ratio of the
likelihood under an effect drawn from a normal distribution to the one under none, the spread being
unknown. Without an effect its mean is 1, at every look and at the end of any rule for stopping, so
that by Ville's inequality it ever exceeds 1 / rate with a probability of at most ``rate``.

``spread`` is how far effects are expected to lie apart: the variance of the mixture, over the
variance of the estimate at this look. It decides when the test is sharpest, never its errors.
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
    """The p-value after the largest e-value of all looks so far."""
    return min(1.0, 1.0 / largest_e_value)


def critical(rate: float, free: int, spread: float) -> Optional[float]:
    """The least t that counts; None: with so few degrees of freedom none does.

    It is where ``e_value`` reaches 1 / ``rate``.
    """
    if free < 1:
        return None
    needed = math.exp(2 / (free + 1) * (math.log1p(spread) / 2 - math.log(rate)))
    left = 1 - needed / (1 + spread)
    return math.sqrt(free * (needed - 1) / left) if left > 0 else None
