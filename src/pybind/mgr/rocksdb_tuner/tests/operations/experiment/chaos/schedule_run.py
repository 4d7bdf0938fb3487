"""Executes a schedule, and records which events happened at which moments."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple, Optional

from rocksdb_tuner.operations.rollout.records import Direction, OsdStep
from rocksdb_tuner.tests.chaos.checks import Violation, violation
from rocksdb_tuner.tests.chaos.cluster import ChaosCluster
from rocksdb_tuner.tests.chaos.events import (
    REQUESTS,
    ChaosEvent,
    apply_event,
    heal,
    start,
)
from rocksdb_tuner.tests.fake_cluster import DEFAULTS
from rocksdb_tuner.tests.operations.experiment.conftest import STRINGS

from .schedule import Moment, Planned, Schedule, moment_in
from .watch import Rule, Watch
from .world import ExperimentWorld

#: Samples with events.
_MAX_SAMPLES = 260
#: Samples in which a repaired cluster completes the experiment.
_MAX_SAMPLES_TO_END = 1500


#: Rules that only show once everything works again.
_OF_THE_END = frozenset({Rule.RESTORED, Rule.RIGHT_END, Rule.RECORDED, Rule.ENDS})


class Happened(NamedTuple):
    event: ChaosEvent
    moment: Moment


class _Waiting:
    """A chain of acts, of which the first waits for its time."""

    def __init__(self, chain: tuple[Planned, ...]) -> None:
        self.planned, self.following = chain[0], chain[1:]
        self._left = self.planned.after

    def comes(self, moment: Moment, *, sampled: bool) -> bool:
        """Count one more opportunity; whether this is the one."""
        if self.planned.moment is None and not sampled:
            return False
        if self.planned.moment not in {None, moment}:
            return False
        self._left -= 1
        return self._left < 0


class ScheduleRun:
    """Executes one schedule; raises `Violation` if an invariant breaks."""

    def __init__(self, planned: Schedule, only: Optional[Rule] = None) -> None:
        self.planned = planned
        self.happened: Counter[Happened] = Counter()
        self._waiting = [_Waiting(chain) for chain in planned.events]
        self._restless = False
        self._dead: frozenset[int] = frozenset()
        cluster = self.cluster = ChaosCluster(planned.topology)
        cluster.recover_s = planned.recover_s
        self._before()
        if planned.bad is not None:
            bad = STRINGS[planned.bad]
            cluster.refuses_to_start = lambda value: value == bad
        self.world = ExperimentWorld(planned.topology, cluster, forgets=planned.forgets)
        self.watch = Watch(self.world, planned, only)
        self.world.on_observation = self._observed

    def _before(self) -> None:
        """The previous state: entries that match the running options."""
        cluster, string = self.cluster, DEFAULTS[self.cluster.release]
        for who in (*(f'osd.{n}' for n in self.planned.own), *(('osd',) * self.planned.shared)):
            cluster.operator_sets(who, string)
        for osd in cluster.osds.values():
            cluster._stop(osd)
            cluster._start(osd)
        cluster.advance(90)

    def execute(self) -> None:
        refused = self.world.guarded(lambda: self.world.start_experiment(self.planned.request))
        assert not refused
        self._restless = True
        for _ in range(_MAX_SAMPLES):
            if self.world.now.ended:
                break
            self._happen(requests=True, sampled=True)
            self._look()
        self._restless = False
        if self.watch.only is not None and self.watch.only not in _OF_THE_END:
            return
        self._repair()
        self._run_to_end()
        self._look()
        self.watch.check_end(self._dead)

    def _observed(self) -> None:
        if self._restless and self.watch.broken is None and self.world.experiment.state:
            self._happen(requests=False, sampled=False)

    def _happen(self, *, requests: bool, sampled: bool) -> None:
        moment = moment_in(self.world.now)
        for waiting in list(self._waiting):
            if (waiting.planned.event in REQUESTS) is not requests and not sampled:
                continue
            if waiting.comes(moment, sampled=sampled) and waiting in self._waiting:
                self._waiting.remove(waiting)
                if waiting.following:
                    self._waiting.append(_Waiting(waiting.following))
                osd = self._target(waiting.planned.osd)
                if osd is not None:
                    self.happened[Happened(waiting.planned.event, moment)] += 1
                    apply_event(self.world, self.watch, waiting.planned.event, osd)  # type: ignore[arg-type]

    def _target(self, osd: Optional[int]) -> Optional[int]:
        leg = self.world.now.leg
        if osd is None:
            flying = None if leg is None else leg.in_flight
            osd = self.world.now.osds[0].osd_id if flying is None else flying.osd_id
        return osd if osd in self.cluster.osds else None

    def _look(self) -> None:
        self.watch.samples()
        self.world.guarded(lambda: self.world.look(self.planned.sample_every_s))
        self.watch.sampled()

    # -- how it ends

    def _repair(self) -> None:
        """Everything works again, and nothing is held."""
        world = self.world
        self._dead = heal(world, self.watch)  # type: ignore[arg-type]
        self.cluster.refuses_to_start = lambda _: False
        world.clients.writes_per_s = 100
        self._look()
        if world.now.paused_by:
            world.guarded(world.resume)

    def _run_to_end(self) -> None:
        """Time passes, and the operator follows the instructions."""
        for _ in range(_MAX_SAMPLES_TO_END):
            self._look()
            state = self.world.now
            if state.ended:
                return
            self._obey(state.paused_reason or '')
        self.watch.require(Rule.ENDS, ok=False, text=f'it did not end: {self.world.now}')

    def _obey(self, reason: str) -> None:
        world, cluster, leg = self.world, self.cluster, self.world.now.leg
        back = leg is not None and leg.direction is Direction.BACK
        due = (
            {o.osd_id for o in leg.osds if o.step is OsdStep.RESTART_DUE} if leg and back else set()
        )
        for n in cluster.down - self._dead:
            if n in due and f'start osd.{n} next' not in reason:
                continue
            if reason and not cluster.osds[n].coming:
                start(world, n)
        if 'systemctl restart' in reason:
            world.guarded(world.resume)
        wrong = re.search(r'osd.(\d+) (?:was restarted during the rollback|comes from)', reason)
        if wrong and int(wrong.group(1)) in cluster.osds:
            if cluster.osds[int(wrong.group(1))].up:
                cluster.restart_by_hand(int(wrong.group(1)))
            cluster.advance(60)


def carried_out(
    planned: Schedule, only: Optional[Rule] = None
) -> tuple[ScheduleRun, Optional[Violation[Rule]]]:
    """The run of a schedule, and its violation if any; see `Watch` for ``only``."""
    run = ScheduleRun(planned, only)
    return run, violation(run.execute, run.watch, Rule.NO_TRACEBACK)
