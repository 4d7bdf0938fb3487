"""Builds the snapshot from the collected data; sends no requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Callable, Optional

from ..advise.conditions.hold import HoldState, hold, raised, since
from ..advise.custom_profiles import CustomProfiles
from ..advise.facts import osd_options, settings_in_force
from ..advise.no_change import WorkloadMemory
from ..advise.records import OsdFacts, OsdOptions, Recommendation, Setting
from ..collection.records import Collection, ModuleState, OsdCollection
from ..evaluate import ADVISING, AdviceContext, Conclusions, EvaluationState, conclude
from ..mgr.records import ClusterMap, ConfigEntry, ManagerHost, OsdInfo, RunningOption
from ..observe.details import SlowOps
from ..observe.load_history import PoolRates
from ..observe.observer import Kept
from ..observe.option_watch import KnownOptions
from ..observe.starts import LastStart
from ..observe.trend import GrowthPoints
from ..sampler import Sampler
from ..settings import Settings
from ..snapshot import Mode, Sampling, Snapshot
from ..steps import Steps
from ..version import MINIMUM_PYTHON
from ..workload.classifier import Memories
from ..workload.records import Workload
from .current_settings import ClusterState, CurrentSettings, Permissions
from .operation_control import OperationControl
from .schedule import Basis


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


_NOTHING_CONCLUDED = Conclusions((), (), ())


@dataclass(frozen=True)
class _Configured:
    """Derived option state of an OSD, with the inputs it was derived from."""

    osd: OsdInfo
    entries: tuple[ConfigEntry, ...]
    running: Mapping[str, RunningOption]
    options: OsdOptions
    settings: Mapping[str, Setting]


class Evaluation:
    """Combines OSD facts and recommendations into a snapshot; keeps state between ticks."""

    def __init__(
        self,
        sampler: Sampler,
        cluster_state: ClusterState,
        operations: OperationControl,
        current: CurrentSettings,
        permissions: Permissions,
        steps: Steps,
        custom_profiles: CustomProfiles,
        advised: Callable[[Sequence[Recommendation]], None],
        *,
        release: Optional[str],
        unknown_manager: Optional[str],
    ) -> None:
        """``advised`` receives the recommendations; ``release`` is the release of this mgr.

        ``unknown_manager``: why nothing is recommended under an unknown mgr release, or None.
        """
        self._sampler, self._cluster_state = sampler, cluster_state
        self._operations, self._current, self._steps = operations, current, steps
        self._permissions = permissions
        self._custom_profiles, self._advised = custom_profiles, advised
        self._release, self._unknown_manager = release, unknown_manager
        self._memory = WorkloadMemory()
        self._advised_on: Mapping[str, Workload] = {}
        self._known_options: dict[int, _Configured] = {}
        #: Since when each OSD has had a restart pending, as observed by this mgr.
        self._pending_since_s: Mapping[int, float] = {}
        self._state = EvaluationState()
        self._alarms: HoldState = {}

    def basis(self, cluster_map: ClusterMap, settings: Settings) -> Basis:
        """What an evaluation rests on now, other than measured values."""
        sampler, cluster_state, operations = self._sampler, self._cluster_state, self._operations
        recognition = sampler.recognition
        return Basis(
            settings=settings,
            interval_s=sampler.interval_s,
            osds=cluster_map.osds,
            entries=cluster_state.options.entries,
            option_changes=cluster_state.options.changes,
            measured=sampler.signals().keys(),
            workloads={name: w.workload_class for name, w in recognition.per_group.items()},
            health_codes=cluster_state.health_codes,
            orchestrator_reason=cluster_state.orchestrator_reason,
            managers=cluster_state.managers,
            reports=self._permissions.reports,
            changing=operations.changing,
            history=operations.driver.history,
        )

    def evaluate(self, cluster_map: ClusterMap, settings: Settings, now_s: float) -> Published:
        """Evaluate the latest samples."""
        osds = () if settings.mode is Mode.OFF else self._facts(cluster_map, now_s)
        if settings.mode in ADVISING and self._unknown_manager is None:
            self._advised_on = self._memory.recall(
                self._sampler.recognition, now_s, settings.workload_memory_s
            )
        self._pending_since_s = since(
            self._pending_since_s,
            [o.info.osd_id for o in osds if o.options and o.options.pending_restart],
            now_s,
        )
        # If this fails, the snapshot has no recommendations rather than stale ones.
        concluded = self._steps.value(
            'advice', lambda: self._conclude(settings, osds, now_s), _NOTHING_CONCLUDED
        )
        return Published(
            self.snapshot_of(settings, osds, now_s, concluded), self._inputs(settings, cluster_map)
        )

    def snapshot_of(
        self,
        settings: Settings,
        osds: tuple[OsdFacts, ...],
        now_s: float,
        concluded: Conclusions = _NOTHING_CONCLUDED,
    ) -> Snapshot:
        """Measurements, recommendations and operations under way."""
        sampler = self._sampler
        sampled, permissions = sampler.signals(), self._permissions
        sampling = settings.mode is not Mode.OFF
        report_s = sampler.observer.newest_report_s if sampled else None
        return Snapshot(
            taken_s=now_s,
            mode=settings.mode,
            release=self._release,
            sampling=Sampling(
                interval_s=sampler.interval_s,
                osds=len(sampled),
                last_sample_age_s=None if report_s is None else max(0.0, now_s - report_s),
                tick_ms=None if sampler.cost_s is None else sampler.cost_s * 1000,
                report_interval_s=permissions.report_interval.measured_s if sampling else None,
                reports=permissions.reports if sampling else None,
            ),
            osds=osds,
            groups=concluded.groups,
            findings=concluded.findings,
            alarms=raised(self._alarms),
            assessments=concluded.assessments,
            managers=self._cluster_state.managers,
            limitations=self._limitations(),
            impossible=self._current.impossible,
            **self._operations.shown(),
        )

    def _conclude(
        self, settings: Settings, osds: tuple[OsdFacts, ...], now_s: float
    ) -> Conclusions:
        cluster_state, operations = self._cluster_state, self._operations
        concluded = conclude(
            osds,
            self._sampler.recognition.per_group,
            self._advised_on,
            AdviceContext(
                mode=settings.mode,
                entries=cluster_state.options.entries,
                no_advice=self._unknown_manager,
                orchestrated=cluster_state.orchestrated,
                rollout_under_way=operations.changing,
                health_codes=cluster_state.health_codes,
                alerting={n: ops.at(now_s) for n, ops in cluster_state.slow_ops.items()},
                pending_s={i: now_s - at_s for i, at_s in self._pending_since_s.items()},
                limits=settings.limits,
                history=operations.driver.history,
                custom_profiles=self._custom_profiles.all(),
            ),
            self._state,
        )
        self._advised([r for a in concluded.assessments for r in a.recommendations])
        self._alarms = hold(self._alarms, concluded.findings, now_s, cluster_state.health_codes)
        return concluded

    def _inputs(self, settings: Settings, cluster_map: ClusterMap) -> SnapshotInputs:
        sampler, cluster_state = self._sampler, self._cluster_state
        return SnapshotInputs(
            cluster_map=cluster_map,
            kept=sampler.observer.kept(),
            options=cluster_state.options.kept(),
            health_codes=cluster_state.health_codes,
            slow_ops=cluster_state.slow_ops,
            orchestrator_reason=cluster_state.orchestrator_reason,
            host=cluster_state.host,
            observed_s=sampler.observed_s,
            interval_s=sampler.interval_s,
            limits=settings.limits,
            pending_since_s=self._pending_since_s,
            advised_on=self._advised_on,
            memories=sampler.classifier.memories,
            pool_rates=sampler.pool_rates,
            starts=sampler.starts.starts,
        )

    def _limitations(self) -> tuple[str, ...]:
        """Limitations of this environment."""
        known = (self._unknown_manager, self._current.impossible)
        found = [text for text in known if text is not None]
        found += [
            f'mgr.{manager.name} on {manager.host or "an unknown host"} cannot run this module, '
            'so nothing is measured while it is active: install the package there and restart '
            f'the manager. The module requires Python {MINIMUM_PYTHON[0]}.{MINIMUM_PYTHON[1]} or '
            'newer.'
            for manager in self._cluster_state.managers
            if not manager.has_module
        ]
        return tuple(found)

    def _facts(self, cluster_map: ClusterMap, now_s: float) -> tuple[OsdFacts, ...]:
        observer, starts = self._sampler.observer, self._sampler.starts.starts
        signals, workloads = self._sampler.signals(), self._sampler.recognition.per_osd
        present = {osd.osd_id for osd in cluster_map.osds}
        for osd_id in [i for i in self._known_options if i not in present]:
            del self._known_options[osd_id]
        found = []
        for osd in cluster_map.osds:
            osd_id = osd.osd_id
            configured, seen = self._configured(osd), signals.get(osd_id)
            found.append(
                OsdFacts(
                    osd,
                    seen,
                    workloads.get(osd_id),
                    configured.options if configured else None,
                    observer.details(osd_id) if seen is not None else None,
                    observer.forecast(osd_id),
                    observer.rocksdb_times(osd_id, now_s) if seen is not None else None,
                    observer.sharded(osd_id, osd.nonce),
                    configured.settings if configured else None,
                    starts.get(osd_id),
                )
            )
        return tuple(found)

    def _configured(self, osd: OsdInfo) -> Optional[_Configured]:
        """Running and configured options of ``osd``, cached until one of them changes."""
        options = self._cluster_state.options
        running, entries = options.running(osd), options.entries
        if running is None:
            return None
        known = self._known_options.get(osd.osd_id)
        if known is None or (known.osd, known.entries, known.running) != (osd, entries, running):
            found = osd_options(osd, entries, running)
            in_force = settings_in_force(osd, entries, running)
            known = _Configured(osd, entries, running, found, in_force)
            self._known_options[osd.osd_id] = known
        return known
