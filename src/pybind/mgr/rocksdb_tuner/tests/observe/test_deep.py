"""RocksDB's own statistics are queried rarely, and a rate never spans two processes."""

from __future__ import annotations

import json
from pathlib import Path

from rocksdb_tuner.observe.deep import (
    CLUSTER_SPACING_S,
    OSD_SPACING_S,
    UNAVAILABLE_SPACING_S,
    DeepRequest,
    DeepStatistics,
)

TEXT = (Path(__file__).parent / 'data' / 'pacific' / 'extended.txt').read_text()
COMPACTED = 'rocksdb.compact.write.bytes COUNT : 178009961'


def answer(compact_write_bytes: int) -> str:
    return TEXT.replace(COMPACTED, f'rocksdb.compact.write.bytes COUNT : {compact_write_bytes}')


def test_one_osd_at_a_time_in_turn() -> None:
    deep = DeepStatistics()
    osds = [(i, 1) for i in range(4)]
    asked = []
    for now_s in range(0, 200, 5):
        requests = deep.next_requests(osds, float(now_s))
        assert len(requests) <= 1
        asked += [(now_s, request.osd_id) for request in requests]
    assert [osd_id for _, osd_id in asked] == [0, 1, 2, 3]
    assert all(b - a >= CLUSTER_SPACING_S for (a, _), (b, _) in zip(asked, asked[1:]))


def test_osd_without_statistics_is_skipped_for_hours_unless_restarted() -> None:
    deep = DeepStatistics()
    assert deep.next_requests([(0, 1)], 0.0) == (DeepRequest(0, 1),)
    deep.accept(0, 1, '', 0.0)
    assert deep.unavailable(0) is not None
    assert deep.next_requests([(0, 1)], UNAVAILABLE_SPACING_S - 1) == ()
    assert deep.next_requests([(0, 2)], OSD_SPACING_S) == (DeepRequest(0, 2),)


def test_two_answers_of_one_process_give_a_rate() -> None:
    deep = DeepStatistics()
    deep.accept(0, 1, answer(1000), 100.0)
    assert deep.compaction(0, 1, 100.0) is None
    deep.accept(0, 1, answer(4000), 400.0)
    rate = deep.compaction(0, 1, 401.0)
    assert rate is not None
    assert (rate.bytes_per_s, rate.window_s) == (10.0, 300.0)


def test_rate_never_spans_a_restart_or_a_reset() -> None:
    deep = DeepStatistics()
    deep.accept(0, 1, answer(1000), 100.0)
    deep.accept(0, 2, answer(4000), 400.0)
    assert deep.compaction(0, 2, 401.0) is None
    deep.accept(0, 2, answer(3000), 700.0)
    assert deep.compaction(0, 2, 701.0) is None


def test_old_rate_and_rate_of_another_process_are_not_shown() -> None:
    deep = DeepStatistics()
    deep.accept(0, 1, answer(1000), 100.0)
    deep.accept(0, 1, answer(4000), 400.0)
    assert deep.compaction(0, 2, 401.0) is None
    assert deep.compaction(0, 1, 400.0 + 2 * OSD_SPACING_S + 1) is None


def test_two_answers_give_rocksdb_times() -> None:
    deep = DeepStatistics()
    deep.accept(0, 1, TEXT, 100.0)
    later = TEXT.replace('COUNT : 18614 SUM : 15242452', 'COUNT : 19614 SUM : 16242452')
    stalled = later.replace(
        'rocksdb.stall.micros COUNT : 0', 'rocksdb.stall.micros COUNT : 3000000'
    )
    deep.accept(0, 1, stalled, 400.0)
    times = deep.times(0, 1, 401.0)
    assert times is not None
    assert times.stall_share == 0.01
    assert times.wal_sync_ms == 1.0
    assert times.memtable_insert_ms is None
    assert deep.times(0, 2, 401.0) is None
    assert deep.times(0, 1, 400.0 + 2 * OSD_SPACING_S + 1) is None


def test_memtable_insert_time_belongs_to_one_process() -> None:
    def dump(total_s: float, writes: int) -> str:
        counted = {'avgcount': writes, 'sum': total_s}
        return json.dumps({'rocksdb': {'rocksdb_write_memtable_time': counted}})

    deep = DeepStatistics()
    deep.accept(0, 1, TEXT, 100.0)
    deep.accept_perf_dump(0, 1, dump(1.0, 1000))
    deep.accept(0, 1, TEXT, 400.0)
    deep.accept_perf_dump(0, 1, dump(1.5, 2000))
    times = deep.times(0, 1, 400.0)
    assert times is not None
    assert times.memtable_insert_ms == 0.5
    deep.accept_perf_dump(0, 2, dump(2.0, 3000))
    assert deep.times(0, 2, 400.0) is None
