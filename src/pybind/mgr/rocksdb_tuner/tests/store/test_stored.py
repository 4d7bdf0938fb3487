"""One record over several keys: what is read is one record as it was at one time, or an error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Callable, Optional

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.store import stored as under_test
from rocksdb_tuner.store.codec import StoredStateError
from rocksdb_tuner.store.stored import BROKEN, LIMIT_BYTES, PIECES, Quarantine, Stored
from rocksdb_tuner.tests.fake_cluster import FakeStore

KEY = 'thing/current'


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


def wrong(record: Record) -> Iterator[str]:
    if record.name == 'wrong':
        yield '"name" is wrong'


def stored(store: FakeStore, key: str = KEY) -> Stored[Record]:
    return Stored(store, key, Record, wrong)


def record(rows: int = 10, name: str = 'n') -> Record:
    return Record(name, ('a plan of it', 'b'), tuple(Row(n) for n in range(rows)))


def with_row(before: Record, number: int, note: str) -> Record:
    rows = list(before.rows)
    rows[number] = replace(rows[number], note=note)
    return replace(before, rows=tuple(rows))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of a few rows are in pieces."""
    monkeypatch.setattr(under_test, 'ROWS', 4)
    monkeypatch.setattr(under_test, 'WHOLE_BYTES', 100)
    monkeypatch.setattr(under_test, '_SHORT_BYTES', 20)


CHANGES: st.SearchStrategy[Callable[[Record], Record]] = st.one_of(
    st.builds(
        lambda number, note: lambda r: with_row(r, number % len(r.rows), note),
        st.integers(0, 20),
        st.text(max_size=9),
    ),
    st.builds(lambda plan: lambda r: replace(r, plan=(*r.plan, plan)), st.text(max_size=9)),
    st.builds(lambda order: lambda r: replace(r, order=tuple(order)), st.lists(st.integers(0, 9))),
    st.builds(lambda count, name: lambda _: record(count, name), st.integers(1, 12), st.text()),
)


def _dies(store: FakeStore, left: list[int], head: Optional[str], key: str) -> None:
    left[0] -= 1
    if left[0] < 0:
        if head is not None and key == KEY:
            store.values[KEY] = head
        raise CommandError(5, 'the manager died')


@pytest.mark.usefixtures('small')
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CHANGES, min_size=1, max_size=5), st.data())
def test_a_manager_that_dies_between_two_writes_leaves_the_old_record_or_the_new_one(
    changes: list[Callable[[Record], Record]], data: st.DataObject
) -> None:
    """Also if its last write was executed; the next manager goes on there, without leftovers."""
    store, at = FakeStore(), record()
    writer = stored(store)
    writer.save(at)
    for change in changes:
        after = change(at)
        clean = FakeStore()
        stored(clean).save(after)
        head = clean.values[KEY] if data.draw(st.booleans()) else None
        store.on_set = partial(_dies, store, [data.draw(st.integers(0, 8))], head)
        with suppress(CommandError):
            writer.save(after)
        store.on_set = lambda _: None
        assert stored(store).load() in {at, after}
        writer = stored(store) if data.draw(st.booleans()) else writer
        writer.save(after)
        assert store.values == clean.values
        assert stored(store).load() == after
        at = after


@pytest.mark.usefixtures('small')
def test_step_writes_only_changes() -> None:
    """A chunk of the rows and the key itself, also by the next manager; then the old chunk goes."""
    store = FakeStore()
    writer, at = stored(store), record()
    writer.save(at)
    written: list[str] = []
    store.on_set = written.append
    writer.save(replace(at, name='m'))
    assert written == [KEY]
    for number, manager in ((5, writer), (1, stored(store))):
        written.clear()
        at = with_row(at, number, 'a note')
        manager.save(replace(at, name='m'))
        chunk, head, obsolete = written
        assert (chunk in store.values, head, obsolete in store.values) == (True, KEY, False)


def test_small_record_is_under_its_key_alone() -> None:
    store = FakeStore()
    stored(store).save(record(200))
    assert list(store.values) == [KEY]
    assert stored(store).load() == record(200)
    stored(store).save(None)
    assert (store.values, stored(store).load()) == ({}, None)


def test_large_record_is_within_the_key_size() -> None:
    """Long texts, which do not compress, in other characters than ASCII and without a form."""
    store = FakeStore()
    noise = tuple(f'{n * 2654435761 % 2**32:08x}\u00e4\ud800' for n in range(30_000))
    large = replace(record(1000), plan=noise, name=''.join(noise))
    stored(store).save(large)
    assert len(store.keys(f'{PIECES}{KEY}/')) > 10
    assert max(map(len, store.values.values())) <= LIMIT_BYTES
    assert stored(store).load() == large
    stored(store).save(None)
    assert store.values == {}


def test_obsolete_pieces_that_cannot_be_removed_are_removed_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """And never while unreadable data may need them."""
    store = FakeStore()
    writer = stored(store)
    writer.save(replace(record(), plan=('x' * 40_000,)))

    def refuse(key: str) -> None:
        if key.startswith(PIECES):
            raise CommandError(30, 'read-only')

    store.on_set = refuse
    writer.save(record())
    assert 'read-only' in caplog.text
    store.on_set = lambda _: None
    store.values[BROKEN + KEY] = 'nonsense'
    writer.save(record())
    assert len(store.values) == 3
    del store.values[BROKEN + KEY]
    writer.save(record())
    assert list(store.values) == [KEY]


@pytest.mark.usefixtures('small')
def test_damage_is_named_by_its_key() -> None:
    """A piece that is missing or another's, and a head that does not fit."""
    store = FakeStore()
    stored(store).save(record())
    good = dict(store.values)
    for key in store.keys(PIECES):
        store.values = {other: text for other, text in good.items() if other != key}
        with pytest.raises(StoredStateError, match=f'its part "{key}" is missing'):
            stored(store).load()
        store.values = {**good, key: good[key][:-1]}
        with pytest.raises(StoredStateError, match=r'the checksum of its part .* does not match'):
            stored(store).load()
    store.values = good
    head = json.loads(good[KEY])
    whole = {'name': 'n', 'plan': [], 'rows': [], 'order': []}
    for changes, message in (
        ({'pieces': {}}, '"plan" is missing|"rows" is missing'),
        ({'pieces': 3}, '"pieces" is 3 instead of an object'),
        ({'record': whole, 'pieces': {'rows': []}}, None),
        ({'record': {**whole, 'name': 'wrong'}, 'pieces': {}}, '"name" is wrong'),
        ({'pieces': {**head['pieces'], 'name': head['pieces']['rows']}}, '"name" is'),
    ):
        store.values[KEY] = json.dumps({**head, **changes})
        if message is None:
            assert stored(store).load() == Record('n', (), ())
            continue
        with pytest.raises(StoredStateError, match=message):
            stored(store).load()


def test_chunks_that_are_no_lists_are_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stored, '_piece', lambda _, name: name)
    head = {'version': 1, 'record': {}, 'pieces': {'name': [['1'], ['2']]}}
    with pytest.raises(StoredStateError, match='"name" is missing'):
        stored(FakeStore()).decoded(json.dumps(head))


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'it is not JSON, or truncated'),
        ('[' * 100_000, 'it is not JSON, or truncated'),
        ('[]', 'it is not a JSON object'),
        ('{}', 'version null'),
        ('{"version":2}', 'version 2 of the format; this module reads version 1'),
        ('{"version":true}', 'version true'),
        ('{"version":1}', '"record" is missing'),
        ('zlib:!', 'its compressed text is damaged'),
        (under_test._packed('{"version":1}' * 1000, 0)[:-8], 'damaged|truncated'),
    ],
)
def test_unreadable_text_is_named(text: str, message: str) -> None:
    with pytest.raises(StoredStateError, match=message):
        stored(FakeStore()).decoded(text)


def test_decompression_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    text = under_test._packed('"' + 'x' * 1000 + '"', 0)
    assert under_test._value(text) == 'x' * 1000
    monkeypatch.setattr(under_test, 'UNPACKED_MAX_BYTES', 1000)
    with pytest.raises(StoredStateError, match='truncated or too long'):
        under_test._value(text)


# -- quarantine


def test_unreadable_data_is_quarantined_as_a_whole_and_reported() -> None:
    """With why, its key, and the key that removes it; no reader meets it again."""
    store = FakeStore()
    store.values = {'bad': 'x'}
    stored(store, 'good').save(record())
    quarantine = Quarantine(store)
    assert quarantine.read(stored(store, 'good')) == record()
    assert quarantine.read(stored(store, 'bad')) is None
    assert 'bad' not in store.values
    assert store.values[f'{BROKEN}bad'] == 'x'
    (reported,) = quarantine.problems()
    assert [w for w in ('"bad"', 'it is not JSON', f'{BROKEN}bad') if w not in reported] == []
    assert quarantine.read(stored(store, 'bad')) is None
    # The manager that takes over does not know why, and reports it all the same.
    (reported,) = Quarantine(store).problems()
    assert '"bad"' in reported
    assert 'it is not JSON' not in reported
    del store.values[f'{BROKEN}bad']
    assert quarantine.problems() == ()


def test_data_stays_in_place_and_is_reported_if_the_store_refuses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing is done from it; the next manager tries again."""
    store = FakeStore()
    store.values = {'bad': 'x'}
    store.error = CommandError(30, 'read-only')
    quarantine = Quarantine(store)
    assert quarantine.read(stored(store, 'bad')) is None
    assert store.values == {'bad': 'x'}
    assert 'read-only' in caplog.text
    assert len(quarantine.problems()) == 1


def test_readable_quarantined_data_is_restored(caplog: pytest.LogCaptureFixture) -> None:
    """And only that: neither what still cannot, nor in place of what was stored since."""
    store, good = FakeStore(), FakeStore()
    stored(good).save(record())
    aside = {'again': good.values[KEY], 'broken': 'x', 'newer': good.values[KEY]}
    store.values = {BROKEN + key: text for key, text in aside.items()}
    store.values['newer'] = '5'

    def held(restored: Record) -> Record:
        return replace(restored, name='held')

    def read(key: str) -> Optional[Record]:
        return Quarantine(store).read(stored(store, key), held)

    assert Quarantine(store).keys('') == {'again', 'broken', 'newer'}
    store.on_set = lambda key: (_ for _ in ()).throw(CommandError(28, 'no space'))
    assert read('again') is None
    assert 'no space' in caplog.text
    store.on_set = lambda _: None
    assert [read(key) for key in ('again', 'broken')] == [held(record()), None]
    assert Quarantine(store).keys('n') == {'newer'}
    assert read('newer') is None
    assert store.values[BROKEN + 'newer'] == '5'
    assert sorted(store.values) == ['again', BROKEN + 'broken', BROKEN + 'newer']
