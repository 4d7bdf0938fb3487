"""What operators ask of a rollout: to begin it, steer it, and roll it back.

How it goes on by itself is in `ticks`. Only these two do I/O.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Mapping
from contextlib import suppress
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
from . import acts
from .admission import planned
from .back import rolled_back
from .foreign import entries_in_the_way
from .history import record_of
from .records import Direction, RolloutState
from .ticks import RolloutTicks

log = logging.getLogger(__name__)

_LOST = (
    'the stored state of the last rollout is lost, of which history tells: have a look at the '
    'entries in the config store; it is settled by the next "ceph rocksdb-tuner apply"'
)


class Driver(RolloutTicks):
    """One rollout at a time, as operators ask for it."""

    @property
    def history(self) -> tuple[HistoryRecord, ...]:
        """Every change, oldest first."""
        return self._past.records

    @property
    def since_end_s(self) -> Optional[float]:
        """How long ago the last rollout ended, as far as managers saw time pass; None: none did."""
        return self._time.since_end_s

    @property
    def broken(self) -> tuple[str, ...]:
        """What is wrong with the stored state, in sentences."""
        lost = self._state is None and bool(self._past.rollout_ids)
        return (*self._problems, *((_LOST,) if lost else ()))

    @property
    def problems(self) -> tuple[str, ...]:
        """What an operator must know of the stored state and of the last tick, in sentences."""
        return self._problems + ((self._trouble,) if self._trouble else ())

    @property
    def acknowledged(self) -> bool:
        """Whether an operator has taken note of how the last rollout ended."""
        return self._state is not None and self._acknowledged == self._state.rollout_id

    def start(
        self, request: ChangeRequest, now_s: float, soak: Optional[SoakPlan] = None
    ) -> RolloutState:
        """Begin to carry out a request; raises OperationRefused.

        ``soak`` None: every OSD follows at once, and nothing is judged.
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
        changed = entries_in_the_way(state, as_mapping(self._cluster.entries_now(), option))
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
        self._past.keep(record_of(named), named)

    def next_number(self) -> str:
        """A running number for a change that is no rollout, which no other had before."""
        self.load()
        return self._storage.next_id()[1:]

    def add_record(self, record: HistoryRecord) -> None:
        """Keep a change that was no rollout; raises CommandError."""
        self._past.keep(record)

    def acknowledge(self) -> RolloutState:
        """Take note of how the last rollout ended; raises OperationRefused."""
        self.load()
        if self._state is None:
            raise OperationRefused(errno.ENOENT, 'there was no rollout yet')
        if not self._state.ended:
            raise OperationRefused(
                errno.EBUSY,
                f'rollout {self._state.rollout_id} has not ended '
                f'({self._state.phase.value}): there is nothing to acknowledge yet',
            )
        self._save_acknowledged(self._state.rollout_id)
        return self._state

    def _save_acknowledged(self, rollout_id: Optional[str]) -> None:
        try:
            self._storage.save_acknowledged(rollout_id)
        except CommandError as error:
            raise cannot_be_stored(error) from error
        self._acknowledged = rollout_id

    def _paused(self, state: RolloutState, actor: str, now_s: float) -> RolloutState:
        if state.direction is Direction.RECOVER and not acts.something_follows(state):
            raise OperationRefused(
                errno.EBUSY,
                'an OSD is being restored; that cannot be interrupted',
            )
        return acts.paused(state, actor, now_s)

    def _resumed(self, state: RolloutState, now_s: float) -> RolloutState:
        if not acts.waits_for_operator(state):
            waits = f'it waits: {state.paused_reason}' if state.paused_reason else 'it is running'
            raise OperationRefused(errno.EINVAL, f'the rollout is not paused; {waits}')
        return acts.resumed(state, now_s)

    def _aborted(self, state: RolloutState, actor: str, now_s: float) -> RolloutState:
        entries: Optional[Mapping[str, str]] = None
        with suppress(CommandError):
            entries = as_mapping(self._cluster.entries(), state.request.option)
        return acts.aborted(state, actor, now_s, entries)

    # -- keeping

    def _begin(self, state: RolloutState) -> RolloutState:
        self._conclude_the_last(state.rollout_id)
        self._looking.begin()
        # It may also be that of an operation before this one that is still to come.
        if self._state is not None:
            state = replace(state, asked=self._state.asked)
        beside = self.outstanding_beside()
        if state.asked is None and beside is not None:
            asked, looking = beside
            state = replace(state, asked=asked)
            self._looking.take_over_request(looking)
        if self._acknowledged is not None:
            self._save_acknowledged(None)
        self._keep(state)
        try:
            self._past.keep(record_of(state), state)
        except CommandError as error:
            # It is written again when the rollout ends.
            log.warning('history of %s cannot be stored: %s', state.rollout_id, error.message)
        return state

    def _rollout(self, name: Optional[str]) -> RolloutState:
        """The rollout to take back."""
        current = self._state
        if current is None and not self._past.rollout_ids:
            wanted = '' if name is None else f'there is no rollout "{name}" to roll back: '
            raise OperationRefused(errno.ENOENT, f'{wanted}there was no rollout yet')
        if current is not None and name in {
            None,
            current.rollout_id,
            current.request.recommendation_id,
        }:
            return current
        self._refuse_while_running()
        return self._past.found(name)

    def _refuse_while_running(self) -> None:
        if self._state is not None and not self._state.ended:
            raise OperationRefused(
                errno.EBUSY,
                f'rollout {self._state.rollout_id} is running ({self._state.phase.value}): wait '
                'for it, or abort it',
            )
