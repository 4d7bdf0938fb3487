"""What only OSDs know is asked for rarely, and an answer never belongs to another process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Optional

import pytest

from rocksdb_tuner.observe.deep import (
    CLUSTER_SPACING_S,
    FILES_PER_TICK,
    FILES_RETRY_S,
    OSD_SPACING_S,
    UNAVAILABLE_SPACING_S,
    OsdAnswers,
    Request,
    RocksdbTimes,
    is_sharded,
    times_of,
)

TEXT = (Path(__file__).parent / 'data' / 'pacific' / 'extended.txt').read_text()
COMPACTED = 'rocksdb.compact.write.bytes COUNT : 178009961'
ONE, OTHER = Request(0, 1), Request(0, 2)


def answer(compact_write_bytes: int) -> str:
    return TEXT.replace(COMPACTED, f'rocksdb.compact.write.bytes COUNT : {compact_write_bytes}')


def dump(total_s: float, writes: int) -> str:
    counted = {'avgcount': writes, 'sum': total_s}
    return json.dumps({'rocksdb': {'rocksdb_write_memtable_time': counted}})


def times(answers: OsdAnswers, request: Request, now_s: float) -> Optional[RocksdbTimes]:
    asked = answers.of(*request)
    return times_of(asked.answers, now_s) if asked else None


def test_one_osd_at_a_time_in_turn() -> None:
    answers, osds, asked = OsdAnswers(), [Request(i, 1) for i in range(5)], []
    for now_s in range(0, 200, 5):
        requests = answers.next_statistics(osds, float(now_s), lambda osd_id: osd_id != 2)
        assert len(requests) <= 1
        asked += [(now_s, request.osd_id) for request in requests]
    assert [osd_id for _, osd_id in asked] == [0, 1, 3, 4]
    assert all(b - a >= CLUSTER_SPACING_S for (a, _), (b, _) in zip(asked, asked[1:]))


def test_osd_without_statistics_is_skipped_for_hours_unless_restarted() -> None:
    answers = OsdAnswers()
    assert answers.next_statistics([ONE], 0.0) == (ONE,)
    answers.accept_statistics(ONE, '', 0.0)
    asked = answers.of(*ONE)
    assert asked is not None
    assert asked.unavailable is not None
    assert answers.next_statistics([ONE], UNAVAILABLE_SPACING_S - 1) == ()
    assert answers.next_statistics([OTHER], OSD_SPACING_S) == (OTHER,)


def test_two_answers_of_one_process_give_rates_while_they_are_new() -> None:
    answers = OsdAnswers()
    answers.accept_statistics(ONE, answer(1000), 100.0, dump(1.0, 1000))
    assert times(answers, ONE, 100.0) is None
    later = answer(4000).replace('COUNT : 18614 SUM : 15242452', 'COUNT : 19614 SUM : 16242452')
    later = later.replace('rocksdb.stall.micros COUNT : 0', 'rocksdb.stall.micros COUNT : 3000000')
    answers.accept_statistics(ONE, later, 400.0, dump(1.5, 2000))
    assert times(answers, ONE, 401.0) == RocksdbTimes(300.0, 0.01, 1.0, 0.5, 0, 0, 10.0)
    assert times(answers, OTHER, 401.0) is None
    assert times(answers, ONE, 400.0 + 2 * OSD_SPACING_S + 1) is None
    # The counters of memtables are another command, which can fail.
    answers.accept_statistics(ONE, later, 700.0)
    found = times(answers, ONE, 701.0)
    assert found is not None
    assert (found.memtable_insert_ms, found.wal_sync_ms, found.stall_share) == (None, None, 0.0)
    answers.forget(0)
    assert answers.all() == {}


def test_no_rate_spans_a_restart_or_a_reset() -> None:
    answers = OsdAnswers()
    answers.accept_statistics(ONE, answer(1000), 100.0)
    answers.accept_statistics(OTHER, answer(4000), 400.0)
    assert times(answers, OTHER, 401.0) is None
    answers.accept_statistics(OTHER, answer(3000), 700.0)
    found = times(answers, OTHER, 701.0)
    assert found is not None
    assert (found.compaction_bytes_per_s, found.cache_hits) == (None, 0)


#: As an OSD of 16.2.15 lists them, shortened.
SHARDED = '[{"name": "db/CURRENT", "db": 65536}, {"name": "sharding/def", "db": 65536}]'
UNSHARDED = '[{"name": "db/CURRENT", "slow": 65536}, {"name": "db.wal/000012.log", "wal": 1048576}]'


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        (SHARDED, True),
        (UNSHARDED, False),
        ('[]', None),
        ('', None),
        ('{"name": "sharding/def"}', None),
        ('["sharding/def"]', None),
        (SHARDED[:-1], None),
    ],
)
def test_file_list_shows_the_sharding_and_other_output_is_unknown(
    text: str, expected: object
) -> None:
    assert is_sharded(text) is expected


def test_each_process_is_asked_for_its_files_once() -> None:
    answers = OsdAnswers()
    assert answers.next_files([ONE], 100.0) == (ONE,)
    answers.accept_files(ONE, SHARDED, 101.0)
    asked = answers.of(*ONE)
    assert asked is not None
    assert asked.sharded is True
    assert answers.next_files([ONE], 1e9) == ()
    # It may have been recreated.
    assert answers.next_files([OTHER], 102.0) == (OTHER,)
    # Its statistics are due all the same, and do not change what its files said.
    assert answers.next_statistics([ONE], 103.0) == (ONE,)
    answers.accept_statistics(ONE, 'error: refused', 104.0)
    asked = answers.of(*ONE)
    assert asked is not None
    assert (asked.sharded, asked.unavailable) == (True, 'error: refused')


def test_osd_that_did_not_answer_is_asked_again_much_later() -> None:
    answers = OsdAnswers()
    answers.accept_files(ONE, '', 100.0)
    assert answers.next_files([ONE], 100.0 + FILES_RETRY_S - 1) == ()
    assert answers.next_files([ONE], 100.0 + FILES_RETRY_S) == (ONE,)


def test_few_osds_are_asked_for_files_per_tick_and_only_able_ones() -> None:
    osds = [Request(n, 1) for n in range(10)]
    due = OsdAnswers().next_files(osds, 0.0, lambda osd_id: osd_id % 2 == 1)
    assert due == tuple(osds[1::2])[:FILES_PER_TICK]
