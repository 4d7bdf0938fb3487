"""Converts frozen dataclasses and named tuples to JSON values and back, driven by their types.

Decoding validates everything: a value of the wrong type raises a `StoredStateError` with its
location, the value and the expected type. Every field is required, so damage never turns into a
default; fields added by a later version of the module are marked with `ADDED_LATER`.

Many records of one kind are stored as one list per field, since similar values compress best next
to each other. Repeated texts can be stored once, in a `Table`, and referenced by number. A text is
never a JSON number, so both forms are decoded alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import (
    Any,
    Callable,
    NamedTuple,
    Optional,
    TypeVar,
    cast,
    get_origin,
)

from ..kinds import Form, Kind, Only, Signed, fields_of
from ..units import natural
from .errors import StoredStateError
from .plain_codecs import (
    PLAIN,
    SIGNED,
    Codec,
    MisfitError,
    Source,
    Table,
    enum,
    literal,
    read_each,
    read_list,
    read_only,
    wrong,
)

#: For `field(metadata=...)`: the field has its default if a document lacks it.
ADDED_LATER: Mapping[str, object] = {'store': 'added later'}
#: For `field(metadata=...)`: the field is not stored and is decoded as its default.
NOT_STORED: Mapping[str, object] = {'store': 'not stored'}

#: From this number of records on, each field is one list.
COLUMNS_FROM = 16

_T = TypeVar('_T')


def encode(record: object, table: Optional[Table] = None, without: Sequence[str] = ()) -> Any:
    """Encode a frozen dataclass as a JSON object, except the fields ``without``."""
    codec = _record(type(record))
    return codec.write_some(record, table, frozenset(without))


def encode_field(record: object, name: str, table: Optional[Table] = None) -> Any:
    """Encode one field as a JSON value, for `decode_field`."""
    return _record(type(record)).field(name).codec.write(getattr(record, name), table)


def encode_rows(kind: type[Any], rows: Sequence[object], table: Optional[Table] = None) -> Any:
    """Encode records of one kind as a JSON value, for `decode_rows`."""
    return _rows(kind).write(rows, table)


def decode(
    kind: type[_T],
    document: object,
    *,
    texts: Sequence[str] = (),
    exact: bool = False,
    given: Optional[Mapping[str, object]] = None,
    place: str = '',
) -> _T:
    """Decode a record of `encode`; raises StoredStateError.

    ``texts``: texts of the table. ``given``: fields that are decoded already. ``exact``: refuse
    unknown field names. ``place``: path of the document within a larger one.
    """
    source = Source(texts, exact)
    try:
        return cast('_T', _record(kind).read_some(document, source, given or {}))
    except MisfitError as misfit:
        raise _error(misfit, place) from None


def decode_field(kind: type[Any], name: str, document: object, *, texts: Sequence[str] = ()) -> Any:
    """Decode a value of `encode_field`; raises StoredStateError."""
    try:
        return _record(kind).field(name).codec.read(document, Source(texts, exact=False))
    except MisfitError as misfit:
        raise _error(misfit, name) from None


def decode_rows(
    kind: type[_T], document: object, *, texts: Sequence[str] = (), place: str = ''
) -> tuple[_T, ...]:
    """Decode records of `encode_rows`; raises StoredStateError."""
    try:
        return cast('tuple[_T, ...]', _rows(kind).read(document, Source(texts, exact=False)))
    except MisfitError as misfit:
        raise _error(misfit, place) from None


def _error(misfit: MisfitError, place: str) -> StoredStateError:
    if place:
        misfit.within(place)
    where = f'"{misfit.place}"' if misfit.place else 'it'
    return StoredStateError(f'{where} {misfit.problem}')


# -- codecs by type


@cache
def _codec_of(kind: Kind) -> Codec:
    codec = SIGNED if Signed() in kind.notes else PLAIN.get(kind.form)
    if codec is None:
        if kind.form not in _MADE:
            raise TypeError(f'no stored form for {kind.hint!r}')
        codec = _MADE[kind.form](kind)
    only = [note for note in kind.notes if isinstance(note, Only)]
    return codec._replace(read=read_only(codec.read, only)) if only else codec


def _optional(kind: Kind) -> Codec:
    write, read = _codec_of(kind.parts[0])
    return Codec(
        lambda value, table: None if value is None else write(value, table),
        lambda value, source: None if value is None else read(value, source),
    )


def _list(kind: Kind) -> Codec:
    (item,) = kind.parts
    if item.form is Form.RECORD:
        return _rows(item.hint)
    write, read = _codec_of(item)
    made: Any = frozenset if get_origin(kind.hint) is frozenset else tuple
    return Codec(
        lambda values, table: [
            write(value, table) for value in (values if made is tuple else sorted(values))
        ],
        lambda value, source: made(read_each(read_list(value), read, source)),
    )


def _fixed(kind: Kind) -> Codec:
    codecs = [_codec_of(part) for part in kind.parts]

    def read_all(value: Any, source: Source) -> tuple[Any, ...]:
        values = read_list(value)
        if len(values) != len(codecs):
            wrong(value, f'{len(codecs)} values')
        found = []
        for index, (codec, one) in enumerate(zip(codecs, values)):
            try:
                found.append(codec.read(one, source))
            except MisfitError as misfit:
                raise misfit.within(f'[{index}]') from None
        return tuple(found)

    return Codec(
        lambda values, table: [codec.write(one, table) for codec, one in zip(codecs, values)],
        read_all,
    )


def _mapping(kind: Kind) -> Codec:
    key = kind.parts[0].hint
    if key not in {str, int}:
        raise TypeError(f'no stored form for {kind.hint!r}: JSON names are texts')
    write, read_item = _codec_of(kind.parts[1])

    def read(value: Any, source: Source) -> dict[Any, Any]:
        if type(value) is not dict:
            wrong(value, 'an object')
        found: dict[Any, Any] = {}
        for name, one in value.items():
            known = natural(name) if key is int else name
            if known is None:
                raise MisfitError('is not a number').within(name)
            try:
                found[known] = read_item(one, source)
            except MisfitError as misfit:
                raise misfit.within(name) from None
        return found

    return Codec(
        lambda values, table: {str(name): write(one, table) for name, one in values.items()}, read
    )


# -- records


class _Field(NamedTuple):
    name: str
    #: Name in a document.
    key: str
    codec: Codec
    required: bool


class _Record:
    """Codec of a dataclass or named tuple."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self.fields = [
            _Field(
                field.name,
                field.json_name,
                _codec_within(kind, field.kind),
                field.metadata.get('store') != ADDED_LATER['store'],
            )
            for field in fields_of(kind)
            if field.metadata.get('store') != NOT_STORED['store']
        ]
        self._arguments = [field.name for field in fields_of(kind)]
        self._keys = frozenset(field.key for field in self.fields)
        self.codec = Codec(
            lambda record, table: self.write_some(record, table, frozenset()),
            lambda value, source: self.read_some(value, source, {}),
        )

    def field(self, name: str) -> _Field:
        return next(field for field in self.fields if field.name == name)

    def write_some(
        self, record: Any, table: Optional[Table], without: frozenset[str]
    ) -> dict[str, Any]:
        return {
            key: codec.write(getattr(record, name), table)
            for name, key, codec, _ in self.fields
            if name not in without
        }

    def read_some(self, value: Any, source: Source, given: Mapping[str, object]) -> Any:
        if type(value) is not dict:
            wrong(value, 'an object')
        found = dict(given)
        for name, key, codec, required in self.fields:
            if key in value:
                try:
                    found[name] = codec.read(value[key], source)
                except MisfitError as misfit:
                    raise misfit.within(key) from None
            elif required and name not in given:
                raise MisfitError('is missing').within(key)
        self.refuse_unknown(value, source)
        return self._kind(**found)

    def refuse_unknown(self, names: Mapping[str, Any], source: Source) -> None:
        if source.exact and not names.keys() <= self._keys:
            name = next(name for name in names if name not in self._keys)
            known = ', '.join(field.key for field in self.fields)
            raise MisfitError(f'is unknown; expected: {known}').within(name)

    def made_of(self, columns: Mapping[str, list[Any]]) -> tuple[Any, ...]:
        names = list(columns)
        if names == self._arguments[: len(names)]:
            return tuple(map(self._kind, *columns.values()))
        return tuple(self._kind(**dict(zip(names, row))) for row in zip(*columns.values()))


def _codec_within(record: Any, kind: Kind) -> Codec:
    """Codec of a field, whose type may be the record's own."""
    if kind.form is Form.OPTIONAL and kind.parts[0].hint is record:
        known = _record
        return Codec(
            lambda value, table: None if value is None else known(record).codec.write(value, table),
            lambda value, source: (
                None if value is None else known(record).codec.read(value, source)
            ),
        )
    return _codec_of(kind)


_KNOWN: dict[Any, _Record] = {}


def _record(kind: Any) -> _Record:
    known = _KNOWN.get(kind)
    if known is None:
        known = _KNOWN[kind] = _Record(kind)
    return known


def _rows(kind: Any) -> Codec:
    record = _record(kind)

    def write(rows: Sequence[Any], table: Optional[Table]) -> Any:
        if len(rows) < COLUMNS_FROM:
            return [record.codec.write(row, table) for row in rows]
        return {
            key: [codec.write(getattr(row, name), table) for row in rows]
            for name, key, codec, _ in record.fields
        }

    def read(value: Any, source: Source) -> tuple[Any, ...]:
        if type(value) is not dict:
            return tuple(read_each(read_list(value), record.codec.read, source))
        columns: dict[str, list[Any]] = {}
        for name, key, codec, required in record.fields:
            if key not in value:
                if required:
                    raise MisfitError('is missing').within(key)
                continue
            try:
                columns[name] = read_each(read_list(value[key]), codec.read, source)
            except MisfitError as misfit:
                raise misfit.within(key) from None
            if len(columns[name]) != len(next(iter(columns.values()))):
                first, rows = next((other, len(column)) for other, column in columns.items())
                raise MisfitError(
                    f'has {len(columns[name])} values for {rows} of "{first}"'
                ).within(key)
        record.refuse_unknown(value, source)
        return record.made_of(columns)

    return Codec(write, read)


_MADE: Mapping[Form, Callable[[Kind], Codec]] = {
    Form.OPTIONAL: _optional,
    Form.LITERAL: literal,
    Form.ENUM: enum,
    Form.LIST: _list,
    Form.FIXED: _fixed,
    Form.MAPPING: _mapping,
    Form.RECORD: lambda kind: _record(kind.hint).codec,
}
