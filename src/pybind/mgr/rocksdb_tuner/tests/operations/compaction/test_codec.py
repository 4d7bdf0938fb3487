"""Stored campaigns: what is read back is what was written, and nothing else is believed."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from dataclasses import replace
from typing import Any, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocksdb_tuner.judge.records import Predicted
from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import FailureDomain, Place
from rocksdb_tuner.operations.compaction.driver import CURRENT, CampaignStorage
from rocksdb_tuner.operations.compaction.records import (
    REASON_MAX,
    CampaignRequest,
    CampaignState,
    CompactionStep,
    OsdCompaction,
    planned,
)
from rocksdb_tuner.operations.phases import Outcome, Phase
from rocksdb_tuner.store.errors import StoredStateError
from rocksdb_tuner.store.stored import BROKEN, LIMIT_BYTES, ROWS
from rocksdb_tuner.tests.fake_cluster import FakeStore

from .conftest import Run

TEXTS = st.text(max_size=30)
MAYBE = st.none() | TEXTS
BYTES = st.none() | st.integers(0, 2**60)
MS = st.none() | st.floats(0, 1e6)


@st.composite
def states(draw: st.DrawFn) -> CampaignState:
    ids = draw(st.lists(st.integers(0, 5000), min_size=1, max_size=5, unique=True))
    osds = tuple(
        OsdCompaction(
            n,
            draw(MAYBE),
            draw(st.none() | st.builds(FailureDomain, TEXTS, TEXTS)),
            draw(st.sampled_from(CompactionStep)),
            draw(st.none() | st.integers(0, 2**32)),
            draw(st.integers(0, 99)),
            draw(st.integers(0, 3)),
            draw(BYTES),
            draw(BYTES),
            draw(MS),
            draw(MAYBE),
        )
        for n in ids
    )
    outcome = draw(st.none() | st.sampled_from(Outcome))
    ends = {Phase.DONE, Phase.FAILED, Phase.ROLLED_BACK}
    stages = [p for p in Phase if (p in ends) == (outcome is not None) and p is not Phase.WAITING]
    percent = st.floats(-100, 1e4)
    return CampaignState(
        campaign_id=draw(TEXTS),
        request=CampaignRequest(
            draw(TEXTS),
            draw(TEXTS),
            draw(TEXTS),
            tuple((osd.osd_id, osd.place) for osd in osds),
            draw(TEXTS),
            draw(st.integers(1, 9)),
            draw(MAYBE),
            draw(st.none() | st.builds(Predicted, TEXTS, percent, percent)),
        ),
        osds=osds,
        started_s=draw(st.floats(0, 4e9)),
        updated_s=draw(st.floats(0, 4e9)),
        stage=draw(st.sampled_from(stages)),
        paused_reason=draw(MAYBE),
        paused_by=draw(MAYBE),
        baseline_ms=draw(MS),
        ending=draw(MAYBE),
        errors=draw(st.integers(0, 9)),
        last_error=draw(MAYBE),
        outcome=outcome,
        failure=draw(MAYBE),
    )


@given(states())
def test_a_campaign_is_read_back_as_it_was_written(state: CampaignState) -> None:
    store = FakeStore()
    CampaignStorage(store).save(state)
    assert CampaignStorage(store).load() == state


def example() -> CampaignState:
    return planned('c1', Run().request(), 1000.0)


def read(state: CampaignState, **changes: Any) -> Optional[CampaignState]:
    """The result of reading the head with this change."""
    store = FakeStore()
    CampaignStorage(store).save(state)
    head = json.loads(store.values[CURRENT])
    head['version'] = changes.pop('version', 1)
    head['record'].update(changes)
    store.values[CURRENT] = json.dumps(head)
    return CampaignStorage(store).load()


@pytest.mark.parametrize(
    'text', ['', '[]', '{"version":5}', '{"version":1}', '{"version":3}', 'null', '{"x', 'zlib:!']
)
def test_invalid_campaign_is_an_error(text: str) -> None:
    """It is quarantined unchanged."""
    store = FakeStore()
    store.values[CURRENT] = text
    with pytest.raises(StoredStateError):
        CampaignStorage(store).load()
    assert store.values == {BROKEN + CURRENT: text}


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'stage': 'waiting'}, '"waiting" is not a valid "stage"'),
        ({'stage': 'x'}, '"stage" is "x" instead of one of planned'),
        ({'stage': 'done'}, '"outcome" and "stage" contradict each other'),
        ({'outcome': 'done'}, '"outcome" and "stage" contradict each other'),
        ({'baseline_ms': 'fast'}, '"baseline_ms" is "fast" instead of a number'),
        ({'version': 5}, 'this module reads version 1'),
    ],
)
def test_errors_in_a_stored_campaign_are_reported(changes: dict[str, Any], message: str) -> None:
    """By its name, and what would be right."""
    assert read(example()) == example()
    with pytest.raises(StoredStateError) as error:
        read(example(), **changes)
    assert message in str(error.value)


def test_contradictions_between_the_plan_and_its_osds_are_reported() -> None:
    """Each is right by its type."""
    state = example()
    for wrong, message in (
        (replace(state, osds=()), '"osds" is empty or names an OSD twice'),
        (replace(state, osds=state.osds[:1] * 2), '"osds" is empty or names an OSD twice'),
        (replace(state, osds=state.osds[1:]), '"osds" does not match "request.osds"'),
        (
            replace(state, request=replace(state.request, parallel=0)),
            '"request.parallel" is less than 1',
        ),
    ):
        store = FakeStore()
        CampaignStorage(store).save(wrong)
        with pytest.raises(StoredStateError, match=message):
            CampaignStorage(store).load()


# -- ten thousand OSDs

MANY = 10_000
CHUNK = ROWS


def on(host: str) -> Place:
    return Place(host, FailureDomain('host', host))


def large(count: int, host: str = 'host') -> CampaignState:
    osds = tuple((n, on(f'{host}{n // 12}')) for n in range(count))
    return planned('c1', CampaignRequest('a', 'osd', 'x', osds, 'op'), 0.0)


def foreign_texts(seed: int) -> str:
    """As long as a reason may be, of characters that take four bytes and do not compress."""
    rng = random.Random(seed)
    return ''.join(chr(rng.randrange(0x10000, 0x10FFFF)) for _ in range(REASON_MAX))


def finished(osd: OsdCompaction) -> OsdCompaction:
    n = osd.osd_id
    return replace(
        osd,
        step=CompactionStep.SKIPPED if n % 2 else CompactionStep.DONE,
        nonce=2**32 - 1 - n,
        started_before=n,
        asked=2,
        used_before_bytes=2**50 + n * 2654435761 % 2**32,
        used_after_bytes=2**49 + n * 40503,
        latency_ms=1 / (n + 1),
        reason=foreign_texts(n),
    )


def test_ten_thousand_osds_are_stored_completely_within_the_key_size() -> None:
    """`FakeStore` refuses what a monitor refuses; each of three samples is of another manager."""
    store = FakeStore()
    state = large(MANY, host='a-rather-long-name-of-a-host.in-a-domain.example.com-')
    storage = CampaignStorage(store)
    storage.save(state)
    assert CampaignStorage(store).load() == state
    for done in range(63, MANY, 1009):
        osds = (*map(finished, state.osds[:done]), *state.osds[done:])
        state = replace(state, osds=osds)
        storage.save(state)
    assert CampaignStorage(store).load() == state
    storage.save(replace(state, osds=tuple(map(finished, state.osds))))
    assert max(len(text.encode()) for text in store.values.values()) <= LIMIT_BYTES


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_a_store_that_fails_in_between_leaves_the_state_of_before(data: st.DataObject) -> None:
    """Whichever write of a step is the last, a manager reads the state before it or the one after.

    The step that failed may be followed by another than was tried.
    """
    store = FakeStore()
    old = large(2 * CHUNK)
    storage = CampaignStorage(store)
    storage.save(old)
    left = 0

    def fail(key: str) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise CommandError(30, 'read-only')

    for _ in range(6):
        done = data.draw(st.sampled_from([1, CHUNK - 1, CHUNK, 2 * CHUNK]))
        done = max(done, sum(osd.step is not CompactionStep.PENDING for osd in old.osds))
        new = replace(old, osds=(*map(finished, old.osds[:done]), *old.osds[done:]))
        left = data.draw(st.integers(0, 3))
        store.on_set = fail
        with suppress(CommandError):
            storage.save(new)
        found = CampaignStorage(store).load()
        assert found in (old, new)
        assert found is not None
        old = found


def test_same_campaign_of_another_actor_is_stored_again() -> None:
    store = FakeStore()
    storage = CampaignStorage(store)
    state = large(1)
    storage.save(state)
    moved = replace(state.osds[0], host='other')
    places = ((0, moved.place),)
    other = replace(state, osds=(moved,), request=replace(state.request, osds=places))
    storage.save(other)
    assert CampaignStorage(store).load() == other


def test_broken_campaign_is_quarantined_reported_and_not_acted_on() -> None:
    run = Run()
    run.store.values[CURRENT] = '{"version":1,"osds":'
    run.fail_over()
    for _ in range(50):
        run.tick()
    assert run.driver.state is None
    assert run.store.values == {BROKEN + CURRENT: '{"version":1,"osds":'}
    assert 'quarantined' in run.driver.problems[0]
    assert run.cluster.compactions.requested == []


def test_step_of_ten_thousand_osds_writes_the_head_and_occasionally_a_chunk() -> None:
    """In any outcome: also with the longest reason for each."""
    store = FakeStore()
    state = large(MANY)
    storage = CampaignStorage(store)
    storage.save(state)
    written: list[str] = []
    store.on_set = written.append
    for done in range(1, 101):
        osds = (*map(finished, state.osds[:done]), *state.osds[done:])
        storage.save(replace(state, osds=osds))
    assert written.count(CURRENT) == 100
    # With a chunk, whose pieces are as long as its texts, and those that they replace.
    assert len(written) < 100 * 20


def _stored_alone(state: CampaignState) -> dict[str, str]:
    store = FakeStore()
    CampaignStorage(store).save(state)
    return store.values


def test_leftovers_of_an_older_campaign_are_removed_when_another_is_stored() -> None:
    """Nothing refers to it any more."""
    store = FakeStore()
    storage = CampaignStorage(store)
    storage.save(large(3 * CHUNK))
    other = replace(large(CHUNK), campaign_id='c2')
    storage.save(other)
    assert set(store.values) == set(_stored_alone(other))
    assert CampaignStorage(store).load() == other
