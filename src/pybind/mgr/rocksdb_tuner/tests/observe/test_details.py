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
    Details,
    SlowEvents,
    SlowOps,
    WriteLatency,
    choose,
    count_slow_ops,
    details,
    read_slow_events,
    watch_slow_ops,
)
from rocksdb_tuner.observe.observer import Observer
from rocksdb_tuner.observe.sample import DetailSample, details_for, take_details
from rocksdb_tuner.tests.fake_cluster import FakeCluster

from .samples import CounterTable, osd_info, sample

MIB = 1 << 20


NUMBERS = {'onode_hits', 'onode_misses', 'bluefs_fallbacks', 'fragmentation_micros', 'pgs'}


def report(table: CounterTable, time_s: float, progress: int, names: Any, osd_id: int = 0) -> None:
    """Each latency counter grows by its own time for each operation: 1.0, 1.1, 1.2 ms, ..."""
    table.report(osd_id, sample(time_s, progress))
    for place, (field, path) in enumerate(names._asdict().items()):
        if path is None:
            continue
        number = 512 * MIB if field.endswith('_bytes') else progress
        point = CounterPoint(time_s, number, None)
        if field not in NUMBERS and not field.endswith('_bytes'):
            point = CounterPoint(time_s, progress * (1_000_000 + place * 100_000), progress)
        table.points[osd_id, path] = point


def taken(
    release: str, time_s: float, progress: int, nonce: int = 7, **changed: Optional[CounterPoint]
) -> DetailSample:
    """The details of one report, but for the counters that are ``changed``."""
    table, names = CounterTable(), details_for(release)
    report(table, time_s, progress, names)
    table.points.update(
        {(0, getattr(names, field)): point for field, point in changed.items() if point}
    )
    return take_details(table, 0, names, sample(time_s, progress, nonce))


def looked_at(release: str) -> Details:
    return details(taken(release, 100.0, 1000), taken(release, 160.0, 4000))


def test_two_samples_give_the_parts_of_a_write_and_what_else_was_counted() -> None:
    found = looked_at('reef')
    assert found.latency == pytest.approx(
        WriteLatency(
            window_s=60.0,
            client_op_ms=5.0,
            osd_queue_ms=3.5,
            osd_prepare_ms=1.6,
            bluestore_ms=3.0,
            prepare_ms=1.1,
            throttle_ms=1.0,
            data_write_ms=1.2,
            kv_queue_ms=1.3,
            kv_round_ms=1.4,
            kv_flush_ms=1.0,
            kv_commit_ms=1.0,
        )
    )
    # Hits are between the two, fallbacks since the start.
    assert found[2:] == (1.75, 6000, *(512 * MIB,) * 2, 3000, 3000, 4000, 0.004, 60.0, 4000, 1.0)
    first = details(None, taken('reef', 100.0, 1000))
    assert first[1:4] == (None,) * 3
    assert first[6:] == (None, None, 1000, 0.001, None, 1000, None)


def test_counters_missing_on_pacific_are_unknown_and_not_requested() -> None:
    assert details_for('pacific').kv_queued is None
    found = looked_at('pacific')
    assert found.latency is not None
    assert (found.latency.kv_queue_ms, found.latency.prepare_ms) == (None, 1.1)
    assert (found.omap_seek_ms, found.fragmentation, found.onode_hits) == (None, None, 3000)


def test_allocator_value_of_0_is_unknown() -> None:
    """The OSDs of Debian's 16.2.15 are built without tcmalloc."""
    seen = taken('pacific', 100.0, 1000, memory_mapped_bytes=CounterPoint(100.0, 0, None))
    assert details(None, seen).memory_mapped_bytes is None


@pytest.mark.parametrize(
    'after',
    [
        pytest.param(taken('reef', 160.0, 4000, 8), id='nonce'),
        pytest.param(taken('reef', 160.0, 500), id='reset'),
        pytest.param(taken('reef', 1e6, 4000), id='gap'),
    ],
)
def test_incomparable_samples_give_no_latency(after: DetailSample) -> None:
    found = details(taken('reef', 100.0, 1000), after)
    assert (found.latency, found.omap_seek_ms, found.window_s) == (None, None, None)


def test_stale_counters_are_unknown() -> None:
    old = CounterPoint(100.0, 4000, 2000)
    found = details(taken('reef', 100.0, 1000), taken('reef', 160.0, 4000, kv_queued=old))
    assert found.latency is not None
    assert (found.latency.kv_queue_ms, found.latency.kv_round_ms) == (None, 1.4)


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
