"""Schedules of faults and acts of operators, drawn from a seed, and carried out one by one.

The same seed always gives the same schedule and the same course. Whatever happens, the invariants
of `invariants.py` hold at every change that the rollout makes; once everything works again and the
operator does what he is told, it ends; and a rollback restores what was there.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, Optional

import pytest

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import FailureDomain, RunningOption
from rocksdb_tuner.rollout.driver import Driver
from rocksdb_tuner.rollout.errors import RolloutRefused
from rocksdb_tuner.rollout.foreign import entries_in_the_way
from rocksdb_tuner.rollout.order import domains_of, in_batches
from rocksdb_tuner.rollout.records import (
    ChangeKind,
    ChangeRequest,
    Direction,
    Inconclusive,
    OsdStep,
    Outcome,
    Phase,
    RolloutState,
    SoakPlan,
)
from rocksdb_tuner.rollout.rules import Limits
from rocksdb_tuner.rollout.storage import EVIDENCE
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, OPTION, FakeCluster

from .conftest import ALL, CLASS, NEW, OLD, Run, refusing
from .invariants import Invariants

BAD = 'write_buffer_size=foo'
OPERATORS = 'write_buffer_size=33554432'


class Act(Enum):
    FAIL_OVER = auto()
    KILL_BEFORE_AN_OPERATION = auto()
    KILL_AFTER_AN_OPERATION = auto()
    PAUSE = auto()
    RESUME = auto()
    ABORT = auto()
    ROLLBACK = auto()
    MODE_OFF = auto()
    MODE_ON = auto()
    OPERATOR_SETS_OSD = auto()
    OPERATOR_SETS_ALL = auto()
    OPERATOR_SETS_CLASS = auto()
    OPERATOR_SETS_HOST = auto()
    OPERATOR_SETS_OTHER_OPTION = auto()
    OPERATOR_REMOVES_OSD = auto()
    OPERATOR_REMOVES_ALL = auto()
    OPERATOR_RESTARTS = auto()
    OSD_DIES = auto()
    OSD_STARTS = auto()
    OSD_DIES_AND_IS_OUT = auto()
    OSD_BREAKS = auto()
    OSD_STUBBORN = auto()
    OSD_SILENT = auto()
    OSD_CRASHES = auto()
    OSD_OVERRULED = auto()
    OSD_MARKED_DOWN = auto()
    OSD_OF_ANOTHER_RELEASE = auto()
    OSD_HEALED = auto()
    ORCHESTRATOR_GONE = auto()
    ORCHESTRATOR_IDLE = auto()
    ORCHESTRATOR_SLOW = auto()
    ORCHESTRATOR_REFUSES = auto()
    ORCHESTRATOR_WRONG = auto()
    ORCHESTRATOR_BACK = auto()
    MON_REFUSES_SET = auto()
    MON_REFUSES_RM = auto()
    MON_REFUSES_DUMP = auto()
    MON_REFUSES_GET = auto()
    MON_REFUSES_OK_TO_STOP = auto()
    MON_REFUSES_VERSIONS = auto()
    MON_BACK = auto()
    STORE_REFUSES = auto()
    STORE_BACK = auto()
    STORE_LOSES_EVIDENCE = auto()
    FLAG = auto()
    NO_FLAG = auto()
    NEARFULL = auto()
    NO_NEARFULL = auto()
    UPGRADE_BEGINS = auto()
    UPGRADE_ENDS = auto()
    CLOCK_FORWARD = auto()
    CLOCK_BACK = auto()
    CLIENTS_STOP = auto()
    CLIENTS_COME = auto()
    NEW_IS_SLOW = auto()
    OSD_IS_SLOW = auto()
    WINDOW_CLOSES = auto()
    WINDOW_OPENS = auto()
    DAILY_LIMIT = auto()
    NO_DAILY_LIMIT = auto()
    REPORTS_STOP = auto()
    REPORTS_COME = auto()


class Planned(NamedTuple):
    """After so many looks, this happens to OSD ``osd`` (or to none in particular)."""

    looks: int
    act: Act
    osd: int


@dataclass(frozen=True)
class Schedule:
    seed: str
    hosts: tuple[int, ...]
    #: Of each OSD; None: its host.
    domains: tuple[Optional[FailureDomain], ...]
    classes: tuple[str, ...]
    kind: str
    value: str
    soak: SoakPlan
    look_every_s: float
    acts: tuple[Planned, ...]


_POLICIES = tuple(Inconclusive)
_KINDS = ('all', 'all', 'all over osd', 'class', 'own to all', 'remove', 'remove all alike')


def schedule(seed: str) -> Schedule:
    """The schedule of a seed."""
    drawn = random.Random(seed)
    osds = drawn.choice((3, 3, 3, 4, 5))
    kind = drawn.choice(_KINDS)
    hosts = sorted(drawn.randrange(3) for _ in range(osds))
    classes = ['ssd'] * osds
    if kind == 'class':
        classes[-1] = 'hdd'
    soak = SoakPlan()
    if drawn.random() < 0.4:
        followed_by = drawn.choice(
            (None, SoakPlan(), *(SoakPlan(0.0, 240.0, policy) for policy in _POLICIES))
        )
        soak = SoakPlan(0.0, 240.0, drawn.choice(_POLICIES), followed_by)
    return Schedule(
        seed=seed,
        hosts=tuple(hosts),
        # Of dice of their own: what else a seed stands for stays what it was.
        domains=_domains(random.Random(f'{seed} domains'), hosts),
        classes=tuple(classes),
        kind=kind,
        value=drawn.choice((NEW,) * 7 + (BAD,)),
        soak=soak,
        look_every_s=drawn.choice((2.0, 5.0, 10.0)),
        acts=tuple([Planned(0, Act.DAILY_LIMIT, drawn.randrange(2))] * (drawn.random() < 0.2))
        + tuple(
            Planned(int(drawn.expovariate(1 / 12)), drawn.choice(tuple(Act)), drawn.randrange(osds))
            for _ in range(drawn.randrange(16))
        ),
    )


def _domains(drawn: random.Random, hosts: Sequence[int]) -> tuple[Optional[FailureDomain], ...]:
    """Hosts, racks that hold hosts, or every OSD by itself."""
    kind = drawn.choice(('host', 'rack', 'osd'))
    rack_of = [drawn.randrange(2) for _ in range(3)]
    names = {
        'rack': [f'r{rack_of[host]}' for host in hosts],
        'osd': [f'osd.{n}' for n in range(len(hosts))],
    }
    return tuple(FailureDomain(kind, name) for name in names.get(kind, ())) or (None,) * len(hosts)


class Killed(BaseException):
    """The manager's process ends here. Not an Exception: nothing may catch it."""


class ChaosRun(Run):
    """A run whose manager may die at an operation, and whose clock may be set."""

    def __init__(self, cluster: FakeCluster) -> None:
        #: Hears of every state once it is stored.
        self.on_change: Callable[[Optional[RolloutState], RolloutState], None] = lambda *_: None
        #: What the manager's clock shows beyond the time that has passed.
        self.offset_s = 0.0
        #: Operations that change anything, until the manager dies; None: it lives.
        self.dies_in: Optional[int] = None
        self.dies_after = False
        super().__init__(cluster)
        # As real ones, it looks no further than min_size: recovery is no matter to it.
        cluster.ok_to_stop = self._ok_to_stop  # type: ignore[method-assign]
        for owner, name in (
            (self.store, 'set'),
            (self.cluster, 'set'),
            (self.cluster, 'remove'),
            (self.cluster, 'restart_osd'),
        ):
            setattr(owner, name, self._mortal(getattr(owner, name)))

    @property
    def clock_s(self) -> float:
        return self.cluster.now_s + self.offset_s

    def new_driver(self, limits: Optional[Limits] = None) -> Driver:
        created = super().new_driver(limits)
        created._on_change = self._changed
        return created

    def _ok_to_stop(self, osd_ids: Sequence[int]) -> Optional[str]:
        self.cluster._maybe_fail('osd ok-to-stop')
        down = [osd for osd in self.cluster.osds.values() if osd.in_cluster and not osd.up]
        return f'unsafe to stop osd(s) {osd_ids} at this time' if down else None

    def _changed(self, old: Optional[RolloutState], new: RolloutState) -> None:
        self.on_change(old, new)

    def look(self, seconds: float) -> None:
        if self.may_act:
            self.driver.observed(self.clients.newest, self.clock_s)
        self.driver.tick(
            self.clock_s, self.may_act, self.outside_window, self.restarts_per_day, self.deaf
        )
        self.cluster.advance(seconds)
        self.clients.write(seconds)

    def guarded(self, work: Callable[[], object]) -> None:
        """``work`` of a manager that may die in it; the next one takes over then."""
        try:
            with suppress(RolloutRefused):
                work()
        except Killed:
            self.fail_over()

    def _mortal(self, operation: Callable[..., None]) -> Callable[..., None]:
        def operate(*args: object) -> None:
            dies = self.dies_in == 0
            if self.dies_in is not None:
                self.dies_in = None if dies else self.dies_in - 1
            if dies and not self.dies_after:
                raise Killed
            operation(*args)
            if dies:
                raise Killed

        return operate


class Chaos:
    """Carries out one schedule; raises AssertionError where an invariant breaks."""

    def __init__(self, planned: Schedule) -> None:
        self.planned = planned
        self.cluster = FakeCluster(osds=len(planned.hosts))
        for osd, host, domain, device_class in zip(
            self.cluster.osds.values(), planned.hosts, planned.domains, planned.classes
        ):
            osd.host, osd.domain, osd.device_class = f'node{host}', domain, device_class
        _before(self.cluster, planned.kind)
        for n in self.cluster.osds:
            self.cluster.restart_by_hand(n)
            self.cluster.advance(30)
        self.before = self.cluster.entries_of()
        self.run = ChaosRun(self.cluster)
        self.watch = Invariants(self.run)
        self.run.on_change = self.watch.changed
        self.run.driver.start(_request(self.cluster, planned), self.run.clock_s, planned.soak)

    def carry_out(self) -> str:
        """The phase in which it ended."""
        for looks, act, n in self.planned.acts:
            for _ in range(looks):
                self._look()
            # What operators change once it is over is their business.
            if not self.run.state.ended or act in {Act.ROLLBACK, Act.FAIL_OVER}:
                self.run.guarded(lambda act=act, n=n: _ACTS[act](self, n))  # type: ignore[misc]
        self._heal()
        self._to_the_end()
        ended = self.run.state.phase
        self.watch.at_the_end(self.before)
        self._take_back()
        return ended.value

    def _look(self, seconds: Optional[float] = None) -> None:
        self.run.guarded(lambda: self.run.look(seconds or self.planned.look_every_s))
        self.watch.looked()

    def _to_the_end(self) -> None:
        """Time passes, and the operator does what he is told."""
        for _ in range(1500):
            self._look()
            state = self.run.state
            if state.ended:
                return
            reason = state.paused_reason or ''
            for n in self.cluster.down:
                # On the way back the rollout starts what it has to restart, or says who should.
                if n in _due_on_the_way_back(state) and f'start osd.{n} next' not in reason:
                    continue
                if state.phase is Phase.WAITING and not self.cluster.osds[n].coming:
                    self.cluster.start_osd(n)
            if any(hand in reason for hand in ('systemctl restart', 'the verdict on')):
                self.run.driver.resume(self.run.clock_s)
            wrong = re.search(r'osd.(\d+) (?:was restarted on the way back|comes from)', reason)
            if wrong:
                _restart(self, int(wrong.group(1)))
                self.cluster.advance(60)
        raise AssertionError(f'it did not end: {self.run.state}')

    def _heal(self) -> None:
        """Everything works again, and nothing is held."""
        run, cluster = self.run, self.cluster
        run.dies_in = None
        for n in cluster.osds:
            _heal_osd(self, n)
        _heal_orchestrator(cluster)
        cluster.errors.clear()
        cluster.flags.discard('noout')
        cluster.health.clear()
        cluster.upgrades_to = None
        run.store.error = None
        run.may_act = True
        run.outside_window = run.deaf = None
        run.restarts_per_day = 0
        self._look()
        if run.driver.state and run.driver.state.paused_by:
            run.driver.resume(run.clock_s)

    def _take_back(self) -> None:
        """A rollback restores exactly what was there, or says who is in the way."""
        run, cluster = self.run, self.cluster
        if run.state.phase is Phase.ROLLED_BACK:
            return
        for n in cluster.down:
            cluster.start_osd(n)
        cluster.advance(120)
        if entries_in_the_way(run.state, cluster.entries_of()):
            with pytest.raises(RolloutRefused) as refused:
                run.driver.rollback(None, 'client.a', run.clock_s)
            assert any(who in refused.value.message for who in self.watch.operators)
            return
        run.driver.rollback(None, 'client.a', run.clock_s)
        self._to_the_end()
        assert run.state.outcome is Outcome.ROLLED_BACK, f'{run.state}'
        self.watch.at_the_end(self.before)
        for n, osd in cluster.osds.items():
            started = cluster._at_start(osd, OPTION)
            somebodys = self.watch.operators | self.watch.anybodys
            if not somebodys and n not in self.watch.beside_itself:
                assert cluster.runs(n) == (started or cluster._default(osd, OPTION))


def _due_on_the_way_back(state: RolloutState) -> set[int]:
    if state.direction is not Direction.BACK:
        return set()
    return {osd.osd_id for osd in state.osds if osd.step is OsdStep.RESTART_DUE}


def _before(cluster: FakeCluster, kind: str) -> None:
    """The entries of before: of single OSDs, of a mask, of all, or none."""
    if kind in {'remove', 'all over osd'}:
        cluster.operator_sets(ALL, OLD)
    elif kind == 'remove all alike':
        for who in ('osd', 'global'):
            cluster.operator_sets(who, OLD)
    elif kind == 'own to all':
        for n in list(cluster.osds)[::2]:
            cluster.operator_sets(f'osd.{n}', OLD)
    elif kind == 'class':
        cluster.operator_sets('global', OLD)
        cluster.operator_sets('osd/class:hdd', OLD)


def _request(cluster: FakeCluster, planned: Schedule) -> ChangeRequest:
    ids = tuple(n for n, osd in cluster.osds.items() if osd.device_class == 'ssd')
    targets: Mapping[int, str] = dict.fromkeys(ids, planned.value)
    kind, who = ChangeKind.SET_PROFILE, ALL
    final: tuple[tuple[str, Optional[str]], ...] = ((ALL, planned.value),)
    if planned.kind.startswith('remove'):
        kind = ChangeKind.REMOVE_OVERRIDE
        targets = {n: DEFAULTS[cluster.osds[n].release] for n in ids}
        final = tuple((entry, None) for entry in cluster.entries_of())
    elif planned.kind == 'class':
        who = CLASS
        final = tuple((f'osd.{n}', planned.value) for n in ids)
    elif planned.kind == 'own to all':
        own = tuple((entry, None) for entry in cluster.entries_of())
        final = (*own, (ALL, planned.value))
    batches = in_batches(ids, cluster.places)
    return ChangeRequest(
        recommendation_id='advice',
        kind=kind,
        who=who,
        targets=tuple(targets.items()),
        order=ids,
        final_entries=final,
        actor='operator',
        controls=ids[1:],
        batches=batches,
        domains=domains_of(batches, cluster.places),
    )


# -- the acts


def _kill(chaos: Chaos, n: int, *, after: bool) -> None:
    chaos.run.dies_in, chaos.run.dies_after = n, after


def _operator_removes(chaos: Chaos, who: str) -> None:
    if who in chaos.cluster.entries_of():
        chaos.watch.operator_removes(who)


def _restart(chaos: Chaos, n: int) -> None:
    if chaos.cluster.osds[n].up:
        chaos.cluster.restart_by_hand(n)


def _start(chaos: Chaos, n: int) -> None:
    if not chaos.cluster.osds[n].up:
        chaos.cluster.start_osd(n)


def _out(chaos: Chaos, n: int) -> None:
    chaos.cluster.stop_osd(n)
    chaos.cluster.osds[n].in_cluster = False


def _stubborn(chaos: Chaos, n: int) -> None:
    chaos.watch.beside_itself.add(n)
    stubborn = RunningOption('write_buffer_size=1', 'mon', ignores_mon=False)
    chaos.cluster.osds[n].stubborn = stubborn


def _overrule(chaos: Chaos, n: int) -> None:
    chaos.watch.beside_itself.add(n)
    chaos.cluster.osds[n].conf_file[OPTION] = OPERATORS


def _mark_down(chaos: Chaos, n: int) -> None:
    osd = chaos.cluster.osds[n]
    if osd.up:
        chaos.cluster.mark_down(n)
        chaos.cluster.advance(7)
        chaos.cluster.mark_down(n, up=not osd.coming)


def _heal_osd(chaos: Chaos, n: int) -> None:
    osd = chaos.cluster.osds[n]
    osd.broken = osd.silent = False
    osd.stubborn = osd.crashes_after_s = None
    osd.conf_file.clear()
    osd.release = chaos.cluster.release
    if not osd.in_cluster:
        osd.in_cluster = True
        _start(chaos, n)


def _heal_orchestrator(cluster: FakeCluster) -> None:
    cluster.orchestrator_reason = cluster.orchestrator_restarts = None
    cluster.orchestrator_idle = False
    cluster.orchestrator_delay_s = 1.0
    cluster.errors.pop('orch daemon', None)


def _lose_evidence(chaos: Chaos, n: int) -> None:
    store = chaos.run.store
    for key in store.keys(EVIDENCE):
        store.values[key] = ('', '{}', '{"version":3}')[n % 3]


def _refuse(prefix: str, error: Optional[CommandError] = None) -> Callable[[Chaos, int], None]:
    def refuse(chaos: Chaos, n: int) -> None:
        chaos.cluster.errors[prefix] = error or refusing('read-only')

    return refuse


def _attribute(
    owner: Callable[[Chaos, int], object], name: str, value: object
) -> Callable[[Chaos, int], None]:
    return lambda chaos, n: setattr(owner(chaos, n), name, value)


def _of_osd(chaos: Chaos, n: int) -> object:
    return chaos.cluster.osds[n]


def _of_cluster(chaos: Chaos, n: int) -> object:
    return chaos.cluster


def _of_run(chaos: Chaos, n: int) -> object:
    return chaos.run


def _of_clients(chaos: Chaos, n: int) -> object:
    return chaos.run.clients


def _of_store(chaos: Chaos, n: int) -> object:
    return chaos.run.store


def _set_clock(chaos: Chaos, by_s: float) -> None:
    chaos.run.offset_s += by_s
    chaos.run.clients.offset_s = chaos.run.offset_s


_JUMPS_S = (40.0, 3600.0, 100_000.0, 4000.0, 200_000.0)

_ACTS: Mapping[Act, Callable[[Chaos, int], object]] = {
    Act.FAIL_OVER: lambda c, n: c.run.fail_over(),
    Act.KILL_BEFORE_AN_OPERATION: lambda c, n: _kill(c, n, after=False),
    Act.KILL_AFTER_AN_OPERATION: lambda c, n: _kill(c, n, after=True),
    Act.PAUSE: lambda c, n: c.run.driver.pause('client.a', c.run.clock_s),
    Act.RESUME: lambda c, n: c.run.driver.resume(c.run.clock_s),
    Act.ABORT: lambda c, n: c.run.driver.abort('client.a', c.run.clock_s),
    Act.ROLLBACK: lambda c, n: c.run.driver.rollback(None, 'client.a', c.run.clock_s),
    Act.MODE_OFF: _attribute(_of_run, 'may_act', value=False),
    Act.MODE_ON: _attribute(_of_run, 'may_act', value=True),
    Act.OPERATOR_SETS_OSD: lambda c, n: c.watch.operator_sets(f'osd.{n}', OPERATORS),
    Act.OPERATOR_SETS_ALL: lambda c, n: c.watch.operator_sets(ALL, OPERATORS),
    Act.OPERATOR_SETS_CLASS: lambda c, n: c.watch.operator_sets(CLASS, OPERATORS),
    Act.OPERATOR_SETS_HOST: lambda c, n: c.watch.operator_sets(f'osd/host:node{n}', OPERATORS),
    Act.OPERATOR_SETS_OTHER_OPTION: lambda c, n: c.cluster.operator_sets(
        'osd', '1G', 'osd_memory_target'
    ),
    Act.OPERATOR_REMOVES_OSD: lambda c, n: _operator_removes(c, f'osd.{n}'),
    Act.OPERATOR_REMOVES_ALL: lambda c, n: _operator_removes(c, ALL),
    Act.OPERATOR_RESTARTS: _restart,
    Act.OSD_DIES: lambda c, n: c.cluster.stop_osd(n),
    Act.OSD_STARTS: _start,
    Act.OSD_DIES_AND_IS_OUT: _out,
    Act.OSD_BREAKS: _attribute(_of_osd, 'broken', value=True),
    Act.OSD_STUBBORN: _stubborn,
    Act.OSD_SILENT: _attribute(_of_osd, 'silent', value=True),
    Act.OSD_CRASHES: _attribute(_of_osd, 'crashes_after_s', 8.0),
    Act.OSD_OVERRULED: _overrule,
    Act.OSD_MARKED_DOWN: _mark_down,
    Act.OSD_OF_ANOTHER_RELEASE: _attribute(_of_osd, 'release', 'reef'),
    Act.OSD_HEALED: _heal_osd,
    Act.ORCHESTRATOR_GONE: _attribute(
        _of_cluster, 'orchestrator_reason', 'No orchestrator configured'
    ),
    Act.ORCHESTRATOR_IDLE: _attribute(_of_cluster, 'orchestrator_idle', value=True),
    Act.ORCHESTRATOR_SLOW: _attribute(_of_cluster, 'orchestrator_delay_s', 60.0),
    Act.ORCHESTRATOR_REFUSES: _refuse('orch daemon', refusing('host is offline')),
    Act.ORCHESTRATOR_WRONG: lambda c, n: setattr(c.cluster, 'orchestrator_restarts', n),
    Act.ORCHESTRATOR_BACK: lambda c, n: _heal_orchestrator(c.cluster),
    Act.MON_REFUSES_SET: _refuse('config set'),
    Act.MON_REFUSES_RM: _refuse('config rm'),
    Act.MON_REFUSES_DUMP: _refuse('config dump'),
    Act.MON_REFUSES_GET: _refuse('config get'),
    Act.MON_REFUSES_OK_TO_STOP: _refuse('osd ok-to-stop'),
    Act.MON_REFUSES_VERSIONS: _refuse('versions'),
    Act.MON_BACK: lambda c, n: c.cluster.errors.clear(),
    Act.STORE_REFUSES: lambda c, n: setattr(c.run.store, 'error', refusing('no space')),
    Act.STORE_BACK: _attribute(_of_store, 'error', value=None),
    Act.STORE_LOSES_EVIDENCE: _lose_evidence,
    Act.FLAG: lambda c, n: c.cluster.flags.add('noout'),
    Act.NO_FLAG: lambda c, n: c.cluster.flags.discard('noout'),
    Act.NEARFULL: lambda c, n: c.cluster.health.update(OSD_NEARFULL='HEALTH_WARN'),
    Act.NO_NEARFULL: lambda c, n: c.cluster.health.clear(),
    Act.UPGRADE_BEGINS: _attribute(_of_cluster, 'upgrades_to', 'example/ceph:v18.2.7'),
    Act.UPGRADE_ENDS: _attribute(_of_cluster, 'upgrades_to', value=None),
    Act.CLOCK_FORWARD: lambda c, n: _set_clock(c, _JUMPS_S[n]),
    Act.CLOCK_BACK: lambda c, n: _set_clock(c, -_JUMPS_S[n]),
    Act.CLIENTS_STOP: _attribute(_of_clients, 'writes_per_s', 0),
    Act.CLIENTS_COME: _attribute(_of_clients, 'writes_per_s', 100),
    Act.NEW_IS_SLOW: _attribute(_of_clients, 'factor', 1.5),
    Act.OSD_IS_SLOW: lambda c, n: c.run.clients.slow.add(n),
    Act.WINDOW_CLOSES: _attribute(_of_run, 'outside_window', 'outside the maintenance window'),
    Act.WINDOW_OPENS: _attribute(_of_run, 'outside_window', value=None),
    Act.DAILY_LIMIT: lambda c, n: setattr(c.run, 'restarts_per_day', 1 + n),
    Act.NO_DAILY_LIMIT: _attribute(_of_run, 'restarts_per_day', 0),
    Act.REPORTS_STOP: _attribute(_of_run, 'deaf', 'no OSD reports to this manager'),
    Act.REPORTS_COME: _attribute(_of_run, 'deaf', value=None),
}
