"""Answers are declared once: their JSON, the published schemas and the tab's types follow."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import jsonschema
import pytest

from rocksdb_tuner import present
from rocksdb_tuner.kinds import Form, Kind, kind_of
from rocksdb_tuner.notes import (
    Among,
    Amount,
    Count,
    Digits,
    InPlace,
    Named,
    NotEmpty,
    Share,
    Time,
)
from rocksdb_tuner.present.answers.catalogue import ANSWERS, Answer
from rocksdb_tuner.present.answers.options import like, like_if_any
from rocksdb_tuner.present.json_schema import json_schema, published_fields
from rocksdb_tuner.present.to_json import to_json
from rocksdb_tuner.present.typescript import typescript

SCHEMAS = Path(present.__file__).parent / 'schemas'


class Color(str, Enum):
    RED = 'red'
    GREEN = 'green'
    BLUE = 'blue'


@dataclass(frozen=True)
class Leaf:
    """A leaf."""

    share: Annotated[Share, 'How much of it is there.']
    color: Annotated[Color, Among((Color.RED, Color.GREEN))]


@dataclass(frozen=True)
class Weather:
    """In place."""

    wind_ms: Annotated[Optional[Amount], 'Of the wind.']
    sky: Literal['clear', 'grey']


@dataclass(frozen=True)
class Tree:
    """A tree."""

    class_: str
    weather: Annotated[Weather, InPlace()]
    leaves: Annotated[tuple[Leaf, ...], NotEmpty(), 'Of this year.']
    newest: Annotated[Optional[Leaf], 'null: none.']
    seen: Optional[Time]
    color: Optional[Color]
    heights: tuple[Optional[Annotated[float, Digits(1)]], ...]
    birds: Mapping[str, Count]
    found: object
    height_m: Annotated[Optional[float], Named('height.m'), 'As measured.']
    kind: Literal['oak']
    number: Literal[1]
    notes: tuple[object, ...]
    marks: Mapping[str, object]


TREE = Tree(
    'oak',
    Weather(1 / 3, 'grey'),
    (Leaf(0.5, Color.RED),),
    None,
    None,
    Color.BLUE,
    (12.345, math.nan, None),
    {'tit': 2},
    (math.inf, Color.RED, {1: 2.0000001}),
    1 / 3,
    'oak',
    1,
    (1 / 3,),
    {'a': 1 / 3},
)
AS_JSON = {
    'class': 'oak',
    'wind_ms': 0.333333,
    'sky': 'grey',
    'leaves': [{'share': 0.5, 'color': 'red'}],
    'newest': None,
    'seen': None,
    'color': 'blue',
    'heights': [12.3, None, None],
    'birds': {'tit': 2},
    'found': [None, 'red', {'1': 2.0}],
    'height.m': 0.333333,
    'kind': 'oak',
    'number': 1,
    'notes': [0.333333],
    'marks': {'a': 0.333333},
}
SCHEMA = json_schema('tree', Answer('a tree', Tree))


def test_answer_is_encoded_by_its_types() -> None:
    """Rounded numbers, words of enums, null for what JSON has no number for."""
    found = to_json(TREE)
    assert found == AS_JSON
    assert list(found) == list(AS_JSON)
    assert json.loads(json.dumps(found, allow_nan=False)) == AS_JSON
    assert to_json((TREE, TREE)) == [AS_JSON, AS_JSON]
    assert to_json(None) is None


def test_schema_accepts_encoded_answers() -> None:
    """JSON and schema are made from one declaration, and go together."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(AS_JSON, SCHEMA)
    assert SCHEMA['description'] == 'A tree.'
    assert SCHEMA['properties']['leaves']['description'] == 'Of this year.'
    assert SCHEMA['$defs'].keys() == {'Leaf'}
    assert (SCHEMA['properties']['notes'], SCHEMA['properties']['marks']) == (
        *({'type': 'array'}, {'type': 'object'}),
    )


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('class', None),
        ('wind_ms', -1),
        ('sky', 'blue'),
        ('leaves', []),
        ('leaves', [{'share': 1.1, 'color': 'red'}]),
        ('leaves', [{'share': 1, 'color': 'blue'}]),
        ('leaves', [{'share': 1}]),
        ('newest', {}),
        ('seen', 'today'),
        ('color', 'grey'),
        ('heights', ['high']),
        ('birds', {'tit': 0.5}),
        ('unknown', 1),
        ('height.m', 'tall'),
        ('kind', 'elm'),
        ('number', 2),
        ('notes', {}),
        ('marks', []),
    ],
)
def test_schema_refuses_everything_else(name: str, value: Any) -> None:
    """Bounds, words, patterns, nulls and names are as strict as the declaration."""
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid({**AS_JSON, name: value})


@pytest.mark.parametrize(
    ('kind', 'value'), [(tuple[Leaf, ...], []), (Optional[Leaf], None)], ids=['list', 'null']
)
def test_list_and_nullable_fields_have_descriptions(kind: Any, value: Any) -> None:
    """An answer need not be a record."""
    schema = json_schema('leaves', Answer('leaves', kind, 'All of them.'))
    assert schema['description'] == 'All of them.'
    jsonschema.validate(value, schema)
    assert not jsonschema.Draft202012Validator(schema).is_valid({})


def test_tab_has_an_interface_per_record() -> None:
    """TypeScript types match the schema, as far as they can."""
    assert typescript([Answer('', Tree)]).partition('\n\n')[2] == (
        '/** A leaf. */\n'
        'export interface Leaf {\n'
        '  /** How much of it is there. */\n'
        '  share: number;\n'
        "  color: 'red' | 'green';\n"
        '}\n'
        '\n'
        '/** A tree. */\n'
        'export interface Tree {\n'
        '  class: string;\n'
        '  /** Of the wind. */\n'
        '  wind_ms: number | null;\n'
        "  sky: 'clear' | 'grey';\n"
        '  /** Of this year. */\n'
        '  leaves: Leaf[];\n'
        '  /** null: none. */\n'
        '  newest: Leaf | null;\n'
        '  seen: string | null;\n'
        "  color: 'red' | 'green' | 'blue' | null;\n"
        '  heights: (number | null)[];\n'
        '  birds: Record<string, number>;\n'
        '  found: unknown;\n'
        '  /** As measured. */\n'
        "  'height.m': number | null;\n"
        "  kind: 'oak';\n"
        '  number: 1;\n'
        '  notes: unknown[];\n'
        '  marks: Record<string, unknown>;\n'
        '}\n'
    )


def test_two_records_of_the_same_name_are_refused() -> None:
    """The tab could not distinguish them."""
    other: Any = dataclass(frozen=True)(type('Leaf', (), {'__annotations__': {'size': 'int'}}))
    with pytest.raises(TypeError, match='same name'):
        typescript([Answer('', Leaf), Answer('', other)])


def test_answer_copies_fields_of_the_same_name_from_a_record() -> None:
    """And nothing that the record lacks goes unnoticed."""
    assert like(Leaf, Weather(0.25, 'grey'), share=0.5, color=Color.RED) == TREE.leaves[0]
    assert like(Leaf, TREE.leaves[0], share=0.25) == Leaf(0.25, Color.RED)
    assert like_if_any(Leaf, None) is None
    with pytest.raises(AttributeError, match='color'):
        like(Leaf, Weather(0.25, 'grey'), share=0.5)
    with pytest.raises(TypeError, match='size'):
        like(Leaf, TREE.leaves[0], size=1)


@pytest.mark.parametrize('name', sorted(ANSWERS))
def test_committed_schema_is_current(name: str) -> None:
    """`make answers` regenerates it."""
    kept = json.loads((SCHEMAS / f'{name}.schema.json').read_text())
    assert kept == json_schema(name, ANSWERS[name])


def records_of(kind: Kind) -> Iterator[Any]:
    for part in kind.parts:
        yield from records_of(part)
    if kind.form is Form.RECORD:
        yield kind.hint
        for field in published_fields(kind.hint):
            yield from records_of(field.kind)


@pytest.mark.parametrize('name', sorted(ANSWERS))
def test_every_answer_record_is_frozen_and_documented(name: str) -> None:
    """The docstring is the description in the schema, the REST API and the tab."""
    found = set(records_of(kind_of(ANSWERS[name].kind)))
    assert found
    for record in found:
        assert issubclass(record, tuple) or record.__dataclass_params__.frozen
        # The default docstring of `dataclass`.
        assert not record.__doc__.startswith(f'{record.__name__}(')
