"""A bounded memory that a restart empties."""

from __future__ import annotations

from rocksdb_tuner.observe.history import (
    ANCHOR_SPACING_S,
    MAX_GAP_S,
    MAX_INTERVAL_S,
    SHORT_WINDOW_S,
    Anchor,
    OsdHistory,
)
from rocksdb_tuner.observe.window import MIN_WINDOW_S, Window

from .samples import sample


def filled(count: int, every_s: float) -> OsdHistory:
    history = OsdHistory()
    for i in range(count):
        history.add(sample(1000.0 + i * every_s, 10 * i))
    return history


def short(history: OsdHistory) -> Window:
    found = history.short()
    assert found is not None
    return found


def test_one_sample_is_no_window() -> None:
    history = filled(1, 10.0)
    assert history.short() is None
    assert history.newest is not None


def test_short_window_spans_half_a_minute() -> None:
    history = filled(60, 10.0)
    assert short(history).window_s == SHORT_WINDOW_S


def test_rare_samples_still_give_a_window_of_two() -> None:
    history = filled(5, 75.0)
    assert short(history).window_s == 75.0


def test_repeated_report_changes_nothing() -> None:
    history = filled(3, 10.0)
    before = history.short()
    history.add(sample(1020.0, 20))
    assert history.short() == before


def test_delayed_report_is_skipped_and_ends_nothing() -> None:
    history = filled(3, 10.0)
    before = history.short()
    history.add(sample(1020.0 + MIN_WINDOW_S / 2, 70))
    assert history.short() == before
    history.add(sample(1030.0, 80))
    assert short(history).window_s == 30.0


def test_clock_set_back_restarts_the_window() -> None:
    history = filled(3, 10.0)
    history.add(sample(500.0, 30))
    at_once = history.short()
    history.add(sample(510.0, 40))
    assert at_once is None
    assert (short(history).window_s, short(history).op_w) == (10.0, 10)


def test_longest_interval_still_gives_windows() -> None:
    history = filled(2, MAX_INTERVAL_S)
    assert short(history).window_s == MAX_INTERVAL_S


def test_restart_discards_all_earlier_samples() -> None:
    history = filled(30, 60.0)
    history.add(sample(5000.0, 1, nonce=8))
    history.add(sample(5010.0, 3, nonce=8))
    assert (short(history).window_s, short(history).op_w) == (10.0, 2)
    written = history.written()
    assert written is not None
    assert written.window_s == 10.0


def test_counter_reset_discards_all_earlier_samples() -> None:
    history = filled(3, 10.0)
    history.add(sample(1030.0, 1))
    assert history.short() is None


def test_long_gap_ends_the_window() -> None:
    history = filled(3, 10.0)
    history.add(sample(1020.0 + MAX_GAP_S + 1, 1000))
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
        history.add(
            sample(time_s, i)._replace(
                bytes_written_wal=taken[-1].wal_bytes, bytes_written_sst=most
            )
        )
        # Too close for another one
        history.add(sample(time_s + 1, i))
    assert history.anchors == tuple(taken[-2:])


def test_without_bluefs_counters_there_is_no_long_window() -> None:
    history = filled(3, 10.0)
    history.add(sample(1030.0, 100)._replace(bytes_written_sst=None))
    assert history.written() is None
