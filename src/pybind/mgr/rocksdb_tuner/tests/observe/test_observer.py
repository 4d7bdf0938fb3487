"""Counters in, signals out: unknown is None, and nothing comes from a process that is gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
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


class Watching:
    """An observer of one OSD."""

    def __init__(self) -> None:
        self.table, self.observer = CounterTable(), Observer()

    def observe(self, osd: OsdInfo, now_s: float) -> Optional[Signals]:
        self.observer.observe(self.table, cluster_of(osd), now_s)
        return self.observer.signals().get(osd.osd_id)

    def report(
        self, time_s: float, progress: int, nonce: int = 7, changed: Mapping[str, CounterPoint] = {}
    ) -> Optional[Signals]:
        """The signals right after a report in which some counters are others."""
        self.table.report(0, sample(time_s, progress, nonce))
        points = {(0, getattr(NAMES, field)): point for field, point in changed.items()}
        self.table.points.update(points)
        return self.observe(osd_info(nonce=nonce), time_s + 1.0)


def second(changed: Mapping[str, CounterPoint] = {}) -> Signals:
    """The signals of an OSD after its second report."""
    watching = Watching()
    watching.report(100.0, 0)
    found = watching.report(110.0, 1000, changed=changed)
    assert found is not None
    return found


def test_signals_of_a_busy_osd() -> None:
    found = second()
    assert (found.window_s, found.age_s(112.5)) == (10.0, 2.5)
    assert (found.kv_sync_ms, found.kv_sync_busy, found.commit_ms) == (2.0, 0.2, 3.0)
    assert (found.write_iops, found.write_bytes_avg, found.read_bytes_avg) == (100, 4096, 8192)
    assert (found.wal_bytes_per_s, found.wal_bytes_per_client_byte) == (1638400.0, 4.0)
    # What no flush can explain.
    assert found.compaction_source == 'estimated'
    assert found.compaction_bytes_per_s == (32768 - 16384) * 100


def test_one_sample_gives_sizes_and_no_rates() -> None:
    found = Watching().report(100.0, 1000)
    assert found is not None
    assert found.db_used_bytes == 10 * MIB
    rates = [f for f in Signals._fields if f.endswith(('_per_s', '_iops', '_ms'))]
    assert all(getattr(found, name) is None for name in rates)


def test_osd_down_removed_silent_or_without_reports_has_no_signals() -> None:
    watching = Watching()
    for gone in (osd_info(up=False), osd_info(1), osd_info(0, None)):
        assert watching.report(100.0, 1000) is not None
        assert watching.observe(gone, 102.0) is None
    assert watching.observer.answers.next_statistics(watching.observer.seen(), 111.0) == ()
    assert watching.observe(osd_info(), 101.0 + DEFAULT.stale_s) is None


@pytest.mark.parametrize(
    ('counter', 'point', 'signal'),
    [
        # No longer sent
        ('op_r', CounterPoint(50.0, 999, None), 'read_iops'),
        # Of another type
        ('op_r', CounterPoint(110.0, 5, 5), 'read_iops'),
        ('commit', CounterPoint(110.0, 5, None), 'commit_ms'),
    ],
)
def test_counter_that_is_stale_or_of_another_type_is_unknown(
    counter: str, point: CounterPoint, signal: str
) -> None:
    found = second({counter: point})
    assert getattr(found, signal) is None
    assert found.write_iops == 100.0


def test_old_report_after_a_restart_is_not_attributed_to_the_new_process() -> None:
    watching = Watching()
    for step in range(3):
        watching.report(100.0 + 10 * step, 1000 * step)
    assert watching.observe(osd_info(nonce=8), 130.0) is None
    first = watching.report(135.0, 5, 8)
    assert first is not None
    assert first.write_iops is None
    then = watching.report(145.0, 25, 8)
    assert then is not None
    assert then.write_iops == 2.0


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
        if done is not None:
            self.points[osd_id, ALL_OPERATIONS] = done


def history(*samples: Sample) -> OsdHistory:
    found = OsdHistory()
    for one in samples:
        found = found.added(one)
    return found


#: Two reports of an OSD that does `RATE` writes and as many reads a second.
BEFORE = (sample(100.0, 0), sample(130.0, 30 * RATE))
KNOWN = history(*BEFORE)


def steady(
    now: Sample,
    done: Optional[CounterPoint] = None,
    kv_sync: Optional[CounterPoint] = None,
    known: OsdHistory = KNOWN,
    now_s: float = 142.0,
) -> bool:
    """Whether an OSD is steady when it reports ``now``, or these of all operations and rounds."""
    mgr = Mgr()
    mgr.report(0, now)
    if done is not None:
        mgr.points[0, ALL_OPERATIONS] = done
    if kv_sync is not None:
        mgr.points[0, NAMES.kv_sync] = kv_sync
    return steady_report_s(mgr, 0, NAMES, known, now_s) is not None


NOW = sample(140.0, 40 * RATE)


def of_rounds(total: float = 1.0, rounds: float = 1.0) -> CounterPoint:
    """Other work of the kv_sync thread since `BEFORE`, as factors of what it would be."""
    assert NOW.kv_sync is not None
    assert BEFORE[-1].kv_sync is not None
    value, count = (
        round(old + factor * (new - old))
        for old, new, factor in zip(BEFORE[-1].kv_sync, NOW.kv_sync, (total, rounds))
    )
    return CounterPoint(NOW.time_s, value, count)


@pytest.mark.parametrize(
    ('is_steady', 'case'),
    [
        (True, partial(steady, NOW)),
        # Without a newer report too
        (True, partial(steady, BEFORE[-1])),
        *(
            (False, partial(steady, sample(140.0, round((30 + 10 * k) * RATE))))
            for k in (0, 0.7, 1.3, 10)
        ),
        # Replicas' writes and recovery show in the kv_sync thread only; slower syncs in its time
        (True, partial(steady, NOW, None, of_rounds())),
        (True, partial(steady, NOW, None, of_rounds(total=1.8))),
        (False, partial(steady, NOW, None, of_rounds(total=2.2))),
        (False, partial(steady, NOW, None, of_rounds(rounds=0.7))),
        (False, partial(steady, NOW, None, of_rounds(total=2.0, rounds=2.0))),
        # Of another kind, of two reports
        (True, partial(steady, NOW, CounterPoint(140.0, 80 * RATE, None))),
        (False, partial(steady, NOW, CounterPoint(140.0, 80 * RATE, 80 * RATE))),
        (False, partial(steady, NOW, CounterPoint(139.0, 80 * RATE, None))),
        (False, partial(steady, NOW, None, CounterPoint(140.0, 40 * RATE * 2_000_000, None))),
        # Not sent
        (False, partial(steady, NOW._replace(kv_sync=None))),
        (False, partial(steady, NOW._replace(op_r=None))),
        # Of an earlier report than the newest sample, reset
        (False, partial(steady, sample(129.0, 29 * RATE))),
        (False, partial(steady, sample(140.0, 10))),
        # A stale report; an old sample does not matter
        (True, partial(steady, BEFORE[-1], now_s=130.0 + DEFAULT.stale_s)),
        (False, partial(steady, BEFORE[-1], now_s=130.0 + DEFAULT.stale_s + 1)),
        (True, partial(steady, sample(190.0, 90 * RATE), now_s=190.0 + DEFAULT.stale_s)),
        # Too short a history
        (False, partial(steady, NOW, known=history())),
        (False, partial(steady, NOW, known=history(BEFORE[0]))),
    ],
)
def test_only_the_same_pace_in_comparable_counters_is_steady(
    is_steady: bool, case: Callable[[], bool]
) -> None:
    assert case() is is_steady


def test_chance_alone_is_no_change_of_an_idle_osd() -> None:
    def steady_after(operations: int, rounds: int, total_ms: float) -> bool:
        done = CounterPoint(140.0, operations, None)
        kv_sync = CounterPoint(140.0, round(total_ms * 1e6), rounds)
        return steady(sample(140.0, 0), done, kv_sync, history(sample(100.0, 0), sample(130.0, 0)))

    assert steady_after(10, 10, 100.0)
    assert not steady_after(11, 10, 100.0)
    assert not steady_after(10, 11, 100.0)
    assert not steady_after(10, 10, 101.0)


@pytest.mark.parametrize('missing', ['kv_sync', 'op_w', 'op_r', 'op_rw'])
@pytest.mark.parametrize('place', [0, 1])
def test_history_with_an_unknown_counter_is_no_proof_of_steadiness(
    missing: str, place: int
) -> None:
    known = list(BEFORE)
    known[place] = known[place]._replace(**{missing: None})  # type: ignore[arg-type]
    assert not steady(NOW, known=history(*known))


@given(rate=st.integers(0, 5000), factor=st.floats(0, 4), passed_s=st.floats(5, 29))
def test_more_than_a_tolerated_change_is_never_steady(
    rate: int, factor: float, passed_s: float
) -> None:
    known, done = (
        history(sample(100.0, 0), sample(130.0, 30 * rate)),
        round(rate * passed_s * factor),
    )
    now_s = 130.0 + passed_s
    found = steady(sample(now_s, 30 * rate + done), known=known, now_s=now_s)
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
