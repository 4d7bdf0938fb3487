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

from answers import json_schema, typescript
from rocksdb_tuner import present
from rocksdb_tuner.kinds import Kind, kind_of
from rocksdb_tuner.notes import (
    Among,
    Amount,
    AsTime,
    Count,
    Digits,
    InPlace,
    Named,
    NotEmpty,
    Picked,
    Share,
)
from rocksdb_tuner.present.to_json import part_of, published_fields, to_json
from rocksdb_tuner.present.views import VIEWS, View

SCHEMAS = Path(present.__file__).parent / 'schemas'


class Color(str, Enum):
    RED = 'red'
    GREEN = 'green'
    BLUE = 'blue'


@dataclass(frozen=True)
class Leaf:
    """A leaf.

    This is for readers of the code.
    """

    share: Annotated[Share, 'How much of it is there.']
    color: Annotated[Color, Among((Color.RED, Color.GREEN))]
    #: Not shown.
    veins: int = 7


@dataclass(frozen=True)
class Weather:
    """In place."""

    wind_ms: Annotated[Optional[Amount], 'Of the wind.']
    sky: Annotated[Literal['clear', 'grey'], 'Its color.']

    @property
    def calm(self) -> Annotated[bool, 'Without wind.']:
        return not self.wind_ms

    @property
    def hidden(self) -> bool:
        raise AssertionError('nothing without a note is shown')


@dataclass(frozen=True)
class Tree:
    """A tree."""

    class_: Annotated[str, 'Of plants.']
    weather: Annotated[Weather, InPlace()]
    before: Annotated[Optional[Weather], Picked('sky')]
    leaves: Annotated[tuple[Leaf, ...], NotEmpty(), 'Of this year.']
    newest: Annotated[Optional[Leaf], 'null: none.']
    seen_s: Annotated[Optional[float], Named('seen'), AsTime(), 'Last.']
    color: Annotated[Optional[Color], 'Now.']
    heights: Annotated[tuple[Optional[Annotated[float, Digits(1)]], ...], 'By year.']
    birds: Annotated[Mapping[str, Count], 'By name.']
    found: Annotated[object, 'Of any kind.']
    height_m: Annotated[Optional[float], Named('height.m'), 'As measured.']
    kind: Annotated[Literal['oak'], 'Of tree.']
    number: Annotated[Literal[1], 'Of trees.']
    notes: Annotated[tuple[object, ...], 'In order.']
    marks: Annotated[Mapping[str, object], 'By name.']


TREE = Tree(
    'oak',
    Weather(1 / 3, 'grey'),
    None,
    (Leaf(0.5, Color.RED),),
    None,
    1e9,
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
    'calm': False,
    'before': {'sky': None},
    'leaves': [{'share': 0.5, 'color': 'red'}],
    'newest': None,
    'seen': '2001-09-09T01:46:40Z',
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
SCHEMA = json_schema('tree', View(Tree, title='a tree'))


def test_answer_is_encoded_by_its_types() -> None:
    """Rounded numbers, words of enums, null for what JSON has no number for."""
    found: Any = to_json(TREE, kind_of(Tree))
    assert found == AS_JSON
    assert list(found) == list(AS_JSON)
    assert json.loads(json.dumps(found, allow_nan=False)) == AS_JSON
    assert to_json((TREE, TREE), kind_of(tuple[Tree, ...])) == [AS_JSON, AS_JSON]
    assert to_json(None, kind_of(Optional[Tree])) is None


def test_schema_accepts_encoded_answers() -> None:
    """JSON and schema are made from one declaration, and go together."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(AS_JSON, SCHEMA)
    assert SCHEMA['description'] == 'A tree.'
    assert SCHEMA['properties']['leaves']['description'] == 'Of this year.'
    assert SCHEMA['$defs'].keys() == {'Leaf'}
    assert (SCHEMA['properties']['notes'], SCHEMA['properties']['marks']) == (
        {'type': 'array', 'description': 'In order.'},
        {'type': 'object', 'description': 'By name.'},
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
    schema = json_schema('leaves', View(kind, title='leaves', description='All of them.'))
    assert schema['description'] == 'All of them.'
    jsonschema.validate(value, schema)
    assert not jsonschema.Draft202012Validator(schema).is_valid({})


def test_tab_has_an_interface_per_record() -> None:
    """TypeScript types match the schema, as far as they can."""
    assert typescript([View(Tree)]).partition('| null };\n\n')[2] == (
        '/** A leaf. */\n'
        'export interface Leaf {\n'
        '  /** How much of it is there. */\n'
        '  share: number;\n'
        "  color: 'red' | 'green';\n"
        '}\n'
        '\n'
        '/** A tree. */\n'
        'export interface Tree {\n'
        '  /** Of plants. */\n'
        '  class: string;\n'
        '  /** Of the wind. */\n'
        '  wind_ms: number | null;\n'
        '  /** Its color. */\n'
        "  sky: 'clear' | 'grey';\n"
        '  /** Without wind. */\n'
        '  calm: boolean;\n'
        "  before: OrNulls<Pick<Weather, 'sky'>>;\n"
        '  /** Of this year. */\n'
        '  leaves: Leaf[];\n'
        '  /** null: none. */\n'
        '  newest: Leaf | null;\n'
        '  /** Last. */\n'
        '  seen: string | null;\n'
        '  /** Now. */\n'
        "  color: 'red' | 'green' | 'blue' | null;\n"
        '  /** By year. */\n'
        '  heights: (number | null)[];\n'
        '  /** By name. */\n'
        '  birds: Record<string, number>;\n'
        '  /** Of any kind. */\n'
        '  found: unknown;\n'
        '  /** As measured. */\n'
        "  'height.m': number | null;\n"
        '  /** Of tree. */\n'
        "  kind: 'oak';\n"
        '  /** Of trees. */\n'
        '  number: 1;\n'
        '  /** In order. */\n'
        '  notes: unknown[];\n'
        '  /** By name. */\n'
        '  marks: Record<string, unknown>;\n'
        '}\n'
        '\n'
        '/** In place. */\n'
        'export interface Weather {\n'
        '  /** Of the wind. */\n'
        '  wind_ms: number | null;\n'
        '  /** Its color. */\n'
        "  sky: 'clear' | 'grey';\n"
        '  /** Without wind. */\n'
        '  calm: boolean;\n'
        '}\n'
    )


def test_two_records_of_the_same_name_are_refused() -> None:
    """The tab could not distinguish them."""
    other: Any = dataclass(frozen=True)(
        type('Leaf', (), {'__annotations__': {'size': 'int'}, '__module__': __name__})
    )
    with pytest.raises(TypeError, match='same name'):
        typescript([View(Leaf), View(other)])


@pytest.mark.parametrize('name', sorted(VIEWS))
def test_committed_schema_is_current(name: str) -> None:
    """`make answers` regenerates it."""
    kept = json.loads((SCHEMAS / f'{name}.schema.json').read_text())
    assert kept == json_schema(name, VIEWS[name])


def records_of(kind: Kind) -> Iterator[Any]:
    part = part_of(kind)
    if part is None:
        for one in kind.parts:
            yield from records_of(one)
    else:
        yield part.record
        for field in published_fields(part):
            yield from records_of(field.kind)


@pytest.mark.parametrize('name', sorted(VIEWS))
def test_every_answer_record_is_frozen_and_documented(name: str) -> None:
    """The docstring is the description in the schema, the REST API and the tab."""
    found = set(records_of(kind_of(VIEWS[name].kind)))
    assert found
    for record in found:
        assert issubclass(record, tuple) or record.__dataclass_params__.frozen
        # The default docstring of `dataclass`.
        assert not record.__doc__.startswith(f'{record.__name__}(')
