"""Drives a rollout at each tick, and takes operator requests: start, control and roll back."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import NamedTuple, Optional

from ...judge.records import SoakPlan
from ...mgr.protocols import CommandError, Store
from ...observe.details import SlowEvents
from ...observe.report_interval import DEFAULT, ReportInterval
from ...observe.sample import Sample
from ...plan.commands import Action, RemoveEntry, RestartOsd, SetEntry
from ...plan.entries import as_mapping
from ...plan.records import ChangeRequest
from ..driver import Guard, OperationDriver
from ..errors import OperationRefused
from ..gates import NOT_ALLOWED
from ..history import HistoryRecord
from ..phases import Outcome, Permission, Phase
from ..phases import Step as BaseStep
from . import announce, machine
from .admission import planned
from .announce import why_failed
from .history import RolloutArchive, record_of
from .machine import Machine
from .observer import Cluster, Observer, TargetCluster, Tick
from .osd_step import must_not_wait
from .recording import NOT_SOAKING, Recording
from .records import AskedRestart, Direction, RolloutState
from .rollback import entries_blocking_rollback, rolled_back
from .rules import Limits, Observation, Step, WhyUnstartable, suppressed_in_mode_off
from .storage import PersistentClock, RolloutStorage


def execute(cluster: Cluster, action: Action, option: str) -> Optional[str]:
    """The error of the cluster; None if it accepted the action."""
    try:
        if isinstance(action, SetEntry):
            cluster.reader.set(action.who, option, action.value)
        elif isinstance(action, RemoveEntry):
            cluster.reader.remove(action.who, option)
        else:
            cluster.reader.restart_osd(action.osd_id)
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


_LOST = (
    'the stored state of the last rollout in the history is lost: check the entries in the '
    'config store; the next "ceph rocksdb-tuner apply" clears this'
)


class Driver(OperationDriver[RolloutState, Observation, Action]):
    """Runs one rollout at a time."""

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
        self._cluster = Cluster(cluster, why_unstartable)
        self._observer = Observer(self._cluster)
        self._storage = RolloutStorage(store)
        self._archive = RolloutArchive(self._storage)
        self._time = PersistentClock(self._storage)
        self._recording = Recording(self._storage)
        #: The restart requested last by another kind of operation, and its timer.
        self.other_outstanding: Callable[[], Optional[tuple[AskedRestart, Observer]]] = lambda: None
        self._machine = Machine(same_meaning, limits or Limits())
        #: Of this tick; and why the maintenance window or the daily limit keeps another OSD from
        #: starting.
        self._allowed = Permission(may_act=False)
        self._schedule_reason: Optional[str] = None
        self._watched_s = self._now_s = 0.0

    @property
    def parts(self) -> Parts:
        """Parts shared with operations that change OSDs by rollouts of their own."""
        return Parts(self._cluster, self._time, self._machine, self._observer)

    def now(self, *, forward: bool) -> Tick:
        """Inputs of this tick."""
        allowed = self._allowed
        unknown = allowed.reports_unknown if forward else None
        return Tick(
            may_act=allowed.may_act and self._changes_allowed(),
            schedule_reason=self._schedule_reason,
            no_reports_reason=allowed.no_reports_reason or unknown,
            has_sample=allowed.has_sample,
            watched_s=self._watched_s,
            steady_s=self._time.now_s,
        )

    @property
    def outstanding(self) -> Optional[AskedRestart]:
        """The last requested restart, as long as it may still happen."""
        return None if self._state is None else self._state.asked

    def set_limits(self, limits: Limits) -> None:
        """Set the time limits for restarts and the like."""
        self._machine = replace(self._machine, limits=limits)

    def tick(self, now_s: float, allowed: Permission, monotonic_s: float) -> None:
        """Observe, decide, save and act; returns at once if there is no rollout.

        ``now_s`` is the wall clock, for display and the age of a baseline; waiting is measured by
        ``monotonic_s``.
        """
        self.load()
        self._now_s, self._allowed = now_s, allowed
        steady_s = self._time.update(monotonic_s)
        self._observer.track_request(self.outstanding, steady_s)
        limit_reason = self._time.limit_reason(allowed.restarts_per_day, now_s)
        self._schedule_reason = allowed.outside_window or limit_reason
        self._time.keep(self._last_ended())
        self._watched_s = self._watched.update(None, steady_s)
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

    def _before_acting(self, action: Action) -> None:
        self._recording.keep()
        if isinstance(action, RestartOsd):
            self._time.count_restart()

    def _is_suppressed(self, state: RolloutState, action: Action, seen: Observation) -> bool:
        return suppressed_in_mode_off(state, action, seen)

    def _act(self, state: RolloutState, action: Action, now_s: float) -> bool:
        if isinstance(action, RestartOsd):
            self._observer.ask(state, action.osd_id)
        error = self._execute(action, state.request.option)
        if error is None:
            return True
        log.warning('rollout %s: %s failed: %s', state.rollout_id, action, error)
        self._save_outcome(machine.action_failed(state, action, error, now_s))
        return False

    def _execute(self, action: Action, option: str) -> Optional[str]:
        """The error of the cluster; None if it accepted the action."""
        log.info('rollout: %s (%s)', action, option)
        return execute(self._cluster, action, option)

    # -- storing

    def _load(self) -> None:
        # Paused: after a failed load, operators do not expect it to resume on its own.
        self._storage.restore_readable(lambda s: machine.paused(s, 'the module', s.updated_s))
        self._state = self._storage.load_current()
        self._time.load()
        self._archive.load(self._state)
        if self._state is not None and self._state.ended:
            self._unrecorded = not self._archive.holds(self._state)

    def _store(self, state: RolloutState) -> None:
        self._storage.save_current(state)

    def _accepted(self, state: RolloutState) -> RolloutState:
        if state.ended and (self._state is None or not self._state.ended):
            self._time.ended_now(state.rollout_id)
        return super()._accepted(state)

    def _conclude(self, state: RolloutState) -> None:
        log.info('rollout %s: %s %s', state.rollout_id, state.stage.value, state.failure or '')
        self._storage.archive(state)
        self._archive.keep(record_of(state))
        self._recording.end()

    # -- what others ask, and operators request

    @property
    def history(self) -> tuple[HistoryRecord, ...]:
        """Every change, oldest first."""
        return self._archive.records

    @property
    def since_end_s(self) -> Optional[float]:
        """Time since the last operation ended, while managers were active; None: none ended."""
        return self._time.since_end_s

    @property
    def ended_id(self) -> Optional[str]:
        """The last operation that ended, of any kind."""
        return self._time.ended_id

    @property
    def broken(self) -> tuple[str, ...]:
        """Problems of the stored state, as sentences."""
        lost = self._state is None and bool(self._archive.rollout_ids)
        return (*self._storage.problems(), *((_LOST,) if lost else ()))

    @property
    def problems(self) -> tuple[str, ...]:
        """Problems of the stored state and of the last tick, as sentences."""
        return self._storage.problems() + ((self._error,) if self._error else ())

    @property
    def acknowledged(self) -> bool:
        """Whether an operator acknowledged the end of the last rollout."""
        return self._state is not None and self._state.acknowledged

    def start(
        self, request: ChangeRequest, now_s: float, soak: Optional[SoakPlan] = None
    ) -> RolloutState:
        """Start a rollout; raises OperationRefused.

        ``soak`` None: OSDs follow at once, without verdicts.
        """
        self.load()
        self._refuse_while_running()
        entries = self._cluster.entries_now()
        state = planned(
            self._storage.next_id(),
            request,
            cluster=self._cluster.reader.cluster_map(),
            entries=as_mapping(entries, request.option),
            other_entries=as_mapping(entries, request.other_option),
            running=self._cluster.running(request, request.order),
            same_meaning=self._machine.same_meaning,
            why_unstartable=self._cluster.why_unstartable,
            now_s=now_s,
            soak=soak or SoakPlan(),
        )
        return self._start(state)

    def rollback(
        self,
        rollout_id: Optional[str],
        actor: str,
        now_s: float,
        before: Callable[[], None] = lambda: None,
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
        changed = entries_blocking_rollback(state, as_mapping(self._cluster.entries_now(), option))
        if changed:
            raise OperationRefused(
                errno.EBUSY,
                f'{option} of {", ".join(changed[:8])} has been changed outside {state.rollout_id} '
                'since then, and a rollback would overwrite that: set it by hand',
            )
        before()
        return self._start(rolled_back(state, actor, now_s))

    def name_actor(self, rollout_id: str, actor: str) -> None:
        """Record who requested a rollout, once known; raises CommandError."""
        state = self._state
        if state is None or state.rollout_id != rollout_id:
            return
        named = replace(state, request=replace(state.request, actor=actor))
        self._save(named)
        self._archive.keep(record_of(named))

    def next_number(self) -> str:
        """A new number for a change that is not a rollout."""
        self.load()
        return self._storage.next_id()[1:]

    def add_record(self, record: HistoryRecord) -> None:
        """Record the end of an operation that was not a rollout; raises CommandError."""
        known = record in self._archive.records
        self._archive.keep(record)
        if not known:
            self._time.ended_now(record.rollout_id)

    def acknowledge(self) -> bool:
        """Acknowledge a failed rollout; False if there is none. Raises OperationRefused."""
        self.load()
        if self._state is None or self.acknowledged or why_failed(self._state) is None:
            return False
        self._save_requested(replace(self._state, acknowledged=True))
        return True

    def _paused(self, state: RolloutState, actor: str, now_s: float) -> RolloutState:
        if state.direction is Direction.RECOVER and not machine.something_follows(state):
            raise OperationRefused(
                errno.EBUSY,
                'an OSD is being restored; that cannot be interrupted',
            )
        return machine.paused(state, actor, now_s)

    def _resumed(self, state: RolloutState, now_s: float) -> RolloutState:
        if not machine.waits_for_operator(state):
            waits = (
                f'it is waiting: {state.paused_reason}' if state.paused_reason else 'it is running'
            )
            raise OperationRefused(errno.EINVAL, f'the rollout is not paused; {waits}')
        return machine.resumed(state, now_s)

    def _aborted(self, state: RolloutState, actor: str, now_s: float) -> RolloutState:
        entries = self._cluster.entries_if_known(state.request.option)
        down = self._cluster.reader.cluster_map().down
        return machine.aborted(state, actor, now_s, entries, down)

    # -- storing

    def _start(self, state: RolloutState) -> RolloutState:
        self._conclude_previous(state.rollout_id)
        # A restart requested by an earlier operation may still be outstanding.
        if self._state is not None:
            state = replace(state, asked=self._state.asked)
        elsewhere = self.other_outstanding()
        if state.asked is None and elsewhere is not None:
            asked, observer = elsewhere
            state = replace(state, asked=asked)
            self._observer.take_over_request(observer)
        self._save_requested(state)
        try:
            self._archive.keep(record_of(state))
            self._storage.archive(state)
        except CommandError as error:
            # The record is written again when the rollout ends.
            log.warning('cannot store the history of %s: %s', state.rollout_id, error.message)
        return state

    def _rollout(self, name: Optional[str]) -> RolloutState:
        """The rollout to roll back."""
        current = self._state
        if current is None and not self._archive.rollout_ids:
            wanted = '' if name is None else f'there is no rollout "{name}" to roll back: '
            raise OperationRefused(errno.ENOENT, f'{wanted}there has been no rollout yet')
        if current is not None and name in {
            None,
            current.rollout_id,
            current.request.recommendation_id,
        }:
            return current
        self._refuse_while_running()
        return self._archive.found(name)

    def _refuse_while_running(self) -> None:
        if self._state is not None and not self._state.ended:
            raise OperationRefused(
                errno.EBUSY,
                f'rollout {self._state.rollout_id} is running ({self._state.phase.value}): wait '
                'for it, or abort it',
            )
