"""Unreadable data is kept for an expert, reported, and restored once it can be read."""

from __future__ import annotations

import pytest

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.store.errors import StoredStateError
from rocksdb_tuner.store.quarantine import BROKEN, Quarantine
from rocksdb_tuner.tests.fake_cluster import FakeStore


def number(text: str) -> int:
    """The content of the store."""
    if not text.isdigit():
        raise StoredStateError(f'"{text}" is not a number')
    return int(text)


def filled(**values: str) -> FakeStore:
    store = FakeStore()
    store.values.update(values)
    return store


def test_readable_data_is_read_and_not_moved() -> None:
    """A key that is not there is None, and no problem."""
    store = filled(good='3')
    quarantine = Quarantine(store)
    assert (quarantine.read('good', number), quarantine.read('none', number)) == (3, None)
    assert (store.values, quarantine.problems()) == ({'good': '3'}, ())


def test_unreadable_data_is_quarantined_as_a_whole_and_reported() -> None:
    """With why, its key, and the key that removes it; no reader meets it again."""
    store = filled(bad='x', good='3')
    quarantine = Quarantine(store)
    assert quarantine.read('bad', number) is None
    assert store.values == {f'{BROKEN}bad': 'x', 'good': '3'}
    (reported,) = quarantine.problems()
    assert [w for w in ('"bad"', '"x" is not a number', f'{BROKEN}bad') if w not in reported] == []
    assert quarantine.read('bad', number) is None
    # The manager that takes over does not know why, and reports it all the same.
    (reported,) = Quarantine(store).problems()
    assert '"bad"' in reported
    assert '"x" is not a number' not in reported
    del store.values[f'{BROKEN}bad']
    assert quarantine.problems() == ()


def test_data_stays_in_place_and_is_reported_if_the_store_refuses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing is done from it; the next manager tries again."""
    store = filled(bad='x')
    store.error = CommandError(30, 'read-only')
    quarantine = Quarantine(store)
    assert quarantine.read('bad', number) is None
    assert store.values == {'bad': 'x'}
    assert 'read-only' in caplog.text
    (reported,) = quarantine.problems()
    assert '"x" is not a number' in reported
    store.error = None
    assert Quarantine(store).read('bad', number) is None
    assert store.values == {f'{BROKEN}bad': 'x'}


def test_readable_quarantined_data_is_restored() -> None:
    """And only that: neither what still cannot, nor in place of what was stored since."""
    store = FakeStore()
    aside = {'again': '1', 'declined': '2', 'broken': 'x', 'newer': '4'}
    store.values.update({BROKEN + key: text for key, text in aside.items()})
    store.values['newer'] = '5'
    seen = []

    def restore(key: str, text: str) -> bool:
        seen.append(key)
        found = number(text)
        if key == 'declined':
            return False
        store.set(key, str(found))
        return True

    Quarantine(store).restore(restore)
    assert sorted(seen) == ['again', 'broken', 'declined']
    assert store.values == {
        'again': '1',
        'newer': '5',
        **{f'{BROKEN}{key}': aside[key] for key in ('declined', 'broken', 'newer')},
    }


def test_data_that_cannot_be_restored_stays_quarantined(caplog: pytest.LogCaptureFixture) -> None:
    """The others are restored nevertheless."""
    store = filled(**{f'{BROKEN}a': '1', f'{BROKEN}b': '2'})

    def restore(key: str, text: str) -> bool:
        if key == 'a':
            raise CommandError(28, 'no space')
        store.set(key, text)
        return True

    Quarantine(store).restore(restore)
    assert store.values == {f'{BROKEN}a': '1', 'b': '2'}
    assert 'no space' in caplog.text


def test_data_removed_by_another_manager_is_skipped() -> None:
    """Between listing the keys and reading one of them."""
    store = filled(**{f'{BROKEN}a': '1'})
    store.get = lambda _: None  # type: ignore[assignment,method-assign]
    Quarantine(store).restore(lambda *_: pytest.fail('there is nothing to restore'))
    assert store.values == {f'{BROKEN}a': '1'}
