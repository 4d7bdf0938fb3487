"""Executes a schedule, and records which events happened at which moments."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from itertools import islice
from typing import NamedTuple, Optional
from unittest.mock import patch

from rocksdb_tuner.operations import announce
from rocksdb_tuner.operations.phases import OperationRefused, Outcome, Phase
from rocksdb_tuner.operations.rollout.records import Direction, OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.rollback import entries_blocking_rollback
from rocksdb_tuner.plan.order import domains_of, in_batches
from rocksdb_tuner.plan.records import ChangeKind, ChangeRequest, Purpose
from rocksdb_tuner.tests.fake_cluster import DEFAULTS
from rocksdb_tuner.tests.operations.rollout.conftest import ALL, CLASS, OLD, same_meaning

from .checks import Violation, violation
from .cluster import ChaosCluster
from .events import (
    AFTER_THE_END,
    REQUESTS,
    ChaosEvent,
    apply_event,
    heal,
    start,
)
from .invariants import Watch
from .rules import Rule
from .schedule import Change, Loop, Moment, Planned, Schedule, moment_of
from .topology import Shape
from .world import world_of

#: Samples in which a repaired cluster completes the rollout.
_MAX_SAMPLES_TO_END = 900
_SETTLES_S = 30.0
#: Samples in which automatic rollouts would start again.
_SAMPLES_AFTERWARDS = 12
#: The wait for a gate before a health check is raised, shorter than the module's.
GATE_ALARM_S = 600.0
#: A need for the operator must be reported within this time.
_ALARM_S = 1000.0


class Happened(NamedTuple):
    event: ChaosEvent
    moment: Moment


class Waiting:
    """A planned act whose time has not come."""

    def __init__(self, planned: Planned) -> None:
        self.planned = planned
        self._left = planned.after

    def is_due_at(self, moment: Moment) -> bool:
        """Count one more opportunity; whether this is the one."""
        if self.planned.moment is not moment:
            return False
        self._left -= 1
        return self._left < 0

    def is_due_after_sample(self) -> bool:
        self._left -= 1
        return self._left < 0


class ScheduleRun:
    """Executes one schedule; raises `Violation` if an invariant breaks."""

    def __init__(self, planned: Schedule, only: Optional[Rule] = None) -> None:
        self.planned = planned
        self.happened: Counter[Happened] = Counter()
        #: The phase in which it ended, before the rollback; None: nothing started.
        self.ended: Optional[str] = None
        self._waiting = [Waiting(event) for event in planned.events if not event.follows]
        self._restless = False
        #: OSDs that will not return: down and out, with dead disks.
        self._dead: frozenset[int] = frozenset()
        #: Since when the operator is needed without a health check.
        self._unreported_since_s: Optional[float] = None
        # On Pacific no change of the option string is of low risk.
        release = 'reef' if planned.loop is Loop.AUTO_APPLY else 'pacific'
        self.cluster = ChaosCluster(planned.topology, release)
        self.cluster.option = planned.option
        _apply_delays(self.cluster, planned)
        _before(self.cluster, planned)
        self.before = self.cluster.entries_of()
        self.world = world_of(planned, self.cluster)
        if planned.gains:
            self.world.clients.factor = 0.7
        self.watch = Watch(self.world, only)
        self.world.on_change = self.watch.changed
        self.world.on_observation = self._observed

    def execute(self) -> None:
        self._begin()
        if self.planned.loop is not Loop.AUTO_APPLY and self.world.known is None:
            return
        self._restless = True
        for _ in range(self.planned.max_samples):
            if self.world.known is not None and self.world.known.ended and not self._awaits_end():
                break
            self._between()
            self._look()
        self._restless = False
        if self.world.known is None:
            return
        self._repair()
        self._run_to_end()
        self.ended = self.world.state.phase.value
        self.watch.check_end(self.before)
        if self.planned.runs_to_completion:
            return
        self._roll_back()
        if self.planned.loop is Loop.AUTO_APPLY:
            for _ in range(_SAMPLES_AFTERWARDS):
                self._look(5.0)

    # -- what happens when

    def _begin(self) -> None:
        if self.planned.loop is Loop.AUTO_APPLY:
            self.world.starts_automatically()
            return
        request = _request(self.cluster, self.planned)
        refused = self.world.guarded(lambda: self.world.begin(request, self.planned.soak))
        wrong = self.planned.change is Change.REACHES_OTHERS
        self.watch.require(Rule.REQUESTS, refused is wrong, f'refused: {refused}')
        # Once, while the operator waits for the answer, every OSD is queried for its options.
        self.cluster.questions.clear()

    def _awaits_end(self) -> bool:
        """Whether anything happens after the end."""
        return any(
            waiting.planned.moment is Moment.ENDED and waiting.planned.event in AFTER_THE_END
            for waiting in self._waiting
        )

    def _observed(self) -> None:
        """The manager samples: events for this moment happen just before."""
        if not self._restless or self.watch.broken is not None:
            return
        moment = moment_of(self.world.known)
        for waiting in self._due(moment, requests=False):
            self._happens(waiting, moment)

    def _between(self) -> None:
        """Between two samples any event may happen, including operators' requests."""
        moment = moment_of(self.world.known)
        for waiting in self._due(moment, requests=True):
            self._happens(waiting, moment)
        for waiting in [w for w in self._waiting if w.planned.moment is None]:
            if waiting.is_due_after_sample():
                self._happens(waiting, moment_of(self.world.known))

    def _due(self, moment: Moment, *, requests: bool) -> list[Waiting]:
        # An ended rollout is not sampled.
        return [
            waiting
            for waiting in self._waiting
            if ((waiting.planned.event in REQUESTS) is requests or moment is Moment.ENDED)
            and waiting.is_due_at(moment)
        ]

    def _happens(self, waiting: Waiting, moment: Moment) -> None:
        if waiting not in self._waiting:
            return
        self._waiting.remove(waiting)
        planned = waiting.planned
        following_index = self.planned.events.index(planned) + 1
        following = islice(self.planned.events, following_index, following_index + 1)
        self._waiting += [Waiting(event) for event in following if event.follows]
        osd = self._target(planned.osd)
        # Changes by operators after the end are their business.
        if osd is None or (moment is Moment.ENDED and planned.event not in AFTER_THE_END):
            return
        self.happened[Happened(planned.event, moment)] += 1
        apply_event(self.world, self.watch, planned.event, osd)

    def _target(self, number: Optional[int]) -> Optional[int]:
        """The OSD that an act is about; None: it is gone."""
        osds = self.cluster.osds
        if number is not None:
            return number if number in osds else None
        state = self.world.known
        if state is None:
            return min(osds)
        flying = state.in_flight
        found = state.request.order[0] if flying is None else flying.osd_id
        return found if found in osds else None

    def _look(self, seconds: Optional[float] = None) -> None:
        self.world.guarded(lambda: self.world.look(seconds or self.planned.sample_every_s))
        self.watch.sampled()

    # -- how it ends

    def _repair(self) -> None:
        """Everything works again, and nothing is held."""
        world, cluster = self.world, self.cluster
        self._dead = heal(world, self.watch)
        self.watch.beside_itself |= self._dead
        # One that an operator starts all the same reports what it runs.
        for n in self._dead:
            cluster.osds[n].silent = False
        cluster.pg_report_s = min(cluster.pg_report_s, 5.0)
        cluster.recover_s = min(cluster.recover_s, 12.0)
        world.silent_since_s.clear()
        world.advice_fails = world.sampling_fails = False
        self._look()
        if world.state.paused_by:
            world.guarded(world.resume)
            self.watch.resumed()
        large = self.planned.topology.shape is Shape.LARGE and not self.planned.runs_to_completion
        if large and not world.state.ended:
            # The rest would take hours; the changes are rolled back.
            world.guarded(lambda: world.abort('client.a'))

    def _run_to_end(self) -> None:
        """Time passes, and the operator follows the health checks."""
        for _ in range(_MAX_SAMPLES_TO_END):
            self._look()
            state = self.world.state
            if state.ended:
                return
            self._obey(state)
        self.watch.require(Rule.ENDS, ok=False, text=f'it did not end: {self.world.state}')

    def _obey(self, state: RolloutState) -> None:
        world, cluster = self.world, self.cluster
        reason = state.paused_reason or ''
        for n in cluster.down - self._dead:
            # During rollback the rollout starts the OSDs it has to restart, or names the operator's
            # command.
            if n in _due_in_rollback(state) and f'start osd.{n} next' not in reason:
                continue
            if state.phase is Phase.WAITING and not cluster.osds[n].coming:
                cluster.start_osd(n)
        wrong = re.search(r'osd.(\d+) (?:was restarted during the rollback|comes from)', reason)
        resumes = any(hand in reason for hand in ('systemctl restart', 'the verdict on'))
        if not (wrong or resumes) or not self._text(reason):
            return
        if resumes:
            world.guarded(world.resume)
            self.watch.resumed()
        if wrong and int(wrong.group(1)) in cluster.osds:
            if cluster.osds[int(wrong.group(1))].up:
                cluster.restart_by_hand(int(wrong.group(1)))
            cluster.advance(60)

    def _text(self, reason: str) -> bool:
        """Whether operators are informed; they must be in the end."""
        now_s = self.cluster.now_s
        raised = self.world.health()
        if 'ROCKSDB_TUNER_ROLLOUT_WAITING' in raised:
            self._unreported_since_s = None
            return True
        if self._unreported_since_s is None:
            self._unreported_since_s = now_s
        untold_s = now_s - self._unreported_since_s
        self.watch.require(Rule.ALARM, untold_s < _ALARM_S, f'"{reason}" raises {raised}')
        return False

    def _roll_back(self) -> None:
        """A rollback restores the exact previous state, or names the conflict."""
        world, cluster, watch = self.world, self.cluster, self.watch
        if world.state.stage is Phase.ROLLED_BACK:
            return
        for n in cluster.down - self._dead:
            start(world, n)
        world.pass_time(120)
        if entries_blocking_rollback(world.state, cluster.entries_of()):
            self._refused()
            return
        world.rollback(None, 'client.a')
        watch.resumed()
        self._run_to_end()
        state = world.state
        watch.require(Rule.UNDO_EXACT, state.outcome is Outcome.ROLLED_BACK, f'{state}')
        watch.check_end(self.before)
        if watch.operators | watch.anybodys:
            return
        for n in set(cluster.osds) - watch.beside_itself:
            runs, wanted = cluster.runs(n), cluster.starts_with(n)
            watch.require(Rule.UNDO_EXACT, same_meaning(runs, wanted), f'osd.{n} runs {runs}')

    def _refused(self) -> None:
        reported = ''
        try:
            self.world.rollback(None, 'client.a')
        except OperationRefused as refused:
            reported = refused.message
        named = any(who in reported for who in self.watch.operators)
        self.watch.require(
            Rule.OPERATOR_WINS, named, f'a rollback over entries of others: {reported}'
        )


def carried_out(
    planned: Schedule, only: Optional[Rule] = None
) -> tuple[ScheduleRun, Optional[Violation[Rule]]]:
    """The run of a schedule, and its violation if any; see `Watch` for ``only``."""
    run = ScheduleRun(planned, only)

    def execute() -> None:
        # A rollback may be refused for what an operator did to the OSDs.
        with suppress(OperationRefused):
            run.execute()

    with patch.object(announce, 'GATE_ALARM_AFTER_S', GATE_ALARM_S):
        return run, violation(execute, run.watch, Rule.NO_TRACEBACK)


def _due_in_rollback(state: RolloutState) -> set[int]:
    if state.direction is not Direction.BACK:
        return set()
    return {osd.osd_id for osd in state.osds if osd.step is OsdStep.RESTART_DUE}


# -- the previous state, and the request


def _apply_delays(cluster: ChaosCluster, planned: Schedule) -> None:
    delays = planned.delays
    cluster.report_s, cluster.pg_report_s = delays.report_s, delays.pg_report_s
    cluster.boot_s, cluster.recover_s = delays.boot_s, delays.recover_s
    cluster.orchestrator_delay_s = delays.orchestrator_s


def _before(cluster: ChaosCluster, planned: Schedule) -> None:
    """The entries of before: of single OSDs, of a mask, of all, or none; all OSDs run them."""
    change = planned.change
    if change in {Change.REMOVE, Change.ALL_OVER_ENTRY}:
        cluster.operator_sets(ALL, OLD)
    elif change is Change.REMOVE_ALIKE:
        for who in ('osd', 'global'):
            cluster.operator_sets(who, OLD)
    elif change is Change.REMOVE_EQUAL:
        cluster.operator_sets(ALL, DEFAULTS[cluster.release])
    elif change is Change.ALL_OVER_OWN:
        for n in list(cluster.osds)[::2]:
            cluster.operator_sets(f'osd.{n}', OLD)
    elif change is Change.ALL_OVER_MASKED:
        cluster.operator_sets(CLASS, planned.value)
    elif change is Change.CLASS:
        cluster.operator_sets('global', OLD)
        cluster.operator_sets('osd/class:hdd', OLD)
    boot_s = cluster.boot_s
    for osd in cluster.osds.values():
        cluster._stop(osd)
        cluster._start(osd)
    cluster.advance(boot_s + cluster.recover_s + _SETTLES_S)


def _request(cluster: ChaosCluster, planned: Schedule) -> ChangeRequest:
    one_class = {Change.CLASS, Change.REACHES_OTHERS}
    device_classes = {'ssd'} if planned.change in one_class else None
    ids = tuple(
        n
        for n, osd in cluster.osds.items()
        if device_classes is None or osd.device_class in device_classes
    )
    targets = dict.fromkeys(ids, planned.value)
    kind, who = ChangeKind.SET_PROFILE, ALL
    entries = cluster.entries_of()
    final: tuple[tuple[str, Optional[str]], ...] = ((ALL, planned.value),)
    if planned.change.name.startswith('REMOVE'):
        kind = ChangeKind.REMOVE_OVERRIDE
        targets = {n: DEFAULTS[cluster.osds[n].release] for n in ids}
        final = tuple((entry, None) for entry in entries)
    elif planned.change is Change.CLASS:
        who = CLASS
        final = tuple((f'osd.{n}', planned.value) for n in ids)
    elif planned.change is Change.ALL_OVER_OWN:
        final = (*((entry, None) for entry in entries), (ALL, planned.value))
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
        restart=planned.change is not Change.REMOVE_EQUAL,
        option=planned.option,
        purpose=planned.purpose,
        promised='op_w_latency_ms' if planned.purpose is Purpose.GAIN else None,
    )
