"""The work of OSDs and pools is kept in bounded memory, and nothing is invented for gaps."""

from __future__ import annotations

import math
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.mgr.parse import parse_pool_counters
from rocksdb_tuner.mgr.records import PoolCounters
from rocksdb_tuner.observe.load_history import (
    INTERVALS,
    LEAST,
    MAX_ERROR,
    MOST,
    SPACINGS_S,
    UNKNOWN,
    KeptWork,
    PoolHistory,
    PoolRates,
    Work,
    WorkHistory,
    decode,
    encode,
)
from rocksdb_tuner.observe.window import MAX_GAP_S

from .samples import MIB, sample

UNKNOWN_WORK = Work(*(None for _ in Work._fields))


def observed(times_s: list[float], nonces: Optional[list[int]] = None) -> WorkHistory:
    """One OSD with 10 writes per second, sampled then."""
    history = WorkHistory()
    for number, time_s in enumerate(times_s):
        nonce = 7 if nonces is None else nonces[number]
        history.add({0: sample(time_s, int(time_s * 10), nonce)}, time_s)
    return history


def every(step_s: float, count: int) -> list[float]:
    return [1000 + step_s * number for number in range(count)]


def test_interval_has_the_work_between_two_samples() -> None:
    kept = observed(every(30, 3)).read([0])
    assert list(kept.times_s) == [1000, 1030, 1060]
    found = kept.by_osd[0][0]
    assert found == pytest.approx(
        Work(
            kv_sync_s=0.6,
            txns=300,
            writes=300,
            write_s=1.5,
            db_bytes=300 * (16384 + 32768),
            db_used_bytes=10 * MIB,
        ),
        rel=MAX_ERROR,
    )
    assert len(kept.by_osd[0]) == 2


def test_restart_absence_and_unknown_counters_make_unknown_intervals() -> None:
    restarted = observed(every(30, 4), [7, 7, 8, 8]).read([0]).by_osd[0]
    assert [work == UNKNOWN_WORK for work in restarted] == [False, True, False]
    history = WorkHistory()
    history.add({0: sample(1000, 0)}, 1000)
    history.add({0: None, 1: sample(1030, 0)}, 1030)
    some = sample(1060, 900)._replace(bytes_written_sst=None, commit=None, db_used_bytes=None)
    history.add({0: sample(1060, 900), 1: some}, 1060)
    kept = history.read([0, 1, 9])
    assert kept.by_osd[0] == (UNKNOWN_WORK, UNKNOWN_WORK)
    # New OSDs are unknown before.
    assert kept.by_osd[1][0] == UNKNOWN_WORK
    assert kept.by_osd[1][1].kv_sync_s == pytest.approx(1.8, rel=MAX_ERROR)
    assert kept.by_osd[1][1][4:] == (None, None)
    assert kept.by_osd[1][1].txns is None
    assert kept.by_osd[9] == (UNKNOWN_WORK, UNKNOWN_WORK)


def test_removed_osd_is_dropped() -> None:
    history = observed(every(30, 3))
    history.add({1: sample(1090, 0)}, 1090)
    assert history.read([0]).by_osd[0] == (UNKNOWN_WORK,) * 3


@pytest.mark.parametrize('next_s', [990.0, 1060 + MAX_GAP_S + 1])
def test_gap_or_clock_jump_restarts_the_history(next_s: float) -> None:
    history = observed(every(30, 3))
    history.add({0: sample(next_s, 1)}, next_s)
    assert history.read([0]) == KeptWork((next_s,), SPACINGS_S[0], {0: ()})


@pytest.mark.parametrize('next_s', [990.0, 1060.0, 1075.0, 1086.9, 1087.0, 1060 + MAX_GAP_S + 1])
def test_early_samples_are_ignored_and_others_are_used(next_s: float) -> None:
    history = observed(every(30, 3))
    before, due = history.read([0]), history.due(next_s)
    history.add({0: sample(next_s, int(next_s * 10))}, next_s)
    assert (history.read([0]) != before) is due
    assert due is (not 1060 <= next_s < 1087)


@given(st.integers(2, 6 * INTERVALS), st.sampled_from([30.0, 60.0, 90.0, 300.0]))
def test_merged_intervals_hold_the_same_work_in_bounded_memory(count: int, step_s: float) -> None:
    """Sums stay sums, the newest sample stays the end, and intervals are as long as stated."""
    times_s = every(step_s, count)
    kept = observed(times_s).read([0])
    assert 1 <= len(kept.by_osd[0]) == len(kept.times_s) - 1 <= INTERVALS
    assert set(kept.times_s) <= set(times_s)
    lengths = [b - a for a, b in zip(kept.times_s, kept.times_s[1:])]
    for length, work in zip(lengths, kept.by_osd[0]):
        # Rounded when it was kept, and once at each of two merges.
        assert work.txns == pytest.approx(10 * length, rel=3 * MAX_ERROR)
        assert work.db_used_bytes == pytest.approx(10 * MIB, rel=MAX_ERROR)
    assert min(lengths) >= 0.9 * kept.spacing_s
    assert kept.spacing_s in SPACINGS_S
    # The last point may be up to one interval old.
    assert times_s[-1] - kept.times_s[-1] <= kept.spacing_s
    if count > 2 * INTERVALS:
        assert kept.times_s[-1] - kept.times_s[0] >= INTERVALS / 2 * step_s


def test_restart_makes_the_merged_interval_unknown() -> None:
    times_s = every(30, INTERVALS + 2)
    nonces = [7] * (INTERVALS - 1) + [8] * 3
    kept = observed(times_s, nonces).read([0])
    assert kept.spacing_s == SPACINGS_S[1]
    unknown = [number for number, work in enumerate(kept.by_osd[0]) if work.txns is None]
    assert len(unknown) == 1
    assert unknown[0] >= len(kept.by_osd[0]) - 2


@given(st.floats(LEAST, MOST))
def test_number_comes_back_within_the_stated_error(value: float) -> None:
    (code,) = encode([value])
    assert code != UNKNOWN
    assert decode(code) == pytest.approx(value, rel=MAX_ERROR)


def test_numbers_outside_of_the_range_become_its_ends() -> None:
    least, most, zero = encode([LEAST / 2, MOST * 10, 0])
    assert decode(least) == decode(zero) == 0.0
    assert decode(most) == pytest.approx(MOST, rel=MAX_ERROR)


@pytest.mark.parametrize('value', [None, math.nan, math.inf, -math.inf, -1.0])
def test_unknown_stays_unknown(value: float | None) -> None:
    """A counter that decreased was reset: its difference is not known."""
    (code,) = encode([value])
    assert decode(code) is None


def counters(writes: int) -> PoolCounters:
    return PoolCounters(reads=2 * writes, read_bytes=0, writes=writes, write_bytes=4096 * writes)


def test_rates_cover_the_same_time_as_those_of_osds() -> None:
    """Forty seconds are known, and the window reaches back thirty."""
    history = PoolHistory()
    for now_s, writes in ((0.0, 0), (10.0, 5000), (20.0, 5100), (30.0, 5200), (40.0, 5300)):
        history.add({1: counters(writes)}, now_s)
    assert history.rates() == {1: PoolRates(20.0, 0.0, 10.0, 40960.0)}


def test_pools_with_decreased_or_missing_counters_are_unknown() -> None:
    history = PoolHistory()
    history.add({2: counters(100), 3: counters(100)}, 0.0)
    history.add({1: counters(9), 2: counters(50), 3: counters(110)}, 10.0)
    assert set(history.rates()) == {3}


def test_new_pool_started_at_zero() -> None:
    """Ids of pools only grow, so a larger one than all before is new."""
    history = PoolHistory()
    history.add({3: counters(100)}, 0.0)
    history.add({3: counters(100), 4: counters(50)}, 10.0)
    assert history.rates()[4].writes_per_s == 5.0


@pytest.mark.parametrize('second_s', [10.0, 1001.0])
def test_clock_set_back_or_readings_too_close_together_give_no_rate(second_s: float) -> None:
    """Close together they may hold the same reports of the PGs."""
    history = PoolHistory()
    history.add({1: counters(100)}, 1000.0)
    history.add({1: counters(200)}, second_s)
    assert history.rates() == {}
    history.add({1: counters(300)}, second_s + 10.0)
    assert set(history.rates()) == {1}


def test_pool_statistics_as_returned_by_the_mgr() -> None:
    """Names as in `get('df')` of 16.2.15 to 20.2.4; a pool without statistics is absent."""
    stats = {'rd': 5, 'rd_bytes': 2048, 'wr': 7, 'wr_bytes': 4096, 'stored': 1}
    df = {'pools': [{'id': 3, 'name': 'rbd', 'stats': stats}, {'id': 4, 'name': 'new'}]}
    assert parse_pool_counters(df) == {3: PoolCounters(5, 2048, 7, 4096)}
    assert parse_pool_counters({}) == {}
