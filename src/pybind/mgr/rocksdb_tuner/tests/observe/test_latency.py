"""The latency of a write: parts that add up, a named bottleneck, and null elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.observe.latency import Bottleneck, WriteLatency

#: The means of a loaded OSD of 18.2.7, from its own perf dump (op_w and BlueStore's), in ms.
REEF = WriteLatency(
    window_s=60.0,
    client_op_ms=4.913822,
    osd_queue_ms=4.913822 - 4.307788,
    osd_prepare_ms=0.338954,
    bluestore_ms=2.103308,
    prepare_ms=0.074443,
    throttle_ms=0.003879,
    data_write_ms=0.003974,
    kv_queue_ms=0.813572,
    kv_round_ms=1.210504,
    kv_flush_ms=0.000345,
    kv_commit_ms=0.759415,
    wal_sync_ms=0.580751,
    memtable_insert_ms=0.024196,
)
#: The same of 16.2.15, which sends less.
PACIFIC = WriteLatency(
    window_s=60.0,
    client_op_ms=11.41259,
    osd_queue_ms=11.41259 - 10.31099,
    osd_prepare_ms=0.384985,
    bluestore_ms=2.165946,
    prepare_ms=0.126109,
    throttle_ms=0.001418,
    data_write_ms=0.000242,
    kv_flush_ms=0.000149,
    kv_commit_ms=0.951134,
)


def named(latency: WriteLatency) -> Bottleneck:
    found = latency.bottleneck
    assert found is not None
    return found


def ms(latency: WriteLatency) -> dict[str, object]:
    return {part.part: part.ms for part in latency.parts}


def test_parts_of_bluestore_sum_to_the_whole() -> None:
    whole = REEF.prepare_ms, REEF.data_write_ms, REEF.kv_ms
    assert sum(part for part in whole if part is not None) == pytest.approx(2.1033, abs=0.002)


def test_values_missing_in_the_release_are_null() -> None:
    seen = ms(PACIFIC)
    assert seen['kv-queue'] is None
    assert seen['wal-sync'] is None
    assert seen['memtable-insert'] is None
    assert seen['kv'] == pytest.approx(2.0396, abs=1e-3)


def test_every_part_belongs_to_an_existing_whole() -> None:
    found = REEF.parts
    names = [part.part for part in found]
    assert len(names) == len(set(names))
    assert [part.part for part in found if part.within is None] == ['client-op']
    assert all(part.within in names for part in found if part.within is not None)


def test_recorded_osd_waits_for_replicas_on_two_shared_cores() -> None:
    assert named(PACIFIC).part == 'replicas'
    assert named(REEF).part == 'replicas'
    assert named(REEF).share == pytest.approx(0.379, abs=0.01)


@pytest.mark.parametrize(
    ('change', 'part'),
    [
        ({'osd_queue_ms': 50.0, 'client_op_ms': 60.0}, 'osd-queue'),
        ({'data_write_ms': 30.0, 'bluestore_ms': 33.0, 'client_op_ms': 35.0}, 'data-write'),
        ({'kv_queue_ms': 20.0, 'bluestore_ms': 22.0, 'client_op_ms': 25.0}, 'kv-queue'),
        ({'kv_round_ms': 20.0, 'bluestore_ms': 22.0, 'client_op_ms': 25.0}, 'kv-commit'),
        (
            {'kv_round_ms': 20.0, 'kv_flush_ms': 9.0, 'bluestore_ms': 22.0, 'client_op_ms': 25.0},
            'kv-flush',
        ),
        (
            {'throttle_ms': 20.0, 'prepare_ms': 20.1, 'bluestore_ms': 22.0, 'client_op_ms': 25.0},
            'throttle',
        ),
        ({'prepare_ms': 20.1, 'bluestore_ms': 22.0, 'client_op_ms': 25.0}, 'prepare'),
    ],
)
def test_largest_part_is_the_bottleneck(change: dict[str, float], part: str) -> None:
    assert named(REEF._replace(**change)).part == part


def test_kv_thread_is_one_part_before_reef() -> None:
    found = named(PACIFIC._replace(client_op_ms=3.0, osd_queue_ms=0.1))
    assert found.part == 'kv'
    assert 'commit' in found.statement


def test_wal_sync_is_shown_if_statistics_are_enabled() -> None:
    slow = REEF._replace(kv_round_ms=20.0, bluestore_ms=22.0, client_op_ms=25.0)
    assert '76% of a commit' in named(slow).statement
    without = slow._replace(wal_sync_ms=None)
    assert 'sync of the WAL' not in named(without).statement


@pytest.mark.parametrize('field', ['client_op_ms', 'bluestore_ms'])
def test_few_known_parts_give_no_bottleneck(field: str) -> None:
    unknown: dict[str, Any] = {field: None}
    assert REEF._replace(**unknown).bottleneck is None


def test_idle_osd_has_no_bottleneck() -> None:
    assert WriteLatency(60.0).bottleneck is None


def test_local_commit_slower_than_the_client_mean_gives_no_replica_time() -> None:
    """The OSD is a replica of much larger writes than clients send to it."""
    assert REEF._replace(bluestore_ms=9.0).replicas_ms is None


@given(
    st.builds(
        WriteLatency,
        st.just(60.0),
        *[st.none() | st.floats(0, 1e6) for _ in WriteLatency._fields[1:]],
    )
)
def test_whatever_is_known_nothing_negative_is_said(latency: WriteLatency) -> None:
    assert all(part.ms is None or part.ms >= 0 for part in latency.parts)
    found = latency.bottleneck
    if found is not None:
        assert found.ms >= 0
        assert found.share is not None
        assert 0 <= found.share <= 1
