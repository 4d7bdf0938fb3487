"""Whether arms of an experiment do better or worse than unchanged OSDs, and than each other: pure.

All intervals of an experiment hold together, at every look, with the probability that
``error_rate`` leaves: each gets its share of the rate (Bonferroni), and is as wide as the
sequential test needs (`judge/sequential.py`). So whatever is read off them, whenever and of
whichever arm, is wrong no more often: that an arm is worse, better, the same, or ahead of another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple, Optional

from .crossover import Fit, Unit, fit
from .evidence import Block
from .experiment_limits import experiment_limits
from .records import Effect, SignalVerdict
from .sequential import critical
from .signals import JudgedSignal, judged_signals, limits
from .slow_blocks import slow_blocks


@dataclass(frozen=True)
class Period:
    """A time in which no OSD changes its arm, but for those that go back to the old set.

    An OSD that went back, or has not settled yet, is left out of the blocks.
    """

    #: The OSDs of each arm; none in the baseline, which is the first period.
    arms: Mapping[str, tuple[int, ...]]
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Observed:
    """What an experiment measured so far."""

    #: All that it was planned with: those that ended share the errors with the others.
    arms: tuple[str, ...]
    #: Never changed.
    controls: tuple[int, ...]
    #: The judged signal in which arms are to gain.
    objective: str
    #: What is less than this share is no difference.
    min_effect: float
    periods: tuple[Period, ...]


class Contrast(NamedTuple):
    """By how much one lies above another, in logarithms; None: not bounded yet."""

    estimate: float
    low: Optional[float] = None
    high: Optional[float] = None

    @property
    def below(self) -> bool:
        """Whether it lies lower, with certainty."""
        return self.high is not None and self.high < 0

    @property
    def above(self) -> bool:
        return self.low is not None and self.low > 0

    @property
    def furthest(self) -> Optional[float]:
        """The share by which either is at most higher than the other."""
        if self.low is None or self.high is None:
            return None
        return math.expm1(max(-self.low, self.high))

    def within(self, share: float) -> bool:
        """Whether the two are equivalent: none is higher than the other by ``share``."""
        return self.furthest is not None and self.furthest < share


@dataclass(frozen=True)
class ArmResult:
    """One arm against the controls."""

    name: str
    #: None: nothing can be said of its objective yet.
    gain: Optional[Contrast]
    signals: tuple[SignalVerdict, ...]

    @property
    def worse(self) -> tuple[str, ...]:
        """The signals in which it is worse by more than is tolerated: it is to end at once."""
        return tuple(one.name for one in self.signals if one.effect is Effect.WORSE)


@dataclass(frozen=True)
class Comparison:
    """All arms that were ever measured, against the old set and each other, in the objective."""

    arms: tuple[ArmResult, ...]
    #: (arm, other): how much higher the objective of ``arm`` lies; both ways round.
    pairs: Mapping[tuple[str, str], Contrast]


def compare(observed: Observed) -> Comparison:
    """What can be said of all arms now. Lower is better in every judged signal."""
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
    """What each interval of the objective has: of every arm, and of every pair of them."""
    limits = experiment_limits()
    share = 1 - limits.guard_share - limits.event_share
    return limits.error_rate * share / (arms + math.comb(arms, 2))


def guard_rate(arms: int, events: bool = False) -> float:
    """What each signal beside the objective has, in every arm."""
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
        _percent(contrast.estimate),
        None if contrast.low is None else _percent(contrast.low),
        None if contrast.high is None else _percent(contrast.high),
    )


def _effect(contrast: Contrast, tolerance: float, min_effect: Optional[float]) -> Effect:
    """``min_effect`` is that of the objective; None: of a guard, which shall not get worse."""
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
    return Contrast(estimate, estimate - half_width, estimate + half_width)


def _with_arm(arm: str, observed: Observed) -> list[tuple[Block, tuple[int, ...]]]:
    """The blocks after the baseline, with the OSDs that were in ``arm`` then."""
    return [
        (block, period.arms.get(arm, ()))
        for period in observed.periods[1:]
        for block in period.blocks
    ]


def _units(signal: JudgedSignal, observed: Observed) -> list[Unit]:
    """Each OSD in each period, less what the controls did in the same blocks."""
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
    return _told_apart(
        [
            Unit(n, number, arm_of[number].get(n), fmean(means), len(means))
            for (n, number), means in found.items()
        ]
    )


def _told_apart(units: Sequence[Unit]) -> list[Unit]:
    """Without arms of fewer OSDs than tell them from their OSDs, and OSDs without a baseline."""
    based = {unit.osd_id for unit in units if unit.period == 0}
    osds: dict[str, set[int]] = {}
    for unit in units:
        if unit.arm is not None and unit.osd_id in based:
            osds.setdefault(unit.arm, set()).add(unit.osd_id)
    least = experiment_limits().least_arm_osds
    enough = {arm for arm, of_arm in osds.items() if len(of_arm) >= least}
    return [u for u in units if u.osd_id in based and (u.arm is None or u.arm in enough)]


def _logarithms(signal: JudgedSignal, block: Block) -> Mapping[int, float]:
    found = ((n, getattr(one, signal.name)) for n, one in block.by_osd.items())
    return {n: math.log(max(v, signal.floor)) for n, v in found if v is not None and v > 0}


def _percent(logarithm: float) -> float:
    return math.expm1(logarithm) * 100
