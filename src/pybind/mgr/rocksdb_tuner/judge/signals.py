"""Judged signals and limits of verdicts, from ``knowledge/judged_signals.json``.

Statistical limits of experiments, from ``knowledge/experiments.json``.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple, Optional

from ..knowledge import loader


class JudgedSignal(NamedTuple):
    """``knowledge/judged_signals.json`` has the meaning and source of each field."""

    name: str
    title: str
    unit: str
    kind: str
    required: bool
    tolerance: float
    detects: float
    floor: float

    @property
    def precision(self) -> float:
        """The largest half-width of an interval, in logarithms, that permits a verdict."""
        return min(
            math.log1p(self.tolerance), math.log1p(self.detects) - math.log1p(self.tolerance)
        )


class Limits(NamedTuple):
    error_rate: float
    event_error_rate: float
    least_blocks: int
    least_controls: int
    least_writes: int
    most_controls: int
    block_s: float
    most_blocks: int
    warm_up_s: float
    prior_controls: float


@lru_cache(maxsize=1)
def judged_signals() -> tuple[JudgedSignal, ...]:
    entries = loader.load('judged_signals')['judged_signals']
    return tuple(
        JudgedSignal(**{field: entry[field] for field in JudgedSignal._fields}) for entry in entries
    )


def signal_named(name: str) -> JudgedSignal:
    """Raises StopIteration for a name that is not judged."""
    return next(signal for signal in judged_signals() if signal.name == name)


@lru_cache(maxsize=1)
def limits() -> Limits:
    entries = loader.load('judged_signals')['limits']
    return Limits(**{field: entries[field]['value'] for field in Limits._fields})


class ExperimentLimits(NamedTuple):
    """``knowledge/experiments.json`` has the meaning and source of each field."""

    error_rate: float
    objective_share: float
    power: float
    spread: float
    least_arm_osds: int
    most_controls: int
    share: float
    unsafe: float
    unsafe_blocks: int
    least_history_blocks: int
    default_arms: int


@lru_cache(maxsize=1)
def experiment_limits() -> ExperimentLimits:
    values = {entry['name']: entry['value'] for entry in loader.load('experiments')['experiments']}
    return ExperimentLimits(**values)


def objective_of(resource: str) -> Optional[str]:
    """The judged signal that shows relief of a resource, by its name in `status`."""
    entries = loader.load('experiments')['objectives']
    return next((entry['signal'] for entry in entries if entry['resource'] == resource), None)
