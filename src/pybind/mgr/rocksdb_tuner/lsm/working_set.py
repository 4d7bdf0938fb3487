"""How many objects clients write to, told by what RocksDB writes for them. Pure.

The model has one parameter that no daemon tells and that what an OSD writes depends on: the number
of objects that are written to. Before anything is measured it may be any up to what the database
has room for, each order of magnitude as likely as another. Each number predicts a write
amplification; the measured one lies around that of the true number as far as measured ones lay
around predicted ones on the OSDs that the model was calibrated on. So each number is as likely as
what was measured is under it (Bayes).

The long window of an OSD is used whole each time, so nothing is to be kept from one time to the
next, and a manager that takes over knows the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Optional

from .calibration import Quantity, calibration
from .model import TreeInputs, model, most_objects
from .records import Estimate, TreeModel

__all__ = ['Measured', 'WorkingSet', 'working_set']

#: Of numbers of objects that are tried, evenly by order of magnitude.
_STEPS = 25
#: Fewer objects than this write as little as one does.
_LEAST_OBJECTS = 10.0
#: So many compactions of level 0 must lie in a window for its amplification to mean anything.
_LEAST_COMPACTIONS = 3
#: Standard deviations from every number, beyond which the model does not explain what was measured.
_FARTHEST = 3.0
#: The ends of an interval that holds 80 %.
_LOW, _HIGH = 0.1, 0.9


@dataclass(frozen=True)
class Measured:
    """What an OSD wrote over its long window under the options that it runs."""

    #: (WAL + SST bytes) / WAL bytes
    write_amplification: float
    window_s: float


@dataclass(frozen=True)
class WorkingSet:
    #: Before anything was measured.
    prior: Estimate
    #: With what was measured; None: too little was, or it tells nothing.
    fitted: Optional[Estimate]


@lru_cache(maxsize=64)
def working_set(inputs: TreeInputs, measured: Optional[Measured]) -> Optional[WorkingSet]:
    """Objects written to, before and after what was measured; ``inputs`` are as the OSD runs.

    None where what is written does not depend on them, or the size of the database is not known.
    Raises what `model` raises.
    """
    most = most_objects(inputs)
    if most is None or most <= _LEAST_OBJECTS:
        return None
    span = math.log(most / _LEAST_OBJECTS)
    numbers = [_LEAST_OBJECTS * math.exp(span * i / (_STEPS - 1)) for i in range(_STEPS)]
    prior = _estimate(numbers, [1.0] * _STEPS)
    tree = model(inputs)
    if measured is None or not _long_enough(tree, measured.window_s):
        return WorkingSet(prior, None)
    quantity = calibration().quantities['write_amplification']
    middle, spread = _error_of(quantity)
    distances = [
        (math.log(measured.write_amplification / _predicted(inputs, number)) - middle) / spread
        for number in numbers
    ]
    if min(map(abs, distances)) > _FARTHEST:
        return WorkingSet(prior, None)
    return WorkingSet(prior, _estimate(numbers, [math.exp(-d * d / 2) for d in distances]))


def _predicted(inputs: TreeInputs, objects: float) -> float:
    write = model(replace(inputs, load=replace(inputs.load, objects=objects))).amplification.write
    # The workload and the size of the database are known here.
    assert write is not None
    return write.value


def _long_enough(tree: TreeModel, window_s: float) -> bool:
    """Whether level 0 of the busiest column family was compacted often enough in that time."""
    busiest = max(tree.column_families, key=lambda column: column.share or 0.0)
    if busiest.flush_every_s is None:
        return False
    return window_s >= _LEAST_COMPACTIONS * tree.levels.level0_files * busiest.flush_every_s


def _error_of(quantity: Quantity) -> tuple[float, float]:
    """Mean and deviation of the logarithm of measured over predicted, normal around 80 %."""
    low, high = math.log(quantity.low), math.log(quantity.high)
    return (low + high) / 2, (high - low) / 2 / NormalDist().inv_cdf(_HIGH)


def _estimate(numbers: Sequence[float], weights: Sequence[float]) -> Estimate:
    """Median and the ends of the middle 80 % of numbers that are as likely as their weights.

    The weight of a number is spread over half the way to the next ones, by order of magnitude.
    """
    step = math.log(numbers[1] / numbers[0])

    def quantile(part: float) -> float:
        left = part * sum(weights)
        for number, weight in zip(numbers, weights):
            if left <= weight:
                found = number * math.exp(step * (left / weight - 0.5))
                return min(max(found, numbers[0]), numbers[-1])
            left -= weight
        return numbers[-1]

    return Estimate(quantile(_LOW), quantile(0.5), quantile(_HIGH))
