"""A cluster with one manager at a time: the environment of schedules.

The manager is the driver alone, or the whole loop above it. It may be killed before and after each
write, and monitors may refuse, delay or lose each of them.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import Any, Callable, Optional

from rocksdb_tuner.judge.records import SoakPlan
from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import ClusterMap, CounterPoint
from rocksdb_tuner.observe.report_interval import DEFAULT
from rocksdb_tuner.observe.sample import names_for
from rocksdb_tuner.operations.rollout.automatic import MaintenanceWindow, Policy
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.operations.rollout.records import RolloutState
from rocksdb_tuner.operations.rollout.rules import Limits
from rocksdb_tuner.plan.records import ChangeRequest
from rocksdb_tuner.present.health import HealthChecks, health_checks
from rocksdb_tuner.settings import Settings
from rocksdb_tuner.snapshot import Mode, Sampling, Snapshot
from rocksdb_tuner.tests.fake_cluster import VERSIONS
from rocksdb_tuner.tests.operations.rollout.conftest import Run
from rocksdb_tuner.tick.evaluation import Published
from rocksdb_tuner.tuner import Tuner

from .cluster import ChaosCluster
from .faults import Mortal
from .schedule import Loop, Schedule

#: How old a recommendation must be for auto-apply.
AUTO_APPLY_AFTER_S = 60.0


def health_of(driver: Driver, time_s: float) -> HealthChecks:
    """The module's health checks in `ceph health`, of a manager that only has this driver."""
    return health_checks(
        Snapshot(
            taken_s=time_s,
            mode=Mode.RECOMMEND,
            release='pacific',
            sampling=Sampling(5.0, 1, 1.0, 1.0),
            osds=(),
            groups=(),
            findings=(),
            assessments=(),
            rollout=driver.state,
            history=driver.history,
            managers=(),
            limitations=(),
            notices=driver.problems,
            rollout_acknowledged=driver.acknowledged,
            rollout_waits=driver.why_waiting(),
        )
    )


class World(Mortal, Run):
    """One cluster, one store, one manager; the driver alone drives the rollout."""

    cluster: ChaosCluster
    #: Queries per sample that may go to every OSD.
    questions_of_all = 0
    #: Without auto-apply, no recommendation has to be of any age.
    auto_apply_after_s = 0.0

    def __init__(self, planned: Schedule, cluster: ChaosCluster) -> None:
        self.planned = planned
        #: Called with every state once it is stored, and the one before it.
        self.on_change: Callable[[Optional[RolloutState], RolloutState], None] = lambda *_: None
        #: Called when the manager samples the cluster, before any decision.
        self.on_observation: Callable[[], None] = lambda: None
        #: The last write of an operation's state was refused, or its answer was lost.
        self.store_refuses = False
        #: When the manager became active, and its last sample of the cluster.
        self.active_since_s = cluster.now_s
        self.seen_at_s = cluster.now_s
        self.advice_fails = self.sampling_fails = False
        #: OSDs that work and do not report, and since when.
        self.silent_since_s: dict[int, float] = {}
        self._watch_writes(cluster)
        Mortal.__init__(self)
        Run.__init__(self, cluster)

    def _watch_writes(self, cluster: ChaosCluster) -> None:
        """Put the faults of writes between the manager and the cluster."""
        seen_map = cluster.cluster_map

        def cluster_map() -> ClusterMap:
            self.on_observation()
            self.seen_at_s = cluster.now_s
            return seen_map()

        cluster.cluster_map = cluster_map  # type: ignore[method-assign]
        for name in ('set', 'remove', 'restart_osd'):
            setattr(cluster, name, self.faulty(getattr(cluster, name), entry=True))

    def _watch_store(self) -> None:
        if not hasattr(self.store.set, 'mortal'):
            self.store.set = self._noted(  # type: ignore[method-assign]
                self.faulty(self.store.set, entry=False)
            )

    # -- the manager

    def new_driver(self, limits: Optional[Limits] = None) -> Driver:
        self._watch_store()
        created = super().new_driver(limits)
        created._announce = self._changed  # type: ignore[method-assign,assignment]
        created._changes_allowed = lambda: self.may_act
        self.active_since_s = self.cluster.now_s
        return created

    def _changed(self, old: Optional[RolloutState], new: RolloutState) -> None:
        self.on_change(old, new)
        Driver._announce(self.driver, old, new)

    @property
    def has_reports(self) -> bool:
        """Whether a manager may believe that OSDs report to it."""
        return self.no_reports_reason is None

    def falls_silent(self, osd_id: int) -> None:
        self.silent_since_s.setdefault(osd_id, self.cluster.now_s)

    @property
    def known(self) -> Optional[RolloutState]:
        """The rollout, as the manager has it; None: there was none."""
        return self.driver.state

    def look(self, seconds: float) -> None:
        """One sample of the cluster by the manager, and so much time."""
        self.clients.silent = set(self.silent_since_s)
        if self.may_act and not self.sampling_fails:
            self.driver.observed(self.clients.newest, self.clock_s)
        self.driver.tick(self.clock_s, self.allowed(), self.cluster.now_s)
        self.pass_time(seconds)

    def pass_time(self, seconds: float) -> None:
        self.cluster.advance(seconds)
        self.clients.offset_s = self.cluster.clock_offset_s = self.offset_s
        self.clients.write(seconds)

    def fail_over(self) -> None:
        Run.fail_over(self)

    def take_over(self) -> None:
        if self.planned.orchestrator_forgets:
            self.cluster.accepted.clear()
        super().take_over()

    # -- what operators and the loop ask of it

    def starts_automatically(self) -> None:
        """From now on, in mode auto-apply."""
        raise NotImplementedError

    def begin(self, request: ChangeRequest, soak: SoakPlan) -> None:
        self.driver.start(request, self.clock_s, soak)

    def pause(self, actor: str) -> None:
        self.driver.pause(actor, self.clock_s)

    def resume(self) -> None:
        self.driver.resume(self.clock_s)

    def abort(self, actor: str) -> None:
        self.driver.abort(actor, self.clock_s)

    def rollback(self, name: Optional[str], actor: str) -> None:
        self.driver.rollback(name, actor, self.clock_s)

    def acknowledge(self) -> None:
        self.driver.acknowledge()

    def health(self) -> HealthChecks:
        """The module's health checks in `ceph health`."""
        return health_of(self.driver, self.clock_s)

    # -- writes

    def _noted(self, write: Callable[..., None]) -> Callable[..., None]:
        def noted(key: str, value: Optional[str]) -> None:
            of_state = '/current' in key or '/parts/' in key
            self.store_refuses = self.store_refuses or of_state
            write(key, value)
            self.store_refuses = self.store_refuses and not of_state

        noted.mortal = True  # type: ignore[attr-defined]
        return noted


class AdviceFailed(Exception):  # noqa: N818 - as a defect in the advice would raise it
    """Something in the middle of a tick goes wrong."""


class LoopWorld(World):
    """The whole loop: it samples, advises, takes requests, and may begin by itself."""

    questions_of_all = 4
    auto_apply_after_s = AUTO_APPLY_AFTER_S

    def __init__(self, planned: Schedule, cluster: ChaosCluster) -> None:
        self.tuner: Optional[Tuner] = None
        self.auto_apply = False
        self._reported_s = cluster.now_s
        super().__init__(planned, cluster)
        # Automatic rollouts start from the first sample on.
        for _ in range(0 if planned.loop is Loop.AUTO_APPLY else 6):
            self.look(5.0)

    def new_driver(self, limits: Optional[Limits] = None) -> Driver:
        """The driver of a new manager's loop."""
        self._watch_store()
        tuner = Tuner(
            self.cluster,
            self.store,
            self._settings,
            manager_version=VERSIONS[self.cluster.release],
            manager_release=self.cluster.release,
            wall_clock=lambda: self.clock_s,
            monotonic=lambda: self.cluster.now_s,
            sleep=lambda _: None,
        )
        # A request is handled at once, in the only thread, and no OSD is queried in its own thread.
        tuner.requests.wake = tuner.take_requests
        tuner._ask_osds = lambda *_, **__: None  # type: ignore[method-assign]
        driver = tuner.operations.driver
        driver._announce = self._changed  # type: ignore[method-assign,assignment]
        # A string that keeps OSDs from starting passes every check.
        unchecked = replace(driver.cluster, why_unstartable=lambda *_: None)
        driver.cluster = driver.observer._cluster = unchecked
        self._spoil(tuner)
        self.tuner = tuner
        self.active_since_s = self.cluster.now_s
        return tuner.operations.driver

    @property
    def has_reports(self) -> bool:
        """It takes a while to miss a report."""
        return (
            self.no_reports_reason is None
            or self.cluster.now_s - self._reported_s < 2 * DEFAULT.silent_s
        )

    def _spoil(self, tuner: Tuner) -> None:
        """Let advice and sampling fail as scheduled."""
        evaluate, sample = tuner.evaluation.evaluate, tuner.sampler.sample

        def evaluate_or_fail(*args: Any, **named: Any) -> Published:
            if self.advice_fails:
                raise AdviceFailed
            return evaluate(*args, **named)

        def sample_or_fail(*args: Any, **named: Any) -> bool:
            if self.sampling_fails:
                raise AdviceFailed
            return sample(*args, **named)

        tuner.evaluation.evaluate = evaluate_or_fail  # type: ignore[method-assign]
        tuner.sampler.sample = sample_or_fail  # type: ignore[method-assign]

    def _settings(self) -> Settings:
        mode = Mode.AUTO_APPLY if self.auto_apply else Mode.RECOMMEND
        hour = time.localtime(self.clock_s).tm_hour
        closed = MaintenanceWindow(hours=f'{(hour + 12) % 24:02}:00-{(hour + 13) % 24:02}:00')
        return Settings(
            mode=mode if self.may_act else Mode.OFF,
            sample_interval_s=5.0,
            auto_apply=Policy(after_s=AUTO_APPLY_AFTER_S, cooldown_s=600.0),
            soak=self.planned.soak,
            maintenance=closed if self.outside_window else MaintenanceWindow(),
            restarts_per_day=self.restarts_per_day,
        )

    def starts_automatically(self) -> None:
        self.auto_apply = True

    def fail_over(self) -> None:
        self.driver = self.new_driver()
        assert self.tuner is not None
        self.tuner.load()

    def tick(self, seconds: float = 2.0) -> None:
        self.look(seconds)

    def look(self, seconds: float) -> None:
        assert self.tuner is not None
        self._report()
        # As `serve` does.
        with suppress(AdviceFailed, CommandError):
            self.tuner.tick()
        self.pass_time(seconds)

    def _report(self) -> None:
        """OSDs that are up send their counters, unless none reaches the manager."""
        if self.no_reports_reason:
            return
        self._reported_s = self.cluster.now_s
        names = names_for(self.cluster.release)
        for n, osd in self.cluster.osds.items():
            sample = self.clients.newest(n)
            if not osd.up or sample is None or n in self.silent_since_s:
                continue
            at_s = self.clock_s
            values: dict[str, tuple[int, Optional[int]]] = dict.fromkeys(names, (0, None))
            for path, pair in (
                (names.kv_sync, sample.kv_sync),
                (names.commit, sample.commit),
                (names.op_w_latency, sample.op_w_latency),
            ):
                values[path] = (0, 0) if pair is None else pair
            writes = 0 if sample.commit is None else sample.commit[1]
            values[names.kv_flush] = (writes * 1000, writes)
            values[names.op_w] = (writes, None)
            values[names.op_w_in_bytes] = (writes * 4096, None)
            values[names.bytes_written_wal] = (sample.bytes_written_wal or 0, None)
            values[names.db_used_bytes] = (10**9, None)
            for path, (value, count) in values.items():
                self.cluster.counters[n, path] = CounterPoint(at_s, value, count)

    def begin(self, request: ChangeRequest, soak: SoakPlan) -> None:
        self._submit(lambda tuner: tuner.operations.driver.start(request, self.clock_s, soak))

    def pause(self, actor: str) -> None:
        self._submit(lambda tuner: tuner.operations.pause(actor))

    def resume(self) -> None:
        self._submit(lambda tuner: tuner.operations.resume())

    def abort(self, actor: str) -> None:
        self._submit(lambda tuner: tuner.operations.abort(actor))

    def rollback(self, name: Optional[str], actor: str) -> None:
        self._submit(lambda tuner: tuner.operations.rollback(name, actor))

    def acknowledge(self) -> None:
        self.resume()

    def _submit(self, work: Callable[[Tuner], object]) -> None:
        assert self.tuner is not None
        tuner = self.tuner
        with suppress(AdviceFailed, CommandError):
            tuner.submit(lambda: work(tuner))

    def health(self) -> HealthChecks:
        assert self.tuner is not None
        return health_checks(replace(self.tuner.snapshot, taken_s=self.clock_s))


def world_of(planned: Schedule, cluster: ChaosCluster) -> World:
    if planned.loop is Loop.DRIVER:
        return World(planned, cluster)
    return LoopWorld(planned, cluster)
