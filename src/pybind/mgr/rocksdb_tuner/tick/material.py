"""What a snapshot was made of, for whoever asks for a report or a chart: read by any thread.

Nothing in it changes after it was published. It is made of references, so that it costs a tick
next to nothing; to put it together is up to the reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Optional

from ..collection.collect import collect
from ..collection.records import Collection, ModuleState
from ..mgr.records import ClusterMap
from ..observe.growth import GrowthPoints
from ..observe.observer import Kept
from ..observe.option_watch import KnownOptions
from ..observe.pool_rates import PoolRates
from ..observe.starts import LastStart
from ..snapshot import Snapshot
from ..workload.classifier import Memories
from ..workload.records import Workload


@dataclass(frozen=True)
class Material:
    """Beside the snapshot itself."""

    cluster_map: ClusterMap
    kept: Kept
    options: KnownOptions
    health_codes: frozenset[str]
    orchestrated: bool
    #: When the OSDs were last sampled.
    observed_s: Optional[float]
    interval_s: float
    limits: Mapping[str, float]
    pending_since_s: Mapping[int, float]
    advised_on: Mapping[str, Workload]
    memories: Memories
    pool_rates: Mapping[int, PoolRates]
    starts: Mapping[int, LastStart]


@dataclass(frozen=True)
class Published:
    """All that is known at one time; ``material`` is None before the first look."""

    snapshot: Snapshot
    material: Optional[Material] = None

    def growth_of(self, osd_id: int) -> Optional[GrowthPoints]:
        """What the forecast of a DB device was made of."""
        return None if self.material is None else self.material.kept.growth_of(osd_id)

    def collection(self, manager_version: str, manager_release: str) -> Optional[Collection]:
        """All that the snapshot was made of; None before the first look."""
        material, snapshot = self.material, self.snapshot
        if material is None:
            return None
        taken_s, rollout = snapshot.taken_s, snapshot.rollout
        assert taken_s is not None
        return collect(
            material.cluster_map,
            material.kept,
            material.options,
            ModuleState(
                taken_s=taken_s,
                sampled_s=taken_s if material.observed_s is None else material.observed_s,
                mode=snapshot.mode,
                manager_version=manager_version,
                manager_release=manager_release,
                managers=snapshot.managers,
                interval_s=material.interval_s,
                tick_ms=snapshot.sampling.tick_ms,
                orchestrated=material.orchestrated,
                rollout_under_way=rollout is not None and not rollout.ended,
                limits=material.limits,
                notices=(*snapshot.notices, *(f.sentence for f in snapshot.failing)),
                pending_since_s=material.pending_since_s,
                advised_on=material.advised_on,
                memories=material.memories,
                pool_rates=material.pool_rates,
                growth=material.kept.growth(),
                starts=material.starts,
            ),
            health_codes=material.health_codes,
            history=snapshot.history,
            rollout=rollout,
        )
