"""Stores a large record under several keys, and writes only the changes.

A record of ten thousand OSDs exceeds the size limit of a key, and most of it never changes. Fields
that rarely change (``parts``) have separate keys, as have chunks of the rows of its largest field.
The head has everything else, including rows that changed since their chunk was written, up to a
limit.

Nothing is overwritten. Changes go to new keys, and the head, which refers to them, is written last.
A mgr that dies in between leaves the previous head and all its keys intact. Keys without a
reference are removed afterwards.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Optional, TypeVar

from ..mgr.protocols import CommandError, Store
from .codec import decode, decode_field, decode_rows, encode, encode_field, encode_rows
from .errors import StoredStateError
from .pieces import LIMIT_BYTES, checksum, cut
from .plain_codecs import Table
from .quarantine import BROKEN
from .text import pack, unpack

log = logging.getLogger(__name__)

_T = TypeVar('_T')


@dataclass(frozen=True)
class Layout(Generic[_T]):
    """How records of one kind are split into keys."""

    kind: type[_T]
    version: int
    #: Fields with separate keys.
    parts: tuple[str, ...]
    #: The field that is stored in chunks of rows, and the type of a row.
    rows: str
    row: type[Any]
    rows_per_chunk: int = 250
    rows_in_head: int = 32


class _Ref(NamedTuple):
    """Reference to a text that is never overwritten."""

    generation: int
    pieces: int
    crc: int

    @property
    def stored(self) -> tuple[int, int, int]:
        return self.generation, self.pieces, self.crc


@dataclass(frozen=True)
class _Index:
    """References of a head to all other keys."""

    count: int
    parts: dict[str, tuple[int, int, int]]
    chunks: tuple[tuple[int, int, int], ...]
    #: Indexes of the rows in the head.
    changed: tuple[int, ...]


class _Kept(NamedTuple):
    """Stored state, as written or read by this mgr."""

    record: Any
    parts: Mapping[str, _Ref]
    chunks: tuple[_Ref, ...]
    #: Rows as stored in the chunks.
    in_chunks: Sequence[Any]


def whole_text(layout: Layout[_T], record: _T) -> str:
    """A complete record as one text of any length."""
    table = Table()
    document = encode(record, table)
    return pack({'version': layout.version, **document, 'texts': table.texts})


def of_whole_text(layout: Layout[_T], text: str) -> _T:
    """Decode a record of `whole_text`; raises StoredStateError."""
    return _of_document(layout, unpack(text, layout.version))


def _of_document(layout: Layout[_T], document: dict[str, Any], **given: object) -> _T:
    return decode(layout.kind, document, texts=_texts(document), given=given)


class Spread(Generic[_T]):
    """The record with its head under ``head_key``."""

    def __init__(self, store: Store, layout: Layout[_T], head_key: str, prefix: str) -> None:
        self._store = store
        self._layout = layout
        self._head_key = head_key
        self._prefix = prefix
        self._kept: Optional[_Kept] = None
        self._generation: Optional[int] = None
        #: Keys that may exist and that nothing but this record uses.
        self._ours: set[str] = set()

    def read(self, text: str) -> _T:
        """The record with the head ``text``; raises StoredStateError."""
        record: _T = self._assembled(text)[0]
        return record

    def load(self, text: str) -> _T:
        """The same for the stored head; `save` then writes changes only."""
        record, self._kept = self._assembled(text)
        return record

    def save(self, record: _T) -> None:
        """Raises CommandError; the stored record is then either this or the previous one."""
        generation = self._next_generation()
        kept = self._kept
        parts = {
            name: self._kept_part(kept, name, getattr(record, name))
            or self._write(name, generation, self._part_text(record, name))
            for name in self._layout.parts
        }
        most = self._layout.rows_in_head
        chunks, in_chunks, changed = self._save_rows(kept, record, generation, most)
        head = self._head(record, parts, chunks, changed)
        if changed and len(head.encode()) > LIMIT_BYTES:
            chunks, in_chunks, changed = self._save_rows(kept, record, generation, 0)
            head = self._head(record, parts, chunks, changed)
        self._store.set(self._head_key, head)
        self._kept = _Kept(record, parts, chunks, in_chunks)
        self._forget(parts, chunks)

    # -- writing

    def _kept_part(self, kept: Optional[_Kept], name: str, value: object) -> Optional[_Ref]:
        if kept is None:
            return None
        stored = getattr(kept.record, name)
        return kept.parts[name] if stored is value or stored == value else None

    def _part_text(self, record: _T, name: str) -> str:
        table = Table()
        value = encode_field(record, name, table)
        return pack({'version': self._layout.version, 'value': value, 'texts': table.texts})

    def _save_rows(
        self, kept: Optional[_Kept], record: _T, generation: int, most_in_head: int
    ) -> tuple[tuple[_Ref, ...], Sequence[Any], list[int]]:
        layout = self._layout
        rows: Sequence[Any] = getattr(record, layout.rows)
        if kept is None or len(kept.in_chunks) != len(rows):
            chunks = [
                self._write_chunk(rows, number, generation) for number in _numbers(layout, rows)
            ]
            return tuple(chunks), rows, []
        changed = [
            number
            for number, (before, now) in enumerate(zip(kept.in_chunks, rows))
            if before is not now and before != now
        ]
        if len(changed) <= most_in_head:
            return kept.chunks, kept.in_chunks, changed
        changed_chunks = {number // layout.rows_per_chunk for number in changed}
        return (
            tuple(
                self._write_chunk(rows, number, generation) if number in changed_chunks else ref
                for number, ref in enumerate(kept.chunks)
            ),
            rows,
            [],
        )

    def _write_chunk(self, rows: Sequence[Any], number: int, generation: int) -> _Ref:
        layout, table = self._layout, Table()
        size = layout.rows_per_chunk
        begin, end = number * size, (number + 1) * size
        value = encode_rows(layout.row, rows[begin:end], table)
        text = pack({'version': layout.version, 'rows': value, 'texts': table.texts})
        return self._write(f'{layout.rows}/{number}', generation, text)

    def _write(self, name: str, generation: int, text: str) -> _Ref:
        pieces = cut(text)
        for number, piece in enumerate(pieces):
            key = self._key(name, generation, number)
            self._ours.add(key)
            self._store.set(key, piece)
        return _Ref(generation, len(pieces), checksum(text))

    def _head(
        self, record: _T, parts: Mapping[str, _Ref], chunks: Sequence[_Ref], changed: list[int]
    ) -> str:
        layout, table = self._layout, Table()
        rows: Sequence[Any] = getattr(record, layout.rows)
        document = encode(record, table, (*layout.parts, layout.rows))
        in_head = encode_rows(layout.row, [rows[number] for number in changed], table)
        index = _Index(
            len(rows),
            {name: ref.stored for name, ref in parts.items()},
            tuple(ref.stored for ref in chunks),
            tuple(changed),
        )
        return pack(
            {
                'version': layout.version,
                **document,
                'changed': in_head,
                'index': encode(index),
                'texts': table.texts,
            }
        )

    def _next_generation(self) -> int:
        """A generation that no key uses."""
        if self._generation is None:
            keys = self._store.keys(self._prefix)
            self._generation = max(map(_generation_of, keys), default=0)
            if self._store.get(BROKEN + self._head_key) is None:
                self._ours.update(keys)
            # Otherwise they may belong to the quarantined head and are kept for analysis.
        self._generation += 1
        return self._generation

    def _forget(self, parts: Mapping[str, _Ref], chunks: Sequence[_Ref]) -> None:
        """Remove keys that the head does not refer to."""
        named = {key for name, ref in self._refs(parts, chunks) for key in self._keys(name, ref)}
        for key in sorted(self._ours - named):
            try:
                self._store.set(key, None)
            except CommandError as error:
                log.warning('cannot remove obsolete %s: %s', key, error.message)
                return
            self._ours.discard(key)

    def _refs(
        self, parts: Mapping[str, _Ref], chunks: Sequence[_Ref]
    ) -> Iterator[tuple[str, _Ref]]:
        yield from parts.items()
        for number, ref in enumerate(chunks):
            yield f'{self._layout.rows}/{number}', ref

    def _keys(self, name: str, ref: _Ref) -> Iterator[str]:
        return (self._key(name, ref.generation, number) for number in range(ref.pieces))

    def _key(self, name: str, generation: int, number: int) -> str:
        return f'{self._prefix}{name}/{generation}.{number}'

    # -- reading

    def _assembled(self, text: str) -> tuple[_T, Optional[_Kept]]:
        layout = self._layout
        head = unpack(text, layout.version)
        if 'index' not in head:
            return _of_document(layout, head), None
        index = decode(_Index, head['index'], place='index')
        missing = set(layout.parts) - set(index.parts)
        if missing:
            raise StoredStateError(f'"index.parts.{min(missing)}" is missing')
        parts = {name: _Ref(*index.parts[name]) for name in layout.parts}
        chunks = tuple(_Ref(*ref) for ref in index.chunks)
        in_chunks = [row for number, ref in enumerate(chunks) for row in self._chunk(number, ref)]
        if len(in_chunks) != index.count:
            raise StoredStateError(
                f'its chunks have {len(in_chunks)} "{layout.rows}" instead of {index.count}'
            )
        changed = decode_rows(layout.row, head.get('changed'), texts=_texts(head), place='changed')
        if len(changed) != len(index.changed) or any(n >= index.count for n in index.changed):
            raise StoredStateError('"changed" does not match "index.changed"')
        rows = list(in_chunks)
        for number, row in zip(index.changed, changed):
            rows[number] = row
        given = {name: self._part(name, ref) for name, ref in parts.items()}
        record = _of_document(layout, head, **given, **{layout.rows: tuple(rows)})
        return record, _Kept(record, parts, chunks, tuple(in_chunks))

    def _part(self, name: str, ref: _Ref) -> object:
        document = self._read(name, ref)
        return decode_field(self._layout.kind, name, document.get('value'), texts=_texts(document))

    def _chunk(self, number: int, ref: _Ref) -> tuple[Any, ...]:
        name = f'{self._layout.rows}/{number}'
        document = self._read(name, ref)
        return decode_rows(
            self._layout.row, document.get('rows'), texts=_texts(document), place=name
        )

    def _read(self, name: str, ref: _Ref) -> dict[str, Any]:
        found = []
        for key in self._keys(name, ref):
            piece = self._store.get(key)
            if piece is None:
                raise StoredStateError(f'its part "{key}" is missing')
            found.append(piece)
        text = ''.join(found)
        if checksum(text) != ref.crc:
            raise StoredStateError(f'the checksum of its part "{name}" does not match')
        return unpack(text, self._layout.version)


def _numbers(layout: Layout[Any], rows: Sequence[Any]) -> range:
    return range(-(-len(rows) // layout.rows_per_chunk))


def _generation_of(key: str) -> int:
    digits = key.rpartition('/')[2].partition('.')[0]
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def _texts(document: Mapping[str, Any]) -> tuple[str, ...]:
    if 'texts' not in document:
        raise StoredStateError('"texts" is missing')
    texts = document['texts']
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise StoredStateError('"texts" is not a list of strings')
    return tuple(texts)
