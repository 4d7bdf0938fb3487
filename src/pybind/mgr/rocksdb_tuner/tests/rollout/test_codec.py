"""Stored states: what is read back is what was written, and nothing else is believed."""

from __future__ import annotations

import base64
import errno
import json
import random
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocksdb_tuner.judge.evidence import Block, Evidence, Measured
from rocksdb_tuner.judge.records import (
    Effect,
    Inconclusive,
    Judgement,
    NoBenefit,
    Predicted,
    SignalVerdict,
    SoakPlan,
    Verdict,
)
from rocksdb_tuner.judge.signals import limits
from rocksdb_tuner.mgr.records import FailureDomain
from rocksdb_tuner.plan.batches import planned_batches
from rocksdb_tuner.plan.records import ANNEX, OPTION, ChangeKind, ChangeRequest, Purpose
from rocksdb_tuner.rollout import codec
from rocksdb_tuner.rollout.batches import watched_batch
from rocksdb_tuner.rollout.codec import decode_state, encode_state, refuse_if_too_large
from rocksdb_tuner.rollout.errors import RolloutRefused, StoredStateError
from rocksdb_tuner.rollout.history import HistoryRecord, record_of
from rocksdb_tuner.rollout.record_codec import (
    decode_evidence,
    decode_record,
    encode_evidence,
    encode_record,
)
from rocksdb_tuner.rollout.records import (
    AskedRestart,
    Before,
    Direction,
    Ending,
    OsdBefore,
    OsdProgress,
    OsdStep,
    Outcome,
    Phase,
    RolloutState,
)
from rocksdb_tuner.rollout.states import TEXT_MAX
from rocksdb_tuner.rollout.stored import LIMIT_BYTES

from .conftest import NEW, OLD

DATA = Path(__file__).parent / 'data'

TEXTS = st.text(max_size=40)
#: A state without them is one of an older version.
ADDED_LATER = {'version', 'asked', 'longest_boot_s', 'own_entries_stay'}
PARTS_ADDED_LATER = {
    'request': {'purpose', 'promised', 'fill_s'},
    'soak': {'no_benefit', 'better'},
}
COLUMNS_ADDED_LATER = {'before_uuid', 'before_class', 'before_objectstore', 'left_reason'}
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
FOLLOWS = st.sampled_from(NoBenefit)


def pieces(order: list[int], cuts: list[int]) -> tuple[tuple[int, ...], ...]:
    """``order``, the first alone, the others cut where it is said."""
    at = sorted({0, 1, *(cut for cut in cuts if cut < len(order)), len(order)})
    return tuple(tuple(order[a:b]) for a, b in zip(at, at[1:]))


def domains_of_batch(osds: tuple[int, ...]) -> st.SearchStrategy[Optional[FailureDomain]]:
    bucket = st.builds(FailureDomain, TEXTS.filter(lambda kind: kind != 'osd'), TEXTS)
    return st.just(FailureDomain('osd', f'osd.{osds[0]}')) | st.none() | bucket


ASKED = st.builds(
    AskedRestart,
    osd_id=st.integers(0, 4000),
    carried_out=st.lists(TEXTS, max_size=5).map(tuple),
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
        suspicion=draw(st.none() | TEXTS),
        asked=draw(st.none() | ASKED),
        longest_boot_s=draw(TIMES),
        own_entries_stay=draw(st.none() | TEXTS),
        soak=replace(draw(SOAKS), batches=draw(st.none() | SOAKS), no_benefit=draw(FOLLOWS)),
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
    """One in which nothing is as it is without being said."""
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
        suspicion='somebody else',
        own_entries_stay='osd.9 joined',
        soak=SoakPlan(
            300.0,
            600.0,
            Inconclusive.PROMOTE,
            SoakPlan(60.0, 120.0, Inconclusive.ROLLBACK),
            NoBenefit.WAIT,
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


@settings(max_examples=100, deadline=None)
@given(states())
def test_what_was_written_is_read_back(state: RolloutState) -> None:
    assert decode_state(encode_state(state)) == state


def test_the_format_of_today_is_the_one_that_other_managers_read() -> None:
    """Whoever changes it raises its version, and reads this one all the same."""
    golden = (DATA / 'state-version-3.json').read_text()
    assert json.loads(encode_state(fullest())) == json.loads(golden)
    assert decode_state(golden) == fullest()


@pytest.mark.parametrize(
    ('effect', 'canary'), [('better', Verdict.BETTER), ('same', Verdict.NO_WORSE)]
)
def test_a_state_of_before_gains_were_promised_goes_on_as_it_was_begun(
    effect: str, canary: Verdict
) -> None:
    """What nothing got worse of is followed by the others, and that is all that was asked of it."""
    document = json.loads((DATA / 'state-version-3-of-before-purposes.json').read_text())
    document['soak']['judgement']['signals'][0].update(name='op_w_latency_ms', effect=effect)
    state = decode_state(json.dumps(document))
    request = state.request
    assert (request.purpose, request.promised, request.fill_s) == (Purpose.SAFETY, None, None)
    assert state.soak.no_benefit is NoBenefit.PROMOTE
    assert state.verdict is canary
    assert state.verdicts == (Verdict.NO_WORSE, Verdict.INCONCLUSIVE)
    assert decode_state(encode_state(state)) == state


def test_older_managers_read_a_verdict_in_the_words_that_they_know() -> None:
    document = json.loads(encode_state(fullest()))
    assert document['soak']['verdicts'] == ['pass', 'inconclusive']
    assert document['soak']['judgement']['verdict'] == 'pass'
    worse = replace(fullest(), judgement=Judgement(Verdict.WORSE))
    assert json.loads(encode_state(worse))['soak']['judgement']['verdict'] == 'fail'


def test_a_state_of_before_requests_were_remembered_is_read() -> None:
    document = json.loads(encode_state(example()))
    del document['asked'], document['longest_boot_s']
    assert decode_state(json.dumps(document)) == example()


def test_a_text_with_half_a_character_is_written_without_an_error() -> None:
    """Some error text of another program; a surrogate cannot be stored as UTF-8."""
    state = replace(example(), last_error='\ud800 broken')
    assert 'broken' in (decode_state(encode_state(state)).last_error or '')


@pytest.mark.parametrize('osds', [100, 1000, 1500])
def test_a_rollout_of_very_many_osds_fits_under_one_key_to_its_end(osds: int) -> None:
    state = example(osds)
    refuse_if_too_large(state)
    # What it looks like at its largest: every process known, every text at its longest.
    text = '\U0001f4a9' * TEXT_MAX
    full = replace(
        state,
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
        suspicion=text,
        failure=text,
        restoring=tuple(f'osd.{o.osd_id}' for o in state.osds),
    )
    stored = encode_state(full)
    assert len(stored.encode()) <= LIMIT_BYTES
    assert decode_state(stored) == full


def test_room_is_kept_for_all_that_a_rollout_comes_to(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(codec, 'refuse_above', lambda size, _: sizes.append(size))
    state = replace(example(30), soak=SoakPlan(300.0, 600.0))
    refuse_if_too_large(state)
    osds = tuple(
        replace(osd, step=OsdStep.SETTLING, nonce_before=10**8 + n, nonce_after=9 * 10**8 - n)
        for n, osd in enumerate(state.osds)
    )
    restoring = ('osd/class:ssd', *(f'osd.{osd.osd_id}' for osd in osds))
    verdicts = (Verdict.INCONCLUSIVE,) * 30
    full = replace(state, osds=osds, restoring=restoring, verdicts=verdicts)
    judged = Judgement(
        Verdict.INCONCLUSIVE,
        tuple(SignalVerdict('n' * 30, Effect.UNCLEAR, -99.123, -99.123, 99.123) for _ in range(9)),
        missing=('m' * 60,) * 9,
    )
    text = '\U0001f4a9' * TEXT_MAX
    said = replace(
        full,
        paused_reason=text,
        last_error=text,
        suspicion=text,
        failure=text,
        own_entries_stay=text,
        ending=Ending(Outcome.FAILED, text),
        judgement=judged,
        batch_judgement=judged,
    )
    assert sizes[0] >= len(encode_state(said).encode())
    # For the texts and judgements that is, beside all else; and no more than that: a rollout of
    # many OSDs is not refused for nothing.
    left = sizes[0] - len(encode_state(full).encode())
    assert 4 * 3600 + 2 * 4096 <= left < 4 * 3600 + 2 * 4096 + 80


def test_a_rollout_that_could_outgrow_its_key_is_refused_before_it_starts() -> None:
    with pytest.raises(RolloutRefused, match='change a part of them by hand first') as refused:
        refuse_if_too_large(example(2000, same=False))
    assert refused.value.errno == errno.E2BIG


def test_a_state_that_nearly_fills_its_key_is_refused_for_what_may_come() -> None:
    state = example()
    long = replace(state, request=replace(state.request, prediction=_noise(60000)))
    assert len(encode_state(long)) <= LIMIT_BYTES
    with pytest.raises(RolloutRefused, match='a rollout of 3 OSDs takes'):
        refuse_if_too_large(long)


def _noise(size: int) -> str:
    blocks = (base64.b64encode(zlib.crc32(b'%d' % n).to_bytes(4, 'big')) for n in range(size // 6))
    return b''.join(block[:6] for block in blocks).decode()


# -- what is not believed


def broken_texts() -> Iterator[tuple[str, str]]:
    good = encode_state(example())
    large = encode_state(example(1000))
    assert large.startswith('zlib:')
    yield '', 'not JSON'
    yield good[: len(good) // 2], 'not JSON'
    yield 'null', 'not a JSON object'
    yield '[1]', 'not a JSON object'
    yield '{}', 'version null'
    yield good.replace('"version":3', '"version":5'), 'version 5 of the format'
    yield good.replace('"version":3', '"version":true'), 'version true of the format'
    yield '[' * 100000, 'not JSON'
    yield large[: len(large) // 2], 'compressed text is'
    yield 'zlib:!!!', 'compressed text is damaged'
    yield 'zlib:' + base64.b64encode(b'no').decode(), 'compressed text is damaged'
    yield 'zlib:' + _zipped(b'\xff\xfe'), 'compressed text is damaged'
    yield 'zlib:' + _zipped(b' ' * (17 << 20)), 'cut off or too long'


def _zipped(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw)).decode()


@pytest.mark.parametrize(('text', 'says'), list(broken_texts()))
def test_a_broken_text_is_an_error_that_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(StoredStateError, match=says):
        decode_state(text)


WRONG: list[tuple[str, object, str]] = [
    ('id', 7, '"id" is 7 instead of a text'),
    ('started_s', 'soon', '"started_s" is "soon" instead of a number'),
    ('started_s', True, '"started_s" is true instead of a number'),
    ('started_s', float('inf'), '"started_s" is Infinity instead of a number'),
    ('started_s', 10**400, 'instead of a number'),
    ('stage', 'ready', '"stage" is "ready" instead of one of planned,'),
    ('stage', 'waiting', 'no stage to go on with'),
    ('stage', 'done', '"outcome" and "stage" contradict each other'),
    ('outcome', 'done', '"outcome" and "stage" contradict each other'),
    ('direction', 'recover', '"ending" is missing'),
    ('ending', ['failed'], '"ending" is'),
    ('ending', ['sunk', 'x'], 'instead of one of done'),
    ('ending', ['failed', 1], 'instead of a text'),
    ('ending', {}, 'instead of a list'),
    ('shared_touched', 1, 'instead of true or false'),
    ('entries_done', -1, 'instead of a number from 0 up'),
    ('entries_done', 1.5, 'instead of a number from 0 up'),
    ('errors', True, 'instead of a number from 0 up'),
    ('restoring', ['osd.99'], 'an entry outside the request'),
    ('restoring', 'osd.1', 'instead of a list'),
    ('request', [], '"request" is \\[\\] instead of an object'),
    ('request.kind', 'compact', 'instead of one of set-profile'),
    ('request.target_order', [0, 1], 'does not hold the OSDs of the rollout'),
    ('request.final', [['osd']], 'instead of a name and a value'),
    ('request.final', [['osd', 99]], 'stored texts'),
    ('request.final', ['osd'], 'instead of a list'),
    ('request.restart', None, 'instead of true or false'),
    ('before.entries', [['osd', None]], 'instead of a number from 0 up'),
    ('before.osd_order', [0, 1, 1], 'does not hold the OSDs of the rollout'),
    ('osds.id', [0, 1, 1], 'values for 3 OSDs|twice|does not hold'),
    ('osds.step', ['pending'] * 3, '"osds.step\\[0\\]" is "pending" instead of a number'),
    ('osds.step', [0, 0, 0], 'instead of one of pending'),
    ('osds.nonce_before', [None], '"osds.nonce_before" has 1 values for 3 OSDs'),
    ('osds.flaps', [None] * 3, 'instead of a number from 0 up'),
    ('soak.inconclusive', 'hope', 'instead of one of wait, promote, rollback'),
    ('soak.controls', [0, 1], 'names the canary'),
    ('soak.controls', [1, 7], 'an OSD outside the request'),
    ('soak.verdicts', ['good'], 'instead of one of'),
    ('soak.better', ['0'], 'instead of a number from 0 up'),
    ('soak.no_benefit', 'hope', 'instead of one of auto, wait, promote, rollback'),
    ('request.purpose', 'fun', 'instead of one of gain, safety'),
    ('request.promised', 3, 'instead of a text'),
    ('request.fill_s', 'long', 'instead of a number'),
    ('soak.verdicts', ['pass'] * 4, 'more than there are batches'),
    ('request.batches', [1, 1], 'does not hold the OSDs'),
    ('request.batches', [1, 0, 2], 'does not hold the OSDs'),
    ('request.domains', {}, 'instead of a list'),
    ('request.domains', [None], '"request.domains" are not as many as there are batches'),
    ('soak.batches', 3, 'instead of an object'),
    ('soak.judgement', 'pass', '"soak.judgement" is "pass" instead of an object'),
    ('soak.judgement', {'verdict': 'maybe'}, 'instead of one of pass'),
    (
        'osds.before_uuid',
        [0, 1 << 24, 0],
        r'before_uuid\[1\]" is 16777216 instead of a number of 24',
    ),
    ('osds.before_uuid', [-1, None, 0], 'instead of a number from 0 up'),
    ('asked', {'osd_id': 1}, '"asked.carried_out" is missing'),
]


@pytest.mark.parametrize(('path', 'value', 'says'), WRONG)
def test_a_wrong_value_is_named_with_what_would_be_right(
    path: str, value: object, says: str
) -> None:
    document: dict[str, Any] = json.loads(encode_state(example()))
    part = document
    *above, name = path.split('.')
    for step in above:
        part = part[step]
    part[name] = value
    with pytest.raises(StoredStateError, match=says):
        decode_state(json.dumps(document))


def changed(document: dict[str, Any], **parts: object) -> RolloutState:
    """What is read where that is changed of it; "a__b" is the b of a."""
    for path, value in parts.items():
        part = document
        *above, name = path.split('__')
        for step in above:
            part = part[step]
        part[name] = value
    return decode_state(json.dumps(document))


def test_what_is_unlikely_but_no_contradiction_is_read() -> None:
    def document() -> dict[str, Any]:
        return json.loads(encode_state(example()))  # type: ignore[no-any-return]

    assert [
        osd.uuid_head
        for osd in changed(document(), osds__before_uuid=[(1 << 24) - 1, 0, None]).before.osds
    ] == ['ffffff', '000000', None]
    ended = changed(document(), direction='recover', stage='failed', outcome='failed')
    assert (ended.direction, ended.ending) == (Direction.RECOVER, None)
    recovers = changed(document(), direction='recover', ending=['failed', 'it failed'])
    assert recovers.ending == Ending(Outcome.FAILED, 'it failed')
    every = ['osd/class:ssd', 'osd.0', 'osd.1', 'osd.2']
    assert changed(document(), restoring=every).restoring == tuple(every)
    assert len(changed(document(), soak__verdicts=['pass'] * 3).verdicts) == 3
    ids = [0, 1, 1]
    with pytest.raises(StoredStateError, match='names an OSD twice'):
        changed(document(), osds__id=ids, request__target_order=ids, before__osd_order=ids)


def test_a_rollout_without_osds_is_no_rollout() -> None:
    empty = replace(
        example(),
        request=replace(example().request, targets=(), order=()),
        before=Before((), ()),
        osds=(),
    )
    with pytest.raises(StoredStateError, match='is empty'):
        decode_state(encode_state(empty))


@pytest.mark.parametrize(
    'path',
    [
        *(f'{name}' for name in json.loads(encode_state(example())) if name not in ADDED_LATER),
        *(
            f'request.{name}'
            for name in json.loads(encode_state(example()))['request']
            # Added later: a state without it is one of an older version.
            if name not in {'predicted', 'domains', 'strings', *PARTS_ADDED_LATER['request']}
        ),
        *(
            f'osds.{name}'
            for name in json.loads(encode_state(example()))['osds']
            if name not in COLUMNS_ADDED_LATER
        ),
        *(
            f'soak.{name}'
            for name in json.loads(encode_state(example()))['soak']
            if name not in PARTS_ADDED_LATER['soak']
        ),
    ],
)
def test_a_missing_name_is_named(path: str) -> None:
    document = json.loads(encode_state(example()))
    part = document
    *above, name = path.split('.')
    for step in above:
        part = part[step]
    del part[name]
    with pytest.raises(StoredStateError, match=f'"{path}" is missing'):
        decode_state(json.dumps(document))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_damage_is_found_or_harmless_and_never_another_error(data: st.DataObject) -> None:
    text = encode_state(example())
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    damaged = text[:start] + data.draw(st.text(max_size=8)) + text[end:]
    with suppress(StoredStateError):
        assert decode_state(damaged).request.order


def test_a_rollout_of_version_1_goes_on_without_a_soak() -> None:
    """Written by the module before it could judge, after its first OSD."""
    state = decode_state((DATA / 'state-version-1.json').read_text())
    assert state.soak == SoakPlan()
    assert (state.controls, state.judgement, state.verdicts) == ((), None, ())
    assert [osd.step for osd in state.osds] == [
        OsdStep.VERIFIED,
        OsdStep.RESTARTING,
        OsdStep.PENDING,
    ]
    assert decode_state(encode_state(state)) == state
    assert watched_batch(state) is None


@pytest.mark.parametrize('verdict', [None, Verdict.WORSE])
def test_what_older_versions_found_is_not_lost(verdict: Optional[Verdict]) -> None:
    first = json.loads((DATA / 'state-version-1.json').read_text())
    given = None if verdict is None else verdict.pass_or_fail
    judgement = None if verdict is None else Judgement(verdict)
    assert changed(first, verdict=given).judgement == judgement
    second = json.loads((DATA / 'state-version-2-promoting.json').read_text())
    found: dict[str, object] = {'verdict': given, 'signals': [], 'missing': [], 'cause': None}
    state = changed(second, soak__judgement=None if verdict is None else found)
    assert (state.judgement, state.verdicts) == (judgement, (verdict or Verdict.NO_DATA,))


@pytest.mark.parametrize(
    ('name', 'verdicts', 'batch'),
    [('soaking', (), 0), ('promoting', (Verdict.NO_WORSE,), None)],
)
def test_a_rollout_of_version_2_goes_on_osd_by_osd_and_judges_the_canary_alone(
    name: str, verdicts: tuple[Verdict, ...], batch: Optional[int]
) -> None:
    """Written by the module before it had batches, of four OSDs."""
    state = decode_state((DATA / f'state-version-2-{name}.json').read_text())
    assert state.verdicts == verdicts
    assert (state.controls, state.soak) == (
        (1, 2, 3),
        SoakPlan(300.0, 600.0, no_benefit=NoBenefit.PROMOTE),
    )
    assert [b.osds for b in planned_batches(state.request, state.soak)] == [(0,), (1,), (2,), (3,)]
    watched = watched_batch(state)
    assert batch == (None if watched is None else watched.number)
    assert decode_state(encode_state(state)) == state


@pytest.mark.parametrize('written', [None, []])
def test_a_rollout_of_a_version_that_took_hosts_for_failure_domains_is_read_without_them(
    written: object,
) -> None:
    state = in_racks()
    document = json.loads(encode_state(state))
    document['request']['domains'] = written
    without = replace(state, request=replace(state.request, domains=()))
    assert decode_state(json.dumps(document)) == without
    del document['request']['domains']
    assert decode_state(json.dumps(document)) == without


@pytest.mark.parametrize(
    ('written', 'says'),
    [
        ([None, 3, None], 'instead of a list'),
        ([None, [0], None], '"request.domains.1." is .* instead of a type and a name'),
        ([None, [0, 999], None], 'instead of one of'),
        ([None, [None, 0], None], 'instead of a number'),
    ],
)
def test_a_failure_domain_that_is_none_is_named(written: object, says: str) -> None:
    document = json.loads(encode_state(in_racks()))
    document['request']['domains'] = written
    with pytest.raises(StoredStateError, match=says):
        decode_state(json.dumps(document))


def in_racks() -> RolloutState:
    state = example()
    racks = tuple(FailureDomain('rack', name) for name in ('r1', 'r1', 'r2'))
    request = replace(state.request, batches=((0,), (1,), (2,)), domains=racks)
    return replace(state, request=request)


def test_evidence_of_version_2_is_that_of_a_canary() -> None:
    evidence = decode_evidence((DATA / 'evidence-version-2.json').read_text())
    assert (evidence.batch, evidence.changed, evidence.controls) == (0, (0,), (1, 2, 3))
    assert len(evidence.before) >= limits().least_blocks
    assert decode_evidence(encode_evidence(evidence)) == evidence


@pytest.mark.parametrize(('version', 'outcome'), [(1, Outcome.WAITING), (2, Outcome.DONE)])
def test_a_history_record_of_an_older_version_is_read(version: int, outcome: Outcome) -> None:
    record = decode_record((DATA / f'record-version-{version}.json').read_text())
    assert (record.rollout_id, record.outcome) == ('r1', outcome)
    assert decode_record(encode_record(record)) == record


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
    assert decode_evidence(encode_evidence(written)) == written


def test_the_most_evidence_fits_under_one_key() -> None:
    most = limits()
    drawn = random.Random(1)
    osds = range(most.most_controls + 1)
    blocks = tuple(
        Block(
            {
                n: Measured(*(drawn.uniform(1, 1e11) for _ in range(6)))._replace(
                    flushed=drawn.choice((0, 1))
                )
                for n in osds
            }
        )
        for _ in range(int(most.most_blocks))
    )
    text = encode_evidence(Evidence('r7', 0, (0,), tuple(osds[1:]), 30.0, blocks, blocks))
    assert len(text.encode()) <= LIMIT_BYTES


def test_evidence_of_a_version_that_measured_less_is_read_with_the_rest_unknown() -> None:
    block = Block({0: Measured(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), 1: Measured(2.0)})
    document = json.loads(encode_evidence(Evidence('r7', 0, (0,), (1,), 30.0, (block,))))
    document['signals'] = document['signals'][:4]
    document['before'] = [[1.0, 2.0, 3.0, 4.0, 2.0, None, None, None]]
    (read,) = decode_evidence(json.dumps(document)).before
    assert read.of(0) == Measured(1.0, 2.0, 3.0, 4.0)
    assert read.of(1) == Measured(2.0)


@pytest.mark.parametrize(
    ('name', 'value', 'says'),
    [
        ('osds', [], 'is empty'),
        ('osds', [1, 1], 'names an OSD twice'),
        ('signals', ['weather'], 'not those that this module measures'),
        ('batch', -1, '"batch" is -1 instead of a number from 0 up'),
        ('changed', 3, '"changed" are more'),
        ('block_s', None, '"block_s" is null instead of a number'),
        ('before', [[1.0]], '"before\\[0\\]" is \\[1.0\\] instead of 7 values for each of 2'),
        ('after', [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 'x', *[None] * 7]], '"x" instead of a number'),
    ],
)
def test_wrong_evidence_is_named(name: str, value: object, says: str) -> None:
    document = json.loads(encode_evidence(Evidence('r7', 0, (0,), (1,), 30.0)))
    with pytest.raises(StoredStateError, match=says):
        decode_evidence(json.dumps({**document, name: value}))


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
    assert decode_record(encode_record(record)) == record


def test_a_history_record_tells_the_change_of_the_first_osd() -> None:
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


def test_a_record_without_numbers_of_an_older_version_is_read() -> None:
    document = json.loads(encode_record(record_of(example())))
    del document['predicted'], document['judgement']
    read = decode_record(json.dumps(document))
    assert (read.predicted, read.judgement) == (None, None)
    assert read.prediction == record_of(example()).prediction


def test_a_prediction_that_is_no_number_is_named() -> None:
    document = json.loads(encode_record(record_of(example())))
    document['predicted'] = {'metric': 'IOPS', 'low_percent': 'some', 'high_percent': 3.0}
    with pytest.raises(StoredStateError, match=r'"predicted\.low_percent" is "some"'):
        decode_record(json.dumps(document))


@pytest.mark.parametrize('text', ['', '{"version":1}', '[]', '{"version":1,"id":3}'])
def test_a_broken_history_record_is_an_error(text: str) -> None:
    with pytest.raises(StoredStateError):
        decode_record(text)
