"""The permanent record of each change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ..judge.arms import Answer
from ..judge.records import Judgement, Predicted
from ..plan.records import OPTION
from .phases import Outcome


@dataclass(frozen=True)
class ArmOutcome:
    """Effect of one arm on the objective, in percent; None: unknown, or not bounded."""

    name: str
    change_percent: Optional[float]
    low_percent: Optional[float]
    high_percent: Optional[float]
    #: The prediction at the start; None: none.
    predicted: Optional[Predicted]


@dataclass(frozen=True)
class ExperimentResult:
    """What an experiment found."""

    #: (name, option string) of each arm.
    arms: tuple[tuple[str, str], ...]
    #: The judged signal that arms were expected to improve.
    objective: str
    #: Smaller differences, as a share, counted as none.
    min_effect: float
    #: None: it ended before it could be concluded.
    answer: Optional[Answer]
    winner: Optional[str]
    #: The winner against the old option string, in percent; None: not bounded, or no winner.
    gain_percent: Optional[float]
    gain_low_percent: Optional[float]
    gain_high_percent: Optional[float]
    #: (name, reason) of each arm that ended early.
    dropped: tuple[tuple[str, str], ...]
    #: All arms that were compared.
    effects: tuple[ArmOutcome, ...] = ()
    #: Release and workload of the group, by name; None: unknown.
    release: Optional[str] = None
    workload: Optional[str] = None


@dataclass(frozen=True)
class HistoryRecord:
    """One change: actor, old and new options, and outcome.

    One record per rollout, written when it starts, and again when it ends or is rolled back.
    Compactions and experiments get one when they end: they leave options unchanged.
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
    #: Both as numbers.
    predicted: Optional[Predicted] = None
    judgement: Optional[Judgement] = None
    #: The changed option.
    option: str = OPTION
    #: None: this was no experiment.
    experiment: Optional[ExperimentResult] = None
