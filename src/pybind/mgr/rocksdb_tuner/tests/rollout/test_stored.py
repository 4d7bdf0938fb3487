"""Texts under keys of the monitor: how long they may be, and what is believed of them."""

from __future__ import annotations

import base64
import errno
import json
import random
import zlib
from typing import Callable, Optional

import pytest

from rocksdb_tuner.judge.evidence import Block, Evidence, Measured
from rocksdb_tuner.rollout import stored
from rocksdb_tuner.rollout.errors import RolloutRefused, StoredStateError
from rocksdb_tuner.rollout.history import record_of
from rocksdb_tuner.rollout.record_codec import (
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
from rocksdb_tuner.rollout.records import Phase
from rocksdb_tuner.rollout.restart_log import Restart, RestartLog
from rocksdb_tuner.rollout.stopwatch import ClockState
from rocksdb_tuner.rollout.stored import (
    Part,
    lookup,
    optional,
    packed,
    read_count,
    read_flag,
    read_list,
    read_member,
    read_number,
    read_object,
    read_text,
    refuse_above,
    unpacked,
    unpacked_values,
)

from .test_codec import example


def told(work: Callable[[], object]) -> Optional[str]:
    """What is wrong with it; None: nothing."""
    try:
        work()
    except StoredStateError as error:
        return str(error)
    return None


# -- as long as a monitor keeps


def document(size: int) -> dict[str, str]:
    """One whose text is so many bytes long, in two bytes for each character and one odd one."""
    return {'t': 'é' * ((size - 8) // 2) + 'x' * (size % 2)}


@pytest.mark.parametrize('size', [39998, 39999, 40000, 40001, 50000])
def test_a_text_is_compressed_from_40001_bytes_on(size: int) -> None:
    text = packed(document(size), 'it')
    plain = json.dumps(document(size), ensure_ascii=False, separators=(',', ':'))
    assert len(plain.encode()) == size
    assert (text == plain) == (size <= 40000)
    if size > 40000:
        assert text.startswith('zlib:')
        assert zlib.decompress(base64.b64decode(text[5:])).decode() == plain
        assert len(text) < 1000


def test_the_last_byte_that_is_plain() -> None:
    assert [len(packed('x' * size, 'it')) >= 40000 for size in (39998, 39999)] == [True, False]


def test_what_no_monitor_keeps_is_refused_with_what_to_do() -> None:
    refuse_above(65536, 'it')
    with pytest.raises(RolloutRefused) as refused:
        refuse_above(65537, 'it', 'do less')
    assert refused.value.errno == errno.E2BIG
    assert refused.value.message == (
        'it takes 65537 bytes to remember, and a monitor keeps at most 65536 under one key: do less'
    )


def test_what_is_too_long_when_compressed_is_refused() -> None:
    noise = base64.b64encode(random.Random(1).randbytes(80000)).decode()
    with pytest.raises(RolloutRefused, match=r'^all of it takes .*: split it$'):
        packed({'noise': noise}, 'all of it', 'split it')


def test_what_is_no_number_is_not_written() -> None:
    with pytest.raises(ValueError, match='JSON'):
        packed({'x': float('nan')}, 'it')


# -- of a version that this module reads


def versioned(version: object) -> str:
    return json.dumps({'version': version, 'x': 1})


@pytest.mark.parametrize('version', [2, 3, 4])
def test_versions_from_the_oldest_to_the_newest_are_read(version: int) -> None:
    assert unpacked_values(versioned(version), 2, 4) == {'version': version, 'x': 1}
    assert unpacked(versioned(version), 2, 4).value('x') == 1


@pytest.mark.parametrize(
    ('version', 'shown'),
    [(1, '1'), (5, '5'), (True, 'true'), (2.0, '2.0'), ('3', '"3"'), ('x' * 30, '"' + 'x' * 19)],
)
def test_other_versions_are_named_and_not_read(version: object, shown: str) -> None:
    assert told(lambda: unpacked_values(versioned(version), 1 + 1, 4)) == (
        f'it was written in version {shown} of the format; this module reads versions 2 to 4'
    )


def compressed(raw: bytes) -> str:
    return 'zlib:' + base64.b64encode(zlib.compress(raw, 9)).decode()


def test_a_compressed_text_is_read_up_to_sixteen_mebibytes_and_whole() -> None:
    text = versioned(3)
    assert unpacked_values(compressed(text.encode()), 3, 3)['x'] == 1
    padded = text + ' ' * ((16 << 20) - len(text))
    assert unpacked_values(compressed(padded.encode()), 3, 3)['x'] == 1
    longer = compressed(padded.encode() + b' ')
    assert told(lambda: unpacked_values(longer, 3, 3)) == (
        'its compressed text is cut off or too long'
    )
    # Base64 that is only nearly that.
    dirty = compressed(text.encode())
    dirty = f'{dirty[:9]}!{dirty[9:]}'
    assert 'its compressed text is damaged' in (told(lambda: unpacked_values(dirty, 3, 3)) or '')


# -- types


@pytest.mark.parametrize(
    ('read', 'good', 'bad'),
    [
        (read_count, [0, 1, 10**30], [-1, 1.0, True, False, '1', None]),
        (read_number, [0, -1, 1.5, -0.5], [True, '1', None, 1e999, -1e999, float('nan'), 10**400]),
        (read_flag, [True, False], [0, 1, 'true', None]),
        (read_text, ['', 'x'], [0, None, ['x']]),
        (read_list, [[], [1]], [{}, 'x', None]),
        (optional(read_count), [None, 0, 1], [-1, '1', False]),
    ],
)
def test_each_type_is_told_from_the_others(
    read: Callable[[str, object], object], good: list[object], bad: list[object]
) -> None:
    for value in good:
        assert read('p', value) is value
    for value in bad:
        found = told(lambda value=value: read('p', value))  # type: ignore[misc]
        assert found is not None
        assert found.startswith('"p" is ')


def test_a_text_that_is_stored_once_is_known_by_its_number() -> None:
    look_up = lookup(('a', 'b'))
    assert [look_up('p', number) for number in (0, 1)] == ['a', 'b']
    assert told(lambda: look_up('p', 2)) == '"p" is 2 instead of one of 2 stored texts'
    for wrong in (-1, True, 'a', None):
        assert told(lambda value=wrong: look_up('p', value)) is not None  # type: ignore[misc]


def test_of_a_wrong_value_sixty_characters_are_shown() -> None:
    assert told(lambda: read_count('p', 'x' * 100)) == (
        f'"p" is "{"x" * 59} instead of a number from 0 up'
    )


def test_names_and_types_within_an_object() -> None:
    part = read_object(
        'a',
        {'n': 1, 'none': None, 'l': [1, 'x'], 'q': [['k', 1]], 'o': {'d': 'done'}, 'ids': [2, 1]},
    )
    assert isinstance(part, Part)
    assert told(lambda: part.value('m')) == '"a.m" is missing'
    assert told(lambda: part.text('n')) == '"a.n" is 1 instead of a text'
    assert part.added_later('m', read_text) is part.added_later('none', read_text) is None
    assert part.added_later('n', read_count) == 1
    assert part.optional_text('none') is None
    assert told(lambda: part.optional_text('m')) == '"a.m" is missing'
    assert part.optional_choice('none', Phase) is None
    assert part.part('o').optional_choice('d', Phase) is Phase.DONE
    assert read_member('p', 'done', Phase) is Phase.DONE
    assert (told(lambda: read_member('p', 'x', Phase)) or '').startswith(
        '"p" is "x" instead of one of planned, '
    )
    assert told(lambda: part.integers('l')) == '"a.l[1]" is "x" instead of a number from 0 up'
    assert told(lambda: part.column('ids', 3, read_count)) == '"a.ids" has 2 values for 3 OSDs'
    assert part.column('ids', 2, read_count) == part.column('ids', None, read_count) == [2, 1]
    assert part.column_added_later('ids', 2, optional(read_count)) == [2, 1]
    assert part.column_added_later('m', 2, optional(read_count)) == [None, None]
    assert part.pairs('q', read_count) == (('k', 1),)
    assert told(lambda: part.pairs('l', read_count)) == '"a.l" is 1 instead of a list'
    assert part.permutation('ids', (1, 2)) == part.permutation('ids', [2, 1]) == [2, 1]
    assert told(lambda: part.permutation('ids', (1, 3))) == (
        '"a.ids" does not hold the OSDs of the rollout'
    )


@pytest.mark.parametrize('pair', [[], ['k'], ['k', 1, 2], [1, 1], ['k', 'x']])
def test_a_pair_is_a_name_and_a_value(pair: list[object]) -> None:
    assert told(lambda: Part({'q': [pair]}, '').pairs('q', read_count)) is not None


# -- what is kept beside a rollout


def test_a_record_holds_the_state_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    state = example()
    record = record_of(state)
    with_state, without = encode_record(record, state), encode_record(record)
    assert decode_state_of_record(with_state) == state
    assert decode_state_of_record(without) is None
    assert decode_record(with_state) == decode_record(without) == record
    monkeypatch.setattr(stored, '_PLAIN_MAX_BYTES', len(without))
    monkeypatch.setattr(stored, 'LIMIT_BYTES', len(without))
    assert encode_record(record, state) == without
    monkeypatch.setattr(stored, '_PLAIN_MAX_BYTES', 0)
    monkeypatch.setattr(stored, 'LIMIT_BYTES', 10)
    with pytest.raises(RolloutRefused, match='the history record of r7 takes'):
        encode_record(record, state)


def test_the_clock_is_read_as_it_was_written_and_never_runs_below_0() -> None:
    for clock in (ClockState(0.0), ClockState(7.5, ('r3', 6.5)), ClockState(1.0, ('', 0.0))):
        assert decode_clock(encode_clock(clock)) == clock
    assert json.loads(encode_clock(ClockState(1.0, ('r3', 0.5)))) == {
        'version': 3,
        'passed_s': 1.0,
        'ended': 'r3',
        'ended_s': 0.5,
    }
    negative = '{"version":3,"passed_s":-0.5,"ended":null,"ended_s":null}'
    assert told(lambda: decode_clock(negative)) == (
        '"passed_s" is -0.5 instead of a number from 0 up'
    )
    no_time = '{"version":3,"passed_s":1,"ended":"r3","ended_s":null}'
    assert told(lambda: decode_clock(no_time)) == '"ended_s" is null instead of a number'


def test_restarts_are_kept_to_the_second() -> None:
    log = RestartLog((Restart(1.4, 2.6), Restart(9.6, None)))
    assert json.loads(encode_restarts(log)) == {
        'version': 3,
        'times_s': [1, 10],
        'steady_s': [3, None],
    }
    fewer = '{"version":3,"times_s":[1,2],"steady_s":[1]}'
    assert told(lambda: decode_restarts(fewer)) == '"steady_s" has 1 values for 2 OSDs'


def test_evidence_is_kept_to_five_digits_one_row_for_each_block() -> None:
    block = Block({3: Measured(1.234567, 2.0, None, 1e9), 1: Measured(slow_ops=4.0, flushed=1.0)})
    evidence = Evidence('r7', 2, (3,), (1,), 30.0, (block,), (block, block))
    row = [1.2346, 2.0, None, 1e9, *[None] * 3, *[None] * 4, 4.0, None, 1.0]
    assert json.loads(encode_evidence(evidence)) == {
        'version': 3,
        'id': 'r7',
        'batch': 2,
        'changed': 1,
        'osds': [3, 1],
        'block_s': 30.0,
        'signals': list(Measured._fields),
        'before': [row],
        'after': [row, row],
    }


@pytest.mark.parametrize(('changed', 'wrong'), [(0, False), (2, False), (3, True)])
def test_all_osds_of_evidence_may_be_changed_ones(changed: int, wrong: bool) -> None:
    text = json.loads(encode_evidence(Evidence('r7', 0, (0,), (1,), 30.0)))
    read = json.dumps({**text, 'changed': changed})
    assert (told(lambda: decode_evidence(read)) is not None) == wrong
    if not wrong:
        assert len(decode_evidence(read).changed) == changed
    twice = json.dumps({**text, 'signals': ['db_used_bytes', 'db_used_bytes']})
    assert told(lambda: decode_evidence(twice)) is not None
