"""Records under keys of limited size, replaced as a whole or not at all.

The monitors limit a value to 64 KiB (mon_config_key_max_entry_size, 65536 in every release). A
record of ten thousand OSDs exceeds that, and most of it never changes. So long fields are stored as
pieces under other keys, long lists a few rows at a time. A piece is named by its content: nothing
is overwritten, and what did not change is not written again. The key itself, which refers to them,
is written last: a mgr that dies in between leaves the previous record. Pieces without a reference
are removed afterwards.

Stored data is never trusted. Unreadable data, and data of another version of the module, is moved
to ``broken/<key>`` for analysis and reported; the module never acts on it. Once it can be read, as
when an operator repaired it, it is restored.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import logging
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Callable, Generic, Optional, TypeVar

from ..kinds import Form, Kind
from ..mgr.protocols import CommandError, Store
from ..shell import command
from .codec import StoredStateError, as_json, codec_of, decode, record_codec

log = logging.getLogger(__name__)

#: Of everything that is stored. Data of another version is quarantined.
VERSION = 1
#: Maximum size of a value in the config-key store.
LIMIT_BYTES = 65536
#: Longer lists are stored in chunks of as many rows.
ROWS = 100
#: A record up to this size is under its key alone, else only its short fields are.
WHOLE_BYTES = 30000
_SHORT_BYTES = 1000
#: Longer texts are compressed, except for what is under the key itself.
_PLAIN_BYTES = 2000
_COMPRESSED = 'zlib:'
#: Limit for decompression; the module never writes more.
UNPACKED_MAX_BYTES = 64 * 1024 * 1024
#: Compression level: good trade-off between CPU time and size.
_LEVEL = 6
PIECES = 'pieces/'
BROKEN = 'broken/'

_T = TypeVar('_T')


def _value(text: str) -> Any:
    if text.startswith(_COMPRESSED):
        unpacker = zlib.decompressobj()
        try:
            packed = base64.b64decode(text.removeprefix(_COMPRESSED), validate=True)
            text = unpacker.decompress(packed, UNPACKED_MAX_BYTES).decode()
        except (binascii.Error, zlib.error, ValueError) as error:
            raise StoredStateError(f'its compressed text is damaged ({error})') from error
        if not unpacker.eof:
            raise StoredStateError('its compressed text is truncated or too long')
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoredStateError(f'it is not JSON, or truncated ({error})') from error


def _packed(text: str, plain_bytes: int) -> str:
    if len(text) <= plain_bytes:
        return text
    return _COMPRESSED + base64.b64encode(zlib.compress(text.encode(), _LEVEL)).decode()


def _name(piece: str) -> str:
    return hashlib.sha256(piece.encode()).hexdigest()[:16]


class _Chunk:
    """A field, or some rows of one."""

    def __init__(self, value: Any, document: object) -> None:
        self.value = value
        self.text = as_json(document)

    @cached_property
    def pieces(self) -> tuple[tuple[str, str], ...]:
        """(name, text) of each."""
        packed = _packed(self.text, _PLAIN_BYTES)
        cut = (packed[i : i + LIMIT_BYTES] for i in range(0, len(packed), LIMIT_BYTES))
        return tuple((_name(piece), piece) for piece in cut)


@dataclass(frozen=True)
class _Head:
    version: int
    #: The fields under the key itself.
    record: Mapping[str, object]
    #: The names of the pieces of each chunk of the others.
    pieces: Mapping[str, tuple[tuple[str, ...], ...]]


def _nothing(_: object) -> Iterable[str]:
    return ()


class Stored(Generic[_T]):
    """The record under a key."""

    def __init__(
        self,
        store: Store,
        key: str,
        kind: type[_T],
        contradictions: Callable[[_T], Iterable[str]] = _nothing,
    ) -> None:
        """``contradictions`` names those within a record that is right by its types."""
        self.key = key
        self._store = store
        self._kind = kind
        self._contradictions = contradictions
        self._pieces = f'{PIECES}{key}/'
        #: What was written last, by field.
        self._chunks: dict[str, list[_Chunk]] = {}

    # -- writing

    def save(self, record: Optional[_T]) -> None:
        """Replace the record, or remove it (None).

        Raises CommandError; the stored record is then either this or the previous one.
        """
        present = set(self._store.keys(self._pieces))
        if record is None:
            self._store.set(self.key, None)
            self._chunks = {}
            self._forget(present)
            return
        chunks = {
            field.key: self._chunked(field.key, field.kind, getattr(record, field.name))
            for field in record_codec(self._kind).fields
        }
        whole = sum(len(chunk.text) for of in chunks.values() for chunk in of) <= WHOLE_BYTES
        inside, outside = {}, {}
        for name, of in chunks.items():
            if whole or (len(of) == 1 and len(of[0].text) <= _SHORT_BYTES):
                inside[name] = of
            else:
                outside[name] = [[self._write(*piece, present) for piece in c.pieces] for c in of]
        head = f'{{"version":{VERSION},"record":{_object(inside)},"pieces":{as_json(outside)}}}'
        self._store.set(self.key, _packed(head, LIMIT_BYTES))
        self._chunks = chunks
        used = {self._pieces + name for of in outside.values() for names in of for name in names}
        self._forget(present - used)

    def _chunked(self, name: str, kind: Kind, value: Any) -> list[_Chunk]:
        """In the chunks that were written last, as far as they are the same."""
        values = [value]
        if kind.form is Form.LIST and isinstance(value, tuple) and len(value) > ROWS:
            values = [value[i : i + ROWS] for i in range(0, len(value), ROWS)]
        known = self._chunks.get(name, ())
        write = codec_of(kind).write
        return [
            known[i] if i < len(known) and known[i].value == part else _Chunk(part, write(part))
            for i, part in enumerate(values)
        ]

    def _write(self, name: str, piece: str, present: set[str]) -> str:
        key = self._pieces + name
        if key not in present:
            self._store.set(key, piece)
        return name

    def _forget(self, keys: Iterable[str]) -> None:
        if self._store.get(BROKEN + self.key) is not None:
            # They may belong to the quarantined data.
            return
        for key in sorted(keys):
            try:
                self._store.set(key, None)
            except CommandError as error:
                log.warning('cannot remove obsolete %s: %s', key, error.message)
                return

    # -- reading

    def load(self) -> Optional[_T]:
        """None if there is none; raises StoredStateError."""
        text = self._store.get(self.key)
        return None if text is None else self.decoded(text)

    def decoded(self, text: str) -> _T:
        """The record with this ``text`` under its key; raises StoredStateError."""
        document = _value(text)
        if not isinstance(document, dict):
            raise StoredStateError('it is not a JSON object')
        version = document.get('version')
        if type(version) is not int or version != VERSION:
            raise StoredStateError(
                f'it was written in version {json.dumps(version)[:20]} of the format; this module '
                f'reads version {VERSION}'
            )
        head = decode(_Head, document)
        fields = dict(head.record)
        for name, chunks in head.pieces.items():
            values = [_value(''.join(map(self._piece, names))) for names in chunks]
            if len(values) == 1:
                fields[name] = values[0]
            elif all(isinstance(value, list) for value in values):
                fields[name] = [row for rows in values for row in rows]
        record = decode(self._kind, fields)
        for contradiction in self._contradictions(record):
            raise StoredStateError(contradiction)
        return record

    def _piece(self, name: str) -> str:
        piece = self._store.get(self._pieces + name)
        if piece is None:
            raise StoredStateError(f'its part "{self._pieces}{name}" is missing')
        if _name(piece) != name:
            raise StoredStateError(f'the checksum of its part "{name}" does not match')
        return piece


def _object(fields: Mapping[str, list[_Chunk]]) -> str:
    """A JSON object of the texts of ``fields``."""
    return '{' + ','.join(f'{as_json(name)}:{_joined(of)}' for name, of in fields.items()) + '}'


def _joined(chunks: list[_Chunk]) -> str:
    """One value of all rows."""
    first, *others = (chunk.text for chunk in chunks)
    return first if not others else first[:-1] + ''.join(',' + rows[1:-1] for rows in others) + ']'


class Quarantine:
    """Reads from a store, and quarantines unreadable data."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._reasons: dict[str, str] = {}

    def read(
        self, stored: Stored[_T], held: Callable[[_T], _T] = lambda record: record
    ) -> Optional[_T]:
        """None if there is no record, or if it was quarantined.

        A quarantined one that can be read now is restored first, converted by ``held``.
        """
        self._restore(stored, held)
        try:
            return stored.load()
        except StoredStateError as error:
            self.add(stored.key, str(error))
            return None

    def _restore(self, stored: Stored[_T], held: Callable[[_T], _T]) -> None:
        aside = BROKEN + stored.key
        text = self._store.get(aside)
        if text is None or self._store.get(stored.key) is not None:
            return
        try:
            stored.save(held(stored.decoded(text)))
            self._store.set(aside, None)
        except StoredStateError:
            return
        except CommandError as error:
            log.warning('cannot restore %s: %s', stored.key, error.message)
        else:
            log.info('%s can be read again and is no longer quarantined', stored.key)

    def keys(self, prefix: str) -> set[str]:
        """All keys with this prefix, of quarantined records, too."""
        found = (*self._store.keys(prefix), *self._store.keys(BROKEN + prefix))
        return {key.removeprefix(BROKEN) for key in found}

    def add(self, key: str, reason: str) -> None:
        """Never raises: if the store refuses, the next mgr tries again."""
        log.warning('cannot read %s, quarantining it: %s', key, reason)
        self._reasons[key] = reason
        try:
            self._store.set(BROKEN + key, self._store.get(key))
            self._store.set(key, None)
        except CommandError as error:
            log.warning('cannot quarantine %s: %s', key, error.message)

    def problems(self) -> tuple[str, ...]:
        """One sentence per unreadable record, until it is removed."""
        aside = [key.removeprefix(BROKEN) for key in self._store.keys(BROKEN)]
        return tuple(
            f'the stored "{key}" could not be read and was quarantined: '
            f'{self._reasons.get(key, "see the log of the manager that read it")}; '
            f'"{_removal(BROKEN + key)}" once it is no longer needed'
            for key in sorted({*aside, *self._reasons})
            if key in aside or self._store.get(key) is not None
        )


def _removal(key: str) -> str:
    return command('ceph', 'config-key', 'rm', f'mgr/rocksdb_tuner/{key}')
