"""A cluster whose OSDs compact, with one manager at a time that may be killed at each effect.

What may happen to it, at which moments, is drawn from a seed.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Callable, NamedTuple, Optional

from rocksdb_tuner.mgr.protocols import CommandError, TellArguments
from rocksdb_tuner.operations.compaction.announce import record_of
from rocksdb_tuner.operations.compaction.driver import CampaignDriver, stored_campaign
from rocksdb_tuner.operations.compaction.machine import View
from rocksdb_tuner.operations.compaction.records import CampaignState, CompactionStep
from rocksdb_tuner.operations.phases import Phase
from rocksdb_tuner.operations.rollout.driver import Driver
from rocksdb_tuner.tests.chaos.faults import DELAY_S, Killed, Mortal, NextWrite, WriteFault
from rocksdb_tuner.tests.fake_cluster import FakeCluster
from rocksdb_tuner.tests.fake_compaction import FakeAnswer
from rocksdb_tuner.tests.operations.rollout.conftest import same_meaning

from ..conftest import USUAL_MS, Run

NAME = 'c1'
_JUMPS_S = (40.0, 3600.0, 100_000.0)


class Moment(str, Enum):
    """The state of a campaign: events are aimed at these."""

    BASELINE = 'before the first'
    BETWEEN = 'between two OSDs'
    COMPACTING = 'compacting'
    SETTLING = 'settling'
    ENDING = 'aborted, and still compacting'
    ENDED = 'ended'


def moment_of(state: CampaignState) -> Moment:
    if state.ended:
        return Moment.ENDED
    if state.ending is not None:
        return Moment.ENDING
    if state.in_flight is not None:
        settles = state.in_flight.step is CompactionStep.SETTLING
        return Moment.SETTLING if settles else Moment.COMPACTING
    return Moment.BASELINE if state.stage is Phase.PREFLIGHT else Moment.BETWEEN


class Planned(NamedTuple):
    """An event when a moment was seen ``after`` times before, until so many samples later."""

    event: str
    after: int
    moment: Moment
    #: None: the OSD in flight, or the next one.
    osd: Optional[int] = None
    #: None: it does not end.
    lasts: Optional[int] = None


@dataclass(frozen=True)
class Schedule:
    seed: str
    release: str
    osds: int
    per_host: int
    #: How long a compaction takes.
    takes_s: float
    sample_every_s: float
    events: tuple[Planned, ...]


class CompactingCluster(FakeCluster):
    """OSDs come and go, and may not answer; questions to them are counted."""

    def __init__(self, planned: Schedule) -> None:
        super().__init__(planned.osds, per_host=planned.per_host, release=planned.release)
        self.compactions.takes_s = planned.takes_s
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
        if self.osds[osd_id].up and osd_id not in self.compactions.running():
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
            return None if osd.uuid != uuid or osd_id in self.mute else answer.output()

        return FakeAnswer(look)


def _no_actor() -> Optional[str]:
    raise CommandError(errno.ENOENT, 'no such OSD')


def _refused() -> Optional[str]:
    raise CommandError(errno.EINVAL, 'no')


class World(Mortal, Run):
    """One cluster, one store, one manager."""

    cluster: CompactingCluster

    def __init__(self, planned: Schedule) -> None:
        self.planned = planned
        #: What an operator asked for, and nothing since undid.
        self.paused = self.aborted = False
        #: Called when the manager samples the cluster, and before each compaction request.
        self.on_observation: Callable[[], None] = lambda: None
        self.on_compact: Callable[[int], None] = lambda _: None
        Mortal.__init__(self)
        Run.__init__(self, cluster=CompactingCluster(planned))
        self.store.set = self.faulty(self.store.set, entry=False)  # type: ignore[method-assign]
        self._ask = self.cluster.ask
        self.cluster.ask = self._asked  # type: ignore[method-assign]

    def new_driver(self) -> CampaignDriver:
        self.active_since_s = self.seen_at_s = self.cluster.now_s
        self.history = Driver(self.cluster, self.store, same_meaning)
        created = CampaignDriver(
            self.cluster,
            self.store,
            on_end=lambda state: self.history.add_record(record_of(state)),
            changes_allowed=lambda: self.may_act,
        )
        observe = created._observe

        def observed(state: CampaignState) -> View:
            self.on_observation()
            self.seen_at_s = self.cluster.now_s
            return observe(state)

        created._observe = observed  # type: ignore[method-assign]
        return created

    def fail_over(self) -> None:
        self.driver = self.new_driver()
        self.history.load()
        self.driver.load()

    def tick(self, seconds: float = 0.0) -> None:
        # Each manager has its own monotonic clock.
        steady_s = self.cluster.now_s - self.active_since_s
        self.guarded(
            lambda: self.driver.tick(
                self.clock_s, self.measured(), self.allowed(), monotonic_s=steady_s
            )
        )
        self.pass_time(self.planned.sample_every_s)

    # -- effects

    def _asked(self, osd_id: int, prefix: str, args: TellArguments) -> FakeAnswer:
        if prefix != 'compact':
            return self._ask(osd_id, prefix, args)
        self.on_compact(osd_id)
        fault = self.due()
        if fault is WriteFault.KILLED_BEFORE:
            raise Killed
        if fault is WriteFault.DELAYED:
            self.cluster.advance(DELAY_S)
        if fault is WriteFault.REFUSED:
            return FakeAnswer(_refused)
        lost = fault is WriteFault.LOST
        answer = FakeAnswer(lambda: '') if lost else self._ask(osd_id, prefix, args)
        if fault is WriteFault.KILLED_AFTER:
            raise Killed
        return FakeAnswer(_refused) if fault is WriteFault.ANSWER_LOST else answer


# -- what may happen

Effect = Callable[[World, int], object]


class Event(NamedTuple):
    happens: Effect
    ends: Effect = lambda *_: None
    #: It happens between two samples of the manager; others may happen within one.
    between: bool = False


def _pause(world: World, _: int) -> None:
    world.driver.pause('client.a', world.clock_s)
    world.paused = True


def _resume(world: World, _: int) -> None:
    try:
        world.driver.resume(world.clock_s)
    except Killed:
        # Once that is stored.
        world.paused = False
        raise
    world.paused = False


def _abort(world: World, _: int) -> None:
    try:
        world.driver.abort('client.a', world.clock_s)
    except Killed:
        # It holds where that was stored before the manager died.
        stored = stored_campaign(world.store).load()
        world.aborted = stored is not None and (stored.ended or stored.ending is not None)
        world.paused = world.paused and not world.aborted
        raise
    world.aborted, world.paused = True, False


def _move(world: World, osd_id: int) -> None:
    world.cluster.osds[osd_id].host = f'elsewhere{osd_id % 2}'


def _purge(world: World, osd_id: int) -> None:
    if len(world.cluster.osds) > 2:
        world.cluster.purge(osd_id)


def _start_osd(world: World, osd_id: int) -> None:
    if osd_id in world.cluster.osds and not world.cluster.osds[osd_id].up:
        world.cluster.start_osd(osd_id)


def _restart(world: World, osd_id: int) -> None:
    if world.cluster.osds[osd_id].up:
        world.cluster.restart_by_hand(osd_id)


def _write(fault: WriteFault) -> Event:
    # Writes of the store and requests alternate: the OSD's number selects one.
    return Event(lambda w, n: w.next_writes.append(NextWrite(fault, n % 3)))


def _set(name: str, value: object, usual: object) -> Event:
    return Event(
        lambda w, _: setattr(w, name, value), lambda w, _: setattr(w, name, usual), between=True
    )


def _refuses(prefix: str) -> Event:
    return Event(
        lambda w, _: w.cluster.errors.update({prefix: CommandError(110, 'no')}),
        lambda w, _: w.cluster.errors.clear(),
    )


def _jump(sign: float) -> Event:
    return Event(lambda w, n: setattr(w, 'offset_s', w.offset_s + sign * _JUMPS_S[n % 3]))


FLAGS = ('noout', 'nobackfill', 'norecover')
_HEALTH = ('OSD_NEARFULL', 'MON_DOWN', 'PG_DEGRADED')
_STORE_ERROR = CommandError(28, 'no space')
EVENTS: Mapping[str, Event] = {
    # Managers
    'fail over': Event(lambda w, _: w.take_over(), between=True),
    'killed before a write': _write(WriteFault.KILLED_BEFORE),
    'killed after a write': _write(WriteFault.KILLED_AFTER),
    'stalls': Event(lambda w, _: w.cluster.advance(95.0), between=True),
    'clock forward': _jump(1.0),
    'clock back': _jump(-1.0),
    # Operators
    'pause': Event(_pause, _resume, between=True),
    'resume': Event(_resume, between=True),
    'abort': Event(_abort, between=True),
    'mode off': _set('may_act', value=False, usual=True),
    'mode off in a write': _write(WriteFault.SWITCHED_OFF)._replace(
        ends=lambda w, _: setattr(w, 'may_act', True)
    ),
    'window closes': _set('outside_window', 'outside the maintenance window', None),
    'others compact': Event(lambda w, n: w.cluster.let_compact(n)),
    # OSDs
    'restarted by hand': Event(_restart),
    'dies': Event(lambda w, n: w.cluster.stop_osd(n), _start_osd),
    'dies and is out': Event(lambda w, n: w.cluster.mark_out(n)),
    'purged': Event(_purge),
    'replaced': Event(lambda w, n: w.cluster.recreate(n)),
    'moved': Event(_move),
    'mute': Event(lambda w, n: w.cluster.mute.add(n), lambda w, n: w.cluster.mute.discard(n)),
    'loses commands': Event(
        lambda w, n: w.cluster.compactions.loses.add(n),
        lambda w, n: w.cluster.compactions.loses.discard(n),
    ),
    'refuses commands': Event(
        lambda w, n: w.cluster.compactions.refuses.add(n),
        lambda w, n: w.cluster.compactions.refuses.discard(n),
    ),
    'DB is full': Event(
        lambda w, n: w.total_bytes.update({n: w.cluster.compactions.used_bytes.get(n, 0) * 3 // 2}),
        between=True,
    ),
    # Monitors
    'write refused': _write(WriteFault.REFUSED),
    'answer lost': _write(WriteFault.ANSWER_LOST),
    'command lost': _write(WriteFault.LOST),
    'write delayed': _write(WriteFault.DELAYED),
    'store refuses': Event(
        lambda w, _: setattr(w.store, 'error', _STORE_ERROR),
        lambda w, _: setattr(w.store, 'error', None),
    ),
    'no versions': _refuses('versions'),
    'no ok-to-stop': _refuses('osd ok-to-stop'),
    # The cluster as a whole
    'flag': Event(
        lambda w, n: w.cluster.flags.add(FLAGS[n % 3]),
        lambda w, _: w.cluster.flags.difference_update(FLAGS),
    ),
    'unhealthy': Event(
        lambda w, n: w.cluster.health.update({_HEALTH[n % 3]: 'HEALTH_WARN'}),
        lambda w, _: w.cluster.health.clear(),
    ),
    'upgrade': Event(
        lambda w, _: setattr(w.cluster, 'upgrades_to', 'v18.2.7'),
        lambda w, _: setattr(w.cluster, 'upgrades_to', None),
    ),
    'clients slow': _set('latency_ms', 50.0, USUAL_MS),
    'clients stop': _set('latency_ms', None, USUAL_MS),
    'reports stop': _set('no_reports_reason', 'no OSD reports to this manager', None),
    'DB not sampled': Event(
        lambda w, n: w.db_unknown.setdefault(n, w.cluster.now_s),
        lambda w, n: w.db_unknown.pop(n, None),
        between=True,
    ),
    'writes not sampled': Event(
        lambda w, n: w.writes_unknown.setdefault(n, w.cluster.now_s),
        lambda w, n: w.writes_unknown.pop(n, None),
        between=True,
    ),
}

#: Seldom drawn. If a manager is killed, the OSD's number selects the write.
_SELDOM = (
    (Planned('abort', 2, Moment.COMPACTING),),
    # During an OSD that is done, and before the next one is started.
    (Planned('killed after a write', 1, Moment.SETTLING, 0),),
    (Planned('killed after a write', 9, Moment.SETTLING, 0),),
    # A manager that has not sampled for long.
    (Planned('fail over', 1, Moment.BETWEEN), Planned('clock forward', 3, Moment.BETWEEN, 0)),
    # Ended, and not recorded yet.
    (
        Planned('killed before a write', 0, Moment.BASELINE, 2),
        Planned('abort', 1, Moment.BASELINE),
    ),
    (Planned('loses commands', 0, Moment.BASELINE),),
    (Planned('refuses commands', 0, Moment.SETTLING, 1),),
)
_MOMENTS = (
    *(Moment.BASELINE, Moment.ENDING, Moment.ENDED),
    *(Moment.BETWEEN,) * 3,
    *(Moment.COMPACTING,) * 4,
    *(Moment.SETTLING,) * 2,
)


def schedule(seed: str) -> Schedule:
    """The schedule of a seed."""
    dice = random.Random(seed)
    osds = dice.choice((3, 4, 4, 6, 8))
    return Schedule(
        seed=seed,
        release=dice.choice(('pacific', 'reef')),
        osds=osds,
        per_host=dice.choice((1, 2, 2, 3)),
        takes_s=dice.choice((4.0, 30.0, 120.0)),
        sample_every_s=dice.choice((1.0, 2.0, 5.0)),
        events=tuple(_events(dice, osds)),
    )


def _events(dice: random.Random, osds: int) -> Iterator[Planned]:
    if dice.randrange(2):
        yield from dice.choice(_SELDOM)
    for _ in range(dice.choice((0, 1, 2, 3, 4, 5, 7))):
        event = dice.choice(tuple(EVENTS))
        if event == 'abort' and dice.randrange(3):
            event = dice.choice(tuple(EVENTS))
        after, moment = int(dice.expovariate(1 / 3)), dice.choice(_MOMENTS)
        osd = None if dice.random() < 0.6 else dice.randrange(osds)
        lasts = 1 + int(dice.expovariate(1 / 12)) if dice.random() < 0.7 else None
        yield Planned(event, after, moment, osd, lasts)


def repair(world: World) -> None:
    """Everything works again, and nothing is held."""
    cluster = world.cluster
    world.next_writes.clear()
    world.may_act = True
    for n in tuple(cluster.osds):
        for name, event in EVENTS.items():
            if name not in {'pause', 'dies'}:
                event.ends(world, n)
        osd = cluster.osds[n]
        # Not every OSD that is out is repaired.
        if osd.in_cluster or not n % 2:
            osd.in_cluster, osd.broken = True, False
            if not osd.up and not osd.coming:
                cluster.start_osd(n)
    world.db_unknown.clear()
    world.writes_unknown.clear()
