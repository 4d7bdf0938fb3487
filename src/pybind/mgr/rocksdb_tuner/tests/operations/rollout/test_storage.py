"""Stored states, history and the clock: what is read back is what was written."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from rocksdb_tuner.judge.evidence import Block, Evidence, Measured
from rocksdb_tuner.judge.records import (
    Inconclusive,
    Predicted,
    SoakPlan,
    Verdict,
)
from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.operations.phases import TEXT_MAX, Outcome, Phase
from rocksdb_tuner.operations.rollout import machine
from rocksdb_tuner.operations.rollout.records import (
    Before,
    OsdBefore,
    OsdProgress,
    OsdStep,
    RolloutState,
)
from rocksdb_tuner.operations.rollout.storage import (
    ARCHIVE,
    CLOCK,
    CURRENT,
    DAY_S,
    EVIDENCE,
    HISTORY,
    ClockState,
    PersistentClock,
    RolloutStorage,
    contradictions,
    number_of,
    record_of,
)
from rocksdb_tuner.plan.records import ChangeKind, ChangeRequest
from rocksdb_tuner.store.codec import StoredStateError
from rocksdb_tuner.store.stored import BROKEN, Stored
from rocksdb_tuner.tests.fake_cluster import DEFAULTS, FakeStore
from rocksdb_tuner.tests.store.as_text import as_text

from .conftest import (
    NEW,
    OLD,
    Run,
    refusing,
    set_profile,
)


def example(osds: int = 3, same: bool = True) -> RolloutState:
    ids = tuple(range(osds))
    return RolloutState(
        rollout_id='r7',
        request=ChangeRequest(
            recommendation_id='ssd-lz4',
            kind=ChangeKind.SET_PROFILE,
            who='osd/class:ssd',
            targets=tuple((n, NEW if same else f'{NEW},max_open_files={_mixed(n)}') for n in ids),
            order=ids,
            final_entries=(('osd/class:ssd', NEW),),
            actor='client.admin',
            prediction='{}',
        ),
        before=Before(
            entries=(('osd', OLD),),
            osds=tuple(
                OsdBefore(
                    n,
                    OLD if same else f'{OLD},x={_mixed(n)}',
                    'mon',
                    'pacific',
                    f'{zlib.crc32(b"uuid %d" % n) >> 8:06x}',
                    'ssd',
                    'bluestore',
                )
                for n in ids
            ),
        ),
        osds=tuple(OsdProgress(n) for n in ids),
        started_s=1000.5,
        updated_s=1001.0,
    )


def _mixed(n: int) -> str:
    return base64.b64encode(zlib.crc32(str(n).encode()).to_bytes(4, 'big') * 20).decode()


def decode_state(text: str) -> RolloutState:
    return Stored(FakeStore(), CURRENT, RolloutState, contradictions).decoded(text)


@pytest.mark.parametrize('value', [NEW, 'write_buffer_size=foo'])
def test_what_was_written_is_read_back(run: Run, value: str) -> None:
    """Each state of a rollout that is judged and rolled back, and of one that fails."""
    soak = SoakPlan(60.0, 120.0, Inconclusive.PROMOTE, SoakPlan(0.0, 240.0))
    run.start(set_profile(run.cluster, value, predicted=Predicted('IOPS', -1.5, 25.0)), soak)
    for back in (False, True):
        while not run.state.ended:
            run.tick()
            # How long the baseline was measured follows from the evidence.
            state = replace(run.state, baseline_s=0.0)
            assert RolloutStorage(run.store).current.load() == state
        if not back and run.state.phase is Phase.DONE:
            run.driver.rollback(None, 'client.ann', run.cluster.now_s)


def at_its_fullest(osds: int) -> RolloutState:
    """Every process known, every batch judged, every entry to be restored, long texts."""
    state = example(osds, same=False)
    text = '\U0001f4a9' * TEXT_MAX
    ids = tuple(range(osds))
    return replace(
        state,
        request=replace(
            state.request,
            batches=tuple((n,) for n in ids),
            domains=tuple(FailureDomain('osd', f'osd.{n}') for n in ids),
        ),
        osds=tuple(
            replace(
                o,
                step=OsdStep.CHECKING,
                nonce_before=zlib.crc32(b'%d' % o.osd_id),
                nonce_after=zlib.crc32(b'after %d' % o.osd_id),
            )
            for o in state.osds
        ),
        paused_reason=text,
        last_error=text,
        pending_conflict=text,
        failure=text,
        restoring=tuple(f'osd.{n}' for n in ids),
        verdicts=tuple(Verdict.BETTER if n % 3 else Verdict.NO_WORSE for n in ids),
    )


def test_rollout_of_ten_thousand_osds_is_stored_to_its_end() -> None:
    """No key holds more than a monitor takes, which `FakeStore` asserts of each."""
    store, state = FakeStore(), at_its_fullest(10_000)
    storage = RolloutStorage(store)
    storage.current.save(state)
    storage.archive(state)
    storage.keep(record_of(state))
    assert RolloutStorage(store).current.load() == state
    assert RolloutStorage(store).archived(state.rollout_id) == state


def test_step_of_ten_thousand_osds_writes_the_head_and_a_chunk() -> None:
    """The head stays small in any state of the OSDs."""
    store, state = FakeStore(), example(10_000)
    storage = RolloutStorage(store)
    storage.current.save(state)
    sizes: list[int] = []
    store.on_set = sizes.append  # type: ignore[assignment]
    for n in range(100):
        osds = list(state.osds)
        for step in (OsdStep.SETTING, OsdStep.RESTARTING, OsdStep.VERIFIED):
            osds[n] = replace(osds[n], step=step, nonce_before=2**31 + n)
            state = replace(state, osds=tuple(osds))
            storage.current.save(state)
            assert len(store.values[CURRENT].encode()) < 10_000
    # The head, a chunk, and the one that it replaces.
    assert len(sizes) == 300 * 3
    assert RolloutStorage(store).current.load() == state


# -- what is not believed


def broken_texts() -> Iterator[tuple[str, str]]:
    good = as_text(example())
    yield '', 'not JSON'
    yield good[: len(good) // 2], 'not JSON'
    yield 'null', 'not a JSON object'
    yield '{}', 'version null'
    yield good.replace('"version":1', '"version":6'), 'version 6 of the format'
    yield good.replace('"version":1', '"version":2'), 'version 2 of the format'


@pytest.mark.parametrize(('text', 'message'), list(broken_texts()))
def test_broken_text_is_an_error_with_its_cause(text: str, message: str) -> None:
    """Cut off, of another version, or of something else."""
    with pytest.raises(StoredStateError, match=message):
        decode_state(text)


WRONG: list[tuple[str, object, str]] = [
    ('rollout_id', [], '"rollout_id" is \\[\\] instead of a string'),
    ('started_s', 'soon', '"started_s" is "soon" instead of a number'),
    ('stage', 'ready', '"stage" is "ready" instead of one of planned,'),
    ('stage', 'waiting', 'is not a valid'),
    ('stage', 'done', '"outcome" and "stage" contradict each other'),
    ('outcome', 'done', '"outcome" and "stage" contradict each other'),
    ('direction', 'recover', '"ending" is missing'),
    ('ending', {'outcome': 'sunk', 'reason': 'x'}, '"ending.outcome" is "sunk" instead of'),
    ('entries_done', -1, 'instead of a non-negative integer'),
    ('restoring', ['osd.99'], 'an entry outside the request'),
    ('request.order', [0, 1, 1], 'names an OSD twice'),
    ('request.order', [0, 2, 1], '"osds" does not match "request.order"'),
    ('request.targets', [[0, 'a'], [1, 'a']], '"request.targets" does not match'),
    ('request.targets', [[0, 99], [1, 'a'], [2, 'a']], 'request.targets\\[0\\]\\[1\\]" is 99'),
    ('request.final_entries', [['osd']], '"request.final_entries\\[0\\]" is .* of 2 values'),
    ('before.osds', [], '"before.osds" does not match'),
    ('osds', [], '"osds" does not match'),
    ('verdicts', ['good'], 'instead of one of'),
    ('verdicts', ['better'] * 4, 'more "verdicts" than batches'),
    ('request.controls', [0, 1], 'names the canary'),
    ('request.controls', [1, 7], 'an OSD outside the request'),
    ('request.batches', [[0], [1]], 'does not match'),
    ('request.batches', [[0], [], [1, 2]], 'does not match'),
    ('request.batches', [[1], [0, 2]], 'does not match'),
    ('request.batches', [[0, 1], [2]], 'more than the canary first'),
    ('request.domains', [None], '"request.domains" does not match "request.batches"'),
    ('soak.batches', 3, '"soak.batches" is 3 instead of an object'),
    ('asked', {'osd_id': 1}, '"asked.executed" is missing'),
]


@pytest.mark.parametrize(('path', 'value', 'message'), WRONG)
def test_wrong_value_is_named_with_the_valid_form(path: str, value: object, message: str) -> None:
    """Also what is right by its type, and contradicts something else."""
    document = json.loads(as_text(example()))
    _set(document['record'], path, value)
    with pytest.raises(StoredStateError, match=message):
        decode_state(json.dumps(document))


def _set(document: dict[str, Any], path: str, value: object) -> None:
    *above, name = path.split('.')
    for step in above:
        document = document[step]
    document[name] = value


# -- what a verdict is made of


@pytest.mark.parametrize(
    ('name', 'value', 'message'),
    [
        ('batch', -1, '"batch" is -1 instead of a non-negative integer'),
        ('block_s', None, '"block_s" is null instead of a number'),
        ('before', [[1.0]], '"before\\[0\\]" is .* instead of an object'),
    ],
)
def test_wrong_evidence_is_named(name: str, value: object, message: str) -> None:
    document = json.loads(as_text(Evidence('r7', 0, (0,), (1,), 30.0)))
    document['record'][name] = value
    stored = RolloutStorage(FakeStore())._evidence('0')
    with pytest.raises(StoredStateError, match=message):
        stored.decoded(json.dumps(document))


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
    return state if state.ended else machine.paused(state, 'the module', state.updated_s)


def restore(storage: RolloutStorage) -> None:
    """All reads of a manager that becomes active."""
    storage.quarantine.read(storage.current, paused)
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


def test_evidence_is_stored_with_five_digits(store: FakeStore) -> None:
    block = Block({3: Measured(1.234567, 2.0), 1: Measured(slow_ops=4.0)}, 1234.6)
    RolloutStorage(store).save_evidence((Evidence('r7', 2, (3,), (1,), 30.0, (block,)),))
    (read,) = RolloutStorage(store).load_evidence()
    expected = Block({3: Measured(1.2346, 2.0), 1: Measured(slow_ops=4.0)}, 1235.0)
    assert (read.before, read.after) == ((expected,), ())


# -- the permanent records of a rollout: it can be rolled back after refused or lost writes

DEFAULT = DEFAULTS['pacific']


NOW_S = 1_700_000_000.0


def clock_with(now_s: float, *restarts: float) -> PersistentClock:
    storage = RolloutStorage(FakeStore())
    storage.store.set(CLOCK, as_text(ClockState(now_s, restarts=restarts)))
    clock = PersistentClock(storage)
    clock.load()
    return clock


def test_reached_limit_names_the_option_and_the_next_possible_time() -> None:
    clock = clock_with(8000.0, 800.0, 4400.0)
    assert clock.limit_reason(0, NOW_S) is None
    assert clock.limit_reason(3, NOW_S) is None
    limit_reason = 'restarts_per_day (2) is exhausted until 2023-11-15T20:13:20Z'
    assert clock.limit_reason(2, NOW_S) == limit_reason
    limit_reason = 'restarts_per_day (1) is exhausted until 2023-11-15T21:13:20Z'
    assert clock.limit_reason(1, NOW_S) == limit_reason
    assert (clock.limit_reason(1, 1e300) or '').endswith('until -')


def test_restart_counts_for_a_day_to_the_second() -> None:
    clock = clock_with(5.0, 0.0, 1.0)
    clock.update(0.0)
    clock.update(DAY_S - 5.5)
    assert clock.limit_reason(2, NOW_S) is not None
    clock.update(DAY_S - 5.0)
    assert clock.limit_reason(2, NOW_S) is None
    assert clock.limit_reason(1, NOW_S) is not None
    clock.update(DAY_S - 4.0)
    assert clock.limit_reason(1, NOW_S) is None


def test_end_of_any_operation_counts(run: Run) -> None:
    """A campaign that ended after the rollout, also if its time was lost with its manager."""
    run.start()
    run.run_to_end()
    run.cluster.now_s += DAY_S
    run.tick()
    record = replace(run.driver.history[0], rollout_id='c2')
    run.driver.add_record(record)
    assert (run.driver.time.ended_id, run.driver.time.since_end_s) == ('c2', 0.0)
    run.tick()
    run.cluster.now_s += 600.0
    run.tick()
    waited_s = run.driver.time.since_end_s
    assert waited_s is not None
    assert waited_s >= 600.0
    # Recorded again, as an experiment whose winner could not be stored.
    run.driver.add_record(record)
    assert run.driver.time.since_end_s == waited_s
    run.fail_over()
    run.tick()
    assert run.driver.time.ended_id == 'c2'
    assert (run.driver.time.since_end_s or 0.0) >= 600.0
    del run.store.values[CLOCK]
    run.fail_over()
    run.tick()
    assert (run.driver.time.ended_id, run.driver.time.since_end_s) == ('c2', 0.0)


@pytest.mark.parametrize('ticks', [0, 2])
def test_end_counts_although_the_clock_could_not_be_stored_then(run: Run, ticks: int) -> None:
    """The next tick stores it; without one, the next manager counts from its own start."""
    run.start()
    run.run_to_end()
    run.cluster.now_s += DAY_S
    run.tick()

    def refuse(key: str) -> None:
        if key == CLOCK and run.driver.time.ended_id == 'r2':
            raise refusing()

    run.store.on_set = refuse
    run.start(set_profile(run.cluster, OLD))
    run.run_to_end()
    run.store.on_set = lambda _: None
    run.ticks(ticks)
    run.fail_over()
    # Without its time it counts from now, once.
    time = run.driver.time
    assert time.ended_id == 'r2'
    assert time.since_end_s == pytest.approx(0.0 if ticks == 0 else 2.0, abs=0.1)
    run.tick()
    run.cluster.now_s += 600.0
    run.tick()
    run.fail_over()
    assert (run.driver.time.since_end_s or 0.0) >= 600.0


def test_limit_applies_across_rollouts_and_managers_and_not_to_rollbacks(run: Run) -> None:
    run.restarts_per_day = 4
    run.start()
    run.run_to_end()
    run.fail_over()
    run.start(set_profile(run.cluster, OLD, recommendation_id='other'))
    state = run.to_a_wait('restarts_per_day (4) is exhausted until')
    assert [osd.step.value for osd in state.osds] == ['verified', 'pending', 'pending']
    run.fail_over()
    run.ticks(50)
    assert run.state.phase is Phase.WAITING
    # The change is rolled back at once, though the daily limit is reached.
    run.driver.rollback(None, 'client.a', run.cluster.now_s)
    assert run.run_to_end().phase is Phase.ROLLED_BACK
    assert run.cluster.runs(0) == NEW


def test_unreadable_count_is_quarantined_and_reported(run: Run) -> None:
    run.store.values[CLOCK] = '{}'
    run.fail_over()
    assert any('rollout/clock' in problem for problem in run.driver.problems)
    run.start()
    assert run.run_to_end().phase is Phase.DONE


def test_count_that_cannot_be_stored_blocks_no_restart(run: Run) -> None:
    """The state was stored just before: an OSD that waits for its restart is worse off."""
    run.start()
    keep = run.store.set

    def refuse(key: str, value: str | None) -> None:
        if key == CLOCK:
            raise refusing('no space')
        keep(key, value)

    run.store.set = refuse  # type: ignore[method-assign]
    assert run.run_to_end().phase is Phase.DONE
