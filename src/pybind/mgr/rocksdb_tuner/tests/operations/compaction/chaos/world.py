"""A cluster whose OSDs compact, with one manager at a time that may be killed at each effect."""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import Any, Callable, Optional

from rocksdb_tuner.mgr.protocols import CommandError, TellArguments
from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.operations.compaction.announce import record_of
from rocksdb_tuner.operations.compaction.driver import CampaignDriver
from rocksdb_tuner.operations.compaction.machine import Measured, View
from rocksdb_tuner.operations.compaction.records import CampaignRequest, CampaignState
from rocksdb_tuner.operations.phases import OperationRefused, Permission
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.present.health import HealthChecks
from rocksdb_tuner.tests.chaos.world import DELAY_S, Killed, NextWrite, WriteFault
from rocksdb_tuner.tests.fake_cluster import FakeCluster, FakeStore
from rocksdb_tuner.tests.fake_compaction import FakeAnswer
from rocksdb_tuner.tests.operations.compaction.conftest import health_of
from rocksdb_tuner.tests.operations.rollout.conftest import same_meaning

from .schedule import Schedule

MIB = 1024 * 1024
USED_BYTES = 100 * MIB
NAME = 'c1'
USUAL_MS = 5.0
#: The sampling time before a campaign is started.
_SAMPLES_S = 20.0


class CompactingCluster(FakeCluster):
    """OSDs come and go, and may not answer; questions to them are counted."""

    def __init__(self, planned: Schedule) -> None:
        super().__init__(planned.osds, per_host=planned.per_host, release=planned.release)
        for n, osd in self.osds.items():
            if planned.kind == 'rack':
                osd.domain = FailureDomain('rack', f'r{n // 4}')
            elif planned.kind == 'osd':
                osd.domain = FailureDomain('osd', f'osd.{n}')
        self.compactions.takes_s = planned.takes_s
        self.compactions.used_bytes = dict.fromkeys(self.osds, USED_BYTES)
        #: OSDs whose answers do not come.
        self.mute: set[int] = set()
        #: OSDs compacted by an operator: until when at most.
        self.others_until_s: dict[int, float] = {}
        self.questions = 0

    @property
    def ours(self) -> set[int]:
        """OSDs that compact by the campaign's hand."""
        theirs = {n for n, until_s in self.others_until_s.items() if self.now_s < until_s}
        return self.compactions.running() - theirs

    def let_compact(self, osd_id: int) -> None:
        """An operator does."""
        self.compactions.ask(osd_id, 'compact')
        self.compactions.requested.pop()
        self.others_until_s[osd_id] = self.now_s + 2 * self.compactions.takes_s

    def ask(self, osd_id: int, prefix: str, args: TellArguments) -> FakeAnswer:
        self.questions += 1
        if osd_id not in self.osds:
            return FakeAnswer(_no_actor)
        answer, uuid = super().ask(osd_id, prefix, args), self.osds[osd_id].uuid

        def look() -> Optional[str]:
            osd = self.osds.get(osd_id)
            if osd is None:
                return _no_actor()
            if osd.uuid != uuid or osd_id in self.mute:
                return None
            return answer.output()

        return FakeAnswer(look)


def _no_actor() -> Optional[str]:
    raise CommandError(errno.ENOENT, 'no such OSD')


class World:
    """One cluster, one store, one manager."""

    def __init__(self, planned: Schedule) -> None:
        self.planned = planned
        self.cluster = CompactingCluster(planned)
        self.store = FakeStore()
        self.may_act = True
        self.outside_window: Optional[str] = None
        self.no_reports_reason: Optional[str] = None
        self.latency_ms: Optional[float] = USUAL_MS
        self.total_bytes = dict.fromkeys(self.cluster.osds, 10 * USED_BYTES)
        #: OSDs without a current sample of their DB, and of their client writes since then.
        self.db_unknown: dict[int, float] = {}
        self.writes_unknown: dict[int, float] = {}
        #: The offset of the manager's clock from the elapsed time.
        self.offset_s = 0.0
        self.next_writes: list[NextWrite] = []
        self.active_since_s = self.seen_at_s = self.cluster.now_s
        #: Called when the manager samples the cluster, and before each compaction request.
        self.on_observation: Callable[[], None] = lambda: None
        self.on_compact: Callable[[int], None] = lambda _: None
        self.store.set = self._mortal(self.store.set)  # type: ignore[method-assign]
        self._ask = self.cluster.ask
        self.cluster.ask = self._asked  # type: ignore[method-assign]
        self._new_manager()
        for _ in range(int(_SAMPLES_S)):
            self.look(1.0)

    @property
    def clock_s(self) -> float:
        return self.cluster.now_s + self.offset_s

    @property
    def state(self) -> CampaignState:
        assert self.driver.state is not None
        return self.driver.state

    def health(self) -> HealthChecks:
        return health_of(self.driver, self.clock_s)

    # -- the manager

    def _new_manager(self) -> None:
        self.history = Driver(
            self.cluster,
            self.store,
            same_meaning,
        )
        self.driver = CampaignDriver(
            self.cluster,
            self.store,
            on_end=lambda state: self.history.add_record(record_of(state)),
            changes_allowed=lambda: self.may_act,
        )
        observe = self.driver._observe

        def observed(state: CampaignState) -> View:
            self.on_observation()
            self.seen_at_s = self.cluster.now_s
            return observe(state)

        self.driver._observe = observed  # type: ignore[method-assign]
        self.active_since_s = self.cluster.now_s

    def take_over(self) -> None:
        """Another manager becomes active, which may be killed at once, too."""
        self._new_manager()
        with suppress(Killed):
            self.history.load()
            self.driver.load()
            return
        self.take_over()

    def look(self, seconds: Optional[float] = None) -> None:
        self.guarded(self._tick)
        self.cluster.advance(seconds or self.planned.sample_every_s)
        # Files are removed when the compaction is over, observed or not.
        self.cluster.compactions.running()

    def _tick(self) -> None:
        self.driver.tick(
            self.clock_s,
            self._measured(),
            Permission(self.may_act, self.outside_window, no_reports_reason=self.no_reports_reason),
            # Each manager has its own.
            monotonic_s=self.cluster.now_s - self.active_since_s,
        )

    def _measured(self) -> Measured:
        used = self.cluster.compactions.used_bytes
        return Measured(
            {n: size for n, size in used.items() if n not in self.db_unknown},
            self.total_bytes,
            self.latency_ms,
            frozenset(o.osd_id for o in self.cluster.cluster_map().osds if o.up)
            & self.writes_unknown.keys(),
        )

    def guarded(self, work: Callable[[], object]) -> bool:
        """``work`` of a manager that may die in it; whether that was refused."""
        try:
            work()
        except OperationRefused:
            return True
        except Killed:
            self.take_over()
        return False

    def begin(self, name: str = NAME) -> None:
        request = CampaignRequest(
            recommendation_id='osd-abc',
            who='osd',
            options='compression=kLZ4Compression',
            osds=tuple(self.cluster.places.items()),
            actor='operator',
            parallel=self.planned.parallel,
        )
        self.driver.start(name, request, self.clock_s)

    # -- effects

    def _asked(self, osd_id: int, prefix: str, args: TellArguments) -> FakeAnswer:
        if prefix != 'compact':
            return self._ask(osd_id, prefix, args)
        self.on_compact(osd_id)
        fault = self._due()
        if fault is WriteFault.KILLED_BEFORE:
            raise Killed
        if fault is WriteFault.DELAYED:
            self.cluster.advance(DELAY_S)
        if fault is WriteFault.REFUSED:
            return FakeAnswer(_refused)
        answer = FakeAnswer(lambda: '')
        if fault is not WriteFault.LOST:
            answer = self._ask(osd_id, prefix, args)
        if fault is WriteFault.KILLED_AFTER:
            raise Killed
        return FakeAnswer(_refused) if fault is WriteFault.ANSWER_LOST else answer

    def _mortal(self, operation: Callable[..., None]) -> Callable[..., None]:
        def operate(*args: Any) -> None:
            fault = self._due()
            if fault is WriteFault.KILLED_BEFORE:
                raise Killed
            if fault is WriteFault.REFUSED:
                raise CommandError(errno.EROFS, 'read-only file system')
            if fault is WriteFault.DELAYED:
                self.cluster.advance(DELAY_S)
            operation(*args)
            if fault is WriteFault.SWITCHED_OFF:
                self.may_act = False
            if fault is WriteFault.ANSWER_LOST:
                raise CommandError(errno.ETIMEDOUT, 'the answer of the monitor was lost')
            if fault is WriteFault.KILLED_AFTER:
                raise Killed

        return operate

    def _due(self) -> Optional[WriteFault]:
        due = next((found for found in self.next_writes if found.writes == 0), None)
        for found in self.next_writes:
            found.writes -= 1
        self.next_writes = [found for found in self.next_writes if found.writes >= 0]
        return None if due is None else due.fault


def _refused() -> Optional[str]:
    raise CommandError(errno.EINVAL, 'no')
