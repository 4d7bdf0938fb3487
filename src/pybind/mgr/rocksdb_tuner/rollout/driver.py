"""Carries out what the machine decides: the only part of a rollout that does I/O."""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Callable, Optional, TypeVar

from ..mgr.protocols import (
    ClusterReader,
    CommandError,
    ConfigStore,
    Orchestrator,
    OsdCommands,
    Store,
    Upgrades,
)
from ..mgr.records import DaemonVersions, RunningOption
from ..observe.sample import Sample
from ..observe.trouble import Trouble
from . import acts, machine
from .admission import planned
from .back import rolled_back
from .codec import refuse_if_too_large
from .entries import as_mapping
from .errors import RolloutRefused
from .foreign import entries_in_the_way
from .history import HistoryRecord, record_of
from .machine import Machine
from .observation import Action, Needs, Observation, RemoveEntry, RestartOsd, SetEntry
from .recording import Recording
from .records import (
    OPTION,
    ChangeRequest,
    Direction,
    Outcome,
    Phase,
    RolloutState,
    SoakPlan,
)
from .restart_log import RestartLog
from .rules import Limits
from .states import in_flight
from .stopwatch import LastChange, Stopwatch
from .storage import RolloutStorage

log = logging.getLogger(__name__)

#: A tick ends after this many steps, whatever is still to do: other work waits for it.
STEPS_PER_TICK = 10

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
    ) -> None:
        """``on_change`` hears of every state once it is stored, with the one before it."""
        self._config = config
        self._osds = osds
        self._orchestrator = orchestrator
        self._cluster = cluster
        self._upgrades = upgrades
        self._storage = RolloutStorage(store)
        self._on_change = on_change
        self._machine = Machine(same_meaning, limits or Limits())
        self._state: Optional[RolloutState] = None
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
        #: Why no OSD may be begun now, though nothing is wrong.
        self._not_now: Optional[str] = None
        self._deaf: Optional[str] = None
        self._recording = Recording(self._storage)
        self._watching = Stopwatch()
        self._waiting = Stopwatch()
        self._down = Stopwatch()
        self._osds_changed = LastChange()
        #: The restart that this manager asked for last.
        self._asked: Optional[tuple[str, int]] = None

    @property
    def state(self) -> Optional[RolloutState]:
        """The running rollout, or the last one; None before the first (and before `load`)."""
        return self._state

    @property
    def history(self) -> tuple[HistoryRecord, ...]:
        """Every change, oldest first."""
        return self._history

    @property
    def problems(self) -> tuple[str, ...]:
        """What an operator must know of the stored state and of the last tick, in sentences."""
        return self._problems + ((self._trouble,) if self._trouble else ())

    @property
    def acknowledged(self) -> bool:
        """Whether an operator has taken note of how the last rollout ended."""
        return self._state is not None and self._acknowledged == self._state.rollout_id

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
        self._history = tuple(map(self._known, self._storage.load_history()))
        self._problems = self._storage.problems()
        if self._state is not None and self._state.ended:
            self._unrecorded = record_of(self._state) not in self._history

    def tick(
        self,
        now_s: float,
        may_act: bool,
        outside_window: Optional[str] = None,
        restarts_per_day: int = 0,
        deaf: Optional[str] = None,
    ) -> None:
        """Look, decide, save, act; returns at once where nothing is being rolled out.

        ``now_s`` is the time of day. ``may_act`` False is the kill switch: nothing new is
        changed, only an OSD that this rollout left unable to start is put back.
        ``outside_window`` says why no further OSD may be begun now; None if one may.
        ``restarts_per_day`` 0 sets no limit. ``deaf`` says why the manager does not know how the
        OSDs are; None if it does.
        """
        self.load()
        self._restarts = self._restarts.looked_at(now_s)
        self._not_now = outside_window or self._restarts.used_up(restarts_per_day)
        self._deaf = deaf
        watched_s = self._watching.look(None, now_s)
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
        except (CommandError, RolloutRefused) as error:
            trouble = f'the rollout cannot go on now: {error.message}'
            if trouble != self._trouble:
                log.warning(trouble)
            self._trouble = trouble
        else:
            self._trouble = None

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
        """Begin to carry out a request; raises RolloutRefused.

        ``soak`` None: every OSD follows at once, and nothing is judged.
        """
        self.load()
        self._refuse_while_running()
        state = planned(
            self._storage.next_id(),
            request,
            cluster=self._cluster.cluster_map(),
            entries=self._entries_now(),
            running=self._running(request.order),
            same_meaning=self._machine.same_meaning,
            now_s=now_s,
            soak=soak or SoakPlan(),
        )
        refuse_if_too_large(state)
        return self._begin(state)

    def rollback(self, rollout_id: Optional[str], actor: str, now_s: float) -> RolloutState:
        """Restore what was there before a rollout (None: the last one); raises RolloutRefused.

        ``rollout_id`` may also be the id of the recommendation that it carried out.
        """
        self.load()
        state = self._rollout(rollout_id)
        if state.stage is Phase.ROLLED_BACK:
            raise RolloutRefused(errno.EALREADY, f'{state.rollout_id} was rolled back already')
        if state.direction is Direction.BACK and not state.ended:
            raise RolloutRefused(errno.EALREADY, f'{state.rollout_id} is being rolled back')
        changed = entries_in_the_way(state, self._entries_now())
        if changed:
            raise RolloutRefused(
                errno.EBUSY,
                f'{OPTION} of {", ".join(changed[:8])} was changed since by somebody else, which '
                f'a rollback of {state.rollout_id} would undo: set it as wanted by hand',
            )
        return self._begin(rolled_back(state, actor, now_s))

    def next_number(self) -> str:
        """A running number for a change that is no rollout, which no other had before."""
        self.load()
        return self._storage.next_id()[1:]

    def add_record(self, record: HistoryRecord) -> None:
        """Keep a change that was no rollout; raises CommandError."""
        self._keep_record(record)

    def pause(self, actor: str, now_s: float) -> RolloutState:
        """Begin nothing more until `resume`; raises RolloutRefused."""
        state = self._running_rollout()
        if state.direction is Direction.RECOVER:
            raise RolloutRefused(
                errno.EBUSY,
                'an OSD is being put back to what it had; that is not interrupted',
            )
        return self._keep(acts.paused(state, actor, now_s))

    def resume(self, now_s: float) -> RolloutState:
        """Go on after `pause`, or try at once what failed before; raises RolloutRefused."""
        state = self._running_rollout()
        if not acts.waits_for_operator(state):
            waits = f'it waits: {state.paused_reason}' if state.paused_reason else 'it is running'
            raise RolloutRefused(errno.EINVAL, f'the rollout is not paused; {waits}')
        return self._keep(acts.resumed(state, now_s))

    def abort(self, actor: str, now_s: float) -> RolloutState:
        """End the rollout as soon as the OSD in flight is safe; raises RolloutRefused."""
        state = self._running_rollout()
        entries: Optional[Mapping[str, str]] = None
        with suppress(CommandError):
            entries = self._entries()
        return self._keep(acts.aborted(state, actor, now_s, entries))

    def acknowledge(self) -> RolloutState:
        """Take note of how the last rollout ended; raises RolloutRefused."""
        self.load()
        if self._state is None:
            raise RolloutRefused(errno.ENOENT, 'there was no rollout yet')
        if not self._state.ended:
            raise RolloutRefused(
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
            raise RolloutRefused(
                error.errno, f'this cannot be stored now: {error.message}; try again'
            ) from error
        self._acknowledged = rollout_id

    # -- one step

    def _step(self, state: RolloutState, now_s: float, *, may_act: bool, watched_s: float) -> bool:
        """Whether there may be more to do at once."""
        seen = self._observe(state, now_s, may_act=may_act, watched_s=watched_s)
        step = self._machine.step(state, seen, now_s)
        if step.state != state:
            self._save(step.state)
        for action in step.actions:
            if isinstance(action, RestartOsd):
                self._asked = (state.rollout_id, action.osd_id)
                self._count_restart(now_s)
            error = self._carry_out(action)
            if error is not None:
                log.warning('rollout %s: %s failed: %s', state.rollout_id, action, error)
                self._save(acts.action_failed(step.state, action, error, now_s))
                return False
        return bool(step.actions) or step.state != state

    def _count_restart(self, now_s: float) -> None:
        self._restarts = self._restarts.with_one(now_s)
        try:
            self._storage.save_restarts(self._restarts)
        except (CommandError, RolloutRefused) as error:
            # The state was stored just before: what is asked for is not held up for its count.
            log.warning('a restart cannot be counted: %s', error.message)

    def _observe(
        self, state: RolloutState, now_s: float, *, may_act: bool, watched_s: float
    ) -> Observation:
        waited_s = self._waiting.look(machine.wait_key(state), now_s)
        needs = self._machine.needs(state, waited_s)
        found = self._recording.found(state)
        cluster = self._cluster.cluster_map()
        flying = in_flight(state)
        down = flying is not None and any(
            osd.osd_id == flying.osd_id and not osd.up for osd in cluster.osds
        )
        down_s = self._down.look((state.rollout_id, flying and flying.osd_id, down), now_s)
        processes = tuple((osd.osd_id, osd.up, osd.in_cluster, osd.nonce) for osd in cluster.osds)
        changed_ago_s = self._osds_changed.look(processes, now_s)
        return Observation(
            cluster=cluster,
            pgs=self._cluster.pg_summary(),
            health=frozenset(self._cluster.health_codes()),
            entries=self._entries(),
            running=self._running(needs.running),
            ok_to_stop=self._ok_to_stop(needs),
            versions=self._versions(needs),
            upgrade=self._upgrade(needs),
            resolved=self._resolved(needs),
            orchestrator_reason=self._orchestrator_reason(needs),
            may_act=may_act,
            not_now=self._not_now,
            deaf=self._deaf,
            osds_moved=changed_ago_s < self._machine.limits.report_s,
            watched_s=watched_s,
            waited_s=waited_s,
            down_s=down_s if down else 0.0,
            before_s=found.before_s,
            after_s=found.after_s,
            judgement=found.judgement,
            asked_by_us=flying is not None and self._asked == (state.rollout_id, flying.osd_id),
        )

    def _carry_out(self, action: Action) -> Optional[str]:
        """Why the cluster refused it; None if it did not."""
        log.info('rollout: %s', action)
        try:
            if isinstance(action, SetEntry):
                self._config.set(action.who, OPTION, action.value)
            elif isinstance(action, RemoveEntry):
                self._config.remove(action.who, OPTION)
            else:
                self._orchestrator.restart_osd(action.osd_id)
        except CommandError as error:
            return error.message
        return None

    # -- looking

    def _entries(self) -> Mapping[str, str]:
        return as_mapping(self._config.entries((OPTION,)))

    def _entries_now(self) -> Mapping[str, str]:
        """The entries, for an operator who waits for them."""
        try:
            return self._entries()
        except CommandError as error:
            raise RolloutRefused(
                error.errno, f'the config store cannot be read now: {error.message}; try again'
            ) from error

    def _running(self, osd_ids: tuple[int, ...]) -> Mapping[int, RunningOption]:
        return _answers(osd_ids, lambda n: self._config.running(n, (OPTION,))[OPTION])

    def _ok_to_stop(self, needs: Needs) -> Mapping[int, Optional[str]]:
        return _answers(needs.ok_to_stop, lambda n: self._osds.ok_to_stop((n,)))

    def _versions(self, needs: Needs) -> Optional[tuple[DaemonVersions, ...]]:
        if not needs.ok_to_stop:
            return None
        with suppress(CommandError):
            return self._upgrades.daemon_versions()
        return None

    def _upgrade(self, needs: Needs) -> Optional[str]:
        if not needs.ok_to_stop:
            return None
        try:
            return self._upgrades.orchestrated_upgrade()
        except CommandError as error:
            return f'its state cannot be told ({error.message})'

    def _resolved(self, needs: Needs) -> Mapping[int, str]:
        return _answers(needs.resolved, lambda n: self._config.resolved(n, OPTION))

    def _orchestrator_reason(self, needs: Needs) -> Optional[str]:
        return self._orchestrator.unavailable_reason() if needs.orchestrator else None

    # -- keeping

    def _begin(self, state: RolloutState) -> RolloutState:
        # What changed while nobody looked did not change just now.
        self._osds_changed = LastChange()
        if self._acknowledged is not None:
            self._save_acknowledged(None)
        self._keep(state)
        try:
            self._record(state)
        except CommandError as error:
            # It is written again when the rollout ends.
            log.warning('history of %s cannot be stored: %s', state.rollout_id, error.message)
        return state

    def _keep(self, state: RolloutState) -> RolloutState:
        """Store what an operator asked for, who hears of it only once that is done."""
        try:
            return self._save(state)
        except CommandError as error:
            raise RolloutRefused(
                error.errno, f'this cannot be stored now: {error.message}; try again'
            ) from error

    def _save(self, state: RolloutState) -> RolloutState:
        self._storage.save_current(state)
        before, self._state = self._state, state
        self._on_change(before, state)
        self._unrecorded = self._unrecorded or state.ended
        return state

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
        self._keep_record(record_of(state))

    def _keep_record(self, record: HistoryRecord) -> None:
        self._storage.save_record(record)
        others = (r for r in self._history if r.rollout_id != record.rollout_id)
        self._history = (*others, record)

    def _rollout(self, name: Optional[str]) -> RolloutState:
        """The rollout to take back."""
        current = self._state
        if current is None:
            wanted = '' if name is None else f'there is no rollout "{name}" to roll back: '
            raise RolloutRefused(errno.ENOENT, f'{wanted}there was no rollout yet')
        names = {None, current.rollout_id, current.request.recommendation_id}
        if name in names:
            return current
        self._refuse_while_running()
        found = None if name is None else self._storage.archived(name)
        if found is None:
            known = ', '.join(r.rollout_id for r in self._history[-8:])
            raise RolloutRefused(
                errno.ENOENT, f'there is no rollout "{name}" to roll back; the last are {known}'
            )
        return found

    def _running_rollout(self) -> RolloutState:
        self.load()
        if self._state is None or self._state.ended:
            raise RolloutRefused(errno.ENOENT, 'no rollout is running')
        return self._state

    def _refuse_while_running(self) -> None:
        if self._state is not None and not self._state.ended:
            raise RolloutRefused(
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
