"""One record over several keys: what is read is one record as it was at one time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.store.errors import StoredStateError
from rocksdb_tuner.store.pieces import LIMIT_BYTES
from rocksdb_tuner.store.quarantine import BROKEN
from rocksdb_tuner.store.spread import Layout, Spread, of_whole_text, whole_text
from rocksdb_tuner.store.text import pack, unpack
from rocksdb_tuner.tests.fake_cluster import FakeStore


@dataclass(frozen=True)
class Row:
    number: int
    note: Optional[str] = None


@dataclass(frozen=True)
class Record:
    name: str
    plan: tuple[str, ...]
    rows: tuple[Row, ...]
    order: tuple[int, ...] = ()


LAYOUT = Layout(
    kind=Record,
    version=2,
    parts=('plan', 'order'),
    rows='rows',
    row=Row,
    rows_per_chunk=4,
    rows_in_head=2,
)
HEAD, PARTS = 'thing/current', 'thing/parts/'


def spread(store: FakeStore) -> Spread[Record]:
    return Spread(store, LAYOUT, HEAD, PARTS)


def loaded(store: FakeStore) -> Record:
    return spread(store).load(store.values[HEAD])


def record(rows: int = 10, name: str = 'n') -> Record:
    return Record(name, ('a plan of it', 'b'), tuple(Row(n) for n in range(rows)))


def with_row(before: Record, number: int, note: str) -> Record:
    rows = list(before.rows)
    rows[number] = replace(rows[number], note=note)
    return replace(before, rows=tuple(rows))


class _Step:
    """A change of a record, by what hypothesis chose."""

    def __init__(self, kind: str, numbers: Sequence[int], text: str) -> None:
        self.kind, self.numbers, self.text = kind, numbers, text

    def __repr__(self) -> str:
        return f'{self.kind} {list(self.numbers)} {self.text!r}'

    def __call__(self, before: Record) -> Record:
        if self.kind == 'rows' and before.rows:
            for number in self.numbers:
                before = with_row(before, number % len(before.rows), self.text)
            return before
        if self.kind == 'plan':
            return replace(before, plan=(*before.plan, self.text))
        if self.kind == 'order':
            return replace(before, order=tuple(self.numbers))
        if self.kind == 'other':
            return record(len(self.numbers), self.text)
        return replace(before, name=self.text)


STEPS = st.lists(
    st.builds(
        _Step,
        st.sampled_from(['rows', 'rows', 'plan', 'order', 'name', 'other']),
        st.lists(st.integers(0, 20), max_size=5),
        st.text(max_size=9),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.data())
def test_a_manager_that_dies_between_two_writes_leaves_the_old_record_or_the_new_one(
    steps: list[_Step], data: st.DataObject
) -> None:
    """At each write of each step; the next manager continues there, without leftovers."""
    store, at = FakeStore(), record()
    spread(store).save(at)
    for step in steps:
        after = step(at)
        before_values = dict(store.values)
        writes: list[str] = []
        store.on_set = writes.append
        writer = spread(store)
        writer.load(store.values[HEAD])
        writer.save(after)
        store.on_set = lambda _: None
        complete = dict(store.values)
        for count in range(len(writes) + 1):
            store.values = dict(before_values)
            _save_that_dies(store, after, count)
            assert loaded(store) in {at, after}
        # The manager that takes over after one of them, chosen at random, does the step again.
        store.values = dict(before_values)
        _save_that_dies(store, after, data.draw(st.integers(0, len(writes))))
        heir = spread(store)
        heir.load(store.values[HEAD])
        heir.save(after)
        assert loaded(store) == after
        assert len(store.values) == len(complete)
        at = after


def _save_that_dies(store: FakeStore, after: Record, count: int) -> None:
    left = [count]

    def dies(_: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise CommandError(5, 'the manager died')

    writer = spread(store)
    writer.load(store.values[HEAD])
    store.on_set = dies
    with suppress(CommandError):
        writer.save(after)
    store.on_set = lambda _: None


@given(STEPS, st.lists(st.booleans(), min_size=40, max_size=40))
def test_a_manager_whose_writes_fail_now_and_then_stores_what_it_says(
    steps: list[_Step], fails: list[bool]
) -> None:
    """Also if a failed write was executed, and only its answer was lost."""
    store, at = FakeStore(), record()
    writer = spread(store)
    writer.save(at)
    chances = iter(fails)

    def lost(key: str) -> None:
        if next(chances, False):
            if key == HEAD and next(chances, False):
                store.values[HEAD] = heads[-1]
            raise CommandError(110, 'no answer')

    heads: list[str] = []
    head_of = Spread._head
    for step in steps:
        after = step(at)

        def keep(self: Any, *args: Any) -> str:
            heads.append(head_of(self, *args))
            return heads[-1]

        writer._head = keep.__get__(writer)  # type: ignore[method-assign]
        store.on_set = lost
        with suppress(CommandError):
            writer.save(after)
            at = after
        store.on_set = lambda _: None
        found = loaded(store)
        assert found in {at, after}
        at = found if found == after else at
    writer.save(at)
    assert loaded(store) == at


def test_step_writes_only_changes() -> None:
    """A row or two are in the head; where there are more, their chunks are written."""
    store = FakeStore()
    writer, at = spread(store), record()
    writer.save(at)
    written: list[str] = []
    store.on_set = lambda key: written.append(key.rpartition('/')[0] if '.' in key else key)

    def of(after: Record) -> list[str]:
        written.clear()
        writer.save(after)
        return list(dict.fromkeys(written))

    assert of(replace(at, name='m')) == [HEAD]
    one = with_row(at, 5, 'x')
    assert of(one) == [HEAD]
    two = with_row(one, 0, 'x')
    assert of(two) == [HEAD]
    three = with_row(two, 6, 'x')
    assert of(three) == [f'{PARTS}rows/0', f'{PARTS}rows/1', HEAD]
    assert of(with_row(three, 6, 'y')) == [HEAD]
    assert of(replace(three, plan=('other',))) == [f'{PARTS}plan', HEAD]


def test_manager_taking_over_writes_only_changes() -> None:
    """It knows what is stored from what it read."""
    store = FakeStore()
    spread(store).save(with_row(record(), 3, 'x'))
    heir = spread(store)
    at = heir.load(store.values[HEAD])
    written: list[str] = []
    store.on_set = written.append
    heir.save(with_row(at, 4, 'y'))
    assert written == [HEAD]
    assert loaded(store) == with_row(with_row(record(), 3, 'x'), 4, 'y')


def test_large_part_is_stored_in_pieces() -> None:
    """No key holds more than a monitor takes."""
    store = FakeStore()
    noise = tuple(f'{n * 2654435761 % 2**32:08x} of {n}' for n in range(30000))
    spread(store).save(replace(record(), plan=noise))
    assert len(store.keys(f'{PARTS}plan/')) > 2
    assert all(len(text.encode()) <= LIMIT_BYTES for text in store.values.values())
    assert loaded(store).plan == noise


def test_single_text_is_read() -> None:
    """For where a record is kept and not worked on."""
    assert of_whole_text(LAYOUT, whole_text(LAYOUT, record(40))) == record(40)
    with pytest.raises(StoredStateError, match='"name" is missing'):
        of_whole_text(LAYOUT, '{"version":2,"texts":[]}')
    with pytest.raises(StoredStateError, match='"texts" is missing'):
        of_whole_text(LAYOUT, '{"version":2}')


def test_damage_is_named_by_its_key() -> None:
    """A part or a chunk that is missing, cut off or another's, and a head that does not fit."""
    store = FakeStore()
    spread(store).save(with_row(record(), 3, 'x'))
    writer = spread(store)
    writer.load(store.values[HEAD])
    writer.save(with_row(record(), 3, 'y'))
    good = dict(store.values)
    for key in good:
        if key == HEAD:
            continue
        store.values = {other: text for other, text in good.items() if other != key}
        with pytest.raises(StoredStateError, match=f'its part "{key}" is missing'):
            loaded(store)
        store.values = {**good, key: good[key][:-1]}
        with pytest.raises(StoredStateError, match=r'the checksum of its part .* does not match'):
            loaded(store)
    head = unpack(good[HEAD], 2)
    for changes, message in (
        ({'index': None}, '"index" is null instead of an object'),
        ({'index': {**head['index'], 'count': 9}}, 'its chunks have 10 "rows" instead of 9'),
        ({'index': {**head['index'], 'parts': {}}}, '"index.parts.order" is missing'),
        ({'index': {**head['index'], 'changed': [10]}}, '"changed" does not match'),
        ({'index': {**head['index'], 'changed': []}}, '"changed" does not match'),
        ({'changed': None}, '"changed" is null instead of a list'),
        ({'texts': None}, '"texts" is not a list of strings'),
        ({'texts': [1]}, '"texts" is not a list of strings'),
        ({'name': 3.5}, '"name" is 3.5 instead of a string'),
    ):
        store.values = {**good, HEAD: pack({**head, **changes})}
        with pytest.raises(StoredStateError) as error:
            loaded(store)
        assert message in str(error.value)


def test_chunks_of_a_quarantined_head_stay() -> None:
    """Nothing of it is lost while it is there; afterwards another manager removes it."""
    store = FakeStore()
    spread(store).save(record(name='first'))
    first = dict(store.values)
    store.values[BROKEN + HEAD] = store.values.pop(HEAD)
    second = spread(store)
    second.save(record(name='second'))
    second.save(record(5, name='second'))
    assert loaded(store).name == 'second'
    assert all(store.values[key] == text for key, text in first.items() if key != HEAD)
    assert spread(store).read(store.values[BROKEN + HEAD]).name == 'first'
    del store.values[BROKEN + HEAD]
    spread(store).save(record(5, name='second'))
    assert len(store.values) == 1 + 2 + 2


def test_failed_removal_is_repeated_later(caplog: pytest.LogCaptureFixture) -> None:
    """The record is stored all the same."""
    store = FakeStore()
    writer = spread(store)
    writer.save(record())

    def refuses(key: str) -> None:
        if key in old:
            raise CommandError(28, 'no space')

    old = store.keys(PARTS)
    store.on_set = refuses
    writer.save(replace(record(3), plan=(), order=(1,)))
    assert loaded(store) == replace(record(3), plan=(), order=(1,))
    assert 'cannot remove obsolete' in caplog.text
    store.on_set = lambda _: None
    writer.save(replace(record(3), plan=(), order=(1,)))
    assert len(store.values) == 1 + 2 + 1


def test_rows_that_exceed_the_head_go_to_their_chunk() -> None:
    """With messages of any length."""
    store = FakeStore()
    writer, at = spread(store), record()
    writer.save(at)
    noise = ''.join(f'{n * 2654435761 % 2**32:08x}' for n in range(6000))
    at = with_row(with_row(at, 1, noise), 2, noise[::-1])
    writer.save(at)
    assert len(store.values[HEAD]) < 1000
    assert loaded(store) == at
