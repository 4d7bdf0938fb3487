"""Field types of records, for code that writes, reads or describes any record.

`Annotated` types keep their notes, which hold what a type cannot express: bounds, a description.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, auto
from functools import cache
from typing import (
    Annotated,
    Any,
    Callable,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)


class Form(Enum):
    """Form of a value in JSON and in stored data."""

    TEXT = auto()
    WHOLE = auto()
    NUMBER = auto()
    FLAG = auto()
    #: Any form.
    ANYTHING = auto()
    #: Its only part, or None.
    OPTIONAL = auto()
    #: One of the values of a Literal.
    LITERAL = auto()
    ENUM = auto()
    #: Any number of its only part.
    LIST = auto()
    #: One value of each part.
    FIXED = auto()
    #: Its parts are the kinds of keys and values.
    MAPPING = auto()
    #: A dataclass or named tuple: see `fields_of`.
    RECORD = auto()
    #: One of several records, which are its parts.
    ONE_OF = auto()


class Kind(NamedTuple):
    form: Form
    #: Without its notes.
    hint: Any
    parts: tuple[Kind, ...] = ()
    #: Notes of `Annotated`, outermost last.
    notes: tuple[Any, ...] = ()


class Only(NamedTuple):
    """A note on a type: only values for which ``holds`` is true are valid."""

    holds: Callable[[Any], object]
    #: Description of a valid value.
    wanted: str


@dataclass(frozen=True)
class Signed:
    """A note on a type: the number may be negative."""


class Field(NamedTuple):
    name: str
    kind: Kind
    metadata: Mapping[Any, Any]

    @property
    def json_name(self) -> str:
        """The name in JSON: without the "_" after a Python keyword."""
        return self.name.rstrip('_')


_PLAIN = {
    str: Form.TEXT,
    int: Form.WHOLE,
    float: Form.NUMBER,
    bool: Form.FLAG,
    object: Form.ANYTHING,
}


@cache
def kind_of(hint: Any) -> Kind:
    """The kind of a type; raises TypeError for a type that records cannot have."""
    if get_origin(hint) is Annotated:
        bare, *notes = get_args(hint)
        kind = kind_of(bare)
        return kind._replace(notes=(*kind.notes, *notes))
    if hint in _PLAIN:
        return Kind(_PLAIN[hint], hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return Kind(Form.ENUM, hint)
    if is_dataclass(hint) or hasattr(hint, '_fields'):
        return Kind(Form.RECORD, hint)
    return _composed(hint, get_origin(hint), get_args(hint))


def _composed(hint: Any, origin: Any, arguments: tuple[Any, ...]) -> Kind:
    if origin is Literal:
        return Kind(Form.LITERAL, hint)
    if origin in {dict, Mapping}:
        return Kind(Form.MAPPING, hint, tuple(map(kind_of, arguments)))
    if origin is frozenset or (
        origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis
    ):
        return Kind(Form.LIST, hint, (kind_of(arguments[0]),))
    if origin is tuple:
        return Kind(Form.FIXED, hint, tuple(map(kind_of, arguments)))
    if origin is Union and arguments[-1] is type(None):
        return Kind(Form.OPTIONAL, hint, (kind_of(Union[arguments[:-1]]),))
    if origin is Union:
        parts = tuple(map(kind_of, arguments))
        if all(part.form is Form.RECORD for part in parts):
            return Kind(Form.ONE_OF, hint, parts)
    raise TypeError(f'{hint!r} is not supported in a record')


@cache
def fields_of(record: Any) -> tuple[Field, ...]:
    """Fields that the constructor of ``record`` takes."""
    hints = get_type_hints(record, include_extras=True)
    names: Mapping[str, Mapping[Any, Any]]
    if is_dataclass(record):
        names = {field.name: field.metadata for field in fields(record) if field.init}
    else:
        names = {name: {} for name in record._fields}
    return tuple(Field(name, kind_of(hints[name]), names[name]) for name in names)
