"""Stored states: what is read back is what was written, and nothing else is believed."""

from __future__ import annotations

import base64
import json
import random
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocksdb_tuner.judge.evidence import Block, Evidence, Measured
from rocksdb_tuner.judge.records import (
    Effect,
    Inconclusive,
    Judgement,
    Predicted,
    SignalVerdict,
    SoakPlan,
    Verdict,
)
from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.operations.history import HistoryRecord
from rocksdb_tuner.operations.phases import TEXT_MAX, Outcome, Phase
from rocksdb_tuner.operations.rollout.history import record_of
from rocksdb_tuner.operations.rollout.records import (
    AskedRestart,
    Before,
    Direction,
    Ending,
    OsdBefore,
    OsdProgress,
    OsdStep,
    RolloutState,
)
from rocksdb_tuner.operations.rollout.storage import CURRENT, RolloutStorage, contradictions
from rocksdb_tuner.plan.records import ANNEX, OPTION, ChangeKind, ChangeRequest, Purpose
from rocksdb_tuner.store.errors import StoredStateError
from rocksdb_tuner.store.stored import Stored
from rocksdb_tuner.tests.fake_cluster import FakeStore
from rocksdb_tuner.tests.store.as_text import as_text

from .conftest import NEW, OLD

TEXTS = st.text(max_size=40)
UUID_HEADS = st.integers(0, 2**24 - 1).map(lambda number: f'{number:06x}')
NONCES = st.none() | st.integers(0, 2**32 - 1)
TIMES = st.floats(0, 4e9)


PERCENT = st.none() | st.floats(-99, 1e6)


def judgements() -> st.SearchStrategy[Judgement]:
    signals = st.builds(SignalVerdict, TEXTS, st.sampled_from(Effect), PERCENT, PERCENT, PERCENT)
    return st.builds(
        Judgement,
        st.sampled_from(Verdict),
        st.lists(signals, max_size=3).map(tuple),
        st.lists(TEXTS, max_size=3).map(tuple),
        st.none() | TEXTS,
    )


JUDGEMENTS = judgements()
PREDICTED = st.builds(Predicted, TEXTS, st.floats(-100, 1e4), st.floats(-100, 1e4))
SOAKS = st.builds(SoakPlan, TIMES, TIMES, st.sampled_from(Inconclusive))


def pieces(order: list[int], cuts: list[int]) -> tuple[tuple[int, ...], ...]:
    """``order``, the first alone, the others split at the given points."""
    at = sorted({0, 1, *(cut for cut in cuts if cut < len(order)), len(order)})
    return tuple(tuple(order[a:b]) for a, b in zip(at, at[1:]))


def domains_of_batch(osds: tuple[int, ...]) -> st.SearchStrategy[Optional[FailureDomain]]:
    bucket = st.builds(FailureDomain, TEXTS.filter(lambda kind: kind != 'osd'), TEXTS)
    return st.just(FailureDomain('osd', f'osd.{osds[0]}')) | st.none() | bucket


ASKED = st.builds(
    AskedRestart,
    osd_id=st.integers(0, 4000),
    executed=st.lists(TEXTS, max_size=5).map(tuple),
    stored_started=st.none() | TEXTS,
    refused=st.booleans(),
)


@st.composite
def states(draw: st.DrawFn) -> RolloutState:
    order = draw(st.lists(st.integers(0, 4000), min_size=1, max_size=6, unique=True))
    ids = draw(st.permutations(order))
    final = draw(st.dictionaries(TEXTS, st.none() | TEXTS, max_size=3))
    outcome = draw(st.none() | st.sampled_from(Outcome))
    ended = draw(st.sampled_from([Phase.DONE, Phase.FAILED, Phase.ROLLED_BACK]))
    running = draw(st.sampled_from([p for p in Phase if p not in {*_ENDS, Phase.WAITING}]))
    batches = draw(st.just(()) | st.lists(st.integers(2, 6)).map(partial(pieces, order)))
    return RolloutState(
        rollout_id=draw(TEXTS),
        request=ChangeRequest(
            recommendation_id=draw(TEXTS),
            kind=draw(st.sampled_from(ChangeKind)),
            who=draw(TEXTS),
            targets=tuple((n, draw(TEXTS)) for n in ids),
            order=tuple(order),
            final_entries=tuple(final.items()),
            actor=draw(TEXTS),
            restart=draw(st.booleans()),
            prediction=draw(st.none() | TEXTS),
            predicted=draw(st.none() | PREDICTED),
            option=draw(st.sampled_from([OPTION, ANNEX]) | TEXTS),
            strings=draw(st.none() | st.tuples(TEXTS, TEXTS)),
            purpose=draw(st.sampled_from(Purpose)),
            promised=draw(st.none() | TEXTS),
            fill_s=draw(st.none() | TIMES),
            controls=tuple(draw(st.permutations(order[1:]))),
            batches=batches,
            domains=draw(st.just(()) | st.tuples(*map(domains_of_batch, batches))),
        ),
        before=Before(
            entries=tuple(draw(st.dictionaries(TEXTS, TEXTS, max_size=3)).items()),
            other_entries=draw(
                st.none()
                | st.dictionaries(TEXTS, TEXTS, max_size=3).map(lambda found: tuple(found.items()))
            ),
            osds=tuple(
                OsdBefore(
                    n,
                    draw(TEXTS),
                    draw(TEXTS),
                    draw(st.none() | TEXTS),
                    draw(st.none() | UUID_HEADS),
                    draw(st.none() | TEXTS),
                    draw(st.none() | TEXTS),
                )
                for n in ids
            ),
        ),
        osds=tuple(
            OsdProgress(
                n,
                draw(st.sampled_from(OsdStep)),
                draw(NONCES),
                draw(NONCES),
                draw(st.integers(0, 5)),
                draw(st.integers(0, 5)),
                draw(st.booleans()),
                draw(st.booleans()),
                draw(st.none() | TEXTS),
            )
            for n in order
        ),
        started_s=draw(TIMES),
        updated_s=draw(TIMES),
        stage=running if outcome is None else ended,
        direction=draw(st.sampled_from(Direction)),
        paused_reason=draw(st.none() | TEXTS),
        paused_by=draw(st.none() | TEXTS),
        ending=Ending(draw(st.sampled_from(Outcome)), draw(TEXTS)),
        shared_touched=draw(st.booleans()),
        restoring=tuple(f'osd.{n}' for n in order[: draw(st.integers(0, 6))]),
        entries_done=draw(st.integers(0, 9)),
        errors=draw(st.integers(0, 9)),
        last_error=draw(st.none() | TEXTS),
        pending_conflict=draw(st.none() | TEXTS),
        asked=draw(st.none() | ASKED),
        longest_boot_s=draw(TIMES),
        own_entries_stay=draw(st.none() | TEXTS),
        soak=replace(draw(SOAKS), batches=draw(st.none() | SOAKS)),
        soaked_s=draw(TIMES),
        batch_soaked_s=draw(TIMES),
        judgement=draw(st.none() | judgements()),
        verdicts=tuple(draw(st.lists(st.sampled_from(Verdict), max_size=1))),
        batch_judgement=draw(st.none() | judgements()),
        outcome=outcome,
        failure=draw(st.none() | TEXTS),
    )


_ENDS = (Phase.DONE, Phase.FAILED, Phase.ROLLED_BACK)


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


def fullest() -> RolloutState:
    """A text in which no default is implied."""
    lower = Judgement(
        Verdict.INCONCLUSIVE,
        (
            SignalVerdict('op_w_latency_ms', Effect.UNCLEAR, -3.5, -20.25, 13.0),
            SignalVerdict('slow_ops', Effect.SAME),
        ),
        missing=('2 OSDs to compare with',),
        cause='not judged',
    )
    return RolloutState(
        rollout_id='r12',
        request=ChangeRequest(
            recommendation_id='ssd-lz4',
            kind=ChangeKind.REMOVE_OVERRIDE,
            who='osd/class:ssd',
            targets=((3, 'a=1'), (5, 'a=2'), (4, 'a=1')),
            order=(5, 3, 4),
            final_entries=(('osd', None), ('osd.3', 'a=1')),
            actor='client.ann',
            restart=False,
            controls=(4,),
            batches=((5,), (3, 4)),
            domains=(FailureDomain('osd', 'osd.5'), FailureDomain('rack', 'r1')),
            prediction='{}',
            predicted=Predicted('IOPS', -1.5, 25.0),
            purpose=Purpose.GAIN,
            promised='db_bytes_per_txn',
            fill_s=150.0,
            strings=('a=9', 'a=2'),
        ),
        before=Before(
            entries=(('osd', 'a=0'), ('global', 'a=2')),
            other_entries=(('global', 'a=0'),),
            osds=(
                OsdBefore(4, 'a=0', 'mon', 'reef', '00000f', 'ssd', 'bluestore'),
                OsdBefore(5, 'a=9', 'default', None),
                OsdBefore(3, 'a=0', 'mon', 'pacific', 'ffffff', None, 'bluestore'),
            ),
        ),
        osds=(
            OsdProgress(5, OsdStep.VERIFIED, 1, 4294967295, 2, 1),
            OsdProgress(3, OsdStep.RESTORING, 3, None, 0, 0, restart_needed=True, doubtful=True),
            OsdProgress(4, OsdStep.LEFT_BEHIND, left_reason='osd.4 is down and out'),
        ),
        started_s=1000.5,
        updated_s=2000.25,
        stage=Phase.PROMOTING,
        direction=Direction.RECOVER,
        paused_reason='osd.3 is down',
        paused_by='client.bob',
        ending=Ending(Outcome.FAILED, 'it failed'),
        shared_touched=True,
        restoring=('osd', 'osd.3', 'osd.4', 'osd.5'),
        entries_done=1,
        longest_boot_s=41.5,
        errors=3,
        last_error='EIO',
        asked=AskedRestart(3, ('t1', 't2'), 't0', refused=True),
        pending_conflict='somebody else',
        own_entries_stay='osd.9 joined',
        soak=SoakPlan(
            300.0,
            600.0,
            Inconclusive.PROMOTE,
            SoakPlan(60.0, 120.0, Inconclusive.ROLLBACK),
        ),
        soaked_s=310.0,
        batch_soaked_s=20.0,
        judgement=Judgement(
            Verdict.BETTER,
            (SignalVerdict('db_bytes_per_txn', Effect.BETTER, -30.0, -33.0, -27.0),),
        ),
        batch_judgement=lower,
        verdicts=(Verdict.BETTER, Verdict.INCONCLUSIVE),
        outcome=None,
        failure='the verdict was given',
    )


def _mixed(n: int) -> str:
    return base64.b64encode(zlib.crc32(str(n).encode()).to_bytes(4, 'big') * 20).decode()


def decode_state(text: str) -> RolloutState:
    return Stored(FakeStore(), CURRENT, RolloutState, contradictions).decoded(text)


@settings(max_examples=30, deadline=None)
@given(states())
def test_what_was_written_is_read_back(state: RolloutState) -> None:
    store = FakeStore()
    RolloutStorage(store).save_current(state)
    assert RolloutStorage(store).load_current() == state


def test_derived_evidence_is_not_stored() -> None:
    """A manager that takes over reads it there too."""
    assert decode_state(as_text(replace(example(), baseline_s=7.0))) == example()


def test_text_with_a_lone_surrogate_is_written_without_an_error() -> None:
    """Some error text of another program; a surrogate cannot be stored as UTF-8."""
    state = replace(example(), last_error='\ud800 broken')
    assert decode_state(as_text(state)) == state


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
    storage.save_current(state)
    storage.archive(state)
    storage.save_record(record_of(state))
    assert RolloutStorage(store).load_current() == state
    assert RolloutStorage(store).archived(state.rollout_id) == state


def test_step_of_ten_thousand_osds_writes_the_head_and_a_chunk() -> None:
    """The head stays small in any state of the OSDs."""
    store, state = FakeStore(), example(10_000)
    storage = RolloutStorage(store)
    storage.save_current(state)
    sizes: list[int] = []
    store.on_set = sizes.append  # type: ignore[assignment]
    for n in range(100):
        osds = list(state.osds)
        for step in (OsdStep.SETTING, OsdStep.RESTARTING, OsdStep.VERIFIED):
            osds[n] = replace(osds[n], step=step, nonce_before=2**31 + n)
            state = replace(state, osds=tuple(osds))
            storage.save_current(state)
            assert len(store.values[CURRENT].encode()) < 10_000
    # The head, a chunk, and the one that it replaces.
    assert len(sizes) == 300 * 3
    assert RolloutStorage(store).load_current() == state


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


def test_rollout_without_osds_is_invalid() -> None:
    """There is nothing to do in it."""
    empty = replace(
        example(),
        request=replace(example().request, targets=(), order=()),
        before=Before((), ()),
        osds=(),
    )
    with pytest.raises(StoredStateError, match='is empty'):
        decode_state(as_text(empty))


def test_missing_name_is_named() -> None:
    good = as_text(example())
    for path in _paths(json.loads(good)['record']):
        document = json.loads(good)
        part = document['record']
        *above, name = path.split('.')
        for step in above:
            part = part[step]
        del part[name]
        missing = f'({re.escape(path)}|"{name})" is missing'
        with pytest.raises(StoredStateError, match=missing):
            decode_state(json.dumps(document))


def _paths(document: dict[str, Any]) -> Iterator[str]:
    for name, value in document.items():
        yield name
        if isinstance(value, dict):
            yield from (f'{name}.{inner}' for inner in _paths(value))


def test_any_damage_is_detected_or_harmless() -> None:
    """Twenty characters anywhere replaced by any others."""
    drawn = random.Random(4)
    text = as_text(example())
    for _ in range(400):
        start = drawn.randrange(len(text))
        end = min(len(text), start + drawn.randrange(20))
        junk = ''.join(drawn.choice('0123456789"{}[],:xn-.') for _ in range(drawn.randrange(8)))
        with suppress(StoredStateError):
            assert decode_state(text[:start] + junk + text[end:]).request.order


# -- what a verdict is made of

_FIGURES = st.none() | st.floats(1e-6, 1e12).map(lambda value: float(f'{value:.5g}'))


@given(
    st.lists(st.integers(0, 4000), min_size=1, max_size=9, unique=True),
    st.integers(0, 4),
    st.integers(1, 9),
    st.data(),
)
def test_evidence_that_was_written_is_read_back(
    osds: list[int], count: int, changed: int, data: st.DataObject
) -> None:
    def blocks() -> tuple[Block, ...]:
        return tuple(
            Block({n: Measured(*(data.draw(_FIGURES) for _ in Measured._fields)) for n in osds})
            for _ in range(count)
        )

    written = Evidence(
        'r7', count, tuple(osds[:changed]), tuple(osds[changed:]), 30.0, blocks(), blocks()
    )
    store = FakeStore()
    RolloutStorage(store).save_evidence((written,))
    assert RolloutStorage(store).load_evidence() == (written,)


@pytest.mark.parametrize(
    ('name', 'value', 'message'),
    [
        ('controls', [0], 'name an OSD twice'),
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


# -- history


@given(
    st.builds(
        HistoryRecord,
        rollout_id=TEXTS,
        time_s=TIMES,
        recommendation_id=TEXTS,
        who=TEXTS,
        options_from=TEXTS,
        options_to=TEXTS,
        actor=TEXTS,
        outcome=st.sampled_from(Outcome),
        reason=st.none() | TEXTS,
        prediction=st.none() | TEXTS,
        measured=st.none() | TEXTS,
        predicted=st.none() | PREDICTED,
        judgement=st.none() | JUDGEMENTS,
        option=st.sampled_from([OPTION, ANNEX]),
    )
)
def test_a_history_record_is_read_back_as_it_was_written(record: HistoryRecord) -> None:
    store = FakeStore()
    RolloutStorage(store).save_record(record)
    assert RolloutStorage(store).load_history() == (record,)


def test_history_record_has_the_change_of_the_first_osd() -> None:
    record = record_of(example())
    assert (record.options_from, record.options_to) == (OLD, NEW)
    assert record.outcome is Outcome.WAITING
    assert record.measured is None
    state = fullest()
    record = record_of(replace(state, stage=Phase.FAILED, outcome=Outcome.FAILED))
    # Of the canary, which is osd.5.
    assert (record.options_from, record.options_to) == ('a=9', 'a=2')
    assert (record.outcome, record.reason) == (Outcome.FAILED, 'the verdict was given')
    assert (record.measured or '').startswith('better')
    assert (record.predicted, record.judgement) == (state.request.predicted, state.judgement)
    assert (record.rollout_id, record.time_s, record.actor) == ('r12', 1000.5, 'client.ann')
