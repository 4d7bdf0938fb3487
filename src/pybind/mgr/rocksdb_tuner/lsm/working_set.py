"""How many objects clients write to, told by what RocksDB writes for them. Pure.

The model has one parameter that no daemon tells and that what an OSD writes depends on: the number
of objects that are written to. Before anything is measured it may be any up to what the database
has room for, each order of magnitude as likely as another. Each number predicts a write
amplification; the measured one lies around that of the true number as far as measured ones lay
around predicted ones on the OSDs that the model was calibrated on. So each number is as likely as
what was measured is under it (Bayes). How long the PG log is, which a young OSD's is not yet as it
is to be, is left open with it.

The long window of an OSD is used whole each time, so nothing is to be kept from one time to the
next, and a manager that takes over knows the same.
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

#: Of numbers of objects that the model is asked about, evenly by order of magnitude.
_STEPS = 12
#: And so many between two of them that the model is asked about.
_FINER = 7
#: Of the log that an OSD is to keep, how much it has, and how likely that is.
_LOG_PARTS = ((1.0, 0.7), (0.3, 0.1), (0.1, 0.1), (0.03, 0.1))
#: Fewer objects than this write as little as one does.
_LEAST_OBJECTS = 10.0
#: So many compactions of level 0 must lie in a window for its amplification to mean anything.
_LEAST_COMPACTIONS = 3
#: Standard deviations from every number, beyond which the model does not explain what was measured.
_FARTHEST = 3.0
#: The ends of an interval that holds 80%.
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
    #: In the logs of all placement groups, as goes best with ``fitted``; None without it.
    log_entries: Optional[float] = None


class _Case(NamedTuple):
    """A number of objects and a length of logs, and how likely both are."""

    objects: float
    log_entries: float
    weight: float


@lru_cache(maxsize=64)
def working_set(inputs: TreeInputs, measured: Optional[Measured]) -> Optional[WorkingSet]:
    """Objects written to, before and after what was measured; ``inputs`` are as the OSD runs.

    None where what is written does not depend on them, or the size of the database is not known.
    Raises what `model` raises.
    """
    rooms = {entries: most_objects(_with_log(inputs, entries)) for entries in _logs(inputs)}
    known_rooms = [room for room in rooms.values() if room is not None]
    most = max(known_rooms, default=0.0)
    if most <= _LEAST_OBJECTS:
        return None
    numbers = _evenly(most, _STEPS * _FINER)
    # With a shorter log there is room for more objects.
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
    """Numbers up to ``most``, evenly by order of magnitude."""
    span = math.log(most / _LEAST_OBJECTS)
    return [_LEAST_OBJECTS * math.exp(span * i / (steps - 1)) for i in range(steps)]


class _Predicted:
    """Write amplification by the number of objects: modeled for some, between them smooth."""

    def __init__(self, inputs: TreeInputs, most: float) -> None:
        numbers = _evenly(most, _STEPS)
        self._step = math.log(numbers[1] / numbers[0])
        self._logarithms = [math.log(self._modeled(inputs, number)) for number in numbers]

    @staticmethod
    def _modeled(inputs: TreeInputs, objects: float) -> float:
        load = replace(inputs.load, objects=objects)
        write = amplification_of(replace(inputs, load=load)).write
        # The workload and the size of the database are known here.
        assert write is not None
        return write.value

    def logarithm(self, objects: float) -> float:
        place = math.log(objects / _LEAST_OBJECTS) / self._step
        lower = min(int(place), len(self._logarithms) - 2)
        low, high = self._logarithms[lower : lower + 2]
        return low + (high - low) * (place - lower)


def _logs(inputs: TreeInputs) -> Mapping[float, float]:
    """Lengths that the logs may have together, and how likely each is before a measurement.

    They grow to what an OSD is to keep; those of a young OSD, or of new pools, are not there yet.
    """
    said = inputs.load.log_entries
    if said is not None:
        return {said: 1.0}
    return {part * LOG_ENTRIES: weight for part, weight in _LOG_PARTS}


def _with_log(inputs: TreeInputs, log_entries: float) -> TreeInputs:
    return replace(inputs, load=replace(inputs.load, log_entries=log_entries))


def _objects(numbers: Sequence[float], cases: Sequence[_Case]) -> Estimate:
    """Over all lengths of logs."""
    weights = dict.fromkeys(numbers, 0.0)
    for case in cases:
        weights[case.objects] += case.weight
    return _estimate(numbers, list(weights.values()))


def _long_enough(tree: TreeModel, window_s: float) -> bool:
    """Whether level 0 of the busiest column family was compacted often enough in that time."""
    busiest = max(tree.column_families, key=lambda column: column.share or 0.0)
    if busiest.flush_every_s is None:
        return False
    return window_s >= _LEAST_COMPACTIONS * tree.levels.level0_files * busiest.flush_every_s


def _error_of(quantity: Quantity) -> tuple[float, float]:
    """Mean and deviation of the logarithm of measured over predicted, normal around 80%."""
    low, high = math.log(quantity.low), math.log(quantity.high)
    return (low + high) / 2, (high - low) / 2 / NormalDist().inv_cdf(_HIGH)


def _estimate(numbers: Sequence[float], weights: Sequence[float]) -> Estimate:
    """Median and the ends of the middle 80% of numbers that are as likely as their weights.

    The weight of a number is spread over half the way to the next ones, by order of magnitude.
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
