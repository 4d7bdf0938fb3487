"""The work of OSDs is kept for hours in bounded memory, and nothing is invented for gaps."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.observe.history import LEAST, MAX_ERROR, MAX_GAP_S
from rocksdb_tuner.observe.load_history import (
    INTERVALS,
    SPACINGS_S,
    KeptWork,
    Work,
    WorkHistory,
)
from rocksdb_tuner.observe.sample import Sample
from rocksdb_tuner.observe.window import window

from .samples import MIB, sample

UNKNOWN = Work(*(None for _ in Work._fields))


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
    assert kept.span_s == 60
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


def test_samples_within_an_interval_are_skipped_and_ticks_may_jitter() -> None:
    assert observed([1000, 1010, 1026]).read([0]).times_s == (1000,)
    assert observed([1000, 1028]).read([0]).times_s == (1000, 1028)


def test_restart_absence_and_unknown_counters_make_unknown_intervals() -> None:
    restarted = observed(every(30, 4), [7, 7, 8, 8]).read([0]).by_osd[0]
    assert [work == UNKNOWN for work in restarted] == [False, True, False]
    history = WorkHistory()
    history.add({0: sample(1000, 0)}, 1000)
    history.add({0: None, 1: sample(1030, 0)}, 1030)
    some = sample(1060, 900)._replace(bytes_written_sst=None, commit=None, db_used_bytes=None)
    history.add({0: sample(1060, 900), 1: some}, 1060)
    kept = history.read([0, 1, 9])
    assert kept.by_osd[0] == (UNKNOWN, UNKNOWN)
    # New OSDs are unknown before.
    assert kept.by_osd[1][0] == UNKNOWN
    assert kept.by_osd[1][1].kv_sync_s == pytest.approx(1.8, rel=MAX_ERROR)
    assert kept.by_osd[1][1][4:] == (None, None)
    assert kept.by_osd[1][1].txns is None
    assert kept.by_osd[9] == (UNKNOWN, UNKNOWN)


class Ends(NamedTuple):
    """Of a counter: two numbers at the first sample, what is added, and where it is known."""

    numbers: tuple[int, int]
    added: tuple[int, int]
    known: tuple[bool, bool]

    def at(self, end: int, *, pair: bool) -> Union[int, tuple[int, int], None]:
        sums = tuple(a + end * b for a, b in zip(self.numbers, self.added))
        return None if not self.known[end] else (sums[0], sums[1]) if pair else sums[0]


_NUMBER = st.integers(1, 1 << 50)
# Seldom a counter that decreased
_ADDED = st.integers(0, 1 << 40) | st.integers(-1, 8)
_ENDS = st.builds(
    Ends,
    st.tuples(_NUMBER, _NUMBER),
    st.tuples(_ADDED, _ADDED),
    st.tuples(st.booleans(), st.booleans()) | st.just((True, True)),
)
_USED = ('kv_sync', 'commit', 'op_w_latency', 'bytes_written_wal', 'bytes_written_sst')


@given(st.tuples(*[_ENDS] * len(_USED)))
def test_work_is_that_of_a_window_of_the_used_counters(counters: tuple[Ends, ...]) -> None:
    """Also where a counter is unknown at either end; after a reset nothing is known."""

    def at(end: int) -> Sample:
        found: dict[str, Any] = {
            name: counter.at(end, pair=not name.startswith('bytes'))
            for name, counter in zip(_USED, counters)
        }
        return sample(1000.0 + 30 * end, 0)._replace(**found)

    before, after = at(0), at(1)
    history = WorkHistory()
    history.add({0: before}, 1000)
    history.add({0: after}, 1030)
    (work,) = history.read([0]).by_osd[0]
    span = window(before, after)
    if span is None:
        assert work == UNKNOWN
        return
    kv_sync, commit, writes = span.kv_sync, span.commit, span.op_w_latency
    wal, sst = span.bytes_written_wal, span.bytes_written_sst
    expected = Work(
        kv_sync_s=kv_sync.total_s if kv_sync else None,
        txns=commit.operations if commit else None,
        writes=writes.operations if writes else None,
        write_s=writes.total_s if writes else None,
        db_bytes=None if wal is None or sst is None else wal + sst,
        db_used_bytes=10 * MIB,
    )
    for found, known in zip(work, expected):
        if known is None:
            assert found is None
        else:
            assert found == pytest.approx(known, rel=MAX_ERROR, abs=LEAST)


def test_removed_osd_is_dropped() -> None:
    history = observed(every(30, 3))
    history.add({1: sample(1090, 0)}, 1090)
    assert history.read([0]).by_osd[0] == (UNKNOWN,) * 3


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


def test_clearing_discards_everything() -> None:
    history = observed(every(30, 3))
    history.clear()
    assert history.read([0]) == KeptWork((), SPACINGS_S[0], {0: ()})
    assert history.read([]).span_s == 0


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
        assert kept.span_s >= INTERVALS / 2 * step_s


def test_restart_makes_the_merged_interval_unknown() -> None:
    times_s = every(30, INTERVALS + 2)
    nonces = [7] * (INTERVALS - 1) + [8] * 3
    kept = observed(times_s, nonces).read([0])
    assert kept.spacing_s == SPACINGS_S[1]
    unknown = [number for number, work in enumerate(kept.by_osd[0]) if work.txns is None]
    assert len(unknown) == 1
    assert unknown[0] >= len(kept.by_osd[0]) - 2


def test_sample_counts_only_with_its_predecessor() -> None:
    """An interval whose first sample is missing is unknown."""
    first: Optional[Sample] = None
    history = WorkHistory()
    history.add({0: first}, 1000)
    history.add({0: sample(1030, 300)}, 1030)
    history.add({0: sample(1060, 600)}, 1060)
    first_work, second_work = history.read([0]).by_osd[0]
    assert first_work.txns is None
    assert second_work.txns == pytest.approx(300, rel=MAX_ERROR)
