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
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Optional, TypeVar

from .advise.custom_profiles import CustomProfiles
from .collection.records import Collection
from .deep.reader import DeepStatsReader
from .evaluate import unknown_manager
from .knowledge import loader
from .mgr.protocols import Cluster, Store
from .observe.report_interval import USABLE_S, Reports
from .operations.compaction.plan import CampaignPlan
from .operations.compaction.records import CampaignRequest
from .operations.phases import Permission
from .operations.rollout.automatic import outside
from .requests import Requests
from .sampler import Sampler
from .settings import Settings
from .snapshot import Mode, Snapshot
from .steps import Steps
from .tick.evaluation import ClusterState, Evaluation, Published
from .tick.operation_control import CurrentSettings, OperationControl
from .tick.queries import (
    DeepStatsRequests,
    OsdQueries,
    Queries,
    Start,
    find_sender,
    in_a_thread,
)

#: Seconds between two ticks while an operation is under way.
ROLLOUT_PERIOD_S = 2.0

_T = TypeVar('_T')


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
        self._unknown_manager = unknown_manager(manager_version, manager_release)
        self.steps = Steps(wall_clock)
        self.current = CurrentSettings(
            read_settings, read_mode or (lambda: read_settings().mode), self.steps
        )
        profiles = CustomProfiles(store)
        self.operations = OperationControl(
            cluster,
            store,
            self.steps,
            self.current,
            profiles,
            clock=wall_clock,
            monotonic=monotonic,
        )
        self.sampler = Sampler(cluster, self.steps, self.operations.record)
        self.cluster_state = ClusterState(cluster, self.steps)
        self.evaluation = Evaluation(
            self.sampler,
            self.cluster_state,
            self.operations,
            self.current,
            self.steps,
            profiles,
            (manager_version, manager_release),
        )
        self.osd_queries = OsdQueries(cluster, self.steps, wall_clock, run_in_background)
        reader = DeepStatsReader(cluster, store)
        self.deep_stats = DeepStatsRequests(
            reader,
            cluster,
            run_in_background,
            clock=wall_clock,
            monotonic=monotonic,
            read_mode=self.current.read_mode,
            compacting=lambda: self.operations.compacting,
            unknown_manager=self._unknown_manager,
        )
        self._audit_log, self._sleep = Queries(1, run_in_background), sleep
        self.requests = Requests()
        #: What has to be loaded, by step name and in this order; retried at every tick.
        self._to_load: dict[str, Callable[[], object]] = {
            'knowledge': loader.load_all,
            'stored rollout': self.operations.driver.load,
            'stored experiment': self.operations.experiment.load,
            'stored campaign': self.operations.campaign.load,
            'stored notes': reader.load,
        }
        #: The newest snapshot with its inputs; safe to read from any thread.
        self.published = self.evaluation.nothing_yet(wall_clock())

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot; safe to read from any thread."""
        return self.published.snapshot

    def collection(self, of: Optional[Published] = None) -> Collection:
        """All inputs of a snapshot, assembled in the calling thread; the newest by default.

        Raises BusyError before the first tick.
        """
        return (of or self.published).collection()

    def load(self) -> None:
        """Load the knowledge and the stored state, in the serve thread."""
        for step, work in tuple(self._to_load.items()):
            if self.steps.run(step, work):
                del self._to_load[step]
        if self.published.inputs is None:
            # The first tick may have to wait for monitors or OSD reports.
            self._publish(replace(self.snapshot, mode=self.current.mode()))
        self._show_changes(self.clock())

    def _publish(self, snapshot: Snapshot) -> None:
        """Replace the snapshot and keep its inputs."""
        self.published = Published(snapshot, self.published.inputs)

    def _show_changes(self, now_s: float) -> None:
        """Publish the current operations and failing steps at once."""
        shown = {**self.operations.shown(), 'failing': self.steps.failing, 'published_s': now_s}
        self._publish(replace(self.snapshot, **shown))

    def submit(self, work: Callable[[], _T]) -> _T:
        """Run ``work`` in the serve thread and return its result or raise its exception.

        Raises BusyError, with nothing done, if the serve thread is waiting for a monitor.
        """

        def published() -> _T:
            try:
                return work()
            finally:
                self.evaluation.invalidate()
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
        settings, sampler, operations = self.current.now(), self.sampler, self.operations
        run, reads = self.steps.run, settings.mode is not Mode.OFF
        # First: must not wait for any later step, nor depend on its last result
        if reads:
            run('OSD reports', lambda: sampler.check_reports(now_s))
        allowed, changing = self.permission(settings, now_s), operations.changing
        operations.tick(settings, now_s, allowed, sampler.signals(), sampler.watch.interval)
        if changing and not operations.changing:
            self.cluster_state.options.entries_changed()
        # Also in mode off: OSD options that the module enabled must not stay enabled.
        run('recovery', lambda: self.deep_stats.restore(now_s))
        self._show_changes(now_s)
        self.take_requests()
        # Cluster state: useful to the operation, not required; cached for a while
        if reads:
            run('OSD starts', lambda: sampler.watch_starts(self.monotonic()))
            self.cluster_state.refresh(now_s)
        else:
            run('sampling', lambda: sampler.rest(settings, now_s))
        # Sampling and evaluation send no requests, but scale with the number of OSDs: their CPU
        # time determines the interval.
        cpu_before_s = time.thread_time()
        sampled = reads and sampler.sample(settings, now_s, comparing=operations.under_way)
        evaluated = self.steps.value(
            'evaluation', lambda: self._evaluate(settings, now_s, fresh=sampled or not reads), False
        )
        if sampled:
            sampler.charge(time.thread_time() - cpu_before_s, evaluated=evaluated)
        # Only current recommendations of this tick are acted on.
        unsure = self.current.unreadable is not None or self.steps.fails('advice')
        if evaluated and sampler.signals() and not unsure:
            advised = self.snapshot.recommendations
            if settings.mode is Mode.AUTO_APPLY:
                run('auto-apply', lambda: operations.auto_apply(settings, advised))
            run('adoption', lambda: operations.adopt(advised, now_s))
        run('audit log', self._audit_log.take_answers)
        self._show_changes(now_s)
        self._ask_osds(now_s, may_ask=sampled and reads)

    def permission(self, settings: Settings, now_s: float) -> Permission:
        """Whether an operation may act and start OSDs now; OSDs in flight are finished anyway."""
        off, steps, reports = settings.mode is Mode.OFF, self.steps, self.sampler.reports
        silent, unknown, blocked = None, None, self.current.unreadable
        if off:
            silent = 'OSDs are not sampled in mode off'
        elif steps.fails('OSD reports'):
            unknown = 'it is unknown whether OSDs report to this manager'
        elif reports is Reports.NONE:
            silent = 'no OSD reports to this manager'
        elif not self.sampler.watch.has_reports:
            unknown = 'it is not known yet whether OSDs report to this manager'
        if blocked is None and steps.fails('sampling'):
            blocked = 'the OSDs cannot be sampled at the moment'
        elif blocked is None and reports is Reports.SLOW:
            blocked = f'OSDs report less often than every {USABLE_S:.0f}s: too rarely to be judged'
        local = time.localtime(now_s)
        return Permission(
            # Never through an untested mgr API.
            may_act=not off and self._unknown_manager is None,
            outside_window=blocked
            or outside(settings.maintenance, local.tm_wday, local.tm_hour * 60 + local.tm_min),
            restarts_per_day=settings.restarts_per_day,
            no_reports_reason=silent,
            reports_unknown=unknown,
            has_sample=self.sampler.has_sample,
        )

    def take_requests(self) -> None:
        """Run operators' requests without a tick; only in the serve thread."""
        self.requests.take()

    def find_actor(self, change_id: str, command: Mapping[str, object]) -> None:
        """Name the client whose command started a change, once it is known; in the serve thread."""

        def take(found: Optional[str]) -> None:
            if found is not None:
                self.operations.name_actor(change_id, found)

        self._audit_log.ask(
            0, partial(find_sender, self.cluster, command, self.clock(), self._sleep), take
        )

    def preview(self, request: CampaignRequest) -> CampaignPlan:
        """What a campaign would take now, in the serve thread; nothing changes."""
        allowed = self.permission(self.current.now(), self.clock())
        return self.operations.preview(request, allowed, self.sampler.signals())

    def _evaluate(self, settings: Settings, now_s: float, *, fresh: bool) -> bool:
        """Evaluate if due; True if it was due."""
        cluster_map = self.cluster.cluster_map()
        if not self.evaluation.due(cluster_map, settings, now_s, fresh=fresh):
            return False
        self.operations.refusals = ()
        self.published = self.evaluation.evaluate(cluster_map, settings, now_s)
        if not self.steps.fails('advice'):
            self.operations.recommended(self.snapshot.recommendations)
        return True

    def _ask_osds(self, now_s: float, *, may_ask: bool) -> None:
        """Query OSDs, but not during a campaign: a compacting Pacific OSD answers nothing else."""
        self.steps.run('OSD answers', self.osd_queries.take_answers)
        if may_ask and not self.operations.compacting:
            self.osd_queries.ask_osds(self.sampler.observer, now_s)
