"""Number of objects that clients write to, estimated from the write amplification. Pure.

The model has one parameter that no daemon reports: the number of objects that are written to. The
prior is log-uniform up to the maximum for the size of the database. Each number predicts a write
amplification; its likelihood follows from the measured one and the model's calibration error
(Bayes). The length of the PG log, which is still growing on a young OSD, is a second parameter.

Every estimate uses the whole long window, so there is no state to carry over, and another mgr gets
the same result after a failover.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple, Optional

from .calibration import Quantity, calibration
from .model import TreeInputs, amplification_of, model, most_objects
from .population import LOG_ENTRIES
from .records import Estimate, TreeModel

__all__ = ['Measured', 'WorkingSet', 'working_set']

#: Numbers of objects that are modeled, evenly spaced on a log scale.
_STEPS = 12
#: Interpolated numbers per modeled one.
_FINER = 7
#: Length of the PG log relative to its target, with its prior probability.
_LOG_PARTS = ((1.0, 0.7), (0.3, 0.1), (0.1, 0.1), (0.03, 0.1))
#: Fewer objects make no difference.
_LEAST_OBJECTS = 10.0
#: Minimum number of level 0 compactions in a window for a meaningful amplification.
_LEAST_COMPACTIONS = 3
#: Standard deviations from every number beyond which the model does not explain the measurement.
_FARTHEST = 3.0
#: The ends of an 80% interval.
_LOW, _HIGH = 0.1, 0.9


@dataclass(frozen=True)
class Measured:
    """Writes of an OSD over its long window under its running options."""

    #: (WAL + SST bytes) / WAL bytes
    write_amplification: float
    window_s: float


@dataclass(frozen=True)
class WorkingSet:
    #: Without a measurement.
    prior: Estimate
    #: With the measurement; None: insufficient or inconclusive.
    fitted: Optional[Estimate]
    #: Most likely length of all PG logs together; None without ``fitted``.
    log_entries: Optional[float] = None


class _Case(NamedTuple):
    """A number of objects and a PG log length, with their weight."""

    objects: float
    log_entries: float
    weight: float


@lru_cache(maxsize=64)
def working_set(inputs: TreeInputs, measured: Optional[Measured]) -> Optional[WorkingSet]:
    """Prior and posterior number of objects; ``inputs``: the OSD's running options.

    None if the writes do not depend on it, or the database size is unknown. Raises what `model`
    raises.
    """
    rooms = {entries: most_objects(_with_log(inputs, entries)) for entries in _logs(inputs)}
    known_rooms = [room for room in rooms.values() if room is not None]
    most = max(known_rooms, default=0.0)
    if most <= _LEAST_OBJECTS:
        return None
    numbers = _evenly(most, _STEPS * _FINER)
    # A shorter PG log leaves room for more objects.
    before = [
        _Case(number, entries, part)
        for entries, part in _logs(inputs).items()
        for number in numbers
        if number <= (rooms[entries] or 0.0) * (1 + 1e-9)
    ]
    prior = _objects(numbers, before)
    if measured is None or not _long_enough(model(inputs), measured.window_s):
        return WorkingSet(prior, None)
    middle, spread = _error_of(calibration().quantities['write_amplification'])
    written = math.log(measured.write_amplification) - middle
    predicted = {n: _Predicted(_with_log(inputs, n), most) for n in _logs(inputs)}
    distances = [
        (written - predicted[case.log_entries].logarithm(case.objects)) / spread for case in before
    ]
    if min(map(abs, distances)) > _FARTHEST:
        return WorkingSet(prior, None)
    after = [
        case._replace(weight=case.weight * math.exp(-d * d / 2))
        for case, d in zip(before, distances)
    ]
    likeliest = max(
        _logs(inputs), key=lambda n: sum(case.weight for case in after if case.log_entries == n)
    )
    return WorkingSet(prior, _objects(numbers, after), likeliest)


def _evenly(most: float, steps: int) -> list[float]:
    """Numbers up to ``most``, evenly spaced on a log scale."""
    span = math.log(most / _LEAST_OBJECTS)
    return [_LEAST_OBJECTS * math.exp(span * i / (steps - 1)) for i in range(steps)]


class _Predicted:
    """Write amplification by number of objects: modeled at some, interpolated in between."""

    def __init__(self, inputs: TreeInputs, most: float) -> None:
        numbers = _evenly(most, _STEPS)
        self._step = math.log(numbers[1] / numbers[0])
        self._logarithms = [math.log(self._modeled(inputs, number)) for number in numbers]

    @staticmethod
    def _modeled(inputs: TreeInputs, objects: float) -> float:
        load = replace(inputs.load, objects=objects)
        write = amplification_of(replace(inputs, load=load)).write
        # Workload and database size are known here.
        assert write is not None
        return write.value

    def logarithm(self, objects: float) -> float:
        place = math.log(objects / _LEAST_OBJECTS) / self._step
        lower = min(int(place), len(self._logarithms) - 2)
        low, high = self._logarithms[lower], self._logarithms[lower + 1]
        return low + (high - low) * (place - lower)


def _logs(inputs: TreeInputs) -> Mapping[float, float]:
    """Possible lengths of all PG logs together, with their prior probabilities.

    Logs grow to their target length; those of young OSDs and new pools are shorter.
    """
    given = inputs.load.log_entries
    if given is not None:
        return {given: 1.0}
    return {part * LOG_ENTRIES: weight for part, weight in _LOG_PARTS}


def _with_log(inputs: TreeInputs, log_entries: float) -> TreeInputs:
    return replace(inputs, load=replace(inputs.load, log_entries=log_entries))


def _objects(numbers: Sequence[float], cases: Sequence[_Case]) -> Estimate:
    """The marginal distribution over all log lengths."""
    weights = dict.fromkeys(numbers, 0.0)
    for case in cases:
        weights[case.objects] += case.weight
    return _estimate(numbers, list(weights.values()))


def _long_enough(tree: TreeModel, window_s: float) -> bool:
    """Whether the window has enough level 0 compactions of the busiest column family."""
    busiest = max(tree.column_families, key=lambda column: column.share or 0.0)
    if busiest.flush_every_s is None:
        return False
    return window_s >= _LEAST_COMPACTIONS * tree.levels.level0_files * busiest.flush_every_s


def _error_of(quantity: Quantity) -> tuple[float, float]:
    """Mean and standard deviation of log(measured / predicted), assumed normal."""
    low, high = math.log(quantity.low), math.log(quantity.high)
    return (low + high) / 2, (high - low) / 2 / NormalDist().inv_cdf(_HIGH)


def _estimate(numbers: Sequence[float], weights: Sequence[float]) -> Estimate:
    """Median and 80% interval of weighted numbers.

    The weight of a number is spread halfway to its neighbors on a log scale.
    """
    step = math.log(numbers[1] / numbers[0])

    def quantile(part: float) -> float:
        left = part * sum(weights)
        for number, weight in zip(numbers, weights):
            if weight and left <= weight:
                found = number * math.exp(step * (left / weight - 0.5))
                return min(max(found, numbers[0]), numbers[-1])
            left -= weight
        return numbers[-1]

    return Estimate(quantile(_LOW), quantile(0.5), quantile(_HIGH))
