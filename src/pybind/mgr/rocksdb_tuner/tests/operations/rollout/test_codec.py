"""Stored states: what is read back is what was written, and nothing else is believed."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from rocksdb_tuner.judge.evidence import Evidence
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
from rocksdb_tuner.operations.phases import TEXT_MAX, Outcome, Phase
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
from rocksdb_tuner.operations.rollout.storage import (
    CURRENT,
    RolloutStorage,
    contradictions,
    record_of,
)
from rocksdb_tuner.plan.records import ChangeKind, ChangeRequest, Purpose
from rocksdb_tuner.store.codec import StoredStateError
from rocksdb_tuner.store.stored import Stored
from rocksdb_tuner.tests.fake_cluster import FakeStore
from rocksdb_tuner.tests.store.as_text import as_text

from .conftest import NEW, OLD


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
        acknowledged=True,
    )


def _mixed(n: int) -> str:
    return base64.b64encode(zlib.crc32(str(n).encode()).to_bytes(4, 'big') * 20).decode()


def decode_state(text: str) -> RolloutState:
    return Stored(FakeStore(), CURRENT, RolloutState, contradictions).decoded(text)


def test_what_was_written_is_read_back() -> None:
    for state in (example(), fullest()):
        store = FakeStore()
        RolloutStorage(store).save_current(state)
        assert RolloutStorage(store).load_current() == state


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
    storage.keep(record_of(state))
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


# -- what a verdict is made of


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
