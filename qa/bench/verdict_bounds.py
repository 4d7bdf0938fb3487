"""What independent trials of the verdict prove: shares with exact intervals. Pure.

A trial ends with a verdict (pass, better, fail) or without one (inconclusive, no data). Without one
a rollout neither goes on nor back but waits for the operator, so a soak without a verdict is an
error of one kind only: a real worsening that was not caught. Each claim is therefore about all
trials; beside it stands the same of those with a verdict.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean, stdev
from typing import Any, NamedTuple, Optional

#: Outcomes that are a verdict.
VERDICTS = frozenset({'pass', 'better', 'fail'})
#: Orders of the trials that the order of the windows is compared with.
PERMUTATIONS = 500


class Claim(NamedTuple):
    """At most, or at least, so many percent of the trials of a kind end like this."""

    kind: str
    outcomes: frozenset[str]
    bound_percent: float
    at_least: bool = False


CLAIMS: Mapping[str, Claim] = {
    'false fail': Claim('unchanged', frozenset({'fail'}), 5.0),
    'false better': Claim('unchanged', frozenset({'better'}), 5.0),
    'missed': Claim('slower', frozenset({'pass', 'better'}), 5.0),
    'caught': Claim('slower', frozenset({'fail'}), 95.0, at_least=True),
}


@dataclass(frozen=True)
class Outcome:
    """How one trial ended."""

    window: int
    verdict: str
    #: The estimated change of each signal, in percent; None: not measured.
    change_percent: Mapping[str, Optional[float]]


def interval(hits: int, of: int) -> tuple[float, float]:
    """The 95% interval of a share by Clopper and Pearson, 2.5% on either side."""
    if of == 0:
        return 0.0, 1.0

    def at_most(k: int, share: float) -> float:
        return sum(math.comb(of, i) * share**i * (1 - share) ** (of - i) for i in range(k + 1))

    def where(falls_to: float, k: int) -> float:
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if at_most(k, middle) > falls_to else (low, middle)
        return low

    low = where(0.975, hits - 1) if hits else 0.0
    high = where(0.025, hits) if hits < of else 1.0
    return low, high


def clopper_pearson(hits: int, of: int) -> tuple[float, float]:
    """The same in percent, rounded."""
    low, high = interval(hits, of)
    return round(100 * low, 1), round(100 * high, 1)


def share(hits: int, of: int) -> dict[str, Any]:
    low, high = clopper_pearson(hits, of)
    percent = round(100 * hits / of, 1) if of else None
    return {'count': hits, 'percent': percent, 'low_percent': low, 'high_percent': high}


def mean(values: Sequence[float]) -> dict[str, Optional[float]]:
    """With the standard error; the values are in percent."""
    spread = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    return {
        'mean': round(fmean(values), 1) if values else None,
        'standard_error': None if spread is None else round(spread, 1),
    }


def least_trials(errors: int, claim: Claim) -> int:
    """So many trials prove the claim in spite of so many errors."""

    def proven(of: int) -> bool:
        return _proven(claim, of - errors if claim.at_least else errors, of)

    enough = errors + 1
    while not proven(enough):
        enough *= 2
    return bisect_left(range(enough), True, key=proven)


def claims(outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, Any]:
    """What is found of each claim, by the kind of the trials."""
    found: dict[str, Any] = {}
    for name, claim in CLAIMS.items():
        ended = Counter(outcome.verdict for outcome in outcomes.get(claim.kind, ()))
        hits = sum(ended[verdict] for verdict in claim.outcomes)
        of = sum(ended.values())
        with_verdict = sum(ended[verdict] for verdict in VERDICTS)
        found[name] = {
            'kind': claim.kind,
            'bound_percent': claim.bound_percent,
            'at_least': claim.at_least,
            'of_all': {'trials': of, **share(hits, of)},
            'of_verdicts': {'trials': with_verdict, **share(hits, with_verdict)},
            'proven': _proven(claim, hits, of),
        }
    return found


def _proven(claim: Claim, hits: int, of: int) -> bool:
    low, high = interval(hits, of)
    if claim.at_least:
        return 100 * low >= claim.bound_percent
    return 100 * high <= claim.bound_percent


def together(outcomes: Sequence[Outcome], signal: str) -> dict[str, Optional[float]]:
    """Whether trials of one window err together: the intraclass correlation of their estimates.

    0 if a window says nothing about its trials. ``chance`` is how often it would be as high if they
    had been in any other window.
    """
    values: dict[int, list[float]] = {}
    for outcome in outcomes:
        change = outcome.change_percent.get(signal)
        if change is not None:
            values.setdefault(outcome.window, []).append(math.log1p(change / 100))
    sizes = [len(of_window) for of_window in values.values()]
    pool = [value for of_window in values.values() for value in of_window]
    correlation = _intraclass(pool, sizes)
    if correlation is None:
        return {'correlation': None, 'chance': None}
    found = _between(pool, sizes)
    lots = random.Random(0)
    as_high = 0
    for _ in range(PERMUTATIONS):
        lots.shuffle(pool)
        as_high += _between(pool, sizes) >= found
    return {
        'correlation': round(correlation, 2),
        'chance': round((as_high + 1) / (PERMUTATIONS + 1), 2),
    }


def _intraclass(values: Sequence[float], sizes: Sequence[int]) -> Optional[float]:
    """ICC(1) of a one-way analysis of variance; None: fewer than two groups, or no spread."""
    groups, of = len(sizes), len(values)
    if groups < 2 or of <= groups:
        return None
    mean = fmean(values)
    between = _between(values, sizes) - of * mean**2
    within = sum((value - mean) ** 2 for value in values) - between
    between, within = between / (groups - 1), within / (of - groups)
    # The size of groups of equal size that would be as informative
    size = (of - sum(n * n for n in sizes) / of) / (groups - 1)
    spread = between + (size - 1) * within
    return (between - within) / spread if spread else None


def _between(values: Sequence[float], sizes: Sequence[int]) -> float:
    """The sum of squares of the groups' means; all else is the same in any order."""
    ends = list(accumulate(sizes))
    return sum(sum(values[end - size : end]) ** 2 / size for end, size in zip(ends, sizes))
