"""Drives a rollout at each tick: observes, and executes the decisions of the state machine.

Executes the actions that a state machine decided on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import NamedTuple, Optional

from ...mgr.protocols import CommandError, ConfigStore, Orchestrator, OsdCommands, Store, Upgrades
from ...observe.details import SlowEvents
from ...observe.report_interval import DEFAULT, ReportInterval
from ...observe.sample import Sample
from ...plan.commands import Action, RemoveEntry, RestartOsd, SetEntry
from ..driver import Guard, OperationDriver
from ..gates import NOT_ALLOWED
from ..phases import Outcome
from ..step import Step as BaseStep
from . import alarm, machine, operator_actions
from .history import RolloutArchive, record_of
from .machine import Machine
from .observation import Observation, WhyUnstartable
from .observer import Cluster, Observer, ReportedCluster, Tick
from .persistent_clock import PersistentClock
from .recording import NOT_SOAKING, Recording
from .records import AskedRestart, Direction, RolloutState
from .recovery import must_not_wait
from .rules import Limits, Step, suppressed_in_mode_off
from .storage import RolloutStorage


def execute(cluster: Cluster, action: Action, option: str) -> Optional[str]:
    """The error of the cluster; None if it accepted the action."""
    try:
        if isinstance(action, SetEntry):
            cluster.config.set(action.who, option, action.value)
        elif isinstance(action, RemoveEntry):
            cluster.config.remove(action.who, option)
        else:
            cluster.orchestrator.restart_osd(action.osd_id)
    except CommandError as error:
        return error.message
    return None


log = logging.getLogger(__name__)


class Parts(NamedTuple):
    """Parts of a rollout under way."""

    cluster: Cluster
    time: PersistentClock
    machine: Machine
    observer: Observer


class RolloutTicks(OperationDriver[RolloutState, Observation, Action]):
    """Drives a rollout under way."""

    KIND = 'rollout'

    def __init__(
        self,
        config: ConfigStore,
        osds: OsdCommands,
        orchestrator: Orchestrator,
        cluster: ReportedCluster,
        upgrades: Upgrades,
        store: Store,
        same_meaning: Callable[[str, str], bool],
        why_unstartable: WhyUnstartable = lambda *_: None,
        limits: Optional[Limits] = None,
        on_change: Callable[[Optional[RolloutState], RolloutState], None] = lambda *_: None,
        changes_allowed: Callable[[], bool] = lambda: True,
        guard: Optional[Guard] = None,
    ) -> None:
        """``on_change`` is called with the previous state and each newly stored one."""
        super().__init__(changes_allowed, guard)
        self._cluster = Cluster(config, osds, orchestrator, cluster, upgrades, why_unstartable)
        self._observer = Observer(self._cluster)
        self._storage = RolloutStorage(store)
        self._archive = RolloutArchive(self._storage)
        self._time = PersistentClock(self._storage)
        self._recording = Recording(self._storage)
        self._on_change = on_change
        #: The restart requested last by another kind of operation, and its timer.
        self.other_outstanding: Callable[[], Optional[tuple[AskedRestart, Observer]]] = lambda: None
        self._machine = Machine(same_meaning, limits or Limits())
        #: The rollout whose end an operator acknowledged.
        self._acknowledged: Optional[str] = None
        self._problems: tuple[str, ...] = ()
        #: Why the maintenance window or the daily limit keeps another OSD from starting.
        self._schedule_reason: Optional[str] = None
        self._no_reports_reason: Optional[str] = None
        self._has_sample: Callable[[int], bool] = lambda _: False
        self._reports_unknown: Optional[str] = None
        self._may_act = False
        self._watched_s = self._now_s = 0.0

    @property
    def parts(self) -> Parts:
        """Parts shared with operations that change OSDs by rollouts of their own."""
        return Parts(self._cluster, self._time, self._machine, self._observer)

    def now(self, *, forward: bool) -> Tick:
        """Inputs of this tick; a rollback does not wait for OSD reports."""
        return Tick(
            may_act=self._may_act and self._changes_allowed(),
            schedule_reason=self._schedule_reason,
            no_reports_reason=self._no_reports_reason
            or (self._reports_unknown if forward else None),
            has_sample=self._has_sample,
            watched_s=self._watched_s,
            steady_s=self._time.now_s,
        )

    @property
    def outstanding(self) -> Optional[AskedRestart]:
        """The last requested restart, as long as it may still happen."""
        return None if self._state is None else self._state.asked

    def set_limits(self, limits: Limits) -> None:
        """Set the time limits for restarts and the like."""
        if limits != self._machine.limits:
            self._machine = replace(self._machine, limits=limits)

    def tick(
        self,
        now_s: float,
        may_act: bool,
        outside_window: Optional[str] = None,
        restarts_per_day: int = 0,
        no_reports_reason: Optional[str] = None,
        reports_unknown: Optional[str] = None,
        has_sample: Callable[[int], bool] = lambda _: False,
        monotonic_s: Optional[float] = None,
    ) -> None:
        """Observe, decide, save and act; returns at once if there is no rollout.

        ``now_s`` is the wall clock, for display and the age of a baseline; waiting is measured by
        ``monotonic_s`` (None: by ``now_s``). ``may_act`` False means mode off: only the recovery of
        a failed OSD continues. ``outside_window`` is why no further OSD may be started now.
        ``restarts_per_day`` 0 sets no limit. ``no_reports_reason`` is why the manager has no
        current OSD reports; ``reports_unknown`` is why it does not know yet: a rollback does not
        wait for that. ``has_sample`` is whether it has a current sample of an OSD.
        """
        self.load()
        self._now_s = now_s
        steady_s = self._time.update(now_s if monotonic_s is None else monotonic_s)
        asked = None if self._state is None else self._state.asked
        self._observer.track_request(asked, steady_s)
        self._schedule_reason = outside_window or self._time.limit_reason(restarts_per_day, now_s)
        self._time.keep(self._last_ended())
        self._no_reports_reason, self._reports_unknown = no_reports_reason, reports_unknown
        self._has_sample = has_sample
        self._may_act, self._watched_s = may_act, self._watched.update(None, steady_s)
        if self._problems:
            self._problems = self._storage.problems()
        if self._state is not None:
            self._advance(now_s, self._observe, self._wait_key, steady_s)

    def _last_ended(self) -> Iterator[str]:
        """The last operations that ended; the archive may lack the end of a rollout."""
        if self._state is not None and self._state.ended:
            yield self._state.rollout_id
        ended = (r for r in reversed(self._archive.records) if r.outcome is not Outcome.WAITING)
        yield from (record.rollout_id for record in islice(ended, 1))

    def _wait_key(self, state: RolloutState) -> object:
        """What it waits for; a new value each time if it does not wait, or by choice."""
        reason = state.paused_reason
        chosen = state.paused_by is not None and state.direction is not Direction.RECOVER
        if (
            state.ended
            or reason is None
            or chosen
            or reason in {NOT_ALLOWED, self._schedule_reason}
        ):
            return object()
        return machine.wait_key(state), tuple(osd.step for osd in state.osds)

    def observed(
        self,
        newest: Callable[[int], Optional[Sample]],
        now_s: float,
        slow_events: Callable[[Iterable[int]], Mapping[int, SlowEvents]] = lambda _: {},
        reports: ReportInterval = DEFAULT,
    ) -> None:
        """Use the latest samples; ``newest`` returns the last sample of an OSD.

        ``slow_events`` is called for compared OSDs only, and only while they are compared.
        """
        state = self._state
        if state is None or state.ended or state.soak.most_s <= 0:
            return
        self._recording.compare_clocks(now_s, self._time.now_s)
        self._recording.add(state, newest, now_s, self._schedule_reason, slow_events, reports)

    # -- one step

    def _observe(self, state: RolloutState) -> Observation:
        tick = self.now(forward=state.direction is Direction.FORWARD)
        self._recording.compare_clocks(self._now_s, self._time.now_s)
        found = self._guard.value(
            'judging', lambda: self._recording.found(state, self._now_s), NOT_SOAKING
        )
        return self._observer.observe(state, self._machine, found, tick)

    def _decide(self, state: RolloutState, seen: Observation, now_s: float) -> Step:
        return self._machine.step(state, seen, now_s)

    def _must_not_wait(
        self, state: RolloutState, step: BaseStep[RolloutState, Action], seen: Observation
    ) -> bool:
        return must_not_wait(state, step.state, step.actions, seen)

    def _in_danger(self, state: RolloutState) -> Optional[str]:
        return alarm.in_danger(state)

    def _before_acting(self, action: Action, now_s: float) -> None:
        self._recording.keep()
        if isinstance(action, RestartOsd):
            self._count_restart(now_s)

    def _count_restart(self, now_s: float) -> None:
        self._time.count_restart(now_s)

    def _is_suppressed(self, state: RolloutState, action: Action, seen: Observation) -> bool:
        return suppressed_in_mode_off(state, action, seen)

    def _suppressed_text(self, action: Action) -> str:
        return f'rollout {self._last.rollout_id}: not sent in mode off: {action}'

    def _act(self, state: RolloutState, action: Action, now_s: float) -> bool:
        if isinstance(action, RestartOsd):
            self._observer.ask(state, action.osd_id)
        error = self._execute(action, state.request.option)
        if error is None:
            return True
        log.warning('rollout %s: %s failed: %s', state.rollout_id, action, error)
        self._save_outcome(operator_actions.action_failed(state, action, error, now_s))
        return False

    def _execute(self, action: Action, option: str) -> Optional[str]:
        """The error of the cluster; None if it accepted the action."""
        log.info('rollout: %s (%s)', action, option)
        return execute(self._cluster, action, option)

    # -- storing

    def _load(self) -> None:
        # Paused: after a failed load, operators do not expect it to resume on its own.
        self._storage.restore_readable(
            lambda s: operator_actions.paused(s, 'the module', s.updated_s)
        )
        self._state = self._storage.load_current()
        self._acknowledged = self._storage.load_acknowledged()
        self._time.load()
        self._archive.load(self._state)
        self._problems = self._storage.problems()
        if self._state is not None and self._state.ended:
            self._unrecorded = not self._archive.holds(self._state)

    def _store(self, state: RolloutState) -> None:
        self._storage.save_current(state)

    def _saved(self, before: Optional[RolloutState], state: RolloutState) -> None:
        if state.ended and not (before is not None and before.ended):
            self._time.ended_now(state.rollout_id)

    def _announce(self, before: Optional[RolloutState], state: RolloutState) -> None:
        self._on_change(before, state)

    def _conclude(self, state: RolloutState) -> None:
        log.info('rollout %s: %s %s', state.rollout_id, state.stage.value, state.failure or '')
        self._storage.archive(state)
        self._archive.keep(record_of(state), state)
        self._recording.end()

    def _why_waiting(self, state: RolloutState, waited_s: float) -> Optional[str]:
        return alarm.why_waiting(state, waited_s)
