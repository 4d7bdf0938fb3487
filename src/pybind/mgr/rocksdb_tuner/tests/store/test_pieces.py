"""Texts that are longer than one key holds."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.store.errors import StoredStateError
from rocksdb_tuner.store.pieces import LIMIT_BYTES, PIECES, LongTexts, cut
from rocksdb_tuner.store.quarantine import BROKEN
from rocksdb_tuner.tests.fake_cluster import FakeStore

LONG = f'{random.Random(0).getrandbits(800_000):0200000x}'
OTHER = LONG[::-1]


@given(st.text(min_size=1, max_size=5), st.integers(0, 60000))
def test_pieces_fit_under_a_key_and_are_the_text(some: str, count: int) -> None:
    """For any characters, none of which is split."""
    text = some * count
    pieces = cut(text)
    assert ''.join(pieces) == text
    assert all(len(piece.encode()) <= LIMIT_BYTES for piece in pieces)
    assert (len(pieces) == 1) == (len(text.encode()) <= LIMIT_BYTES)


def test_long_text_round_trips_without_leftovers() -> None:
    """Neither its pieces when it is replaced or removed, nor those of others with it."""
    store = FakeStore()
    texts = LongTexts(store)
    texts.set('a', LONG)
    texts.set('a/b', OTHER)
    assert (texts.get('a'), texts.get('a/b'), texts.get('c')) == (LONG, OTHER, None)
    texts.set('a', 'short')
    assert texts.get('a') == store.values['a'] == 'short'
    texts.set('a', LONG)
    texts.set('a', OTHER)
    assert texts.get('a') == OTHER
    texts.set('a', None)
    assert texts.get('a/b') == OTHER
    texts.set('a/b', None)
    assert store.values == {}


@pytest.mark.parametrize(('old', 'new'), [(LONG, OTHER), ('x', LONG), (LONG, 'x'), (LONG, None)])
def test_interrupted_write_leaves_the_old_or_the_new_text(old: str, new: str) -> None:
    """After each of its writes."""
    for count in range(12):
        store = FakeStore()
        LongTexts(store).set('a', old)
        left = [count]

        def dies(_: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise CommandError(5, 'the manager died')

        store.on_set = dies
        with suppress(CommandError):
            LongTexts(store).set('a', new)
        store.on_set = lambda _: None
        assert LongTexts(store).get('a') in {old, new}
        LongTexts(store).set('a', None)
        assert store.values == {}


def test_missing_or_foreign_piece_is_reported() -> None:
    """The rest of it is not mistaken for the text."""
    store = FakeStore()
    texts = LongTexts(store)
    texts.set('a', LONG)
    first = store.keys(PIECES)[0]
    store.values[first] = 'x' + store.values[first][1:]
    with pytest.raises(StoredStateError, match='the checksum of its 4 pieces does not match'):
        texts.get('a')
    del store.values[first]
    with pytest.raises(StoredStateError, match='piece 1 of its 4 is missing'):
        texts.get('a')
    for manifest in ('pieces:', 'pieces:1', 'pieces:1:2:3', 'pieces:x:1', 'pieces:0:1', 'pieces:['):
        store.values['a'] = manifest
        with pytest.raises(StoredStateError, match='its list of pieces is invalid'):
            texts.get('a')


def test_pieces_of_quarantined_data_stay() -> None:
    """An expert may want to inspect them, or a newer version of the module."""
    store = FakeStore()
    texts = LongTexts(store)
    texts.set('a', LONG)
    store.values[BROKEN + 'a'] = store.values.pop('a')
    texts.set('a', OTHER)
    texts.set('a', None)
    assert texts.whole('a', store.values[BROKEN + 'a']) == LONG


def test_pieces_that_cannot_be_removed_are_harmless() -> None:
    """They are removed with the next write."""
    store = FakeStore()
    texts = LongTexts(store)
    texts.set('a', LONG)

    def refuses(key: str) -> None:
        if key.startswith(PIECES):
            raise CommandError(28, 'no space')

    store.on_set = refuses
    texts.set('a', 'x')
    assert texts.get('a') == 'x'
    assert len(store.values) == 5
    store.on_set = lambda _: None
    texts.set('a', 'y')
    assert store.values == {'a': 'y'}
