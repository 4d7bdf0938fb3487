"""One tick, composed: what `serve()` calls, and what the tests drive with a fake cluster.

Everything here runs in one thread, the module's serve thread, which alone may wait for a
monitor. Other threads read `snapshot` (immutable, replaced as a whole) and hand in work through
`submit`.
"""

from __future__ import annotations

import errno
import logging
import queue
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field, replace
from typing import Callable, Mapping, Optional, Protocol, TypeVar

from .advise import automatic
from .advise.compaction import CAMPAIGN, campaign_request
from .advise.conditions.hold import HoldState, hold, raised, since
from .advise.facts import (
    ANNEX,
    OPTION,
    WATCHED_IF_SET,
    osd_options,
    settings_in_force,
)
from .advise.memory import WorkloadMemory
from .advise.proposal import change_request
from .advise.records import OsdFacts, OsdOptions, Recommendation, Setting
from .advise.strings import same_meaning
from .campaign.driver import Allowed, CampaignDriver, Measured
from .campaign.history import record_of as campaign_record
from .campaign.records import CampaignState
from .collection.collect import collect
from .collection.records import Collection, ModuleState
from .deep.look import DeepLook, DeepLooker, DeepLookRefused
from .evaluate import ADVISING, Circumstances, Remembered, conclude, unknown_manager
from .knowledge import loader
from .mgr.protocols import (
    Announcements,
    ClusterReader,
    CommandError,
    ConfigStore,
    CounterReader,
    Orchestrator,
    OsdCommands,
    OsdQuestions,
    Store,
    Upgrades,
)
from .mgr.records import ConfigEntry, ManagerInfo, OsdInfo, RunningOption
from .observe.growth import GrowthPoints
from .observe.interval import choose_interval
from .observe.observer import (
    KV_STATS_COMMAND,
    PERF_DUMP_ARGUMENTS,
    PERF_DUMP_COMMAND,
    Observer,
)
from .observe.option_watch import OptionWatch
from .observe.pool_rates import PoolHistory
from .observe.sharding import COMMAND as FILES_COMMAND
from .observe.trend import Trends
from .observe.trouble import read_trouble
from .options.releases import release_of
from .rollout.announce import Announcer
from .rollout.driver import Driver
from .rollout.errors import RolloutRefused
from .rollout.maintenance import MaintenanceWindow, outside
from .rollout.records import RolloutState, SoakPlan
from .rollout.rules import Limits
from .snapshot import Mode, Sampling, Snapshot
from .workload.recogniser import Recogniser
from .workload.records import Recognition, Workload

log = logging.getLogger(__name__)

#: How often a rollout looks at the cluster while it is under way.
ROLLOUT_PERIOD_S = 2.0
#: Ceph's own health checks come and go within minutes.
HEALTH_PERIOD_S = 30.0
#: No report of any OSD for so long, and for three samples, means that the manager is cut off.
DEAF_S = 60.0
#: A command of an operator that is not taken within this time is withdrawn.
SUBMIT_TIMEOUT_S = 30.0

_T = TypeVar('_T')

_NOTHING_RECOGNISED = Recognition(per_osd={}, per_group={})


class Cluster(
    CounterReader,
    ClusterReader,
    ConfigStore,
    OsdCommands,
    OsdQuestions,
    Orchestrator,
    Upgrades,
    Announcements,
    Protocol,
):
    """All that the module needs from a cluster."""


class BusyError(Exception):
    """The serve thread did not take a request in time; nothing was done."""

    errno = errno.EAGAIN


@dataclass(frozen=True)
class Settings:
    """Module options, read once a tick."""

    mode: Mode = Mode.RECOMMEND
    #: Seconds; 0 lets the module choose by the number of OSDs.
    sample_interval_s: float = 0.0
    #: What auto-apply may take.
    auto_apply: automatic.Policy = field(default_factory=automatic.Policy)
    #: How long an OSD may take to restart before it counts as not coming back.
    restart_timeout_s: float = 300.0
    #: An idle group keeps its last client workload as the reason for advice this long.
    workload_memory_s: float = 86400.0
    #: How long a changed OSD is watched before the others follow.
    soak: SoakPlan = field(default_factory=SoakPlan)
    #: How many OSDs of one failure domain compact at once.
    compaction_parallel: int = 1
    #: When an OSD may be begun.
    maintenance: MaintenanceWindow = field(default_factory=MaintenanceWindow)
    #: 0: no limit.
    restarts_per_day: int = 0
    #: Thresholds of conditions that the operator set, by module option.
    limits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _Configured:
    """What follows from the options of an OSD, and what it was worked out from."""

    osd: OsdInfo
    entries: tuple[ConfigEntry, ...]
    running: Mapping[str, RunningOption]
    options: OsdOptions
    settings: Mapping[str, Setting]


class Tuner:
    """Measure, recognise, advise, carry out: one `tick` of it at a time.

    ``wall_clock`` is the clock that stamps the OSDs' reports, seconds since the epoch.
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
    ) -> None:
        self._cluster = cluster
        self._read_settings = read_settings
        self._known_release = release_of(manager_version, manager_release)
        self._manager_version, self._manager_release = manager_version, manager_release
        self._manager = f'Ceph {manager_version} ({manager_release})'
        self._managers: tuple[ManagerInfo, ...] = ()
        self._clock = wall_clock
        self._observer = Observer()
        #: What charts show; nothing is decided by it.
        self.trends = Trends()
        self._pools = PoolHistory()
        self._recogniser = Recogniser()
        self._memory = WorkloadMemory()
        self._options = OptionWatch(cluster, (OPTION, ANNEX), WATCHED_IF_SET)
        self._known_options: dict[int, _Configured] = {}
        self._health_codes: frozenset[str] = frozenset()
        self._health_read_s: Optional[float] = None
        #: Since when each OSD has been waiting for its restart, as far as this manager saw it.
        self._pending_since_s: Mapping[int, float] = {}
        self._remembered = Remembered()
        self._alarms: HoldState = {}
        self._standing = automatic.Standing()
        #: Why auto-apply leaves what is recommended.
        self._refusals: tuple[automatic.Refusal, ...] = ()
        self._announcer = Announcer(cluster)
        self._driver = Driver(
            config=cluster,
            osds=cluster,
            orchestrator=cluster,
            cluster=cluster,
            upgrades=cluster,
            store=store,
            same_meaning=lambda a, b: same_meaning(a, b, None),
            on_change=self._announcer.changed,
        )
        self._campaign = CampaignDriver(cluster, store, on_end=self._campaign_ended)
        self._deep = DeepLooker(cluster, store)
        self._requests: queue.SimpleQueue[tuple[Future[object], Callable[[], object]]] = (
            queue.SimpleQueue()
        )
        self.wake: Callable[[], None] = lambda: None
        self._orchestrated = True
        self._sampled_s: Optional[float] = None
        #: When the newest signals were made.
        self._observed_s: Optional[float] = None
        self._sample_rounds = 0
        self._interval_s = choose_interval(0, None, 0.0)
        self._tick_s: Optional[float] = None
        self._recognition = _NOTHING_RECOGNISED
        self._advised_on: Mapping[str, Workload] = {}
        self._snapshot = self._evaluate(Settings(mode=Mode.OFF), wall_clock())

    @property
    def snapshot(self) -> Snapshot:
        """The newest state of everything; safe to read from any thread."""
        return self._snapshot

    def load(self) -> None:
        """Read the knowledge and what an earlier manager stored; once, in the serve thread."""
        loader.load_all()
        self._driver.load()
        self._announcer.taken_over(self._driver.state)
        self._campaign.load()
        self._deep.load()
        # The first tick may wait for a monitor, or for OSDs to report.
        self._snapshot = replace(self._snapshot, mode=self._read_settings().mode)
        self._publish_rollout()

    def submit(self, work: Callable[[], _T]) -> _T:
        """Run ``work`` in the serve thread and return its result or raise its exception.

        Raises BusyError, with nothing done, where the serve thread is waiting for a monitor.
        """
        future: Future[_T] = Future()
        self._requests.put((future, work))  # type: ignore[arg-type]
        self.wake()
        try:
            return future.result(SUBMIT_TIMEOUT_S)
        except FutureTimeoutError:
            if future.cancel():
                raise BusyError(
                    'the module is waiting for a monitor; nothing was done, try again'
                ) from None
            return future.result()

    def next_tick_in_s(self) -> float:
        """Seconds until `tick` has something to do."""
        if self._rollout_under_way() or self._campaign.under_way:
            return ROLLOUT_PERIOD_S
        if self._sampled_s is None:
            return 0.0
        # A clock that was set back must not make it sleep until it has caught up.
        return min(self._interval_s, max(0.5, self._sampled_s + self._interval_s - self._clock()))

    def tick(self) -> None:
        """Do what is due, then publish a new snapshot."""
        settings = self._read_settings()
        now_s = self._clock()
        if settings.mode is Mode.OFF:
            self._rest(settings, now_s)
        else:
            self._look(now_s)
        # What follows asks nobody, and is done for every OSD: its cost decides how often.
        cpu_before_s = time.thread_time()
        sampled = settings.mode is not Mode.OFF and self._sample(settings, now_s)
        self._snapshot = self._evaluate(settings, now_s)
        if sampled:
            self._tick_s = time.thread_time() - cpu_before_s
        self._driver.wait_at_most(
            Limits(restart_s=settings.restart_timeout_s, boot_s=settings.restart_timeout_s)
        )
        # Also in mode off: what the module itself switched on is not left on.
        if self._deep.unfinished and not self._compacting():
            self._deep.put_back(self._cluster.cluster_map(), now_s)
        under_way = self._rollout_under_way()
        local = time.localtime(now_s)
        outside_window = outside(
            settings.maintenance, local.tm_wday, local.tm_hour * 60 + local.tm_min
        )
        may_act, deaf = self._may_act(settings), self._deaf(now_s)
        self._driver.tick(
            now_s,
            may_act=may_act,
            outside_window=outside_window,
            restarts_per_day=settings.restarts_per_day,
            deaf=deaf,
        )
        campaign = self._campaign.state if self._campaign.under_way else None
        self._campaign.tick(now_s, self._measured(), Allowed(may_act, outside_window, deaf))
        if campaign is not None and not self._campaign.under_way:
            # Advised before it ended; nobody shall carry it out a second time.
            done_id = campaign.request.recommendation_id
            self._snapshot = self._snapshot.without_recommendation(done_id)
        if under_way and not self._rollout_under_way():
            self._options.entries_changed()
        self._take_requests()
        self._refusals = ()
        if settings.mode is Mode.AUTO_APPLY and self._has_looked():
            decision = self._decide_automatically(settings, now_s)
            self._refusals = decision.refusals
            if decision.chosen is not None:
                self._apply_automatically(decision.chosen)
        self._publish_rollout()
        if sampled and not self._compacting():
            # After all that could matter more: an answer may take its time. While it compacts, an
            # OSD of Pacific answers nothing else.
            self._ask_kv_stats(now_s)
            self._ask_files(now_s)

    def start(self, recommendation: Recommendation, actor: str) -> RolloutState:
        """Begin to carry out ``recommendation``; only in the serve thread."""
        if self._campaign.under_way:
            raise RolloutRefused(
                errno.EBUSY, 'a compaction campaign is under way: wait for it, or abort it'
            )
        request = change_request(recommendation, actor)
        return self._driver.start(request, self._clock(), self._read_settings().soak)

    def compact(self, recommendation: Recommendation, actor: str) -> CampaignState:
        """Begin the compaction campaign of ``recommendation``; only in the serve thread."""
        if self._rollout_under_way():
            raise RolloutRefused(errno.EBUSY, 'a rollout is under way: wait for it, or abort it')
        parallel = self._read_settings().compaction_parallel
        request = campaign_request(recommendation, actor, parallel)
        return self._campaign.start(CAMPAIGN + self._driver.next_number(), request, self._clock())

    @property
    def changes(self) -> tuple[Optional[RolloutState], Optional[CampaignState]]:
        """The last rollout and the last campaign, as they are now."""
        return self._driver.state, self._campaign.state

    def rollback(self, rollout_id: Optional[str], actor: str) -> RolloutState:
        """What compacts now goes on in its OSD; nothing more is compacted."""
        if self._campaign.under_way:
            self._campaign.abort(actor, self._clock())
        return self._driver.rollback(rollout_id, actor, self._clock())

    def look_deep(self, osd_id: int) -> DeepLook:
        """Read RocksDB's own statistics of one OSD; only in the serve thread.

        Raises DeepLookRefused, CommandError.
        """
        if self._read_settings().mode is Mode.OFF:
            raise DeepLookRefused(
                errno.EPERM,
                'the mode is off, in which nothing is read: "ceph rocksdb-tuner mode observe"',
            )
        if self._known_release is None:
            raise DeepLookRefused(errno.EOPNOTSUPP, unknown_manager(self._manager))
        osds = {osd.osd_id: osd for osd in self._cluster.cluster_map().osds}
        if osd_id not in osds:
            raise DeepLookRefused(errno.ENOENT, f'osd.{osd_id} does not exist')
        if self._compacting():
            raise DeepLookRefused(
                errno.EBUSY, 'an OSD is being compacted, and may not answer before that is over'
            )
        return self._deep.look(osds[osd_id], self._clock())

    def growth(self, osd_id: int) -> Optional[GrowthPoints]:
        """What the forecast of a DB device was made of; only in the serve thread."""
        return self._observer.growth_of(osd_id)

    def collection(self) -> Collection:
        """All that the newest snapshot was made of; only in the serve thread."""
        return collect(
            self._cluster.cluster_map(),
            self._observer,
            self._options,
            self._module_state(),
            health_codes=self._health_codes,
            history=self._driver.history,
            rollout=self._driver.state,
        )

    def _module_state(self) -> ModuleState:
        snapshot = self._snapshot
        assert snapshot.taken_s is not None
        return ModuleState(
            taken_s=snapshot.taken_s,
            sampled_s=snapshot.taken_s if self._observed_s is None else self._observed_s,
            mode=snapshot.mode,
            manager_version=self._manager_version,
            manager_release=self._manager_release,
            managers=self._managers,
            interval_s=self._interval_s,
            tick_ms=snapshot.sampling.tick_ms,
            orchestrated=self._orchestrated,
            rollout_under_way=self._rollout_under_way(),
            limits=self._read_settings().limits,
            notices=self._problems(),
            pending_since_s=self._pending_since_s,
            advised_on=self._advised_on,
            memories=self._recogniser.memories,
            pool_rates=self._pools.rates(),
            growth=self._observer.growth(),
        )

    def pause(self, actor: str) -> None:
        """Pause what is under way; raises RolloutRefused. So do `resume` and `abort`."""
        if self._campaign_is_meant():
            self._campaign.pause(actor, self._clock())
        else:
            self._driver.pause(actor, self._clock())

    def resume(self) -> None:
        if self._campaign_is_meant():
            self._campaign.resume(self._clock())
        else:
            self._driver.resume(self._clock())

    def abort(self, actor: str) -> None:
        if self._campaign_is_meant():
            self._campaign.abort(actor, self._clock())
        else:
            self._driver.abort(actor, self._clock())

    def acknowledge(self) -> RolloutState:
        return self._driver.acknowledge()

    def _may_act(self, settings: Settings) -> bool:
        """Whether anything may be changed: never through an interface that nobody has tried."""
        known = self._known_release is not None
        return settings.mode is not Mode.OFF and known and self._has_looked()

    def _deaf(self, now_s: float) -> Optional[str]:
        """Why this manager does not know how the OSDs are; None while they report to it."""
        ages = [s.sample_age_s for s in self._observer.signals().values()]
        youngest_s = min((age for age in ages if age is not None), default=None)
        if youngest_s is not None and self._observed_s is not None:
            silent_s = youngest_s + max(0.0, now_s - self._observed_s)
            if silent_s < max(DEAF_S, 3 * self._interval_s):
                return None
        return 'no OSD reports to this manager'

    def _campaign_is_meant(self) -> bool:
        return self._campaign.under_way and not self._rollout_under_way()

    def _compacting(self) -> bool:
        """Whether an OSD may be busy with a compaction of ours."""
        state = self._campaign.state
        return state is not None and bool(state.in_flight)

    def _campaign_ended(self, state: CampaignState) -> None:
        self._driver.add_record(campaign_record(state))

    def _measured(self) -> Measured:
        """What a campaign goes by."""
        signals = self._observer.signals()
        writes = [
            (s.op_w_latency_ms, s.write_iops)
            for s in signals.values()
            if s.op_w_latency_ms is not None and s.write_iops
        ]
        total = sum(iops for _, iops in writes)
        mean_ms = sum(ms * iops for ms, iops in writes) / total if total else None
        return Measured(
            {n: s.db_used_bytes for n, s in signals.items() if s.db_used_bytes is not None},
            {n: s.db_total_bytes for n, s in signals.items() if s.db_total_bytes is not None},
            None if mean_ms is None else round(mean_ms, 3),
        )

    def _rollout_under_way(self) -> bool:
        state = self._driver.state
        return state is not None and not state.ended

    def _has_looked(self) -> bool:
        """True once this manager measured for itself: nothing is done before."""
        return self._sample_rounds >= 2

    def _rest(self, settings: Settings, now_s: float) -> None:
        """Mode off: no counter is read, and what was known is not shown as if it still were."""
        if self._sample_rounds:
            self._observer = Observer()
            self._pools = PoolHistory()
            self._recogniser = Recogniser()
            self._recognition = _NOTHING_RECOGNISED
            self.trends.clear()
        self._sampled_s = now_s
        self._sample_rounds = 0
        self._tick_s = None
        self._interval_s = choose_interval(0, None, settings.sample_interval_s)

    def _look(self, now_s: float) -> None:
        """Ask the mgr and the monitor what may have changed; each answer is kept for a while."""
        self._options.refresh(self._cluster.cluster_map(), now_s)
        self._orchestrated = self._cluster.unavailable_reason() is None
        self._managers = self._cluster.managers()
        read_s = self._health_read_s
        if read_s is None or abs(now_s - read_s) >= HEALTH_PERIOD_S:
            self._health_codes = frozenset(self._cluster.health_codes())
            self._health_read_s = now_s

    def _sample(self, settings: Settings, now_s: float) -> bool:
        """Sample if that is due; True if it was."""
        if self._sampled_s is not None and abs(now_s - self._sampled_s) < self._interval_s:
            return False
        cluster_map = self._cluster.cluster_map()
        self._sampled_s = self._observed_s = now_s
        self._observer.observe(self._cluster, cluster_map, now_s)
        self._driver.observed(
            self._observer.newest, now_s, lambda osd_ids: read_trouble(self._cluster, osd_ids)
        )
        self.trends.add(
            self._observer.signals(),
            {osd.osd_id: osd.device_class for osd in cluster_map.osds},
            now_s,
        )
        self._pools.add(self._cluster.pool_counters(), now_s)
        self._recognition = self._recogniser.recognise(
            self._observer.signals(), cluster_map, now_s, self._pools.rates()
        )
        self._sample_rounds += 1
        self._interval_s = choose_interval(
            len(cluster_map.osds), self._tick_s, settings.sample_interval_s
        )
        return True

    def _ask_kv_stats(self, now_s: float) -> None:
        for request in self._observer.deep_requests(now_s):
            try:
                text = self._cluster.tell(request.osd_id, KV_STATS_COMMAND, {})
            except CommandError as error:
                self._observer.kv_stats_failed(request.osd_id, request.nonce, error.message, now_s)
            else:
                self._observer.accept_kv_stats(request.osd_id, request.nonce, text, now_s)
                self._ask_perf_dump(request.osd_id, request.nonce)

    def _ask_perf_dump(self, osd_id: int, nonce: int) -> None:
        """What completes RocksDB's statistics, of an OSD that has such."""
        if self._observer.kv_stats_unavailable(osd_id) is not None:
            return
        try:
            text = self._cluster.tell(osd_id, PERF_DUMP_COMMAND, PERF_DUMP_ARGUMENTS)
        except CommandError as error:
            log.debug('no perf dump: %s', error)
        else:
            self._observer.accept_perf_dump(osd_id, nonce, text)

    def _ask_files(self, now_s: float) -> None:
        for request in self._observer.sharding_requests(now_s):
            try:
                text = self._cluster.tell(request.osd_id, FILES_COMMAND, {})
            except CommandError as error:
                log.debug('no list of BlueFS files: %s', error)
                self._observer.files_failed(request, now_s)
                # The others may be as slow to answer: at the next tick.
                return
            self._observer.accept_files(request, text, now_s)

    def _evaluate(self, settings: Settings, now_s: float) -> Snapshot:
        """Everything that follows from what was measured; asks nobody."""
        osds = () if settings.mode is Mode.OFF else self._facts(now_s)
        if settings.mode in ADVISING and self._known_release is not None:
            self._advised_on = self._memory.recall(
                self._recognition, now_s, settings.workload_memory_s
            )
        self._pending_since_s = since(
            self._pending_since_s,
            [o.info.osd_id for o in osds if o.options and o.options.pending_restart],
            now_s,
        )
        concluded = conclude(
            osds,
            self._recognition.per_group,
            self._advised_on,
            Circumstances(
                mode=settings.mode,
                entries=self._options.entries,
                no_advice=None if self._known_release else unknown_manager(self._manager),
                orchestrated=self._orchestrated,
                rollout_under_way=self._rollout_under_way(),
                health_codes=self._health_codes,
                pending_s={i: now_s - at_s for i, at_s in self._pending_since_s.items()},
                limits=settings.limits,
                history=self._driver.history,
            ),
            self._remembered,
        )
        assessments, found = concluded.assessments, concluded.findings
        self._standing.update([r for a in assessments for r in a.recommendations], now_s)
        self._alarms = hold(self._alarms, found, now_s)
        ages = [s.sample_age_s for s in self._observer.signals().values()]
        known_ages = [age for age in ages if age is not None]
        return Snapshot(
            taken_s=now_s,
            mode=settings.mode,
            release=self._known_release.name if self._known_release else None,
            sampling=Sampling(
                interval_s=self._interval_s,
                osds=len(known_ages),
                last_sample_age_s=min(known_ages, default=None),
                tick_ms=None if self._tick_s is None else self._tick_s * 1000,
            ),
            osds=osds,
            groups=concluded.groups,
            findings=found,
            alarms=raised(self._alarms),
            assessments=assessments,
            rollout=self._driver.state,
            rollout_acknowledged=self._driver.acknowledged,
            campaign=self._campaign.state,
            history=self._driver.history,
            managers=self._managers,
            limitations=self._limitations(),
            notices=self._problems(),
        )

    def _problems(self) -> tuple[str, ...]:
        return (*self._driver.problems, *self._campaign.problems)

    def _limitations(self) -> tuple[str, ...]:
        """What an operator must know of where the module runs."""
        found = [] if self._known_release else [unknown_manager(self._manager)]
        found += [
            f'mgr.{manager.name} on {manager.host or "a host that it has not named"} lacks the '
            'files of this module, so nothing is measured while it is active: install them there '
            'and restart it.'
            for manager in self._managers
            if not manager.has_module
        ]
        return tuple(found)

    def _facts(self, now_s: float) -> tuple[OsdFacts, ...]:
        cluster_map, observer = self._cluster.cluster_map(), self._observer
        signals, workloads = observer.signals(), self._recognition.per_osd
        present = {osd.osd_id for osd in cluster_map.osds}
        for osd_id in [i for i in self._known_options if i not in present]:
            del self._known_options[osd_id]
        found = []
        for osd in cluster_map.osds:
            osd_id = osd.osd_id
            configured = self._configured(osd)
            found.append(
                OsdFacts(
                    osd,
                    signals.get(osd_id),
                    workloads.get(osd_id),
                    configured.options if configured else None,
                    observer.details(osd_id),
                    observer.forecast(osd_id),
                    observer.rocksdb_times(osd_id, now_s),
                    observer.sharded(osd_id, osd.nonce),
                    configured.settings if configured else None,
                )
            )
        return tuple(found)

    def _configured(self, osd: OsdInfo) -> Optional[_Configured]:
        """What ``osd`` runs and is set to, worked out anew only where something of it changed."""
        running, entries = self._options.running(osd), self._options.entries
        if running is None:
            return None
        known = self._known_options.get(osd.osd_id)
        if known is None or (known.osd, known.entries, known.running) != (osd, entries, running):
            options = osd_options(osd, entries, running)
            settings = settings_in_force(osd, entries, running)
            known = _Configured(osd, entries, running, options, settings)
            self._known_options[osd.osd_id] = known
        return known

    def _publish_rollout(self) -> None:
        """What the rollout did in this tick shows at once."""
        self._snapshot = replace(
            self._snapshot,
            rollout=self._driver.state,
            rollout_acknowledged=self._driver.acknowledged,
            campaign=self._campaign.state,
            history=self._driver.history,
            notices=self._problems(),
            auto_apply_refusals=self._refusals,
        )

    def _decide_automatically(self, settings: Settings, now_s: float) -> automatic.Decision:
        past = automatic.Past(
            self._driver.history,
            self._driver.state,
            self._driver.acknowledged,
            self._cluster.unavailable_reason(),
            self._campaign.under_way,
        )
        return automatic.decide(
            self._snapshot.recommendations, self._standing, past, now_s, settings.auto_apply
        )

    def _apply_automatically(self, chosen: Recommendation) -> None:
        log.info('auto-apply starts %s', chosen.recommendation_id)
        try:
            self.start(chosen, actor='auto-apply')
        except RolloutRefused as refusal:
            log.warning('auto-apply of %s was refused: %s', chosen.recommendation_id, refusal)

    def _take_requests(self) -> None:
        while True:
            try:
                future, work = self._requests.get_nowait()
            except queue.Empty:
                return
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except Exception as error:  # noqa: BLE001 - the handler that waits reports it
                future.set_exception(error)
