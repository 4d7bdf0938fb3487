"""Operator requests to rollouts: start, control and roll back.

`ticks` drives a rollout. Only these two do I/O.
"""

from __future__ import annotations

import errno
import logging
from dataclasses import replace
from typing import Callable, Optional

from ...judge.records import SoakPlan
from ...mgr.protocols import (
    CommandError,
)
from ...plan.entries import as_mapping
from ...plan.records import ChangeRequest
from ..driver import cannot_be_stored
from ..errors import OperationRefused
from ..history import HistoryRecord
from ..phases import Phase
from . import operator_actions
from .admission import planned
from .alarm import why_failed
from .conflicts import entries_blocking_rollback
from .history import record_of
from .records import Direction, RolloutState
from .rollback import rolled_back
from .ticks import RolloutTicks

log = logging.getLogger(__name__)

_LOST = (
    'the stored state of the last rollout in the history is lost: check the entries in the '
    'config store; the next "ceph rocksdb-tuner apply" clears this'
)


class Driver(RolloutTicks):
    """Runs one rollout at a time."""

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
        return (*self._problems, *((_LOST,) if lost else ()))

    @property
    def problems(self) -> tuple[str, ...]:
        """Problems of the stored state and of the last tick, as sentences."""
        return self._problems + ((self._error,) if self._error else ())

    @property
    def acknowledged(self) -> bool:
        """Whether an operator acknowledged the end of the last rollout."""
        return self._state is not None and self._acknowledged == self._state.rollout_id

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
        self._archive.keep(record_of(named), named)

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
        self._save_acknowledged(self._state.rollout_id)
        return True

    def _save_acknowledged(self, rollout_id: Optional[str]) -> None:
        try:
            self._storage.save_acknowledged(rollout_id)
        except CommandError as error:
            raise cannot_be_stored(error) from error
        self._acknowledged = rollout_id

    def _paused(self, state: RolloutState, actor: str, now_s: float) -> RolloutState:
        if state.direction is Direction.RECOVER and not operator_actions.something_follows(state):
            raise OperationRefused(
                errno.EBUSY,
                'an OSD is being restored; that cannot be interrupted',
            )
        return operator_actions.paused(state, actor, now_s)

    def _resumed(self, state: RolloutState, now_s: float) -> RolloutState:
        if not operator_actions.waits_for_operator(state):
            waits = (
                f'it is waiting: {state.paused_reason}' if state.paused_reason else 'it is running'
            )
            raise OperationRefused(errno.EINVAL, f'the rollout is not paused; {waits}')
        return operator_actions.resumed(state, now_s)

    def _aborted(self, state: RolloutState, actor: str, now_s: float) -> RolloutState:
        entries = self._cluster.entries_if_known(state.request.option)
        down = self._cluster.reader.cluster_map().down
        return operator_actions.aborted(state, actor, now_s, entries, down)

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
        if self._acknowledged is not None:
            self._save_acknowledged(None)
        self._save_requested(state)
        try:
            self._archive.keep(record_of(state), state)
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
