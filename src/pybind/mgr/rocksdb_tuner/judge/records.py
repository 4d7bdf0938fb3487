"""Verdicts, predictions, and how long is measured for them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Optional


class Verdict(str, Enum):
    #: What was promised improved, and nothing got worse.
    BETTER = 'better'
    #: Nothing got worse, and that is all.
    NO_WORSE = 'no-worse'
    WORSE = 'worse'
    INCONCLUSIVE = 'inconclusive'
    NO_DATA = 'no-data'

    @property
    def harmless(self) -> bool:
        """Whether enough was measured to tell that nothing got worse."""
        return self in {Verdict.BETTER, Verdict.NO_WORSE}

    @property
    def pass_or_fail(self) -> str:
        """The same in the words that outside readers of the JSON, and stored state, have always
        had: "pass", "fail", "inconclusive" or "no-data".
        """
        return 'pass' if self.harmless else 'fail' if self is Verdict.WORSE else str(self.value)

    @property
    def words(self) -> str:
        return 'no worse' if self is Verdict.NO_WORSE else str(self.value)


class Effect(str, Enum):
    """What a change did to one signal."""

    BETTER = 'better'
    SAME = 'same'
    WORSE = 'worse'
    #: Not told yet: there is too little data.
    UNCLEAR = 'unclear'


@dataclass(frozen=True)
class SignalVerdict:
    """One signal: by how much the canary moved more than its controls."""

    name: str
    effect: Effect
    #: Percent; None where nothing could be compared.
    change_percent: Optional[float] = None
    #: The interval of the change; None where the data do not bound it.
    low_percent: Optional[float] = None
    high_percent: Optional[float] = None


@dataclass(frozen=True)
class Judgement:
    verdict: Verdict
    signals: tuple[SignalVerdict, ...] = ()
    #: What a verdict still lacks, in words; empty unless it is inconclusive.
    missing: tuple[str, ...] = ()
    #: What decided it beside the signals (a crash), or why there was nothing to decide.
    cause: Optional[str] = None


@dataclass(frozen=True)
class Predicted:
    """What a change was expected to do to one metric, in percent of what there was."""

    metric: str
    low_percent: float
    high_percent: float


class Inconclusive(str, Enum):
    """What follows where the soak ended without a verdict."""

    WAIT = 'wait'
    PROMOTE = 'promote'
    ROLLBACK = 'rollback'


class NoBenefit(str, Enum):
    """What follows where a canary got no worse, and no better either."""

    #: By the purpose of the change: see `batches.soak_for`.
    AUTO = 'auto'
    WAIT = 'wait'
    PROMOTE = 'promote'
    ROLLBACK = 'rollback'


@dataclass(frozen=True)
class SoakPlan:
    """How long changed OSDs are watched before others follow; ``most_s`` 0: not at all."""

    least_s: float = 0.0
    most_s: float = 0.0
    inconclusive: Inconclusive = Inconclusive.WAIT
    #: The same for each batch after the canary; None: these are not watched.
    batches: Optional[SoakPlan] = None
    #: For the canary alone: a batch follows what was decided for the canary.
    no_benefit: NoBenefit = NoBenefit.AUTO
