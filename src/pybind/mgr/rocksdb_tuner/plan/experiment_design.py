"""The plan of an experiment, or the reason and requirements if it is not feasible. Pure.

The plan has the fewest OSDs that detect the minimum effect and an unsafe arm in the allowed time,
and then the shortest duration.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Annotated, NamedTuple, Optional

from ..judge.arms import Arm, guard_rate, objective_rate
from ..judge.noise import Noise
from ..judge.signals import experiment_limits, limits
from ..judge.statistics import critical
from ..notes import Amount, Count, Named, OsdId
from ..units import format_plural
from .commands import TYPICAL_RESTART_S
from .entries import own
from .order import Candidate, choose, usable
from .records import ChangeKind, ChangeRequest

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
class Refusal:
    """Why no experiment is possible, and the requirements."""

    reason: Annotated[str, 'The reason, as a phrase.']
    osds: Annotated[
        Optional[Count], 'Required size of the group; null: unknown, or none suffices.'
    ] = None
    duration_s: Annotated[
        Optional[Amount], 'Required duration with these OSDs; null: unknown, or none suffices.'
    ] = None
    #: Minimum effect that these OSDs detect in the allowed time; None: unknown, or none suffices.
    min_effect: Optional[float] = None


@dataclass(frozen=True)
class ExperimentPlan:
    """What is tried on which OSDs, and with what precision, or why that is not possible."""

    who: Annotated[str, 'Config mask of the group.']
    #: With their OSDs, and with their results once there are any.
    arms: tuple[Arm, ...]
    objective: Annotated[
        str, Named('signal'), 'The judged signal that arms are expected to improve.'
    ]
    from_options: Annotated[str, Named('options_from'), 'Option string that the group runs.']
    #: At least three fill times of the slowest option string.
    block_s: Annotated[Amount, 'Length of a block in seconds.']
    #: Smaller differences, as a share, count as none.
    min_effect: float = 0.1
    #: Measuring ends after this time; the OSDs are restored after that.
    max_duration_s: Annotated[Amount, 'Maximum duration in seconds.'] = 43200.0
    #: Maximum share of the group without its old options.
    share: float = 0.25
    #: Time between memtable flushes with the slowest of the option strings; None: unknown.
    fill_s: Optional[float] = None
    #: Release, workload and hardware of the group, by name; None: unknown.
    release: Optional[str] = None
    workload: Optional[str] = None
    hardware: Optional[str] = None
    #: Length of the history that the noise was measured over.
    history_s: float = 0.0
    #: Signals with unknown noise: harm to them may not be detected early.
    unmeasured: tuple[str, ...] = ()
    controls: Annotated[tuple[OsdId, ...], 'OSDs that stay unchanged for comparison.'] = ()
    #: Of the baseline, and after the change.
    blocks: int = 0
    #: Between the two, for restarts and warm-up.
    settle_blocks: int = 0
    #: Smallest detectable difference of an arm, as a share; None: unknown.
    detectable: Optional[float] = None
    #: Smallest worsening that ends an arm within the first blocks; None: unknown.
    unsafe_detectable: Optional[float] = None
    #: None: the experiment is possible.
    refusal: Optional[Refusal] = None

    @property
    def min_effect_percent(self) -> Annotated[Amount, 'Smaller differences count as none.']:
        return self.min_effect * 100

    @property
    def detectable_percent(
        self,
    ) -> Annotated[
        Optional[Amount],
        'Smallest difference that is detected, with the noise measured on these OSDs; null: '
        'unknown.',
    ]:
        return None if self.detectable is None else self.detectable * 100

    @property
    def unsafe_percent(
        self,
    ) -> Annotated[
        Optional[Amount],
        'Smallest worsening that ends an arm within three blocks; null: unknown.',
    ]:
        return None if self.unsafe_detectable is None else self.unsafe_detectable * 100

    @property
    def duration_s(
        self,
    ) -> Annotated[
        Optional[Amount], 'Planned duration in seconds, without waiting for gates; null: no plan.'
    ]:
        if self.refusal is not None:
            return None
        return self.measuring_s + len(self.changed) * TYPICAL_RESTART_S

    @property
    def restarts(
        self,
    ) -> Annotated[Optional[Count], 'Planned restarts of OSDs, including the last; null: no plan.']:
        return None if self.refusal is not None else 2 * len(self.changed)

    @property
    def planned_blocks(
        self,
    ) -> Annotated[
        Optional[Count], 'Blocks of the baseline, and as many after the change; null: no plan.'
    ]:
        return None if self.refusal is not None else self.blocks

    @property
    def changed(self) -> tuple[int, ...]:
        """The OSDs of all arms by turns, one of each, then the next of each: harm shows early."""
        return tuple(n for turn in zip(*(arm.osds for arm in self.arms)) for n in turn)

    @property
    def osds(self) -> tuple[int, ...]:
        """The OSDs of all arms, then the controls."""
        return (*self.changed, *self.controls)

    @property
    def measuring_s(self) -> float:
        """Until the OSDs are restored."""
        return (2 * self.blocks + self.settle_blocks) * self.block_s

    def settling(self, changed: int) -> int:
        """Blocks between the baseline and the first after the change: so many OSDs restart."""
        warm_up_s = max(limits().warm_up_s, self.fill_s or 0.0)
        return math.ceil((changed * TYPICAL_RESTART_S + warm_up_s) / self.block_s)

    def change_of(self, experiment_id: str, actor: str, osd_ids: Iterable[int]) -> ChangeRequest:
        """The change of these OSDs, as one request; controls keep their options."""
        strings = {n: arm.options for arm in self.arms for n in arm.osds}
        targets = tuple((n, strings.get(n, self.from_options)) for n in osd_ids)
        return ChangeRequest(
            recommendation_id=experiment_id,
            kind=ChangeKind.SET_PROFILE,
            who=self.who,
            targets=targets,
            order=tuple(n for n, _ in targets),
            final_entries=tuple((own(n), string) for n, string in targets),
            actor=actor,
        )


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
    candidates: Sequence[Candidate], asked: ExperimentPlan, noises: Mapping[str, Noise]
) -> ExperimentPlan:
    """Complete what is ``asked`` on ``candidates``, all OSDs of a group that is not `too_small`.

    ``noises`` has the objective and the signals that end an unsafe arm early.
    """
    if asked.objective not in noises:
        return replace(asked, refusal=Refusal(f'the noise of {asked.objective} is unknown'))
    arms, ordered, bounds = len(asked.arms), usable(candidates), experiment_limits()
    most = min(int(len(candidates) * asked.share) // arms, MOST_ARM_OSDS)
    least, largest = bounds.least_arm_osds, None
    for arm_osds in range(least, most + 1):
        # As many controls as possible, at least the OSDs of an arm: they only cost memory.
        controls = min(bounds.most_controls, len(ordered) - arms * arm_osds)
        chosen = choose(ordered, arms, arm_osds, controls) if controls >= arm_osds else None
        if chosen is None:
            continue
        largest = arm_osds, controls
        shape = _shortest(arm_osds, controls, asked, noises, asked.max_duration_s)
        if shape is not None:
            return replace(
                asked,
                arms=tuple(replace(a, osds=osds) for a, osds in zip(asked.arms, chosen.columns)),
                controls=chosen.controls,
                blocks=shape.blocks,
                settle_blocks=asked.settling(shape.changed),
                detectable=detectable(shape, noises[asked.objective]),
                unsafe_detectable=unsafe_detectable(shape, noises, asked.objective),
            )
    if largest is not None:
        return _too_imprecise(*largest, asked, noises)
    reason = (
        f'{len(ordered)} of the {len(candidates)} OSDs of the group are similar enough: too few, '
        f'or in too few failure domains, for {format_plural(arms, "arm")} of {least} OSDs and '
        'controls'
    )
    return replace(asked, refusal=Refusal(reason))


def too_small(osds: int, asked: ExperimentPlan) -> Optional[Refusal]:
    """Why a group of this size has no room for the arms, whatever its noise; None if it has."""
    arms = len(asked.arms)
    least = experiment_limits().least_arm_osds
    if int(osds * asked.share) // arms >= least:
        return None
    return Refusal(
        f'{format_plural(arms, "arm")} of {least} OSDs would be more than {asked.share:.0%} of '
        f'the {osds} OSDs of the group',
        osds=math.ceil(arms * least / asked.share),
    )


def _longest(arm_osds: int, controls: int, asked: ExperimentPlan, within_s: float) -> Shape:
    shape = Shape(len(asked.arms), arm_osds, controls, 0)
    blocks = int(within_s / asked.block_s) - asked.settling(shape.changed)
    return shape._replace(blocks=blocks // 2)


def _shortest(
    arm_osds: int,
    controls: int,
    asked: ExperimentPlan,
    noises: Mapping[str, Noise],
    within_s: float,
) -> Optional[Shape]:
    """The shortest sufficient shape; None if there is none within ``within_s``."""
    shape = _longest(arm_osds, controls, asked, within_s)
    low, high = experiment_limits().unsafe_blocks, shape.blocks
    if high < low or not _suffices(shape, asked, noises):
        return None
    while low < high:
        middle = (low + high) // 2
        enough = _suffices(shape._replace(blocks=middle), asked, noises)
        low, high = (low, middle) if enough else (middle + 1, high)
    return shape._replace(blocks=low)


def _suffices(shape: Shape, asked: ExperimentPlan, noises: Mapping[str, Noise]) -> bool:
    return (
        detectable(shape, noises[asked.objective]) <= asked.min_effect
        and unsafe_detectable(shape, noises, asked.objective) <= experiment_limits().unsafe
    )


def _too_imprecise(
    arm_osds: int, controls: int, asked: ExperimentPlan, noises: Mapping[str, Noise]
) -> ExperimentPlan:
    bounds, arms = experiment_limits(), len(asked.arms)
    longest = _longest(arm_osds, controls, asked, asked.max_duration_s)
    effect = soon = math.inf
    wider = None
    reason = 'the time is too short for a baseline and as much again'
    if longest.blocks >= bounds.unsafe_blocks:
        effect = detectable(longest, noises[asked.objective])
        soon = unsafe_detectable(longest, noises, asked.objective)
        reason = (
            f'an arm that is {bounds.unsafe:.0%} worse would not be detected within '
            f'{bounds.unsafe_blocks} blocks, with {arm_osds} OSDs per arm and {controls} controls '
            'that are similar enough'
        )
        if effect > asked.min_effect:
            reason = f'a difference of {asked.min_effect:.0%} is not detectable'
            if _suffices(longest, replace(asked, min_effect=MIN_EFFECT_BOUNDS[1]), noises):
                wider = math.ceil(100 * effect) / 100
                reason += f'; --min-effect {100 * wider:.0f} would be'
    longer = _shortest(arm_osds, controls, asked, noises, LONGEST_S)
    more = (
        math.ceil(arms * n / asked.share)
        for n in range(arm_osds + 1, MOST_ARM_OSDS + 1)
        if _shortest(n, bounds.most_controls, asked, noises, asked.max_duration_s)
    )
    required = None
    if longer is not None:
        required = (2 * longer.blocks + asked.settling(longer.changed)) * asked.block_s
    return replace(
        asked,
        detectable=effect if math.isfinite(effect) else None,
        unsafe_detectable=soon if math.isfinite(soon) else None,
        refusal=Refusal(reason, next(more, None), required, wider),
    )
