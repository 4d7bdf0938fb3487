"""Drives a rollout at each tick, and takes operator requests: start, control and roll back."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Optional

from ...judge.records import SoakPlan
from ...mgr.protocols import CommandError, Store
from ...observe.details import SlowEvents
from ...observe.report_interval import DEFAULT, ReportInterval
from ...observe.sample import Sample
from ...plan.commands import Action, RestartOsd
from ...plan.entries import as_mapping
from ...plan.records import ChangeRequest
from ..driver import Guard, OperationDriver
from ..history import HistoryRecord
from ..phases import OperationRefused, Outcome, Permission, Phase
from . import announce, machine
from .admission import planned
from .announce import why_failed
from .machine import Machine
from .observer import Cluster, Observer, TargetCluster
from .osd_step import must_not_wait
from .recording import NOT_SOAKING, Recording
from .records import AskedRestart, Direction, RolloutState, others_changed
from .rollback import entries_blocking_rollback, presumed_changed, rolled_back
from .rules import Limits, Observation, Step, WhyUnstartable, suppressed_in_mode_off
from .storage import PersistentClock, RolloutStorage, number_of, record_of

log = logging.getLogger(__name__)

_LOST = (
    'the stored state of the last rollout in the history is lost: check the entries in the '
    'config store; the next "ceph rocksdb-tuner apply" clears this'
)


class Driver(OperationDriver[RolloutState, Observation, Action]):
    """Runs one rollout at a time.

    Operations that change OSDs by rollouts of their own share cluster, observer, time and machine.
    """

    KIND = 'rollout'

    def __init__(
        self,
        cluster: TargetCluster,
        store: Store,
        same_meaning: Callable[[str, str], bool],
        why_unstartable: WhyUnstartable = lambda *_: None,
        limits: Optional[Limits] = None,
        changes_allowed: Callable[[], bool] = lambda: True,
        guard: Optional[Guard] = None,
    ) -> None:
        super().__init__(cluster, announce.TEXTS, changes_allowed, guard)
        self.cluster = Cluster(cluster, why_unstartable)
        self._storage = RolloutStorage(store)
        self._quarantine, self._stored = self._storage.quarantine, self._storage.current
        self.time = PersistentClock(self._storage)
        self.machine = Machine(same_meaning, limits or Limits())
        self.observer = Observer(self.cluster)
        self._recording = Recording(self._storage)

    @property
    def allowed(self) -> Permission:
        """At this moment: the mode may change within a tick."""
        return replace(self._allowed, may_act=self._allowed.may_act and self._changes_allowed())

    @property
    def outstanding(self) -> Optional[AskedRestart]:
        """The last restart that was requested, while it may still happen."""
        return None if self._state is None else self._state.asked

    def handed_over(self) -> None:
        """An operation of another kind keeps `outstanding` from now on.

        An ended rollout would keep it for ever, and hide a later one.
        """
        state = self._state
        if state is not None and state.ended and state.asked is not None:
            with suppress(CommandError):  # The next tick tries again.
                self._save(replace(state, asked=None))

    def set_limits(self, limits: Limits) -> None:
        self.machine = replace(self.machine, limits=limits)

    def tick(self, now_s: float, allowed: Permission, monotonic_s: float) -> None:
        """Observe, decide, save and act; returns at once if there is no rollout.

        ``now_s`` is the wall clock, for display and the age of a baseline.
        """
        self.load()
        steady_s = self.time.update(monotonic_s)
        self.observer.requested.track(steady_s)
        limit_reason = self.time.limit_reason(allowed.restarts_per_day, now_s)
        self._allowed = replace(
            allowed,
            outside_window=allowed.outside_window or limit_reason,
            watched_s=self._watched.update(None, steady_s),
        )
        self.time.keep()
        if self._state is not None:
            self._advance(now_s, steady_s)

    def observed(
        self,
        newest: Callable[[int], Optional[Sample]],
        now_s: float,
        slow_events: Callable[[Iterable[int]], Mapping[int, SlowEvents]] = lambda _: {},
        reports: ReportInterval = DEFAULT,
    ) -> None:
        """Use the latest samples; ``newest`` returns the last sample of an OSD."""
        state = self._state
        if state is None or state.ended or state.soak.most_s <= 0:
            return
        self._recording.compare_clocks(now_s, self.time.now_s)
        idle_reason = self._allowed.outside_window
        self._recording.add(state, newest, now_s, idle_reason, slow_events, reports)

    # -- one step

    def _observe(self, state: RolloutState) -> Observation:
        self._recording.compare_clocks(self._now_s, self.time.now_s)
        found = self._guard.value(
            'judging', lambda: self._recording.found(state, self._now_s), NOT_SOAKING
        )
        return self.observer.observe(state, self.machine, found, self.allowed, self.time.now_s)

    def _decide(self, state: RolloutState, seen: Observation, now_s: float) -> Step:
        return self.machine.step(state, seen, now_s)

    def _must_not_wait(self, state: RolloutState, step: Step, seen: Observation) -> bool:
        return must_not_wait(state, step.state, step.actions, seen)

    def _before_acting(self, action: Action) -> None:
        self._recording.keep()
        if isinstance(action, RestartOsd):
            self.time.count_restart()

    def _is_suppressed(self, state: RolloutState, action: Action, seen: Observation) -> bool:
        return suppressed_in_mode_off(state, action, seen)

    def _act(self, state: RolloutState, action: Action, now_s: float) -> bool:
        if isinstance(action, RestartOsd):
            self.observer.requested.send(state)
        error = self.cluster.execute(action, state.request.option)
        if error is None:
            return True
        log.warning('rollout %s: %s failed: %s', state.rollout_id, action, error)
        self._save_outcome(machine.action_failed(state, action, error, now_s))
        return False

    def _waits_at(self, state: RolloutState) -> object:
        return machine.waits_at(state)

    # -- storing

    def _load(self) -> None:
        super()._load()
        self.time.load()
        self._storage.load_history(self._state)
        ended = [r.rollout_id for r in self.history if r.outcome is not Outcome.WAITING]
        if ended and number_of(ended[-1]) > number_of(self.time.ended_id or ''):
            # Its time is lost, or never was stored: count from now.
            self.time.ended_now(ended[-1])

    def _store(self, state: RolloutState) -> None:
        if state.ended and self.under_way:
            # First: a manager that takes over in between ends it again.
            self.time.ended_now(state.rollout_id)
        super()._store(state)

    def _conclude(self, state: RolloutState) -> None:
        log.info('rollout %s: %s %s', state.rollout_id, state.stage.value, state.failure or '')
        self._storage.archive(state)
        self._storage.keep(record_of(state))
        self._recording.end()

    # -- what others ask

    @property
    def history(self) -> tuple[HistoryRecord, ...]:
        """Every change, oldest first."""
        return self._storage.records

    @property
    def broken(self) -> tuple[str, ...]:
        """Problems of the stored state, as sentences."""
        lost = self._state is None and bool(self._storage.rollout_ids)
        return (*self._storage.quarantine.problems(), *((_LOST,) if lost else ()))

    @property
    def problems(self) -> tuple[str, ...]:
        return self._storage.quarantine.problems() + super().problems

    @property
    def acknowledged(self) -> bool:
        return self._state is not None and self._state.acknowledged

    # -- what operators request

    def start(
        self,
        request: ChangeRequest,
        now_s: float,
        soak: Optional[SoakPlan] = None,
        elsewhere: Optional[AskedRestart] = None,
    ) -> RolloutState:
        """Start a rollout; raises OperationRefused.

        ``soak`` None: OSDs follow at once, without verdicts. ``elsewhere`` is the restart that an
        operation of another kind requested.
        """
        self._refuse_while_running()
        entries = self.cluster.entries_now()
        state = planned(
            f'r{self.next_number()}',
            request,
            cluster=self.cluster.reader.cluster_map(),
            entries=as_mapping(entries, request.option),
            other_entries=as_mapping(entries, request.other_option),
            running=self.cluster.running(request, request.order),
            same_meaning=self.machine.same_meaning,
            why_unstartable=self.cluster.why_unstartable,
            now_s=now_s,
            soak=soak or SoakPlan(),
        )
        return self._start(state, elsewhere)

    def rollback(
        self,
        rollout_id: Optional[str],
        actor: str,
        now_s: float,
        before: Callable[[], None] = lambda: None,
        elsewhere: Optional[AskedRestart] = None,
    ) -> RolloutState:
        """Roll back a rollout (None: the last one); raises OperationRefused.

        ``rollout_id`` may also be the id of its recommendation. ``before`` is called once all other
        checks have passed; it may raise OperationRefused.
        """
        self.load()
        state = self._rollout(rollout_id)
        if state.stage is Phase.ROLLED_BACK:
            raise OperationRefused(
                errno.EALREADY, f'{state.rollout_id} has already been rolled back'
            )
        if state.direction is Direction.BACK and not state.ended:
            raise OperationRefused(errno.EALREADY, f'{state.rollout_id} is being rolled back')
        option = state.request.option
        changed = entries_blocking_rollback(state, as_mapping(self.cluster.entries_now(), option))
        if changed:
            raise OperationRefused(
                errno.EBUSY,
                f'{option} of {", ".join(changed[:8])} has been changed outside {state.rollout_id} '
                'since then, and a rollback would overwrite that: set it by hand',
            )
        before()
        return self._start(rolled_back(state, actor, now_s), elsewhere)

    def _start(self, state: RolloutState, elsewhere: Optional[AskedRestart]) -> RolloutState:
        # A restart requested by an earlier operation may still be outstanding.
        state = replace(state, asked=self.outstanding or elsewhere)
        self._begin(state)
        try:
            self._storage.keep(record_of(state))
            self._storage.archive(state)
        except CommandError as error:
            # The record is written again when the rollout ends.
            log.warning('cannot store the history of %s: %s', state.rollout_id, error.message)
        return state

    def _rollout(self, name: Optional[str]) -> RolloutState:
        """The rollout to roll back."""
        current = self._state
        if current is None and not self._storage.rollout_ids:
            wanted = '' if name is None else f'there is no rollout "{name}" to roll back: '
            raise OperationRefused(errno.ENOENT, f'{wanted}there has been no rollout yet')
        if current and name in {None, current.rollout_id, current.request.recommendation_id}:
            return current
        self._refuse_while_running()
        found = self._storage.archived(self._storage.rollout_ids[-1] if name is None else name)
        if found is None:
            known = ', '.join(record.rollout_id for record in self.history[-8:])
            raise OperationRefused(
                errno.ENOENT, f'there is no rollout "{name}" to roll back; the last are {known}'
            )
        # A state stored before the end does not show the final progress.
        return found if found.ended else presumed_changed(found)

    def name_actor(self, rollout_id: str, actor: str) -> None:
        state = self._state
        if state is None or state.rollout_id != rollout_id:
            return
        named = self._save(self._named(state, actor))
        self._storage.keep(record_of(named))

    def next_number(self) -> str:
        """A new number for a change; not that of an end which the history does not have yet."""
        self.load()
        ended = number_of(self.time.ended_id or '')
        return str(max(number_of(self._storage.next_id()), ended + 1))

    def add_record(self, record: HistoryRecord) -> None:
        """Record the end of an operation that was not a rollout; raises CommandError."""
        if record not in self._storage.records:
            self.time.ended_now(record.rollout_id)
        self._storage.keep(record)

    def acknowledge(self) -> bool:
        """Acknowledge a failed rollout; False if there is none. Raises OperationRefused."""
        self.load()
        if self._state is None or self.acknowledged or why_failed(self._state) is None:
            return False
        self._save_requested(replace(self._state, acknowledged=True))
        return True

    def pause(self, actor: str, now_s: float) -> RolloutState:
        state = self._running()
        osd = state.in_flight
        follows = others_changed(state, None if osd is None else osd.osd_id)
        if state.direction is Direction.RECOVER and not follows:
            raise OperationRefused(
                errno.EBUSY, 'an OSD is being restored; that cannot be interrupted'
            )
        return super().pause(actor, now_s)

    def _paused(self, state: RolloutState, actor: str, now_s: float) -> RolloutState:
        return machine.paused(state, actor, now_s)

    def _waits_for_operator(self, state: RolloutState) -> bool:
        return machine.waits_for_operator(state)

    def _resumed(self, state: RolloutState, now_s: float) -> RolloutState:
        return machine.resumed(state, now_s)

    def _aborted(self, state: RolloutState, actor: str, now_s: float) -> RolloutState:
        entries = self.cluster.entries_if_known(state.request.option)
        down = self.cluster.reader.cluster_map().down
        return machine.aborted(state, actor, now_s, entries, down)
