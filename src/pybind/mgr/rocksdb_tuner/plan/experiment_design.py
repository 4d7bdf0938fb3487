"""The plan of an experiment, or the reason and requirements if it is not feasible. Pure.

The plan has the fewest OSDs that detect the minimum effect and an unsafe arm in the allowed time,
and then the shortest duration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple, Optional, Union

from ..judge.arms import Arm, guard_rate, objective_rate
from ..judge.noise import Noise
from ..judge.signals import experiment_limits
from ..judge.statistics import critical
from ..units import format_plural
from .order import Candidate, choose, usable

#: Smaller effects are not worth restarts, larger ones need no experiment.
MIN_EFFECT_BOUNDS = (0.01, 0.5)
#: Workloads of a group change over longer times.
LONGEST_S = 14 * 86400.0
#: More OSDs per arm gain little.
MOST_ARM_OSDS = 32


class Shape(NamedTuple):
    """Size of an experiment."""

    arms: int
    arm_osds: int
    controls: int
    #: Of the baseline, and after the change.
    blocks: int

    @property
    def changed(self) -> int:
        return self.arms * self.arm_osds


@dataclass(frozen=True)
class Terms:
    """The requested experiment."""

    arms: tuple[Arm, ...]
    #: The judged signal that arms are expected to improve.
    objective: str
    #: At least three fill times of the slowest option string.
    block_s: float
    #: Of the last OSD that restarts.
    warm_up_s: float
    #: Restart of one OSD.
    restart_s: float = 0.0
    min_effect: float = 0.1
    max_duration_s: float = 43200.0
    #: Maximum share of the group in arms.
    share: float = 0.25

    def settle_blocks(self, changed: int) -> int:
        """Between the baseline and the first block: so many OSDs restart."""
        return math.ceil((changed * self.restart_s + self.warm_up_s) / self.block_s)


@dataclass(frozen=True)
class ExperimentPlan:
    #: With their OSDs.
    arms: tuple[Arm, ...]
    controls: tuple[int, ...]
    #: Of the baseline, and after the change.
    blocks: int
    #: Between the two, for restarts and warm-up.
    settle_blocks: int
    block_s: float
    #: Smallest detectable difference of an arm, as a share.
    detectable: float
    #: Smallest worsening that ends an arm within the first blocks.
    unsafe_detectable: float

    @property
    def changed(self) -> tuple[int, ...]:
        """The OSDs of all arms by turns, one of each, then the next of each: harm shows early."""
        return tuple(n for turn in zip(*(arm.osds for arm in self.arms)) for n in turn)

    @property
    def restarts(self) -> int:
        return 2 * len(self.changed)

    @property
    def duration_s(self) -> float:
        return (2 * self.blocks + self.settle_blocks) * self.block_s


@dataclass(frozen=True)
class Refusal:
    """Why there is no plan, and the requirements of one; None: unknown, or no number suffices."""

    reason: str
    #: Smallest difference that the group can detect.
    detectable: Optional[float] = None
    unsafe_detectable: Optional[float] = None
    #: Required size of the group in the allowed time.
    osds: Optional[int] = None
    #: Required time with the current OSDs.
    duration_s: Optional[float] = None
    #: Minimum effect that these OSDs detect in the allowed time.
    min_effect: Optional[float] = None


def detectable(shape: Shape, noise: Noise) -> float:
    """Smallest detectable difference of an arm from the old option string, as a share.

    It is detected at the end with probability `power`. inf: no difference is detectable.
    """
    rate, power = objective_rate(shape.arms), experiment_limits().power
    return _detectable(shape, shape.blocks, noise, rate, power)


def unsafe_detectable(shape: Shape, noises: Mapping[str, Noise], objective: str) -> float:
    """Smallest worsening of any of these signals that ends an arm within `unsafe_blocks`.

    It is detected with probability 1 - `error_rate`; inf: no worsening is detectable.
    """
    limits = experiment_limits()
    rates = {objective: objective_rate(shape.arms)}
    guards, power = guard_rate(shape.arms), 1 - limits.error_rate
    return max(
        _detectable(shape, limits.unsafe_blocks, noise, rates.get(signal, guards), power)
        for signal, noise in noises.items()
    )


def _detectable(shape: Shape, blocks: int, noise: Noise, rate: float, power: float) -> float:
    """After so many ``blocks``; see `judge.arms` for the interval.

    Uses the normal approximation of the noncentral t (Abramowitz and Stegun 26.7.10).
    """
    factor = 1 / shape.arm_osds + 1 / shape.controls
    free = shape.arms * (shape.arm_osds - 1) + shape.controls - 1
    times = critical(rate, free, experiment_limits().spread / factor)
    if times is None:
        return math.inf
    spread = NormalDist().inv_cdf(power) * math.sqrt(1 + times**2 / (2 * free))
    needed = times * (1 - 1 / (4 * free)) + spread
    variance = noise.variance(shape.blocks) + noise.variance(blocks)
    return math.expm1(needed * math.sqrt(factor * variance))


def plan_experiment(
    candidates: Sequence[Candidate], terms: Terms, noises: Mapping[str, Noise]
) -> Union[ExperimentPlan, Refusal]:
    """Plan an experiment on ``candidates``, all OSDs of a group that is not `too_small`.

    ``noises`` has the objective and the signals that end an unsafe arm early.
    """
    if terms.objective not in noises:
        return Refusal(f'the noise of {terms.objective} is unknown')
    arms, ordered = len(terms.arms), usable(candidates)
    most = min(int(len(candidates) * terms.share) // arms, MOST_ARM_OSDS)
    least, largest = experiment_limits().least_arm_osds, None
    for arm_osds in range(least, most + 1):
        controls = _controls(len(ordered), arms, arm_osds)
        chosen = choose(ordered, arms, arm_osds, controls) if controls else None
        if chosen is None:
            continue
        largest = arm_osds, controls
        shape = _shortest(*largest, terms, noises, terms.max_duration_s)
        if shape is not None:
            return ExperimentPlan(
                tuple(replace(arm, osds=osds) for arm, osds in zip(terms.arms, chosen.columns)),
                chosen.controls,
                shape.blocks,
                terms.settle_blocks(shape.changed),
                terms.block_s,
                detectable(shape, noises[terms.objective]),
                unsafe_detectable(shape, noises, terms.objective),
            )
    if largest is None:
        return Refusal(
            f'{len(ordered)} of the {len(candidates)} OSDs of the group are similar enough: too '
            f'few, or in too few failure domains, for {format_plural(arms, "arm")} of {least} OSDs '
            'and controls'
        )
    return _too_imprecise(*largest, terms, noises)


def too_small(osds: int, terms: Terms) -> Optional[Refusal]:
    """Why a group of this size has no room for the arms, whatever its noise; None if it has."""
    arms = len(terms.arms)
    least = experiment_limits().least_arm_osds
    if int(osds * terms.share) // arms >= least:
        return None
    return Refusal(
        f'{format_plural(arms, "arm")} of {least} OSDs would be more than {terms.share:.0%} of '
        f'the {osds} OSDs of the group',
        osds=_group(arms * least, terms),
    )


def _controls(alike: int, arms: int, arm_osds: int) -> int:
    """As many controls as possible; 0 if fewer than the OSDs of an arm. They only cost memory."""
    found = min(experiment_limits().most_controls, alike - arms * arm_osds)
    return found if found >= arm_osds else 0


def _longest(arm_osds: int, controls: int, terms: Terms, within_s: float) -> Shape:
    shape = Shape(len(terms.arms), arm_osds, controls, 0)
    blocks = int(within_s / terms.block_s) - terms.settle_blocks(shape.changed)
    return shape._replace(blocks=blocks // 2)


def _shortest(
    arm_osds: int, controls: int, terms: Terms, noises: Mapping[str, Noise], within_s: float
) -> Optional[Shape]:
    """The shortest sufficient shape; None if there is none within ``within_s``."""
    shape = _longest(arm_osds, controls, terms, within_s)
    low, high = experiment_limits().unsafe_blocks, shape.blocks
    if high < low or not _suffices(shape, terms, noises):
        return None
    while low < high:
        middle = (low + high) // 2
        enough = _suffices(shape._replace(blocks=middle), terms, noises)
        low, high = (low, middle) if enough else (middle + 1, high)
    return shape._replace(blocks=low)


def _suffices(shape: Shape, terms: Terms, noises: Mapping[str, Noise]) -> bool:
    return (
        detectable(shape, noises[terms.objective]) <= terms.min_effect
        and unsafe_detectable(shape, noises, terms.objective) <= experiment_limits().unsafe
    )


def _too_imprecise(
    arm_osds: int, controls: int, terms: Terms, noises: Mapping[str, Noise]
) -> Refusal:
    limits, arms = experiment_limits(), len(terms.arms)
    longest = _longest(arm_osds, controls, terms, terms.max_duration_s)
    effect = soon = wider = None
    if longest.blocks < limits.unsafe_blocks:
        reason = 'the time is too short for a baseline and as much again'
    else:
        effect = detectable(longest, noises[terms.objective])
        soon = unsafe_detectable(longest, noises, terms.objective)
        reason = (
            f'an arm that is {limits.unsafe:.0%} worse would not be detected within '
            f'{limits.unsafe_blocks} blocks, with {arm_osds} OSDs per arm and {controls} controls '
            'that are similar enough'
        )
        if effect > terms.min_effect:
            reason = f'a difference of {terms.min_effect:.0%} is not detectable'
            if _suffices(longest, replace(terms, min_effect=MIN_EFFECT_BOUNDS[1]), noises):
                wider = math.ceil(100 * effect) / 100
    longer = _shortest(arm_osds, controls, terms, noises, LONGEST_S)
    more = next(
        (
            n
            for n in range(arm_osds + 1, MOST_ARM_OSDS + 1)
            if _shortest(n, limits.most_controls, terms, noises, terms.max_duration_s)
        ),
        None,
    )
    return Refusal(
        reason,
        _if_finite(effect),
        _if_finite(soon),
        None if more is None else _group(arms * more, terms),
        None
        if longer is None
        else (2 * longer.blocks + terms.settle_blocks(longer.changed)) * terms.block_s,
        wider,
    )


def _if_finite(share: Optional[float]) -> Optional[float]:
    return None if share is None or math.isinf(share) else share


def _group(changed: int, terms: Terms) -> int:
    """Size of a group that allows ``changed`` OSDs in arms."""
    return math.ceil(changed / terms.share)
