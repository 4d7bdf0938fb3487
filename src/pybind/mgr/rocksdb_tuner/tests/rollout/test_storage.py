"""What survives a failover, and what becomes of what cannot be read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.rollout import acts
from rocksdb_tuner.rollout.history import record_of
from rocksdb_tuner.rollout.records import Outcome, Phase, RolloutState
from rocksdb_tuner.rollout.storage import (
    ARCHIVE_MAX,
    BROKEN,
    CURRENT,
    HISTORY,
    HISTORY_MAX,
    RolloutStorage,
)
from rocksdb_tuner.tests.fake_cluster import FakeStore

from .test_codec import example


def ended(rollout_id: str, recommendation_id: str = 'ssd-lz4') -> object:
    state = example()
    return replace(
        state,
        rollout_id=rollout_id,
        request=replace(state.request, recommendation_id=recommendation_id),
        stage=Phase.DONE,
        outcome=Outcome.DONE,
    )


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


def test_nothing_stored_is_no_rollout_no_history_and_no_problem(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    assert storage.load_current() is None
    assert storage.load_history() == ()
    assert storage.problems() == ()
    assert storage.next_id() == 'r1'


def test_a_state_is_read_back(store: FakeStore) -> None:
    RolloutStorage(store).save_current(example())
    assert RolloutStorage(store).load_current() == example()


@pytest.mark.parametrize('text', ['', '{"version":1', '{"version":99}', 'nonsense', '{}'])
def test_a_broken_state_is_set_aside_reported_and_not_applied(store: FakeStore, text: str) -> None:
    store.values[CURRENT] = text
    storage = RolloutStorage(store)
    assert storage.load_current() is None
    assert store.values == {BROKEN + CURRENT: text}
    (problem,) = storage.problems()
    assert f'the stored "{CURRENT}" could not be read and was set aside: it ' in problem
    assert f'ceph config-key rm mgr/rocksdb_tuner/{BROKEN}{CURRENT}' in problem


def test_a_broken_state_is_reported_by_every_manager_until_it_is_removed(store: FakeStore) -> None:
    store.values[CURRENT] = 'nonsense'
    RolloutStorage(store).load_current()
    later = RolloutStorage(store)
    assert len(later.problems()) == 1
    store.set(BROKEN + CURRENT, None)
    assert later.problems() == ()


def test_a_broken_state_that_cannot_be_moved_is_reported_and_not_applied(store: FakeStore) -> None:
    store.values[CURRENT] = 'nonsense'
    store.error = CommandError(5, 'read-only')
    storage = RolloutStorage(store)
    assert storage.load_current() is None
    assert len(storage.problems()) == 1
    assert CURRENT in store.values


def test_a_broken_record_does_not_hide_the_others(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    for n in (1, 2, 3):
        storage.save_record(record_of(replace(example(), rollout_id=f'r{n}')))
    store.values[f'{HISTORY}r2'] = 'nonsense'
    assert [r.rollout_id for r in RolloutStorage(store).load_history()] == ['r1', 'r3']
    assert f'{BROKEN}{HISTORY}r2' in store.values


def test_history_is_bounded_and_in_order(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    for n in range(1, HISTORY_MAX + 12):
        storage.save_record(record_of(replace(example(), rollout_id=f'r{n}')))
    ids = [r.rollout_id for r in storage.load_history()]
    assert ids == [f'r{n}' for n in range(12, HISTORY_MAX + 12)]


def test_ids_are_never_used_again_even_if_their_record_was_broken(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    storage.save_record(record_of(replace(example(), rollout_id='r9')))
    store.values[f'{HISTORY}r10'] = 'nonsense'
    storage.load_history()
    assert RolloutStorage(store).next_id() == 'r11'


def test_a_strange_key_among_ours_does_no_harm(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    storage.save_record(record_of(replace(example(), rollout_id='r3')))
    store.values[f'{HISTORY}notes'] = 'by hand'
    assert storage.next_id() == 'r4'
    assert len(storage.load_history()) == 1


def test_archived_rollouts_are_found_by_their_id_and_by_their_recommendations(
    store: FakeStore,
) -> None:
    storage = RolloutStorage(store)
    for n, advice in ((1, 'a'), (2, 'b'), (3, 'a')):
        storage.archive(ended(f'r{n}', advice))  # type: ignore[arg-type]
    assert storage.archived('r1') == ended('r1', 'a')
    assert storage.archived('a') == ended('r3', 'a')
    assert storage.archived('c') is None


def test_a_broken_archive_is_passed_over(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    storage.archive(ended('r1', 'a'))  # type: ignore[arg-type]
    store.values['rollout/archive/r2'] = 'nonsense'
    assert storage.archived('a') == ended('r1', 'a')


def test_the_archive_is_bounded(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    for n in range(1, ARCHIVE_MAX + 5):
        storage.archive(ended(f'r{n}'))  # type: ignore[arg-type]
    assert len(store.values) == ARCHIVE_MAX
    assert storage.archived('r4') is None
    assert storage.archived('r5') is not None


def paused(state: RolloutState) -> RolloutState:
    return acts.paused(state, 'the module', state.updated_s)


def test_what_a_newer_version_wrote_is_read_again_once_that_version_is_back(
    store: FakeStore,
) -> None:
    """A downgrade and the upgrade after it lose nothing; who reads it then is told nothing."""
    old = ended('r3')
    before = RolloutStorage(store)
    before.save_current(old)  # type: ignore[arg-type]
    before.archive(old)  # type: ignore[arg-type]
    before.save_record(record_of(old))  # type: ignore[arg-type]
    kept = dict(store.values)
    store.values = {BROKEN + key: value for key, value in kept.items()}
    storage = RolloutStorage(store)
    storage.take_back_readable(paused)
    assert store.values == kept
    assert storage.problems() == ()


def test_a_rollout_that_was_set_aside_in_its_middle_comes_back_paused(store: FakeStore) -> None:
    RolloutStorage(store).save_current(example())
    store.values = {BROKEN + CURRENT: store.values[CURRENT]}
    storage = RolloutStorage(store)
    storage.take_back_readable(paused)
    found = storage.load_current()
    assert found is not None
    assert found.paused_by == 'the module'
    assert replace(found, paused_by=None, paused_reason=None) == replace(
        example(), paused_by=None, paused_reason=None
    )


def test_what_is_set_aside_replaces_nothing_that_was_written_since(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    storage.save_current(example())
    store.values[BROKEN + CURRENT] = store.values[CURRENT]
    storage.save_current(ended('r9'))  # type: ignore[arg-type]
    storage.take_back_readable(paused)
    assert storage.load_current() == ended('r9')
    assert len(storage.problems()) == 1


def test_what_still_cannot_be_read_stays_aside(store: FakeStore) -> None:
    store.values = {BROKEN + CURRENT: 'nonsense', BROKEN + HISTORY + 'r1': '{}'}
    RolloutStorage(store).take_back_readable(paused)
    assert set(store.values) == {BROKEN + CURRENT, BROKEN + HISTORY + 'r1'}
