"""Stored campaigns: what is read back is what was written, and nothing else is believed."""

from __future__ import annotations

import errno
import json
import random
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.campaign.codec import (
    CHUNK_OSDS,
    VERSION,
    decode,
    encode_chunk,
    encode_head,
    refuse_if_too_large,
)
from rocksdb_tuner.campaign.machine import REASON_MAX
from rocksdb_tuner.campaign.records import (
    CampaignRequest,
    CampaignState,
    CompactionStep,
    OsdCompaction,
    planned,
)
from rocksdb_tuner.campaign.storage import BROKEN, CURRENT, CampaignStorage
from rocksdb_tuner.judge.records import Predicted
from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import FailureDomain, Place
from rocksdb_tuner.rollout.errors import RolloutRefused, StoredStateError
from rocksdb_tuner.rollout.records import Outcome, Phase
from rocksdb_tuner.rollout.stored import LIMIT_BYTES, packed, unpacked_values
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


def read(head: str, *chunks: str) -> CampaignState:
    return decode(head, lambda _, number: chunks[number] if number < len(chunks) else None)


@pytest.mark.parametrize(
    'text',
    [
        '',
        '[]',
        '{"version":4}',
        '{"version":3}',
        '{"version":2}',
        '{"version":1}',
        'null',
        '{"x',
        'zlib:!',
    ],
)
def test_what_is_no_campaign_is_an_error(text: str) -> None:
    with pytest.raises(StoredStateError):
        read(text, encode_chunk(example(), 0))


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('osds', [{'osd_id': 1, 'step': 'dancing', 'begun_before': 0, 'asked': 0}]),
        ('osds', [{'osd_id': 99, 'step': 'done', 'begun_before': 0, 'asked': 0}]),
        ('osds', [{'osd_id': 1, 'step': 'done', 'begun_before': 0, 'asked': 0, 'mood': 'good'}]),
        ('chunks', 0),
        ('chunks', 2),
        ('finished_chunks', [0]),
        ('stage', 'waiting'),
        ('stage', 'done'),
        ('outcome', 'done'),
        ('baseline_ms', 'fast'),
        ('request', {}),
        ('weather', 'fine'),
    ],
)
def test_wrong_values_are_an_error(name: str, value: Any) -> None:
    state = example()
    document = json.loads(encode_head(state))
    assert read(json.dumps(document), encode_chunk(state, 0)) == state
    document[name] = value
    with pytest.raises(StoredStateError):
        read(json.dumps(document), encode_chunk(state, 0))


def test_what_is_stored_keeps_its_names_for_the_version_that_reads_it() -> None:
    """Word for word: a manager of another version of the module may be the next to read it."""
    state = replace(large(3), paused_reason='x', baseline_ms=5.0)
    begun = replace(state.osds[1], step=CompactionStep.COMPACTING, nonce=7, begun_before=4, asked=1)
    state = replace(state, osds=(state.osds[0], begun, state.osds[2]))
    assert encode_head(state) == (
        '{"campaign_id":"c1","request":{"recommendation_id":"a","who":"osd","options":"x",'
        '"actor":"op","parallel":1,"prediction":null,"predicted":null},'
        '"osds":[{"osd_id":1,"host":"host0","domain":["host","host0"],"step":"compacting",'
        '"nonce":7,"begun_before":4,"asked":1}],'
        '"started_s":0.0,"updated_s":0.0,"stage":"preflight","paused_reason":"x",'
        '"paused_by":null,"baseline_ms":5.0,"ending":null,"errors":0,"last_error":null,'
        '"outcome":null,"failure":null,"version":3,"chunks":1,"finished_chunks":[]}'
    )
    # What became of an OSD is in the chunk only once nothing follows for any of them.
    pending = '"host":"host0","domain":["host","host0"],"step":"pending","begun_before":0,"asked":0'
    entries = ','.join(f'{{"osd_id":{n},{pending}}}' for n in range(3))
    assert encode_chunk(state, 0) == f'{{"version":3,"osds":[{entries}]}}'
    done = replace(state, osds=tuple(map(finished, state.osds)))
    head = json.loads(encode_head(done))
    assert (head['osds'], head['finished_chunks']) == ([], [0])
    steps = [osd['step'] for osd in json.loads(encode_chunk(done, 0))['osds']]
    assert steps == ['done', 'skipped', 'done']


@pytest.mark.parametrize(
    ('changes', 'said'),
    [
        ({'stage': 'waiting'}, '"stage" is "waiting", which is no stage to go on with'),
        ({'stage': 'x' * 99}, f'"stage" is "{"x" * 40}", which it cannot be'),
        ({'stage': 'done'}, '"outcome" and "stage" contradict each other'),
        ({'outcome': 'done'}, '"outcome" and "stage" contradict each other'),
        ({'outcome': 'splendid'}, '"outcome" is "splendid", which it cannot be'),
        ({'chunks': 0}, '"osds" is empty or names an OSD twice'),
        ({'chunks': 2}, 'part 1 of 2 of its OSDs is missing'),
        ({'finished_chunks': [0]}, 'part 0 of its OSDs is not finished'),
        ({'version': 4}, 'this module reads versions 1 to 3'),
    ],
)
def test_what_is_wrong_with_a_stored_campaign_is_said(changes: dict[str, Any], said: str) -> None:
    document = {**json.loads(encode_head(example())), **changes}
    with pytest.raises(StoredStateError) as error:
        read(json.dumps(document), encode_chunk(example(), 0))
    assert said in str(error.value)


def test_a_campaign_of_no_osd_at_once_and_begun_osds_that_are_not_there_are_said() -> None:
    document = json.loads(encode_head(example()))
    document['request']['parallel'] = 0
    with pytest.raises(StoredStateError, match='parallel" is less than 1'):
        read(json.dumps(document), encode_chunk(example(), 0))
    document['request']['parallel'] = 1
    stray = {'step': 'done', 'begun_before': 0, 'asked': 1}
    document['osds'] = [{'osd_id': n, **stray} for n in (99, 98)]
    with pytest.raises(StoredStateError, match='98 was begun, but is not among its OSDs'):
        read(json.dumps(document), encode_chunk(example(), 0))


@pytest.mark.parametrize('domain', [[], ['host'], ['host', 'a', 'b']])
@pytest.mark.parametrize('part', ['head', 'chunk'])
def test_a_failure_domain_is_a_type_and_a_name(domain: list[str], part: str) -> None:
    state = example()
    begun = replace(state.osds[0], step=CompactionStep.COMPACTING)
    state = replace(state, osds=(begun, *state.osds[1:]))
    texts = {'head': json.loads(encode_head(state)), 'chunk': json.loads(encode_chunk(state, 0))}
    texts[part]['osds'][0]['domain'] = domain
    with pytest.raises(StoredStateError, match='0 is not a type and a name'):
        read(json.dumps(texts['head']), json.dumps(texts['chunk']))


def test_an_osd_without_a_host_is_alone_in_its_failure_domain() -> None:
    for version in (2, 3):
        chunk = {'version': version, 'osds': [{'osd_id': n} for n in range(4)]}
        state = read(encode_head(example()), json.dumps(chunk))
        assert [osd.place for osd in state.osds] == [Place(None, None)] * 4


@pytest.mark.parametrize('chunk', ['', '{"version":2}', '{"version":2,"osds":[{}]}', '[]'])
def test_a_broken_chunk_is_an_error(chunk: str) -> None:
    with pytest.raises(StoredStateError):
        read(encode_head(example()), chunk)


def test_an_osd_that_stands_in_two_chunks_is_an_error() -> None:
    state = large(CHUNK_OSDS + 1)
    chunk = encode_chunk(state, 0)
    with pytest.raises(StoredStateError, match='names an OSD twice'):
        read(encode_head(state), chunk, chunk)


def test_a_campaign_that_an_older_version_wrote_goes_on_and_is_stored_in_chunks() -> None:
    run = Run()
    run.start()
    run.until(lambda state: state.osds[0].step is CompactionStep.DONE)
    state = run.state
    document = json.loads(encode_head(state))
    del document['chunks'], document['finished_chunks']
    osds = [without_domain(asdict(osd)) for osd in state.osds]
    document.update(version=1, osds=osds)
    run.store.values = {CURRENT: json.dumps(document)}
    run.fail_over()
    assert run.state == state
    assert run.to_the_end().outcome is Outcome.DONE
    run.fail_over()
    assert run.state.outcome is Outcome.DONE


def without_domain(osd: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in osd.items() if v is not None and k != 'domain'}


@pytest.mark.parametrize('begun', [1, 2, CHUNK_OSDS, CHUNK_OSDS + 1, 2 * CHUNK_OSDS])
def test_where_an_older_version_kept_the_host_alone_that_is_the_failure_domain(begun: int) -> None:
    """Head and chunks of version 2 are read, and so is what mixes them with those of today."""
    store = FakeStore()
    state = large(3 * CHUNK_OSDS)
    state = replace(state, osds=(*map(finished, state.osds[:begun]), *state.osds[begun:]))
    CampaignStorage(store).save(state)
    for key, text in store.values.items():
        document = unpacked_values(text, VERSION, VERSION)
        osds = [without_domain(osd) for osd in document['osds']]
        store.values[key] = packed({**document, 'version': 2, 'osds': osds}, key)
    storage = CampaignStorage(store)
    assert storage.load() == state
    further = replace(
        state, osds=(*map(finished, state.osds[: begun + 1]), *state.osds[begun + 1 :])
    )
    storage.save(further)
    assert CampaignStorage(store).load() == further


# -- ten thousand OSDs

MANY = 10_000


def on(host: str) -> Place:
    return Place(host, FailureDomain('host', host))


def large(count: int, host: str = 'host') -> CampaignState:
    osds = tuple((n, on(f'{host}{n // 12}')) for n in range(count))
    return planned('c1', CampaignRequest('a', 'osd', 'x', osds, 'op'), 0.0)


def texts_of_strangers(seed: int) -> str:
    """As long as a reason may be, of characters that take four bytes and do not compress."""
    rng = random.Random(seed)
    return ''.join(chr(rng.randrange(0x10000, 0x10FFFF)) for _ in range(REASON_MAX))


def finished(osd: OsdCompaction) -> OsdCompaction:
    n = osd.osd_id
    return replace(
        osd,
        step=CompactionStep.SKIPPED if n % 2 else CompactionStep.DONE,
        nonce=2**32 - 1 - n,
        begun_before=n,
        asked=2,
        used_before_bytes=2**50 + n * 2654435761 % 2**32,
        used_after_bytes=2**49 + n * 40503,
        latency_ms=1 / (n + 1),
        reason=texts_of_strangers(n),
    )


def test_ten_thousand_osds_are_kept_from_the_first_to_the_last_and_no_key_is_too_large() -> None:
    """`FakeStore` refuses what a monitor refuses; each of three looks is of another manager."""
    store = FakeStore()
    state = large(MANY, host='a-rather-long-name-of-a-host.in-a-domain.example.com-')
    refuse_if_too_large(state)
    storage = CampaignStorage(store)
    storage.save(state)
    assert CampaignStorage(store).load() == state
    for done in range(CHUNK_OSDS - 1, MANY, 1009):
        osds = (*map(finished, state.osds[:done]), *state.osds[done:])
        state = replace(state, osds=osds)
        storage.save(state)
    assert CampaignStorage(store).load() == state
    storage.save(replace(state, osds=tuple(map(finished, state.osds))))
    assert max(len(text.encode()) for text in store.values.values()) <= LIMIT_BYTES
    assert CampaignStorage(store).load() != state


def test_one_step_of_ten_thousand_osds_writes_the_head_and_at_most_one_chunk() -> None:
    store = FakeStore()
    state = large(MANY)
    storage = CampaignStorage(store)
    storage.save(state)
    written: list[str] = []
    store.on_set = written.append
    for done in range(1, 2 * CHUNK_OSDS + 1):
        written.clear()
        osds = (*map(finished, state.osds[:done]), *state.osds[done:])
        storage.save(replace(state, osds=osds))
        assert written[-1] == CURRENT
        assert len(written) == (2 if done % CHUNK_OSDS == 0 else 1)


@given(st.data())
def test_a_store_that_fails_in_between_leaves_the_state_of_before(data: st.DataObject) -> None:
    """Whichever write of a step is the last, a manager reads the state before it or the one after.

    The step that failed may be followed by another than was tried.
    """
    store = FakeStore()
    old = large(2 * CHUNK_OSDS)
    storage = CampaignStorage(store)
    storage.save(old)
    left = 0

    def fail(key: str) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise CommandError(30, 'read-only')

    for _ in range(6):
        done = data.draw(st.sampled_from([1, CHUNK_OSDS - 1, CHUNK_OSDS, 2 * CHUNK_OSDS]))
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


def test_what_is_left_of_an_older_campaign_is_removed_once_another_is_stored() -> None:
    store = FakeStore()
    storage = CampaignStorage(store)
    storage.save(large(3 * CHUNK_OSDS))
    other = replace(large(CHUNK_OSDS), campaign_id='c2')
    storage.save(other)
    assert sorted(store.values) == [CURRENT, 'campaign/osds/c2/0']
    assert CampaignStorage(store).load() == other


def test_before_it_begins_it_is_tried_at_its_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each chunk once it is finished, and the head while three of them are under way."""
    state = large(4 * CHUNK_OSDS)
    longest = {
        'nonce': 2**32 - 1,
        'begun_before': 10**6,
        'asked': 2,
        'used_before_bytes': 2**62,
        'used_after_bytes': 2**62,
        'latency_ms': 12345.678,
    }

    def at(step: CompactionStep, osds: tuple[OsdCompaction, ...]) -> tuple[OsdCompaction, ...]:
        return tuple(replace(osd, step=step, **longest) for osd in osds)  # type: ignore[arg-type]

    done = replace(state, osds=at(CompactionStep.DONE, state.osds))
    under_way = at(CompactionStep.COMPACTING, state.osds[: 3 * CHUNK_OSDS])
    text = 'x' * 600
    head = replace(
        state,
        osds=(*under_way, *state.osds[3 * CHUNK_OSDS :]),
        paused_reason=text,
        ending=text,
        last_error=text,
    )
    expected = [*(encode_chunk(done, number) for number in range(4)), encode_head(head)]
    tried: list[str] = []

    def keep(document: object, what: str, remedy: str) -> str:
        tried.append(packed(document, what, remedy))
        return tried[-1]

    monkeypatch.setattr('rocksdb_tuner.campaign.codec.packed', keep)
    refuse_if_too_large(state)
    assert tried == expected


def test_what_was_predicted_is_read_back() -> None:
    state = large(1)
    predicted = Predicted('db_used_bytes', -40.0, 0.0)
    asked = replace(state.request, prediction='DB', predicted=predicted)
    state = replace(state, request=asked)
    assert read(encode_head(state), encode_chunk(state, 0)) == state


def test_a_finished_chunk_is_finished_as_a_whole_and_says_what_became_of_each() -> None:
    state = large(2)
    done = replace(state, osds=tuple(map(finished, state.osds)))
    chunk = json.loads(encode_chunk(done, 0))
    half = {**chunk, 'osds': [chunk['osds'][0], {**chunk['osds'][1], 'step': 'settling'}]}
    with pytest.raises(StoredStateError, match='part 0 of its OSDs is not finished'):
        read(encode_head(done), json.dumps(half))
    del chunk['osds'][1]['asked']
    with pytest.raises(StoredStateError, match='asked'):
        read(encode_head(done), json.dumps(chunk))


def test_a_manager_that_takes_over_writes_only_what_changed() -> None:
    store = FakeStore()
    state = large(3 * CHUNK_OSDS)
    CampaignStorage(store).save(state)
    chunks = [f'campaign/osds/c1/{number}' for number in range(3)]
    storage = CampaignStorage(store)
    assert storage.load() == state
    written: list[str] = []
    store.on_set = written.append
    for done, keys in ((1, []), (CHUNK_OSDS, chunks[:1]), (CHUNK_OSDS + 1, [])):
        written.clear()
        state = replace(state, osds=(*map(finished, state.osds[:done]), *state.osds[done:]))
        storage.save(state)
        assert written == [*keys, CURRENT]
    for key in chunks:
        del store.values[key]
    document = json.loads(encode_head(large(1)))
    del document['chunks'], document['finished_chunks']
    osds = [without_domain(asdict(osd)) for osd in state.osds]
    store.values[CURRENT] = json.dumps({**document, 'version': 1, 'osds': osds})
    older = CampaignStorage(store)
    assert older.load() is not None
    written.clear()
    older.save(state)
    assert written == [*chunks, CURRENT]


def test_what_was_set_aside_keeps_its_osds_and_an_older_campaign_that_stays_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = FakeStore()
    storage = CampaignStorage(store)
    storage.save(large(1))
    other = replace(large(1), campaign_id='c2')
    store.values[BROKEN] = '{}'
    storage.save(other)
    assert 'campaign/osds/c1/0' in store.values
    del store.values[BROKEN]
    third = replace(large(1), campaign_id='c3')

    def refuse(key: str) -> None:
        if key == 'campaign/osds/c1/0':
            raise CommandError(30, 'read-only')

    store.on_set = refuse
    storage.save(third)
    assert 'an older campaign is still stored: read-only' in caplog.messages
    assert CampaignStorage(store).load() == third


def test_the_same_campaign_for_somebody_else_is_stored_anew() -> None:
    store = FakeStore()
    storage = CampaignStorage(store)
    state = large(1)
    storage.save(state)
    moved = replace(state.osds[0], host='other')
    places = ((0, moved.place),)
    other = replace(state, osds=(moved,), request=replace(state.request, osds=places))
    storage.save(other)
    assert CampaignStorage(store).load() == other


def test_a_campaign_that_would_outgrow_a_key_is_refused_before_it_begins() -> None:
    osds = tuple(
        (n, on(''.join(map(texts_of_strangers, range(n, n + 900, 100))))) for n in range(CHUNK_OSDS)
    )
    state = planned('c1', CampaignRequest('a', 'osd', 'x', osds, 'op'), 0.0)
    with pytest.raises(RolloutRefused, match='compact a part of the OSDs by hand') as refused:
        refuse_if_too_large(state)
    assert refused.value.errno == errno.E2BIG


def test_a_broken_campaign_is_set_aside_and_told_and_nothing_is_done_from_it() -> None:
    run = Run()
    run.store.values[CURRENT] = '{"version":1,"osds":'
    run.fail_over()
    for _ in range(50):
        run.tick()
    assert run.driver.state is None
    assert run.store.values == {BROKEN: '{"version":1,"osds":'}
    assert 'set aside' in run.driver.problems[0]
    assert run.cluster.compactions.told == []
