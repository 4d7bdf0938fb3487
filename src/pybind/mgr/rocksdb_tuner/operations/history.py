"""What is kept of every change for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ..judge.records import Judgement, Predicted
from ..plan.records import OPTION
from .phases import Outcome


@dataclass(frozen=True)
class HistoryRecord:
    """One change: by whom, from what to what, and what came of it.

    There is one record per rollout; it is written when the rollout starts and again when it ends
    or is rolled back.
    """

    rollout_id: str
    #: Seconds since the epoch at which it was started.
    time_s: float
    recommendation_id: str
    who: str
    #: What the first OSD ran before, and what it was to run: string and annex together.
    options_from: str
    options_to: str
    actor: str
    outcome: Outcome
    #: What happened, where it did not go as planned.
    reason: Optional[str]
    prediction: Optional[str]
    #: In words; None: nothing was measured.
    measured: Optional[str]
    #: The same two in numbers; None also in what an older version of the module stored.
    predicted: Optional[Predicted] = None
    judgement: Optional[Judgement] = None
    #: Which of the two options was changed.
    option: str = OPTION
