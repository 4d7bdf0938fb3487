"""Counters in, signals out: unknown is None, and nothing comes from a process that is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.mgr.records import ClusterMap, CounterPoint, OsdInfo
from rocksdb_tuner.observe.history import MAX_SHARE, MIN_INTERVAL_S, choose_interval
from rocksdb_tuner.observe.observer import Observer
from rocksdb_tuner.observe.report_interval import DEFAULT
from rocksdb_tuner.observe.sample import Sample, take_sample
from rocksdb_tuner.observe.signals import Signals

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


def test_idle_osd_has_zero_rates_and_no_means() -> None:
    found = two_samples(osd_info(), 1000, 1000)
    assert (found.write_iops, found.read_iops, found.kv_sync_busy) == (0.0, 0.0, 0.0)
    assert found.kv_sync_ms is None
    assert found.write_bytes_avg is None
    assert found.wal_bytes_per_client_byte is None


def test_one_sample_gives_sizes_and_no_rates() -> None:
    table, observer = CounterTable(), Observer()
    table.report(0, sample(100.0, 1000))
    found = observed(table, observer, osd_info(), 101.0)
    assert found.db_used_bytes == 10 * MIB
    rates = [f for f in Signals._fields if f.endswith(('_per_s', '_iops', '_ms'))]
    assert all(getattr(found, name) is None for name in rates)


def test_shared_device_has_no_db_limit_and_a_dedicated_one_does() -> None:
    assert two_samples(osd_info()).db_total_bytes is None
    assert two_samples(osd_info()).db_device_shared is True
    assert two_samples(osd_info(dedicated_db=True)).db_total_bytes == 100 * MIB


def test_missing_devices_are_unknown_and_not_empty() -> None:
    found = two_samples(osd_info())
    assert found.wal_used_bytes is None
    assert found.slow_used_bytes is None


def test_write_amplification_needs_flushes() -> None:
    assert two_samples(osd_info(), after=100).db_write_amp is None
    assert two_samples(osd_info(), after=10_000).db_write_amp == pytest.approx(3.0)


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
    table.points[0, NAMES.op_w] = CounterPoint(50.0, 999, None)
    found = observed(table, observer, osd_info(), 111.0)
    assert found.write_iops is None
    assert found.read_iops == 100.0


class ReportsWhileRead(CounterTable):
    """The next report arrives when half of the counters have been read."""

    def __init__(self, then: Sample) -> None:
        super().__init__()
        self._then = then
        self._left = len(NAMES) // 2

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        points: list[Optional[CounterPoint]] = []
        for path in paths:
            self._left -= 1
            if self._left == 0:
                self.report(osd_id, self._then)
            points += super().latest(osd_id, [path])
        return points


def test_report_arriving_during_the_read_is_taken_as_a_whole() -> None:
    then = sample(105.0, 2000)
    table = ReportsWhileRead(then)
    table.report(0, sample(100.0, 1000))
    assert take_sample(table, 0, 7, NAMES, 105.0) == then


def test_device_sizes_and_unused_devices_are_read_once_per_process() -> None:
    table = CounterTable()
    table.report(0, sample(100.0, 1000))
    first = take_sample(table, 0, 7, NAMES, 100.0)
    assert first is not None
    then = sample(105.0, 2000)
    table.report(0, then)
    of_devices = {
        NAMES.db_total_bytes, NAMES.wal_total_bytes, NAMES.wal_used_bytes, NAMES.slow_total_bytes,
        NAMES.slow_used_bytes,
    }  # fmt: skip
    for path in of_devices:
        table.points[0, path] = CounterPoint(105.0, 1 << 40)
    assert take_sample(table, 0, 7, NAMES, 105.0, known=first) == then
    # Another process may have other devices.
    other = take_sample(table, 0, 8, NAMES, 105.0, known=first)
    assert other is not None
    assert other.wal_used_bytes == 1 << 40


def test_usage_of_an_existing_device_is_read_again() -> None:
    table = CounterTable()
    table.report(0, sample(100.0, 1000)._replace(wal_total_bytes=MIB, slow_total_bytes=MIB))
    first = take_sample(table, 0, 7, NAMES, 100.0)
    for path in (NAMES.db_used_bytes, NAMES.wal_used_bytes, NAMES.slow_used_bytes):
        table.points[0, path] = CounterPoint(100.0, 4096)
    found = take_sample(table, 0, 7, NAMES, 100.0, known=first)
    assert found is not None
    assert (found.db_used_bytes, found.wal_used_bytes, found.slow_used_bytes) == (4096,) * 3


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
    assert observer.deep_requests(111.0) == ()


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


def test_typical_cluster_is_sampled_every_ten_seconds() -> None:
    assert choose_interval(3, None, 0.0) == 10.0
    assert choose_interval(1000, 0.15, 0.0) == 10.0
