"""Comparison of an experiment's arms with unchanged OSDs. Pure.

Difference in differences: how far each OSD moved since the baseline relative to the controls, in
logarithms. An OSD counts once, regardless of its number of blocks: blocks are autocorrelated and
OSDs drift apart by more than their blocks scatter. The variance is that among OSDs of the same arm
and among the controls.

All intervals of an experiment hold simultaneously, at every evaluation, with probability
1 - ``error_rate``: each signal of each arm gets its share of the rate (Bonferroni) and the width
that the sequential test needs (`judge/statistics.py`). Any conclusion drawn from them (an arm is
worse, better, the same, or ahead of another, if their intervals are apart) is wrong at most that
often.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from statistics import fmean
from typing import Annotated, Optional

from ..notes import Among, Named, OsdId
from .evidence import Block, Evidence, logarithms
from .records import Effect, Judgement, Predicted, SignalVerdict, Verdict
from .signals import JudgedSignal, experiment_limits, judged_signals, limits
from .statistics import critical
from .verdict import in_words, slow_events

#: A wider half of an interval, in logarithms, counts as unbounded.
_UNBOUNDED = 10.0


@dataclass(frozen=True)
class Arm:
    """An option string on some OSDs."""

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
    #: Empty before the first comparison.
    signals: Annotated[
        tuple[SignalVerdict, ...],
        Named('effect'),
        'Effect on each signal, the goal of the experiment first.',
    ] = ()
    #: Measured blocks after the change until it was dropped as worse; None: it was not.
    dropped_after: Optional[int] = None
    #: One of its OSDs crashed or did not start.
    crashed: bool = False

    @property
    def dropped(self) -> bool:
        return self.dropped_after is not None

    @property
    def gain(self) -> SignalVerdict:
        """Its effect on the objective."""
        return self.signals[0] if self.signals else SignalVerdict('', Effect.UNCLEAR)

    def of(self, effect: Effect) -> tuple[SignalVerdict, ...]:
        """Signals with this effect; worse: by more than their tolerance."""
        return tuple(signal for signal in self.signals if signal.effect is effect)

    @property
    def percents(self) -> tuple[Optional[float], Optional[float], Optional[float]]:
        """Its gain in percent; None: not known, or not bounded."""
        found = (self.gain.change_percent, self.gain.low_percent, self.gain.high_percent)
        change, low, high = (None if value is None else round(value, 2) for value in found)
        return change, low, high

    @property
    def verdict(
        self,
    ) -> Annotated[
        Optional[Annotated[str, Among((*Effect, 'failed'))]],
        'Verdict so far; "failed": an OSD crashed or did not start; null: none yet.',
    ]:
        if self.crashed:
            return 'failed'
        worst = next(iter(self.of(Effect.WORSE)), self.gain)
        return worst.effect.value if self.signals else None

    @property
    def why_dropped(
        self,
    ) -> Annotated[
        Optional[str],
        Named('dropped'),
        'Why it ended before the experiment, as a phrase; null if it did not.',
    ]:
        worse = Judgement(Verdict.WORSE, self.of(Effect.WORSE))
        return in_words(worse) if self.dropped else None


@dataclass(frozen=True)
class Terms:
    """What arms are compared with, and what for."""

    #: Never changed.
    controls: tuple[int, ...]
    #: The judged signal that arms are expected to improve.
    objective: str
    #: Smaller differences, as a share, count as none.
    min_effect: float
    #: Planned blocks after the change: so often the arms are compared.
    looks: int


def rate_of(arms: int, goal: bool) -> float:
    """Error rate of each arm in its objective (``goal``), or in each of the other signals."""
    found, others = experiment_limits(), len(judged_signals()) - 1
    share = found.objective_share if goal else (1 - found.objective_share) / others
    return found.error_rate * share / arms


#: How far OSDs moved since the baseline: of each arm by name, and of the controls (None).
_Moves = Mapping[Optional[str], Sequence[float]]


def compare(
    arms: Sequence[Arm], terms: Terms, before: Sequence[Block], after: Sequence[Block]
) -> tuple[Arm, ...]:
    """All planned arms with their results; an arm that is worse than tolerated is dropped at once.

    Dropped arms keep their result and their share of the error rate; the blocks leave out their
    OSDs. Lower is better in every judged signal.
    """
    signals = sorted(judged_signals(), key=lambda signal: signal.name != terms.objective)
    moves = {signal.name: _moves(signal, arms, terms, before, after) for signal in signals}

    def verdict(signal: JudgedSignal, arm: Arm) -> SignalVerdict:
        goal = signal.name == terms.objective
        rate = rate_of(len(arms), goal)
        if signal.kind == 'events':
            evidence = Evidence('', 0, arm.osds, terms.controls, 0.0, tuple(before), tuple(after))
            # Their test is not sequential.
            return slow_events(signal, evidence, rate / terms.looks)
        min_effect = terms.min_effect if goal else None
        return _verdict(signal, moves[signal.name], arm.name, rate, min_effect)

    def compared(arm: Arm) -> Arm:
        found = replace(arm, signals=tuple(verdict(signal, arm) for signal in signals))
        return replace(found, dropped_after=len(after)) if found.of(Effect.WORSE) else found

    return tuple(arm if arm.dropped else compared(arm) for arm in arms)


def _verdict(
    signal: JudgedSignal, moves: _Moves, arm: str, rate: float, min_effect: Optional[float]
) -> SignalVerdict:
    """``min_effect``: None for a guard, which only must not get worse."""
    if arm not in moves or None not in moves:
        return SignalVerdict(signal.name, Effect.UNCLEAR)
    means = {name: fmean(of_osds) for name, of_osds in moves.items()}
    free = sum(len(of_osds) - 1 for of_osds in moves.values())
    squares = sum((v - means[name]) ** 2 for name, of_osds in moves.items() for v in of_osds)
    estimate = means[arm] - means[None]
    factor = 1 / len(moves[arm]) + 1 / len(moves[None])
    times = critical(rate, free, experiment_limits().spread / factor)
    half_width = math.inf if times is None else times * math.sqrt(factor * squares / free)
    effect = _effect(estimate, half_width, signal.tolerance, min_effect)
    bounded = None if half_width > _UNBOUNDED else half_width
    return SignalVerdict.of(signal.name, effect, estimate, bounded)


def _effect(
    estimate: float, half_width: float, tolerance: float, min_effect: Optional[float]
) -> Effect:
    tolerated = math.log1p(tolerance)
    if estimate - half_width > 0 and estimate > tolerated:
        return Effect.WORSE
    if min_effect is not None and abs(estimate) + half_width < math.log1p(min_effect):
        return Effect.SAME
    if estimate + half_width < 0:
        return Effect.BETTER
    harmless = min_effect is None and estimate + half_width <= tolerated
    return Effect.SAME if harmless else Effect.UNCLEAR


def _moves(
    signal: JudgedSignal,
    arms: Sequence[Arm],
    terms: Terms,
    before: Sequence[Block],
    after: Sequence[Block],
) -> _Moves:
    """Without arms that have too few OSDs to distinguish their effect from one of an OSD."""
    early, late = ([logarithms(signal, block) for block in part] for part in (before, after))
    level = {
        n: fmean(known)
        for n in terms.controls
        if (known := [block[n] for block in early if n in block])
    }
    first, last = _relative(early, level), _relative(late, level)
    groups: dict[Optional[str], tuple[int, ...]] = {arm.name: arm.osds for arm in arms}
    found = {
        name: [last[n] - first[n] for n in osds if n in first and n in last]
        for name, osds in {None: terms.controls, **groups}.items()
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
    #: Whether the winner is better than all of them with certainty.
    ahead: bool = False
    #: Upper bound of all differences, as a share; None: not bounded.
    within: Optional[float] = None


def conclude(
    arms: Collection[Arm], blocks: int, min_effect: float, over: bool
) -> Optional[Conclusion]:
    """The conclusion after so many ``blocks``; None: the experiment continues.

    ``arms`` are empty before the first comparison. ``over``: its time is up.
    """
    unclear = Conclusion(Answer.UNCLEAR) if over else None
    # The first blocks may differ from the others, and tell little about the other signals.
    if not arms or (not over and blocks < experiment_limits().unsafe_blocks):
        return unclear
    left = [arm for arm in arms if not arm.dropped]
    gains = {arm.name: arm.gain for arm in left}
    if left and all(gain.effect is Effect.SAME for gain in gains.values()):
        return Conclusion(Answer.NO_DIFFERENCE, within=max(map(_furthest, gains.values())))
    # The least change that is a gain of the minimum effect.
    least = -100 * min_effect / (1 + min_effect)
    if all(gain.low_percent is not None and gain.low_percent > least for gain in gains.values()):
        return Conclusion(Answer.NO_GAIN)
    ranked = sorted(gains, key=lambda name: gains[name].change_percent or 0.0)
    best = next((name for name in ranked if gains[name].effect is Effect.BETTER), None)
    if best is None:
        return unclear
    others = [name for name in ranked if name != best]
    ahead = all(_apart(gains[best], gains[name]) for name in others)
    if not over and not ahead:
        return None
    return Conclusion(Answer.WINNER, best, others[0] if others else None, ahead)


def _apart(better: SignalVerdict, other: SignalVerdict) -> bool:
    high, low = better.high_percent, other.low_percent
    return high is not None and low is not None and high < low


def _furthest(found: SignalVerdict) -> float:
    """Upper bound of the difference in either direction, as a share; 0.0: not bounded."""
    low, high = ((value or 0.0) / 100 for value in (found.low_percent, found.high_percent))
    return max(-low / (1 + low), high)
