"""Power of an experiment: the smallest detectable effect, and unsafe arms. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Optional

from ..judge.arms import guard_rate, objective_rate
from ..judge.crossover import Fit, Unit, fit, variance_of
from ..judge.experiment_limits import experiment_limits
from ..judge.noise import Noise
from ..judge.sequential import critical


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
