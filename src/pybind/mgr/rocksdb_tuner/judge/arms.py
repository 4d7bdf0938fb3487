"""Comparison of an experiment's arms with unchanged OSDs and with each other. Pure.

All intervals of an experiment hold simultaneously, at every evaluation, with probability
1 - ``error_rate``: each gets its share of the rate (Bonferroni) and the width that the sequential
test needs (`judge/statistics.py`). Any conclusion drawn from them (an arm is worse, better, the
same, or ahead of another) is wrong at most that often.

When an experiment ends, and its conclusion.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import fmean
from typing import NamedTuple, Optional

from .crossover import Fit, Unit, fit
from .evidence import Block
from .noise import slow_blocks
from .records import Effect, SignalVerdict
from .signals import JudgedSignal, experiment_limits, judged_signals, limits
from .statistics import critical, percent

#: A wider half of an interval, in logarithms, counts as unbounded.
_UNBOUNDED = 10.0


@dataclass(frozen=True)
class Period:
    """A time in which no OSD changes its arm, except by a rollback.

    The blocks leave out OSDs that were rolled back or have not settled yet.
    """

    #: The OSDs of each arm; none in the baseline, which is the first period.
    arms: Mapping[str, tuple[int, ...]]
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Observed:
    """Measurements of an experiment so far."""

    #: All planned arms: dropped arms keep their share of the error rate.
    arms: tuple[str, ...]
    #: Never changed.
    controls: tuple[int, ...]
    #: The judged signal that arms are expected to improve.
    objective: str
    #: Smaller differences, as a share, count as none.
    min_effect: float
    periods: tuple[Period, ...]


class Contrast(NamedTuple):
    """Difference of two log means; None: not bounded yet."""

    estimate: float
    low: Optional[float] = None
    high: Optional[float] = None

    @property
    def below(self) -> bool:
        """Whether the whole interval is below 0."""
        return self.high is not None and self.high < 0

    @property
    def above(self) -> bool:
        return self.low is not None and self.low > 0

    @property
    def furthest(self) -> Optional[float]:
        """Upper bound of the difference in either direction, as a share."""
        if self.low is None or self.high is None:
            return None
        return math.expm1(max(-self.low, self.high))

    def within(self, share: float) -> bool:
        """Whether the two are equivalent: the difference is less than ``share``."""
        return self.furthest is not None and self.furthest < share


@dataclass(frozen=True)
class ArmResult:
    """One arm against the controls."""

    name: str
    #: Effect on the objective; None: not known yet.
    gain: Optional[Contrast]
    signals: tuple[SignalVerdict, ...]

    @property
    def worse(self) -> tuple[str, ...]:
        """Signals worse by more than their tolerance: the arm is dropped at once."""
        return tuple(signal.name for signal in self.signals if signal.effect is Effect.WORSE)


@dataclass(frozen=True)
class Comparison:
    """All arms, dropped ones included, against the old option string and each other."""

    arms: tuple[ArmResult, ...]
    #: (arm, other): objective of ``arm`` against ``other``; has both orders.
    pairs: Mapping[tuple[str, str], Contrast]


def compare(observed: Observed) -> Comparison:
    """Compare all arms. Lower is better in every judged signal."""
    fits = {
        signal.name: fit(_units(signal, observed))
        for signal in judged_signals()
        if signal.kind != 'events'
    }
    objective = fits[observed.objective]
    rate = objective_rate(len(observed.arms))
    known = () if objective is None else tuple(objective.effects)
    return Comparison(
        tuple(
            ArmResult(
                name,
                _contrast(objective, name, None, rate),
                tuple(_verdict(signal, fits, name, observed) for signal in judged_signals()),
            )
            for name in observed.arms
        ),
        {
            (arm, other): contrast
            for arm in known
            for other in known
            if arm != other and (contrast := _contrast(objective, arm, other, rate)) is not None
        },
    )


def objective_rate(arms: int) -> float:
    """Error rate of each interval of the objective: one per arm and per pair of arms."""
    limits = experiment_limits()
    share = 1 - limits.guard_share - limits.event_share
    return limits.error_rate * share / (arms + math.comb(arms, 2))


def guard_rate(arms: int, events: bool = False) -> float:
    """Error rate of each other signal in each arm."""
    limits = experiment_limits()
    kinds = [signal.kind == 'events' for signal in judged_signals()]
    if events:
        return limits.error_rate * limits.event_share / (sum(kinds) * arms)
    return limits.error_rate * limits.guard_share / ((len(kinds) - sum(kinds) - 1) * arms)


def _verdict(
    signal: JudgedSignal, fits: Mapping[str, Optional[Fit]], arm: str, observed: Observed
) -> SignalVerdict:
    arms = len(observed.arms)
    if signal.kind == 'events':
        before = observed.periods[0].blocks
        after = [(block, osds) for block, osds in _with_arm(arm, observed) if osds]
        rate = guard_rate(arms, events=True)
        return slow_blocks(signal, before, after, observed.controls, rate)
    objective = signal.name == observed.objective
    rate = objective_rate(arms) if objective else guard_rate(arms)
    contrast = _contrast(fits[signal.name], arm, None, rate)
    if contrast is None:
        return SignalVerdict(signal.name, Effect.UNCLEAR)
    return SignalVerdict(
        signal.name,
        _effect(contrast, signal.tolerance, observed.min_effect if objective else None),
        percent(contrast.estimate),
        None if contrast.low is None else percent(contrast.low),
        None if contrast.high is None else percent(contrast.high),
    )


def _effect(contrast: Contrast, tolerance: float, min_effect: Optional[float]) -> Effect:
    """``min_effect``: None for a guard, which only must not get worse."""
    tolerated = math.log1p(tolerance)
    if contrast.above and contrast.estimate > tolerated:
        return Effect.WORSE
    if min_effect is not None and contrast.within(min_effect):
        return Effect.SAME
    if contrast.below:
        return Effect.BETTER
    harmless = min_effect is None and contrast.high is not None and contrast.high <= tolerated
    return Effect.SAME if harmless else Effect.UNCLEAR


def _contrast(
    found: Optional[Fit], arm: str, other: Optional[str], rate: float
) -> Optional[Contrast]:
    if found is None or arm not in found.effects:
        return None
    estimate, factor = found.difference(arm, other)
    times = critical(rate, found.free, experiment_limits().spread / factor)
    if times is None:
        return Contrast(estimate)
    half_width = times * math.sqrt(factor * found.variance)
    if half_width > _UNBOUNDED:
        return Contrast(estimate)
    return Contrast(estimate, estimate - half_width, estimate + half_width)


def _with_arm(arm: str, observed: Observed) -> list[tuple[Block, tuple[int, ...]]]:
    """The blocks after the baseline, each with its OSDs in ``arm``."""
    return [
        (block, period.arms.get(arm, ()))
        for period in observed.periods[1:]
        for block in period.blocks
    ]


def _units(signal: JudgedSignal, observed: Observed) -> list[Unit]:
    """Each OSD in each period, relative to the controls in the same blocks."""
    values = [
        [_logarithms(signal, block) for block in period.blocks] for period in observed.periods
    ]
    own = {
        n: fmean(known)
        for n in observed.controls
        if (known := [block[n] for block in values[0] if n in block])
    }
    arm_of = [
        {n: arm for arm, osds in period.arms.items() for n in osds} for period in observed.periods
    ]
    changed = frozenset(n for arms in arm_of for n in arms)
    found: dict[tuple[int, int], list[float]] = {}
    for number, blocks in enumerate(values):
        for block in blocks:
            moved = [block[n] - own[n] for n in own if n in block]
            if len(moved) < limits().least_controls:
                continue
            in_use = (*own, *(changed if number == 0 else arm_of[number]))
            for n in in_use:
                if n in block:
                    found.setdefault((n, number), []).append(block[n] - fmean(moved))
    return _identifiable(
        [
            Unit(n, number, arm_of[number].get(n), fmean(means), len(means))
            for (n, number), means in found.items()
        ]
    )


def _identifiable(units: Sequence[Unit]) -> list[Unit]:
    """Drop OSDs without a baseline, and arms with too few OSDs to separate the two effects."""
    based = {unit.osd_id for unit in units if unit.period == 0}
    osds: dict[str, set[int]] = {}
    for unit in units:
        if unit.arm is not None and unit.osd_id in based:
            osds.setdefault(unit.arm, set()).add(unit.osd_id)
    least = experiment_limits().least_arm_osds
    enough = {arm for arm, of_arm in osds.items() if len(of_arm) >= least}
    return [u for u in units if u.osd_id in based and (u.arm is None or u.arm in enough)]


def _logarithms(signal: JudgedSignal, block: Block) -> Mapping[int, float]:
    found = ((n, getattr(measured, signal.name)) for n, measured in block.by_osd.items())
    return {n: math.log(max(v, signal.floor)) for n, v in found if v is not None and v > 0}


class Answer(str, Enum):
    #: An arm is better than the old option string.
    WINNER = 'winner'
    #: No remaining arm differs from the old option string by the minimum effect.
    NO_DIFFERENCE = 'no-difference'
    #: No arm is better by the minimum effect: each is worse, or its gain is bounded below it.
    NO_GAIN = 'no-gain'
    UNCLEAR = 'unclear'
    #: An OSD of an arm crashed or did not start.
    FAILED = 'failed'


@dataclass(frozen=True)
class Conclusion:
    answer: Answer
    winner: Optional[str] = None
    #: The winner against the old option string.
    gain: Optional[Contrast] = None
    #: The best of the other remaining arms; None if there is none.
    runner_up: Optional[str] = None
    #: The winner against the runner-up; ahead if the whole interval is below 0.
    lead: Optional[Contrast] = None
    #: Upper bound of all differences, as a share; None: not bounded.
    within: Optional[float] = None
    #: Guards of the winner that may have become worse.
    unproven: tuple[str, ...] = ()
    #: Arms that crashed.
    failed: tuple[str, ...] = ()


def to_end(comparison: Comparison) -> tuple[str, ...]:
    """Arms that are worse by more than the tolerance: their OSDs are rolled back at once."""
    return tuple(arm.name for arm in comparison.arms if arm.worse)


def conclude(
    comparison: Comparison,
    min_effect: float,
    over: bool,
    ended: Collection[str] = (),
    failed: Collection[str] = (),
) -> Optional[Conclusion]:
    """The conclusion of the experiment; None: it continues.

    ``over``: its time is up. ``ended``: arms dropped as worse before. ``failed``: arms with an OSD
    that crashed or did not start.
    """
    if failed:
        return Conclusion(Answer.FAILED, failed=tuple(sorted(failed)))
    left = [arm for arm in comparison.arms if not arm.worse and arm.name not in ended]
    gains = {arm.name: arm.gain for arm in left if arm.gain is not None}
    all_known = len(gains) == len(left)
    beyond = [gain.furthest for gain in gains.values() if gain.furthest is not None]
    if left and len(beyond) == len(left) and max(beyond) < min_effect:
        return Conclusion(Answer.NO_DIFFERENCE, within=max(beyond))
    if all_known and all(_no_gain(gain, min_effect) for gain in gains.values()):
        return Conclusion(Answer.NO_GAIN)
    for best in sorted(left, key=lambda arm: _rank(arm.gain))[:1]:
        others = sorted(gains.keys() - {best.name}, key=lambda name: _rank(gains[name]))
        leads = [comparison.pairs[best.name, name] for name in others if best.name in gains]
        settled = all_known and all(_behind(lead, min_effect) for lead in leads)
        if best.gain is not None and best.gain.below and (over or settled):
            unproven = (signal.name for signal in best.signals if signal.effect is Effect.UNCLEAR)
            return Conclusion(
                Answer.WINNER,
                best.name,
                best.gain,
                others[0] if others else None,
                leads[0] if leads else None,
                unproven=tuple(unproven),
            )
    return Conclusion(Answer.UNCLEAR) if over else None


def _rank(gain: Optional[Contrast]) -> float:
    return math.inf if gain is None else gain.estimate


def _no_gain(gain: Contrast, min_effect: float) -> bool:
    """Whether a gain of the minimum effect is excluded."""
    return gain.low is not None and gain.low > -math.log1p(min_effect)


def _behind(lead: Contrast, min_effect: float) -> bool:
    """Whether the other arm is behind, or equivalent."""
    return lead.below or lead.within(min_effect)
