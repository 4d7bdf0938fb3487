"""What survives a failover of the manager: the rollout, its predecessors, the history.

Nothing that is stored is trusted. What cannot be read is moved to ``broken/<key>`` for an expert
to look at, is reported, and is not acted on. What a newer version of the module wrote is read again
once that version is back.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Callable, Optional, TypeVar

from ..judge.evidence import Evidence
from ..mgr.protocols import CommandError, Store
from ..units import natural
from .codec import decode_state, encode_state
from .errors import StoredStateError
from .history import HistoryRecord
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
from .stopwatch import ClockState

log = logging.getLogger(__name__)

CURRENT = 'rollout/current'
#: What the verdict on each batch is made of, by the number of the batch.
EVIDENCE = 'rollout/evidence/'
#: The same in versions without batches.
EVIDENCE_OF_CANARY = 'rollout/evidence'
#: When OSDs were restarted, by whatever rollout.
RESTARTS = 'rollout/restarts'
#: How much time managers saw pass.
CLOCK = 'rollout/clock'
#: The id of the rollout whose end an operator has taken note of.
ACKNOWLEDGED = 'rollout/acknowledged'
ARCHIVE = 'rollout/archive/'
HISTORY = 'history/'
BROKEN = 'broken/'

HISTORY_MAX = 200
#: Rollouts that can still be rolled back: each holds what was there before.
ARCHIVE_MAX = 20

_T = TypeVar('_T')


class RolloutStorage:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._unreadable: dict[str, str] = {}

    def problems(self) -> tuple[str, ...]:
        """One sentence for each stored text that could not be read, until it is removed."""
        aside = [key[len(BROKEN) :] for key in self._store.keys(BROKEN)]
        return tuple(
            f'the stored "{key}" could not be read and was set aside: '
            f'{self._unreadable.get(key, "see the log of the manager that read it")}; "ceph '
            f'config-key rm mgr/rocksdb_tuner/{BROKEN}{key}" once it is not needed any more'
            for key in sorted({*aside, *self._unreadable})
            if key in aside or self._store.get(key) is not None
        )

    def take_back_readable(self, held: Callable[[RolloutState], RolloutState]) -> None:
        """Move back what was set aside and can be read now, as after a downgrade is undone.

        A rollout in the middle of its work comes back as ``held`` makes it.
        """
        for aside in self._store.keys(BROKEN):
            key = aside[len(BROKEN) :]
            if self._store.get(key) is not None:
                continue
            try:
                text = _taken_back(key, self._store.get(aside) or '', held)
            except StoredStateError:
                continue
            if text is None:
                continue
            try:
                self._store.set(key, text)
                self._store.set(aside, None)
            except CommandError as error:
                log.warning('%s could not be taken back: %s', key, error.message)
            else:
                log.info('%s, which had been set aside, can be read again', key)

    def load_current(self) -> Optional[RolloutState]:
        return self._read(CURRENT, decode_state)

    def save_current(self, state: RolloutState) -> None:
        """Raises RolloutRefused (E2BIG), CommandError."""
        self._store.set(CURRENT, encode_state(state))

    def load_acknowledged(self) -> Optional[str]:
        return self._store.get(ACKNOWLEDGED)

    def save_acknowledged(self, rollout_id: Optional[str]) -> None:
        """None: nothing is acknowledged any more. Raises CommandError."""
        self._store.set(ACKNOWLEDGED, rollout_id)

    def load_restarts(self) -> RestartLog:
        return self._read(RESTARTS, decode_restarts) or RestartLog()

    def save_restarts(self, restarts: RestartLog) -> None:
        """Raises RolloutRefused (E2BIG), CommandError."""
        self._store.set(RESTARTS, encode_restarts(restarts))

    def load_clock(self) -> ClockState:
        return self._read(CLOCK, decode_clock) or ClockState(0.0)

    def save_clock(self, clock: ClockState) -> None:
        """Raises RolloutRefused (E2BIG), CommandError."""
        self._store.set(CLOCK, encode_clock(clock))

    def load_evidence(self) -> tuple[Evidence, ...]:
        """One for each batch of which anything is kept."""
        read = (self._read(key, decode_evidence) for key in self._evidence_keys())
        return tuple(evidence for evidence in read if evidence is not None)

    def save_evidence(self, kept: tuple[Evidence, ...]) -> None:
        """Keep these and nothing else. Raises RolloutRefused (E2BIG), CommandError."""
        texts = {f'{EVIDENCE}{evidence.batch}': encode_evidence(evidence) for evidence in kept}
        for key, text in texts.items():
            self._store.set(key, text)
        for key in self._evidence_keys():
            if key not in texts:
                self._store.set(key, None)

    def _evidence_keys(self) -> list[str]:
        found = list(self._store.keys(EVIDENCE))
        older = self._store.get(EVIDENCE_OF_CANARY) is not None
        return [EVIDENCE_OF_CANARY, *found] if older else found

    def archive(self, state: RolloutState) -> None:
        """Keep a rollout that ended, so that it can be rolled back after others."""
        self._store.set(ARCHIVE + state.rollout_id, encode_state(state))
        self._drop_oldest(ARCHIVE, ARCHIVE_MAX)

    def is_archived(self, rollout_id: str) -> bool:
        return self._store.get(ARCHIVE + rollout_id) is not None

    def archived(self, name: str) -> Optional[RolloutState]:
        """The newest rollout with this id, or of the recommendation with this id.

        From the archive, or else from what history keeps of it.
        """
        known = {key.rpartition('/')[2] for key in (*self._keys(ARCHIVE), *self._keys(HISTORY))}
        for rollout_id in sorted(known, key=number_of, reverse=True):
            state = self._read(ARCHIVE + rollout_id, decode_state) or self._from_history(rollout_id)
            if state and name in {state.rollout_id, state.request.recommendation_id}:
                return state
        return None

    def _from_history(self, rollout_id: str) -> Optional[RolloutState]:
        text = self._store.get(HISTORY + rollout_id)
        if text is None:
            return None
        try:
            return decode_state_of_record(text)
        except StoredStateError as error:
            log.warning('history of %s cannot be read: %s', rollout_id, error)
            return None

    def _keys(self, prefix: str) -> Sequence[str]:
        return self._store.keys(prefix)

    def load_history(self) -> tuple[HistoryRecord, ...]:
        """Oldest first."""
        records = (self._read(key, decode_record) for key in self._by_age(HISTORY))
        return tuple(record for record in records if record is not None)

    def save_record(self, record: HistoryRecord, state: Optional[RolloutState] = None) -> None:
        """With ``state``, from which it can be rolled back where the archive has none of it."""
        self._store.set(HISTORY + record.rollout_id, encode_record(record, state))
        self._drop_oldest(HISTORY, HISTORY_MAX)

    def next_id(self) -> str:
        """An id that no rollout had before, as far as anything is stored of it."""
        prefixes = (HISTORY, ARCHIVE, BROKEN + HISTORY, BROKEN + ARCHIVE)
        used = [number_of(key) for prefix in prefixes for key in self._store.keys(prefix)]
        return f'r{max(used, default=0) + 1}'

    def _read(self, key: str, decode: Callable[[str], _T]) -> Optional[_T]:
        text = self._store.get(key)
        if text is None:
            return None
        try:
            return decode(text)
        except StoredStateError as error:
            log.warning('%s cannot be read and is set aside: %s', key, error)
            self._unreadable[key] = str(error)
            self._set_aside(key, text)
            return None

    def _set_aside(self, key: str, text: str) -> None:
        try:
            self._store.set(BROKEN + key, text)
            self._store.set(key, None)
        except CommandError as error:
            log.warning('%s could not be set aside: %s', key, error.message)

    def _by_age(self, prefix: str) -> list[str]:
        return sorted(self._keys(prefix), key=number_of)

    def _drop_oldest(self, prefix: str, keep: int) -> None:
        for key in self._by_age(prefix)[:-keep]:
            self._store.set(key, None)


def _taken_back(key: str, text: str, held: Callable[[RolloutState], RolloutState]) -> Optional[str]:
    """What is stored again of a text that was set aside; None of one that is not a rollout's.

    Raises StoredStateError.
    """
    if key == CURRENT:
        state = decode_state(text)
        if not state.ended:
            return encode_state(held(state))
    elif key == EVIDENCE_OF_CANARY or key.startswith(EVIDENCE):
        decode_evidence(text)
    elif key == RESTARTS:
        decode_restarts(text)
    elif key == CLOCK:
        decode_clock(text)
    elif key.startswith(HISTORY):
        decode_record(text)
    elif key.startswith(ARCHIVE):
        decode_state(text)
    else:
        return None
    return text


def number_of(key: str) -> int:
    """The running number at the end of a key, or of an id, 0 where there is none."""
    digits = key.rpartition('/')[2][1:]
    return natural(digits) or 0
