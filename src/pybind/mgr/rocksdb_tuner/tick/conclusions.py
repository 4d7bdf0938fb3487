"""Reuse of conclusions: advice is drawn again when its basis changes, else twice a minute."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable, Mapping, NamedTuple, Optional

from ..advise.records import OsdFacts
from ..evaluate import AdviceContext, Conclusions
from ..workload.records import Workload, WorkloadClass

#: Findings and advice are about minutes, and signals are means over 30 s, so conclusions of this
#: age are as good as new ones. It is every third tick at the default interval.
REUSE_S = 25.0


class Basis(NamedTuple):
    """What changes conclusions at once; the measured values are not part of it."""

    #: What is known about each OSD, and the values that are not measurements.
    osds: tuple[object, ...]
    #: The class of each device class, now and as the base of advice.
    workloads: Mapping[str, WorkloadClass]
    advised_on: Mapping[str, WorkloadClass]
    context: AdviceContext


def basis_of(
    osds: tuple[OsdFacts, ...],
    workloads: Mapping[str, Workload],
    advised_on: Mapping[str, Workload],
    context: AdviceContext,
    pending_since_s: Mapping[int, float],
) -> Basis:
    """``pending_since_s`` stands in for the ages in ``context``, which grow at every tick."""
    return Basis(
        tuple(
            (
                facts.info,
                facts.signals is None,
                facts.workload is None or facts.workload.workload_class,
                facts.options,
                facts.details is None,
                facts.forecast is None or facts.forecast.outlook,
                facts.rocksdb_times is None,
                facts.sharded,
                facts.settings,
                facts.last_start,
            )
            for facts in osds
        ),
        {name: workload.workload_class for name, workload in workloads.items()},
        {name: workload.workload_class for name, workload in advised_on.items()},
        replace(context, pending_s=pending_since_s),
    )


@dataclass(frozen=True)
class _Kept:
    basis: Basis
    drawn_s: float
    conclusions: Conclusions


class KeptConclusions:
    """The newest conclusions, for `REUSE_S` and as long as their basis is the same."""

    def __init__(self) -> None:
        self._kept: Optional[_Kept] = None

    def get(self, basis: Basis, now_s: float, draw: Callable[[], Conclusions]) -> Conclusions:
        """The kept ones, or those of ``draw``; nothing is kept if ``draw`` raises."""
        kept, self._kept = self._kept, None
        # Also drawn again if the clock went backwards
        if kept is None or not 0 <= now_s - kept.drawn_s < REUSE_S or kept.basis != basis:
            kept = _Kept(basis, now_s, draw())
        self._kept = kept
        return kept.conclusions
