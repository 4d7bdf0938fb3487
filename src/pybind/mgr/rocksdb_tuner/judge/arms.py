"""Comparison of an experiment's arms with unchanged OSDs and with each other. Pure.

Difference in differences: how far each OSD moved since the baseline relative to the controls, in
logarithms. An OSD counts once, regardless of its number of blocks: blocks are autocorrelated and
OSDs drift apart by more than their blocks scatter. The variance is that among OSDs of the same arm
and among the controls.

All intervals of an experiment hold simultaneously, at every evaluation, with probability
1 - ``error_rate``: each gets its share of the rate (Bonferroni) and the width that the sequential
test needs (`judge/statistics.py`). Any conclusion drawn from them (an arm is worse, better, the
same, or ahead of another) is wrong at most that often.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import fmean
from typing import NamedTuple, Optional

from .evidence import Block, Evidence
from .records import Effect, SignalVerdict
from .signals import JudgedSignal, experiment_limits, judged_signals, limits
from .statistics import critical, percent
from .verdict import slow_events

#: A wider half of an interval, in logarithms, counts as unbounded.
_UNBOUNDED = 10.0


@dataclass(frozen=True)
class Observed:
    """Measurements of an experiment so far.

    The blocks leave out OSDs that were rolled back.
    """

    #: The OSDs of all planned arms: dropped arms keep their share of the error rate.
    arms: Mapping[str, tuple[int, ...]]
    #: Never changed.
    controls: tuple[int, ...]
    #: The judged signal that arms are expected to improve.
    objective: str
    #: Smaller differences, as a share, count as none.
    min_effect: float
    #: Planned blocks after the change: so often the arms are compared.
    looks: int
    before: tuple[Block, ...] = ()
    after: tuple[Block, ...] = ()


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
    moves = {signal.name: _moves(signal, observed) for signal in judged_signals()}
    objective, rate = moves[observed.objective], objective_rate(len(observed.arms))
    results = tuple(
        ArmResult(
            name,
            _contrast(objective, name, None, rate),
            tuple(_verdict(signal, moves, name, observed) for signal in judged_signals()),
        )
        for name in observed.arms
    )
    pairs = {
        (arm, other): contrast
        for arm in observed.arms
        for other in observed.arms
        if arm != other and (contrast := _contrast(objective, arm, other, rate)) is not None
    }
    return Comparison(results, pairs)


def objective_rate(arms: int) -> float:
    """Error rate of each interval of the objective: one per arm and per pair of arms."""
    limits = experiment_limits()
    share = 1 - limits.guard_share - limits.event_share
    return limits.error_rate * share / (arms + math.comb(arms, 2))


def guard_rate(arms: int) -> float:
    """Error rate of each other signal in each arm."""
    found = experiment_limits()
    guards = sum(signal.kind != 'events' for signal in judged_signals()) - 1
    return found.error_rate * found.guard_share / (guards * arms)


def event_rate(arms: int, looks: int) -> float:
    """Error rate of slow events in each arm at each look: their test is not sequential."""
    found = experiment_limits()
    kinds = sum(signal.kind == 'events' for signal in judged_signals())
    return found.error_rate * found.event_share / (kinds * arms * looks)


def _verdict(
    signal: JudgedSignal,
    moves: Mapping[str, Mapping[Optional[str], Sequence[float]]],
    arm: str,
    observed: Observed,
) -> SignalVerdict:
    count = len(observed.arms)
    if signal.kind == 'events':
        changed, controls = observed.arms[arm], observed.controls
        evidence = Evidence('', 0, changed, controls, 0.0, observed.before, observed.after)
        return slow_events(signal, evidence, event_rate(count, observed.looks))
    objective = signal.name == observed.objective
    rate = objective_rate(count) if objective else guard_rate(count)
    contrast = _contrast(moves[signal.name], arm, None, rate)
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
    moves: Mapping[Optional[str], Sequence[float]], arm: str, other: Optional[str], rate: float
) -> Optional[Contrast]:
    """``other``: None for the controls."""
    if arm not in moves or other not in moves:
        return None
    means = {name: fmean(of_osds) for name, of_osds in moves.items()}
    free = sum(len(of_osds) - 1 for of_osds in moves.values())
    squares = sum((v - means[name]) ** 2 for name, of_osds in moves.items() for v in of_osds)
    estimate = means[arm] - means[other]
    factor = 1 / len(moves[arm]) + 1 / len(moves[other])
    times = critical(rate, free, experiment_limits().spread / factor)
    half_width = math.inf if times is None else times * math.sqrt(factor * squares / free)
    if half_width > _UNBOUNDED:
        return Contrast(estimate)
    return Contrast(estimate, estimate - half_width, estimate + half_width)


def _moves(signal: JudgedSignal, observed: Observed) -> Mapping[Optional[str], Sequence[float]]:
    """How far the OSDs of each arm, and the controls (None), moved since the baseline.

    Without arms that have too few OSDs to distinguish their effect from a peculiarity of the OSD.
    """
    before, after = (
        [_logarithms(signal, block) for block in blocks]
        for blocks in (observed.before, observed.after)
    )
    level = {
        n: fmean(known)
        for n in observed.controls
        if (known := [block[n] for block in before if n in block])
    }
    first, last = _relative(before, level), _relative(after, level)
    groups: list[tuple[Optional[str], tuple[int, ...]]] = [(None, observed.controls)]
    found = {
        name: [last[n] - first[n] for n in osds if n in first and n in last]
        for name, osds in [*groups, *observed.arms.items()]
    }
    least = experiment_limits().least_arm_osds
    return {name: moves for name, moves in found.items() if len(moves) >= least}


def _relative(
    blocks: Sequence[Mapping[int, float]], level: Mapping[int, float]
) -> Mapping[int, float]:
    """The mean of each OSD relative to the controls of the same blocks."""
    found: dict[int, list[float]] = {}
    for block in blocks:
        common = [block[n] - own for n, own in level.items() if n in block]
        if len(common) >= limits().least_controls:
            for n, value in block.items():
                found.setdefault(n, []).append(value - fmean(common))
    return {n: fmean(values) for n, values in found.items()}


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
) -> Optional[Conclusion]:
    """The conclusion of the experiment; None: it continues.

    ``over``: its time is up. ``ended``: arms dropped as worse before.
    """
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
