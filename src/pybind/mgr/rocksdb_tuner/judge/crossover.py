"""Effects of arms on a signal relative to unchanged OSDs, in a crossover design. Pure.

Difference in differences as a linear model: an OSD's mean in a period is the OSD's own level, plus
a period effect common to all OSDs, plus the effect of its arm. An OSD counts once per period,
regardless of its number of blocks: blocks are autocorrelated and OSDs drift apart by more than
their blocks scatter, so the number of blocks indicates little about the precision of the mean. The
variance is estimated from the differences among OSDs of the same arm and among the controls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

from .signals import experiment_limits

#: A smaller pivot makes a column a linear combination of others.
_SINGULAR = 1e-9


class Unit(NamedTuple):
    """One OSD in one period."""

    osd_id: int
    #: 0 is the baseline.
    period: int
    #: None: the OSD runs its old option string.
    arm: Optional[str]
    #: Mean logarithm of its blocks, relative to the controls.
    mean: float
    blocks: int


@dataclass(frozen=True)
class Fit:
    """Effects of the arms in logarithms; ``covariance`` in units of ``variance``."""

    effects: Mapping[str, float]
    covariance: Mapping[tuple[str, str], float]
    #: Variance of one block of one OSD.
    variance: float
    #: Degrees of freedom of ``variance``.
    free: int

    def difference(self, arm: str, other: Optional[str]) -> tuple[float, float]:
        """Difference of ``arm`` and ``other`` (None: the old option string), and its factor.

        The variance of the difference is the factor times ``variance``.
        """
        effect, factor = self.effects[arm], self.covariance[arm, arm]
        if other is None:
            return effect, factor
        shared = self.covariance[arm, other]
        return effect - self.effects[other], factor + self.covariance[other, other] - 2 * shared


def variance_of(blocks: float) -> float:
    """Variance of a mean over ``blocks`` of one OSD in one period, relative to one block."""
    persistent = experiment_limits().persistent
    return persistent + (1 - persistent) / blocks


def fit(units: Sequence[Unit]) -> Optional[Fit]:
    """Least-squares effects of the arms in ``units``; None if they are not identifiable."""
    arms = sorted({unit.arm for unit in units if unit.arm is not None})
    periods = sorted({unit.period for unit in units})[1:]
    columns = len(arms) + len(periods)
    weights = [1 / variance_of(unit.blocks) for unit in units]
    rows = [
        [
            *(float(unit.arm == arm) for arm in arms),
            *(float(unit.period == period) for period in periods),
            unit.mean,
        ]
        for unit in units
    ]
    _within_osds(units, weights, rows)
    products = [
        [sum(w * row[i] * row[j] for w, row in zip(weights, rows)) for j in range(columns + 1)]
        for i in range(columns)
    ]
    inverse = _inverse([row[:columns] for row in products])
    if inverse is None or not arms:
        return None
    solution = [sum(i * row[columns] for i, row in zip(line, products)) for line in inverse]
    left = (
        w * (row[columns] - sum(a * b for a, b in zip(row, solution))) ** 2
        for w, row in zip(weights, rows)
    )
    free = len(units) - len({unit.osd_id for unit in units}) - columns
    return Fit(
        dict(zip(arms, solution)),
        {(a, b): inverse[i][j] for i, a in enumerate(arms) for j, b in enumerate(arms)},
        sum(left) / free if free > 0 else 0.0,
        free,
    )


def _within_osds(
    units: Sequence[Unit], weights: Sequence[float], rows: Sequence[list[float]]
) -> None:
    """Subtract each OSD's weighted mean from its rows, which removes the OSD's own level."""
    by_osd: dict[int, list[int]] = {}
    for at, unit in enumerate(units):
        by_osd.setdefault(unit.osd_id, []).append(at)
    for places in by_osd.values():
        total = sum(weights[at] for at in places)
        middle = [
            sum(weights[at] * rows[at][column] for at in places) / total
            for column in range(len(rows[0]))
        ]
        for at in places:
            rows[at][:] = [value - mean for value, mean in zip(rows[at], middle)]


def _inverse(matrix: Sequence[Sequence[float]]) -> Optional[list[list[float]]]:
    """Gauss-Jordan elimination with partial pivoting; None for a singular matrix."""
    size = len(matrix)
    lines = [[*row, *(float(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda line: abs(lines[line][column]))
        if abs(lines[pivot][column]) < _SINGULAR:
            return None
        lines[column], lines[pivot] = lines[pivot], lines[column]
        scale = lines[column][column]
        lines[column] = [value / scale for value in lines[column]]
        for line in range(size):
            factor = lines[line][column]
            if line != column and factor:
                lines[line] = [a - factor * b for a, b in zip(lines[line], lines[column])]
    return [line[size:] for line in lines]
