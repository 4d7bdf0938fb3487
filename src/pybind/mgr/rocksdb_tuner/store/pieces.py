"""Texts of any length under keys of limited size.

The monitor keeps at most 64 KiB under one key (mon_config_key_max_entry_size, 65536 in every
release). A longer text is written in pieces under keys of their own, and then the key says which:
whoever reads it finds all of the old text or all of the new one.
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

#: The most that a monitor keeps under one key.
LIMIT_BYTES = 65536
#: Of a text that may hold any character, each of which takes at most four bytes.
_PIECE_BYTES = 60000
_MARK = 'pieces:'
PIECES = 'pieces/'


def cut(text: str) -> list[str]:
    """``text`` in pieces, each of which fits under one key; one where it fits as it is."""
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
    """A store whose texts may be of any length."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, key: str) -> Optional[str]:
        """Raises StoredStateError where a piece is missing or is not the one that was written."""
        text = self._store.get(key)
        return None if text is None else self.whole(key, text)

    def whole(self, key: str, text: str) -> str:
        """All of the text of which the store has ``text`` under ``key``, or did have."""
        if not text.startswith(_MARK):
            return text
        count, crc = _manifest(text[len(_MARK) :])
        found = []
        for number in range(count):
            piece = self._store.get(_piece(key, crc, number))
            if piece is None:
                raise StoredStateError(f'piece {number + 1} of its {count} is missing')
            found.append(piece)
        whole = ''.join(found)
        if checksum(whole) != crc:
            raise StoredStateError(f'its {count} pieces are not those that were written')
        return whole

    def set(self, key: str, text: Optional[str]) -> None:
        """None removes it. Raises CommandError."""
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
            # They may be of what was set aside.
            return
        ours = f'{PIECES}{key}/'
        for piece in self._store.keys(ours):
            # That of another key may begin alike.
            if piece in written or '/' in piece[len(ours) :]:
                continue
            try:
                self._store.set(piece, None)
            except CommandError as error:
                log.warning('%s is left over: %s', piece, error.message)


def _piece(key: str, crc: int, number: int) -> str:
    return f'{PIECES}{key}/{crc}.{number}'


def _manifest(text: str) -> tuple[int, int]:
    try:
        count, crc = json.loads(f'[{text.replace(":", ",", 1)}]')
    except (ValueError, RecursionError):
        count = crc = None
    if type(count) is not int or type(crc) is not int or not 0 < count <= 10**6:
        raise StoredStateError('it does not say which its pieces are')
    return count, crc
