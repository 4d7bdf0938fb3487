"""The tick, called by `serve()`, and by tests with a fake cluster.

A tick is a list of named steps. Urgent ones come first: the operation under way, restoring OSD
options, operators' requests. Sampling and recommendations follow. Each step fails separately
(`steps.py`), and no step depends on a later one.

Everything here runs in the module's serve thread. Only this thread may wait for a monitor, and it
never waits for an OSD: `queries.py` does. Other threads read the published state (immutable,
replaced as a whole) and submit changes through `submit`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Optional, Protocol, TypeVar

from .advise.custom_profiles import CustomProfiles
from .collection.records import Collection
from .deep.reader import DeepStatsReader
from .evaluate import unknown_manager
from .knowledge import loader
from .mgr.protocols import (
    Announcements,
    Audit,
    ClusterReader,
    ConfigStore,
    CounterReader,
    Orchestrator,
    OsdCommands,
    OsdQuestions,
    ReportReader,
    Store,
    Upgrades,
)
from .observe.load_history import WorkHistory
from .observe.trend import Trends
from .operations.compaction.plan import CampaignPlan
from .operations.compaction.records import CampaignRequest
from .operations.phases import Permission
from .options.releases import release_of
from .requests import BusyError, Requests
from .sampler import Sampler
from .settings import Settings
from .snapshot import Mode, Snapshot
from .steps import Steps
from .tick.auto_apply import AutoApply
from .tick.current_settings import ClusterState, CurrentSettings, Permissions
from .tick.evaluation import Evaluation, Published
from .tick.operation_control import OperationControl
from .tick.queries import (
    Actors,
    DeepStatsRequests,
    OsdQueries,
    Start,
    in_a_thread,
)
from .tick.schedule import Schedule
from .tick.winners import Winners

#: Seconds between two ticks while an operation is under way.
ROLLOUT_PERIOD_S = 2.0

_T = TypeVar('_T')


class Cluster(
    CounterReader,
    ReportReader,
    ClusterReader,
    ConfigStore,
    OsdCommands,
    OsdQuestions,
    Orchestrator,
    Upgrades,
    Audit,
    Announcements,
    Protocol,
):
    """All cluster interfaces of the module."""


class Tuner:
    """Samples, classifies, recommends and applies, one `tick` at a time.

    ``wall_clock`` gives seconds since the epoch, like the times of OSD reports.
    """

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        read_settings: Callable[[], Settings],
        *,
        manager_version: str,
        manager_release: str,
        wall_clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        read_mode: Optional[Callable[[], Mode]] = None,
        run_in_background: Start = in_a_thread,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``read_mode`` reads only the option "mode".

        ``run_in_background`` starts work that waits for an OSD or a monitor.
        """
        self.cluster, self.clock, self.monotonic = cluster, wall_clock, monotonic
        self.manager_version, self.manager_release = manager_version, manager_release
        release = release_of(manager_version, manager_release)
        manager = f'Ceph {manager_version} ({manager_release})'
        unknown = None if release else unknown_manager(manager)
        self.steps = Steps(wall_clock)
        self.current = CurrentSettings(
            read_settings, read_mode or (lambda: read_settings().mode), self.steps
        )
        self.operations = OperationControl(
            cluster, store, self.steps, self.current, clock=wall_clock, monotonic=monotonic
        )
        self.sampler = Sampler(cluster, self.steps, self.operations.record)
        self.cluster_state = ClusterState(cluster, self.steps)
        self.permissions = Permissions(
            cluster, self.steps, self.current, self.sampler, known_release=release is not None
        )
        self.winners = Winners(CustomProfiles(store), cluster.fsid, self.operations.start)
        self.operations.experiment.on_winner = self.winners.remember
        self.auto_apply = AutoApply(self.operations, cluster, monotonic)
        self.evaluation = Evaluation(
            self.sampler,
            self.cluster_state,
            self.operations,
            self.current,
            self.permissions,
            self.steps,
            CustomProfiles(store),
            self.auto_apply.update,
            release=release.name if release else None,
            unknown_manager=unknown,
        )
        self.schedule = Schedule()
        self.osd_queries = OsdQueries(cluster, self.steps, wall_clock, run_in_background)
        self.deep_stats = DeepStatsRequests(
            DeepStatsReader(cluster, store),
            cluster,
            run_in_background,
            clock=wall_clock,
            monotonic=monotonic,
            read_mode=self.current.mode,
            compacting=lambda: self.operations.compacting,
            unknown_manager=unknown,
        )
        self.actors = Actors(
            cluster,
            run_in_background,
            self.operations.name_actor,
            clock=wall_clock,
            sleep=sleep,
        )
        self.requests = Requests()
        #: What has to be loaded, by step name and in this order; retried at every tick.
        self._to_load: dict[str, Callable[[], object]] = {
            'knowledge': loader.load_all,
            'stored rollout': self.operations.driver.load,
            'stored experiment': self.operations.experiment.load,
            'stored campaign': self.operations.campaign.load,
            'stored notes': self.deep_stats.load,
            'announcements': self.operations.announce_taken_over,
        }
        nothing = self.evaluation.snapshot_of(Settings(mode=Mode.OFF), (), wall_clock())
        #: The newest snapshot with its inputs; safe to read from any thread.
        self.published = Published(nothing)

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot; safe to read from any thread."""
        return self.published.snapshot

    @property
    def trends(self) -> Trends:
        """Time series for charts; safe to read from any thread."""
        return self.sampler.trends

    @property
    def work(self) -> WorkHistory:
        """Work of OSDs over the last hours; safe to read from any thread."""
        return self.sampler.work

    def collection(self, of: Optional[Published] = None) -> Collection:
        """All inputs of a snapshot, assembled in the calling thread; the newest by default.

        Raises BusyError before the first tick.
        """
        found = (of or self.published).collection(self.manager_version, self.manager_release)
        if found is None:
            raise BusyError('the module has not sampled the cluster yet; try again in a moment')
        return found

    @property
    def wake(self) -> Callable[[], None]:
        """Called when `take_requests` has something to do."""
        return self.requests.wake

    @wake.setter
    def wake(self, wake: Callable[[], None]) -> None:
        self.requests.wake = wake

    def load(self) -> None:
        """Load the knowledge and the stored state, in the serve thread."""
        for step, work in tuple(self._to_load.items()):
            if self.steps.run(step, work):
                del self._to_load[step]
        if self.published.inputs is None:
            self._publish(replace(self.snapshot, mode=self.current.initial_mode()))
        self._show_changes(self.clock())

    def _publish(self, snapshot: Snapshot) -> None:
        """Replace the snapshot and keep its inputs."""
        self.published = Published(snapshot, self.published.inputs)

    def _show_changes(self, now_s: float) -> None:
        """Publish the current operations and failing steps at once."""
        self._publish(
            replace(
                self.snapshot,
                **self.operations.shown(),
                auto_apply_refusals=self.auto_apply.refusals,
                failing=self.steps.failing,
                published_s=now_s,
            )
        )

    def close(self) -> None:
        """Discard pending queries; the module ends."""
        self.osd_queries.drop()
        self.deep_stats.drop()
        self.actors.drop()

    def submit(self, work: Callable[[], _T]) -> _T:
        """Run ``work`` in the serve thread and return its result or raise its exception.

        Raises BusyError, with nothing done, if the serve thread is waiting for a monitor.
        """

        def published() -> _T:
            try:
                return work()
            finally:
                self.schedule.invalidate()
                # Published before the caller returns, so that its next read shows the change.
                self._show_changes(self.clock())

        return self.requests.submit(published)

    def next_tick_in_s(self) -> float:
        """Seconds until the next `tick` is due."""
        if self.operations.under_way:
            return ROLLOUT_PERIOD_S
        return self.sampler.due_in_s(self.clock())

    def tick(self) -> None:
        """Run the steps that are due and publish a new snapshot; `steps` has the failures."""
        now_s = self.clock()
        if self._to_load:
            self.load()
        settings = self.current.now()
        run, reads = self.steps.run, settings.mode is not Mode.OFF
        # First: must not wait for any later step, nor depend on its last result
        if reads:
            run('OSD reports', lambda: self.permissions.check_reports(now_s))
        self.operations.reports = self.permissions.report_interval
        allowed = self.permissions.decide(settings, now_s)
        run('rollout', lambda: self._drive_rollout(settings, now_s, allowed))
        run('experiment', lambda: self._drive_experiment(now_s))
        run('compaction campaign', lambda: self._drive_campaign(now_s, allowed))
        # Also in mode off: OSD options that the module enabled must not stay enabled.
        run('recovery', lambda: self.deep_stats.restore(now_s))
        self._show_changes(now_s)
        self.take_requests()
        # Cluster state: useful to the operation, not required; cached for a while
        if reads:
            run('OSD starts', lambda: self.sampler.watch_starts(self.monotonic()))
            self.cluster_state.refresh(now_s)
        else:
            run('sampling', lambda: self._rest(settings, now_s))
        # Sampling and evaluation send no requests, but scale with the number of OSDs: their CPU
        # time determines the interval.
        cpu_before_s = time.thread_time()
        sampled = reads and self.sampler.sample(
            settings,
            now_s,
            comparing=self.operations.under_way,
            reports=self.permissions.report_interval,
        )
        evaluated = self.steps.value(
            'evaluation', lambda: self._evaluate(settings, now_s, fresh=sampled or not reads), False
        )
        if sampled:
            self.sampler.charge(time.thread_time() - cpu_before_s, evaluated=evaluated)
        if evaluated:
            self._act_on_advice(settings, now_s)
        run('audit log', self.actors.take_answers)
        self._show_changes(now_s)
        self._ask_osds(now_s, may_ask=sampled and reads)

    def take_requests(self) -> None:
        """Run operators' requests without a tick; only in the serve thread."""
        self.requests.take()

    def _drive_rollout(self, settings: Settings, now_s: float, allowed: Permission) -> None:
        if self.operations.drive_rollout(settings, now_s, allowed):
            self.cluster_state.options.entries_changed()

    def _drive_experiment(self, now_s: float) -> None:
        if self.operations.drive_experiment(now_s):
            self.cluster_state.options.entries_changed()

    def preview(self, request: CampaignRequest) -> CampaignPlan:
        """What a campaign would take now, in the serve thread; nothing changes."""
        allowed = self.permissions.decide(self.current.now(), self.clock())
        return self.operations.preview(request, allowed, self.sampler.signals())

    def _drive_campaign(self, now_s: float, allowed: Permission) -> None:
        done_id = self.operations.drive_campaign(now_s, allowed, self.sampler.signals())
        if done_id is not None:
            # The recommendation predates the end of the campaign: it must not be applied again.
            self._publish(self.snapshot.without_recommendation(done_id))

    def _adopt(self, now_s: float) -> None:
        operations = self.operations
        self.winners.adopt(
            operations.experiment.state,
            operations.driver.state,
            self.snapshot.recommendations,
            now_s,
        )

    def _rest(self, settings: Settings, now_s: float) -> None:
        """Stop reading: mode off."""
        self.osd_queries.drop()
        self.sampler.rest(settings, now_s)

    def _evaluate(self, settings: Settings, now_s: float, *, fresh: bool) -> bool:
        """Evaluate if due; True if it was due."""
        cluster_map = self.cluster.cluster_map()
        basis = self.evaluation.basis(cluster_map, settings)
        paces_changed = self.sampler.observer.paces_changed
        if not self.schedule.due(
            basis,
            now_s,
            fresh=fresh,
            partial=self.sampler.partial,
            settling=self.sampler.settling,
            paces_changed=paces_changed,
        ):
            return False
        # If it fails, it is due again at the next tick.
        self.schedule.invalidate()
        self.auto_apply.refusals = ()
        if settings.mode is not Mode.OFF:
            self.sampler.classify_osds(now_s)
        self.published = self.evaluation.evaluate(cluster_map, settings, now_s)
        if not self.steps.fails('advice'):
            self.schedule.done(basis, now_s, paces_changed=paces_changed)
        return True

    def _act_on_advice(self, settings: Settings, now_s: float) -> None:
        if not self.permissions.may_auto_apply():
            return
        if settings.mode is Mode.AUTO_APPLY:
            advised = self.snapshot.recommendations
            self.steps.run('auto-apply', lambda: self.auto_apply.start_due(settings, advised))
        self.steps.run('adoption', lambda: self._adopt(now_s))

    def _ask_osds(self, now_s: float, *, may_ask: bool) -> None:
        """Query OSDs, but not during a campaign: a compacting Pacific OSD answers nothing else."""
        self.osd_queries.take()
        if may_ask and not self.operations.compacting:
            self.osd_queries.ask_osds(self.sampler.observer, now_s)
