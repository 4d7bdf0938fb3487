"""Least squares with intervals, in the standard library: pages are made without numpy. Pure."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

#: Of the integral in `student`, and below which a number is rounding.
_STEPS, _ZERO = 200, 1e-9
Term = Mapping[Hashable, float]


@dataclass(frozen=True)
class Difference:
    value: float
    #: 0 for nothing against nothing.
    standard_error: float


@dataclass(frozen=True)
class Fit:
    """``y = sum(coefficient * x)`` over the terms of each row; which terms there are is free."""

    places: Mapping[Hashable, int]
    normal: Sequence[Sequence[float]]
    inverse: Sequence[Sequence[float]]
    coefficients: Sequence[float]
    degrees: int
    #: Of the residuals; None: there are as many terms as rows.
    variance: float | None

    def difference(self, of: Term) -> Difference | None:
        """Of a combination of the terms; None if the rows do not determine it.

        Without a variance the standard error is that of a variance of 1.
        """
        if any(name not in self.places for name, factor in of.items() if factor):
            return None
        wanted = [0.0] * len(self.places)
        for name, factor in of.items():
            if factor:
                wanted[self.places[name]] = factor
        solved = _times(self.inverse, wanted)
        if any(abs(a - b) > 1e-6 for a, b in zip(_times(self.normal, solved), wanted)):
            return None
        value = sum(a * b for a, b in zip(wanted, self.coefficients))
        spread = max(0.0, sum(a * b for a, b in zip(wanted, solved)))
        variance = 1.0 if self.variance is None else self.variance
        return Difference(value, math.sqrt(spread * variance))


def fit(rows: Sequence[Term], values: Sequence[float]) -> Fit:
    names = list(dict.fromkeys(name for row in rows for name in row))
    places = {name: place for place, name in enumerate(names)}
    normal = [[0.0] * len(names) for _ in names]
    right = [0.0] * len(names)
    for row, value in zip(rows, values):
        for name, factor in row.items():
            right[places[name]] += factor * value
            for other, second in row.items():
                normal[places[name]][places[other]] += factor * second
    inverse, rank = _inverse(normal)
    coefficients = _times(inverse, right)
    degrees = len(rows) - rank
    squares = sum(
        (value - sum(f * coefficients[places[name]] for name, f in row.items())) ** 2
        for row, value in zip(rows, values)
    )
    return Fit(
        places, normal, inverse, coefficients, degrees, squares / degrees if degrees > 0 else None
    )


def _times(matrix: Sequence[Sequence[float]], vector: Sequence[float]) -> list[float]:
    return [sum(a * b for a, b in zip(line, vector)) for line in matrix]


def _inverse(matrix: Sequence[Sequence[float]]) -> tuple[list[list[float]], int]:
    """A generalized inverse of a symmetric matrix, by sweeps, and its rank.

    A term that follows from those before it gets a coefficient of 0.
    """
    swept = [list(line) for line in matrix]
    places, rank = range(len(swept)), 0
    left = set(places)
    while left:
        place = max(left, key=lambda at: swept[at][at])
        pivot = swept[place][place]
        if pivot < _ZERO:
            break
        left.remove(place)
        rank += 1
        pivots = swept[place]
        for line in places:
            if line != place:
                factor = swept[line][place] / pivot
                swept[line] = [
                    -factor if at == place else value - factor * pivots[at]
                    for at, value in enumerate(swept[line])
                ]
        swept[place] = [1 / pivot if at == place else pivots[at] / pivot for at in places]
    inverse = [
        [0.0 if line in left or at in left else swept[line][at] for at in places] for line in places
    ]
    return inverse, rank


@lru_cache(maxsize=256)
def student(tail: float, degrees: int) -> float:
    """What Student's t exceeds with the probability ``tail``.

    With ``t = sqrt(degrees) * tan(angle)`` its density is a power of the cosine.
    """
    root = math.sqrt(degrees)
    ways = math.exp(math.lgamma(degrees / 2) - math.lgamma((degrees + 1) / 2)) * math.sqrt(math.pi)
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        if _power_of_cosine(middle, degrees - 1) / ways > tail:
            low = middle
        else:
            high = middle
    return root * math.tan(low)


def _power_of_cosine(since: float, power: int) -> float:
    """Simpson's integral of cos(x)**power up to a right angle."""
    step = (math.pi / 2 - since) / _STEPS
    total = 0.0
    for at in range(_STEPS + 1):
        weight = 1 if at in {0, _STEPS} else 4 if at % 2 else 2
        total += weight * max(0.0, math.cos(since + at * step)) ** power
    return total * step / 3
