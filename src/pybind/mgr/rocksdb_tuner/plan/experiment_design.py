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

from ..judge.arms import Arm, Terms, rate_of
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
    detectable_percent: Annotated[
        Optional[Amount],
        'Smallest difference that is detected, with the noise measured on these OSDs; null: '
        'unknown.',
    ] = None
    unsafe_percent: Annotated[
        Optional[Amount],
        'Smallest worsening that ends an arm within three blocks; null: unknown.',
    ] = None
    #: None: the experiment is possible.
    refusal: Optional[Refusal] = None

    @property
    def min_effect_percent(self) -> Annotated[Amount, 'Smaller differences count as none.']:
        return self.min_effect * 100

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

    @property
    def terms(self) -> Terms:
        return Terms(self.controls, self.objective, self.min_effect, self.blocks)

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


def detectable(shape: Shape, noises: Mapping[str, Noise], objective: str) -> tuple[float, float]:
    """The smallest difference of the objective, and worsening of any signal, that are detected.

    As a share, with probability `power`: the difference of an arm at the end, the worsening within
    `unsafe_blocks`. inf: none is.
    """
    soon = experiment_limits().unsafe_blocks
    return (
        _detectable(shape, shape.blocks, noises[objective], goal=True),
        max(_detectable(shape, soon, noise, name == objective) for name, noise in noises.items()),
    )


def _detectable(shape: Shape, blocks: int, noise: Noise, goal: bool) -> float:
    """After so many ``blocks``; see `judge.arms` for the interval.

    Uses the normal approximation of the noncentral t (Abramowitz and Stegun 26.7.10).
    """
    bounds, factor = experiment_limits(), 1 / shape.arm_osds + 1 / shape.controls
    free = shape.arms * (shape.arm_osds - 1) + shape.controls - 1
    times = critical(rate_of(shape.arms, goal), free, bounds.spread / factor)
    if times is None:
        return math.inf
    spread = NormalDist().inv_cdf(bounds.power) * math.sqrt(1 + times**2 / (2 * free))
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
    search, largest = _Search(asked, noises), None
    most = min(int(len(candidates) * asked.share) // arms, MOST_ARM_OSDS)
    for arm_osds in range(bounds.least_arm_osds, most + 1):
        # As many controls as possible, at least the OSDs of an arm: they only cost memory.
        controls = min(bounds.most_controls, len(ordered) - arms * arm_osds)
        chosen = choose(ordered, arms, arm_osds, controls) if controls >= arm_osds else None
        if chosen is None:
            continue
        largest = Shape(arms, arm_osds, controls, 0)
        shape = search.shortest(largest, asked.max_duration_s)
        if shape is not None:
            effect, unsafe = detectable(shape, noises, asked.objective)
            return replace(
                asked,
                arms=tuple(replace(a, osds=osds) for a, osds in zip(asked.arms, chosen.columns)),
                controls=chosen.controls,
                blocks=shape.blocks,
                settle_blocks=asked.settling(shape.changed),
                detectable_percent=100 * effect,
                unsafe_percent=100 * unsafe,
            )
    if largest is not None:
        return search.too_imprecise(largest)
    reason = (
        f'{len(ordered)} of the {len(candidates)} OSDs of the group are similar enough: too few, '
        f'or in too few failure domains, for {format_plural(arms, "arm")} of '
        f'{bounds.least_arm_osds} OSDs and controls'
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


@dataclass(frozen=True)
class _Search:
    """Looks for a sufficient number of blocks."""

    asked: ExperimentPlan
    noises: Mapping[str, Noise]

    def longest(self, shape: Shape, within_s: float) -> Shape:
        blocks = int(within_s / self.asked.block_s) - self.asked.settling(shape.changed)
        return shape._replace(blocks=blocks // 2)

    def shortest(self, shape: Shape, within_s: float) -> Optional[Shape]:
        """The shortest sufficient shape; None if there is none within ``within_s``."""
        longest, least = self.longest(shape, within_s), experiment_limits().unsafe_blocks
        if longest.blocks < least or not self.suffices(longest, self.asked.min_effect):
            return None
        shapes = (shape._replace(blocks=blocks) for blocks in range(least, longest.blocks + 1))
        return next(one for one in shapes if self.suffices(one, self.asked.min_effect))

    def suffices(self, shape: Shape, min_effect: float) -> bool:
        effect, unsafe = detectable(shape, self.noises, self.asked.objective)
        return effect <= min_effect and unsafe <= experiment_limits().unsafe

    def too_imprecise(self, shape: Shape) -> ExperimentPlan:
        """The refusal, with what would suffice."""
        asked, bounds, effect, unsafe = self.asked, experiment_limits(), math.inf, math.inf
        longest = self.longest(shape, asked.max_duration_s)
        reason = 'the time is too short for a baseline and as much again'
        if longest.blocks >= bounds.unsafe_blocks:
            effect, unsafe = detectable(longest, self.noises, asked.objective)
            reason = (
                f'an arm that is {bounds.unsafe:.0%} worse would not be detected within '
                f'{bounds.unsafe_blocks} blocks, with {shape.arm_osds} OSDs per arm and '
                f'{shape.controls} controls that are similar enough'
            )
            if effect > asked.min_effect:
                reason = f'a difference of {asked.min_effect:.0%} is not detectable'
                if self.suffices(longest, MIN_EFFECT_BOUNDS[1]):
                    reason += f'; --min-effect {math.ceil(100 * effect)} would be'
        longer = self.shortest(shape, LONGEST_S)
        larger = (
            n
            for n in range(shape.arm_osds + 1, MOST_ARM_OSDS + 1)
            if self.shortest(Shape(shape.arms, n, bounds.most_controls, 0), asked.max_duration_s)
        )
        more = next((math.ceil(shape.arms * n / asked.share) for n in larger), None)
        required = None
        if longer is not None:
            required = (2 * longer.blocks + asked.settling(longer.changed)) * asked.block_s
        return replace(
            asked,
            detectable_percent=100 * effect if math.isfinite(effect) else None,
            unsafe_percent=100 * unsafe if math.isfinite(unsafe) else None,
            refusal=Refusal(reason, more, required),
        )
