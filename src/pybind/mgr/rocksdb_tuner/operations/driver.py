"""The common driver of all kinds of operation: save, then act.

If a state cannot be stored, an OSD that may not start is brought to a safe state all the same: its
previous options are stored, and what restores them can be repeated.

Each kind supplies a pure state machine, how it observes the cluster, and what its actions do.
"""

from __future__ import annotations

import errno
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Generic, Optional, Protocol, TypeVar

from ..mgr.protocols import Announcements, CommandError, OsdCommands, Upgrades
from ..mgr.records import DaemonVersions
from ..store.stored import Quarantine, Stored
from . import phases
from .announce import Texts
from .gates import NOT_ALLOWED
from .phases import ActionT, OperationRefused, Permission, StateT, Step, clip
from .reported import Stopwatch

_T = TypeVar('_T')


def answers(osd_ids: Iterable[int], ask: Callable[[int], _T]) -> dict[int, _T]:
    """The answer of each OSD; missing if it did not answer."""
    found: dict[int, _T] = {}
    for osd_id in osd_ids:
        with suppress(CommandError):
            found[osd_id] = ask(osd_id)
    return found


def ok_to_stop(osds: OsdCommands, osd_ids: Iterable[int]) -> dict[int, Optional[str]]:
    return answers(osd_ids, lambda n: osds.ok_to_stop((n,)))


def daemon_versions(upgrades: Upgrades) -> Optional[tuple[DaemonVersions, ...]]:
    """None: no answer."""
    with suppress(CommandError):
        return upgrades.daemon_versions()
    return None


def orchestrated_upgrade(upgrades: Upgrades) -> Optional[str]:
    """Upgrade target of the orchestrator, or why it is unknown; None: no upgrade."""
    try:
        return upgrades.orchestrated_upgrade()
    except CommandError as error:
        return f'its state is unknown ({error.message})'


class Guard(Protocol):
    def value(self, step: str, work: Callable[[], _T], otherwise: _T) -> _T:
        """The result of ``work``, or ``otherwise`` if it raises."""


class Unguarded:
    def value(self, step: str, work: Callable[[], _T], otherwise: _T) -> _T:  # noqa: ARG002
        return work()


log = logging.getLogger(__name__)

#: Maximum steps in one tick: other work waits for the tick to end.
STEPS_PER_TICK = 10

SeenT = TypeVar('SeenT')


class OperationDriver(ABC, Generic[StateT, SeenT, ActionT]):
    """Runs one operation of a kind at a time.

    Methods block on monitors and must be called from the module's serve thread only. Properties
    never block and may be read from any thread.
    """

    #: As in "a rollout is under way".
    KIND: ClassVar[str]
    #: Where its state is stored.
    _stored: Stored[StateT]
    _quarantine: Quarantine

    def __init__(
        self,
        announcements: Announcements,
        texts: Texts[StateT],
        changes_allowed: Callable[[], bool],
        guard: Optional[Guard],
    ) -> None:
        """``changes_allowed``: whether the mode allows changes at this moment. ``guard`` isolates
        verdicts and announcements, which must not hold up an OSD in flight.
        """
        self._texts, self._announcements = texts, announcements
        self._changes_allowed = changes_allowed
        self._guard = guard or Unguarded()
        self._state: Optional[StateT] = None
        self._loaded = False
        #: The last write of the state failed, or its answer was lost.
        self._store_unsure = False
        #: The operation ended, but history has no record of that yet.
        self._unrecorded = False
        #: Why the last tick failed.
        self._error: Optional[str] = None
        #: Why the state is only in memory; None: it is stored.
        self._unstored: Optional[str] = None
        #: How long this manager has been observing.
        self._watched = Stopwatch()
        #: How long it has waited without a step, for a reason the operator did not choose.
        self._waiting_unchanged = Stopwatch()
        self._waiting_unchanged_s = 0.0
        #: Of this tick, with its wall clock.
        self._allowed = Permission(may_act=False)
        self._now_s = 0.0

    @property
    def state(self) -> Optional[StateT]:
        """The operation under way, or the last one; None before the first (and before `load`)."""
        return self._state

    @property
    def under_way(self) -> bool:
        return self._state is not None and not self._state.ended

    @property
    def problems(self) -> tuple[str, ...]:
        """Problems of its stored state and of its last tick, as sentences."""
        return () if self._error is None else (self._error,)

    def why_waiting(self) -> Optional[str]:
        """What the operator has to do; None if no action is required. See `alarm`."""
        if self._state is None:
            return None
        return self._texts.waiting(self._state, self._waiting_unchanged_s)

    def load(self) -> None:
        """Load the stored state, once. Never raises: unreadable data is quarantined."""
        if not self._loaded:
            self._loaded = True
            self._load()
            if self._state is not None:
                # If it ended, its manager may have ended before it could complete the event.
                self._guard.value('announcements', lambda: self._show_progress(self._last), None)

    def name_actor(self, operation_id: str, actor: str) -> None:
        """Record who requested it, once known; raises CommandError."""
        state = self._state
        if state is not None and state.operation_id == operation_id and not state.ended:
            self._save(self._named(state, actor))

    def pause(self, actor: str, now_s: float) -> StateT:
        """Start no further OSD until `resume`; raises OperationRefused."""
        return self._save_requested(self._paused(self._running(), actor, now_s))

    def resume(self, now_s: float) -> StateT:
        """Continue after `pause`, or retry at once after failures; raises OperationRefused."""
        state = self._running()
        if not self._waits_for_operator(state):
            reason = state.paused_reason
            waits = f'it is waiting: {reason}' if reason else 'it is running'
            raise OperationRefused(errno.EINVAL, f'the {self.KIND} is not paused; {waits}')
        return self._save_requested(self._resumed(state, now_s))

    def abort(self, actor: str, now_s: float) -> StateT:
        """Start no further OSD and end as soon as that is safe; raises OperationRefused."""
        return self._save_requested(self._aborted(self._running(), actor, now_s))

    # -- supplied by each kind

    @abstractmethod
    def _observe(self, state: StateT) -> SeenT:
        """What the state machine decides by."""

    @abstractmethod
    def _decide(self, state: StateT, seen: SeenT, now_s: float) -> Step[StateT, ActionT]:
        """Let the state machine decide."""

    @abstractmethod
    def _act(self, state: StateT, action: ActionT, now_s: float) -> bool:
        """Execute a stored decision. True: another step may follow at once."""

    @abstractmethod
    def _conclude(self, state: StateT) -> None:
        """Archive an ended operation, if it is not yet; raises CommandError."""

    @abstractmethod
    def _waits_at(self, state: StateT) -> object:
        """Its position, for `why_waiting`; None: an operator paused it."""

    @abstractmethod
    def _aborted(self, state: StateT, actor: str, now_s: float) -> StateT:
        """Raises OperationRefused."""

    # -- what most kinds have in common

    def _must_not_wait(self, state: StateT, step: Step[StateT, ActionT], seen: SeenT) -> bool:  # noqa: ARG002
        """Whether a step is taken although it cannot be stored."""
        return False

    def _is_suppressed(self, state: StateT, action: ActionT, seen: SeenT) -> bool:  # noqa: ARG002
        """Whether an action decided before mode off must not be sent any more."""
        return True

    def _before_acting(self, action: ActionT) -> None:
        """Store any other state that must be stored before an action."""

    def _named(self, state: StateT, actor: str) -> StateT:
        """The state with the client that requested it."""
        return phases.changed(state, request=replace(state.request, actor=actor))

    def _paused(self, state: StateT, actor: str, now_s: float) -> StateT:
        return phases.paused(state, actor, now_s)

    def _waits_for_operator(self, state: StateT) -> bool:
        """Whether `resume` has an effect."""
        return state.paused_by is not None

    def _resumed(self, state: StateT, now_s: float) -> StateT:
        """Continue after a pause or a failure."""
        return phases.resumed(state, now_s)

    def _load(self) -> None:
        """Load the stored state."""
        # Paused: after a failed load, operators do not expect it to resume on its own.
        self._state = self._quarantine.read(
            self._stored,
            lambda s: s if s.ended else self._paused(s, 'the module', s.updated_s),
        )
        # Its end may be recorded twice, but never not at all.
        self._unrecorded = self._state is not None and self._state.ended

    def _store(self, state: StateT) -> None:
        """Raises CommandError: then either this or the previous state is stored."""
        self._stored.save(state)

    # -- steps

    def _advance(self, now_s: float, steady_s: float) -> None:
        """Observe, decide, save and act until no step can follow at once."""
        self._now_s = now_s
        try:
            for _ in range(STEPS_PER_TICK):
                if self._last.ended:
                    break
                seen = self._observe(self._last)
                # An OSD's answer may have changed the state meanwhile.
                if not self._step(self._last, seen, now_s):
                    break
            if self._unrecorded:
                self._conclude(self._last)
                self._unrecorded = False
        except (CommandError, OperationRefused) as error:
            self._report(f'the {self.KIND} cannot continue: {error.message}')
        else:
            self._report(self._unstored)
        key = self._wait_key(self._last)
        self._waiting_unchanged_s = self._waiting_unchanged.update(key, steady_s)

    def _wait_key(self, state: StateT) -> object:
        """What it waits for; a new value each time if it does not wait, or by choice."""
        chosen = {None, NOT_ALLOWED, self._allowed.outside_window}
        position = None
        if not state.ended and state.paused_reason not in chosen:
            position = self._waits_at(state)
        return object() if position is None else position

    def _report(self, trouble: Optional[str]) -> None:
        if trouble not in {None, self._error}:
            log.warning(trouble)
        self._error = trouble

    @property
    def _last(self) -> StateT:
        assert self._state is not None
        return self._state

    def _step(self, state: StateT, seen: SeenT, now_s: float) -> bool:
        """True: another step may follow at once."""
        step = self._decide(state, seen, now_s)
        if step.state != state or self._store_unsure:
            try:
                self._save(step.state)
            except CommandError as error:
                if not self._must_not_wait(state, step, seen):
                    raise
                self._only_in_memory(step.state, error)
        for action in step.actions:
            self._before_acting(action)
            # The mode may have changed while the state was stored.
            if self._is_suppressed(step.state, action, seen) and not self._changes_allowed():
                log.info('%s %s: not sent in mode off: %s', self.KIND, state.operation_id, action)
                self._save(state)
                return False
            if not self._act(step.state, action, now_s):
                return False
        return bool(step.actions) or step.state != state

    # -- storing

    def _running(self) -> StateT:
        self.load()
        if self._state is None or self._state.ended:
            raise OperationRefused(errno.ENOENT, f'no {self.KIND} is under way')
        return self._state

    def _refuse_while_running(self) -> None:
        self.load()
        if self.under_way:
            raise OperationRefused(
                errno.EBUSY,
                f'{self.KIND} {self._last.operation_id} is under way: wait for it, or abort it',
            )

    def _begin(self, state: StateT) -> StateT:
        """Raises OperationRefused."""
        self._conclude_previous(state.operation_id)
        return self._save_requested(state)

    def _conclude_previous(self, operation_id: str) -> None:
        """Archive the previous operation: the new state overwrites it under the same key."""
        last = self._state
        if last is None or not self._unrecorded or last.operation_id == operation_id:
            return
        try:
            self._conclude(last)
        except CommandError as error:
            raise OperationRefused(
                error.errno,
                f'cannot store the end of {last.operation_id}: {error.message}; try again',
            ) from error
        self._unrecorded = False

    def _save_requested(self, state: StateT) -> StateT:
        """Store an operator's request before it is confirmed to them."""
        try:
            return self._save(state)
        except CommandError as error:
            raise cannot_be_stored(error) from error

    def _save(self, state: StateT) -> StateT:
        self._store_unsure = True
        self._store(state)
        self._store_unsure, self._unstored = False, None
        return self._accepted(state)

    def _save_outcome(self, state: StateT) -> None:
        """What has happened is remembered, even if it cannot be stored now."""
        try:
            self._save(state)
        except CommandError as error:
            self._only_in_memory(state, error)

    def _only_in_memory(self, state: StateT, error: CommandError) -> None:
        texts = (
            f'the {self.KIND} cannot store its state: {error.message}',
            self._texts.in_danger(state),
        )
        self._unstored = '; '.join(filter(None, texts))
        self._accepted(state)

    def _accepted(self, state: StateT) -> StateT:
        before, self._state = self._state, state
        self._guard.value('announcements', lambda: self._announce(before, state), None)
        self._unrecorded = self._unrecorded or state.ended
        return state

    # -- announcing

    def _announce(self, before: Optional[StateT], after: StateT) -> None:
        """Announce a transition, once per manager.

        ``before`` is the previously stored state, possibly of an earlier operation.
        """
        for line in self._texts.lines(before, after):
            text = f'{self.KIND} {after.operation_id}: {clip(line.text)}'
            self._announcements.log(text, line.warning)
        known = before is not None and before.operation_id == after.operation_id and before.ended
        if not (known and after.ended):
            self._show_progress(after)

    def _show_progress(self, state: StateT) -> None:
        event_id = f'rocksdb_tuner-{state.operation_id}'
        if state.ended:
            self._announcements.end_progress(event_id, self._texts.failure(state))
        else:
            self._announcements.show_progress(event_id, *self._texts.progress(state))


AnyOperation = OperationDriver[Any, Any, Any]


def cannot_be_stored(error: CommandError) -> OperationRefused:
    return OperationRefused(error.errno, f'cannot store the request: {error.message}; try again')
