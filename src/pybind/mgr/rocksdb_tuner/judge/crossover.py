"""What arms do to a signal, beside unchanged OSDs, where arms may swap OSDs: pure arithmetic.

Difference in differences as a linear model: an OSD's mean in a period is its own level, plus what
the period did to all, plus the effect of the arm that it is in. An OSD in a period counts as one
value, however many blocks it holds: OSDs drift apart by more than blocks within one scatter, and
blocks follow one another, so that their number says little of how certain a mean is. The spread is
taken from how OSDs of the same arm, and the controls, differ in their moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

from .experiment_limits import experiment_limits

#: Below it a column is a combination of others.
_SINGULAR = 1e-9


class Unit(NamedTuple):
    """One OSD in one period."""

    osd_id: int
    #: 0 is the baseline.
    period: int
    #: None: it runs its old option set.
    arm: Optional[str]
    #: The mean logarithm of its blocks, less what all controls did in them.
    mean: float
    blocks: int


@dataclass(frozen=True)
class Fit:
    """Effects of the arms in logarithms; ``variances`` over that of one block."""

    effects: Mapping[str, float]
    covariance: Mapping[tuple[str, str], float]
    #: Of one block of one OSD.
    variance: float
    #: Degrees of freedom of ``variance``.
    free: int

    def difference(self, arm: str, other: Optional[str]) -> tuple[float, float]:
        """How much higher ``arm`` lies than ``other`` (None: the old set), and its factor.

        The variance of the difference is the factor times ``variance``.
        """
        effect, factor = self.effects[arm], self.covariance[arm, arm]
        if other is None:
            return effect, factor
        shared = self.covariance[arm, other]
        return effect - self.effects[other], factor + self.covariance[other, other] - 2 * shared


def variance_of(blocks: float) -> float:
    """The variance of the mean of so many blocks of one OSD in one period, over that of one."""
    persistent = experiment_limits().persistent
    return persistent + (1 - persistent) / blocks


def fit(units: Sequence[Unit]) -> Optional[Fit]:
    """The effects of the arms in ``units``, least squares; None: they do not tell them."""
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
    """Takes the weighted mean of its OSD from every row, and with it the level of the OSD."""
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
    """Gauss and Jordan, with the largest pivot; None where it is singular."""
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
