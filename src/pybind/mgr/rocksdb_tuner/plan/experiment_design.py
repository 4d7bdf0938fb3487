"""The plan of an experiment, or the reason and requirements if it is not feasible. Pure.

The plan has the fewest OSDs that detect the minimum effect in the allowed time, and then the
shortest duration. It has more than two OSDs per arm, or a crossover, only if the group's noise
requires that.

Power of an experiment: the smallest detectable effect, and unsafe arms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Optional, Union

from ..judge.arms import guard_rate, objective_rate
from ..judge.crossover import Fit, Unit, fit, variance_of
from ..judge.noise import Noise
from ..judge.signals import experiment_limits
from ..judge.statistics import critical
from ..units import format_plural
from .order import Candidate, choose, usable


@dataclass(frozen=True)
class Shape:
    """Size of an experiment."""

    arms: int
    arm_osds: int
    controls: int
    #: Blocks of the baseline and of each period.
    blocks: int
    #: After the baseline; arms swap OSDs between periods.
    periods: int

    @property
    def changed(self) -> int:
        """OSDs in arms at a time."""
        return self.arms * self.arm_osds

    def total_blocks(self, settle_blocks: int) -> int:
        """Total blocks, including the settle time at the start of each period."""
        return self.blocks + self.periods * (self.blocks + settle_blocks)


def detectable(shape: Shape, noise: Noise) -> Optional[float]:
    """Smallest detectable difference of an arm from the old option string, as a share.

    It is detected at the end with probability `power`. None: no difference is detectable.
    """
    rate = objective_rate(shape.arms)
    return _detectable(shape, shape.periods, shape.blocks, noise, rate, experiment_limits().power)


def unsafe_detectable(shape: Shape, noises: Mapping[str, Noise], objective: str) -> Optional[float]:
    """Smallest worsening of any of these signals that ends an arm within `unsafe_blocks`.

    It is detected with probability 1 - `error_rate`; None: no worsening is detectable.
    """
    limits = experiment_limits()
    blocks = min(limits.unsafe_blocks, shape.blocks)
    found = [
        _detectable(
            shape,
            1,
            blocks,
            noise,
            objective_rate(shape.arms) if signal == objective else guard_rate(shape.arms),
            1 - limits.error_rate,
        )
        for signal, noise in noises.items()
    ]
    known = [share for share in found if share is not None]
    return max(known, default=0.0) if len(known) == len(found) else None


def _detectable(
    shape: Shape, periods: int, blocks: int, noise: Noise, rate: float, power: float
) -> Optional[float]:
    """After ``blocks`` of the last of ``periods``, against the controls.

    Uses the normal approximation of the noncentral t (Abramowitz and Stegun 26.7.10).
    """
    found = _fitted(shape, periods, blocks)
    if found is None:
        return None
    _, factor = found.difference(_arm_name(0), None)
    times = critical(rate, found.free, experiment_limits().spread / factor)
    if times is None:
        return None
    needed = times * (1 - 1 / (4 * found.free)) + NormalDist().inv_cdf(power) * math.sqrt(
        1 + times**2 / (2 * found.free)
    )
    one_block = max(noise.variance(n) / variance_of(n) for n in (blocks, shape.blocks))
    return math.expm1(needed * math.sqrt(factor * one_block))


def _arm_name(number: int) -> str:
    """A name that sorts by number."""
    return f'{number:04d}'


def _fitted(shape: Shape, periods: int, blocks: int) -> Optional[Fit]:
    """The fit of such an experiment; only its factors are used, not its effects."""
    units = [
        Unit(osd_id, 0, None, 0.0, shape.blocks) for osd_id in range(shape.changed + shape.controls)
    ]
    for period in range(1, periods + 1):
        length = blocks if period == periods else shape.blocks
        units += [
            Unit(osd_id, period, _arm(shape, osd_id, period), 0.0, length)
            for osd_id in range(shape.changed + shape.controls)
        ]
    return fit(units)


def _arm(shape: Shape, osd_id: int, period: int) -> Optional[str]:
    if osd_id >= shape.changed:
        return None
    return _arm_name((osd_id // shape.arm_osds - (period - 1)) % shape.arms)


#: Smaller effects are not worth restarts, larger ones need no experiment.
MIN_EFFECT_BOUNDS = (0.01, 0.5)
#: Workloads of a group change over longer times.
LONGEST_S = 14 * 86400.0
#: More OSDs per arm gain little.
MOST_ARM_OSDS = 32


@dataclass(frozen=True)
class Terms:
    """The requested experiment."""

    arms: tuple[str, ...]
    #: The judged signal that arms are expected to improve.
    objective: str
    #: At least three fill times of the slowest option string.
    block_s: float
    #: Restart and warm-up of OSDs at the start of a period.
    settle_s: float
    min_effect: float = 0.1
    max_duration_s: float = 43200.0
    #: Maximum share of the group in arms at a time.
    share: float = 0.25

    @property
    def settle_blocks(self) -> int:
        return math.ceil(self.settle_s / self.block_s)


@dataclass(frozen=True)
class PlannedPeriod:
    """The OSDs of each arm in a period; none in the baseline."""

    arms: tuple[tuple[str, tuple[int, ...]], ...]
    blocks: int
    #: Before the measured blocks.
    settle_blocks: int


@dataclass(frozen=True)
class ExperimentPlan:
    #: The first is the baseline.
    periods: tuple[PlannedPeriod, ...]
    controls: tuple[int, ...]
    block_s: float
    shape: Shape
    #: Smallest detectable difference of an arm, as a share.
    detectable: float
    #: Smallest worsening that ends an arm within the first blocks.
    unsafe_detectable: float

    @property
    def duration_s(self) -> float:
        return sum(p.blocks + p.settle_blocks for p in self.periods) * self.block_s


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


def plan_experiment(
    candidates: Sequence[Candidate], terms: Terms, noises: Mapping[str, Noise]
) -> Union[ExperimentPlan, Refusal]:
    """Plan an experiment on ``candidates``, all OSDs of the group.

    ``noises`` has the objective and the signals that end an unsafe arm early.
    """
    small = too_small(len(candidates), terms)
    if small is not None:
        return small
    arms = len(terms.arms)
    least = experiment_limits().least_arm_osds
    ordered = usable(candidates)
    most = int(len(candidates) * terms.share) // arms
    if terms.objective not in noises:
        return Refusal(f'the noise of {terms.objective} is unknown')
    sizes = [
        (n, c)
        for n in range(least, min(most, MOST_ARM_OSDS) + 1)
        if (c := _controls(len(ordered), arms, n))
    ]
    for arm_osds, controls in sizes:
        shape = _shortest(arms, arm_osds, controls, terms, noises, terms.max_duration_s)
        if shape is not None and choose(ordered, arms, arm_osds, controls) is not None:
            return _plan(ordered, shape, terms, noises)
    largest = next((s for s in reversed(sizes) if choose(ordered, arms, *s) is not None), None)
    if largest is None:
        return Refusal(
            f'{len(ordered)} of the {len(candidates)} OSDs of the group are similar enough: too '
            f'few, or in too few failure domains, for {format_plural(arms, "arm")} of {least} OSDs '
            'and controls'
        )
    return _too_imprecise(largest, terms, noises)


def too_small(osds: int, terms: Terms) -> Optional[Refusal]:
    """Why a group of this size has no room for the arms, whatever its noise; None if it has."""
    arms = len(terms.arms)
    least = experiment_limits().least_arm_osds
    if not arms:
        return Refusal('no arms are given')
    if int(osds * terms.share) // arms >= least:
        return None
    return Refusal(
        f'{format_plural(arms, "arm")} of {least} OSDs would be more than {terms.share:.0%} of '
        f'the {osds} OSDs of the group',
        osds=_group(arms * least, terms),
    )


def _plan(
    ordered: Sequence[Candidate], shape: Shape, terms: Terms, noises: Mapping[str, Noise]
) -> ExperimentPlan:
    chosen = choose(ordered, shape.arms, shape.arm_osds, shape.controls)
    effect = detectable(shape, noises[terms.objective])
    unsafe = unsafe_detectable(shape, noises, terms.objective)
    assert chosen is not None
    assert effect is not None
    assert unsafe is not None
    periods = [PlannedPeriod((), shape.blocks, 0)]
    for period in range(shape.periods):
        arms = tuple(
            (name, chosen.columns[(number + period) % shape.arms])
            for number, name in enumerate(terms.arms)
        )
        periods.append(PlannedPeriod(arms, shape.blocks, terms.settle_blocks))
    return ExperimentPlan(tuple(periods), chosen.controls, terms.block_s, shape, effect, unsafe)


def _controls(alike: int, arms: int, arm_osds: int) -> int:
    """As many controls as possible; 0 if fewer than the OSDs of an arm. They only cost memory."""
    found = min(experiment_limits().most_controls, alike - arms * arm_osds)
    return found if found >= arm_osds else 0


def _shapes(
    arms: int, arm_osds: int, controls: int, terms: Terms, within_s: float
) -> Iterator[tuple[int, Shape]]:
    """The longest shapes with 1 to ``arms`` periods."""
    total = int(within_s / terms.block_s)
    for periods in range(1, arms + 1):
        blocks = (total - periods * terms.settle_blocks) // (periods + 1)
        if blocks >= experiment_limits().unsafe_blocks:
            yield blocks, Shape(arms, arm_osds, controls, blocks, periods)


def _shortest(
    arms: int,
    arm_osds: int,
    controls: int,
    terms: Terms,
    noises: Mapping[str, Noise],
    within_s: float,
) -> Optional[Shape]:
    """The shortest sufficient shape; None if there is none within ``within_s``."""
    found: list[Shape] = []
    for most, longest in _shapes(arms, arm_osds, controls, terms, within_s):
        if not _suffices(longest, terms, noises):
            continue
        low, high = experiment_limits().unsafe_blocks, most
        while low < high:
            middle = (low + high) // 2
            shape = Shape(arms, arm_osds, controls, middle, longest.periods)
            low, high = (low, middle) if _suffices(shape, terms, noises) else (middle + 1, high)
        found.append(Shape(arms, arm_osds, controls, low, longest.periods))
    return min(found, key=lambda s: s.total_blocks(terms.settle_blocks)) if found else None


def _suffices(shape: Shape, terms: Terms, noises: Mapping[str, Noise]) -> bool:
    effect = detectable(shape, noises[terms.objective])
    if effect is None or effect > terms.min_effect:
        return False
    unsafe = unsafe_detectable(shape, noises, terms.objective)
    return unsafe is not None and unsafe <= experiment_limits().unsafe


def _too_imprecise(most: tuple[int, int], terms: Terms, noises: Mapping[str, Noise]) -> Refusal:
    arms = len(terms.arms)
    arm_osds, controls = most
    shapes = [s for _, s in _shapes(arms, *most, terms, terms.max_duration_s)]
    effects = [d for s in shapes if (d := detectable(s, noises[terms.objective])) is not None]
    soon = [u for s in shapes if (u := unsafe_detectable(s, noises, terms.objective)) is not None]
    wider = None
    if not shapes:
        reason = 'the time is too short for a baseline and one period'
    elif min(effects, default=math.inf) > terms.min_effect:
        reason = f'a difference of {terms.min_effect:.0%} is not detectable'
        largest = replace(terms, min_effect=MIN_EFFECT_BOUNDS[1])
        seen = [
            detectable(s, noises[terms.objective]) for s in shapes if _suffices(s, largest, noises)
        ]
        wider = min((math.ceil(100 * effect) / 100 for effect in seen if effect), default=None)
    else:
        limits = experiment_limits()
        reason = (
            f'an arm that is {limits.unsafe:.0%} worse would not be detected within '
            f'{limits.unsafe_blocks} blocks, with {arm_osds} OSDs per arm and {controls} controls '
            'that are similar enough'
        )
    longer = _shortest(arms, arm_osds, controls, terms, noises, LONGEST_S)
    more = next(
        (
            n
            for n in range(arm_osds + 1, MOST_ARM_OSDS + 1)
            if _shortest(arms, n, _controls(2**31, arms, n), terms, noises, terms.max_duration_s)
        ),
        None,
    )
    return Refusal(
        reason,
        min(effects, default=None),
        min(soon, default=None),
        None if more is None else _group(arms * more, terms),
        None if longer is None else longer.total_blocks(terms.settle_blocks) * terms.block_s,
        wider,
    )


def _group(changed: int, terms: Terms) -> int:
    """Size of a group that allows ``changed`` OSDs in arms."""
    return math.ceil(changed / terms.share)
