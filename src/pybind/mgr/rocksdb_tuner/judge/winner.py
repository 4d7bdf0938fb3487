"""When an experiment ends, and its conclusion. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Optional

from .arms import Comparison, Contrast
from .records import Effect


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
