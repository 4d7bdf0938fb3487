"""Sampling of OSD and pool counters, and classification of the client workload."""

from __future__ import annotations

from typing import Callable, Mapping, Optional

from .mgr.protocols import Cluster
from .observe.load_history import PoolHistory, PoolRates, WorkHistory
from .observe.observer import Observer
from .observe.report_interval import ReportInterval, Reports, ReportWatch, choose_interval
from .observe.sample import Sample
from .observe.signals import Signals
from .observe.starts import StartWatch
from .observe.trend import Trends
from .settings import Settings
from .steps import Steps
from .workload.classifier import Classifier
from .workload.records import Recognition, WorkloadClass

#: Minimum pause between two ticks.
TICK_MIN_S = 0.5
#: Details of all OSDs have been read twice by then: they are read of one OSD in four per tick.
WARM_UP_ROUNDS = 8
#: All counters of all OSDs are read this often: with the default interval at every third tick. In
#: between only of an OSD whose work changed.
FULL_S = 27.0
#: The same without client I/O: at every sixth tick, as evaluations are due. Details are then read
#: of twice as many OSDs, so that they are never older.
IDLE_FULL_S = 57.0
IDLE_DETAIL_ROUNDS = 2

_NO_WORKLOADS = Recognition(per_osd={}, per_group={})


class Sampler:
    """Samples every OSD at an interval; its steps fail independently."""

    def __init__(
        self,
        cluster: Cluster,
        steps: Steps,
        record: Callable[[Callable[[int], Optional[Sample]], float, ReportInterval], None],
    ) -> None:
        """``record`` stores the newest samples for the verdict on a rollout."""
        self._cluster, self._steps, self._record = cluster, steps, record
        #: For charts only.
        self.trends = Trends()
        #: For plans of experiments.
        self.work = WorkHistory()
        #: Reports of OSDs to this manager.
        self.watch = ReportWatch()
        #: Time of the newest signals.
        self.observed_s: Optional[float] = None
        self._sampled_s: Optional[float] = None
        self._forget(0.0)

    def _forget(self, interval_s: float) -> None:
        """Begin anew, at the configured interval."""
        self.observer = Observer()
        self.starts = StartWatch()
        self._pools = PoolHistory()
        self._pool_rates: Mapping[int, PoolRates] = {}
        self.classifier = Classifier()
        self.recognition = _NO_WORKLOADS
        self.trends.clear()
        self.work.clear()
        self._rounds = 0
        #: When all counters of all OSDs were last read.
        self._full_s: Optional[float] = None
        #: Whether the newest sample has new counters only of OSDs whose work changed.
        self.partial = False
        self.interval_s = choose_interval(0, None, interval_s)
        #: CPU time of a sample with its share of the evaluations: mean since the one before last.
        self.cost_s: Optional[float] = None
        self._costs_s: list[float] = []

    def has_sample(self, osd_id: int) -> bool:
        """Whether this mgr has a current sample of an OSD."""
        return not self._steps.fails('sampling') and self.observer.newest(osd_id) is not None

    def signals(self) -> Mapping[int, Signals]:
        """The newest signals; empty if sampling fails."""
        return {} if self._steps.fails('sampling') else self.observer.signals()

    def check_reports(self, now_s: float) -> None:
        """Check for new reports of OSDs."""
        self.watch.update(self._cluster, self._cluster.cluster_map(), now_s)

    @property
    def reports(self) -> Optional[Reports]:
        """Whether they report often enough; None: unknown."""
        if self._steps.fails('OSD reports'):
            return None
        return self.watch.state(least_silence_s=3 * self.interval_s)

    def due_in_s(self, now_s: float) -> float:
        """Seconds until the next sample."""
        if self._sampled_s is None:
            return TICK_MIN_S
        # If the clock went backwards, do not sleep until it has caught up.
        due_s = self._sampled_s + self.interval_s - now_s
        return min(self.interval_s, max(TICK_MIN_S, due_s))

    def rest(self, settings: Settings, now_s: float) -> None:
        """Mode off: read no counters and drop all data."""
        self._sampled_s = now_s
        self._forget(settings.sample_interval_s)

    @property
    def settling(self) -> bool:
        """Whether the next samples are likely to change a conclusion."""
        return self._rounds <= WARM_UP_ROUNDS or bool(self.classifier.unsettled_osds)

    def charge(self, cost_s: float, *, evaluated: bool) -> None:
        """Add the CPU time of a tick with a sample; not each of them is ``evaluated``."""
        self._costs_s.append(cost_s)
        if evaluated:
            self.cost_s = sum(self._costs_s) / len(self._costs_s)
            self._costs_s.clear()

    def watch_starts(self, monotonic_s: float) -> None:
        """Track restarts of OSDs since the last tick."""
        self.starts.sample(self._cluster.cluster_map().osds, monotonic_s, self.interval_s)

    def sample(self, settings: Settings, now_s: float, *, comparing: bool = False) -> bool:
        """Sample if due; True if it was due.

        ``comparing``: OSDs are being compared, so that each needs all its counters at every tick.
        """
        if self._sampled_s is not None and abs(now_s - self._sampled_s) < self.interval_s:
            return False
        # First, so that a failing sample is not retried faster.
        self._sampled_s = now_s
        run, paces_changed = self._steps.run, self.observer.paces_changed
        full = comparing or self._full_due(now_s)
        observed = run('sampling', lambda: self._observe(now_s, full=full))
        self.partial = observed and not full
        if not observed:
            self.recognition = _NO_WORKLOADS
            return True
        if full:
            # Times of an interval are those of its samples.
            run('OSD load', lambda: self._keep_work(now_s))
        # Of OSDs that work as before there is nothing new to keep or to classify.
        if full or self.observer.paces_changed != paces_changed:
            run('evidence', lambda: self._record(self.observer.newest, now_s, self.watch.interval))
            run('trends', lambda: self._chart(now_s))
            run('pools', lambda: self._sample_pools(now_s))
            run('workload', lambda: self._classify_groups(now_s))
        osds = len(self.observer.signals())
        self.interval_s = choose_interval(osds, self.cost_s, settings.sample_interval_s)
        return True

    def classify_osds(self, now_s: float) -> None:
        """Classify each OSD by its newest samples, for an evaluation."""
        self._steps.run('workload of OSDs', lambda: self._classify_osds(now_s))

    def _observe(self, now_s: float, *, full: bool) -> None:
        only = None if full else self.classifier.unsettled_osds
        rounds = IDLE_DETAIL_ROUNDS if self._idle else 1
        self.observer.observe(
            self._cluster, self._cluster.cluster_map(), now_s, only, rounds, self.watch.interval
        )
        self.observed_s = now_s
        if full:
            self._full_s = now_s
        self._rounds += 1

    def _full_due(self, now_s: float) -> bool:
        return (
            self._full_s is None
            # If the clock went backwards, do not wait until it has caught up.
            or not 0 <= now_s - self._full_s < (IDLE_FULL_S if self._idle else FULL_S)
            or self._rounds < WARM_UP_ROUNDS
            or self.classifier.group_about_to_change
        )

    @property
    def _idle(self) -> bool:
        """Whether every device class is known to have no client I/O."""
        groups = self.recognition.per_group.values()
        return bool(groups) and all(g.workload_class is WorkloadClass.IDLE for g in groups)

    def _chart(self, now_s: float) -> None:
        classes = {osd.osd_id: osd.device_class for osd in self._cluster.cluster_map().osds}
        self.trends.add(self.observer.signals(), classes, now_s)

    def _keep_work(self, now_s: float) -> None:
        if not self.work.due(now_s, self.watch.interval):
            return
        osds = self._cluster.cluster_map().osds
        self.work.add({osd.osd_id: self.observer.newest(osd.osd_id) for osd in osds}, now_s)

    def _sample_pools(self, now_s: float) -> None:
        self._pool_rates = {}
        self._pools.add(self._cluster.pool_counters(), now_s, self.watch.interval)
        self._pool_rates = self._pools.rates()

    def _classify_groups(self, now_s: float) -> None:
        # Do not show an old result if this fails.
        per_osd, self.recognition = self.recognition.per_osd, _NO_WORKLOADS
        per_group = self.classifier.recognize_groups(
            self.observer.signals(),
            self._cluster.cluster_map(),
            now_s,
            self._pool_rates,
            self.observer.details,
            self.watch.interval,
        )
        self.recognition = Recognition(per_osd, per_group)

    def _classify_osds(self, now_s: float) -> None:
        per_group = self.recognition.per_group
        self.recognition = Recognition({}, per_group)
        per_osd = self.classifier.recognize_osds(
            self.signals(), self._cluster.cluster_map(), now_s, self.watch.interval
        )
        self.recognition = Recognition(per_osd, per_group)
