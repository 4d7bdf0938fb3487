"""Records as JSON values: what is read back is what was written, and nothing else is believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocksdb_tuner.kinds import Only
from rocksdb_tuner.store.codec import (
    ADDED_LATER,
    COLUMNS_FROM,
    NOT_STORED,
    decode,
    decode_field,
    decode_rows,
    encode,
    encode_field,
    encode_rows,
)
from rocksdb_tuner.store.errors import StoredStateError
from rocksdb_tuner.store.plain_codecs import Table


class Color(str, Enum):
    RED = 'red'
    BLUE = 'blue'


class Spot(NamedTuple):
    x: int
    label: Optional[str]


@dataclass(frozen=True)
class Leaf:
    name: str
    size: int = 0
    hue: Color = Color.RED
    spot: Optional[Spot] = None


@dataclass(frozen=True)
class Tree:
    name: str
    leaves: tuple[Leaf, ...]
    pair: tuple[int, str]
    numbers: tuple[float, ...]
    by_id: Mapping[int, Leaf]
    by_name: dict[str, Optional[float]]
    side: Literal['left', 'right', 1]
    good: bool
    nested: tuple[tuple[int, ...], ...] = ()
    inner: Optional[Tree] = None
    seen: float = field(default=0.0, metadata=NOT_STORED)
    newer: Optional[int] = field(default=None, metadata=ADDED_LATER)


TEXTS = st.text(max_size=12)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)
LEAVES = st.builds(
    Leaf,
    TEXTS,
    st.integers(0, 2**64),
    st.sampled_from(Color),
    st.none() | st.builds(Spot, st.integers(0, 9), st.none() | TEXTS),
)


def trees(inner: st.SearchStrategy[Optional[Tree]]) -> st.SearchStrategy[Tree]:
    return st.builds(
        Tree,
        name=TEXTS,
        leaves=st.lists(LEAVES, max_size=COLUMNS_FROM + 2).map(tuple),
        pair=st.tuples(st.integers(0, 9), TEXTS),
        numbers=st.lists(NUMBERS, max_size=3).map(tuple),
        by_id=st.dictionaries(st.integers(0, 99), LEAVES, max_size=2),
        by_name=st.dictionaries(TEXTS, st.none() | NUMBERS, max_size=2),
        side=st.sampled_from(['left', 'right', 1]),
        good=st.booleans(),
        nested=st.lists(st.lists(st.integers(0, 9), max_size=2).map(tuple), max_size=2).map(tuple),
        inner=inner,
        newer=st.none() | st.integers(0, 9),
    )


def tree(**changes: Any) -> Tree:
    leaf = Leaf('a leaf of it', 3, Color.BLUE, Spot(1, None))
    plain: dict[str, Any] = {
        'name': 'n',
        'leaves': (leaf,),
        'pair': (1, 'p'),
        'numbers': (1.5,),
        'by_id': {7: leaf},
        'by_name': {'a': None},
        'side': 'left',
        'good': True,
    }
    return Tree(**{**plain, **changes})


def through_text(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


@settings(max_examples=50, deadline=None)
@given(trees(st.none() | trees(st.none())), st.booleans())
def test_what_was_written_is_read_back(record: Tree, shared: bool) -> None:
    """Every type, with texts kept once and without."""
    table = Table() if shared else None
    document = through_text(encode(record, table))
    assert decode(Tree, document, texts=table.texts if table else (), exact=True) == record


@given(st.lists(LEAVES, max_size=40), st.booleans())
def test_rows_are_read_back(rows: list[Leaf], shared: bool) -> None:
    """As objects while they are few, as columns from `COLUMNS_FROM` on."""
    table = Table() if shared else None
    document = through_text(encode_rows(Leaf, rows, table))
    assert isinstance(document, dict) == (len(rows) >= COLUMNS_FROM)
    assert decode_rows(Leaf, document, texts=table.texts if table else ()) == tuple(rows)


def test_repeated_text_is_stored_once() -> None:
    """Long ones are numbers; short ones, which take no more room, stay."""
    table = Table()
    document = encode(tree(name='n' * 8), table)
    assert (document['name'], document['pair']) == (0, [1, 'p'])
    assert document['leaves'][0]['name'] == document['by_id']['7']['name'] == 1
    assert table.texts == ['n' * 8, 'a leaf of it']


def test_fields_are_written_and_read_separately() -> None:
    """A field can be left out, kept under a key of its own, and given when the rest is read."""
    record = tree()
    rest = encode(record, None, ('leaves', 'by_id'))
    assert {'leaves', 'by_id', 'seen'}.isdisjoint(rest)
    leaves = decode_field(Tree, 'leaves', encode_field(record, 'leaves'))
    found = decode(Tree, rest, given={'leaves': leaves, 'by_id': record.by_id})
    assert found == record
    with pytest.raises(StoredStateError, match=r'^"leaves\[0\].size" is -1 instead of a non-'):
        decode_field(Tree, 'leaves', [{**encode(record)['leaves'][0], 'size': -1}])


def test_new_field_may_be_missing_and_unstored_field_has_its_default() -> None:
    """All else has to be there: what damage took away is no default."""
    document = encode(tree(seen=3.0, newer=4))
    assert 'seen' not in document
    del document['newer']
    assert decode(Tree, document) == tree()
    for name in document:
        less = {key: value for key, value in document.items() if key != name}
        with pytest.raises(StoredStateError, match=f'^"{name}" is missing$'):
            decode(Tree, less)


WRONG: list[tuple[str, object, str]] = [
    ('name', 3, '"name" is 3 instead of a string'),
    ('name', None, '"name" is null instead of a string'),
    ('leaves', 'x', '"leaves" is "x" instead of a list'),
    ('leaves', [3], '"leaves[0]" is 3 instead of an object'),
    ('leaves', [{}], '"leaves[0].name" is missing'),
    ('pair', [1], '"pair" is [1] instead of 2 values'),
    ('pair', ['1', 'p'], '"pair[0]" is "1" instead of a non-negative integer'),
    ('pair', [True, 'p'], '"pair[0]" is true instead of a non-negative integer'),
    ('pair', [2**64 + 1, 'p'], 'instead of a non-negative integer'),
    ('numbers', [1.0, True], '"numbers[1]" is true instead of a number'),
    ('numbers', [float('inf')], '"numbers[0]" is Infinity instead of a number'),
    ('numbers', [10**400], 'instead of a number'),
    ('by_id', [], '"by_id" is [] instead of an object'),
    ('by_id', {'x': {}}, '"by_id.x" is not a number'),
    ('by_id', {'9' * 5000: {}}, '" is not a number'),
    ('by_id', {'1': {}}, '"by_id.1.name" is missing'),
    ('by_name', {'a': 'b'}, '"by_name.a" is "b" instead of a number'),
    ('side', True, '"side" is true instead of one of left, right, 1'),
    ('side', [], '"side" is [] instead of one of left, right, 1'),
    ('good', 1, '"good" is 1 instead of true or false'),
    ('nested', [[1], [2, 'x']], '"nested[1][1]" is "x" instead of a non-negative integer'),
    ('inner', [], '"inner" is [] instead of an object'),
    ('inner', 'x' * 99, '"inner" is "' + 'x' * 59 + '... instead of an object'),
]


@pytest.mark.parametrize(('name', 'value', 'message'), WRONG)
def test_wrong_value_is_named_with_the_valid_form(name: str, value: object, message: str) -> None:
    """The place, what is there, and what would be right."""
    with pytest.raises(StoredStateError) as error:
        decode(Tree, {**encode(tree()), name: value}, place='')
    assert message in str(error.value)
    with pytest.raises(StoredStateError) as error:
        decode(Tree, {**encode(tree()), name: value}, place='whole')
    assert str(error.value).startswith(f'"whole.{name}')


def test_wrong_row_is_named_by_its_column() -> None:
    """Columns of other lengths, too."""
    rows = [Leaf(f'leaf {n}', n) for n in range(COLUMNS_FROM)]
    document = encode_rows(Leaf, rows)
    for name, column, message in (
        ('hue', ['red'] * (COLUMNS_FROM - 1) + ['green'], '"rows.hue[15]" is "green" instead of '),
        ('size', [1], '"rows.size" has 1 values for 16 of "name"'),
        ('spot', 3, '"rows.spot" is 3 instead of a list'),
    ):
        with pytest.raises(StoredStateError) as error:
            decode_rows(Leaf, {**document, name: column}, place='rows')
        assert str(error.value).startswith(message)
    del document['hue']
    with pytest.raises(StoredStateError, match=r'^"rows.hue" is missing'):
        decode_rows(Leaf, document, place='rows')


@dataclass(frozen=True)
class Reading:
    place: str
    drift: float = field(default=0.5, metadata=NOT_STORED)
    value: int = 0
    unit: Optional[str] = field(default=None, metadata=ADDED_LATER)


def test_rows_without_new_or_unstored_fields_get_defaults() -> None:
    """Also in columns, and where what is missing is not the last."""
    rows = tuple(Reading(f'p{n}', 0.5, n, 'ms') for n in range(COLUMNS_FROM))
    document = encode_rows(Reading, rows)
    assert sorted(document) == ['place', 'unit', 'value']
    assert decode_rows(Reading, document) == rows
    del document['unit']
    assert decode_rows(Reading, document) == tuple(replace(row, unit=None) for row in rows)


def test_unprintable_value_is_named_by_its_type() -> None:
    """Lists within lists, deeper than a text of them can be made."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(StoredStateError, match=r'^"name" is list instead of a string$'):
        decode(Leaf, {'name': deep})


def test_number_without_a_text_is_named() -> None:
    """A number is a text only where the document has a table."""
    document = {**encode(tree()), 'name': 2}
    with pytest.raises(StoredStateError, match=r'"name" is 2 instead of one of 2 stored strings'):
        decode(Tree, document, texts=('a', 'b'))
    assert decode(Tree, {**document, 'name': 1}, texts=('a', 'b')).name == 'b'
    assert decode(Leaf, {**encode(Leaf('a')), 'hue': 1}, texts=('a', 'blue')).hue is Color.BLUE


def test_unknown_names_are_ignored_or_refused() -> None:
    """A refusal names the known ones."""
    document = {**encode(Leaf('a')), 'color': 1}
    assert decode(Leaf, document) == Leaf('a')
    with pytest.raises(StoredStateError, match=r'"color" is unknown; expected: name, size, hue'):
        decode(Leaf, document, exact=True)


@dataclass(frozen=True)
class Kept:
    class_: str
    share: Annotated[float, Only(lambda share: share <= 1, 'a share')]
    words: Annotated[tuple[str, ...], Only(len, 'a word at least')]


def test_reserved_python_name_is_stored_under_its_published_name() -> None:
    """A record of a document that others read has the names of that document."""
    document = {'class': 'ssd', 'share': 0.5, 'words': ['a']}
    assert encode(Kept('ssd', 0.5, ('a',))) == document
    assert decode(Kept, document, exact=True) == Kept('ssd', 0.5, ('a',))
    assert decode_rows(Kept, {'class': ['x'], 'share': [1], 'words': [['a']]})[0].class_ == 'x'
    with pytest.raises(StoredStateError, match=r'^"class" is missing$'):
        decode(Kept, {'class_': 'ssd', **{n: v for n, v in document.items() if n != 'class'}})


@pytest.mark.parametrize(
    ('name', 'value', 'message'),
    [('share', 1.5, '"share" is 1.5 instead of a share'), ('words', [], 'instead of a word at')],
)
def test_type_may_restrict_its_values(name: str, value: object, message: str) -> None:
    """A value must have the type first, and then be one of the allowed ones."""
    document = {'class': 'ssd', 'share': 0.5, 'words': ['a']}
    with pytest.raises(StoredStateError) as error:
        decode(Kept, {**document, name: value})
    assert message in str(error.value)


@pytest.mark.parametrize('value', [None, [], 3, 'x'])
def test_non_object_is_no_record(value: object) -> None:
    """Without a place there is none to name."""
    with pytest.raises(StoredStateError, match=r'^it is .* instead of an object$'):
        decode(Leaf, value)


def test_ambiguous_types_are_refused_before_anything_is_written() -> None:
    """An error in the declaration of such a record, not in stored data."""

    @dataclass(frozen=True)
    class Either:
        value: Union[str, int]

    @dataclass(frozen=True)
    class Whatever:
        value: object

    @dataclass(frozen=True)
    class Keyed:
        value: dict[float, str]

    for made in (Either('a'), Whatever('a'), Keyed({})):
        with pytest.raises(TypeError, match=r'no stored form|is not supported'):
            encode(made)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_damage_is_an_error_of_its_own_kind_or_harmless(data: st.DataObject) -> None:
    """Any document gives at most a `StoredStateError`."""
    document = encode(tree(leaves=tuple(Leaf(f'leaf {n}', n) for n in range(20))))
    junk = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    )
    name = data.draw(st.sampled_from(sorted(document)))
    if isinstance(document[name], dict) and data.draw(st.booleans()):
        inner = data.draw(st.sampled_from(sorted(document[name])))
        document[name][inner] = data.draw(junk)
    else:
        document[name] = data.draw(junk)
    # Messages on other damage are tested above.
    with suppress(StoredStateError):
        decode(Tree, document)
