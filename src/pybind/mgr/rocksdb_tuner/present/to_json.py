"""Answers as JSON values, based on their types only.

Unknown values are null. A name that is a Python keyword ("class", "from") has a "_" appended in the
code, but not in JSON; a name that is invalid in Python is given by a note, `Named`.

Types of JSON documents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, Optional, Union

from ..kinds import Field, Form, Kind, fields_of
from ..notes import Digits, InPlace, Named
from ..units import rounded

#: A document or a part of one, as accepted by `json.dumps`.
Json = Union[None, bool, int, float, str, Sequence['Json'], Mapping[str, 'Json']]
JsonObject = dict[str, Json]


_Write = Callable[[Any], Json]


def to_json(answer: Any) -> Json:
    """An answer: a dataclass, several, or null."""
    if isinstance(answer, (tuple, list)) and not hasattr(answer, '_fields'):
        return [to_json(item) for item in answer]
    if answer is None:
        return None
    record: Any = type(answer)
    return _object(record)(answer)


def json_name(field: Field) -> str:
    named = (note.name for note in field.kind.notes if isinstance(note, Named))
    return next(named, field.json_name)


def shown_in_place(kind: Kind) -> bool:
    """Whether a record is inlined."""
    return InPlace() in kind.notes


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


@cache
def _object(record: Any) -> Callable[[Any], JsonObject]:
    parts = [
        (field.name, None if shown_in_place(field.kind) else json_name(field), _write(field.kind))
        for field in fields_of(record)
    ]

    def made_of(found: Any) -> JsonObject:
        made: JsonObject = {}
        for attribute, name, write in parts:
            value = getattr(found, attribute)
            if write is not None:
                value = write(value)
            if name is None:
                made.update(value)
            else:
                made[name] = value
        return made

    return made_of


@cache
def _write(kind: Kind) -> Optional[_Write]:
    """The format of a value; None: unchanged."""
    if kind.form is Form.NUMBER:
        return next((_to_digits(n.number) for n in kind.notes if isinstance(n, Digits)), rounded)
    if kind.form is Form.ANYTHING:
        return plain
    if kind.form is Form.ENUM:
        return _value
    if kind.form in {Form.RECORD, Form.ONE_OF}:
        return to_json
    if kind.form is Form.OPTIONAL:
        inner = _write(kind.parts[0])
        return inner and (lambda value: None if value is None else inner(value))
    if kind.form is Form.LIST:
        item = _write(kind.parts[0])
        return list if item is None else lambda values: [item(value) for value in values]
    if kind.form is Form.MAPPING:
        named = _write(kind.parts[1]) or (lambda value: value)
        return lambda values: {str(name): named(value) for name, value in values.items()}
    return None


def _value(member: Enum) -> Json:
    return member.value  # type: ignore[no-any-return]


def _to_digits(count: int) -> _Write:
    return lambda value: round(value, count) if math.isfinite(value) else None
