"""Observation for the state machine of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ...judge.arms import Comparison
from ..rollout.observation import Observation


@dataclass(frozen=True)
class View:
    #: Of the leg under way, or of `legs.as_rollout`.
    cluster: Observation
    #: Measured blocks of the current period.
    blocks: int = 0
    #: All arms, after the last block; None: no comparison yet.
    comparison: Optional[Comparison] = None
    #: How long the experiment has been running, while managers were active.
    elapsed_s: float = 0.0
