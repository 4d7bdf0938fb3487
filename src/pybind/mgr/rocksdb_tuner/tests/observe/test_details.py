"""Detailed samples: few OSDs at each tick, and no data of an ended process."""

from __future__ import annotations

from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.mgr.records import ClusterMap, CounterPoint, OsdInfo
from rocksdb_tuner.observe.details import (
    LEAST_PER_ROUND,
    ROUNDS,
    Details,
    DetailSample,
    choose,
    details,
    take_details,
)
from rocksdb_tuner.observe.observer import Observer
from rocksdb_tuner.observe.sample import DetailNames, details_for

from .samples import CounterTable, osd_info, sample

MIB = 1 << 20


def report(
    table: CounterTable, time_s: float, progress: int, names: DetailNames, osd_id: int = 0
) -> None:
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


def test_decreased_cache_counter_gives_no_hits() -> None:
    table, names = CounterTable(), details_for('reef')
    report(table, 100.0, 1000, names)
    before = take_details(table, 0, names, sample(100.0, 1000))
    report(table, 160.0, 4000, names)
    assert names.onode_hits is not None
    table.points[0, names.onode_hits] = CounterPoint(160.0, 999, None)
    found = details(before, take_details(table, 0, names, sample(160.0, 4000)))
    assert (found.onode_hits, found.onode_misses) == (None, 3000)


def test_counters_missing_on_pacific_are_unknown_and_not_requested() -> None:
    names = details_for('pacific')
    assert names.kv_queued is None
    found = looked_at('pacific')
    assert found.latency is not None
    assert found.latency.kv_queue_ms is None
    assert found.latency.prepare_ms == pytest.approx(2.0)
    assert found.omap_seek_ms is None


def test_one_sample_gives_sizes_and_no_latencies() -> None:
    table, names = CounterTable(), details_for('reef')
    report(table, 100.0, 1000, names)
    found = details(None, take_details(table, 0, names, sample(100.0, 1000)))
    assert found.latency is None
    assert found.memory_target_bytes == 512 * MIB


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


def test_detailed_samples_are_dropped_with_the_process() -> None:
    table, observer, names = CounterTable(), Observer(), details_for('pacific')
    osd = osd_info()
    for step in range(2):
        report(table, 100.0 + 10 * step, 1000 * step, names)
        observer.observe(table, ClusterMap(1, frozenset(), None, (osd,), ()), 101.0 + 10 * step)
    found = observer.details(0)
    assert found is not None
    assert found.latency is not None
    assert found.latency.window_s == 10.0
    restarted = osd_info(nonce=8)
    observer.observe(table, ClusterMap(1, frozenset(), None, (restarted,), ()), 121.0)
    assert observer.details(0) is None


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
