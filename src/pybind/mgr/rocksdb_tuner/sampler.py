"""What is measured, and when: counters of OSDs and pools, and what the clients do by them."""

from __future__ import annotations

from typing import Callable, Mapping, Optional, Protocol

from .mgr.protocols import ClusterReader, CounterReader
from .observe.interval import choose_interval
from .observe.observer import Observer
from .observe.pool_rates import PoolHistory, PoolRates
from .observe.sample import Sample
from .observe.signals import Signals
from .observe.starts import StartWatch
from .observe.trend import Trends
from .settings import Settings
from .steps import Steps
from .workload.classifier import Classifier
from .workload.records import Recognition

#: The least pause between two ticks.
TICK_MIN_S = 0.5

_NOTHING_RECOGNISED = Recognition(per_osd={}, per_group={})


class Measured(CounterReader, ClusterReader, Protocol):
    """What is sampled."""


class Sampler:
    """Samples every OSD at an interval; each part of that fails alone."""

    def __init__(
        self,
        cluster: Measured,
        steps: Steps,
        record: Callable[[Callable[[int], Optional[Sample]], float], None],
    ) -> None:
        """``record`` keeps the newest samples for the verdict on a rollout."""
        self._cluster, self._steps, self._record = cluster, steps, record
        self.observer = Observer()
        self.starts = StartWatch()
        #: What charts show; nothing is decided by it.
        self.trends = Trends()
        self._pools = PoolHistory()
        self.pool_rates: Mapping[int, PoolRates] = {}
        self.classifier = Classifier()
        self.recognition = _NOTHING_RECOGNISED
        self._sampled_s: Optional[float] = None
        #: When the newest signals were made.
        self.observed_s: Optional[float] = None
        self._rounds = 0
        self.interval_s = choose_interval(0, None, 0.0)
        #: CPU time of the last sample and what was concluded from it.
        self.cost_s: Optional[float] = None

    @property
    def has_looked(self) -> bool:
        """True once this manager measured for itself: nothing is done before."""
        return self._rounds >= 2

    def signals(self) -> Mapping[int, Signals]:
        """The newest signals; none where they could not be renewed."""
        return {} if self._steps.fails('sampling') else self.observer.signals()

    def due_in_s(self, now_s: float) -> float:
        """Seconds until the next sample."""
        if self._sampled_s is None:
            return TICK_MIN_S
        # A clock that was set back must not make it sleep until it has caught up.
        due_s = self._sampled_s + self.interval_s - now_s
        return min(self.interval_s, max(TICK_MIN_S, due_s))

    def rest(self, settings: Settings, now_s: float) -> None:
        """Mode off: no counter is read, and what was known is not shown as if it still were."""
        if self._rounds:
            self.observer = Observer()
            self.starts = StartWatch()
            self._pools = PoolHistory()
            self.pool_rates = {}
            self.classifier = Classifier()
            self.recognition = _NOTHING_RECOGNISED
            self.trends.clear()
        self._sampled_s = now_s
        self._rounds = 0
        self.cost_s = None
        self.interval_s = choose_interval(0, None, settings.sample_interval_s)

    def watch_starts(self, monotonic_s: float) -> None:
        """Note which OSDs started since the last look."""
        self.starts.sample(self._cluster.cluster_map().osds, monotonic_s, self.interval_s)

    def sample(self, settings: Settings, now_s: float) -> bool:
        """Sample if that is due; True if it was."""
        if self._sampled_s is not None and abs(now_s - self._sampled_s) < self.interval_s:
            return False
        # First of all: what fails is not tried faster than what works.
        self._sampled_s = now_s
        run = self._steps.run
        if not run('sampling', lambda: self._observe(now_s)):
            self.recognition = _NOTHING_RECOGNISED
            return True
        run('evidence', lambda: self._record(self.observer.newest, now_s))
        run('trends', lambda: self._chart(now_s))
        run('pools', lambda: self._look_at_pools(now_s))
        run('workload', lambda: self._recognize(now_s))
        osds = len(self.observer.signals())
        self.interval_s = choose_interval(osds, self.cost_s, settings.sample_interval_s)
        return True

    def _observe(self, now_s: float) -> None:
        self.observer.observe(self._cluster, self._cluster.cluster_map(), now_s)
        self.observed_s = now_s
        self._rounds += 1

    def _chart(self, now_s: float) -> None:
        classes = {osd.osd_id: osd.device_class for osd in self._cluster.cluster_map().osds}
        self.trends.add(self.observer.signals(), classes, now_s)

    def _look_at_pools(self, now_s: float) -> None:
        self.pool_rates = {}
        self._pools.add(self._cluster.pool_counters(), now_s)
        self.pool_rates = self._pools.rates()

    def _recognize(self, now_s: float) -> None:
        # What was recognized before is not shown as if it still were.
        self.recognition = _NOTHING_RECOGNISED
        self.recognition = self.classifier.recognize(
            self.observer.signals(),
            self._cluster.cluster_map(),
            now_s,
            self.pool_rates,
            self.observer.details,
        )
