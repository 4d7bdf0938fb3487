"""One tick, composed: what `serve()` calls, and what the tests drive with a fake cluster.

A tick is a list of named steps. First what must not wait: the operation under way, the recovery of
what was switched on in OSDs, operators' requests. Then what measures and advises; each of those
fails alone (`steps.py`), and nothing before it depends on it.

Everything here runs in one thread, the module's serve thread, which alone may wait for a monitor,
and never for an OSD: `questions.py` asks those. Other threads read what is published (immutable,
replaced as a whole) and hand in changes through `submit`.
"""

from __future__ import annotations

import errno
import logging
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, replace
from typing import Callable, Mapping, Optional, Protocol, TypeVar

from .advise.conditions.hold import HoldState, hold, raised, since
from .advise.facts import WATCHED_IF_SET, osd_options, settings_in_force
from .advise.memory import WorkloadMemory
from .advise.own_profiles import OwnProfiles
from .advise.proposal import change_request
from .advise.records import OsdFacts, OsdOptions, Recommendation, Setting
from .advise.strings import same_meaning
from .audit import sender
from .campaign.driver import Allowed, CampaignDriver, Measured
from .campaign.history import record_of as campaign_record
from .campaign.offer import CAMPAIGN, campaign_request
from .campaign.records import CampaignState
from .collection.records import Collection
from .deep.look import DeepLook, DeepLooker, DeepLookRefused
from .deep.rate import LookRate
from .evaluate import (
    ADVISING,
    Circumstances,
    Conclusions,
    Remembered,
    conclude,
    unknown_manager,
)
from .judge.soak import contradiction
from .knowledge import loader
from .material import Material, Published
from .mgr.protocols import (
    Announcements,
    Audit,
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
from .mgr.records import ClusterMap, ConfigEntry, ManagerInfo, OsdInfo, RunningOption
from .observe.interval import choose_interval
from .observe.kv_stats import offers_statistics
from .observe.observer import (
    KV_STATS_COMMAND,
    PERF_DUMP_ARGUMENTS,
    PERF_DUMP_COMMAND,
    DeepRequest,
    Observer,
    ShardingRequest,
)
from .observe.option_watch import OptionWatch
from .observe.pool_rates import PoolHistory, PoolRates
from .observe.sharding import COMMAND as FILES_COMMAND
from .observe.signals import Signals
from .observe.starts import StartWatch
from .observe.trend import Trends
from .observe.trouble import read_trouble
from .options.releases import release_of
from .plan.records import ANNEX, OPTION
from .questions import Questions, Start, in_a_thread
from .requests import BusyError, Requests
from .rollout import automatic
from .rollout.announce import Announcer
from .rollout.driver import Driver
from .rollout.errors import RolloutRefused
from .rollout.hearing import Hearing
from .rollout.maintenance import outside
from .rollout.records import RolloutState
from .rollout.rules import Limits
from .settings import Settings
from .snapshot import Mode, Sampling, Snapshot
from .steps import Steps
from .workload.recogniser import Recogniser
from .workload.records import Recognition, Workload

log = logging.getLogger(__name__)

#: How often a rollout looks at the cluster while it is under way.
ROLLOUT_PERIOD_S = 2.0
#: Ceph's own health checks come and go within minutes.
HEALTH_PERIOD_S = 30.0
#: No report of any OSD for so long, and for three samples, means that the manager is cut off.
DEAF_S = 60.0
#: The least pause between two ticks.
TICK_MIN_S = 0.5
#: OSDs that are asked at once for what advice is made of, and for what operators want to see.
ASKED_AT_ONCE = 2
LOOKED_AT_ONCE = 4
#: A look that takes longer goes on by itself. Until then the mgr hands this module no other
#: command (ceph-mgr runs the commands of a module one after the other).
LOOK_WAIT_S = 10.0
#: The audit log has a command a second or two after the manager.
AUDIT_TRIES = 5
AUDIT_PAUSE_S = 2.0

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
    Audit,
    Announcements,
    Protocol,
):
    """All that the module needs from a cluster."""


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
        monotonic: Callable[[], float] = time.monotonic,
        read_mode: Optional[Callable[[], Mode]] = None,
        ask_beside: Start = in_a_thread,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``read_mode`` reads that option alone; ``ask_beside`` runs what waits for an OSD."""
        self._cluster = cluster
        self._read_settings = read_settings
        self._read_mode = read_mode or (lambda: read_settings().mode)
        #: The last that could be read, and why they cannot be read now.
        self._settings: Optional[Settings] = None
        self._unreadable: Optional[str] = None
        self._known_release = release_of(manager_version, manager_release)
        self._manager_version, self._manager_release = manager_version, manager_release
        self._manager = f'Ceph {manager_version} ({manager_release})'
        self._managers: tuple[ManagerInfo, ...] = ()
        self._clock, self._monotonic, self._sleep = wall_clock, monotonic, sleep
        self.steps = Steps(wall_clock)
        self._observer = Observer()
        self._starts = StartWatch()
        self._hearing = Hearing()
        #: What charts show; nothing is decided by it.
        self.trends = Trends()
        self._pools = PoolHistory()
        self._pool_rates: Mapping[int, PoolRates] = {}
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
            switched_on=self._switched_on,
            guard=self.steps,
        )
        self._campaign = CampaignDriver(
            cluster,
            store,
            on_end=self._campaign_ended,
            switched_on=self._switched_on,
            guard=self.steps,
        )
        self._deep = DeepLooker(cluster, store)
        self._own_profiles = OwnProfiles(store)
        self._look_rate = LookRate()
        self._asking = Questions(ASKED_AT_ONCE, ask_beside)
        self._looking = Questions(LOOKED_AT_ONCE, ask_beside)
        self._auditing = Questions(1, ask_beside)
        self._requests = Requests()
        #: What `load` has still to do.
        self._to_load: dict[str, Callable[[], object]] = {
            'knowledge': loader.load_all,
            'stored rollout': self._driver.load,
            'stored campaign': self._campaign.load,
            'stored notes': self._deep.load,
            'announcements': lambda: self._announcer.taken_over(self._driver.state),
        }
        self._orchestrated = True
        self._sampled_s: Optional[float] = None
        #: When the newest signals were made.
        self._observed_s: Optional[float] = None
        self._sample_rounds = 0
        self._interval_s = choose_interval(0, None, 0.0)
        self._tick_s: Optional[float] = None
        self._recognition = _NOTHING_RECOGNISED
        self._advised_on: Mapping[str, Workload] = {}
        self._published = Published(self._snapshot_of(Settings(mode=Mode.OFF), (), wall_clock()))

    @property
    def snapshot(self) -> Snapshot:
        """The newest state of everything; safe to read from any thread."""
        return self._published.snapshot

    @property
    def published(self) -> Published:
        """The same with what it was made of; safe to read from any thread."""
        return self._published

    def collection(self, of: Optional[Published] = None) -> Collection:
        """All that the newest snapshot was made of, put together in the thread that asks.

        Raises BusyError.
        """
        found = (of or self._published).collection(self._manager_version, self._manager_release)
        if found is None:
            raise BusyError('the module has not looked at the cluster yet; try again in a moment')
        return found

    @property
    def wake(self) -> Callable[[], None]:
        """Called when `take_requests` has something to do."""
        return self._requests.wake

    @wake.setter
    def wake(self, wake: Callable[[], None]) -> None:
        self._requests.wake = wake

    def load(self) -> None:
        """Read the knowledge and what an earlier manager stored, in the serve thread.

        What fails is tried again at each tick.
        """
        for step, work in tuple(self._to_load.items()):
            if self.steps.run(step, work):
                del self._to_load[step]
        if self._published.material is None:
            # The first tick may wait for a monitor, or for OSDs to report.
            mode = self.steps.value('settings', self._read_mode, Mode.OFF)
            self._publish(replace(self.snapshot, mode=mode), None)
        self._publish_rollout(self._clock())

    def close(self) -> None:
        """The module ends: nothing that was asked is waited for."""
        self._asking.drop()
        self._looking.drop()
        self._auditing.drop()

    def submit(self, work: Callable[[], _T]) -> _T:
        """Run ``work`` in the serve thread and return its result or raise its exception.

        Raises BusyError, with nothing done, where the serve thread is waiting for a monitor.
        """

        def published() -> _T:
            try:
                return work()
            finally:
                # Before whoever waits for the answer asks what became of it.
                self._publish_rollout(self._clock())

        return self._requests.submit(published)

    def next_tick_in_s(self) -> float:
        """Seconds until `tick` has something to do."""
        if self._rollout_under_way() or self._campaign.under_way:
            return ROLLOUT_PERIOD_S
        if self._sampled_s is None:
            return TICK_MIN_S
        # A clock that was set back must not make it sleep until it has caught up.
        due_s = self._sampled_s + self._interval_s - self._clock()
        return min(self._interval_s, max(TICK_MIN_S, due_s))

    def tick(self) -> None:
        """Do what is due, then publish a new snapshot. What fails is in `steps`."""
        now_s = self._clock()
        if self._to_load:
            self.load()
        settings = self._settings_now()
        # What must not wait for anything that follows
        self._operate(settings, now_s)
        self.take_requests()
        # What the operation goes by, and can do without
        if settings.mode is Mode.OFF:
            self.steps.run('sampling', lambda: self._rest(settings, now_s))
        else:
            self._look(now_s)
        # What follows asks nobody, and is done for every OSD: its cost decides how often.
        cpu_before_s = time.thread_time()
        sampled = settings.mode is not Mode.OFF and self._sample(settings, now_s)
        evaluated = self.steps.run('evaluation', lambda: self._evaluate(settings, now_s))
        if sampled:
            self._tick_s = time.thread_time() - cpu_before_s
        self._refusals = ()
        if settings.mode is Mode.AUTO_APPLY and self._may_begin_by_itself(evaluated=evaluated):
            self.steps.run('auto-apply', lambda: self._apply_what_is_due(settings))
        self.steps.run('audit log', self._auditing.take_answers)
        self._publish_rollout(now_s)
        self._ask_osds(settings, now_s, sampled=sampled)

    def take_requests(self) -> None:
        """Do what operators asked for, without a tick; only in the serve thread."""
        self._requests.take()

    def _operate(self, settings: Settings, now_s: float) -> None:
        """Go on with what is under way, whatever became of sampling, judging and advice."""
        if settings.mode is not Mode.OFF:
            self.steps.run('hearing', lambda: self._hear(now_s))
        self.steps.run('rollout', lambda: self._drive_rollout(settings, now_s))
        self.steps.run('compaction campaign', lambda: self._drive_campaign(settings, now_s))
        # Also in mode off: what the module itself switched on is not left on.
        self.steps.run('recovery', lambda: self._put_back(now_s))
        self._publish_rollout(now_s)

    def _drive_rollout(self, settings: Settings, now_s: float) -> None:
        self._driver.wait_at_most(
            Limits(restart_s=settings.restart_timeout_s, boot_s=settings.restart_timeout_s)
        )
        under_way = self._rollout_under_way()
        deaf, unheard = self._deaf(settings)
        self._driver.tick(
            now_s,
            may_act=self._may_act(settings),
            outside_window=self._not_now(settings, now_s),
            restarts_per_day=settings.restarts_per_day,
            deaf=deaf,
            unheard=unheard,
            monotonic_s=self._monotonic(),
        )
        if under_way and not self._rollout_under_way():
            self._options.entries_changed()

    def _drive_campaign(self, settings: Settings, now_s: float) -> None:
        campaign = self._campaign.state if self._campaign.under_way else None
        deaf, unheard = self._deaf(settings)
        self._campaign.tick(
            now_s,
            self._measured(),
            Allowed(self._may_act(settings), self._not_now(settings, now_s), deaf or unheard),
            monotonic_s=self._monotonic(),
        )
        if campaign is not None and not self._campaign.under_way:
            # Advised before it ended; nobody shall carry it out a second time.
            done_id = campaign.request.recommendation_id
            self._publish(self.snapshot.without_recommendation(done_id), self._published.material)

    def _put_back(self, now_s: float) -> None:
        if self._deep.unfinished and not self._compacting():
            self._deep.put_back(self._cluster.cluster_map(), now_s, self._put_back_beside)
        self._looking.take_answers()

    def _put_back_beside(self, osd_id: int, work: Callable[[], object]) -> bool:
        def failed(error: Exception) -> None:
            raise error

        return self._looking.ask(osd_id, work, failed=failed)

    def _settings_now(self) -> Settings:
        """The module options; where they cannot be read, as they were, and nothing is begun."""
        try:
            settings = self._read_settings()
        except Exception as error:  # noqa: BLE001 - kept, and shown
            self.steps.failed('settings', error)
            self._unreadable = 'the options of the module cannot be read'
            mode = self.steps.value('mode', self._read_mode, Mode.OFF)
            return replace(self._settings or Settings(), mode=mode)
        self.steps.works('settings')
        self._unreadable = None
        self._settings = settings
        return settings

    def _settings_to_begin(self) -> Settings:
        """The module options, for what begins now; raises RolloutRefused."""
        try:
            return self._read_settings()
        except Exception as error:
            raise RolloutRefused(
                errno.EINVAL, f'the options of the module cannot be read: {error}'
            ) from error

    def _not_now(self, settings: Settings, now_s: float) -> Optional[str]:
        """Why no further OSD may be begun now; what was begun is finished all the same."""
        if self._unreadable is not None:
            return self._unreadable
        if not self._has_looked():
            return 'this manager has not sampled the OSDs yet'
        if self.steps.fails('sampling'):
            return 'the OSDs cannot be sampled now'
        local = time.localtime(now_s)
        minute = local.tm_hour * 60 + local.tm_min
        return outside(settings.maintenance, local.tm_wday, minute)

    def start(self, recommendation: Recommendation, actor: str) -> RolloutState:
        """Begin to carry out ``recommendation``; only in the serve thread."""
        if self._campaign.under_way:
            raise RolloutRefused(
                errno.EBUSY, 'a compaction campaign is under way: wait for it, or abort it'
            )
        request = change_request(recommendation, actor)
        return self._driver.start(request, self._clock(), self._settings_to_begin().soak)

    def compact(self, recommendation: Recommendation, actor: str) -> CampaignState:
        """Begin the compaction campaign of ``recommendation``; only in the serve thread."""
        if self._rollout_under_way():
            raise RolloutRefused(errno.EBUSY, 'a rollout is under way: wait for it, or abort it')
        parallel = self._settings_to_begin().compaction_parallel
        request = campaign_request(recommendation, actor, parallel)
        return self._campaign.start(CAMPAIGN + self._driver.next_number(), request, self._clock())

    def find_actor(self, change_id: str, command: Mapping[str, object]) -> None:
        """Find out, beside, which client sent the command that began a change.

        Nothing waits for it, and what cannot be told stays as it is; only in the serve thread.
        """
        taken_s = self._clock()

        def ask() -> Optional[str]:
            for attempt in range(AUDIT_TRIES):
                if attempt:
                    self._sleep(AUDIT_PAUSE_S)
                found = sender(self._cluster.audited(), command, taken_s)
                if found is not None:
                    return found
            return None

        def take(found: Optional[str]) -> None:
            if found is not None:
                self._driver.name_actor(change_id, found)
                self._campaign.name_actor(change_id, found)

        def failed(error: Exception) -> None:
            raise error

        self._auditing.ask(0, ask, take, failed)

    @property
    def changes(self) -> tuple[Optional[RolloutState], Optional[CampaignState]]:
        """The last rollout and the last campaign, as they are now."""
        return self._driver.state, self._campaign.state

    @property
    def campaign_waits_for(self) -> Optional[str]:
        return self._campaign.waits_for

    def rollback(self, rollout_id: Optional[str], actor: str) -> RolloutState:
        """What compacts now goes on in its OSD; nothing more is compacted."""
        now_s = self._clock()

        def end_campaign() -> None:
            if self._campaign.under_way:
                self._campaign.abort(actor, now_s)

        return self._driver.rollback(rollout_id, actor, now_s, before=end_campaign)

    def look_deep(self, osd_id: int) -> DeepLook:
        """Read RocksDB's own statistics of one OSD; in the thread of who asks for it.

        Raises DeepLookRefused, CommandError.
        """
        if self._read_mode() is Mode.OFF:
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
        if not self._looking.free(osd_id):
            raise DeepLookRefused(
                errno.EBUSY, f'osd.{osd_id}, or {LOOKED_AT_ONCE} others, did not answer yet'
            )
        too_often = self._look_rate.take(osd_id, self._monotonic())
        if too_often is not None:
            raise DeepLookRefused(errno.EAGAIN, too_often)
        return self._looked(osds[osd_id])

    def _looked(self, osd: OsdInfo) -> DeepLook:
        answer: Future[DeepLook] = Future()

        def look() -> None:
            try:
                answer.set_result(self._deep.look(osd, self._clock()))
            except Exception as error:  # noqa: BLE001 - raised again by who waits
                answer.set_exception(error)

        if not self._looking.ask(osd.osd_id, look):
            raise DeepLookRefused(errno.EBUSY, f'osd.{osd.osd_id} is being asked; try again')
        try:
            return answer.result(LOOK_WAIT_S)
        except FutureTimeoutError:
            raise DeepLookRefused(
                errno.ETIMEDOUT,
                f'osd.{osd.osd_id} did not answer within {LOOK_WAIT_S:.0f} s; what was switched on '
                'in it is put back once it does',
            ) from None

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
        return settings.mode is not Mode.OFF and self._known_release is not None

    def _switched_on(self) -> bool:
        """Whether the operator allows changes at this moment; False where that cannot be read."""
        return self.steps.value('mode', self._read_mode, Mode.OFF) is not Mode.OFF

    def _deaf(self, settings: Settings) -> tuple[Optional[str], Optional[str]]:
        """Why this manager does not know how the OSDs are, and why that cannot be told."""
        if settings.mode is Mode.OFF:
            return 'nothing is read in mode off', None
        if self.steps.fails('hearing'):
            return None, 'whether OSDs report to this manager cannot be told'
        if self._hearing.silent_s >= max(DEAF_S, 3 * self._interval_s):
            return 'no OSD reports to this manager', None
        if not self._hearing.heard:
            return None, 'whether OSDs report to this manager is not known yet'
        return None, None

    def _hear(self, now_s: float) -> None:
        self._hearing.look(self._cluster, self._cluster.cluster_map(), now_s)

    def _campaign_is_meant(self) -> bool:
        return self._campaign.under_way and not self._rollout_under_way()

    def _compacting(self) -> bool:
        """Whether an OSD may be busy with a compaction of ours."""
        state = self._campaign.state
        return state is not None and bool(state.in_flight)

    def _campaign_ended(self, state: CampaignState) -> None:
        self._driver.add_record(campaign_record(state))

    def _signals(self) -> Mapping[int, Signals]:
        """The newest signals; none where they could not be renewed."""
        return {} if self.steps.fails('sampling') else self._observer.signals()

    def _measured(self) -> Measured:
        """What a campaign goes by."""
        signals = self._signals()
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
            self._starts = StartWatch()
            self._pools = PoolHistory()
            self._pool_rates = {}
            self._recogniser = Recogniser()
            self._recognition = _NOTHING_RECOGNISED
            self.trends.clear()
        # What was asked is nobody's any more.
        self._asking.drop()
        self._sampled_s = now_s
        self._sample_rounds = 0
        self._tick_s = None
        self._interval_s = choose_interval(0, None, settings.sample_interval_s)

    def _look(self, now_s: float) -> None:
        """Ask the mgr and the monitor what may have changed; each answer is kept for a while."""
        run = self.steps.run
        run('starts of OSDs', self._watch_starts)
        run('running options', lambda: self._options.refresh(self._cluster.cluster_map(), now_s))
        run('orchestrator', self._look_for_orchestrator)
        run('managers', self._look_for_managers)
        run('health of the cluster', lambda: self._look_at_health(now_s))

    def _watch_starts(self) -> None:
        osds = self._cluster.cluster_map().osds
        self._starts.look(osds, self._monotonic(), self._interval_s)

    def _look_for_orchestrator(self) -> None:
        self._orchestrated = self._cluster.unavailable_reason() is None

    def _look_for_managers(self) -> None:
        self._managers = self._cluster.managers()

    def _look_at_health(self, now_s: float) -> None:
        read_s = self._health_read_s
        if read_s is None or abs(now_s - read_s) >= HEALTH_PERIOD_S:
            self._health_read_s = now_s
            self._health_codes = frozenset(self._cluster.health_codes())

    def _sample(self, settings: Settings, now_s: float) -> bool:
        """Sample if that is due; True if it was."""
        if self._sampled_s is not None and abs(now_s - self._sampled_s) < self._interval_s:
            return False
        # First of all: what fails is not tried faster than what works.
        self._sampled_s = now_s
        run = self.steps.run
        if not run('sampling', lambda: self._observe(now_s)):
            self._recognition = _NOTHING_RECOGNISED
            return True
        run('evidence', lambda: self._record(now_s))
        run('trends', lambda: self._chart(now_s))
        run('pools', lambda: self._look_at_pools(now_s))
        run('workload', lambda: self._recognise(now_s))
        osds = len(self._observer.signals())
        self._interval_s = choose_interval(osds, self._tick_s, settings.sample_interval_s)
        return True

    def _observe(self, now_s: float) -> None:
        self._observer.observe(self._cluster, self._cluster.cluster_map(), now_s)
        self._observed_s = now_s
        self._sample_rounds += 1

    def _record(self, now_s: float) -> None:
        """What the verdict on a rollout is made of."""
        self._driver.observed(
            self._observer.newest, now_s, lambda osd_ids: read_trouble(self._cluster, osd_ids)
        )

    def _chart(self, now_s: float) -> None:
        classes = {osd.osd_id: osd.device_class for osd in self._cluster.cluster_map().osds}
        self.trends.add(self._observer.signals(), classes, now_s)

    def _look_at_pools(self, now_s: float) -> None:
        self._pool_rates = {}
        self._pools.add(self._cluster.pool_counters(), now_s)
        self._pool_rates = self._pools.rates()

    def _recognise(self, now_s: float) -> None:
        # What was recognised before is not shown as if it still were.
        self._recognition = _NOTHING_RECOGNISED
        self._recognition = self._recogniser.recognise(
            self._observer.signals(), self._cluster.cluster_map(), now_s, self._pool_rates
        )

    def _ask_osds(self, settings: Settings, now_s: float, *, sampled: bool) -> None:
        """What only OSDs can tell; nobody waits for it. While it compacts, an OSD of Pacific
        answers nothing else.
        """
        self.steps.run('answers of OSDs', self._asking.take_answers)
        if not sampled or settings.mode is Mode.OFF or self._compacting():
            return
        self.steps.run('statistics', lambda: self._ask_kv_stats(now_s))
        self.steps.run('BlueFS files', lambda: self._ask_files(now_s))

    def _ask_kv_stats(self, now_s: float) -> None:
        for request in self._observer.deep_requests(now_s, self._asking.free):
            self._ask_one(request)

    def _ask_one(self, request: DeepRequest) -> None:
        observer, (osd_id, nonce) = self._observer, request

        def ask() -> tuple[float, str, Optional[str]]:
            text = self._cluster.tell(osd_id, KV_STATS_COMMAND, {})
            at_s, perf_dump = self._clock(), None
            if offers_statistics(text):
                # What completes them, of an OSD that has such
                try:
                    perf_dump = self._cluster.tell(osd_id, PERF_DUMP_COMMAND, PERF_DUMP_ARGUMENTS)
                except CommandError as error:
                    log.debug('no perf dump: %s', error)
            return at_s, text, perf_dump

        def take(found: tuple[float, str, Optional[str]]) -> None:
            at_s, text, perf_dump = found
            observer.accept_kv_stats(osd_id, nonce, text, at_s)
            if perf_dump is not None and observer.kv_stats_unavailable(osd_id) is None:
                observer.accept_perf_dump(osd_id, nonce, perf_dump)

        def failed(error: Exception) -> None:
            observer.kv_stats_failed(osd_id, nonce, str(error), self._clock())
            if not isinstance(error, CommandError):
                raise error

        self._asking.ask(osd_id, ask, take, failed)

    def _ask_files(self, now_s: float) -> None:
        for request in self._observer.sharding_requests(now_s, self._asking.free):
            # Whoever is not asked now is at a later tick.
            self._ask_files_of(request)

    def _ask_files_of(self, request: ShardingRequest) -> None:
        observer = self._observer

        def failed(error: Exception) -> None:
            log.debug('no list of BlueFS files: %s', error)
            observer.files_failed(request, self._clock())
            if not isinstance(error, CommandError):
                raise error

        self._asking.ask(
            request.osd_id,
            lambda: self._cluster.tell(request.osd_id, FILES_COMMAND, {}),
            lambda text: observer.accept_files(request, text, self._clock()),
            failed,
        )

    def _evaluate(self, settings: Settings, now_s: float) -> None:
        """Publish everything that follows from what was measured; asks nobody."""
        cluster_map = self._cluster.cluster_map()
        osds = () if settings.mode is Mode.OFF else self._facts(cluster_map, now_s)
        if settings.mode in ADVISING and self._known_release is not None:
            self._advised_on = self._memory.recall(
                self._recognition, now_s, settings.workload_memory_s
            )
        self._pending_since_s = since(
            self._pending_since_s,
            [o.info.osd_id for o in osds if o.options and o.options.pending_restart],
            now_s,
        )
        snapshot = self._snapshot_of(settings, osds, now_s)
        # Where that fails, what was concluded before is not shown as if it were new.
        concluded = self.steps.value('advice', lambda: self._conclude(settings, osds, now_s), None)
        if concluded is not None:
            snapshot = replace(
                snapshot,
                groups=concluded.groups,
                findings=concluded.findings,
                assessments=concluded.assessments,
                alarms=raised(self._alarms),
            )
        self._publish(snapshot, self._material(settings, cluster_map))

    def _conclude(
        self, settings: Settings, osds: tuple[OsdFacts, ...], now_s: float
    ) -> Conclusions:
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
                own_profiles=self._own_profiles.all(),
            ),
            self._remembered,
        )
        advised = [r for a in concluded.assessments for r in a.recommendations]
        self._standing.update(advised, self._monotonic())
        self._alarms = hold(self._alarms, concluded.findings, now_s, self._health_codes)
        return concluded

    def _snapshot_of(
        self, settings: Settings, osds: tuple[OsdFacts, ...], now_s: float
    ) -> Snapshot:
        """What was measured, and what is under way; nothing is concluded from it."""
        ages = [s.sample_age_s for s in self._signals().values()]
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
            groups=(),
            findings=(),
            alarms=raised(self._alarms),
            assessments=(),
            rollout=self._driver.state,
            rollout_acknowledged=self._driver.acknowledged,
            rollout_waits=self._driver.why_waiting(self._gate_alarm_after_s),
            campaign=self._campaign.state,
            campaign_waits=self._campaign.why_waiting(self._gate_alarm_after_s),
            campaign_waits_for=self._campaign.waits_for,
            history=self._driver.history,
            managers=self._managers,
            limitations=self._limitations(),
            impossible=self._impossible(),
            notices=self._problems(),
        )

    def _material(self, settings: Settings, cluster_map: ClusterMap) -> Material:
        return Material(
            cluster_map=cluster_map,
            kept=self._observer.kept(),
            options=self._options.kept(),
            health_codes=self._health_codes,
            orchestrated=self._orchestrated,
            observed_s=self._observed_s,
            interval_s=self._interval_s,
            limits=settings.limits,
            pending_since_s=self._pending_since_s,
            advised_on=self._advised_on,
            memories=self._recogniser.memories,
            pool_rates=self._pool_rates,
            starts=self._starts.starts,
        )

    def _publish(self, snapshot: Snapshot, material: Optional[Material]) -> None:
        self._published = Published(snapshot, material)

    def _problems(self) -> tuple[str, ...]:
        return (*self._driver.problems, *self._campaign.problems)

    def _impossible(self) -> Optional[str]:
        """Why nothing can be applied as the module options are."""
        return None if self._settings is None else contradiction(self._settings.soak)

    def _limitations(self) -> tuple[str, ...]:
        """What an operator must know of where the module runs."""
        found = [] if self._known_release else [unknown_manager(self._manager)]
        impossible = self._impossible()
        found += [] if impossible is None else [impossible]
        found += [
            f'mgr.{manager.name} on {manager.host or "a host that it has not named"} lacks the '
            'files of this module, so nothing is measured while it is active: install them there '
            'and restart it.'
            for manager in self._managers
            if not manager.has_module
        ]
        return tuple(found)

    def _facts(self, cluster_map: ClusterMap, now_s: float) -> tuple[OsdFacts, ...]:
        observer = self._observer
        signals, workloads = self._signals(), self._recognition.per_osd
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
                    observer.details(osd_id) if osd_id in signals else None,
                    observer.forecast(osd_id),
                    observer.rocksdb_times(osd_id, now_s) if osd_id in signals else None,
                    observer.sharded(osd_id, osd.nonce),
                    configured.settings if configured else None,
                    self._starts.starts.get(osd_id),
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

    @property
    def _gate_alarm_after_s(self) -> float:
        return (self._settings or Settings()).gate_alarm_after_s

    def _publish_rollout(self, now_s: float) -> None:
        """What was done in this tick shows at once, and what does not work."""
        snapshot = replace(
            self.snapshot,
            rollout=self._driver.state,
            rollout_acknowledged=self._driver.acknowledged,
            rollout_waits=self._driver.why_waiting(self._gate_alarm_after_s),
            campaign=self._campaign.state,
            campaign_waits=self._campaign.why_waiting(self._gate_alarm_after_s),
            campaign_waits_for=self._campaign.waits_for,
            history=self._driver.history,
            notices=self._problems(),
            auto_apply_refusals=self._refusals,
            failing=self.steps.failing,
            published_s=now_s,
        )
        self._publish(snapshot, self._published.material)

    def _may_begin_by_itself(self, *, evaluated: bool) -> bool:
        """Only upon advice of this very tick."""
        advised = evaluated and not self.steps.fails('advice')
        sampled = self._has_looked() and not self.steps.fails('sampling')
        return advised and sampled and self._unreadable is None

    def _apply_what_is_due(self, settings: Settings) -> None:
        decision = self._decide_automatically(settings)
        self._refusals = decision.refusals
        if decision.chosen is not None:
            self._apply_automatically(decision.chosen)

    def _decide_automatically(self, settings: Settings) -> automatic.Decision:
        past = automatic.Past(
            self._driver.history,
            self._driver.state,
            self._driver.acknowledged,
            self._cluster.unavailable_reason(),
            self._campaign.under_way,
            ended_ago_s=self._driver.since_end_s,
            broken=(*self._driver.broken, *self._campaign.problems),
            impossible=contradiction(settings.soak),
        )
        steady_s = self._monotonic()
        return automatic.decide(
            self.snapshot.recommendations, self._standing, past, steady_s, settings.auto_apply
        )

    def _apply_automatically(self, chosen: Recommendation) -> None:
        log.info('auto-apply starts %s', chosen.recommendation_id)
        try:
            self.start(chosen, actor='auto-apply')
        except RolloutRefused as refusal:
            log.warning('auto-apply of %s was refused: %s', chosen.recommendation_id, refusal)
