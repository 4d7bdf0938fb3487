"""State that survives a failover, and unreadable state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.judge.evidence import Block, Evidence, Measured
from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout import machine
from rocksdb_tuner.operations.rollout.records import OsdStep, RolloutState
from rocksdb_tuner.operations.rollout.storage import (
    ARCHIVE,
    CLOCK,
    CURRENT,
    EVIDENCE,
    HISTORY,
    ClockState,
    PersistentClock,
    RolloutStorage,
    number_of,
    record_of,
)
from rocksdb_tuner.store.stored import BROKEN, PIECES
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeStore
from rocksdb_tuner.tests.store.as_text import as_text

from .conftest import (
    Run,
)
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


def test_archived_rollouts_are_found_by_id_and_recommendation(
    store: FakeStore,
) -> None:
    storage = RolloutStorage(store)
    for n, advice in ((1, 'a'), (2, 'b'), (3, 'a')):
        storage.archive(ended(f'r{n}', advice))  # type: ignore[arg-type]
    assert storage.archived('r1') == ended('r1', 'a')
    assert storage.archived('a') == ended('r3', 'a')
    assert storage.archived('c') is None


def paused(state: RolloutState) -> RolloutState:
    return machine.paused(state, 'the module', state.updated_s)


def test_state_of_a_newer_version_is_read_again_once_that_version_is_back(
    store: FakeStore,
) -> None:
    """A downgrade and the following upgrade lose nothing and report nothing.

    The chunks of the rollout stay in place.
    """
    old = ended('r3')
    before = RolloutStorage(store)
    before.save_current(old)  # type: ignore[arg-type]
    before.archive(old)  # type: ignore[arg-type]
    before.keep(record_of(old))  # type: ignore[arg-type]
    kept = dict(store.values)
    store.values = {
        key if key.startswith(PIECES) else BROKEN + key: value for key, value in kept.items()
    }
    storage = RolloutStorage(store)
    restore(storage)
    assert store.values == kept
    assert storage.problems() == ()


def restore(storage: RolloutStorage) -> None:
    """All reads of a manager that becomes active."""
    storage.load_current(paused)
    PersistentClock(storage).load()
    storage.load_evidence()
    storage.load_history(None)
    storage.archived('none')


# -- each kind of what is stored


def measured(batch: int) -> Evidence:
    block = Block({0: Measured(1.0), 1: Measured(2.0)})
    return Evidence('r7', batch, (0,), (1,), 30.0, (block,))


def by_kind() -> dict[str, str]:
    """A good text of each kind by its key."""
    return {
        CLOCK: as_text(ClockState(7.0, ('r7', 5.0), (1.0,))),
        EVIDENCE + '0': as_text(measured(0)),
        EVIDENCE + '1': as_text(measured(1)),
        HISTORY + 'r7': as_text(record_of(example())),
        ARCHIVE + 'r7': as_text(ended('r7')),
        CURRENT: as_text(ended('r7')),
    }


@pytest.mark.parametrize('key', list(by_kind()))
def test_only_quarantined_data_of_the_same_kind_is_restored(store: FakeStore, key: str) -> None:
    kinds = by_kind()
    store.values = {BROKEN + key: kinds[key]}
    restore(RolloutStorage(store))
    assert store.values == {key: kinds[key]}
    for text in ('nonsense', kinds[CLOCK] if key != CLOCK else kinds[CURRENT]):
        store.values = {BROKEN + key: text, BROKEN + 'z': kinds[ARCHIVE + 'r7']}
        aside = dict(store.values)
        restore(RolloutStorage(store))
        assert store.values == aside


def test_data_that_cannot_be_restored_is_left_for_the_next_manager(store: FakeStore) -> None:
    store.values = {BROKEN + key: text for key, text in by_kind().items()}
    aside = dict(store.values)
    store.error = CommandError(28, 'no space')
    restore(RolloutStorage(store))
    assert store.values == aside


def test_evidence_is_stored_per_batch_and_unlisted_ones_are_removed(store: FakeStore) -> None:
    """Evidence of earlier batches is no longer needed."""
    storage = RolloutStorage(store)
    store.values[EVIDENCE + '0'] = as_text(measured(0))
    assert storage.load_evidence() == (measured(0),)
    storage.save_evidence((measured(1), measured(2)))
    assert set(store.values) == {EVIDENCE + '1', EVIDENCE + '2'}
    assert storage.load_evidence() == (measured(1), measured(2))
    written: list[str] = []
    store.on_set = written.append
    storage.save_evidence((measured(1), measured(2)))
    assert written == [EVIDENCE + '1', EVIDENCE + '2']
    store.values[EVIDENCE + '1'] = 'nonsense'
    assert storage.load_evidence() == (measured(2),)
    storage.save_evidence(())
    assert set(store.values) == {BROKEN + EVIDENCE + '1'}


@pytest.mark.parametrize('prefix', [HISTORY, ARCHIVE, BROKEN + HISTORY, BROKEN + ARCHIVE])
def test_id_used_anywhere_is_not_reused(store: FakeStore, prefix: str) -> None:
    store.values = {HISTORY + 'r2': '', prefix + 'r9': '', prefix + 'notes': ''}
    assert RolloutStorage(store).next_id() == 'r10'
    assert [number_of(key) for key in ('r7', 'a/b/r8', 'rollout', '', 'r-1')] == [7, 8, 0, 0, 0]


def test_number_of_quarantined_entries_is_limited(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    store.values = {f'{HISTORY}r{n}': '' for n in range(1, 200)}
    store.values.update({f'{ARCHIVE}r{n}': '' for n in range(1, 20)})
    for n in (200, 201):
        storage.keep(record_of(ended(f'r{n}')))  # type: ignore[arg-type]
    for n in (20, 21):
        storage.archive(ended(f'r{n}'))  # type: ignore[arg-type]
    assert sorted(map(number_of, store.keys(HISTORY))) == list(range(2, 202))
    assert sorted(map(number_of, store.keys(ARCHIVE))) == list(range(2, 22))


@pytest.mark.parametrize('clock', [ClockState(-0.5), ClockState(5.0, restarts=(7.0,))])
def test_impossible_clock_is_quarantined(store: FakeStore, clock: ClockState) -> None:
    store.values[CLOCK] = as_text(clock)
    read = PersistentClock(RolloutStorage(store))
    read.load()
    assert read.now_s == 0.0
    assert BROKEN + CLOCK in store.values


def test_evidence_is_stored_with_five_digits(store: FakeStore) -> None:
    block = Block({3: Measured(1.234567, 2.0), 1: Measured(slow_ops=4.0)}, 1234.6)
    RolloutStorage(store).save_evidence((Evidence('r7', 2, (3,), (1,), 30.0, (block,)),))
    (read,) = RolloutStorage(store).load_evidence()
    expected = Block({3: Measured(1.2346, 2.0), 1: Measured(slow_ops=4.0)}, 1235.0)
    assert (read.before, read.after) == ((expected,), ())


# -- the permanent records of a rollout: it can be rolled back after refused or lost writes

DEFAULT = DEFAULTS['pacific']


def rolled_back(run: Run, name: str | None) -> None:
    run.driver.rollback(name, 'client.ann', run.cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK


@pytest.mark.parametrize('step', list(OsdStep)[1:6])
@pytest.mark.parametrize('name', [None, 'r1'])
def test_rollout_with_lost_state_is_rolled_back_from_the_archive(
    one_step_a_tick: None, run: Run, step: OsdStep, name: str | None
) -> None:
    """How far it came is not known then: each OSD is taken for changed."""
    run.start()
    run.until(lambda s: s.osds[1].step is step)
    del run.store.values[CURRENT]
    run.fail_over()
    run.cluster.advance(60)
    for _ in range(10):
        run.tick()
    rolled_back(run, name)
    assert run.cluster.entries_of() == {}
    assert [run.cluster.runs(n) for n in range(3)] == [DEFAULT] * 3
