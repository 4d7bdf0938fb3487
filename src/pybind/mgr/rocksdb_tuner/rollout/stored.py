"""Documents as stored texts, and back.

The monitor keeps at most 64 KiB under one key (mon_config_key_max_entry_size, 65536 in every
release): a long text is compressed, one that is longer all the same is refused. Reading trusts
nothing: another version, another type or a missing name is a `StoredStateError` that names it.
"""

from __future__ import annotations

import base64
import binascii
import errno
import json
import math
import zlib
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Callable, NoReturn, Optional, TypeVar

from .errors import RolloutRefused, StoredStateError

#: The most that a monitor keeps under one key.
LIMIT_BYTES = 65536
#: Longer texts are compressed.
_PLAIN_MAX_BYTES = 40000
_COMPRESSED = 'zlib:'
#: A text that unpacks to more was not written here.
_UNPACKED_MAX_BYTES = 16 * 1024 * 1024

#: What an operator can do about a change of more OSDs than can be remembered.
BY_HAND = 'change a part of them by hand first, with the commands that "show" prints'

_E = TypeVar('_E', bound=Enum)
_T = TypeVar('_T')


def packed(document: object, what: str, remedy: str = BY_HAND) -> str:
    """Text of at most LIMIT_BYTES bytes; raises RolloutRefused (E2BIG), which names ``remedy``."""
    plain = json.dumps(document, ensure_ascii=False, separators=(',', ':'), allow_nan=False)
    raw = plain.encode('utf-8', 'backslashreplace')
    if len(raw) <= _PLAIN_MAX_BYTES:
        return raw.decode()
    text = _COMPRESSED + base64.b64encode(zlib.compress(raw, 9)).decode('ascii')
    refuse_above(len(text), what, remedy)
    return text


def refuse_above(size_bytes: int, what: str, remedy: str = BY_HAND) -> None:
    """Raise RolloutRefused (E2BIG) where no monitor would keep ``what``."""
    if size_bytes > LIMIT_BYTES:
        raise RolloutRefused(
            errno.E2BIG,
            f'{what} takes {size_bytes} bytes to remember, and a monitor keeps at most '
            f'{LIMIT_BYTES} under one key: {remedy}',
        )


def wrong(path: str, found: object, wanted: str) -> NoReturn:
    shown = json.dumps(found)[:60]
    raise StoredStateError(f'"{path}" is {shown} instead of {wanted}')


def unpacked(text: str, oldest: int, newest: int) -> Part:
    """What `packed` wrote in one of these versions of the format; raises StoredStateError."""
    return Part(unpacked_values(text, oldest, newest), '')


def unpacked_values(text: str, oldest: int, newest: int) -> dict[str, Any]:
    """The same, of which nothing but the version is known; raises StoredStateError."""
    if text.startswith(_COMPRESSED):
        text = _decompressed(text[len(_COMPRESSED) :])
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoredStateError(f'it is not JSON, or only the beginning of it ({error})') from error
    if not isinstance(document, dict):
        raise StoredStateError('it is not a JSON object')
    version = document.get('version')
    if type(version) is not int or not oldest <= version <= newest:
        raise StoredStateError(
            f'it was written in version {json.dumps(version)[:20]} of the format; this module '
            f'reads versions {oldest} to {newest}'
        )
    return document


def _decompressed(text: str) -> str:
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(base64.b64decode(text, validate=True), _UNPACKED_MAX_BYTES)
        if not unpacker.eof:
            raise StoredStateError('its compressed text is cut off or too long')
        return raw.decode()
    except (binascii.Error, zlib.error, ValueError) as error:
        raise StoredStateError(f'its compressed text is damaged ({error})') from error


def read_count(path: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        wrong(path, value, 'a number from 0 up')
    return value


def read_number(path: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not _finite(value):
        wrong(path, value, 'a number')
    return value


def read_flag(path: str, value: object) -> bool:
    if not isinstance(value, bool):
        wrong(path, value, 'true or false')
    return value


def read_text(path: str, value: object) -> str:
    if not isinstance(value, str):
        wrong(path, value, 'a text')
    return value


def read_list(path: str, value: object) -> list[object]:
    if not isinstance(value, list):
        wrong(path, value, 'a list')
    return value


def lookup(strings: Sequence[str]) -> Callable[[str, object], str]:
    def look_up(path: str, value: object) -> str:
        number = read_count(path, value)
        if number >= len(strings):
            wrong(path, value, f'one of {len(strings)} stored texts')
        return strings[number]

    return look_up


def optional(read: Callable[[str, object], _T]) -> Callable[[str, object], Optional[_T]]:
    return lambda path, value: None if value is None else read(path, value)


def read_member(path: str, value: object, kind: type[_E]) -> _E:
    for member in kind:
        if member.value == value:
            return member
    wrong(path, value, 'one of ' + ', '.join(str(member.value) for member in kind))


def read_object(path: str, value: object) -> Part:
    if not isinstance(value, dict):
        wrong(path, value, 'an object')
    return Part(value, f'{path}.')


class Part:
    """One JSON object, read by name and type."""

    def __init__(self, values: dict[str, object], path: str) -> None:
        self._values = values
        self._path = path

    def value(self, name: str) -> object:
        if name not in self._values:
            raise StoredStateError(f'"{self._path}{name}" is missing')
        return self._values[name]

    def typed(self, name: str, read: Callable[[str, object], _T]) -> _T:
        return read(self._path + name, self.value(name))

    def added_later(self, name: str, read: Callable[[str, object], _T]) -> Optional[_T]:
        """None also where an older version of the module, which did not know of it, wrote this."""
        value = self._values.get(name)
        return None if value is None else read(self._path + name, value)

    def part(self, name: str) -> Part:
        return self.typed(name, read_object)

    def parts(self, name: str) -> list[Part]:
        return self.column(name, None, read_object)

    def text(self, name: str) -> str:
        return self.typed(name, read_text)

    def optional_text(self, name: str) -> Optional[str]:
        return self.typed(name, optional(read_text))

    def number(self, name: str) -> float:
        return self.typed(name, read_number)

    def choice(self, name: str, kind: type[_E]) -> _E:
        return read_member(self._path + name, self.value(name), kind)

    def optional_choice(self, name: str, kind: type[_E]) -> Optional[_E]:
        return None if self.value(name) is None else self.choice(name, kind)

    def strings(self, name: str) -> list[str]:
        return self.column(name, None, read_text)

    def integers(self, name: str) -> list[int]:
        return self.column(name, None, read_count)

    def column(
        self, name: str, length: Optional[int], read: Callable[[str, object], _T]
    ) -> list[_T]:
        path = self._path + name
        values = read_list(path, self.value(name))
        if length is not None and len(values) != length:
            raise StoredStateError(f'"{path}" has {len(values)} values for {length} OSDs')
        return [read(f'{path}[{index}]', value) for index, value in enumerate(values)]

    def column_added_later(
        self, name: str, length: int, read: Callable[[str, object], Optional[_T]]
    ) -> list[Optional[_T]]:
        """None for each where an older version of the module wrote this."""
        return [None] * length if name not in self._values else self.column(name, length, read)

    def pairs(self, name: str, read: Callable[[str, object], _T]) -> tuple[tuple[str, _T], ...]:
        path = self._path + name
        found = []
        for value in read_list(path, self.value(name)):
            pair = read_list(path, value)
            if len(pair) != 2:
                wrong(path, value, 'a name and a value')
            found.append((read_text(path, pair[0]), read(path, pair[1])))
        return tuple(found)

    def pairs_added_later(
        self, name: str, read: Callable[[str, object], _T]
    ) -> Optional[tuple[tuple[str, _T], ...]]:
        """None also where an older version of the module, which did not know of it, wrote this."""
        return None if self._values.get(name) is None else self.pairs(name, read)

    def permutation(self, name: str, ids: Iterable[int]) -> list[int]:
        found = self.integers(name)
        if sorted(found) != sorted(ids):
            raise StoredStateError(f'"{self._path}{name}" does not hold the OSDs of the rollout')
        return found


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
