"""Records as JSON values, based on their types and the notes on them only.

A field or a property is shown if its type has a note, under its name or that of the note `Named`;
without the "_" after a Python keyword. Unknown values are null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache, cached_property
from operator import attrgetter
from typing import Any, NamedTuple, Optional, Union, get_origin, get_type_hints

from ..kinds import Field, Form, Kind, fields_of, kind_of
from ..notes import AsTime, InPlace, Named, Picked, Time, Unbounded
from ..units import format_time, rounded

#: A document or a part of one, as accepted by `json.dumps`.
Json = Union[None, bool, int, float, str, Sequence['Json'], Mapping[str, 'Json']]
JsonObject = dict[str, Json]

_Write = Callable[[Any], Json]
_TIME = kind_of(Optional[Time])


class Shown(NamedTuple):
    """A field or property of a record in an answer."""

    attribute: str
    #: Name in JSON.
    name: str
    kind: Kind
    #: Its fields are inlined.
    in_place: bool


class Part(NamedTuple):
    """A record as the value of a field, or some of its fields."""

    record: Any
    names: tuple[str, ...]
    #: If the record is None, there is an object anyway, in which everything is null.
    blank: bool


@cache
def shown_fields(record: Any, names: tuple[str, ...] = ()) -> tuple[Shown, ...]:
    """All of ``record``, or those with ``names``."""
    found = {f.name: f for f in (*fields_of(record), *_properties(record)) if f.kind.notes}
    return tuple(_shown(found[name]) for name in names or found)


def published_fields(part: Part) -> Iterator[Shown]:
    """Fields as in JSON, with the fields of inlined records."""
    for field in shown_fields(part.record, part.names):
        inner = part_of(field.kind) if field.in_place else None
        for one in (field,) if inner is None else published_fields(inner):
            optional = part.blank and one.kind.form is not Form.OPTIONAL
            yield one._replace(kind=_optional(one.kind)) if optional else one


def part_of(kind: Kind) -> Optional[Part]:
    """None if it is no record, or one that may be null."""
    picked = next((n for n in kind.notes if isinstance(n, (InPlace, Picked))), None)
    inner = kind.parts[0] if picked is not None and kind.form is Form.OPTIONAL else kind
    if inner.form is not Form.RECORD:
        return None
    return Part(inner.hint, () if picked is None else picked.names, inner is not kind)


def to_json(answer: Any, kind: Kind) -> Json:
    """An answer: a record, several, or null."""
    write = _write(kind)
    return answer if write is None else write(answer)


def plain(value: object) -> Json:
    """The JSON value of any value."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    return str(value)


def _properties(record: Any) -> Iterator[Field]:
    for base in reversed(record.__mro__):
        for name, value in vars(base).items():
            getter = value.fget if isinstance(value, property) else None
            getter = value.func if isinstance(value, cached_property) else getter
            hint = getattr(getter, '__annotations__', {}).get('return', '')
            # Others may return what no record has.
            if getter is not None and str(hint).startswith('Annotated['):
                kind = kind_of(get_type_hints(getter, include_extras=True)['return'])
                yield Field(name, kind, {})


def _shown(field: Field) -> Shown:
    kind = field.kind
    name = next((n.name for n in kind.notes if isinstance(n, Named)), field.json_name)
    if AsTime() in kind.notes:
        kind = _TIME._replace(notes=kind.notes)
    if Unbounded() in kind.notes:
        kind = _optional(kind)
    in_place = any(isinstance(note, InPlace) for note in kind.notes)
    return Shown(field.name, name, kind, in_place)


def _optional(kind: Kind) -> Kind:
    texts = tuple(note for note in kind.notes if isinstance(note, str))
    return Kind(Form.OPTIONAL, Optional[kind.hint], (kind,), texts)


@cache
def _object(part: Part) -> Callable[[Any], Json]:
    shown = shown_fields(part.record, part.names)
    parts = [(f.attribute, None if f.in_place else f.name, _write(f.kind)) for f in shown]

    def made_of(record: Any) -> Json:
        made: JsonObject = {}
        for attribute, name, write in parts:
            value = getattr(record, attribute)
            if write is not None:
                value = write(value)
            if name is None:
                made.update(value)
            else:
                made[name] = value
        return made

    if not part.blank:
        return made_of
    blank = dict.fromkeys(field.name for field in published_fields(part))
    return lambda record: dict(blank) if record is None else made_of(record)


@cache
def _write(kind: Kind) -> Optional[_Write]:
    """The format of a value; None: unchanged."""
    part = part_of(kind)
    if part is not None:
        return _object(part)
    if AsTime() in kind.notes:
        return format_time
    if kind.form is Form.NUMBER:
        return rounded
    if kind.form is Form.ANYTHING:
        return plain
    if kind.form is Form.ENUM:
        return attrgetter('value')
    if kind.form is Form.ONE_OF:
        return lambda record: _object(Part(type(record), (), False))(record)
    if kind.form is Form.OPTIONAL:
        inner = _write(kind.parts[0])
        return inner and (lambda value: None if value is None else inner(value))
    if kind.form is Form.LIST:
        item = _write(kind.parts[0])
        # The order of a set differs from process to process.
        ordered = sorted if get_origin(kind.hint) is frozenset else list
        return ordered if item is None else lambda values: [item(v) for v in ordered(values)]
    if kind.form is Form.MAPPING:
        named = _write(kind.parts[1]) or (lambda value: value)
        return lambda values: {str(name): named(value) for name, value in values.items()}
    return None
