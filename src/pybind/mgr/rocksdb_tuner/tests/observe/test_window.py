"""Windows: what happened between two samples, and never a figure from counters that were reset."""

from __future__ import annotations

from typing import Any, Optional, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.observe.sample import Sample, names_for
from rocksdb_tuner.observe.signals import Signals, signals
from rocksdb_tuner.observe.window import (
    ANCHOR_SPACING_S,
    MAX_GAP_S,
    MIN_WINDOW_S,
    SHORT_WINDOW_S,
    Anchor,
    Latency,
    OsdHistory,
    Window,
    comparable,
    window,
)
from rocksdb_tuner.tests.workload.replay import load

from .samples import osd_info, sample

_counts = st.integers(0, 2**63)
_maybe_count = st.none() | _counts
_maybe_latency = st.none() | st.tuples(_counts, _counts)


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    latencies = {'kv_sync', 'kv_flush', 'commit', 'op_w_latency'}
    values = {
        field: draw(_maybe_latency if field in latencies else _maybe_count)
        for field in Sample._fields[2:]
    }
    return Sample(
        time_s=draw(st.floats(0, 2e9)),
        nonce=draw(st.integers(1, 3)),
        **values,  # type: ignore[arg-type]
    )


def test_differences_of_two_samples() -> None:
    found = window(sample(100.0, 50), sample(110.0, 150))
    assert found is not None
    assert found.window_s == 10.0
    assert found.op_w == 100
    assert found.op_w_in_bytes == 409600
    assert found.kv_sync == Latency(total_s=0.2, operations=100)
    assert found.kv_sync.mean_ms == 2.0


def test_restart_ends_the_window() -> None:
    assert window(sample(100.0, 50), sample(110.0, 60, nonce=8)) is None


def test_one_decreased_counter_invalidates_all_differences() -> None:
    after = sample(110.0, 150)._replace(op_r=49)
    assert window(sample(100.0, 50), after) is None


def test_gauge_may_decrease() -> None:
    after = sample(110.0, 150)._replace(db_used_bytes=0)
    assert window(sample(100.0, 50), after) is not None


def test_counter_missing_at_one_end_is_unknown_and_others_are_known() -> None:
    found = window(sample(100.0, 50)._replace(op_rw=None), sample(110.0, 150))
    assert found is not None
    assert found.op_rw is None
    assert found.op_w == 100


@given(samples(), samples())
def test_no_difference_is_ever_negative(before: Sample, after: Sample) -> None:
    found = window(before, after)
    if found is None:
        return
    assert before.nonce == after.nonce
    assert found.window_s > 0
    for value in found[1:]:
        if isinstance(value, Latency):
            assert value.total_s >= 0
            assert value.operations >= 0
        elif value is not None:
            assert value >= 0


def test_comparable_samples_are_those_with_a_window() -> None:
    """The cheap question has the answer of the expensive one."""
    first = sample(100.0, 10)
    for second in (
        sample(110.0, 20),
        sample(110.0, 10),
        sample(110.0, 9),
        sample(110.0, 20, nonce=8),
        sample(102.0, 20),
        sample(110.0, 20)._replace(op_w=None),
        sample(110.0, 20)._replace(op_w=None, op_r=1),
        sample(110.0, 20)._replace(kv_sync=(0, 20)),
    ):
        assert comparable(first, second) is (window(first, second) is not None)


def filled(count: int, every_s: float) -> OsdHistory:
    history = OsdHistory()
    for i in range(count):
        history = history.added(sample(1000.0 + i * every_s, 10 * i))
    return history


def short(history: OsdHistory) -> Window:
    found = history.short()
    assert found is not None
    return found


def test_short_window_spans_half_a_minute() -> None:
    history = filled(60, 10.0)
    assert short(history).window_s == SHORT_WINDOW_S


def test_rare_samples_still_give_a_window_of_two() -> None:
    history = filled(5, 75.0)
    assert short(history).window_s == 75.0


def test_delayed_report_is_skipped_and_ends_nothing() -> None:
    history = filled(3, 10.0)
    before = history.short()
    history = history.added(sample(1020.0 + MIN_WINDOW_S / 2, 70))
    assert history.short() == before
    history = history.added(sample(1030.0, 80))
    assert short(history).window_s == 30.0


def test_clock_set_back_restarts_the_window() -> None:
    history = filled(3, 10.0)
    history = history.added(sample(500.0, 30))
    at_once = history.short()
    history = history.added(sample(510.0, 40))
    assert at_once is None
    assert (short(history).window_s, short(history).op_w) == (10.0, 10)


def test_restart_discards_all_earlier_samples() -> None:
    history = filled(30, 60.0)
    history = history.added(sample(5000.0, 1, nonce=8))
    history = history.added(sample(5010.0, 3, nonce=8))
    assert (short(history).window_s, short(history).op_w) == (10.0, 2)
    written = history.written()
    assert written is not None
    assert written.window_s == 10.0


def test_counter_reset_discards_all_earlier_samples() -> None:
    history = filled(3, 10.0)
    history = history.added(sample(1030.0, 1))
    assert history.short() is None


def test_long_gap_ends_the_window() -> None:
    history = filled(3, 10.0)
    history = history.added(sample(1020.0 + MAX_GAP_S + 1, 1000))
    assert history.short() is None


def test_long_window_spans_one_to_two_hours() -> None:
    history = filled(2000, 10.0)
    written = history.written()
    assert written is not None
    assert ANCHOR_SPACING_S <= written.window_s <= 2 * ANCHOR_SPACING_S
    assert written.wal_bytes == int(written.window_s) * 16384
    assert written.sst_bytes == int(written.window_s) * 32768


def test_points_of_the_long_window_are_the_samples_they_were_taken_from() -> None:
    """The newest ones, whatever 64 bits of a counter hold."""
    history, most = OsdHistory(), (1 << 64) - 1
    taken = []
    for i in range(5):
        time_s = 1000.0 + i * ANCHOR_SPACING_S
        taken.append(Anchor(time_s, most - 9 + i, most))
        history = history.added(
            sample(time_s, i)._replace(
                bytes_written_wal=taken[-1].wal_bytes, bytes_written_sst=most
            )
        )
        # Too close for another one
        history = history.added(sample(time_s + 1, i))
    assert history.anchors == tuple(taken[-2:])


def test_without_bluefs_counters_there_is_no_long_window() -> None:
    history = filled(3, 10.0)
    history = history.added(sample(1030.0, 100)._replace(bytes_written_sst=None))
    assert history.written() is None


_Counter = Union[None, int, tuple[int, int]]


def _difference(old: _Counter, new: _Counter) -> Union[int, Latency, None]:
    """Raises ValueError for a counter that was reset."""
    if old is None or new is None:
        return None
    if isinstance(old, tuple) and isinstance(new, tuple):
        total, count = new[0] - old[0], new[1] - old[1]
        if min(total, count) < 0:
            raise ValueError
        return Latency(total / 1e9, count)
    assert isinstance(old, int)
    assert isinstance(new, int)
    if new < old:
        raise ValueError
    return new - old


def plain_window(before: Sample, after: Sample) -> Optional[Window]:
    """The difference of each counter by its name."""
    window_s = after.time_s - before.time_s
    if before.nonce != after.nonce or window_s < MIN_WINDOW_S:
        return None
    try:
        found = {
            field: _difference(getattr(before, field), getattr(after, field))
            for field in Window._fields[1:]
        }
    except ValueError:
        return None
    return Window(window_s=window_s, **found)  # type: ignore[arg-type]


def _over(amount: Optional[float], whole: Optional[float]) -> Optional[float]:
    return None if amount is None or not whole else amount / whole


def _sum(a: Optional[int], b: Optional[int]) -> Optional[int]:
    return None if a is None or b is None else a + b


def _ms(latency: Optional[Latency]) -> Optional[float]:
    return None if latency is None else latency.mean_ms


def plain_signals(history: OsdHistory, dedicated_db: Optional[bool]) -> Signals:
    """The signals that come from the newest window and the newest sample, by their names."""
    newest, w = history.newest, history.short()
    assert newest is not None
    alone = dedicated_db is True
    found = Signals(
        osd_id=0,
        sampled_s=newest.time_s,
        db_device_shared=None if dedicated_db is None else not dedicated_db,
        db_used_bytes=newest.db_used_bytes,
        db_total_bytes=newest.db_total_bytes if alone else None,
        wal_used_bytes=newest.wal_used_bytes if newest.wal_total_bytes else None,
        wal_total_bytes=newest.wal_total_bytes or None,
        slow_used_bytes=newest.slow_used_bytes if newest.slow_total_bytes else None,
        slow_total_bytes=newest.slow_total_bytes or None,
    )
    if w is None:
        return found
    return found._replace(
        window_s=w.window_s,
        kv_sync_ms=_ms(w.kv_sync),
        kv_sync_busy=None if w.kv_sync is None else min(1.0, w.kv_sync.total_s / w.window_s),
        kv_flush_ms=_ms(w.kv_flush),
        commit_ms=_ms(w.commit),
        op_w_latency_ms=_ms(w.op_w_latency),
        write_iops=_over(w.op_w, w.window_s),
        read_iops=_over(w.op_r, w.window_s),
        rw_iops=_over(w.op_rw, w.window_s),
        write_bytes_per_s=_over(w.op_w_in_bytes, w.window_s),
        read_bytes_per_s=_over(w.op_r_out_bytes, w.window_s),
        rw_bytes_per_s=_over(w.op_rw_in_bytes, w.window_s),
        write_bytes_avg=_over(w.op_w_in_bytes, w.op_w),
        read_bytes_avg=_over(w.op_r_out_bytes, w.op_r),
        recovery_ops_per_s=_over(w.recovery_ops, w.window_s),
        recovery_bytes_per_s=_over(w.recovery_bytes, w.window_s),
        wal_bytes_per_s=_over(w.bytes_written_wal, w.window_s),
        sst_bytes_per_s=_over(w.bytes_written_sst, w.window_s),
        slow_bytes_per_s=_over(w.bytes_written_slow, w.window_s),
        wal_bytes_per_client_byte=_over(
            w.bytes_written_wal, _sum(w.op_w_in_bytes, w.op_rw_in_bytes)
        ),
        wal_bytes_per_write_op=_over(w.bytes_written_wal, _sum(w.op_w, w.op_rw)),
    )


#: Signals of the long window, or of RocksDB's own statistics.
OTHERS = frozenset(
    {
        'compaction_bytes_per_s',
        'compaction_source',
        'compaction_window_s',
        'db_write_amp',
        'db_write_amp_window_s',
    }
)


#: Growth of a counter between two samples; 0: it stood still, below: it was reset.
_growth = st.integers(-1, 3).map(lambda n: n * 123_457_003)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Sample, Sample]:
    """Two samples of a process that mostly can be compared, with counters that stand still."""
    before = draw(samples())
    grown: dict[str, Any] = {}
    for field in Sample._fields[2:]:
        old, by = getattr(before, field), draw(_growth)
        if isinstance(old, tuple):
            grown[field] = (max(0, old[0] + by), max(0, old[1] + by // 1000))
        elif old is not None:
            grown[field] = max(0, old + by)
    apart_s = draw(st.sampled_from((1.0, 5.0, 30.0)))
    return before, before._replace(time_s=before.time_s + apart_s, **grown)


@given(pairs(), st.sampled_from((None, True, False)))
def test_any_two_samples_give_the_same(
    both: tuple[Sample, Sample], dedicated_db: Optional[bool]
) -> None:
    """Windows are equal, and so is each signal that is made of them."""
    assert window(*both) == plain_window(*both)
    history = OsdHistory()
    for one in both:
        history = history.added(one)
    osd = osd_info(dedicated_db=dedicated_db)  # type: ignore[arg-type]
    _compare(history, dedicated_db, signals(osd, history, None))


def _compare(history: OsdHistory, dedicated_db: object, found: object) -> None:
    expected = plain_signals(history, dedicated_db)  # type: ignore[arg-type]
    for field in expected._fields:
        if field not in OTHERS:
            assert getattr(found, field) == getattr(expected, field), field


@pytest.mark.parametrize('name', ['s3-put', 'rbd-randwrite', 'recovery'])
def test_recorded_osds_give_the_same(name: str) -> None:
    """Every report of real OSDs under clients."""
    histories: dict[int, OsdHistory] = {}
    windows = 0
    names = names_for(load(name).release)._asdict()
    for report in load(name).reports:
        points = report.points
        taken = sample(report.time_s, 0, report.nonce)
        known: dict[str, Any] = {
            field: point[1:] if point.avgcount is not None else point.value
            for field, path in names.items()
            for point in [points.get(path)]
            if point is not None
        }
        history = histories.get(report.osd_id, OsdHistory()).added(taken._replace(**known))
        histories[report.osd_id] = history
        _compare(history, False, signals(osd_info(), history, None))
        recent = history.recent
        if len(recent) > 1:
            windows += 1
            assert history.short() == plain_window(recent[0], recent[-1])
    assert windows > 20
