"""The history of changes, and the rollouts that can still be rolled back."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Optional

from ..errors import OperationRefused
from ..history import HistoryRecord
from ..phases import Outcome
from .history import record_of
from .records import RolloutState
from .rollback import presumed_changed
from .storage import RolloutStorage, number_of


class RolloutArchive:
    def __init__(self, storage: RolloutStorage) -> None:
        self._storage = storage
        self._records: tuple[HistoryRecord, ...] = ()

    @property
    def records(self) -> tuple[HistoryRecord, ...]:
        """Every change, oldest first."""
        return self._records

    @property
    def rollout_ids(self) -> tuple[str, ...]:
        """Oldest first."""
        return tuple(r.rollout_id for r in self._records if r.rollout_id.startswith('r'))

    def load(self, running: Optional[RolloutState]) -> None:
        self._records = tuple(_known(r, running) for r in self._storage.load_history())

    def holds(self, state: RolloutState) -> bool:
        """Whether an ended rollout is archived."""
        return record_of(state) in self._records and self._storage.is_archived(state.rollout_id)

    def keep(self, record: HistoryRecord, state: Optional[RolloutState] = None) -> None:
        """Raises CommandError. ``state`` allows a rollback of a rollout."""
        self._storage.save_record(record, state)
        others = (r for r in self._records if r.rollout_id != record.rollout_id)
        # In the order in which the next manager reads it.
        self._records = tuple(sorted((*others, record), key=lambda r: number_of(r.rollout_id)))

    def found(self, name: Optional[str]) -> RolloutState:
        """The rollout to roll back (None: the last one); raises OperationRefused."""
        if name is None:
            name = self.rollout_ids[-1]
        found = self._storage.archived(name)
        if found is None:
            known = ', '.join(r.rollout_id for r in self._records[-8:])
            raise OperationRefused(
                errno.ENOENT, f'there is no rollout "{name}" to roll back; the last are {known}'
            )
        # A state stored before the end does not show the final progress.
        return found if found.ended else presumed_changed(found)


def _known(record: HistoryRecord, running: Optional[RolloutState]) -> HistoryRecord:
    """A change recorded as under way without a stored state has failed."""
    is_running = running is not None and record.rollout_id == running.rollout_id
    if record.outcome is not Outcome.WAITING or is_running:
        return record
    return replace(
        record,
        outcome=Outcome.FAILED,
        reason='its stored state could not be read: nothing further was done',
    )
