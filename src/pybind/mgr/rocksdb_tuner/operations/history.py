"""The permanent record of each change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ..judge.records import Judgement, Predicted
from ..plan.records import OPTION
from .phases import Outcome


@dataclass(frozen=True)
class HistoryRecord:
    """One change: actor, old and new options, and outcome.

    One record per rollout, written when it starts, and again when it ends or is rolled back.
    """

    rollout_id: str
    #: Start time, in seconds since the epoch.
    time_s: float
    recommendation_id: str
    who: str
    #: Running and target options of the first OSD, option string and annex combined.
    options_from: str
    options_to: str
    actor: str
    outcome: Outcome
    #: Why it did not go as planned.
    reason: Optional[str]
    prediction: Optional[str]
    #: As text; None: nothing was measured.
    measured: Optional[str]
    #: Both as numbers; None also in records of older module versions.
    predicted: Optional[Predicted] = None
    judgement: Optional[Judgement] = None
    #: The changed option.
    option: str = OPTION
