"""Verdicts, predictions and soak plans.

Duration of a soak, and when it ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Optional

from ..notes import Amount, Named, Picked, Unbounded
from ..observe.report_interval import DEFAULT, ReportInterval
from .signals import limits
from .statistics import percent


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

    name: Annotated[
        str, 'Name of the signal, as in knowledge/judged_signals.json.', Named('signal')
    ]
    effect: Annotated[Effect, 'Effect; "unclear": too little data.']
    change_percent: Annotated[
        Optional[float],
        Named('estimate_percent'),
        'Most likely change relative to the controls; negative is better. null: unknown.',
    ] = None
    low_percent: Annotated[Optional[float], 'Lower end of the interval; null: unbounded.'] = None
    high_percent: Annotated[Optional[float], 'Upper end of the interval; null: unbounded.'] = None

    @classmethod
    def of(
        cls, name: str, effect: Effect, estimate: float, half_width: Optional[float]
    ) -> SignalVerdict:
        """From logarithms; ``half_width`` of the interval, None: unbounded."""
        if half_width is None:
            return cls(name, effect, percent(estimate))
        ends = (estimate, estimate - half_width, estimate + half_width)
        return cls(name, effect, *map(percent, ends))


@dataclass(frozen=True)
class Judgement:
    """Basis of a verdict."""

    verdict: Verdict
    signals: Annotated[tuple[SignalVerdict, ...], 'Effect of the change on each signal.'] = ()
    #: Data still needed for a verdict, in words; empty unless inconclusive.
    missing: Annotated[tuple[str, ...], 'Data missing for a verdict, in words.'] = ()
    #: A cause other than the signals, such as a crash, or why there is no verdict.
    cause: Annotated[Optional[str], 'Cause of the verdict other than the signals; null: none.'] = (
        None
    )

    @property
    def better(self) -> Annotated[bool, 'Whether the verdict is "better".']:
        return self.verdict is Verdict.BETTER


@dataclass(frozen=True)
class Predicted:
    """A predicted change of one metric."""

    metric: Annotated[str, 'The metric that would change.']
    low_percent: Annotated[float, Unbounded(), 'Lower end of the predicted change, in percent.']
    high_percent: Annotated[float, Unbounded(), 'Upper end of the predicted change.']


class Inconclusive(str, Enum):
    """Policy for a soak that ends without a verdict."""

    WAIT = 'wait'
    PROMOTE = 'promote'
    ROLLBACK = 'rollback'


@dataclass(frozen=True)
class SoakPlan:
    """Soak time of changed OSDs before the rollout goes on."""

    least_s: Annotated[
        Amount,
        Unbounded(),
        'Minimum soak time in seconds. For the canary: soak_min, or three times fill_s up to '
        'soak_max if that is longer.',
    ] = 0.0
    most_s: Annotated[Amount, Unbounded(), 'Maximum soak time in seconds; 0: no soak.'] = 0.0
    inconclusive: Annotated[Inconclusive, 'Action if there is no verdict after most_s.'] = (
        Inconclusive.WAIT
    )
    batches: Annotated[
        Optional[Annotated[SoakPlan, Picked('least_s', 'most_s', 'inconclusive')]],
        'Soak time of each later batch; null: no soak.',
    ] = None


def planned_block_s(soak: SoakPlan) -> float:
    """A short soak has enough blocks for a verdict; the stored blocks cover all of a long one."""
    block_s = max(soak.most_s / limits().least_blocks, DEFAULT.two_reports_s)
    return max(min(limits().block_s, block_s), soak.most_s / limits().most_blocks)


def block_length_s(planned_s: float, reports: ReportInterval) -> float:
    """Each block has a report of each OSD at its end that is newer than at its start."""
    return max(planned_s, 2.0 * reports.late_s)


def warm_up_s(reports: ReportInterval) -> float:
    """After a change; the first report of a block is from before the block."""
    return limits().warm_up_s + reports.late_s


def least_soak_s(soak: SoakPlan) -> float:
    """Minimum soak time for a verdict."""
    return max(soak.least_s, limits().least_blocks * planned_block_s(soak))


def baseline_most_age_s(soak: SoakPlan, spacing_s: float) -> float:
    """Maximum age of a baseline at the change: it may take a soak, and wait as long.

    ``spacing_s``: of its blocks.
    """
    return 2 * max(least_soak_s(soak), limits().least_blocks * spacing_s)


def ends_with(judgement: Judgement, after_s: float, soak: SoakPlan) -> Optional[Verdict]:
    """The verdict that ends a soak after ``after_s``; None: the soak continues.

    "worse" counts at once, any other verdict only after the minimum soak time.
    """
    if judgement.verdict is Verdict.WORSE:
        return Verdict.WORSE
    if judgement.verdict.harmless and after_s >= soak.least_s:
        return judgement.verdict
    return Verdict.INCONCLUSIVE if after_s >= soak.most_s else None


def contradiction(soak: SoakPlan) -> Optional[str]:
    """Conflict between the soak options; None if there is none.

    A pass needs the minimum soak time, and the maximum ends the soak without a verdict.
    """
    if not 0 < soak.most_s < soak.least_s:
        return None
    return (
        f'soak_min ({soak.least_s:g} s) is greater than soak_max ({soak.most_s:g} s), so no '
        'verdict is possible: change one of them, for example "ceph config set mgr '
        f'mgr/rocksdb_tuner/soak_max {soak.least_s:g}"'
    )
