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
from dataclasses import replace
from typing import Callable, Optional, TypeVar

from .collection.records import Collection
from .observe.load_history import WorkHistory
from .observe.trend import Trends
from .operations.compaction.plan import CampaignPlan
from .operations.compaction.records import CampaignRequest
from .operations.phases import Permission
from .requests import BusyError
from .settings import Settings
from .snapshot import Mode, Snapshot
from .tick.components import Components
from .tick.published import Published

#: Seconds between two ticks while an operation is under way.
ROLLOUT_PERIOD_S = 2.0

_T = TypeVar('_T')


class Tuner(Components):
    """Samples, classifies, recommends and applies, one `tick` at a time."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot; safe to read from any thread."""
        return self.publication.newest.snapshot

    @property
    def published(self) -> Published:
        """The newest snapshot with its inputs; safe to read from any thread."""
        return self.publication.newest

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
        self.startup.load()
        if self.published.inputs is None:
            self.publication.replace(replace(self.snapshot, mode=self.current.initial_mode()))
        self.publication.show_changes(self.clock())

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
                self.publication.show_changes(self.clock())

        return self.requests.submit(published)

    def next_tick_in_s(self) -> float:
        """Seconds until the next `tick` is due."""
        if self.operations.under_way:
            return ROLLOUT_PERIOD_S
        return self.sampler.due_in_s(self.clock())

    def tick(self) -> None:
        """Run the steps that are due and publish a new snapshot; `steps` has the failures."""
        now_s = self.clock()
        if not self.startup.complete:
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
        self.publication.show_changes(now_s)
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
        self.publication.show_changes(now_s)
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
            self.publication.replace(self.snapshot.without_recommendation(done_id))

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
        self.publication.newest = self.evaluation.evaluate(cluster_map, settings, now_s)
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
            self.osd_queries.ask(self.sampler.observer, now_s)
