"""Storage that survives a manager failover: rollout, archive and history.

Stored data is never trusted: see `store.stored`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional

from ...judge.evidence import Block, Evidence, Measured
from ...mgr.protocols import Store
from ...store.errors import StoredStateError
from ...store.stored import BROKEN, Quarantine, Stored
from ...units import natural
from ..history import HistoryRecord
from ..reported import ClockState
from .contradictions import contradictions
from .outstanding import RestartLog
from .records import RolloutState

log = logging.getLogger(__name__)

CURRENT = 'rollout/current'
#: Evidence for the verdict on each batch, by batch number.
EVIDENCE = 'rollout/evidence/'
#: Restarts by all rollouts.
RESTARTS = 'rollout/restarts'
#: The persistent clock.
CLOCK = 'rollout/clock'
#: The id of the rollout whose end an operator acknowledged.
ACKNOWLEDGED = 'rollout/acknowledged'
ARCHIVE = 'rollout/archive/'
HISTORY = 'history/'

HISTORY_MAX = 200
#: Rollouts that can still be rolled back: each holds the previous state.
ARCHIVE_MAX = 20

#: With more OSDs, only the archive has the state.
HISTORY_OSDS_MAX = 50


@dataclass(frozen=True)
class _Change:
    """A history record; ``state`` allows a rollback without the archive."""

    record: HistoryRecord
    state: Optional[RolloutState]


class RolloutStorage:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._quarantine = Quarantine(store)
        self._current = Stored(store, CURRENT, RolloutState, contradictions)
        self._restarts = Stored(store, RESTARTS, RestartLog)
        self._clock = Stored(store, CLOCK, ClockState, _wrong_clock)

    def problems(self) -> tuple[str, ...]:
        """One sentence for each quarantined text, until it is removed."""
        return self._quarantine.problems()

    def restore_readable(self, held: Callable[[RolloutState], RolloutState]) -> None:
        """Restore quarantined data that can be read now, as once it was repaired.

        ``held`` transforms a rollout that is under way.
        """

        def converted(record: object) -> object:
            if isinstance(record, RolloutState) and not record.ended:
                return held(record)
            return record

        self._quarantine.restore(self._stored, converted)

    def _stored(self, key: str) -> Optional[Stored[Any]]:
        """None for a key that is not a rollout's."""
        for stored in (self._current, self._restarts, self._clock):
            if stored.key == key:
                return stored
        for prefix, found in (
            (EVIDENCE, self._evidence),
            (HISTORY, self._change),
            (ARCHIVE, self._archived),
        ):
            if key.startswith(prefix):
                return found(key.removeprefix(prefix))
        return None

    def _evidence(self, batch: str) -> Stored[Evidence]:
        return Stored(self._store, EVIDENCE + batch, Evidence, _wrong_evidence)

    def _change(self, rollout_id: str) -> Stored[_Change]:
        return Stored(self._store, HISTORY + rollout_id, _Change)

    def _archived(self, rollout_id: str) -> Stored[RolloutState]:
        return Stored(self._store, ARCHIVE + rollout_id, RolloutState, contradictions)

    def load_current(self) -> Optional[RolloutState]:
        return self._quarantine.read(self._current)

    def save_current(self, state: RolloutState) -> None:
        """Raises CommandError: then either this or the previous state is stored."""
        self._current.save(state)

    def load_acknowledged(self) -> Optional[str]:
        return self._store.get(ACKNOWLEDGED)

    def save_acknowledged(self, rollout_id: Optional[str]) -> None:
        """None: clears the acknowledgment. Raises CommandError."""
        self._store.set(ACKNOWLEDGED, rollout_id)

    def load_restarts(self) -> RestartLog:
        return self._quarantine.read(self._restarts) or RestartLog()

    def save_restarts(self, restarts: RestartLog) -> None:
        """Raises CommandError."""
        self._restarts.save(restarts)

    def load_clock(self) -> ClockState:
        return self._quarantine.read(self._clock) or ClockState(0.0)

    def save_clock(self, clock: ClockState) -> None:
        """Raises CommandError."""
        self._clock.save(clock)

    def load_evidence(self) -> tuple[Evidence, ...]:
        """One for each batch with stored evidence."""
        batches = [key.removeprefix(EVIDENCE) for key in self._store.keys(EVIDENCE)]
        read = (self._quarantine.read(self._evidence(batch)) for batch in batches)
        return tuple(evidence for evidence in read if evidence is not None)

    def save_evidence(self, kept: tuple[Evidence, ...]) -> None:
        """Replaces all stored evidence. Raises CommandError."""
        for evidence in kept:
            self._evidence(str(evidence.batch)).save(
                replace(
                    evidence,
                    before=tuple(map(rounded, evidence.before)),
                    after=tuple(map(rounded, evidence.after)),
                )
            )
        unused = {key.removeprefix(EVIDENCE) for key in self._store.keys(EVIDENCE)}
        for batch in sorted(unused - {str(evidence.batch) for evidence in kept}):
            self._evidence(batch).save(None)

    def archive(self, state: RolloutState) -> None:
        """Archive an ended rollout, so that it can be rolled back later."""
        self._archived(state.rollout_id).save(state)
        self._drop_oldest(ARCHIVE, ARCHIVE_MAX)

    def is_archived(self, rollout_id: str) -> bool:
        return self._store.get(ARCHIVE + rollout_id) is not None

    def archived(self, name: str) -> Optional[RolloutState]:
        """The newest rollout with this id, or of the recommendation with this id.

        From the archive, or else from its history record.
        """
        ids = {
            key.removeprefix(prefix)
            for prefix in (ARCHIVE, HISTORY)
            for key in self._store.keys(prefix)
        }
        for rollout_id in sorted(ids, key=number_of, reverse=True):
            archived = self._quarantine.read(self._archived(rollout_id))
            state = archived or self._from_history(rollout_id)
            if state and name in {state.rollout_id, state.request.recommendation_id}:
                return state
        return None

    def _from_history(self, rollout_id: str) -> Optional[RolloutState]:
        try:
            change = self._change(rollout_id).load()
        except StoredStateError as error:
            log.warning('cannot read the history of %s: %s', rollout_id, error)
            return None
        return None if change is None else change.state

    def load_history(self) -> tuple[HistoryRecord, ...]:
        """Oldest first."""
        ids = [key.removeprefix(HISTORY) for key in self._by_age(HISTORY)]
        changes = (self._quarantine.read(self._change(rollout_id)) for rollout_id in ids)
        return tuple(change.record for change in changes if change is not None)

    def save_record(self, record: HistoryRecord, state: Optional[RolloutState] = None) -> None:
        """With ``state``, for a rollback if the archive lacks it."""
        few = state is not None and len(state.osds) <= HISTORY_OSDS_MAX
        self._change(record.rollout_id).save(_Change(record, state if few else None))
        self._drop_oldest(HISTORY, HISTORY_MAX)

    def next_id(self) -> str:
        """A new id, higher than all stored ones."""
        prefixes = (HISTORY, ARCHIVE, BROKEN + HISTORY, BROKEN + ARCHIVE)
        used = [number_of(key) for prefix in prefixes for key in self._store.keys(prefix)]
        return f'r{max(used, default=0) + 1}'

    def _by_age(self, prefix: str) -> list[str]:
        return sorted(self._store.keys(prefix), key=number_of)

    def _drop_oldest(self, prefix: str, keep: int) -> None:
        for key in self._by_age(prefix)[:-keep]:
            Stored(self._store, key, RolloutState).save(None)


def rounded(block: Block) -> Block:
    """As it is stored: more digits of a mean are noise."""
    return Block(
        {
            osd_id: Measured(*(None if v is None else float(f'{v:.5g}') for v in measured))
            for osd_id, measured in block.by_osd.items()
        },
        None if block.end_s is None else float(round(block.end_s)),
    )


def _wrong_clock(clock: ClockState) -> Iterator[str]:
    if clock.passed_s < 0:
        yield f'"passed_s" is {clock.passed_s} instead of a non-negative number'


def _wrong_evidence(evidence: Evidence) -> Iterator[str]:
    if not evidence.osds or len(set(evidence.osds)) != len(evidence.osds):
        yield '"changed" and "controls" are empty or name an OSD twice'


def number_of(key: str) -> int:
    """The number at the end of a key or id; 0 without one."""
    digits = key.rpartition('/')[2][1:]
    return natural(digits) or 0
