"""Carries one schedule out."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Callable, NamedTuple, Optional
from unittest.mock import patch

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.operations import announce
from rocksdb_tuner.operations.compaction.records import CompactionStep
from rocksdb_tuner.tests.chaos.checks import Violation
from rocksdb_tuner.tests.chaos.world import Killed, NextWrite, WriteFault

from ..conftest import WAITING
from .schedule import BETWEEN_SAMPLES, ChaosEvent, Moment, Planned, Schedule, moment_of
from .watch import GATE_ALARM_S, Rule, Watch
from .world import USUAL_MS, World

#: Samples with events, and those in which everything completes afterwards.
_MAX_SAMPLES = 400
_MAX_SAMPLES_TO_END = 3000
_SAMPLES_AFTERWARDS = 8
_STALL_S = 95.0
_JUMPS_S = (40.0, 3600.0, 100_000.0)


class Happened(NamedTuple):
    event: ChaosEvent
    moment: Moment


class _Waiting:
    """A planned act whose time has not come, and what follows it."""

    def __init__(self, planned: Planned, following: tuple[Planned, ...]) -> None:
        self.planned = planned
        self.following = following
        self._left = planned.after

    def is_due_at(self, moment: Moment) -> bool:
        """Count one more opportunity; whether this is the one."""
        if self.planned.moment not in {None, moment}:
            return False
        self._left -= 1
        return self._left < 0


class ScheduleRun:
    """Executes one schedule; raises `Violation` if an invariant breaks."""

    def __init__(self, planned: Schedule, only: Optional[Rule] = None) -> None:
        self.planned = planned
        self.happened: Counter[Happened] = Counter()
        self._waiting = [_Waiting(first, tuple(rest)) for first, *rest in planned.events]
        self._restless = False
        self.world = World(planned)
        self.watch = Watch(self.world, only)
        self.world.on_observation = self._observed

    def execute(self) -> None:
        self.world.begin()
        self._restless = True
        for _ in range(_MAX_SAMPLES):
            if self.world.state.ended and not self._awaits_end():
                break
            self._happen(between_samples=True)
            self._look()
        self._restless = False
        self._repair()
        for _ in range(_MAX_SAMPLES_TO_END):
            if self.world.state.ended:
                break
            self._obey()
            self._look()
        for _ in range(_SAMPLES_AFTERWARDS):
            self._look()
        self.watch.check_end()

    def _look(self) -> None:
        self.world.look()
        self.watch.sampled()

    def _awaits_end(self) -> bool:
        return any(waiting.planned.moment is Moment.ENDED for waiting in self._waiting)

    def _observed(self) -> None:
        """The manager samples: events for this moment happen just before."""
        if self._restless and self.watch.broken is None:
            self._happen(between_samples=False)

    def _happen(self, *, between_samples: bool) -> None:
        moment = moment_of(self.world.state)
        for waiting in list(self._waiting):
            planned = waiting.planned
            if (planned.event in BETWEEN_SAMPLES) is not between_samples or not waiting.is_due_at(
                moment
            ):
                continue
            self._waiting.remove(waiting)
            if waiting.following:
                first, *rest = waiting.following
                self._waiting.append(_Waiting(first, tuple(rest)))
            osd = self._target(planned.osd)
            if osd is not None:
                self.happened[Happened(planned.event, moment)] += 1
                self.world.guarded(lambda: _EFFECTS[planned.event](self.world, self.watch, osd))  # noqa: B023

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
        _all_sampled(world)
        cluster.errors.clear()
        cluster.health.clear()
        cluster.flags -= {'noout', 'nobackfill', 'norecover'}
        cluster.upgrades_to = None
        cluster.mute.clear()
        cluster.compactions.loses.clear()
        cluster.compactions.refuses.clear()
        for n, osd in cluster.osds.items():
            if not osd.in_cluster and n % 2:
                # It is not repaired.
                continue
            osd.in_cluster, osd.broken = True, False
            if not osd.up and not osd.coming:
                cluster.start_osd(n)

    def _obey(self) -> None:
        """The operator resumes, and follows the health checks."""
        reported = str(self.world.health().get(WAITING))
        if self.world.state.paused_by or 'operation resume' in reported:
            self.watch.paused = False
            self.world.guarded(lambda: self.world.driver.resume(self.world.clock_s))


def carried_out(
    planned: Schedule, only: Optional[Rule] = None
) -> tuple[ScheduleRun, Optional[Violation[Rule]]]:
    """The run of a schedule, and its violation if any; see `Watch` for ``only``."""
    schedule_run = ScheduleRun(planned, only)
    try:
        with patch.object(announce, 'GATE_ALARM_AFTER_S', GATE_ALARM_S):
            schedule_run.execute()
    except Violation as violation:
        return schedule_run, violation
    except Exception as error:  # noqa: BLE001 - any exception is a finding
        text = ''.join(traceback.format_exception(error))[-1800:]
        return schedule_run, schedule_run.watch.broken or Violation(Rule.NO_TRACEBACK, text)
    return schedule_run, schedule_run.watch.broken


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


def _start_another(world: World, watch: Watch, _: int) -> None:
    before = world.driver.state
    if before is None or before.ended:
        return
    refused = world.guarded(lambda: world.begin('c2'))
    watch.require(Rule.REQUESTS, refused, 'a second concurrent campaign is accepted')
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
    world.cluster.recreate(osd_id)


def _move(world: World, osd_id: int) -> None:
    """To one of two other places; where an OSD is a failure domain, that goes along."""
    osd, name = world.cluster.osds[osd_id], f'elsewhere{osd_id % 2}'
    osd.host = name
    if world.planned.kind == 'rack':
        osd.domain = FailureDomain('rack', name)


def _restore_commands(world: World) -> None:
    world.cluster.compactions.loses.clear()
    world.cluster.compactions.refuses.clear()


def _others_compact(world: World, osd_id: int) -> None:
    if world.cluster.osds[osd_id].up and osd_id not in world.cluster.compactions.running():
        world.cluster.let_compact(osd_id)


def _next_write(fault: WriteFault) -> _Effect:
    # Writes of the store and requests alternate: the OSD's number selects one.
    return lambda world, _, n: world.next_writes.append(NextWrite(fault, n % 3))


def _of_world(name: str, value: object) -> _Effect:
    return lambda world, _, __: setattr(world, name, value)


def _all_sampled(world: World) -> None:
    world.db_unknown.clear()
    world.writes_unknown.clear()


def _refuse(prefix: str) -> _Effect:
    return lambda world, _, __: world.cluster.errors.update({prefix: CommandError(110, 'no')})


def _jump(world: World, n: int, sign: float) -> None:
    world.offset_s += sign * _JUMPS_S[n % 3]


_EFFECTS: Mapping[ChaosEvent, _Effect] = {
    ChaosEvent.FAIL_OVER: lambda w, _, __: w.take_over(),
    ChaosEvent.KILLED_BEFORE_A_WRITE: _next_write(WriteFault.KILLED_BEFORE),
    ChaosEvent.KILLED_AFTER_A_WRITE: _next_write(WriteFault.KILLED_AFTER),
    ChaosEvent.MANAGER_STALLS: lambda w, _, __: w.cluster.advance(_STALL_S),
    ChaosEvent.PAUSE: _pause,
    ChaosEvent.RESUME: _resume,
    ChaosEvent.ABORT: _abort,
    ChaosEvent.START_ANOTHER: _start_another,
    ChaosEvent.MODE_OFF: _of_world('may_act', value=False),
    ChaosEvent.MODE_OFF_IN_A_WRITE: _next_write(WriteFault.SWITCHED_OFF),
    ChaosEvent.MODE_ON: _of_world('may_act', value=True),
    ChaosEvent.WINDOW_CLOSES: _of_world('outside_window', 'outside the maintenance window'),
    ChaosEvent.WINDOW_OPENS: _of_world('outside_window', value=None),
    ChaosEvent.OTHERS_COMPACT: lambda w, _, n: _others_compact(w, n),
    ChaosEvent.RESTARTED_BY_HAND: lambda w, _, n: _restart(w, n),
    ChaosEvent.OSD_DIES: lambda w, _, n: w.cluster.stop_osd(n),
    ChaosEvent.OSD_STARTS: lambda w, _, n: _start(w, n),
    ChaosEvent.DIES_AND_IS_OUT: lambda w, _, n: w.cluster.mark_out(n),
    ChaosEvent.PURGED: lambda w, _, n: _purge(w, n),
    ChaosEvent.REPLACED: lambda w, _, n: _replace(w, n),
    ChaosEvent.MOVED: lambda w, _, n: _move(w, n),
    ChaosEvent.STOPS_ANSWERING: lambda w, _, n: w.cluster.mute.add(n),
    ChaosEvent.ANSWERS: lambda w, _, __: w.cluster.mute.clear(),
    ChaosEvent.LOSES_COMMANDS: lambda w, _, n: w.cluster.compactions.loses.add(n),
    ChaosEvent.REFUSES_COMMANDS: lambda w, _, n: w.cluster.compactions.refuses.add(n),
    ChaosEvent.TAKES_COMMANDS: lambda w, _, __: _restore_commands(w),
    ChaosEvent.DB_IS_FULL: lambda w, _, n: w.total_bytes.update(
        {n: w.cluster.compactions.used_bytes.get(n, 0) * 3 // 2}
    ),
    ChaosEvent.WRITE_REFUSED: _next_write(WriteFault.REFUSED),
    ChaosEvent.WRITE_ANSWER_LOST: _next_write(WriteFault.ANSWER_LOST),
    ChaosEvent.COMMAND_LOST: _next_write(WriteFault.LOST),
    ChaosEvent.WRITE_DELAYED: _next_write(WriteFault.DELAYED),
    ChaosEvent.STORE_REFUSES: lambda w, _, __: setattr(
        w.store, 'error', CommandError(28, 'no space')
    ),
    ChaosEvent.STORE_BACK: lambda w, _, __: setattr(w.store, 'error', None),
    ChaosEvent.REFUSES_VERSIONS: _refuse('versions'),
    ChaosEvent.REFUSES_OK_TO_STOP: _refuse('osd ok-to-stop'),
    ChaosEvent.MONITORS_BACK: lambda w, _, __: w.cluster.errors.clear(),
    ChaosEvent.FLAG: lambda w, _, n: w.cluster.flags.add(
        ('noout', 'nobackfill', 'norecover')[n % 3]
    ),
    ChaosEvent.NO_FLAG: lambda w, _, __: w.cluster.flags.difference_update(
        {'noout', 'nobackfill', 'norecover'}
    ),
    ChaosEvent.UNHEALTHY: lambda w, _, n: w.cluster.health.update(
        {('OSD_NEARFULL', 'MON_DOWN', 'PG_DEGRADED')[n % 3]: 'HEALTH_WARN'}
    ),
    ChaosEvent.HEALTHY: lambda w, _, __: w.cluster.health.clear(),
    ChaosEvent.UPGRADE_BEGINS: lambda w, _, __: setattr(w.cluster, 'upgrades_to', 'v18.2.7'),
    ChaosEvent.UPGRADE_ENDS: lambda w, _, __: setattr(w.cluster, 'upgrades_to', None),
    ChaosEvent.CLOCK_FORWARD: lambda w, _, n: _jump(w, n, 1.0),
    ChaosEvent.CLOCK_BACK: lambda w, _, n: _jump(w, n, -1.0),
    ChaosEvent.CLIENTS_SLOW: _of_world('latency_ms', 50.0),
    ChaosEvent.CLIENTS_FAST: _of_world('latency_ms', USUAL_MS),
    ChaosEvent.CLIENTS_STOP: _of_world('latency_ms', value=None),
    ChaosEvent.REPORTS_STOP: _of_world('no_reports_reason', 'no OSD reports to this manager'),
    ChaosEvent.REPORTS_COME: _of_world('no_reports_reason', value=None),
    ChaosEvent.OSD_NOT_SAMPLED: lambda w, _, n: w.db_unknown.setdefault(n, w.cluster.now_s),
    ChaosEvent.WRITES_NOT_SAMPLED: lambda w, _, n: w.writes_unknown.setdefault(n, w.cluster.now_s),
    ChaosEvent.ALL_SAMPLED: lambda w, _, __: _all_sampled(w),
}
