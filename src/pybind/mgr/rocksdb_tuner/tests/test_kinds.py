"""The meaning of types of records' fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union

import pytest

from rocksdb_tuner.kinds import Form, Kind, fields_of, kind_of


class Color(Enum):
    RED = 'red'


class Point(NamedTuple):
    x: int


@dataclass(frozen=True)
class Leaf:
    size: Annotated[Optional[Annotated[float, 'inner']], 'outer']
    name: str = field(default='', metadata={'some': 'thing'})
    computed: int = field(default=0, init=False)


@pytest.mark.parametrize(
    ('hint', 'form', 'parts'),
    [
        (str, Form.TEXT, []),
        (int, Form.WHOLE, []),
        (float, Form.NUMBER, []),
        (bool, Form.FLAG, []),
        (object, Form.ANYTHING, []),
        (Optional[int], Form.OPTIONAL, [Form.WHOLE]),
        (Literal['a', 'b'], Form.LITERAL, []),
        (Color, Form.ENUM, []),
        (tuple[Point, ...], Form.LIST, [Form.RECORD]),
        (tuple[int, str], Form.FIXED, [Form.WHOLE, Form.TEXT]),
        (Mapping[str, float], Form.MAPPING, [Form.TEXT, Form.NUMBER]),
        (dict[str, float], Form.MAPPING, [Form.TEXT, Form.NUMBER]),
        (Leaf, Form.RECORD, []),
    ],
    ids=str,
)
def test_type_has_one_form(hint: Any, form: Form, parts: list[Form]) -> None:
    """Each type that a record may have is of one form, with those of its parts."""
    kind = kind_of(hint)
    assert (kind.form, [part.form for part in kind.parts], kind.hint) == (form, parts, hint)


@pytest.mark.parametrize('hint', [Union[int, str], Optional[Union[int, str]], list[int], bytes])
def test_ambiguous_type_is_refused(hint: Any) -> None:
    """No record is written that could not be described."""
    with pytest.raises(TypeError, match='is not supported'):
        kind_of(hint)


def test_annotations_stay_with_their_type() -> None:
    """A note inside an Optional is of the value, one around it of the field."""
    (size, name) = fields_of(Leaf)
    assert (size.name, size.kind.notes, size.kind.parts[0].notes) == (
        'size',
        ('outer',),
        ('inner',),
    )
    assert (name.kind, name.metadata) == (Kind(Form.TEXT, str), {'some': 'thing'})


def test_named_tuple_has_fields_like_a_dataclass() -> None:
    """Both are records."""
    assert [(f.name, f.kind.form) for f in fields_of(Point)] == [('x', Form.WHOLE)]
