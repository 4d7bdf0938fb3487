"""Converts frozen dataclasses and named tuples to JSON values and back, driven by their types.

Decoding validates everything: a value of the wrong type raises a `StoredStateError` with its
location, the value and the expected type. Every field is required, so damage never turns into a
default; fields added by a later version of the module are marked with `ADDED_LATER`.

Many records of one kind are stored as one list per field, since similar values compress best next
to each other. Repeated texts can be stored once, in a `Table`, and referenced by number. A text is
never a JSON number, so both forms are decoded alike.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import (
    Any,
    Callable,
    NamedTuple,
    NoReturn,
    Optional,
    TypeVar,
    Union,
    cast,
    get_args,
)

from ..kinds import Form, Kind, Only, fields_of
from ..units import natural
from .errors import StoredStateError

#: For `field(metadata=...)`: the field has its default if a document lacks it.
ADDED_LATER: Mapping[str, object] = {'store': 'added later'}
#: For `field(metadata=...)`: the field is not stored and is decoded as its default.
NOT_STORED: Mapping[str, object] = {'store': 'not stored'}

#: From this number of records on, each field is one list.
COLUMNS_FROM = 16
#: Shorter texts take little more space than a number.
_TABLE_FROM_CHARS = 8
#: Ceph's counters have 64 bits.
_LARGEST = 1 << 64

_T = TypeVar('_T')


class Table:
    """Deduplicated texts, referenced by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def texts(self) -> list[str]:
        return list(self._numbers)

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))


class _Source(NamedTuple):
    """Decoding context of a document."""

    texts: Sequence[str]
    #: Refuse unknown field names.
    exact: bool


_Write = Callable[[Any, Optional[Table]], Any]
_Read = Callable[[Any, _Source], Any]


class _Form(NamedTuple):
    write: _Write
    read: _Read


class _MisfitError(Exception):
    """A value that does not match its type; its path is built from the inside out."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.place = ''

    def within(self, step: str) -> _MisfitError:
        self.place = f'{step}{"." if self.place and self.place[0] != "[" else ""}{self.place}'
        return self


def encode(record: object, table: Optional[Table] = None, without: Sequence[str] = ()) -> Any:
    """Encode a frozen dataclass as a JSON object, except the fields ``without``."""
    form = _record(type(record))
    return form.write_some(record, table, frozenset(without))


def encode_field(record: object, name: str, table: Optional[Table] = None) -> Any:
    """Encode one field as a JSON value, for `decode_field`."""
    return _record(type(record)).field(name).form.write(getattr(record, name), table)


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
    source = _Source(texts, exact)
    try:
        return cast('_T', _record(kind).read_some(document, source, given or {}))
    except _MisfitError as misfit:
        raise _error(misfit, place) from None


def decode_field(kind: type[Any], name: str, document: object, *, texts: Sequence[str] = ()) -> Any:
    """Decode a value of `encode_field`; raises StoredStateError."""
    try:
        return _record(kind).field(name).form.read(document, _Source(texts, exact=False))
    except _MisfitError as misfit:
        raise _error(misfit, name) from None


def decode_rows(
    kind: type[_T], document: object, *, texts: Sequence[str] = (), place: str = ''
) -> tuple[_T, ...]:
    """Decode records of `encode_rows`; raises StoredStateError."""
    try:
        return cast('tuple[_T, ...]', _rows(kind).read(document, _Source(texts, exact=False)))
    except _MisfitError as misfit:
        raise _error(misfit, place) from None


def _error(misfit: _MisfitError, place: str) -> StoredStateError:
    if place:
        misfit.within(place)
    where = f'"{misfit.place}"' if misfit.place else 'it'
    return StoredStateError(f'{where} {misfit.problem}')


def _wrong(found: object, wanted: str) -> NoReturn:
    try:
        shown = json.dumps(found)
    except (TypeError, ValueError, RecursionError):
        shown = type(found).__name__
    shown = shown if len(shown) <= 60 else f'{shown[:60]}...'
    raise _MisfitError(f'is {shown} instead of {wanted}')


# -- forms by type


@cache
def _form(kind: Kind) -> _Form:
    form = _PLAIN.get(kind.form)
    if form is None:
        if kind.form not in _MADE:
            raise TypeError(f'no stored form for {kind.hint!r}')
        form = _MADE[kind.form](kind)
    only = [note for note in kind.notes if isinstance(note, Only)]
    return form._replace(read=_read_only(form.read, only)) if only else form


def _read_only(read_any: _Read, only: Sequence[Only]) -> _Read:
    def read(value: Any, source: _Source) -> Any:
        found = read_any(value, source)
        for note in only:
            if not note.holds(found):
                _wrong(value, note.wanted)
        return found

    return read


def _write_text(value: str, table: Optional[Table]) -> Union[str, int]:
    if table is None or len(value) < _TABLE_FROM_CHARS:
        return value
    return table.number(value)


def _read_text(value: Any, source: _Source) -> str:
    if type(value) is str:
        return value
    if type(value) is not int or not source.texts:
        _wrong(value, 'a text')
    if not 0 <= value < len(source.texts):
        _wrong(value, f'one of {len(source.texts)} stored texts')
    return source.texts[value]


def _read_count(value: Any, _: _Source) -> int:
    if type(value) is not int or not 0 <= value <= _LARGEST:
        _wrong(value, 'a number from 0 up')
    return value


def _read_number(value: Any, _: _Source) -> float:
    kind = type(value)
    if kind is float and math.isfinite(value):
        return cast('float', value)
    if kind is int and abs(value) <= _LARGEST:
        return float(value)
    _wrong(value, 'a number')


def _read_flag(value: Any, _: _Source) -> bool:
    if type(value) is not bool:
        _wrong(value, 'true or false')
    return value


def _as_it_is(value: Any, _: Optional[Table]) -> Any:
    return value


_PLAIN: Mapping[Form, _Form] = {
    Form.TEXT: _Form(_write_text, _read_text),
    Form.WHOLE: _Form(_as_it_is, _read_count),
    Form.NUMBER: _Form(_as_it_is, _read_number),
    Form.FLAG: _Form(_as_it_is, _read_flag),
}


def _optional(kind: Kind) -> _Form:
    write, read = _form(kind.parts[0])
    return _Form(
        lambda value, table: None if value is None else write(value, table),
        lambda value, source: None if value is None else read(value, source),
    )


def _literal(kind: Kind) -> _Form:
    values = get_args(kind.hint)

    def read(value: Any, _: _Source) -> Any:
        # In Python, True == 1.
        for known in values:
            if type(known) is type(value) and known == value:
                return known
        _wrong(value, 'one of ' + ', '.join(map(str, values)))

    return _Form(_as_it_is, read)


def _enum(kind: Kind) -> _Form:
    members = {member.value: member for member in kind.hint}
    known = ', '.join(str(value) for value in members)

    def read(value: Any, source: _Source) -> Any:
        if type(value) is int and source.texts:
            value = _read_text(value, source)
        member = members.get(value) if isinstance(value, (str, int)) else None
        if member is None:
            _wrong(value, f'one of {known}')
        return member

    return _Form(lambda member, _: member.value, read)


def _read_list(value: Any) -> list[Any]:
    if type(value) is not list:
        _wrong(value, 'a list')
    return value


def _read_each(values: list[Any], read: _Read, source: _Source) -> list[Any]:
    found: list[Any] = []
    try:
        for value in values:
            found.append(read(value, source))  # noqa: PERF401 - its length is the failing index
    except _MisfitError as misfit:
        raise misfit.within(f'[{len(found)}]') from None
    return found


def _list(kind: Kind) -> _Form:
    (item,) = kind.parts
    if item.form is Form.RECORD:
        return _rows(item.hint)
    write, read = _form(item)
    return _Form(
        lambda values, table: [write(value, table) for value in values],
        lambda value, source: tuple(_read_each(_read_list(value), read, source)),
    )


def _fixed(kind: Kind) -> _Form:
    forms = [_form(part) for part in kind.parts]

    def read_all(value: Any, source: _Source) -> tuple[Any, ...]:
        values = _read_list(value)
        if len(values) != len(forms):
            _wrong(value, f'{len(forms)} values')
        found = []
        for index, (form, one) in enumerate(zip(forms, values)):
            try:
                found.append(form.read(one, source))
            except _MisfitError as misfit:
                raise misfit.within(f'[{index}]') from None
        return tuple(found)

    return _Form(
        lambda values, table: [form.write(one, table) for form, one in zip(forms, values)],
        read_all,
    )


def _mapping(kind: Kind) -> _Form:
    key = kind.parts[0].hint
    if key not in {str, int}:
        raise TypeError(f'no stored form for {kind.hint!r}: JSON names are texts')
    write, read_item = _form(kind.parts[1])

    def read(value: Any, source: _Source) -> dict[Any, Any]:
        if type(value) is not dict:
            _wrong(value, 'an object')
        found: dict[Any, Any] = {}
        for name, one in value.items():
            known = natural(name) if key is int else name
            if known is None:
                raise _MisfitError('is no number').within(name)
            try:
                found[known] = read_item(one, source)
            except _MisfitError as misfit:
                raise misfit.within(name) from None
        return found

    return _Form(
        lambda values, table: {str(name): write(one, table) for name, one in values.items()}, read
    )


# -- records


class _Field(NamedTuple):
    name: str
    #: Name in a document.
    key: str
    form: _Form
    required: bool


class _Record:
    """Codec of a dataclass or named tuple."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self.fields = [
            _Field(
                field.name,
                field.json_name,
                _form_within(kind, field.kind),
                field.metadata.get('store') != ADDED_LATER['store'],
            )
            for field in fields_of(kind)
            if field.metadata.get('store') != NOT_STORED['store']
        ]
        self._arguments = [field.name for field in fields_of(kind)]
        self._keys = frozenset(field.key for field in self.fields)
        self.form = _Form(
            lambda record, table: self.write_some(record, table, frozenset()),
            lambda value, source: self.read_some(value, source, {}),
        )

    def field(self, name: str) -> _Field:
        return next(field for field in self.fields if field.name == name)

    def write_some(
        self, record: Any, table: Optional[Table], without: frozenset[str]
    ) -> dict[str, Any]:
        return {
            key: form.write(getattr(record, name), table)
            for name, key, form, _ in self.fields
            if name not in without
        }

    def read_some(self, value: Any, source: _Source, given: Mapping[str, object]) -> Any:
        if type(value) is not dict:
            _wrong(value, 'an object')
        found = dict(given)
        for name, key, form, required in self.fields:
            if key in value:
                try:
                    found[name] = form.read(value[key], source)
                except _MisfitError as misfit:
                    raise misfit.within(key) from None
            elif required and name not in given:
                raise _MisfitError('is missing').within(key)
        self.refuse_unknown(value, source)
        return self._kind(**found)

    def refuse_unknown(self, names: Mapping[str, Any], source: _Source) -> None:
        if source.exact and not names.keys() <= self._keys:
            name = next(name for name in names if name not in self._keys)
            known = ', '.join(field.key for field in self.fields)
            raise _MisfitError(f'is not known; known are {known}').within(name)

    def made_of(self, columns: Mapping[str, list[Any]]) -> tuple[Any, ...]:
        names = list(columns)
        if names == self._arguments[: len(names)]:
            return tuple(map(self._kind, *columns.values()))
        return tuple(self._kind(**dict(zip(names, row))) for row in zip(*columns.values()))


def _form_within(record: Any, kind: Kind) -> _Form:
    """Form of a field, whose type may be the record's own."""
    if kind.form is Form.OPTIONAL and kind.parts[0].hint is record:
        known = _record
        return _Form(
            lambda value, table: None if value is None else known(record).form.write(value, table),
            lambda value, source: None if value is None else known(record).form.read(value, source),
        )
    return _form(kind)


_KNOWN: dict[Any, _Record] = {}


def _record(kind: Any) -> _Record:
    known = _KNOWN.get(kind)
    if known is None:
        known = _KNOWN[kind] = _Record(kind)
    return known


def _rows(kind: Any) -> _Form:
    record = _record(kind)

    def write(rows: Sequence[Any], table: Optional[Table]) -> Any:
        if len(rows) < COLUMNS_FROM:
            return [record.form.write(row, table) for row in rows]
        return {
            key: [form.write(getattr(row, name), table) for row in rows]
            for name, key, form, _ in record.fields
        }

    def read(value: Any, source: _Source) -> tuple[Any, ...]:
        if type(value) is not dict:
            return tuple(_read_each(_read_list(value), record.form.read, source))
        columns: dict[str, list[Any]] = {}
        for name, key, form, required in record.fields:
            if key not in value:
                if required:
                    raise _MisfitError('is missing').within(key)
                continue
            try:
                columns[name] = _read_each(_read_list(value[key]), form.read, source)
            except _MisfitError as misfit:
                raise misfit.within(key) from None
            if len(columns[name]) != len(next(iter(columns.values()))):
                first, rows = next((other, len(column)) for other, column in columns.items())
                raise _MisfitError(
                    f'has {len(columns[name])} values for {rows} of "{first}"'
                ).within(key)
        record.refuse_unknown(value, source)
        return record.made_of(columns)

    return _Form(write, read)


_MADE: Mapping[Form, Callable[[Kind], _Form]] = {
    Form.OPTIONAL: _optional,
    Form.LITERAL: _literal,
    Form.ENUM: _enum,
    Form.LIST: _list,
    Form.FIXED: _fixed,
    Form.MAPPING: _mapping,
    Form.RECORD: lambda kind: _record(kind.hint).form,
}
