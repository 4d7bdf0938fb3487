"""One tick, composed: what `serve()` calls, and what the tests drive with a fake cluster.

A tick is a list of named steps. First what must not wait: the operation under way, the recovery of
what was switched on in OSDs, operators' requests. Then what measures and advises; each of those
fails alone (`steps.py`), and nothing before it depends on it.

Everything here runs in one thread, the module's serve thread, which alone may wait for a monitor,
and never for an OSD: `questions.py` asks those. Other threads read what is published (immutable,
replaced as a whole) and hand in changes through `submit`.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Callable, Optional, TypeVar

from .collection.records import Collection
from .observe.trend import Trends
from .operations.allowed import Allowed
from .requests import BusyError
from .settings import Settings
from .snapshot import Mode, Snapshot
from .tick.material import Published
from .tick.parts import Parts

#: How often a rollout looks at the cluster while it is under way.
ROLLOUT_PERIOD_S = 2.0

_T = TypeVar('_T')


class Tuner(Parts):
    """Measure, recognize, advise, carry out: one `tick` of it at a time."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest state of everything; safe to read from any thread."""
        return self.publication.newest.snapshot

    @property
    def published(self) -> Published:
        """The same with what it was made of; safe to read from any thread."""
        return self.publication.newest

    @property
    def trends(self) -> Trends:
        """What charts show; safe to read from any thread."""
        return self.sampler.trends

    def collection(self, of: Optional[Published] = None) -> Collection:
        """All that the newest snapshot was made of, put together in the thread that asks.

        Raises BusyError.
        """
        found = (of or self.published).collection(self.manager_version, self.manager_release)
        if found is None:
            raise BusyError('the module has not looked at the cluster yet; try again in a moment')
        return found

    @property
    def wake(self) -> Callable[[], None]:
        """Called when `take_requests` has something to do."""
        return self.requests.wake

    @wake.setter
    def wake(self, wake: Callable[[], None]) -> None:
        self.requests.wake = wake

    def load(self) -> None:
        """Read the knowledge and what an earlier manager stored, in the serve thread."""
        self.adoption.load()
        if self.published.material is None:
            self.publication.replace(replace(self.snapshot, mode=self.current.first_mode()))
        self.publication.show_changes(self.clock())

    def close(self) -> None:
        """The module ends: nothing that was asked is waited for."""
        self.osd_answers.drop()
        self.deep_stats.drop()
        self.actors.drop()

    def submit(self, work: Callable[[], _T]) -> _T:
        """Run ``work`` in the serve thread and return its result or raise its exception.

        Raises BusyError, with nothing done, where the serve thread is waiting for a monitor.
        """

        def published() -> _T:
            try:
                return work()
            finally:
                # Before whoever waits for the answer asks what became of it.
                self.publication.show_changes(self.clock())

        return self.requests.submit(published)

    def next_tick_in_s(self) -> float:
        """Seconds until `tick` has something to do."""
        if self.operating.under_way:
            return ROLLOUT_PERIOD_S
        return self.sampler.due_in_s(self.clock())

    def tick(self) -> None:
        """Do what is due, then publish a new snapshot. What fails is in `steps`."""
        now_s = self.clock()
        if not self.adoption.complete:
            self.load()
        settings = self.current.now()
        run, reads = self.steps.run, settings.mode is not Mode.OFF
        # What must not wait for anything that follows, whatever became of that before
        if reads:
            run('hearing', lambda: self.permission.hear(now_s))
        run('rollout', lambda: self._drive_rollout(settings, now_s))
        run('compaction campaign', lambda: self._drive_campaign(settings, now_s))
        # Also in mode off: what the module itself switched on is not left on.
        run('recovery', lambda: self.deep_stats.restore(now_s))
        self.publication.show_changes(now_s)
        self.take_requests()
        # What the operation goes by, and can do without: each part asked and kept for a while
        if reads:
            run('starts of OSDs', lambda: self.sampler.watch_starts(self.monotonic()))
            self.cluster_state.refresh(now_s)
        else:
            run('sampling', lambda: self._rest(settings, now_s))
        # What follows asks nobody, and is done for every OSD: its cost decides how often.
        cpu_before_s = time.thread_time()
        sampled = reads and self.sampler.sample(settings, now_s)
        evaluated = run('evaluation', lambda: self._evaluate(settings, now_s))
        if sampled:
            self.sampler.cost_s = time.thread_time() - cpu_before_s
        self.auto_apply.refusals = ()
        may_begin = self.permission.may_begin_by_itself(evaluated=evaluated)
        if settings.mode is Mode.AUTO_APPLY and may_begin:
            advised = self.snapshot.recommendations
            run('auto-apply', lambda: self.auto_apply.begin_what_is_due(settings, advised))
        run('audit log', self.actors.take_answers)
        self.publication.show_changes(now_s)
        self._ask_osds(now_s, may_ask=sampled and reads)

    def take_requests(self) -> None:
        """Do what operators asked for, without a tick; only in the serve thread."""
        self.requests.take()

    def _allowed(self, settings: Settings, now_s: float) -> tuple[Allowed, Optional[str]]:
        """Whether a change may act and begin, and why that it is heard is unknown."""
        permission = self.permission
        deaf, unheard = permission.deaf(settings)
        not_now = permission.not_now(settings, now_s)
        return Allowed(permission.may_act(settings), not_now, deaf), unheard

    def _drive_rollout(self, settings: Settings, now_s: float) -> None:
        allowed, unheard = self._allowed(settings, now_s)
        if self.operating.drive_rollout(settings, now_s, allowed, unheard):
            self.cluster_state.options.entries_changed()

    def _drive_campaign(self, settings: Settings, now_s: float) -> None:
        allowed, unheard = self._allowed(settings, now_s)
        allowed = allowed._replace(deaf=allowed.deaf or unheard)
        done_id = self.operating.drive_campaign(now_s, allowed, self.sampler.signals())
        if done_id is not None:
            # Advised before it ended; nobody shall carry it out a second time.
            self.publication.replace(self.snapshot.without_recommendation(done_id))

    def _rest(self, settings: Settings, now_s: float) -> None:
        """Mode off."""
        self.osd_answers.drop()
        self.sampler.rest(settings, now_s)

    def _evaluate(self, settings: Settings, now_s: float) -> None:
        cluster_map = self.cluster.cluster_map()
        self.publication.newest = self.evaluation.evaluate(cluster_map, settings, now_s)

    def _ask_osds(self, now_s: float, *, may_ask: bool) -> None:
        """While it compacts, an OSD of Pacific answers nothing else."""
        self.osd_answers.take()
        if may_ask and not self.operating.compacting:
            self.osd_answers.ask(self.sampler.observer, now_s)
