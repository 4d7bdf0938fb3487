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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from statistics import fmean
from typing import Annotated, Optional

from ..notes import Named, OsdId
from .evidence import Block, Evidence, logarithms
from .records import Effect, Judgement, Predicted, SignalVerdict, Verdict
from .signals import JudgedSignal, experiment_limits, judged_signals, limits
from .statistics import Contrast, critical
from .verdict import in_words, slow_events

#: A wider half of an interval, in logarithms, counts as unbounded.
_UNBOUNDED = 10.0


@dataclass(frozen=True)
class Arm:
    """One option string: planned, given to OSDs, and compared with the controls."""

    #: Unique within the experiment.
    name: Annotated[str, 'Name of the arm: the profile that it tries.']
    #: A release default is spelled out.
    options: Annotated[str, 'Option string of the arm.']
    #: Effect on the objective.
    predicted: Annotated[
        Optional[Predicted], 'Prediction of the model and published figures; null: none.'
    ] = None
    #: Warnings of the checks, which do not prevent an experiment.
    cautions: tuple[str, ...] = ()
    #: Empty: there is no plan.
    osds: Annotated[tuple[OsdId, ...], 'OSDs of the arm.'] = ()
    #: Measured effect on the objective; None: not known yet.
    gain: Optional[Contrast] = None
    #: Empty before the first comparison.
    signals: tuple[SignalVerdict, ...] = ()
    #: Measured blocks after the change until it was dropped as worse; None: it was not.
    dropped_after: Optional[int] = None
    #: One of its OSDs crashed or did not start.
    crashed: bool = False

    @property
    def dropped(self) -> bool:
        return self.dropped_after is not None

    def of(self, effect: Effect) -> tuple[SignalVerdict, ...]:
        """Signals with this effect; worse: by more than their tolerance."""
        return tuple(signal for signal in self.signals if signal.effect is effect)

    @property
    def percents(self) -> tuple[Optional[float], Optional[float], Optional[float]]:
        """Its gain in percent; None: not known, or not bounded."""
        return (None, None, None) if self.gain is None else self.gain.percents

    @property
    def why_dropped(self) -> str:
        return in_words(Judgement(Verdict.WORSE, self.of(Effect.WORSE)))


@dataclass(frozen=True)
class Observed:
    """Measurements of an experiment so far.

    The blocks leave out OSDs that were rolled back.
    """

    #: All planned arms: dropped arms keep their share of the error rate.
    arms: tuple[Arm, ...]
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


@dataclass(frozen=True)
class Comparison:
    """All arms against the old option string and each other."""

    #: With their results; an arm that is worse by more than the tolerance is dropped at once.
    arms: tuple[Arm, ...]
    #: (arm, other): objective of ``arm`` against ``other``; has both orders.
    pairs: Mapping[tuple[str, str], Contrast]
    #: Measured blocks after the change.
    blocks: int


def compare(observed: Observed) -> Comparison:
    """Compare all arms; those that were dropped before keep their result.

    Lower is better in every judged signal.
    """
    moves = {signal.name: _moves(signal, observed) for signal in judged_signals()}
    objective, rate = moves[observed.objective], objective_rate(len(observed.arms))
    names = [arm.name for arm in observed.arms]
    contrasts = {
        (name, other): contrast
        for name in names
        for other in (None, *names)
        if name != other and (contrast := _contrast(objective, name, other, rate)) is not None
    }

    def compared(arm: Arm) -> Arm:
        signals = tuple(_verdict(signal, moves, arm, observed) for signal in judged_signals())
        found = replace(arm, gain=contrasts.get((arm.name, None)), signals=signals)
        worse = bool(found.of(Effect.WORSE))
        return replace(found, dropped_after=len(observed.after)) if worse else found

    return Comparison(
        tuple(arm if arm.dropped else compared(arm) for arm in observed.arms),
        {(name, other): found for (name, other), found in contrasts.items() if other is not None},
        len(observed.after),
    )


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
    arm: Arm,
    observed: Observed,
) -> SignalVerdict:
    count = len(observed.arms)
    if signal.kind == 'events':
        osds, controls = arm.osds, observed.controls
        evidence = Evidence('', 0, osds, controls, 0.0, observed.before, observed.after)
        return slow_events(signal, evidence, event_rate(count, observed.looks))
    objective = signal.name == observed.objective
    rate = objective_rate(count) if objective else guard_rate(count)
    contrast = _contrast(moves[signal.name], arm.name, None, rate)
    if contrast is None:
        return SignalVerdict(signal.name, Effect.UNCLEAR)
    least = observed.min_effect if objective else None
    return SignalVerdict.of(signal.name, _effect(contrast, signal.tolerance, least), contrast)


def _effect(contrast: Contrast, tolerance: float, min_effect: Optional[float]) -> Effect:
    """``min_effect``: None for a guard, which only must not get worse."""
    tolerated = math.log1p(tolerance)
    if contrast.low is not None and contrast.low > 0 and contrast.estimate > tolerated:
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
    return Contrast.around(estimate, None if half_width > _UNBOUNDED else half_width)


def _moves(signal: JudgedSignal, observed: Observed) -> Mapping[Optional[str], Sequence[float]]:
    """How far the OSDs of each arm, and the controls (None), moved since the baseline.

    Without arms that have too few OSDs to distinguish their effect from a peculiarity of the OSD.
    """
    before, after = (
        [logarithms(signal, block) for block in blocks]
        for blocks in (observed.before, observed.after)
    )
    level = {
        n: fmean(known)
        for n in observed.controls
        if (known := [block[n] for block in before if n in block])
    }
    first, last = _relative(before, level), _relative(after, level)
    groups: dict[Optional[str], tuple[int, ...]] = {arm.name: arm.osds for arm in observed.arms}
    found = {
        name: [last[n] - first[n] for n in osds if n in first and n in last]
        for name, osds in {None: observed.controls, **groups}.items()
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
    answer: Annotated[
        Answer,
        Named('conclusion'),
        'Result; "no-difference": no arm differs by the minimum effect; "no-gain": no arm is '
        'better by it; "unclear": the data is inconclusive; null: not yet.',
    ]
    winner: Annotated[Optional[str], 'Best arm; null: none, or not yet.'] = None
    #: The best of the other remaining arms; None if there is none.
    runner_up: Optional[str] = None
    #: The winner against the runner-up; ahead if the whole interval is below 0.
    lead: Optional[Contrast] = None
    #: Upper bound of all differences, as a share; None: not bounded.
    within: Optional[float] = None


def conclude(
    comparison: Optional[Comparison], min_effect: float, over: bool
) -> Optional[Conclusion]:
    """The conclusion of the experiment; None: it continues.

    ``over``: its time is up.
    """
    unclear = Conclusion(Answer.UNCLEAR) if over else None
    # The first blocks may differ from the others, and tell little about the other signals.
    if comparison is None or (not over and comparison.blocks < experiment_limits().unsafe_blocks):
        return unclear
    left = [arm for arm in comparison.arms if not arm.dropped]
    gains = {arm.name: arm.gain for arm in left if arm.gain is not None}
    least = math.log1p(min_effect)
    all_known = len(gains) == len(left)
    beyond = [gain.furthest for gain in gains.values() if gain.furthest is not None]
    if left and len(beyond) == len(left) and max(beyond) < min_effect:
        return Conclusion(Answer.NO_DIFFERENCE, within=max(beyond))
    # A gain of the minimum effect is excluded.
    if all_known and all(g.low is not None and g.low > -least for g in gains.values()):
        return Conclusion(Answer.NO_GAIN)
    ranked = sorted(gains, key=lambda name: gains[name].estimate)
    if not ranked or not gains[ranked[0]].below:
        return unclear
    best, *others = ranked
    leads = [comparison.pairs[best, name] for name in others]
    # Each of the others is behind, or equivalent.
    if over or (all_known and all(lead.below or lead.within(min_effect) for lead in leads)):
        first = (others[0], leads[0]) if others else (None, None)
        return Conclusion(Answer.WINNER, best, *first)
    return None
