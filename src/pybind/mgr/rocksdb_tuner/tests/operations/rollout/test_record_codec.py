"""The records stored with a rollout: the clock, restarts, evidence and history records."""

from __future__ import annotations

import json
from typing import Callable, Optional

import pytest

from rocksdb_tuner.judge.evidence import Block, Evidence, Measured
from rocksdb_tuner.operations.rollout import record_codec
from rocksdb_tuner.operations.rollout.history import record_of
from rocksdb_tuner.operations.rollout.record_codec import (
    decode_clock,
    decode_evidence,
    decode_record,
    decode_restarts,
    decode_state_of_record,
    encode_clock,
    encode_evidence,
    encode_record,
    encode_restarts,
)
from rocksdb_tuner.operations.rollout.restart_log import Restart, RestartLog
from rocksdb_tuner.operations.stopwatch import ClockState
from rocksdb_tuner.store.errors import StoredStateError

from .test_codec import example


def reported(work: Callable[[], object]) -> Optional[str]:
    """Its error; None: nothing."""
    try:
        work()
    except StoredStateError as error:
        return str(error)
    return None


def test_record_has_the_state_if_there_is_space(monkeypatch: pytest.MonkeyPatch) -> None:
    """History alone suffices to roll back; of very many OSDs the archive does."""
    state = example()
    record = record_of(state)
    with_state, without = encode_record(record, state), encode_record(record)
    assert decode_state_of_record(with_state) == state
    assert decode_state_of_record(without) is None
    assert decode_record(with_state) == decode_record(without) == record
    monkeypatch.setattr(record_codec, 'LIMIT_BYTES', len(with_state))
    assert encode_record(record, state) == with_state
    monkeypatch.setattr(record_codec, 'LIMIT_BYTES', len(with_state) - 1)
    assert encode_record(record, state) == without
    with pytest.raises(StoredStateError, match='"state" is not a string'):
        decode_state_of_record('{"version":1,"state":3}')


def test_stored_clock_is_never_below_0() -> None:
    for clock in (ClockState(0.0), ClockState(7.5, ('r3', 6.5)), ClockState(1.0, ('', 0.0))):
        assert decode_clock(encode_clock(clock)) == clock
    assert json.loads(encode_clock(ClockState(1.0, ('r3', 0.5)))) == {
        'version': 1,
        'passed_s': 1.0,
        'ended': 'r3',
        'ended_s': 0.5,
    }
    negative = '{"version":1,"passed_s":-0.5,"ended":null,"ended_s":null}'
    assert reported(lambda: decode_clock(negative)) == (
        '"passed_s" is -0.5 instead of a non-negative number'
    )
    no_time = '{"version":1,"passed_s":1,"ended":"r3","ended_s":null}'
    assert reported(lambda: decode_clock(no_time)) == '"ended_s" is missing'


def test_restarts_are_stored_to_the_second() -> None:
    log = RestartLog((Restart(1.4, 2.6), Restart(9.6, None)))
    assert json.loads(encode_restarts(log)) == {
        'version': 1,
        'times_s': [1, 10],
        'steady_s': [3, None],
    }
    fewer = '{"version":1,"times_s":[1,2],"steady_s":[1]}'
    assert reported(lambda: decode_restarts(fewer)) == '"steady_s" and "times_s" differ in length'


def test_evidence_is_stored_with_five_digits_and_one_row_per_block() -> None:
    by_osd = {3: Measured(1.234567, 2.0, None, 1e9), 1: Measured(slow_ops=4.0, flushed=1.0)}
    block = Block(by_osd, 1234.6)
    evidence = Evidence('r7', 2, (3,), (1,), 30.0, (block,), (block, block))
    row = [1.2346, 2.0, None, 1e9, *[None] * 3, *[None] * 4, 4.0, None, 1.0]
    assert json.loads(encode_evidence(evidence)) == {
        'version': 1,
        'id': 'r7',
        'batch': 2,
        'changed': 1,
        'osds': [3, 1],
        'block_s': 30.0,
        'signals': list(Measured._fields),
        'before': [row],
        'after': [row, row],
        'before_s': [1235.0],
        'after_s': [1235.0, 1235.0],
    }
    fewer = json.dumps({**json.loads(encode_evidence(evidence)), 'before_s': []})
    assert reported(lambda: decode_evidence(fewer)) == (
        '"before_s" and "after_s" differ in length from their blocks'
    )


@pytest.mark.parametrize(('changed', 'wrong'), [(0, False), (2, False), (3, True)])
def test_all_osds_of_evidence_may_be_changed_ones(changed: int, wrong: bool) -> None:
    text = json.loads(encode_evidence(Evidence('r7', 0, (0,), (1,), 30.0)))
    read = json.dumps({**text, 'changed': changed})
    assert (reported(lambda: decode_evidence(read)) is not None) == wrong
    if not wrong:
        assert len(decode_evidence(read).changed) == changed
    twice = json.dumps({**text, 'signals': ['db_used_bytes', 'db_used_bytes']})
    assert reported(lambda: decode_evidence(twice)) is not None
