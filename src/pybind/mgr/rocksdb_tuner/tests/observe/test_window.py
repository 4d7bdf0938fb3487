"""Windows: what happened between two samples, and never a figure from counters that were reset."""

from __future__ import annotations

from typing import Any, Optional, Union

from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.observe.sample import Sample
from rocksdb_tuner.observe.signals import signals
from rocksdb_tuner.observe.window import (
    ANCHOR_SPACING_S,
    MAX_GAP_S,
    MIN_WINDOW_S,
    SHORT_WINDOW_S,
    Anchor,
    Latency,
    OsdHistory,
    Window,
    window,
)

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


def test_gauge_may_decrease() -> None:
    after = sample(110.0, 150)._replace(db_used_bytes=0)
    assert window(sample(100.0, 50), after) is not None


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


#: Signals of the newest window: the counters that each is made of, and what it is over.
RATES = {
    'write_iops': 'op_w',
    'read_iops': 'op_r',
    'rw_iops': 'op_rw',
    'write_bytes_per_s': 'op_w_in_bytes',
    'read_bytes_per_s': 'op_r_out_bytes',
    'rw_bytes_per_s': 'op_rw_in_bytes',
    'recovery_ops_per_s': 'recovery_ops',
    'recovery_bytes_per_s': 'recovery_bytes',
    'wal_bytes_per_s': 'bytes_written_wal',
    'sst_bytes_per_s': 'bytes_written_sst',
    'slow_bytes_per_s': 'bytes_written_slow',
}
RATIOS = {
    'write_bytes_avg': ('op_w_in_bytes', ('op_w',)),
    'read_bytes_avg': ('op_r_out_bytes', ('op_r',)),
    'wal_bytes_per_client_byte': ('bytes_written_wal', ('op_w_in_bytes', 'op_rw_in_bytes')),
    'wal_bytes_per_write_op': ('bytes_written_wal', ('op_w', 'op_rw')),
}
MEANS = {
    'kv_sync_ms': 'kv_sync',
    'kv_flush_ms': 'kv_flush',
    'commit_ms': 'commit',
    'op_w_latency_ms': 'op_w_latency',
}
#: Sizes: only of a device that is there, and for the DB one that has it alone.
SIZES = {'db_used_bytes': None, 'wal_used_bytes': 'wal', 'slow_used_bytes': 'slow'}


@given(pairs(), st.sampled_from((None, True, False)))
def test_any_two_samples_give_the_signals_of_their_counters(
    both: tuple[Sample, Sample], dedicated_db: Optional[bool]
) -> None:
    """By their names; the module takes them by position."""
    assert window(*both) == plain_window(*both)
    history = OsdHistory()
    for one in both:
        history = history.added(one)
    newest, w = history.newest, history.short()
    assert newest is not None
    found = signals(osd_info(dedicated_db=dedicated_db), history, None)  # type: ignore[arg-type]
    assert (found.osd_id, found.sampled_s) == (0, newest.time_s)
    assert found.db_device_shared == (None if dedicated_db is None else not dedicated_db)
    assert found.db_total_bytes == (newest.db_total_bytes if dedicated_db else None)
    for signal, device in SIZES.items():
        total = getattr(newest, f'{device}_total_bytes') if device else 1
        assert getattr(found, signal) == (getattr(newest, signal) if total else None)
    if w is None:
        assert {getattr(found, name) for name in (*RATES, *RATIOS, *MEANS)} == {None}
        return
    assert found.window_s == w.window_s
    for signal, counter in RATES.items():
        amount = getattr(w, counter)
        assert getattr(found, signal) == (None if amount is None else amount / w.window_s), signal
    for signal, (counter, others) in RATIOS.items():
        parts = [getattr(w, other) for other in others]
        whole = None if None in parts else sum(parts)
        amount = getattr(w, counter)
        expected = None if amount is None or not whole else amount / whole
        assert getattr(found, signal) == expected, signal
    for signal, counter in MEANS.items():
        latency = getattr(w, counter)
        assert getattr(found, signal) == (latency.mean_ms if latency else None), signal
