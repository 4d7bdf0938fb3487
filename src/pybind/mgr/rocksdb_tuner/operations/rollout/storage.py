"""Storage that survives a manager failover: rollout, archive and history.

Stored data is never trusted: see `store.quarantine`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Callable, Optional, TypeVar

from ...judge.evidence import Evidence
from ...mgr.protocols import Store
from ...store.errors import StoredStateError
from ...store.pieces import LongTexts
from ...store.quarantine import BROKEN, Quarantine
from ...store.spread import Spread
from ...units import natural
from ..history import HistoryRecord
from ..stopwatch import ClockState
from .codec import LAYOUT, checked, decode_state, encode_state
from .record_codec import (
    decode_clock,
    decode_evidence,
    decode_record,
    decode_restarts,
    decode_state_of_record,
    encode_clock,
    encode_evidence,
    encode_record,
    encode_restarts,
)
from .records import RolloutState
from .restart_log import RestartLog

log = logging.getLogger(__name__)

#: The head of the rollout; its parts are under `PARTS`.
CURRENT = 'rollout/current'
PARTS = 'rollout/parts/'
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

_T = TypeVar('_T')


class RolloutStorage:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._texts = LongTexts(store)
        self._quarantine = Quarantine(store)
        self._current = Spread(store, LAYOUT, CURRENT, PARTS)

    def problems(self) -> tuple[str, ...]:
        """One sentence for each quarantined text, until it is removed."""
        return self._quarantine.problems()

    def restore_readable(self, held: Callable[[RolloutState], RolloutState]) -> None:
        """Restore quarantined data that can be read now, as after a downgrade was undone.

        ``held`` transforms a rollout that is under way.
        """

        def restore(key: str, text: str) -> bool:
            if key == CURRENT:
                state = checked(self._current.read(text))
                if not state.ended:
                    self._current.save(held(state))
                    return True
            else:
                decode = _decoder(key)
                if decode is None:
                    return False
                decode(self._texts.whole(key, text))
            self._store.set(key, text)
            return True

        self._quarantine.restore(restore)

    def load_current(self) -> Optional[RolloutState]:
        return self._quarantine.read(CURRENT, lambda text: checked(self._current.load(text)))

    def save_current(self, state: RolloutState) -> None:
        """Raises CommandError: then either this or the previous state is stored."""
        self._current.save(state)

    def load_acknowledged(self) -> Optional[str]:
        return self._store.get(ACKNOWLEDGED)

    def save_acknowledged(self, rollout_id: Optional[str]) -> None:
        """None: clears the acknowledgment. Raises CommandError."""
        self._store.set(ACKNOWLEDGED, rollout_id)

    def load_restarts(self) -> RestartLog:
        return self._read(RESTARTS, decode_restarts) or RestartLog()

    def save_restarts(self, restarts: RestartLog) -> None:
        """Raises CommandError."""
        self._texts.set(RESTARTS, encode_restarts(restarts))

    def load_clock(self) -> ClockState:
        return self._read(CLOCK, decode_clock) or ClockState(0.0)

    def save_clock(self, clock: ClockState) -> None:
        """Raises CommandError."""
        self._texts.set(CLOCK, encode_clock(clock))

    def load_evidence(self) -> tuple[Evidence, ...]:
        """One for each batch with stored evidence."""
        read = (self._read(key, decode_evidence) for key in self._keys(EVIDENCE))
        return tuple(evidence for evidence in read if evidence is not None)

    def save_evidence(self, kept: tuple[Evidence, ...]) -> None:
        """Replaces all stored evidence. Raises CommandError."""
        texts = {f'{EVIDENCE}{evidence.batch}': encode_evidence(evidence) for evidence in kept}
        for key, text in texts.items():
            self._texts.set(key, text)
        for key in self._keys(EVIDENCE):
            if key not in texts:
                self._texts.set(key, None)

    def archive(self, state: RolloutState) -> None:
        """Archive an ended rollout, so that it can be rolled back later."""
        self._texts.set(ARCHIVE + state.rollout_id, encode_state(state))
        self._drop_oldest(ARCHIVE, ARCHIVE_MAX)

    def is_archived(self, rollout_id: str) -> bool:
        return self._store.get(ARCHIVE + rollout_id) is not None

    def archived(self, name: str) -> Optional[RolloutState]:
        """The newest rollout with this id, or of the recommendation with this id.

        From the archive, or else from its history record.
        """
        known = {key.rpartition('/')[2] for key in (*self._keys(ARCHIVE), *self._keys(HISTORY))}
        for rollout_id in sorted(known, key=number_of, reverse=True):
            state = self._read(ARCHIVE + rollout_id, decode_state) or self._from_history(rollout_id)
            if state and name in {state.rollout_id, state.request.recommendation_id}:
                return state
        return None

    def _from_history(self, rollout_id: str) -> Optional[RolloutState]:
        try:
            text = self._texts.get(HISTORY + rollout_id)
            return None if text is None else decode_state_of_record(text)
        except StoredStateError as error:
            log.warning('cannot read the history of %s: %s', rollout_id, error)
            return None

    def _keys(self, prefix: str) -> Sequence[str]:
        return self._store.keys(prefix)

    def load_history(self) -> tuple[HistoryRecord, ...]:
        """Oldest first."""
        records = (self._read(key, decode_record) for key in self._by_age(HISTORY))
        return tuple(record for record in records if record is not None)

    def save_record(self, record: HistoryRecord, state: Optional[RolloutState] = None) -> None:
        """With ``state``, for a rollback if the archive lacks it."""
        self._texts.set(HISTORY + record.rollout_id, encode_record(record, state))
        self._drop_oldest(HISTORY, HISTORY_MAX)

    def next_id(self) -> str:
        """A new id, higher than all stored ones."""
        prefixes = (HISTORY, ARCHIVE, BROKEN + HISTORY, BROKEN + ARCHIVE)
        used = [number_of(key) for prefix in prefixes for key in self._store.keys(prefix)]
        return f'r{max(used, default=0) + 1}'

    def _read(self, key: str, decode: Callable[[str], _T]) -> Optional[_T]:
        return self._quarantine.read(key, lambda text: decode(self._texts.whole(key, text)))

    def _by_age(self, prefix: str) -> list[str]:
        return sorted(self._keys(prefix), key=number_of)

    def _drop_oldest(self, prefix: str, keep: int) -> None:
        for key in self._by_age(prefix)[:-keep]:
            self._texts.set(key, None)


def _decoder(key: str) -> Optional[Callable[[str], object]]:
    """The decoder for a key; None for a key that is not a rollout's."""
    exact: dict[str, Callable[[str], object]] = {RESTARTS: decode_restarts, CLOCK: decode_clock}
    if key in exact:
        return exact[key]
    for prefix, decode in (
        (EVIDENCE, decode_evidence),
        (HISTORY, decode_record),
        (ARCHIVE, decode_state),
    ):
        if key.startswith(prefix):
            return decode
    return None


def number_of(key: str) -> int:
    """The number at the end of a key or id; 0 without one."""
    digits = key.rpartition('/')[2][1:]
    return natural(digits) or 0
