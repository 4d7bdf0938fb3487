"""Verdicts, predictions and soak plans."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Optional


class Verdict(str, Enum):
    #: The expected gain was measured, and nothing got worse.
    BETTER = 'better'
    #: Nothing got worse or better.
    NO_WORSE = 'no-worse'
    WORSE = 'worse'
    INCONCLUSIVE = 'inconclusive'
    NO_DATA = 'no-data'

    @property
    def harmless(self) -> bool:
        """Whether the measurement shows that nothing got worse."""
        return self in {Verdict.BETTER, Verdict.NO_WORSE}

    @property
    def pass_or_fail(self) -> str:
        """The verdict as in the JSON and the stored state: pass, fail, inconclusive or no-data."""
        return 'pass' if self.harmless else 'fail' if self is Verdict.WORSE else str(self.value)

    @property
    def words(self) -> str:
        return 'no worse' if self is Verdict.NO_WORSE else str(self.value)


class Effect(str, Enum):
    """Effect of a change on one signal."""

    BETTER = 'better'
    SAME = 'same'
    WORSE = 'worse'
    #: Too little data so far.
    UNCLEAR = 'unclear'


@dataclass(frozen=True)
class SignalVerdict:
    """Change of one signal on the canary relative to its controls."""

    name: str
    effect: Effect
    #: None if there is nothing to compare.
    change_percent: Optional[float] = None
    #: The interval of the change; None: not bounded by the data.
    low_percent: Optional[float] = None
    high_percent: Optional[float] = None


@dataclass(frozen=True)
class Judgement:
    verdict: Verdict
    signals: tuple[SignalVerdict, ...] = ()
    #: Data still needed for a verdict, in words; empty unless inconclusive.
    missing: tuple[str, ...] = ()
    #: A cause other than the signals, such as a crash, or why there is no verdict.
    cause: Optional[str] = None


@dataclass(frozen=True)
class Predicted:
    """Predicted change of one metric in percent."""

    metric: str
    low_percent: float
    high_percent: float


class Inconclusive(str, Enum):
    """Policy for a soak that ends without a verdict."""

    WAIT = 'wait'
    PROMOTE = 'promote'
    ROLLBACK = 'rollback'


class NoBenefit(str, Enum):
    """Policy for a canary that became neither worse nor better."""

    #: Depends on the purpose of the change, see `batches.soak_for`.
    AUTO = 'auto'
    WAIT = 'wait'
    PROMOTE = 'promote'
    ROLLBACK = 'rollback'


@dataclass(frozen=True)
class SoakPlan:
    """Soak time of changed OSDs before the rollout goes on; ``most_s`` 0: no soak."""

    least_s: float = 0.0
    most_s: float = 0.0
    inconclusive: Inconclusive = Inconclusive.WAIT
    #: For each batch after the canary; None: no soak.
    batches: Optional[SoakPlan] = None
    #: For the canary only: batches follow the decision on the canary.
    no_benefit: NoBenefit = NoBenefit.AUTO
