"""Means and shares of trials, with what is uncertain about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any, Optional


def mean(values: Sequence[float]) -> dict[str, Optional[float]]:
    """With the standard error; the values are in percent."""
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    return {
        'mean': round(fmean(values), 1) if values else None,
        'standard_error': None if error is None else round(error, 1),
    }


def share(hits: int, of: int) -> dict[str, Any]:
    """With its 95% interval by Clopper and Pearson, 2.5% on either side, in percent."""

    def at_most(k: int, part: float) -> float:
        return sum(math.comb(of, i) * part**i * (1 - part) ** (of - i) for i in range(k + 1))

    def where(falls_to: float, k: int) -> float:
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if at_most(k, middle) > falls_to else (low, middle)
        return round(100 * low, 1)

    return {
        'trials': of,
        'count': hits,
        'percent': round(100 * hits / of, 1) if of else None,
        'low_percent': where(0.975, hits - 1) if hits else 0.0,
        'high_percent': where(0.025, hits) if hits < of else 100.0,
    }
