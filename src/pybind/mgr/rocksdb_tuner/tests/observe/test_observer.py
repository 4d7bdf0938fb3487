"""Counters in, signals out: unknown is None, and nothing comes from a process that is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.mgr.records import ClusterMap, CounterPoint, OsdInfo
from rocksdb_tuner.observe.observer import Observer
from rocksdb_tuner.observe.report_interval import (
    DEFAULT,
    MAX_SHARE,
    MIN_INTERVAL_S,
    choose_interval,
)
from rocksdb_tuner.observe.sample import ALL_OPERATIONS, Sample
from rocksdb_tuner.observe.signals import Signals, steady_report_s
from rocksdb_tuner.observe.window import OsdHistory

from ..all_operations import all_operations
from .samples import MIB, NAMES, CounterTable, osd_info, sample


def cluster_of(*osds: OsdInfo) -> ClusterMap:
    return ClusterMap(1, frozenset(), 'pacific', osds, ())


def observed(table: CounterTable, observer: Observer, osd: OsdInfo, now_s: float) -> Signals:
    observer.observe(table, cluster_of(osd), now_s)
    return observer.signals()[osd.osd_id]


def two_samples(osd: OsdInfo, before: int = 0, after: int = 1000) -> Signals:
    table, observer = CounterTable(), Observer()
    table.report(0, sample(100.0, before))
    observed(table, observer, osd, 101.0)
    table.report(0, sample(110.0, after))
    return observed(table, observer, osd, 112.0)


def test_signals_of_a_busy_osd() -> None:
    found = two_samples(osd_info())
    assert found.window_s == 10.0
    assert found.age_s(112.5) == 2.5
    assert found.kv_sync_ms == pytest.approx(2.0)
    assert found.kv_sync_busy == pytest.approx(0.2)
    assert found.commit_ms == pytest.approx(3.0)
    assert found.write_iops == 100.0
    assert found.write_bytes_avg == 4096.0
    assert found.read_bytes_avg == 8192.0
    assert found.wal_bytes_per_s == 1638400.0
    assert found.wal_bytes_per_client_byte == 4.0
    assert found.wal_bytes_per_write_op == 16384.0


def test_one_sample_gives_sizes_and_no_rates() -> None:
    table, observer = CounterTable(), Observer()
    table.report(0, sample(100.0, 1000))
    found = observed(table, observer, osd_info(), 101.0)
    assert found.db_used_bytes == 10 * MIB
    rates = [f for f in Signals._fields if f.endswith(('_per_s', '_iops', '_ms'))]
    assert all(getattr(found, name) is None for name in rates)


def test_compaction_is_estimated_as_writes_no_flush_can_explain() -> None:
    found = two_samples(osd_info(), after=1000)
    assert found.compaction_source == 'estimated'
    assert found.compaction_bytes_per_s == pytest.approx((32768 - 16384) * 100)


def test_osd_down_or_without_reports_has_no_signals() -> None:
    table, observer = CounterTable(), Observer()
    table.report(0, sample(100.0, 1000))
    observer.observe(table, cluster_of(osd_info(up=False), osd_info(1), osd_info(2, None)), 101.0)
    assert observer.signals() == {}


def test_stale_report_gives_no_signal() -> None:
    table, observer = CounterTable(), Observer()
    table.report(0, sample(100.0, 1000))
    observer.observe(table, cluster_of(osd_info()), 101.0 + DEFAULT.stale_s)
    assert observer.signals() == {}


def test_counter_no_longer_sent_is_unknown() -> None:
    table, observer = CounterTable(), Observer()
    table.report(0, sample(100.0, 0))
    observed(table, observer, osd_info(), 101.0)
    table.report(0, sample(110.0, 1000))
    table.points[0, NAMES.op_r] = CounterPoint(50.0, 999, None)
    found = observed(table, observer, osd_info(), 111.0)
    assert found.read_iops is None
    assert found.write_iops == 100.0


def test_counter_of_unexpected_type_is_unknown() -> None:
    table, observer = CounterTable(), Observer()
    for step in range(2):
        table.report(0, sample(100.0 + 10 * step, 1000 * step))
        table.points[0, NAMES.commit] = CounterPoint(100.0 + 10 * step, 5, None)
        table.points[0, NAMES.op_r] = CounterPoint(100.0 + 10 * step, 5, 5)
        found = observed(table, observer, osd_info(), 101.0 + 10 * step)
    assert found.commit_ms is None
    assert found.read_iops is None
    assert found.write_iops == 100.0


def test_old_report_after_a_restart_is_not_attributed_to_the_new_process() -> None:
    table, observer = CounterTable(), Observer()
    for step in range(3):
        table.report(0, sample(100.0 + 10 * step, 1000 * step))
        observed(table, observer, osd_info(), 101.0 + 10 * step)
    restarted = osd_info(nonce=8)
    observer.observe(table, cluster_of(restarted), 130.0)
    assert observer.signals() == {}
    table.report(0, sample(135.0, 5, nonce=8))
    assert observed(table, observer, restarted, 136.0).write_iops is None
    table.report(0, sample(145.0, 25, nonce=8))
    assert observed(table, observer, restarted, 146.0).write_iops == 2.0


def test_removed_osd_is_dropped() -> None:
    table, observer = CounterTable(), Observer()
    table.report(0, sample(100.0, 1000))
    observed(table, observer, osd_info(), 101.0)
    observer.observe(table, cluster_of(), 111.0)
    assert observer.signals() == {}
    assert observer.answers.next_statistics(observer.seen(), 111.0) == ()


@given(
    osds=st.integers(0, 20_000),
    tick_s=st.none() | st.floats(0, 60),
    configured_s=st.floats(0, 3600),
)
def test_the_interval_keeps_the_mgr_free(
    osds: int, tick_s: float | None, configured_s: float
) -> None:
    interval_s = choose_interval(osds, tick_s, configured_s)
    assert interval_s >= MIN_INTERVAL_S
    assert interval_s >= configured_s
    if tick_s is not None:
        assert tick_s <= interval_s * MAX_SHARE * 1.0001


OSDS = 20
RATE = 100


class Mgr(CounterTable):
    """Counts operations of all kinds too, and remembers what was read of which OSD."""

    def __init__(self) -> None:
        super().__init__()
        self.read: dict[int, set[str]] = {}

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        self.read.setdefault(osd_id, set()).update(paths)
        return super().latest(osd_id, paths)

    def report(self, osd_id: int, values: Sample) -> None:
        super().report(osd_id, values)
        done = all_operations(lambda path: self.points.get((osd_id, path)))
        assert done is not None
        self.points[osd_id, ALL_OPERATIONS] = done


def is_steady(mgr: Mgr, known: OsdHistory, now_s: float) -> bool:
    return steady_report_s(mgr, 0, NAMES, known, now_s) is not None


def history(*samples: Sample) -> OsdHistory:
    found = OsdHistory()
    for one in samples:
        found = found.added(one)
    return found


#: Two reports of an OSD that does `RATE` writes and as many reads a second.
BEFORE = (sample(100.0, 0), sample(130.0, 30 * RATE))


def steady(now: Sample, *changed: tuple[str, Optional[CounterPoint]], now_s: float = 142.0) -> bool:
    """Whether an OSD with the history `BEFORE` is steady when it reports ``now``."""
    mgr = Mgr()
    mgr.report(0, now)
    for path, point in changed:
        if point is None:
            del mgr.points[0, path]
        else:
            mgr.points[0, path] = point
    return is_steady(mgr, history(*BEFORE), now_s)


def test_unchanged_pace_is_steady() -> None:
    assert steady(sample(140.0, 40 * RATE))
    # Without a newer report too
    assert steady(BEFORE[-1])


@pytest.mark.parametrize('factor', [0.0, 0.5, 0.7, 1.3, 2.0, 10.0])
def test_other_pace_of_client_operations_is_a_change(factor: float) -> None:
    assert not steady(sample(140.0, round((30 + 10 * factor) * RATE)))


def kv_sync(now: Sample, total: float = 1.0, rounds: float = 1.0) -> tuple[str, CounterPoint]:
    """Other work of the kv_sync thread since `BEFORE`, as factors of what it would be."""
    assert now.kv_sync is not None
    assert BEFORE[-1].kv_sync is not None
    was, then = BEFORE[-1].kv_sync, now.kv_sync
    value, count = (
        round(old + factor * (new - old)) for old, new, factor in zip(was, then, (total, rounds))
    )
    return NAMES.kv_sync, CounterPoint(now.time_s, value, count)


def test_kv_sync_thread_with_other_work_is_a_change() -> None:
    """Replicas' writes and recovery show there only; slower syncs in the time only."""
    now = sample(140.0, 40 * RATE)
    assert steady(now, kv_sync(now))
    assert not steady(now, kv_sync(now, total=2.0, rounds=2.0))
    assert not steady(now, kv_sync(now, rounds=0.7))
    assert not steady(now, kv_sync(now, total=2.2))
    # Times vary
    assert steady(now, kv_sync(now, total=1.8))


def test_chance_alone_is_no_change_of_an_idle_osd() -> None:
    def steady_after(operations: int, rounds: int, total_ms: float) -> bool:
        mgr, idle = Mgr(), (sample(100.0, 0), sample(130.0, 0))
        mgr.points[0, ALL_OPERATIONS] = CounterPoint(140.0, operations, None)
        mgr.points[0, NAMES.kv_sync] = CounterPoint(140.0, round(total_ms * 1e6), rounds)
        return is_steady(mgr, history(*idle), 141.0)

    assert steady_after(10, 10, 100.0)
    assert not steady_after(11, 10, 100.0)
    assert not steady_after(10, 11, 100.0)
    assert not steady_after(10, 10, 101.0)


def test_counters_that_cannot_be_compared_are_no_proof_of_steadiness() -> None:
    now = sample(140.0, 40 * RATE)
    done, rounds = 40 * RATE * 2, now.kv_sync or (0, 0)
    assert steady(now, (ALL_OPERATIONS, CounterPoint(140.0, done, None)))
    assert not steady(now, (ALL_OPERATIONS, None))
    assert not steady(now, (NAMES.kv_sync, None))
    # Of another kind
    assert not steady(now, (ALL_OPERATIONS, CounterPoint(140.0, done, done)))
    assert not steady(now, (NAMES.kv_sync, CounterPoint(140.0, rounds[0], None)))
    # Of two reports
    assert not steady(now, (ALL_OPERATIONS, CounterPoint(139.0, done, None)))
    # Of an earlier report than the newest sample
    assert not steady(sample(129.0, 29 * RATE))
    # Reset
    assert not steady(sample(140.0, 10))


def test_stale_report_is_no_proof_of_steadiness_and_an_old_sample_does_not_matter() -> None:
    assert not steady(BEFORE[-1], now_s=130.0 + DEFAULT.stale_s + 1)
    assert steady(BEFORE[-1], now_s=130.0 + DEFAULT.stale_s)
    assert steady(sample(190.0, 90 * RATE), now_s=190.0 + DEFAULT.stale_s)


@pytest.mark.parametrize('missing', ['kv_sync', 'op_w', 'op_r', 'op_rw'])
@pytest.mark.parametrize('place', [0, 1])
def test_history_with_an_unknown_counter_is_no_proof_of_steadiness(
    missing: str, place: int
) -> None:
    mgr, known = Mgr(), list(BEFORE)
    known[place] = Sample(**{**known[place]._asdict(), missing: None})
    mgr.report(0, sample(140.0, 40 * RATE))
    for unknown in (history(*known), history(BEFORE[0]), history()):
        assert not is_steady(mgr, unknown, 142.0)


@given(rate=st.integers(0, 5000), factor=st.floats(0, 4), passed_s=st.floats(5, 29))
def test_more_than_a_tolerated_change_is_never_steady(
    rate: int, factor: float, passed_s: float
) -> None:
    before = (sample(100.0, 0), sample(130.0, 30 * rate))
    done = round(rate * passed_s * factor)
    mgr = Mgr()
    mgr.report(0, sample(130.0 + passed_s, 30 * rate + done))
    found = is_steady(mgr, history(*before), 130.0 + passed_s)
    expected = rate * passed_s
    if abs(done - expected) > 0.26 * expected + 11:
        assert not found
    # Each write is a read too.
    if abs(done - expected) < 0.24 * expected + 4:
        assert found


def running(mgr: Mgr) -> Observer:
    """An observer that has sampled `OSDS` equal OSDs for 30 s."""
    observer = Observer()
    for time_s in (100.0, 130.0):
        for osd_id in range(OSDS):
            mgr.report(osd_id, sample(time_s, round(time_s - 100) * RATE))
        observer.observe(mgr, cluster_of(*(osd_info(n) for n in range(OSDS))), time_s + 1)
    mgr.read.clear()
    return observer


def lightly(
    mgr: Mgr, observer: Observer, osds: Sequence[OsdInfo], only: Sequence[int] = ()
) -> set[int]:
    """One tick at 142 s; returns the OSDs that all counters were read of."""
    observer.observe(mgr, cluster_of(*osds), 142.0, only)
    return {n for n, paths in mgr.read.items() if not paths <= {ALL_OPERATIONS, NAMES.kv_sync}}


def test_only_changed_osds_are_read_in_full_between_full_ticks() -> None:
    mgr = Mgr()
    observer = running(mgr)
    for osd_id in range(OSDS):
        mgr.report(osd_id, sample(140.0, (90 if osd_id == 13 else 40) * RATE))
    before = observer.signals()
    read = lightly(mgr, observer, [osd_info(n) for n in range(OSDS)], only=(5,))
    assert read == {5, 13}
    found = observer.signals()
    for osd_id in range(OSDS):
        if osd_id in read:
            assert found[osd_id].sampled_s == 140.0
        else:
            assert found[osd_id] == before[osd_id]
            assert found[osd_id].sampled_s == 130.0
    assert observer.newest_report_s == 140.0
    write_iops = found[13].write_iops
    assert write_iops is not None
    assert write_iops > 2 * RATE


def test_osd_that_restarts_or_stops_reporting_has_no_old_signals_between_full_ticks() -> None:
    mgr = Mgr()
    observer = running(mgr)
    osds = [osd_info(n, nonce=8 if n == 12 else 7, up=n != 14) for n in range(OSDS)]
    for osd_id in range(OSDS):
        mgr.report(osd_id, sample(140.0, 40 * RATE))
    mgr.report(12, sample(130.0, 30 * RATE))
    mgr.report(15, sample(142.0 - DEFAULT.stale_s - 1, 1))
    lightly(mgr, observer, osds)
    assert not {12, 14, 15} & observer.signals().keys()
    assert len(observer.signals()) == OSDS - 3
