"""Records as JSON values: what is read back is what was written, and nothing else is believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocksdb_tuner.kinds import Only, Signed
from rocksdb_tuner.store.codec import (
    NOT_STORED,
    OMITTABLE,
    StoredStateError,
    decode,
    encode,
    encode_field,
)


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
    newer: Optional[int] = field(default=None, metadata=OMITTABLE)


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
        leaves=st.lists(LEAVES, max_size=18).map(tuple),
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
@given(trees(st.none() | trees(st.none())))
def test_what_was_written_is_read_back(record: Tree) -> None:
    """Every type."""
    assert decode(Tree, through_text(encode(record))) == record
    assert encode_field(record, 'leaves') == encode(record)['leaves']


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


def test_unprintable_value_is_named_by_its_type() -> None:
    """Lists within lists, deeper than a text of them can be made."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(StoredStateError, match=r'^"name" is list instead of a string$'):
        decode(Leaf, {'name': deep})


def test_whole_number_is_read_where_a_fraction_may_be() -> None:
    document = {**encode(tree()), 'numbers': [3, 0.5]}
    assert decode(Tree, document).numbers == (3.0, 0.5)


def test_unknown_names_are_ignored() -> None:
    assert decode(Leaf, {**encode(Leaf('a')), 'color': 1}) == Leaf('a')


def test_sets_are_written_in_order_and_signed_numbers_may_be_negative() -> None:
    assert encode(Kept('x', 1.0, ('a',), frozenset({'c', 'b'}), -5))['flags'] == ['b', 'c']
    kept = Kept('x', 1.0, ('a',), frozenset({'c', 'b'}), -5)
    assert decode(Kept, through_text(encode(kept))) == kept
    with pytest.raises(StoredStateError, match=r'"bucket" is 1.5 instead of an integer'):
        decode(Kept, {**encode(kept), 'bucket': 1.5})


@dataclass(frozen=True)
class Kept:
    class_: str
    share: Annotated[float, Only(lambda share: share <= 1, 'a share')]
    words: Annotated[tuple[str, ...], Only(len, 'a word at least')]
    flags: frozenset[str] = field(default=frozenset(), metadata=OMITTABLE)
    bucket: Annotated[int, Signed()] = field(default=0, metadata=OMITTABLE)


def test_reserved_python_name_is_stored_under_its_published_name() -> None:
    """A record of a document that others read has the names of that document."""
    document = {'class': 'ssd', 'share': 0.5, 'words': ['a'], 'flags': [], 'bucket': 0}
    assert encode(Kept('ssd', 0.5, ('a',))) == document
    assert decode(Kept, document) == Kept('ssd', 0.5, ('a',))
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
    class Keyed:
        value: dict[float, str]

    @dataclass(frozen=True)
    class OneOf:
        value: Union[Leaf, Spot]

    for made in (Either('a'), Keyed({}), OneOf(Leaf('a'))):
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
