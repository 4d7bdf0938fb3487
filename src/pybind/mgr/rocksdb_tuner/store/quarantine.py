"""What cannot be read is moved to ``broken/<key>`` for an expert to look at, and is reported.

Nothing is done from it. What a newer version of the module wrote is read again once that version is
back.
"""

from __future__ import annotations

import logging
from typing import Callable, Optional, TypeVar

from ..mgr.protocols import CommandError, Store
from .errors import StoredStateError

log = logging.getLogger(__name__)

BROKEN = 'broken/'

_T = TypeVar('_T')


class Quarantine:
    """Reads from a store, and sets aside what cannot be read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._reasons: dict[str, str] = {}

    def read(self, key: str, decode: Callable[[str], _T]) -> Optional[_T]:
        """What ``decode`` makes of the text; None where there is none, or it was set aside."""
        text = self._store.get(key)
        if text is None:
            return None
        try:
            return decode(text)
        except StoredStateError as error:
            self.set_aside(key, text, str(error))
            return None

    def set_aside(self, key: str, text: str, reason: str) -> None:
        """Never raises: where the store refuses it now, the next manager tries again."""
        log.warning('%s cannot be read and is quarantined: %s', key, reason)
        self._reasons[key] = reason
        try:
            self._store.set(BROKEN + key, text)
            self._store.set(key, None)
        except CommandError as error:
            log.warning('%s could not be quarantined: %s', key, error.message)

    def problems(self) -> tuple[str, ...]:
        """One sentence for each stored text that could not be read, until it is removed."""
        aside = [key[len(BROKEN) :] for key in self._store.keys(BROKEN)]
        return tuple(
            f'the stored "{key}" could not be read and was quarantined: '
            f'{self._reasons.get(key, "see the log of the manager that read it")}; "ceph '
            f'config-key rm mgr/rocksdb_tuner/{BROKEN}{key}" once it is no longer needed'
            for key in sorted({*aside, *self._reasons})
            if key in aside or self._store.get(key) is not None
        )

    def take_back(self, restore: Callable[[str, str], bool]) -> None:
        """Move back what can be read now, as after a downgrade is undone.

        ``restore`` gets the key and the text that was set aside, and stores again what it can read
        (True). It raises StoredStateError, CommandError.
        """
        for aside in self._store.keys(BROKEN):
            key = aside[len(BROKEN) :]
            text = self._store.get(aside)
            if text is None or self._store.get(key) is not None:
                continue
            try:
                if not restore(key, text):
                    continue
                self._store.set(aside, None)
            except StoredStateError:
                continue
            except CommandError as error:
                log.warning('%s could not be restored: %s', key, error.message)
            else:
                log.info('%s, which had been quarantined, can be read again', key)
