"""Carries one schedule out."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Callable, NamedTuple, Optional

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.operations.compaction.records import CompactionStep
from rocksdb_tuner.tests.chaos.world import Killed, NextWrite, WriteFault

from ..conftest import WAITING
from .schedule import BETWEEN_LOOKS, Act, Moment, Planned, Schedule, moment_of
from .watch import Rule, Violation, Watch
from .world import USUAL_MS, World

#: Looks in which things happen, and those in which all comes to its end afterwards.
_MOST_LOOKS = 400
_MOST_LOOKS_TO_THE_END = 3000
_LOOKS_AFTERWARDS = 8
_STALL_S = 95.0
_JUMPS_S = (40.0, 3600.0, 100_000.0)


class Happened(NamedTuple):
    act: Act
    moment: Moment


class _Waiting:
    """A planned act whose time has not come, and what follows it."""

    def __init__(self, planned: Planned, following: tuple[Planned, ...]) -> None:
        self.planned = planned
        self.following = following
        self._left = planned.after

    def comes_at(self, moment: Moment) -> bool:
        """Count one more opportunity; whether this is the one."""
        if self.planned.moment not in {None, moment}:
            return False
        self._left -= 1
        return self._left < 0


class Course:
    """Carries out one schedule; raises `Violation` where an invariant breaks."""

    def __init__(self, planned: Schedule, only: Optional[Rule] = None) -> None:
        self.planned = planned
        self.happened: Counter[Happened] = Counter()
        self._waiting = [_Waiting(first, tuple(rest)) for first, *rest in planned.acts]
        self._restless = False
        self.world = World(planned)
        self.watch = Watch(self.world, only)
        self.world.on_observation = self._observed

    def carry_out(self) -> None:
        self.world.begin()
        self._restless = True
        for _ in range(_MOST_LOOKS):
            if self.world.state.ended and not self._awaits_end():
                break
            self._happen(between_looks=True)
            self._look()
        self._restless = False
        self._repair()
        for _ in range(_MOST_LOOKS_TO_THE_END):
            if self.world.state.ended:
                break
            self._obey()
            self._look()
        for _ in range(_LOOKS_AFTERWARDS):
            self._look()
        self.watch.at_the_end()

    def _look(self) -> None:
        self.world.look()
        self.watch.looked()

    def _awaits_end(self) -> bool:
        return any(waiting.planned.moment is Moment.ENDED for waiting in self._waiting)

    def _observed(self) -> None:
        """The manager looks: what is aimed at this moment happens just before."""
        if self._restless and self.watch.broken is None:
            self._happen(between_looks=False)

    def _happen(self, *, between_looks: bool) -> None:
        moment = moment_of(self.world.state)
        for waiting in list(self._waiting):
            planned = waiting.planned
            if (planned.act in BETWEEN_LOOKS) is not between_looks or not waiting.comes_at(moment):
                continue
            self._waiting.remove(waiting)
            if waiting.following:
                first, *rest = waiting.following
                self._waiting.append(_Waiting(first, tuple(rest)))
            osd = self._target(planned.osd)
            if osd is not None:
                self.happened[Happened(planned.act, moment)] += 1
                self.world.guarded(lambda: _EFFECTS[planned.act](self.world, self.watch, osd))  # noqa: B023

    def _target(self, number: Optional[int]) -> Optional[int]:
        """The OSD that an act is about; None: it is gone."""
        osds = self.world.cluster.osds
        if number is None:
            state = self.world.state
            pending = [o for o in state.osds if o.step is CompactionStep.PENDING]
            number = next((o.osd_id for o in (*state.in_flight, *pending)), 0)
        return number if number in osds else None

    # -- how it ends

    def _repair(self) -> None:
        """Everything works again, and nothing is held."""
        world, cluster = self.world, self.world.cluster
        world.next_writes.clear()
        world.store.error = None
        world.may_act = True
        world.outside_window = world.no_reports_reason = None
        world.latency_ms = USUAL_MS
        cluster.errors.clear()
        cluster.health.clear()
        cluster.flags -= {'noout', 'nobackfill', 'norecover'}
        cluster.upgrades_to = None
        cluster.mute.clear()
        cluster.compactions.loses.clear()
        cluster.compactions.refuses.clear()
        for n, osd in cluster.osds.items():
            if not osd.in_cluster and n % 2:
                # Nobody repairs it.
                continue
            osd.in_cluster, osd.broken = True, False
            if not osd.up and not osd.coming:
                cluster.start_osd(n)

    def _obey(self) -> None:
        """The operator ends his pause, and does what a health check tells him to."""
        told = str(self.world.health().get(WAITING))
        if self.world.state.paused_by or 'rollout resume' in told:
            self.watch.paused = False
            self.world.guarded(lambda: self.world.driver.resume(self.world.clock_s))


def carried_out(
    planned: Schedule, only: Optional[Rule] = None
) -> tuple[Course, Optional[Violation]]:
    """The course of a schedule, and what broke in it; see `Watch` for ``only``."""
    course = Course(planned, only)
    try:
        course.carry_out()
    except Violation as violation:
        return course, violation
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        text = ''.join(traceback.format_exception(error))[-1800:]
        return course, course.watch.broken or Violation(Rule.NO_TRACEBACK, text)
    return course, course.watch.broken


# -- what each act does

_Effect = Callable[[World, Watch, int], object]


def _pause(world: World, watch: Watch, _: int) -> None:
    world.driver.pause('client.a', world.clock_s)
    watch.paused = True


def _resume(world: World, watch: Watch, _: int) -> None:
    # Also where the manager dies once that is stored.
    with suppress(Killed):
        world.driver.resume(world.clock_s)
        watch.paused = False
        return
    watch.paused = False
    raise Killed


def _abort(world: World, watch: Watch, _: int) -> None:
    try:
        world.driver.abort('client.a', world.clock_s)
    except Killed:
        # It holds where that was stored before the manager died.
        stored = watch.stored()
        if stored.ended or stored.ending is not None:
            watch.aborted, watch.paused = True, False
        raise
    watch.aborted, watch.paused = True, False


def _begin_another(world: World, watch: Watch, _: int) -> None:
    before = world.driver.state
    if before is None or before.ended:
        return
    refused = world.guarded(lambda: world.begin('c2'))
    watch.require(Rule.REQUESTS, refused, 'a second campaign is accepted beside the first')
    after = world.driver.state
    watch.require(Rule.REQUESTS, after == before, f'that changed the first: {after}')


def _start(world: World, osd_id: int) -> None:
    if not world.cluster.osds[osd_id].up:
        world.cluster.start_osd(osd_id)


def _restart(world: World, osd_id: int) -> None:
    if world.cluster.osds[osd_id].up:
        world.cluster.restart_by_hand(osd_id)


def _purge(world: World, osd_id: int) -> None:
    if len(world.cluster.osds) > 2:
        world.cluster.purge(osd_id)


def _replace(world: World, osd_id: int) -> None:
    world.cluster.make_again(osd_id)


def _move(world: World, osd_id: int) -> None:
    """To one of two other places; where an OSD is a failure domain, that goes along."""
    osd, name = world.cluster.osds[osd_id], f'elsewhere{osd_id % 2}'
    osd.host = name
    if world.planned.kind == 'rack':
        osd.domain = FailureDomain('rack', name)


def _take_commands(world: World) -> None:
    world.cluster.compactions.loses.clear()
    world.cluster.compactions.refuses.clear()


def _others_compact(world: World, osd_id: int) -> None:
    if world.cluster.osds[osd_id].up and osd_id not in world.cluster.compactions.running():
        world.cluster.let_compact(osd_id)


def _next_write(fault: WriteFault) -> _Effect:
    # Writes of the store and requests come in turn: the OSD's number says which one it is.
    return lambda world, _, n: world.next_writes.append(NextWrite(fault, n % 3))


def _of_world(name: str, value: object) -> _Effect:
    return lambda world, _, __: setattr(world, name, value)


def _refuse(prefix: str) -> _Effect:
    return lambda world, _, __: world.cluster.errors.update({prefix: CommandError(110, 'no')})


def _jump(world: World, n: int, sign: float) -> None:
    world.offset_s += sign * _JUMPS_S[n % 3]


_EFFECTS: Mapping[Act, _Effect] = {
    Act.FAIL_OVER: lambda w, _, __: w.take_over(),
    Act.KILLED_BEFORE_A_WRITE: _next_write(WriteFault.KILLED_BEFORE),
    Act.KILLED_AFTER_A_WRITE: _next_write(WriteFault.KILLED_AFTER),
    Act.MANAGER_STALLS: lambda w, _, __: w.cluster.advance(_STALL_S),
    Act.PAUSE: _pause,
    Act.RESUME: _resume,
    Act.ABORT: _abort,
    Act.BEGIN_ANOTHER: _begin_another,
    Act.MODE_OFF: _of_world('may_act', value=False),
    Act.MODE_OFF_IN_A_WRITE: _next_write(WriteFault.SWITCHED_OFF),
    Act.MODE_ON: _of_world('may_act', value=True),
    Act.WINDOW_CLOSES: _of_world('outside_window', 'outside the maintenance window'),
    Act.WINDOW_OPENS: _of_world('outside_window', value=None),
    Act.OTHERS_COMPACT: lambda w, _, n: _others_compact(w, n),
    Act.RESTARTED_BY_HAND: lambda w, _, n: _restart(w, n),
    Act.OSD_DIES: lambda w, _, n: w.cluster.stop_osd(n),
    Act.OSD_STARTS: lambda w, _, n: _start(w, n),
    Act.DIES_AND_IS_OUT: lambda w, _, n: w.cluster.mark_out(n),
    Act.PURGED: lambda w, _, n: _purge(w, n),
    Act.REPLACED: lambda w, _, n: _replace(w, n),
    Act.MOVED: lambda w, _, n: _move(w, n),
    Act.STOPS_ANSWERING: lambda w, _, n: w.cluster.mute.add(n),
    Act.ANSWERS: lambda w, _, __: w.cluster.mute.clear(),
    Act.LOSES_COMMANDS: lambda w, _, n: w.cluster.compactions.loses.add(n),
    Act.REFUSES_COMMANDS: lambda w, _, n: w.cluster.compactions.refuses.add(n),
    Act.TAKES_COMMANDS: lambda w, _, __: _take_commands(w),
    Act.DB_IS_FULL: lambda w, _, n: w.total_bytes.update(
        {n: w.cluster.compactions.used_bytes.get(n, 0) * 3 // 2}
    ),
    Act.WRITE_REFUSED: _next_write(WriteFault.REFUSED),
    Act.WRITE_ANSWER_LOST: _next_write(WriteFault.ANSWER_LOST),
    Act.COMMAND_LOST: _next_write(WriteFault.LOST),
    Act.WRITE_DELAYED: _next_write(WriteFault.DELAYED),
    Act.STORE_REFUSES: lambda w, _, __: setattr(w.store, 'error', CommandError(28, 'no space')),
    Act.STORE_BACK: lambda w, _, __: setattr(w.store, 'error', None),
    Act.REFUSES_VERSIONS: _refuse('versions'),
    Act.REFUSES_OK_TO_STOP: _refuse('osd ok-to-stop'),
    Act.MONITORS_BACK: lambda w, _, __: w.cluster.errors.clear(),
    Act.FLAG: lambda w, _, n: w.cluster.flags.add(('noout', 'nobackfill', 'norecover')[n % 3]),
    Act.NO_FLAG: lambda w, _, __: w.cluster.flags.difference_update(
        {'noout', 'nobackfill', 'norecover'}
    ),
    Act.UNHEALTHY: lambda w, _, n: w.cluster.health.update(
        {('OSD_NEARFULL', 'MON_DOWN', 'PG_DEGRADED')[n % 3]: 'HEALTH_WARN'}
    ),
    Act.HEALTHY: lambda w, _, __: w.cluster.health.clear(),
    Act.UPGRADE_BEGINS: lambda w, _, __: setattr(w.cluster, 'upgrades_to', 'v18.2.7'),
    Act.UPGRADE_ENDS: lambda w, _, __: setattr(w.cluster, 'upgrades_to', None),
    Act.CLOCK_FORWARD: lambda w, _, n: _jump(w, n, 1.0),
    Act.CLOCK_BACK: lambda w, _, n: _jump(w, n, -1.0),
    Act.CLIENTS_SLOW: _of_world('latency_ms', 50.0),
    Act.CLIENTS_FAST: _of_world('latency_ms', USUAL_MS),
    Act.CLIENTS_STOP: _of_world('latency_ms', value=None),
    Act.REPORTS_STOP: _of_world('no_reports_reason', 'no OSD reports to this manager'),
    Act.REPORTS_COME: _of_world('no_reports_reason', value=None),
}
