"""Whether a RocksDB is sharded: queried once per process, and unknown without an answer."""

from __future__ import annotations

import pytest

from rocksdb_tuner.observe.sharding import (
    ASKED_PER_TICK,
    RETRY_S,
    ShardingRequest,
    ShardingWatch,
    is_sharded,
)

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


def test_each_process_is_queried_once() -> None:
    watch = ShardingWatch()
    (request,) = watch.next_requests([(3, 7)], 100.0)
    assert request == ShardingRequest(3, 7)
    watch.accept(request, UNSHARDED, 100.0)
    assert watch.next_requests([(3, 7)], 1e9) == ()
    assert watch.sharded(3, 7) is False


def test_new_process_is_queried_again_and_unknown_until_then() -> None:
    watch = ShardingWatch()
    watch.accept(ShardingRequest(3, 7), SHARDED, 100.0)
    assert watch.sharded(3, 8) is None
    assert watch.next_requests([(3, 8)], 110.0) == (ShardingRequest(3, 8),)


def test_few_osds_are_queried_per_tick_and_all_eventually() -> None:
    watch, osds, asked = ShardingWatch(), [(i, 100 + i) for i in range(10)], []
    for tick in range(5):
        requests = watch.next_requests(osds, tick * 10.0)
        assert len(requests) <= ASKED_PER_TICK
        for request in requests:
            watch.accept(request, SHARDED, tick * 10.0)
            asked.append(request.osd_id)
    assert asked == list(range(10))


def test_osd_without_an_answer_is_queried_again_after_an_hour() -> None:
    watch = ShardingWatch()
    watch.fail(ShardingRequest(3, 7), 100.0)
    assert watch.sharded(3, 7) is None
    assert watch.next_requests([(3, 7)], 100.0 + RETRY_S - 1) == ()
    assert watch.next_requests([(3, 7)], 100.0 + RETRY_S) == (ShardingRequest(3, 7),)


def test_removed_osd_is_dropped() -> None:
    watch = ShardingWatch()
    watch.accept(ShardingRequest(3, 7), SHARDED, 100.0)
    watch.forget(3)
    assert watch.sharded(3, 7) is None


def test_an_osd_that_cannot_be_asked_now_leaves_its_turn_to_others() -> None:
    """It is asked later, and counts for no request."""
    watch, osds = ShardingWatch(), [(i, 100) for i in range(ASKED_PER_TICK + 1)]
    first = watch.next_requests(osds, 0.0, able=lambda osd_id: osd_id != 0)
    assert [request.osd_id for request in first] == list(range(1, ASKED_PER_TICK + 1))
    for request in first:
        watch.accept(request, SHARDED, 0.0)
    assert watch.next_requests(osds, 10.0) == (ShardingRequest(0, 100),)
