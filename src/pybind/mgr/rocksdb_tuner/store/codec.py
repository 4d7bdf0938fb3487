"""Converts frozen dataclasses and named tuples to JSON values and back, driven by their types.

Decoding validates everything: a value of the wrong type raises a `StoredStateError` with its
location, the value and the expected type. Every field is required, so damage never turns into a
default, except those that are marked as `OMITTABLE`. Unknown names are ignored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from typing import Any, Callable, NamedTuple, NoReturn, TypeVar, cast, get_args, get_origin

from ..kinds import Form, Kind, Only, Signed, fields_of
from ..units import natural

#: For `field(metadata=...)`: the field has its default if a document lacks it.
OMITTABLE: Mapping[str, object] = {'store': 'omittable'}
#: For `field(metadata=...)`: the field is not stored and is decoded as its default.
NOT_STORED: Mapping[str, object] = {'store': 'not stored'}

#: Ceph's counters have 64 bits.
_LARGEST = 1 << 64

_T = TypeVar('_T')


class StoredStateError(Exception):
    """A stored text is damaged or has an unsupported format; the message has the location."""


def as_json(value: object) -> str:
    """ASCII, in which a lone surrogate has a form, too."""
    return json.dumps(value, separators=(',', ':'), allow_nan=False)


def encode(record: object) -> dict[str, Any]:
    """Encode a frozen dataclass as a JSON object."""
    return record_codec(type(record)).write(record)


def encode_field(record: object, name: str) -> Any:
    """Encode one field as a JSON value."""
    (field,) = (field for field in record_codec(type(record)).fields if field.name == name)
    return field.codec.write(getattr(record, name))


def decode(kind: type[_T], document: object, *, place: str = '') -> _T:
    """Decode a record of `encode`; raises StoredStateError.

    ``place``: path of the document within a larger one.
    """
    try:
        return cast('_T', record_codec(kind).read(document))
    except MisfitError as misfit:
        if place:
            misfit.within(place)
        where = f'"{misfit.place}"' if misfit.place else 'it'
        raise StoredStateError(f'{where} {misfit.problem}') from None


class MisfitError(Exception):
    """A value that does not match its type; its path is built from the inside out."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.place = ''

    def within(self, step: str) -> MisfitError:
        self.place = f'{step}{"." if self.place and self.place[0] != "[" else ""}{self.place}'
        return self


class Codec(NamedTuple):
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _wrong(found: object, wanted: str) -> NoReturn:
    try:
        shown = json.dumps(found)
    except (TypeError, ValueError, RecursionError):
        shown = type(found).__name__
    shown = shown if len(shown) <= 60 else f'{shown[:60]}...'
    raise MisfitError(f'is {shown} instead of {wanted}')


def _of_type(kind: type[_T], wanted: str) -> Callable[[Any], _T]:
    def read(value: Any) -> _T:
        # In Python, True is an int.
        if type(value) is not kind:
            _wrong(value, wanted)
        return value

    return read


def _read_count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _LARGEST:
        _wrong(value, 'a non-negative integer')
    return value


def _read_signed(value: Any) -> int:
    if type(value) is not int or abs(value) > _LARGEST:
        _wrong(value, 'an integer')
    return value


def _read_number(value: Any) -> float:
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is int and abs(value) <= _LARGEST:
        return float(value)
    _wrong(value, 'a number')


def _as_it_is(value: Any) -> Any:
    return value


_read_list = _of_type(list, 'a list')
_read_object = _of_type(dict, 'an object')


def _read_each(values: Iterable[tuple[str, Any]], read: Callable[[Any], Any]) -> list[Any]:
    """Each value, which a misfit names by its place."""
    found = []
    for place, value in values:
        try:
            found.append(read(value))
        except MisfitError as misfit:
            raise misfit.within(place) from None
    return found


def _literal(kind: Kind) -> Codec:
    values = get_args(kind.hint)

    def read(value: Any) -> Any:
        for known in values:
            if type(known) is type(value) and known == value:
                return known
        _wrong(value, 'one of ' + ', '.join(map(str, values)))

    return Codec(_as_it_is, read)


def _enum(kind: Kind) -> Codec:
    members = {member.value: member for member in kind.hint}

    def read(value: Any) -> Any:
        member = members.get(value) if isinstance(value, (str, int)) else None
        if member is None:
            _wrong(value, 'one of ' + ', '.join(map(str, members)))
        return member

    return Codec(lambda member: member.value, read)


def _optional(kind: Kind) -> Codec:
    write, read = codec_of(kind.parts[0])
    return Codec(
        lambda value: None if value is None else write(value),
        lambda value: None if value is None else read(value),
    )


def _list(kind: Kind) -> Codec:
    write, read_item = codec_of(kind.parts[0])
    is_set = get_origin(kind.hint) is frozenset
    made: Callable[[list[Any]], Any] = frozenset if is_set else tuple

    def read(value: Any) -> Any:
        rows = _read_list(value)
        return made(_read_each(((f'[{i}]', row) for i, row in enumerate(rows)), read_item))

    return Codec(
        lambda values: [write(value) for value in (sorted(values) if is_set else values)], read
    )


def _fixed(kind: Kind) -> Codec:
    codecs = [codec_of(part) for part in kind.parts]

    def read(value: Any) -> tuple[Any, ...]:
        values = _read_list(value)
        if len(values) != len(codecs):
            _wrong(value, f'{len(codecs)} values')
        return tuple(
            _read_each([(f'[{i}]', values[i])], codec.read)[0] for i, codec in enumerate(codecs)
        )

    return Codec(lambda values: [codec.write(value) for codec, value in zip(codecs, values)], read)


def _mapping(kind: Kind) -> Codec:
    key = kind.parts[0].hint
    if key not in {str, int}:
        raise TypeError(f'no stored form for {kind.hint!r}: JSON names are texts')
    write, read_item = codec_of(kind.parts[1])

    def read(value: Any) -> dict[Any, Any]:
        values = _read_object(value)
        names = [natural(name) if key is int else name for name in values]
        if None in names:
            name = next(text for text, number in zip(values, names) if number is None)
            raise MisfitError('is not a number').within(name)
        return dict(zip(names, _read_each(values.items(), read_item)))

    return Codec(lambda values: {str(name): write(one) for name, one in values.items()}, read)


class _Field(NamedTuple):
    name: str
    #: Name in a document.
    key: str
    codec: Codec
    required: bool
    kind: Kind


class RecordCodec:
    """Codec of a dataclass or named tuple."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    @cached_property
    def fields(self) -> tuple[_Field, ...]:
        """Found when first used: a field may have the type of its record."""
        return tuple(
            _Field(
                field.name,
                field.json_name,
                codec_of(field.kind),
                field.metadata.get('store') != OMITTABLE['store'],
                field.kind,
            )
            for field in fields_of(self._kind)
            if field.metadata.get('store') != NOT_STORED['store']
        )

    def write(self, record: Any) -> dict[str, Any]:
        return {field.key: field.codec.write(getattr(record, field.name)) for field in self.fields}

    def read(self, value: Any) -> Any:
        document, found = _read_object(value), {}
        for field in self.fields:
            if field.key in document:
                try:
                    found[field.name] = field.codec.read(document[field.key])
                except MisfitError as misfit:
                    raise misfit.within(field.key) from None
            elif field.required:
                raise MisfitError('is missing').within(field.key)
        return self._kind(**found)


_KNOWN: dict[Any, RecordCodec] = {}


def record_codec(kind: Any) -> RecordCodec:
    known = _KNOWN.get(kind)
    if known is None:
        known = _KNOWN[kind] = RecordCodec(kind)
    return known


def _record(kind: Kind) -> Codec:
    codec = record_codec(kind.hint)
    return Codec(codec.write, codec.read)


_PLAIN: Mapping[Form, Codec] = {
    Form.TEXT: Codec(_as_it_is, _of_type(str, 'a string')),
    Form.WHOLE: Codec(_as_it_is, _read_count),
    Form.NUMBER: Codec(_as_it_is, _read_number),
    Form.FLAG: Codec(_as_it_is, _of_type(bool, 'true or false')),
    Form.ANYTHING: Codec(_as_it_is, _as_it_is),
}
_MADE: Mapping[Form, Callable[[Kind], Codec]] = {
    Form.OPTIONAL: _optional,
    Form.LITERAL: _literal,
    Form.ENUM: _enum,
    Form.LIST: _list,
    Form.FIXED: _fixed,
    Form.MAPPING: _mapping,
    Form.RECORD: _record,
}


@cache
def codec_of(kind: Kind) -> Codec:
    if Signed() in kind.notes:
        codec = Codec(_as_it_is, _read_signed)
    elif kind.form in _PLAIN:
        codec = _PLAIN[kind.form]
    elif kind.form in _MADE:
        codec = _MADE[kind.form](kind)
    else:
        raise TypeError(f'no stored form for {kind.hint!r}')
    only = [note for note in kind.notes if isinstance(note, Only)]
    return codec._replace(read=_read_only(codec.read, only)) if only else codec


def _read_only(read_any: Callable[[Any], Any], only: list[Only]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        found = read_any(value)
        for note in only:
            if not note.holds(found):
                _wrong(value, note.wanted)
        return found

    return read
