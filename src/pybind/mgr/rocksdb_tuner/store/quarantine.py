"""Moves unreadable data to ``broken/<key>`` for analysis, and reports it.

The module never acts on it. Data of a newer version of the module is restored once that version
runs again.
"""

from __future__ import annotations

import logging
from typing import Callable, Optional, TypeVar

from ..mgr.protocols import CommandError, Store
from ..shell import command
from .errors import StoredStateError

log = logging.getLogger(__name__)

BROKEN = 'broken/'

_T = TypeVar('_T')


class Quarantine:
    """Reads from a store, and quarantines unreadable data."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._reasons: dict[str, str] = {}

    def read(self, key: str, decode: Callable[[str], _T]) -> Optional[_T]:
        """The decoded text; None if there is none, or if it was quarantined."""
        text = self._store.get(key)
        if text is None:
            return None
        try:
            return decode(text)
        except StoredStateError as error:
            self.add(key, text, str(error))
            return None

    def add(self, key: str, text: str, reason: str) -> None:
        """Quarantine a text. Never raises: if the store refuses, the next mgr tries again."""
        log.warning('cannot read %s, quarantining it: %s', key, reason)
        self._reasons[key] = reason
        try:
            self._store.set(BROKEN + key, text)
            self._store.set(key, None)
        except CommandError as error:
            log.warning('cannot quarantine %s: %s', key, error.message)

    def problems(self) -> tuple[str, ...]:
        """One sentence per unreadable text, until it is removed."""
        aside = [key.removeprefix(BROKEN) for key in self._store.keys(BROKEN)]
        return tuple(
            f'the stored "{key}" could not be read and was quarantined: '
            f'{self._reasons.get(key, "see the log of the manager that read it")}; '
            f'"{_removal(BROKEN + key)}" once it is no longer needed'
            for key in sorted({*aside, *self._reasons})
            if key in aside or self._store.get(key) is not None
        )

    def restore(self, store_again: Callable[[str, str], bool]) -> None:
        """Restore data that is readable now, such as after a downgrade was reverted.

        ``store_again`` gets the key and the quarantined text, and stores it if it can read it
        (True). It raises StoredStateError, CommandError.
        """
        for aside in self._store.keys(BROKEN):
            key = aside.removeprefix(BROKEN)
            text = self._store.get(aside)
            if text is None or self._store.get(key) is not None:
                continue
            try:
                if not store_again(key, text):
                    continue
                self._store.set(aside, None)
            except StoredStateError:
                continue
            except CommandError as error:
                log.warning('cannot restore %s: %s', key, error.message)
            else:
                log.info('%s can be read again and is no longer quarantined', key)


def _removal(key: str) -> str:
    return command('ceph', 'config-key', 'rm', f'mgr/rocksdb_tuner/{key}')
