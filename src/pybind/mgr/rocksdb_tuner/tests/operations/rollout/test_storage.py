"""State that survives a failover, and unreadable state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocksdb_tuner.judge.evidence import Block, Evidence, Measured
from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.operations.rollout import machine
from rocksdb_tuner.operations.rollout.history import record_of
from rocksdb_tuner.operations.rollout.records import RolloutState
from rocksdb_tuner.operations.rollout.storage import (
    ACKNOWLEDGED,
    ARCHIVE,
    ARCHIVE_MAX,
    CLOCK,
    CURRENT,
    EVIDENCE,
    HISTORY,
    HISTORY_MAX,
    ClockState,
    RolloutStorage,
    number_of,
)
from rocksdb_tuner.store.stored import BROKEN, PIECES
from rocksdb_tuner.tests.fake_cluster import FakeStore
from rocksdb_tuner.tests.store.as_text import as_text

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


def test_empty_store_has_no_rollout_history_or_problem(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    assert storage.load_current() is None
    assert storage.load_history() == ()
    assert storage.problems() == ()
    assert storage.next_id() == 'r1'


def test_state_round_trips(store: FakeStore) -> None:
    RolloutStorage(store).save_current(example())
    assert RolloutStorage(store).load_current() == example()


@pytest.mark.parametrize('text', ['', '{"version":1', '{"version":99}', 'nonsense', '{}'])
def test_broken_state_is_quarantined_reported_and_not_applied(store: FakeStore, text: str) -> None:
    store.values[CURRENT] = text
    storage = RolloutStorage(store)
    assert storage.load_current() is None
    assert store.values == {BROKEN + CURRENT: text}
    (problem,) = storage.problems()
    assert f'the stored "{CURRENT}" could not be read and was quarantined: it ' in problem
    assert f'ceph config-key rm mgr/rocksdb_tuner/{BROKEN}{CURRENT}' in problem


def test_broken_state_is_reported_by_every_manager_until_removed(store: FakeStore) -> None:
    store.values[CURRENT] = 'nonsense'
    RolloutStorage(store).load_current()
    later = RolloutStorage(store)
    assert len(later.problems()) == 1
    store.set(BROKEN + CURRENT, None)
    assert later.problems() == ()


def test_broken_state_that_cannot_be_moved_is_reported_and_not_applied(store: FakeStore) -> None:
    store.values[CURRENT] = 'nonsense'
    store.error = CommandError(5, 'read-only')
    storage = RolloutStorage(store)
    assert storage.load_current() is None
    assert len(storage.problems()) == 1
    assert CURRENT in store.values


def test_broken_record_does_not_hide_the_others(store: FakeStore) -> None:
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


def test_ids_are_never_reused_even_with_a_broken_record(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    storage.save_record(record_of(replace(example(), rollout_id='r9')))
    store.values[f'{HISTORY}r10'] = 'nonsense'
    storage.load_history()
    assert RolloutStorage(store).next_id() == 'r11'


def test_unknown_key_is_harmless(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    storage.save_record(record_of(replace(example(), rollout_id='r3')))
    store.values[f'{HISTORY}notes'] = 'by hand'
    assert storage.next_id() == 'r4'
    assert len(storage.load_history()) == 1


def test_archived_rollouts_are_found_by_id_and_recommendation(
    store: FakeStore,
) -> None:
    storage = RolloutStorage(store)
    for n, advice in ((1, 'a'), (2, 'b'), (3, 'a')):
        storage.archive(ended(f'r{n}', advice))  # type: ignore[arg-type]
    assert storage.archived('r1') == ended('r1', 'a')
    assert storage.archived('a') == ended('r3', 'a')
    assert storage.archived('c') is None


def test_broken_archive_is_skipped(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    storage.archive(ended('r1', 'a'))  # type: ignore[arg-type]
    store.values['rollout/archive/r2'] = 'nonsense'
    assert storage.archived('a') == ended('r1', 'a')


def test_archive_is_bounded(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    for n in range(1, ARCHIVE_MAX + 5):
        storage.archive(ended(f'r{n}'))  # type: ignore[arg-type]
    assert len(store.values) == ARCHIVE_MAX
    assert storage.archived('r4') is None
    assert storage.archived('r5') is not None


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
    before.save_record(record_of(old))  # type: ignore[arg-type]
    kept = dict(store.values)
    store.values = {
        key if key.startswith(PIECES) else BROKEN + key: value for key, value in kept.items()
    }
    storage = RolloutStorage(store)
    storage.restore_readable(paused)
    assert store.values == kept
    assert storage.problems() == ()


def test_rollout_quarantined_halfway_is_restored_paused(store: FakeStore) -> None:
    RolloutStorage(store).save_current(example())
    store.values[BROKEN + CURRENT] = store.values.pop(CURRENT)
    storage = RolloutStorage(store)
    storage.restore_readable(paused)
    found = storage.load_current()
    assert found is not None
    assert found.paused_by == 'the module'
    assert replace(found, paused_by=None, paused_reason=None) == replace(
        example(), paused_by=None, paused_reason=None
    )


def test_quarantined_data_does_not_replace_newer_data(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    storage.save_current(example())
    store.values[BROKEN + CURRENT] = store.values[CURRENT]
    storage.save_current(ended('r9'))  # type: ignore[arg-type]
    storage.restore_readable(paused)
    assert storage.load_current() == ended('r9')
    assert len(storage.problems()) == 1


def test_unreadable_data_stays_quarantined(store: FakeStore) -> None:
    store.values = {BROKEN + CURRENT: 'nonsense', BROKEN + HISTORY + 'r1': '{}'}
    RolloutStorage(store).restore_readable(paused)
    assert set(store.values) == {BROKEN + CURRENT, BROKEN + HISTORY + 'r1'}


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
    RolloutStorage(store).restore_readable(paused)
    assert store.values == {key: kinds[key]}
    for text in ('nonsense', kinds[CLOCK] if key != CLOCK else kinds[CURRENT]):
        store.values = {BROKEN + key: text, BROKEN + 'z': kinds[ARCHIVE + 'r7']}
        aside = dict(store.values)
        RolloutStorage(store).restore_readable(paused)
        assert store.values == aside


def test_unrestorable_entry_blocks_no_other(store: FakeStore) -> None:
    good = by_kind()
    bad = {HISTORY + 'r1': 'nonsense', 'deep/osd.0': '{}', 'rollout/a': '{}'}
    store.values = {BROKEN + key: text for key, text in {**good, **bad}.items()}
    # Written since.
    store.values[ARCHIVE + 'r7'] = good[ARCHIVE + 'r7']
    RolloutStorage(store).restore_readable(paused)
    left = {BROKEN + key for key in (*bad, ARCHIVE + 'r7')}
    assert set(store.values) == left | set(good)


def test_recently_removed_data_is_not_restored(store: FakeStore) -> None:
    store.keys = lambda prefix: [BROKEN + key for key in by_kind()]  # type: ignore[method-assign]
    RolloutStorage(store).restore_readable(paused)
    assert store.values == {}


def test_data_that_cannot_be_restored_is_left_for_the_next_manager(store: FakeStore) -> None:
    store.values = {BROKEN + key: text for key, text in by_kind().items()}
    aside = dict(store.values)
    store.error = CommandError(28, 'no space')
    RolloutStorage(store).restore_readable(paused)
    assert store.values == aside


def test_empty_store_has_no_elapsed_time_and_no_restarts(
    store: FakeStore,
) -> None:
    storage = RolloutStorage(store)
    assert storage.load_clock() == ClockState(0.0)
    assert storage.load_acknowledged() is None
    assert storage.load_evidence() == ()
    store.values = by_kind()
    assert storage.load_clock() == ClockState(7.0, ('r7', 5.0), (1.0,))
    storage.save_clock(ClockState(8.0))
    assert storage.load_clock() == ClockState(8.0)
    storage.save_acknowledged('r7')
    assert store.values[ACKNOWLEDGED] == storage.load_acknowledged() == 'r7'
    storage.save_acknowledged(None)
    assert ACKNOWLEDGED not in store.values


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


def test_rollouts_are_ordered_by_number(store: FakeStore) -> None:
    storage = RolloutStorage(store)
    for n in (9, 10, 11):
        storage.archive(ended(f'r{n}', 'a' if n < 11 else 'b'))  # type: ignore[arg-type]
        storage.save_record(record_of(ended(f'r{n}')))  # type: ignore[arg-type]
    assert storage.archived('a') == ended('r10', 'a')
    assert [r.rollout_id for r in storage.load_history()] == ['r9', 'r10', 'r11']


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
        storage.save_record(record_of(ended(f'r{n}')))  # type: ignore[arg-type]
    for n in (20, 21):
        storage.archive(ended(f'r{n}'))  # type: ignore[arg-type]
    assert sorted(map(number_of, store.keys(HISTORY))) == list(range(2, 202))
    assert sorted(map(number_of, store.keys(ARCHIVE))) == list(range(2, 22))


def test_problem_ends_with_its_cause_even_without_quarantine(
    store: FakeStore,
) -> None:
    broken = [ARCHIVE + 'r1', EVIDENCE + '1', HISTORY + 'r1', CLOCK, CURRENT]
    store.values = dict.fromkeys(broken, 'nonsense')
    store.error = CommandError(5, 'read-only')
    storage = RolloutStorage(store)
    assert storage.load_clock() == ClockState(0.0)
    assert storage.load_evidence() == ()
    assert storage.load_history() == ()
    assert storage.load_current() is storage.archived('r1') is None
    named = [problem.partition('"')[2].partition('"')[0] for problem in storage.problems()]
    assert named == sorted(broken)
    store.values = {CLOCK: 'nonsense'}
    (problem,) = storage.problems()
    assert f'"{CLOCK}"' in problem
    # One quarantined by an earlier manager is reported, too, without the reason.
    store.values[BROKEN + 'a'] = 'x'
    assert 'see the log of the manager that read it' in storage.problems()[0]


def test_manager_log_has_the_reasons(store: FakeStore, caplog: pytest.LogCaptureFixture) -> None:
    """That is where the sentence for operators sends them."""
    caplog.set_level('INFO')
    storage = RolloutStorage(store)
    store.values = {
        CURRENT: 'nonsense',
        HISTORY + 'r1': 'nonsense',
        BROKEN + CLOCK: by_kind()[CLOCK],
    }
    store.error = CommandError(5, 'read-only')
    storage.load_current()
    storage.archived('r1')
    storage.restore_readable(paused)
    store.error = None
    storage.restore_readable(paused)
    reported = [(record.levelname, record.getMessage()) for record in caplog.records]
    started = [(level, text.partition(': ')[0]) for level, text in reported]
    assert started == [
        ('WARNING', f'cannot read {CURRENT}, quarantining it'),
        ('WARNING', f'cannot quarantine {CURRENT}'),
        ('WARNING', f'cannot restore {CLOCK}'),
        ('INFO', f'{CLOCK} can be read again and is no longer quarantined'),
    ]


@pytest.mark.parametrize('clock', [ClockState(-0.5), ClockState(5.0, restarts=(7.0,))])
def test_impossible_clock_is_quarantined(store: FakeStore, clock: ClockState) -> None:
    store.values[CLOCK] = as_text(clock)
    assert RolloutStorage(store).load_clock() == ClockState(0.0)
    assert BROKEN + CLOCK in store.values


def test_evidence_is_stored_with_five_digits(store: FakeStore) -> None:
    block = Block({3: Measured(1.234567, 2.0), 1: Measured(slow_ops=4.0)}, 1234.6)
    RolloutStorage(store).save_evidence((Evidence('r7', 2, (3,), (1,), 30.0, (block,)),))
    (read,) = RolloutStorage(store).load_evidence()
    expected = Block({3: Measured(1.2346, 2.0), 1: Measured(slow_ops=4.0)}, 1235.0)
    assert (read.before, read.after) == ((expected,), ())
