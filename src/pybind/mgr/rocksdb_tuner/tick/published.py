"""The published snapshot with its inputs, for reports and charts; safe to read from any thread.

Published data never changes. The inputs are references, so publishing them costs almost nothing per
tick; the reader assembles the report.

State that other threads may read; the serve thread replaces it as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Optional

from ..collection.records import Collection, ModuleState, OsdCollection
from ..mgr.records import ClusterMap, ManagerHost, OsdInfo
from ..observe.details import SlowOps
from ..observe.load_history import PoolRates
from ..observe.observer import Kept
from ..observe.option_watch import KnownOptions
from ..observe.starts import LastStart
from ..observe.trend import GrowthPoints
from ..snapshot import Snapshot
from ..steps import Steps
from ..workload.classifier import Memories
from ..workload.records import Workload
from .auto_apply import AutoApply
from .operation_control import OperationControl


@dataclass(frozen=True)
class SnapshotInputs:
    """Data that the snapshot was built from."""

    cluster_map: ClusterMap
    kept: Kept
    options: KnownOptions
    health_codes: frozenset[str]
    slow_ops: Mapping[int, SlowOps]
    #: Why no orchestrator can restart OSDs; None: one can.
    orchestrator_reason: Optional[str]
    #: The active mgr; None: unknown so far.
    host: Optional[ManagerHost]
    #: Time of the last sample.
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
    """A snapshot with its inputs; ``inputs`` is None before the first evaluation."""

    snapshot: Snapshot
    inputs: Optional[SnapshotInputs] = None

    def growth_of(self, osd_id: int) -> Optional[GrowthPoints]:
        """Data points behind the growth forecast of a DB device."""
        return None if self.inputs is None else self.inputs.kept.growth_of(osd_id)

    def collection(self, manager_version: str, manager_release: str) -> Optional[Collection]:
        """All inputs of the snapshot; None before the first evaluation."""
        inputs, snapshot = self.inputs, self.snapshot
        if inputs is None:
            return None
        taken_s, rollout, experiment = snapshot.taken_s, snapshot.rollout, snapshot.experiment
        assert taken_s is not None
        return Collection(
            taken_s=taken_s,
            cluster_map=inputs.cluster_map,
            osds={osd.osd_id: _collection_of(osd, inputs) for osd in inputs.cluster_map.osds},
            entries=inputs.options.entries,
            health_codes=inputs.health_codes,
            alerting={n: ops.at(taken_s) for n, ops in inputs.slow_ops.items()},
            orchestrated=inputs.orchestrator_reason is None,
            module=ModuleState(
                sampled_s=taken_s if inputs.observed_s is None else inputs.observed_s,
                mode=snapshot.mode,
                manager_version=manager_version,
                manager_release=manager_release,
                managers=snapshot.managers,
                sampling=snapshot.sampling,
                rollout_under_way=(rollout is not None and not rollout.ended)
                or (experiment is not None and not experiment.ended),
                limits=inputs.limits,
                notices=(*snapshot.notices, *(f.sentence for f in snapshot.failing)),
                pending_since_s=inputs.pending_since_s,
                advised_on=inputs.advised_on,
                memories=inputs.memories,
                pool_rates=inputs.pool_rates,
                growth=inputs.kept.growth(),
                starts=inputs.starts,
            ),
            history=snapshot.history,
            rollout=rollout,
            campaign=snapshot.campaign,
            experiment=experiment,
            limitations=snapshot.limitations,
        )


def _collection_of(osd: OsdInfo, inputs: SnapshotInputs) -> OsdCollection:
    evidence = inputs.kept.evidence(osd.osd_id)
    return OsdCollection(
        evidence if evidence and evidence.nonce == osd.nonce else None,
        inputs.options.running(osd),
        sharded=inputs.kept.sharded(osd.osd_id, osd.nonce),
    )


class Publication:
    """The newest snapshot with its inputs."""

    def __init__(
        self, operations: OperationControl, auto_apply: AutoApply, steps: Steps, first: Snapshot
    ) -> None:
        self._operations, self._auto_apply, self._steps = operations, auto_apply, steps
        self.newest = Published(first)

    def replace(self, snapshot: Snapshot) -> None:
        """Replace the snapshot and keep its inputs."""
        self.newest = Published(snapshot, self.newest.inputs)

    def show_changes(self, now_s: float) -> None:
        """Publish the current operations and failing steps at once."""
        self.replace(
            replace(
                self.newest.snapshot,
                **self._operations.shown(),
                auto_apply_refusals=self._auto_apply.refusals,
                failing=self._steps.failing,
                published_s=now_s,
            )
        )
