"""Details of few OSDs at each tick: the parts of a write, caches, and slow operations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.mgr.records import ClusterMap, CounterPoint, OsdInfo
from rocksdb_tuner.observe.details import (
    LEAST_PER_ROUND,
    ROUNDS,
    SLOW_COMMITS,
    SLOW_COUNTERS,
    AlertingOsd,
    Bottleneck,
    Details,
    SlowEvents,
    SlowOps,
    WriteLatency,
    choose,
    count_slow_ops,
    details,
    read_slow_events,
    take_details,
    watch_slow_ops,
)
from rocksdb_tuner.observe.observer import Observer
from rocksdb_tuner.observe.sample import DetailSample, details_for
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .samples import CounterTable, osd_info, sample

MIB = 1 << 20


def report(table: CounterTable, time_s: float, progress: int, names: Any, osd_id: int = 0) -> None:
    """Every latency counter grows by 2 ms for each operation."""
    table.report(osd_id, sample(time_s, progress))
    for field, path in zip(names._fields, names):
        if path is None:
            continue
        if field.endswith('_bytes'):
            table.points[osd_id, path] = CounterPoint(time_s, 512 * MIB, None)
        elif field in {
            'onode_hits',
            'onode_misses',
            'bluefs_fallbacks',
            'fragmentation_micros',
            'pgs',
        }:
            table.points[osd_id, path] = CounterPoint(time_s, progress, None)
        else:
            table.points[osd_id, path] = CounterPoint(time_s, progress * 2_000_000, progress)


def looked_at(release: str) -> Details:
    table, names = CounterTable(), details_for(release)
    report(table, 100.0, 1000, names)
    before = take_details(table, 0, names, sample(100.0, 1000))
    report(table, 160.0, 4000, names)
    return details(before, take_details(table, 0, names, sample(160.0, 4000)))


def test_two_samples_give_the_parts_of_a_write() -> None:
    found = looked_at('reef')
    latency = found.latency
    assert latency is not None
    assert latency.window_s == 60.0
    assert latency.client_op_ms == pytest.approx(5.0)
    assert latency.osd_queue_ms == pytest.approx(3.0)
    assert latency.bluestore_ms == pytest.approx(3.0)
    assert latency.kv_queue_ms == pytest.approx(2.0)
    assert (latency.kv_flush_ms, latency.kv_commit_ms) == pytest.approx((1.0, 1.0))
    assert found.omap_seek_ms == pytest.approx(2.0)
    assert found.omap_seeks == 6000
    assert found.memory_mapped_bytes == 512 * MIB


def test_hits_are_between_two_samples_and_fallbacks_since_the_start() -> None:
    found = looked_at('reef')
    assert (found.onode_hits, found.onode_misses, found.window_s) == (3000, 3000, 60.0)
    assert (found.bluefs_fallbacks, found.fragmentation) == (4000, 0.004)
    assert looked_at('pacific').fragmentation is None
    assert found.pgs == 4000
    assert looked_at('pacific').onode_hits == 3000
    table, names = CounterTable(), details_for('reef')
    report(table, 100.0, 1000, names)
    first = details(None, take_details(table, 0, names, sample(100.0, 1000)))
    assert (first.onode_hits, first.onode_misses, first.window_s) == (None, None, None)
    assert first.bluefs_fallbacks == 1000


def test_counters_missing_on_pacific_are_unknown_and_not_requested() -> None:
    names = details_for('pacific')
    assert names.kv_queued is None
    found = looked_at('pacific')
    assert found.latency is not None
    assert found.latency.kv_queue_ms is None
    assert found.latency.prepare_ms == pytest.approx(2.0)
    assert found.omap_seek_ms is None


def test_allocator_value_of_0_is_unknown() -> None:
    """The OSDs of Debian's 16.2.15 are built without tcmalloc."""
    table, names = CounterTable(), details_for('pacific')
    report(table, 100.0, 1000, names)
    assert names.memory_mapped_bytes is not None
    table.points[0, names.memory_mapped_bytes] = CounterPoint(100.0, 0, None)
    seen = take_details(table, 0, names, sample(100.0, 1000))
    assert details(None, seen).memory_mapped_bytes is None


@pytest.mark.parametrize('change', ['nonce', 'reset', 'stale', 'gap'])
def test_incomparable_samples_give_no_latency(change: str) -> None:
    table, names = CounterTable(), details_for('reef')
    report(table, 100.0, 1000, names)
    before = take_details(table, 0, names, sample(100.0, 1000))
    at_s = 100.0 + (1e6 if change == 'gap' else 60.0)
    progress = 500 if change == 'reset' else 4000
    report(table, at_s, progress, names)
    if change == 'stale':
        for path in names:
            assert path is not None
            table.points[0, path] = table.points[0, path]._replace(time_s=100.0)
    nonce = 8 if change == 'nonce' else 7
    found = details(before, take_details(table, 0, names, sample(at_s, progress, nonce)))
    if change == 'stale':
        assert found.latency is not None
        assert found.latency.kv_queue_ms is None
        assert found.memory_mapped_bytes is None
    else:
        assert found.latency is None
        assert found.omap_seek_ms is None


@pytest.mark.parametrize('osds', [0, 1, 3, 4, 5, 20, 23, 24, 25, 1000])
def test_all_osds_are_sampled_within_eight_ticks_few_at_a_time(osds: int) -> None:
    ids = list(range(osds))
    rounds = [choose(ids, number) for number in range(ROUNDS)]
    assert set().union(*rounds) == set(ids)
    assert all(len(chosen) <= max(LEAST_PER_ROUND, -(-osds // ROUNDS)) for chosen in rounds)


@pytest.mark.parametrize('light', [False, True], ids=['full', 'between-full-samples'])
def test_first_sample_of_a_process_has_details(light: bool) -> None:
    """Whose turn it is does not matter: an OSD's memory decides what suits it."""
    table, observer, names = CounterTable(), Observer(), details_for('pacific')

    def observe(osds: list[OsdInfo], time_s: float, only: Optional[tuple[int, ...]] = None) -> None:
        for osd in osds:
            report(table, time_s, round(time_s), names, osd.osd_id)
        cluster = ClusterMap(1, frozenset(), None, tuple(osds), ())
        observer.observe(table, cluster, time_s + 1, only)

    osds = [osd_info(n) for n in range(5 * ROUNDS)]
    observe(osds, 100.0)
    assert all(observer.details(osd.osd_id) is not None for osd in osds)
    for restarted in (1, 2 * ROUNDS, 5 * ROUNDS - 1):
        osds[restarted] = osd_info(restarted, nonce=8)
    only = () if light else None
    # Reports of before the restart was seen may be of the process before.
    for time_s in (110.0, 120.0):
        observe(osds, time_s, only)
    assert all(observer.details(osd.osd_id) is not None for osd in osds)


@given(st.lists(st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=26))
def test_differences_of_details_are_those_of_each_counter_by_its_name(
    pairs: list[Optional[tuple[int, int]]],
) -> None:
    """Whichever counters are missing; one that fell spoils all."""
    numbers = {
        field
        for field in DetailSample._fields
        if field.endswith('bytes')
        or field
        in {'onode_hits', 'onode_misses', 'bluefs_fallbacks', 'fragmentation_micros', 'pgs'}
    }
    fields = [f for f in DetailSample._fields[2:] if f not in numbers]
    assert len(fields) == 13
    none = dict.fromkeys(numbers)
    before = DetailSample(10.0, 7, **dict(zip(fields, pairs)), **none)  # type: ignore[arg-type]
    after = DetailSample(20.0, 7, **dict(zip(fields, pairs[13:])), **none)  # type: ignore[arg-type]
    expected: dict[str, Optional[float]] = {}
    fell = False
    for field in fields:
        old, new = getattr(before, field), getattr(after, field)
        expected[field] = None
        if old is not None and new is not None:
            fell = fell or new[0] < old[0] or new[1] < old[1]
            if new[1] > old[1]:
                expected[field] = (new[0] - old[0]) / 1e9 * 1e3 / (new[1] - old[1])
    latency = details(before, after).latency
    assert (latency is None) == fell
    if latency is not None:
        assert latency.client_op_ms == expected['op_w_latency']
        assert latency.bluestore_ms == expected['commit']
        assert latency.prepare_ms == expected['prepare']
        assert latency.throttle_ms == expected['throttle']
        assert latency.data_write_ms == expected['aio_wait']
        assert latency.kv_queue_ms == expected['kv_queued']
        assert latency.kv_round_ms == expected['kv_commiting']
        assert latency.kv_flush_ms == expected['kv_flush']
        assert latency.osd_prepare_ms == expected['op_w_prepare']


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


DATA = Path(__file__).parent / 'data'


@pytest.mark.parametrize(
    ('release', 'sent'), [('pacific', False), ('reef', True), ('tentacle', True)]
)
def test_slow_commits_are_counted_as_in_the_perf_schema(release: str, sent: bool) -> None:
    counters = json.loads((DATA / release / 'counters_sent.json').read_text())
    assert [name in counters for name in SLOW_COUNTERS] == [sent] * len(SLOW_COUNTERS)


def test_value_missing_in_the_report_is_unknown() -> None:
    cluster = FakeCluster(osds=2)
    cluster.slow_requests[0] = 3
    cluster.counters[0, SLOW_COMMITS] = CounterPoint(1.0, 12, None)
    cluster.osds[1].up = False
    assert read_slow_events(cluster, [0, 1]) == {0: SlowEvents(3, 12), 1: SlowEvents(None, None)}


def test_slow_operations_of_all_kinds_are_counted() -> None:
    cluster = FakeCluster(osds=2)
    for number, path in enumerate(SLOW_COUNTERS):
        cluster.counters[0, path] = CounterPoint(1.0, 10**number, None)
    assert count_slow_ops(cluster, 0) == 1111
    assert count_slow_ops(cluster, 1) is None


def test_live_alert_differs_from_a_latched_one() -> None:
    """Only what grew while it was watched is known to be slow now."""
    state = watch_slow_ops({}, {0: 5, 1: 5, 2: None}, 100.0)
    state = watch_slow_ops(state, {0: 6, 1: 5, 2: None}, 130.0)
    assert {n: ops.at(200.0) for n, ops in state.items()} == {
        0: AlertingOsd(100.0, 70.0),
        1: AlertingOsd(100.0, None),
        2: AlertingOsd(None, None),
    }
    later = watch_slow_ops(state, {0: 6}, 160.0)
    assert later == {0: SlowOps(6, 100.0, 130.0)}
    assert watch_slow_ops(later, {0: 2}, 190.0) == {0: SlowOps(2, 190.0)}
    assert later[0].at(0.0) == AlertingOsd(0.0, 0.0)
