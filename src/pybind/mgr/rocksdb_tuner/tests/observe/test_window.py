"""Windows: what happened between two samples, and never a figure from counters that were reset."""

from __future__ import annotations

from typing import Any, Optional

import pytest
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
    OsdHistory,
    Window,
    window,
)

from .samples import osd_info, sample

_LATENCIES = {'kv_sync', 'kv_flush', 'commit', 'op_w_latency'}
_counts = st.integers(0, 2**63)
#: Growth of a counter between two samples; 0: it stood still, below: it was reset.
_growth = st.integers(-1, 3).map(lambda n: n * 123_457_003)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Sample, Sample]:
    """Two samples of a process that mostly can be compared, with counters that stand still."""
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    old: Any
    for field in Sample._fields[2:]:
        one = st.tuples(_counts, _counts) if field in _LATENCIES else _counts
        old, by = draw(st.none() | one), draw(_growth)
        before[field] = after[field] = old
        if isinstance(old, tuple):
            after[field] = (max(0, old[0] + by), max(0, old[1] + by // 1000))
        elif old is not None:
            after[field] = max(0, old + by)
    begin_s, apart_s = draw(st.floats(0, 2e9)), draw(st.sampled_from((1.0, 5.0, 30.0)))
    return Sample(begin_s, 7, **before), Sample(begin_s + apart_s, 7, **after)


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
    assert short(filled(60, 10.0)).window_s == SHORT_WINDOW_S


def test_delayed_report_is_skipped_and_ends_nothing() -> None:
    before = filled(3, 10.0)
    history = before.added(sample(1020.0 + MIN_WINDOW_S / 2, 70))
    assert history == before
    assert short(history.added(sample(1030.0, 80))).window_s == 30.0


@pytest.mark.parametrize(
    'first',
    [
        pytest.param(sample(500.0, 30), id='clock set back'),
        pytest.param(sample(1030.0, 30, nonce=8), id='another process'),
        pytest.param(sample(1030.0, 1), id='reset'),
        pytest.param(sample(1020.0 + MAX_GAP_S + 1, 1000), id='gap'),
    ],
)
def test_sample_that_cannot_be_compared_begins_a_new_history(first: Sample) -> None:
    """Of the long window too."""
    history = filled(3, 10.0).added(first)
    assert (history.short(), history.recent) == (None, (first,))
    history = history.added(sample(first.time_s + 10.0, first.op_w + 10, first.nonce))  # type: ignore[operator]
    written = history.written()
    assert written is not None
    assert (short(history)[0], short(history).op_w, written.window_s) == (10.0, 10, 10.0)


def test_gauge_may_decrease() -> None:
    after = sample(110.0, 150)._replace(db_used_bytes=0)
    assert window(sample(100.0, 50), after) is not None
    assert window(sample(100.0, 50), after._replace(nonce=8)) is None


def test_long_window_spans_one_to_two_hours() -> None:
    written = filled(2000, 10.0).written()
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
    before, after = both

    def grown(counter: str) -> Any:
        old, new = getattr(before, counter), getattr(after, counter)
        if old is None or new is None:
            return None
        return tuple(b - a for a, b in zip(old, new)) if isinstance(old, tuple) else new - old

    history = OsdHistory().added(before).added(after)
    window_s = after.time_s - before.time_s
    amounts = [a for counter in Window._fields[1:] if (a := grown(counter)) is not None]
    fell = any(min(a) < 0 if isinstance(a, tuple) else a < 0 for a in amounts)
    newest = before if window_s < MIN_WINDOW_S else after
    found = signals(osd_info(dedicated_db=dedicated_db), history, None)  # type: ignore[arg-type]
    assert (found.osd_id, found.sampled_s) == (0, newest.time_s)
    assert found.db_device_shared == (None if dedicated_db is None else not dedicated_db)
    assert found.db_total_bytes == (newest.db_total_bytes if dedicated_db else None)
    for signal, device in SIZES.items():
        total = getattr(newest, f'{device}_total_bytes') if device else 1
        assert getattr(found, signal) == (getattr(newest, signal) if total else None)
    if fell or newest is before:
        assert {getattr(found, name) for name in (*RATES, *RATIOS, *MEANS)} == {None}
        return
    assert found.window_s == window_s
    for signal, counter in RATES.items():
        amount = grown(counter)
        assert getattr(found, signal) == (None if amount is None else amount / window_s), signal
    for signal, (counter, others) in RATIOS.items():
        parts = [grown(other) for other in others]
        whole = None if None in parts else sum(parts)
        amount = grown(counter)
        expected = None if amount is None or not whole else amount / whole
        assert getattr(found, signal) == expected, signal
    for signal, counter in MEANS.items():
        total_ns, count = grown(counter) or (0, 0)
        expected = total_ns / 1e9 * 1e3 / count if count else None
        assert getattr(found, signal) == expected, signal
