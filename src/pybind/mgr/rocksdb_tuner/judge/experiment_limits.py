"""Statistical limits of experiments, from ``knowledge/experiments.json``."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Optional

from ..knowledge import loader


class ExperimentLimits(NamedTuple):
    """``knowledge/experiments.json`` has the meaning and source of each field."""

    error_rate: float
    guard_share: float
    event_share: float
    power: float
    persistent: float
    spread: float
    least_arm_osds: int
    most_controls: int
    unsafe: float
    unsafe_blocks: int
    least_history_blocks: int
    default_arms: int


@lru_cache(maxsize=1)
def experiment_limits() -> ExperimentLimits:
    values = {entry['name']: entry['value'] for entry in loader.load('experiments')['experiments']}
    return ExperimentLimits(**values)


@lru_cache(maxsize=1)
def _objectives() -> dict[str, str]:
    entries = loader.load('experiments')['objectives']
    return {entry['resource']: entry['signal'] for entry in entries}


def objective_of(resource: str) -> Optional[str]:
    """The judged signal that shows relief of a resource, by its name in `status`."""
    return _objectives().get(resource)
