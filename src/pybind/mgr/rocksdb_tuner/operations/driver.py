"""What the drivers of all kinds of operation do alike: save, then act.

A kind gives a pure machine, and says how it looks at the cluster, what its actions do, and where
its state is stored.
"""

from __future__ import annotations

import errno
import logging
from abc import ABC, abstractmethod
from typing import Callable, ClassVar, Generic, Optional, TypeVar

from ..mgr.protocols import CommandError
from .errors import OperationRefused
from .guard import Guard, Unguarded
from .step import ActionT, StateT, Step
from .stopwatch import Stopwatch

log = logging.getLogger(__name__)

#: A tick ends after this many steps, whatever is still to do: other work waits for it.
STEPS_PER_TICK = 10

SeenT = TypeVar('SeenT')


class OperationDriver(ABC, Generic[StateT, SeenT, ActionT]):
    """One operation of a kind at a time, over a cluster.

    Everything but the properties waits for monitors and must be called from the module's serve
    thread only. The properties never wait and may be read from any thread.
    """

    #: As in "a rollout is under way".
    KIND: ClassVar[str]
    NONE_RUNNING: ClassVar[str]

    def __init__(self, switched_on: Callable[[], bool], guard: Optional[Guard]) -> None:
        """``switched_on`` tells whether the mode allows changes at this very moment. ``guard`` runs
        what an OSD in flight must not wait for: judging and announcing.
        """
        self._switched_on = switched_on
        self._guard = guard or Unguarded()
        self._state: Optional[StateT] = None
        self._loaded = False
        #: The last write of the state failed, or only its answer was lost.
        self._store_unsure = False
        #: An end that history does not know yet.
        self._unrecorded = False
        #: Why it could not go on at the last tick.
        self._trouble: Optional[str] = None
        #: How long this manager has been looking.
        self._watching = Stopwatch()
        #: How long it waits without a step for what the operator did not choose.
        self._stuck = Stopwatch()
        self._stuck_s = 0.0

    @property
    def state(self) -> Optional[StateT]:
        """The operation under way, or the last one; None before the first (and before `load`)."""
        return self._state

    @property
    def under_way(self) -> bool:
        return self._state is not None and not self._state.ended

    def why_waiting(self, gate_alarm_after_s: float) -> Optional[str]:
        """What the operator has to do for it; None where it needs nobody: see `alarm`."""
        if self._state is None:
            return None
        return self._why_waiting(self._state, self._stuck_s, gate_alarm_after_s)

    def load(self) -> None:
        """Read what is stored, once. Never raises: what cannot be read is set aside."""
        if not self._loaded:
            self._loaded = True
            self._load()

    def pause(self, actor: str, now_s: float) -> StateT:
        """Begin nothing more until `resume`; raises OperationRefused."""
        return self._keep(self._paused(self._running(), actor, now_s))

    def resume(self, now_s: float) -> StateT:
        """Go on after `pause`, or try at once what failed before; raises OperationRefused."""
        return self._keep(self._resumed(self._running(), now_s))

    def abort(self, actor: str, now_s: float) -> StateT:
        """Begin nothing more, and end as soon as that is safe; raises OperationRefused."""
        return self._keep(self._aborted(self._running(), actor, now_s))

    # -- what a kind gives

    @abstractmethod
    def _load(self) -> None:
        """Read what is stored."""

    @abstractmethod
    def _store(self, state: StateT) -> None:
        """Raises CommandError: then this state is stored, or the one before."""

    @abstractmethod
    def _decide(self, state: StateT, seen: SeenT, now_s: float) -> Step[StateT, ActionT]:
        """Ask the machine."""

    @abstractmethod
    def _stays_in_mode_off(self, state: StateT, action: ActionT, seen: SeenT) -> bool:
        """Whether an action that was decided before mode off is not to be sent after it."""

    @abstractmethod
    def _in_mode_off(self, action: ActionT) -> str:
        """The action that was not sent, for the log."""

    def _before_acting(self, action: ActionT, now_s: float) -> None:
        """What else is stored before an action."""

    @abstractmethod
    def _act(self, state: StateT, action: ActionT, now_s: float) -> bool:
        """Do what was decided and is stored; whether there may be more to do at once."""

    @abstractmethod
    def _announce(self, before: Optional[StateT], state: StateT) -> None:
        """Tell of a state once it is stored."""

    @abstractmethod
    def _conclude(self, state: StateT) -> None:
        """Keep an operation that ended for good; raises CommandError."""

    @abstractmethod
    def _why_waiting(
        self, state: StateT, waited_s: float, gate_alarm_after_s: float
    ) -> Optional[str]:
        """See `alarm`."""

    @abstractmethod
    def _paused(self, state: StateT, actor: str, now_s: float) -> StateT:
        """Raises OperationRefused."""

    @abstractmethod
    def _resumed(self, state: StateT, now_s: float) -> StateT:
        """Raises OperationRefused."""

    @abstractmethod
    def _aborted(self, state: StateT, actor: str, now_s: float) -> StateT: ...

    # -- going on

    def _go_on(
        self,
        now_s: float,
        look: Callable[[StateT], SeenT],
        stuck_at: Callable[[StateT], object],
        steady_s: float,
    ) -> None:
        """Look, decide, save, act, until nothing is left to do at once.

        ``stuck_at`` says where it waits, for `alarm`.
        """
        try:
            for _ in range(STEPS_PER_TICK):
                if self._last.ended:
                    break
                seen = look(self._last)
                # What an OSD answered meanwhile may have changed the state.
                if not self._step(self._last, seen, now_s):
                    break
            if self._unrecorded:
                self._conclude(self._last)
                self._unrecorded = False
        except (CommandError, OperationRefused) as error:
            trouble = f'the {self.KIND} cannot continue now: {error.message}'
            if trouble != self._trouble:
                log.warning(trouble)
            self._trouble = trouble
        else:
            self._trouble = None
        self._stuck_s = self._stuck.look(stuck_at(self._last), steady_s)

    @property
    def _last(self) -> StateT:
        assert self._state is not None
        return self._state

    def _step(self, state: StateT, seen: SeenT, now_s: float) -> bool:
        """Whether there may be more to do at once."""
        step = self._decide(state, seen, now_s)
        if step.state != state or (step.actions and self._store_unsure):
            self._save(step.state)
        for action in step.actions:
            self._before_acting(action, now_s)
            # Storing that took its time.
            if self._stays_in_mode_off(step.state, action, seen) and not self._switched_on():
                log.info(self._in_mode_off(action))
                self._save(state)
                return False
            if not self._act(step.state, action, now_s):
                return False
        return bool(step.actions) or step.state != state

    # -- keeping

    def _running(self) -> StateT:
        self.load()
        if self._state is None or self._state.ended:
            raise OperationRefused(errno.ENOENT, self.NONE_RUNNING)
        return self._state

    def _conclude_the_last(self, operation_id: str) -> None:
        """What takes its place under the one key would be all that is known of it."""
        last = self._state
        if last is None or not self._unrecorded or last.operation_id == operation_id:
            return
        try:
            self._conclude(last)
        except CommandError as error:
            raise OperationRefused(
                error.errno,
                f'the end of {last.operation_id} cannot be stored now: {error.message}; try again',
            ) from error
        self._unrecorded = False

    def _keep(self, state: StateT) -> StateT:
        """Store what an operator asked for, who hears of it only once that is done."""
        try:
            return self._save(state)
        except CommandError as error:
            raise cannot_be_stored(error) from error

    def _save(self, state: StateT) -> StateT:
        self._store_unsure = True
        self._store(state)
        self._store_unsure = False
        before, self._state = self._state, state
        self._saved(before, state)
        self._guard.value('announcements', lambda: self._announce(before, state), None)
        self._unrecorded = self._unrecorded or state.ended
        return state

    def _saved(self, before: Optional[StateT], state: StateT) -> None:
        """What this manager remembers of a state once it is stored."""


def cannot_be_stored(error: CommandError) -> OperationRefused:
    return OperationRefused(error.errno, f'this cannot be stored now: {error.message}; try again')
