"""Evaluates the collected data when that is due, and builds the snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Optional

from ..advise.conditions import HoldState, SetupFindings, hold, raised, since
from ..advise.custom_profiles import CustomProfiles
from ..advise.facts import WATCHED_IF_SET, osd_options, settings_in_force
from ..advise.memory import WorkloadMemory
from ..advise.records import OsdFacts, OsdOptions, Setting
from ..collection.records import Collection, ModuleState, OsdCollection
from ..evaluate import ADVISING, conclude, snapshot_of, unknown_manager
from ..mgr.protocols import Cluster
from ..mgr.records import (
    ClusterMap,
    ConfigEntry,
    ManagerHost,
    ManagerInfo,
    OsdInfo,
    RunningOption,
)
from ..observe.deep import times_of
from ..observe.details import SLOW_OP_ALERT, SlowOps, count_slow_ops, watch_slow_ops
from ..observe.observer import Kept
from ..observe.option_watch import KnownOptions, OptionWatch
from ..options.releases import release_of
from ..plan.commands import ShownSteps
from ..plan.records import ANNEX, OPTION
from ..requests import NOT_SAMPLED, BusyError
from ..sampler import Sampler
from ..settings import Settings
from ..snapshot import Mode, Sampling, Snapshot
from ..steps import Steps
from ..version import MINIMUM_PYTHON
from ..workload.records import Workload
from .operation_control import CurrentSettings, OperationControl

#: Signals are means over 30 s, so a newer evaluation would say little else. With the default
#: interval this is every third tick.
PERIOD_S = 25.0
#: While all OSDs work as they did, and only after a sample of all of them: every sixth tick, both
#: under clients (every second such sample) and without (each).
STEADY_PERIOD_S = 40.0
#: Ceph's own health checks come and go within minutes.
HEALTH_PERIOD_S = 30.0


class ClusterState:
    """Options of OSDs, orchestrator, managers and health of the cluster."""

    def __init__(self, cluster: Cluster, steps: Steps) -> None:
        self._cluster, self._steps = cluster, steps
        self.options = OptionWatch(cluster, (OPTION, ANNEX), WATCHED_IF_SET)
        #: Why no orchestrator can restart OSDs; None: one can, or unknown so far.
        self.orchestrator_reason: Optional[str] = None
        self.managers: tuple[ManagerInfo, ...] = ()
        self.host: Optional[ManagerHost] = None
        self.health_codes: frozenset[str] = frozenset()
        #: Of OSDs with Ceph's alert for slow operations.
        self.slow_ops: Mapping[int, SlowOps] = {}
        self._health_read_s: Optional[float] = None

    def refresh(self, now_s: float) -> None:
        """Refresh each part separately; a part that fails keeps its old state."""
        cluster, run, value = self._cluster, self._steps.run, self._steps.value
        run('running options', lambda: self.options.refresh(cluster.cluster_map(), now_s))
        self.orchestrator_reason = value(
            'orchestrator', cluster.unavailable_reason, self.orchestrator_reason
        )
        self.managers, self.host = value(
            'managers',
            lambda: (cluster.managers(), cluster.manager_host()),
            (self.managers, self.host),
        )
        run('cluster health', lambda: self._refresh_health(now_s))

    def _refresh_health(self, now_s: float) -> None:
        read_s = self._health_read_s
        if read_s is None or abs(now_s - read_s) >= HEALTH_PERIOD_S:
            self._health_read_s = now_s
            self.health_codes = frozenset(self._cluster.health_codes())
            named = SLOW_OP_ALERT in self.health_codes
            osds = self._cluster.alerting_osds(SLOW_OP_ALERT) if named else ()
            counts = {n: count_slow_ops(self._cluster, n) for n in osds}
            self.slow_ops = watch_slow_ops(self.slow_ops, counts, now_s)


@dataclass(frozen=True)
class Inputs:
    """Data that a snapshot was built from."""

    #: Without what `Published.collection` adds.
    collection: Collection
    kept: Kept
    options: KnownOptions
    #: The active mgr; None: unknown so far.
    host: Optional[ManagerHost]
    #: Why no orchestrator can restart OSDs; None: one can.
    orchestrator_reason: Optional[str]

    @property
    def advised_on(self) -> Mapping[str, Workload]:
        """Workload behind the recommendations, by device class."""
        assert self.collection.module is not None
        return self.collection.module.advised_on


@dataclass(frozen=True)
class Published:
    """A snapshot with its inputs; ``inputs`` is None before the first evaluation."""

    snapshot: Snapshot
    inputs: Optional[Inputs] = None
    #: Reports written of it, so that many readers share one.
    reports: dict[object, str] = field(default_factory=dict, compare=False)

    def collection(self) -> Collection:
        """All inputs of the snapshot; raises BusyError before the first evaluation."""
        inputs, snapshot = self.inputs, self.snapshot
        if inputs is None:
            raise BusyError(NOT_SAMPLED)
        given, changes = inputs.collection, (snapshot.rollout, snapshot.experiment)
        assert given.module is not None
        return replace(
            given,
            osds={
                osd.osd_id: OsdCollection(
                    inputs.kept.evidence(osd),
                    inputs.options.running(osd),
                    sharded=inputs.kept.sharded(osd),
                )
                for osd in given.cluster_map.osds
            },
            module=replace(
                given.module,
                rollout_under_way=any(one is not None and not one.ended for one in changes),
                notices=(*snapshot.notices, *(f.sentence for f in snapshot.failing)),
                growth={n: grown.points for n, grown in inputs.kept.growth.items() if grown.points},
            ),
            history=snapshot.history,
            rollout=snapshot.rollout,
            campaign=snapshot.campaign,
            experiment=snapshot.experiment,
        )


class _Configured(NamedTuple):
    """Derived option state of an OSD, and what it was derived from."""

    source: tuple[OsdInfo, tuple[ConfigEntry, ...], Mapping[str, RunningOption]]
    options: OsdOptions
    settings: Mapping[str, Setting]


class Evaluation:
    """Combines OSD facts and recommendations into a snapshot; keeps state between ticks.

    It evaluates at once if anything but a measured value changed, else less often.
    """

    def __init__(
        self,
        sampler: Sampler,
        cluster_state: ClusterState,
        operations: OperationControl,
        current: CurrentSettings,
        steps: Steps,
        custom_profiles: CustomProfiles,
        manager: tuple[str, str],
    ) -> None:
        """``manager``: version and name of its release."""
        self._sampler, self._cluster_state = sampler, cluster_state
        self._operations, self._current, self._steps = operations, current, steps
        self._custom_profiles, self._manager = custom_profiles, manager
        #: Of the last evaluation that succeeded; None: one is due.
        self._basis: Optional[tuple[object, ...]] = None
        self._evaluated_s, self._paces_changed = 0.0, 0
        self._memory = WorkloadMemory()
        self._advised_on: Mapping[str, Workload] = {}
        self._known_options: dict[int, _Configured] = {}
        #: Since when each OSD has had a restart pending, as observed by this mgr.
        self._pending_since_s: Mapping[int, float] = {}
        self._known_setup, self._shown_steps = SetupFindings(), ShownSteps()
        self._alarms: HoldState = {}

    def invalidate(self) -> None:
        """Evaluate at the next tick."""
        self._basis = None

    def due(
        self, cluster_map: ClusterMap, settings: Settings, now_s: float, *, fresh: bool
    ) -> bool:
        """``fresh``: there are new samples, or none in mode off."""
        sampler = self._sampler
        if self._basis != self._rests_on(cluster_map, settings):
            return True
        steady = sampler.observer.paces_changed == self._paces_changed
        # If the clock went backwards, do not wait until it has caught up.
        recent = 0 <= now_s - self._evaluated_s < (STEADY_PERIOD_S if steady else PERIOD_S)
        return fresh and (sampler.settling or (not recent and not (sampler.partial and steady)))

    def _rests_on(self, cluster_map: ClusterMap, settings: Settings) -> tuple[object, ...]:
        """What an evaluation rests on now, other than measured values."""
        sampler, state = self._sampler, self._cluster_state
        groups = sampler.recognition.per_group
        return (
            settings,
            # A sample may come long after a change of the settings.
            sampler.interval_s,
            cluster_map.osds,
            (state.options.known.entries, state.options.changes),
            sampler.signals().keys(),
            {name: workload.workload_class for name, workload in groups.items()},
            (state.health_codes, state.orchestrator_reason, state.managers),
            sampler.reports,
            (self._operations.changing, self._operations.driver.history),
        )

    def evaluate(self, cluster_map: ClusterMap, settings: Settings, now_s: float) -> Published:
        """Evaluate the latest samples; what fails is due again at the next tick."""
        sampler, state = self._sampler, self._cluster_state
        self._basis = None
        if settings.mode is not Mode.OFF:
            sampler.classify_osds(now_s)
        osds = () if settings.mode is Mode.OFF else self._facts(cluster_map, now_s)
        if settings.mode in ADVISING and unknown_manager(*self._manager) is None:
            self._advised_on = self._memory.recall(
                sampler.recognition, now_s, settings.workload_memory_s
            )
        self._pending_since_s = since(
            self._pending_since_s,
            [o.info.osd_id for o in osds if o.options and o.options.pending_restart],
            now_s,
        )
        collection = self._collection(cluster_map, settings, now_s)
        # If this fails, the snapshot has no recommendations rather than stale ones.
        nothing = self._snapshot(collection, osds)
        snapshot = self._steps.value(
            'advice', lambda: self._conclude(nothing, collection, now_s), nothing
        )
        if not self._steps.fails('advice'):
            self._basis, self._evaluated_s = self._rests_on(cluster_map, settings), now_s
            self._paces_changed = sampler.observer.paces_changed
        kept, known = sampler.observer.kept(), state.options.known
        inputs = Inputs(collection, kept, known, state.host, state.orchestrator_reason)
        return Published(replace(snapshot, alarms=raised(self._alarms)), inputs)

    def nothing_yet(self, now_s: float) -> Published:
        """Before the first evaluation."""
        nothing, off = ClusterMap(0, frozenset(), None, (), ()), Settings(mode=Mode.OFF)
        collection = self._collection(nothing, off, now_s)
        return Published(self._snapshot(collection, ()))

    def _collection(self, cluster_map: ClusterMap, settings: Settings, now_s: float) -> Collection:
        """All inputs but those of `Published.collection`."""
        sampler, state = self._sampler, self._cluster_state
        sampled, reporting = sampler.signals(), settings.mode is not Mode.OFF
        report_s = sampler.observer.newest_report_s if sampled else None
        return Collection(
            taken_s=now_s,
            cluster_map=cluster_map,
            entries=state.options.known.entries,
            health_codes=state.health_codes,
            alerting={n: ops.at(now_s) for n, ops in state.slow_ops.items()},
            orchestrated=state.orchestrator_reason is None,
            module=ModuleState(
                sampled_s=now_s if sampler.observed_s is None else sampler.observed_s,
                mode=settings.mode,
                manager_version=self._manager[0],
                manager_release=self._manager[1],
                managers=state.managers,
                sampling=Sampling(
                    interval_s=sampler.interval_s,
                    osds=len(sampled),
                    last_sample_age_s=None if report_s is None else max(0.0, now_s - report_s),
                    tick_ms=None if sampler.cost_s is None else sampler.cost_s * 1000,
                    report_interval_s=sampler.watch.interval.measured_s if reporting else None,
                    reports=sampler.reports if reporting else None,
                ),
                rollout_under_way=self._operations.changing,
                limits=settings.limits,
                notices=(),
                pending_since_s=self._pending_since_s,
                advised_on=self._advised_on,
                workloads=sampler.recognition,
                growth={},
                starts=sampler.starts.starts,
            ),
            history=self._operations.driver.history,
            limitations=self._limitations(),
        )

    def _snapshot(self, collection: Collection, osds: tuple[OsdFacts, ...]) -> Snapshot:
        """Measurements and operations under way, without conclusions."""
        module = collection.module
        assert module is not None
        return replace(
            snapshot_of(collection, osds, release_of(*self._manager), module.sampling),
            impossible=self._current.impossible,
            **self._operations.shown(),
        )

    def _conclude(self, snapshot: Snapshot, collection: Collection, now_s: float) -> Snapshot:
        concluded = conclude(
            snapshot,
            collection,
            self._sampler.recognition.per_group,
            self._advised_on,
            custom_profiles=self._custom_profiles.all(),
            known_setup=self._known_setup,
            shown_steps=self._shown_steps,
        )
        self._alarms = hold(self._alarms, concluded.findings, now_s, collection.health_codes)
        return replace(concluded, assessments=self._memory.choices.of(concluded.assessments, now_s))

    def _limitations(self) -> tuple[str, ...]:
        """Limitations of this environment."""
        known = (unknown_manager(*self._manager), self._current.impossible)
        lacking = (
            f'mgr.{manager.name} on {manager.host or "an unknown host"} cannot run this module, '
            'so nothing is measured while it is active: install the package there and restart '
            f'the manager. The module requires Python {MINIMUM_PYTHON[0]}.{MINIMUM_PYTHON[1]} or '
            'newer.'
            for manager in self._cluster_state.managers
            if not manager.has_module
        )
        return (*(text for text in known if text is not None), *lacking)

    def _facts(self, cluster_map: ClusterMap, now_s: float) -> tuple[OsdFacts, ...]:
        observer, starts = self._sampler.observer, self._sampler.starts.starts
        signals, workloads = self._sampler.signals(), self._sampler.recognition.per_osd
        for osd_id in self._known_options.keys() - cluster_map.by_id.keys():
            del self._known_options[osd_id]

        def facts(osd: OsdInfo) -> OsdFacts:
            osd_id = osd.osd_id
            configured, seen = self._configured(osd), signals.get(osd_id)
            asked = observer.answers.of(osd_id, osd.nonce)
            return OsdFacts(
                osd,
                seen,
                workloads.get(osd_id),
                configured.options if configured else None,
                observer.details(osd_id) if seen is not None else None,
                observer.forecast(osd_id),
                times_of(asked.answers, now_s) if asked and seen is not None else None,
                asked.sharded if asked else None,
                configured.settings if configured else None,
                starts.get(osd_id),
            )

        return tuple(map(facts, cluster_map.osds))

    def _configured(self, osd: OsdInfo) -> Optional[_Configured]:
        """Running and configured options of ``osd``, cached until one of them changes."""
        options = self._cluster_state.options.known
        running, known = options.running(osd), self._known_options.get(osd.osd_id)
        if running is None:
            return None
        source = osd, options.entries, running
        if known is None or known.source != source:
            known = _Configured(source, osd_options(*source), settings_in_force(*source))
            self._known_options[osd.osd_id] = known
        return known
