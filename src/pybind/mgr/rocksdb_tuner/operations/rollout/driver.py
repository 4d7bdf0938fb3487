"""Carries out what the machine decides: the only part of a rollout that does I/O."""

from __future__ import annotations

import errno
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Callable, Optional, TypeVar

from ...judge.records import SoakPlan
from ...mgr.protocols import (
    ClusterReader,
    CommandError,
    ConfigStore,
    Orchestrator,
    OsdCommands,
    Store,
    Upgrades,
)
from ...mgr.records import ConfigEntry, DaemonVersions, OrchestratedDaemon, RunningOption
from ...observe.sample import Sample
from ...observe.trouble import Trouble
from ...plan.actions import Action, RemoveEntry, RestartOsd, SetEntry
from ...plan.entries import as_mapping
from ...plan.records import ANNEX, OPTION, ChangeRequest
from ..errors import OperationRefused
from ..gates import NOT_ALLOWED
from ..guard import Guard, Unguarded
from ..history import HistoryRecord
from ..leaving import absent_of
from ..phases import Outcome, Phase
from ..stopwatch import ClockState, LastChange, SteadyClock, Stopwatch
from . import acts, alarm, machine
from .admission import planned
from .back import perhaps_changed, rolled_back
from .batches import watched_batch
from .foreign import entries_in_the_way
from .history import record_of
from .machine import Machine
from .observation import RESTARTED_TOGETHER_S, Needs, Observation
from .outstanding import cannot_happen
from .recording import NOTHING_FOUND, Recording
from .records import AskedRestart, Direction, RolloutState
from .restart_log import DAY_S, RestartLog
from .rules import Limits, stays_in_mode_off
from .soak import lost_process
from .starting import REFRESH_S, SignsOfLife
from .states import in_flight
from .storage import RolloutStorage, number_of

log = logging.getLogger(__name__)

#: A tick ends after this many steps, whatever is still to do: other work waits for it.
STEPS_PER_TICK = 10
#: A manager that takes over knows of all but so much of the time that passed.
KEEP_TIME_S = 600.0
#: After this nobody asks any more how long ago a rollout ended.
_LONG_AGO_S = 32 * DAY_S

_LOST = (
    'the stored state of the last rollout is lost, of which history tells: have a look at the '
    'entries in the config store; it is settled by the next "ceph rocksdb-tuner apply"'
)

_T = TypeVar('_T')


class Driver:
    """One rollout at a time, over a cluster.

    Everything but the properties waits for monitors and must be called from the module's serve
    thread only. The properties never wait and may be read from any thread.
    """

    def __init__(
        self,
        config: ConfigStore,
        osds: OsdCommands,
        orchestrator: Orchestrator,
        cluster: ClusterReader,
        upgrades: Upgrades,
        store: Store,
        same_meaning: Callable[[str, str], bool],
        limits: Optional[Limits] = None,
        on_change: Callable[[Optional[RolloutState], RolloutState], None] = lambda *_: None,
        switched_on: Callable[[], bool] = lambda: True,
        guard: Optional[Guard] = None,
    ) -> None:
        """``on_change`` hears of every state once it is stored, with the one before it.

        ``switched_on`` tells whether the mode allows changes at this very moment. ``guard`` runs
        what an OSD in flight must not wait for: judging and announcing.
        """
        self._config = config
        self._osds = osds
        self._orchestrator = orchestrator
        self._cluster = cluster
        self._upgrades = upgrades
        self._storage = RolloutStorage(store)
        self._on_change = on_change
        self._switched_on = switched_on
        self._guard = guard or Unguarded()
        self._machine = Machine(same_meaning, limits or Limits())
        self._state: Optional[RolloutState] = None
        #: The last write of the state failed, or only its answer was lost.
        self._store_unsure = False
        self._history: tuple[HistoryRecord, ...] = ()
        #: The rollout whose end an operator has taken note of.
        self._acknowledged: Optional[str] = None
        self._problems: tuple[str, ...] = ()
        self._trouble: Optional[str] = None
        self._loaded = False
        #: An end that history does not know yet.
        self._unrecorded = False
        #: The restarts of the last day, of all rollouts.
        self._restarts = RestartLog()
        #: By which limits and waiting are measured; when it was stored; and when, by it, the last
        #: rollout ended.
        self._clock = SteadyClock()
        self._time_kept_s = 0.0
        self._ended: Optional[tuple[str, float]] = None
        #: Why no OSD may be begun now, though nothing is wrong.
        self._not_now: Optional[str] = None
        self._deaf: Optional[str] = None
        self._unheard: Optional[str] = None
        self._recording = Recording(self._storage)
        self._watching = Stopwatch()
        self._waiting = Stopwatch()
        self._down = Stopwatch()
        self._absent = Stopwatch()
        self._life = SignsOfLife()
        self._lifeless = Stopwatch()
        #: How often the orchestrator was asked to look at the OSD that is down.
        self._refreshed = 0
        #: The OSD in flight that was down last, and for how long.
        self._was_down: tuple[Optional[int], float] = (None, 0.0)
        #: How long it waits without a step for what the operator did not choose.
        self._stuck = Stopwatch()
        self._stuck_s = 0.0
        self._osds_changed = LastChange()
        self._moves: dict[int, LastChange] = {}
        self._soaking = Stopwatch()
        #: The restart that this manager asked for last.
        self._asked: Optional[tuple[str, int]] = None
        #: The request that may still be carried out: how long this manager knows of it, whether it
        #: made it, and whether it has seen it among what is scheduled.
        self._since_asked = Stopwatch()
        self._request: Optional[AskedRestart] = None
        self._scheduled: Optional[AskedRestart] = None

    @property
    def state(self) -> Optional[RolloutState]:
        """The running rollout, or the last one; None before the first (and before `load`)."""
        return self._state

    @property
    def history(self) -> tuple[HistoryRecord, ...]:
        """Every change, oldest first."""
        return self._history

    @property
    def since_end_s(self) -> Optional[float]:
        """How long ago the last rollout ended, as far as managers saw time pass; None: none did."""
        return None if self._ended is None else max(self._clock.now_s - self._ended[1], 0.0)

    @property
    def broken(self) -> tuple[str, ...]:
        """What is wrong with the stored state, in sentences."""
        lost = self._state is None and any(r.rollout_id.startswith('r') for r in self._history)
        return (*self._problems, *((_LOST,) if lost else ()))

    @property
    def problems(self) -> tuple[str, ...]:
        """What an operator must know of the stored state and of the last tick, in sentences."""
        return self._problems + ((self._trouble,) if self._trouble else ())

    @property
    def acknowledged(self) -> bool:
        """Whether an operator has taken note of how the last rollout ended."""
        return self._state is not None and self._acknowledged == self._state.rollout_id

    def why_waiting(self, gate_alarm_after_s: float) -> Optional[str]:
        """What the operator has to do for it; None where it needs nobody: see `alarm`."""
        if self._state is None:
            return None
        return alarm.why_waiting(self._state, self._stuck_s, gate_alarm_after_s)

    def wait_at_most(self, limits: Limits) -> None:
        """From now on, wait for restarts and the like no longer than this."""
        if limits != self._machine.limits:
            self._machine = replace(self._machine, limits=limits)

    def load(self) -> None:
        """Read what is stored, once. Never raises: what cannot be read is set aside."""
        if self._loaded:
            return
        self._loaded = True
        # Whoever saw it fail to load does not expect it to go on by itself.
        self._storage.take_back_readable(lambda s: acts.paused(s, 'the module', s.updated_s))
        self._state = self._storage.load_current()
        self._acknowledged = self._storage.load_acknowledged()
        self._restarts = self._storage.load_restarts()
        stored = self._storage.load_clock()
        self._clock, self._ended, self._time_kept_s = (
            SteadyClock(stored.passed_s),
            stored.ended,
            stored.passed_s,
        )
        self._history = tuple(map(self._known, self._storage.load_history()))
        self._problems = self._storage.problems()
        if self._state is not None and self._state.ended:
            self._unrecorded = record_of(
                self._state
            ) not in self._history or not self._storage.is_archived(self._state.rollout_id)

    def tick(
        self,
        now_s: float,
        may_act: bool,
        outside_window: Optional[str] = None,
        restarts_per_day: int = 0,
        deaf: Optional[str] = None,
        unheard: Optional[str] = None,
        monotonic_s: Optional[float] = None,
    ) -> None:
        """Look, decide, save, act; returns at once where nothing is being rolled out.

        ``now_s`` is the time of day, for display; waiting is measured by ``monotonic_s``, a clock
        that nobody sets (None: there is no other). ``may_act`` False is the kill switch: nothing
        new is changed, only an OSD that failed gets its entry back, and is started if it is down.
        ``outside_window`` says why no further OSD may be begun now; None if one may.
        ``restarts_per_day`` 0 sets no limit. ``deaf`` says why the manager does not know how the
        OSDs are; None if it does. ``unheard`` says why it cannot be told whether it does: what goes
        back does not wait for that.
        """
        self.load()
        # Also after the end: what was asked for last may still be carried out.
        steady_s = self._clock.look(now_s if monotonic_s is None else monotonic_s)
        self._since_asked.look(self._state and self._state.asked, steady_s)
        self._restarts = self._restarts.looked_at(steady_s)
        used_up = self._restarts.used_up(restarts_per_day, now_s, steady_s)
        self._not_now = outside_window or used_up
        self._keep_time()
        self._deaf, self._unheard = deaf, unheard
        watched_s = self._watching.look(None, steady_s)
        if self._problems:
            self._problems = self._storage.problems()
        if self._state is None:
            return
        try:
            for _ in range(STEPS_PER_TICK):
                if self._state.ended:
                    break
                if not self._step(self._state, now_s, may_act=may_act, watched_s=watched_s):
                    break
            if self._unrecorded:
                self._conclude(self._state)
        except (CommandError, OperationRefused) as error:
            trouble = f'the rollout cannot go on now: {error.message}'
            if trouble != self._trouble:
                log.warning(trouble)
            self._trouble = trouble
        else:
            self._trouble = None
        self._stuck_s = self._stuck.look(self._stuck_at(self._state), steady_s)

    def _stuck_at(self, state: RolloutState) -> object:
        """Where it waits; another value each time where it does not, or where that was chosen."""
        reason = state.paused_reason
        chosen = state.paused_by is not None and state.direction is not Direction.RECOVER
        if state.ended or reason is None or chosen or reason in {NOT_ALLOWED, self._not_now}:
            return object()
        return machine.wait_key(state), tuple(osd.step for osd in state.osds)

    def observed(
        self,
        newest: Callable[[int], Optional[Sample]],
        now_s: float,
        trouble: Callable[[Iterable[int]], Mapping[int, Trouble]] = lambda _: {},
    ) -> None:
        """Take what was sampled just now: ``newest`` gives the last sample of an OSD.

        ``trouble`` is asked for those that are compared, and only while they are.
        """
        state = self._state
        if state is None or state.ended or state.soak.most_s <= 0:
            return
        self._recording.add(state, newest, now_s, self._not_now, trouble)

    def start(
        self, request: ChangeRequest, now_s: float, soak: Optional[SoakPlan] = None
    ) -> RolloutState:
        """Begin to carry out a request; raises OperationRefused.

        ``soak`` None: every OSD follows at once, and nothing is judged.
        """
        self.load()
        self._refuse_while_running()
        entries = self._entries_now()
        state = planned(
            self._storage.next_id(),
            request,
            cluster=self._cluster.cluster_map(),
            entries=as_mapping(entries, request.option),
            other_entries=as_mapping(entries, request.other_option),
            running=self._running(request, request.order),
            same_meaning=self._machine.same_meaning,
            now_s=now_s,
            soak=soak or SoakPlan(),
        )
        return self._begin(state)

    def rollback(
        self,
        rollout_id: Optional[str],
        actor: str,
        now_s: float,
        before: Callable[[], None] = lambda: None,
    ) -> RolloutState:
        """Restore what was there before a rollout (None: the last one); raises OperationRefused.

        ``rollout_id`` may also be the id of the recommendation that it carried out. ``before`` is
        called once nothing refuses it any more; it may raise OperationRefused.
        """
        self.load()
        state = self._rollout(rollout_id)
        if state.stage is Phase.ROLLED_BACK:
            raise OperationRefused(errno.EALREADY, f'{state.rollout_id} was rolled back already')
        if state.direction is Direction.BACK and not state.ended:
            raise OperationRefused(errno.EALREADY, f'{state.rollout_id} is being rolled back')
        option = state.request.option
        changed = entries_in_the_way(state, as_mapping(self._entries_now(), option))
        if changed:
            raise OperationRefused(
                errno.EBUSY,
                f'{option} of {", ".join(changed[:8])} was changed since by somebody else, which '
                f'a rollback of {state.rollout_id} would undo: set it as wanted by hand',
            )
        before()
        return self._begin(rolled_back(state, actor, now_s))

    def name_actor(self, rollout_id: str, actor: str) -> None:
        """Who asked for a rollout, now that it is known; raises CommandError."""
        state = self._state
        if state is None or state.rollout_id != rollout_id:
            return
        named = replace(state, request=replace(state.request, actor=actor))
        self._save(named)
        self._record(named)

    def next_number(self) -> str:
        """A running number for a change that is no rollout, which no other had before."""
        self.load()
        return self._storage.next_id()[1:]

    def add_record(self, record: HistoryRecord) -> None:
        """Keep a change that was no rollout; raises CommandError."""
        self._keep_record(record)

    def pause(self, actor: str, now_s: float) -> RolloutState:
        """Begin nothing more until `resume`; raises OperationRefused."""
        state = self._running_rollout()
        if state.direction is Direction.RECOVER and not acts.something_follows(state):
            raise OperationRefused(
                errno.EBUSY,
                'an OSD is being put back to what it had; that is not interrupted',
            )
        return self._keep(acts.paused(state, actor, now_s))

    def resume(self, now_s: float) -> RolloutState:
        """Go on after `pause`, or try at once what failed before; raises OperationRefused."""
        state = self._running_rollout()
        if not acts.waits_for_operator(state):
            waits = f'it waits: {state.paused_reason}' if state.paused_reason else 'it is running'
            raise OperationRefused(errno.EINVAL, f'the rollout is not paused; {waits}')
        return self._keep(acts.resumed(state, now_s))

    def abort(self, actor: str, now_s: float) -> RolloutState:
        """End the rollout as soon as the OSD in flight is safe; raises OperationRefused."""
        state = self._running_rollout()
        entries: Optional[Mapping[str, str]] = None
        with suppress(CommandError):
            entries = as_mapping(self._entries(), state.request.option)
        return self._keep(acts.aborted(state, actor, now_s, entries))

    def acknowledge(self) -> RolloutState:
        """Take note of how the last rollout ended; raises OperationRefused."""
        self.load()
        if self._state is None:
            raise OperationRefused(errno.ENOENT, 'there was no rollout yet')
        if not self._state.ended:
            raise OperationRefused(
                errno.EBUSY,
                f'rollout {self._state.rollout_id} has not ended '
                f'({self._state.phase.value}): there is nothing to take note of yet',
            )
        self._save_acknowledged(self._state.rollout_id)
        return self._state

    def _save_acknowledged(self, rollout_id: Optional[str]) -> None:
        try:
            self._storage.save_acknowledged(rollout_id)
        except CommandError as error:
            raise OperationRefused(
                error.errno, f'this cannot be stored now: {error.message}; try again'
            ) from error
        self._acknowledged = rollout_id

    # -- one step

    def _step(self, state: RolloutState, now_s: float, *, may_act: bool, watched_s: float) -> bool:
        """Whether there may be more to do at once."""
        may_act = may_act and self._switched_on()
        seen = self._observe(state, may_act=may_act, watched_s=watched_s)
        step = self._machine.step(state, seen, now_s)
        if step.state != state or (step.actions and self._store_unsure):
            self._save(step.state)
        for action in step.actions:
            if isinstance(action, RestartOsd):
                self._count_restart(now_s)
            # Storing that took its time.
            if stays_in_mode_off(step.state, action, seen) and not self._switched_on():
                log.info('rollout %s: not sent in mode off: %s', state.rollout_id, action)
                self._save(state)
                return False
            if isinstance(action, RestartOsd):
                self._asked = (state.rollout_id, action.osd_id)
                # Anew, even where two requests look alike.
                self._request, self._scheduled = step.state.asked, None
                self._since_asked = Stopwatch()
            error = self._carry_out(action, state.request.option)
            if error is not None:
                log.warning('rollout %s: %s failed: %s', state.rollout_id, action, error)
                self._save(acts.action_failed(step.state, action, error, now_s))
                return False
        return bool(step.actions) or step.state != state

    def _count_restart(self, now_s: float) -> None:
        self._restarts = self._restarts.with_one(now_s, self._clock.now_s)
        try:
            self._storage.save_restarts(self._restarts)
            self._save_time()
        except CommandError as error:
            # The state was stored just before: what is asked for is not held up for its count.
            log.warning('a restart cannot be counted: %s', error.message)

    def _observe(self, state: RolloutState, *, may_act: bool, watched_s: float) -> Observation:
        steady_s = self._clock.now_s
        waited_s = self._waiting.look(machine.wait_key(state), steady_s)
        found = self._guard.value('judging', lambda: self._recording.found(state), NOTHING_FOUND)
        forward = state.direction is Direction.FORWARD
        cluster = self._cluster.cluster_map()
        away = absent_of(cluster, state.request.order)
        absent_s = self._absent.look((state.rollout_id, away), steady_s)
        needs = self._machine.needs(state, waited_s, frozenset(away))
        watched, flying = watched_batch(state), in_flight(state)
        if watched is not None and lost_process(state, watched, cluster) is not None:
            needs = replace(needs, upgrade=True)
        batch = None if watched is None or flying is not None else watched.number
        soaking_s = self._soaking.look((state.rollout_id, batch), steady_s)
        down = flying is not None and any(
            osd.osd_id == flying.osd_id and not osd.up for osd in cluster.osds
        )
        down_s = self._down.look((state.rollout_id, flying and flying.osd_id, down), steady_s)
        processes = tuple((osd.osd_id, osd.up, osd.in_cluster, osd.nonce) for osd in cluster.osds)
        changed_ago_s = self._osds_changed.look(processes, steady_s)
        described = self._described(needs, down_s if flying is not None and down else 0.0)
        if flying is not None and down:
            self._was_down = flying.osd_id, down_s
        told = None if flying is None else described.get(flying.osd_id)
        key = state.rollout_id, flying and flying.osd_id, down
        alive = self._life.look(key, told)
        lifeless_s = self._lifeless.look((*key, alive is True), steady_s)
        entries = self._entries()
        return Observation(
            cluster=cluster,
            pgs=self._cluster.pg_summary(),
            health=frozenset(self._cluster.health_codes()),
            entries=as_mapping(entries, state.request.option),
            other_entries=as_mapping(entries, state.request.other_option),
            running=self._running(state.request, needs.running),
            ok_to_stop=self._ok_to_stop(needs),
            versions=self._versions(needs),
            upgrade=self._upgrade(needs),
            resolved=self._resolved(state.request, needs),
            orchestrator_reason=self._orchestrator_reason(needs),
            may_act=may_act,
            not_now=self._not_now,
            deaf=self._deaf or (self._unheard if forward else None),
            moved=frozenset(
                osd_id
                for osd_id, *process in processes
                if self._moves.setdefault(osd_id, LastChange()).look(tuple(process), steady_s)
                < min(RESTARTED_TOGETHER_S, soaking_s)
            ),
            osds_moved=changed_ago_s < self._machine.limits.report_s,
            watched_s=watched_s,
            waited_s=waited_s,
            absent_s=absent_s,
            described=described,
            asked_over=self._asked_over(state.asked, described, steady_s),
            down_s=down_s if down else 0.0,
            was_down_s=self._was_down[1]
            if flying is not None and not down and self._was_down[0] == flying.osd_id
            else 0.0,
            alive=alive if down else None,
            lifeless_s=lifeless_s,
            before_s=found.before_s,
            after_s=found.after_s,
            judgement=found.judgement,
            asked_by_us=flying is not None and self._asked == (state.rollout_id, flying.osd_id),
        )

    def _carry_out(self, action: Action, option: str) -> Optional[str]:
        """Why the cluster refused it; None if it did not."""
        log.info('rollout: %s (%s)', action, option)
        try:
            if isinstance(action, SetEntry):
                self._config.set(action.who, option, action.value)
            elif isinstance(action, RemoveEntry):
                self._config.remove(action.who, option)
            else:
                self._orchestrator.restart_osd(action.osd_id)
        except CommandError as error:
            return error.message
        return None

    # -- looking

    def _entries(self) -> Sequence[ConfigEntry]:
        return self._config.entries((OPTION, ANNEX))

    def _entries_now(self) -> Sequence[ConfigEntry]:
        """The entries, for an operator who waits for them."""
        try:
            return self._entries()
        except CommandError as error:
            raise OperationRefused(
                error.errno, f'the config store cannot be read now: {error.message}; try again'
            ) from error

    def _running(
        self, request: ChangeRequest, osd_ids: tuple[int, ...]
    ) -> Mapping[int, RunningOption]:
        option = request.option
        return _answers(osd_ids, lambda n: self._config.running(n, (option,))[option])

    def _ok_to_stop(self, needs: Needs) -> Mapping[int, Optional[str]]:
        return _answers(needs.ok_to_stop, lambda n: self._osds.ok_to_stop((n,)))

    def _versions(self, needs: Needs) -> Optional[tuple[DaemonVersions, ...]]:
        if not (needs.ok_to_stop or needs.upgrade):
            return None
        with suppress(CommandError):
            return self._upgrades.daemon_versions()
        return None

    def _upgrade(self, needs: Needs) -> Optional[str]:
        if not (needs.ok_to_stop or needs.upgrade):
            return None
        try:
            return self._upgrades.orchestrated_upgrade()
        except CommandError as error:
            return f'its state cannot be told ({error.message})'

    def _resolved(self, request: ChangeRequest, needs: Needs) -> Mapping[int, str]:
        return _answers(needs.resolved, lambda n: self._config.resolved(n, request.option))

    def _orchestrator_reason(self, needs: Needs) -> Optional[str]:
        return self._orchestrator.unavailable_reason() if needs.orchestrator else None

    def _described(self, needs: Needs, down_s: float) -> Mapping[int, OrchestratedDaemon]:
        """What the orchestrator reports; of an OSD in flight that is down, it is to look again."""
        if not needs.described or self._orchestrator.unavailable_reason() is not None:
            return {}
        looks = int(down_s / REFRESH_S)
        refresh = looks > self._refreshed
        self._refreshed = looks
        found = _answers(needs.described, lambda n: self._orchestrator.describe_osd(n, refresh))
        return {n: daemon for n, daemon in found.items() if daemon is not None}

    def _asked_over(
        self,
        request: Optional[AskedRestart],
        described: Mapping[int, OrchestratedDaemon],
        now_s: float,
    ) -> bool:
        if request is None:
            return False
        told = described.get(request.osd_id)
        if told is not None and told.scheduled:
            self._scheduled = request
        if told is not None and told.paused:
            # It has as long as ever once it is resumed.
            self._since_asked = Stopwatch()
        return cannot_happen(
            request,
            told,
            by_this_manager=self._request == replace(request, refused=False),
            seen_scheduled=self._scheduled == request,
            watched_s=self._since_asked.look(request, now_s),
            most_s=self._machine.limits.restart_s,
        )

    # -- keeping

    def _begin(self, state: RolloutState) -> RolloutState:
        self._conclude_the_last(state.rollout_id)
        # What changed while nobody looked did not change just now.
        self._osds_changed = LastChange()
        if self._state is not None:
            # It may also be that of a rollout before this one that is still to come.
            state = replace(state, asked=self._state.asked)
        if self._acknowledged is not None:
            self._save_acknowledged(None)
        self._keep(state)
        try:
            self._record(state)
        except CommandError as error:
            # It is written again when the rollout ends.
            log.warning('history of %s cannot be stored: %s', state.rollout_id, error.message)
        return state

    def _conclude_the_last(self, rollout_id: str) -> None:
        """What takes its place under the one key would be all that is known of it."""
        last = self._state
        if last is None or not self._unrecorded or last.rollout_id == rollout_id:
            return
        try:
            self._conclude(last)
        except CommandError as error:
            raise OperationRefused(
                error.errno,
                f'the end of {last.rollout_id} cannot be stored now: {error.message}; try again',
            ) from error

    def _keep(self, state: RolloutState) -> RolloutState:
        """Store what an operator asked for, who hears of it only once that is done."""
        try:
            return self._save(state)
        except CommandError as error:
            raise OperationRefused(
                error.errno, f'this cannot be stored now: {error.message}; try again'
            ) from error

    def _save(self, state: RolloutState) -> RolloutState:
        self._store_unsure = True
        self._storage.save_current(state)
        self._store_unsure = False
        before, self._state = self._state, state
        if state.ended and not (before is not None and before.ended):
            self._ended = (state.rollout_id, self._clock.now_s)
            self._time_kept_s = -math.inf
        self._guard.value('announcements', lambda: self._on_change(before, state), None)
        self._unrecorded = self._unrecorded or state.ended
        return state

    def _keep_time(self) -> None:
        """Store now and then how much time has passed, as long as that matters to anybody."""
        last = self._state
        if last is not None and last.ended and (self._ended or ('', 0))[0] != last.rollout_id:
            # Nobody saw it end: just now, as far as can be proven.
            self._ended = (last.rollout_id, self._clock.now_s)
            self._time_kept_s = -math.inf
        since_s = self.since_end_s
        matters = self._restarts.restarts or (since_s is not None and since_s < _LONG_AGO_S)
        if matters and self._clock.now_s - self._time_kept_s >= KEEP_TIME_S:
            try:
                self._save_time()
            except CommandError as error:
                log.warning('the time that has passed cannot be stored: %s', error.message)

    def _save_time(self) -> None:
        self._storage.save_clock(ClockState(round(self._clock.now_s, 1), self._ended))
        self._time_kept_s = self._clock.now_s

    def _conclude(self, state: RolloutState) -> None:
        log.info('rollout %s: %s %s', state.rollout_id, state.stage.value, state.failure or '')
        self._storage.archive(state)
        self._record(state)
        self._recording.end()
        self._unrecorded = False

    def _known(self, record: HistoryRecord) -> HistoryRecord:
        """A change that is under way by the record, but of which no state is left, has failed."""
        running = self._state.rollout_id if self._state is not None else None
        if record.outcome is not Outcome.WAITING or record.rollout_id == running:
            return record
        return replace(
            record,
            outcome=Outcome.FAILED,
            reason='what was stored of it could not be read: nothing more was done',
        )

    def _record(self, state: RolloutState) -> None:
        self._keep_record(record_of(state), state)

    def _keep_record(self, record: HistoryRecord, state: Optional[RolloutState] = None) -> None:
        self._storage.save_record(record, state)
        others = (r for r in self._history if r.rollout_id != record.rollout_id)
        # As the next manager reads it.
        self._history = tuple(sorted((*others, record), key=lambda r: number_of(r.rollout_id)))

    def _rollout(self, name: Optional[str]) -> RolloutState:
        """The rollout to take back."""
        current = self._state
        rollouts = [r.rollout_id for r in self._history if r.rollout_id.startswith('r')]
        if current is None and not rollouts:
            wanted = '' if name is None else f'there is no rollout "{name}" to roll back: '
            raise OperationRefused(errno.ENOENT, f'{wanted}there was no rollout yet')
        if current is not None and name in {
            None,
            current.rollout_id,
            current.request.recommendation_id,
        }:
            return current
        self._refuse_while_running()
        name = rollouts[-1] if name is None else name
        found = self._storage.archived(name)
        if found is None:
            known = ', '.join(r.rollout_id for r in self._history[-8:])
            raise OperationRefused(
                errno.ENOENT, f'there is no rollout "{name}" to roll back; the last are {known}'
            )
        # What was stored before its end does not tell how far it came.
        return found if found.ended else perhaps_changed(found)

    def _running_rollout(self) -> RolloutState:
        self.load()
        if self._state is None or self._state.ended:
            raise OperationRefused(errno.ENOENT, 'no rollout is running')
        return self._state

    def _refuse_while_running(self) -> None:
        if self._state is not None and not self._state.ended:
            raise OperationRefused(
                errno.EBUSY,
                f'rollout {self._state.rollout_id} is running ({self._state.phase.value}): wait '
                'for it, or abort it',
            )


def _answers(osd_ids: Iterable[int], ask: Callable[[int], _T]) -> dict[int, _T]:
    """What each OSD answers; one that does not is missing."""
    found: dict[int, _T] = {}
    for osd_id in osd_ids:
        with suppress(CommandError):
            found[osd_id] = ask(osd_id)
    return found
