"""Stores texts of any length under keys of limited size.

The monitors limit a value to 64 KiB (mon_config_key_max_entry_size, 65536 in every release). A
longer text is split into pieces under separate keys. The key itself is written last and refers to
them, so readers get either the complete old text or the complete new one.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Collection, Iterator
from typing import Optional

from ..mgr.protocols import CommandError, Store
from .errors import StoredStateError
from .quarantine import BROKEN

log = logging.getLogger(__name__)

#: Maximum size of a value in the config-key store.
LIMIT_BYTES = 65536
#: Leaves room to cut at a character boundary.
_PIECE_BYTES = 60000
_MARK = 'pieces:'
PIECES = 'pieces/'


def cut(text: str) -> list[str]:
    """``text`` in pieces that each fit under a key; a single piece if it is short enough."""
    raw = text.encode()
    if len(raw) <= LIMIT_BYTES:
        return [text]
    return list(_cut(raw))


def _cut(raw: bytes) -> Iterator[str]:
    begin = 0
    while begin < len(raw):
        end = min(begin + _PIECE_BYTES, len(raw))
        while end < len(raw) and raw[end] & 0xC0 == 0x80:
            end -= 1
        yield raw[begin:end].decode()
        begin = end


def checksum(text: str) -> int:
    return zlib.crc32(text.encode())


class LongTexts:
    """A store for texts of any length."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, key: str) -> Optional[str]:
        """Raises StoredStateError if a piece is missing or damaged."""
        text = self._store.get(key)
        return None if text is None else self.whole(key, text)

    def whole(self, key: str, text: str) -> str:
        """The complete text for the value ``text`` of ``key``, current or quarantined."""
        if not text.startswith(_MARK):
            return text
        count, crc = _manifest(text.removeprefix(_MARK))
        found = []
        for number in range(count):
            piece = self._store.get(_piece(key, crc, number))
            if piece is None:
                raise StoredStateError(f'piece {number + 1} of its {count} is missing')
            found.append(piece)
        whole = ''.join(found)
        if checksum(whole) != crc:
            raise StoredStateError(f'the checksum of its {count} pieces does not match')
        return whole

    def set(self, key: str, text: Optional[str]) -> None:
        """Write a text, or remove it (None). Raises CommandError."""
        written: list[str] = []
        if text is None:
            self._store.set(key, None)
        else:
            pieces = cut(text)
            if len(pieces) > 1:
                crc = checksum(text)
                for number, piece in enumerate(pieces):
                    self._store.set(_piece(key, crc, number), piece)
                    written.append(_piece(key, crc, number))
                text = f'{_MARK}{len(pieces)}:{crc}'
            self._store.set(key, text)
        self._forget_others(key, written)

    def _forget_others(self, key: str, written: Collection[str]) -> None:
        if self._store.get(BROKEN + key) is not None:
            # They may belong to quarantined data.
            return
        ours = f'{PIECES}{key}/'
        for piece in self._store.keys(ours):
            # Skip pieces of other keys with the same prefix.
            if piece in written or '/' in piece.removeprefix(ours):
                continue
            try:
                self._store.set(piece, None)
            except CommandError as error:
                log.warning('cannot remove obsolete %s: %s', piece, error.message)


def _piece(key: str, crc: int, number: int) -> str:
    return f'{PIECES}{key}/{crc}.{number}'


def _manifest(text: str) -> tuple[int, int]:
    try:
        count, crc = json.loads(f'[{text.replace(":", ",", 1)}]')
    except (ValueError, RecursionError):
        count = crc = None
    if type(count) is not int or type(crc) is not int or not 0 < count <= 10**6:
        raise StoredStateError('its list of pieces is invalid')
    return count, crc
