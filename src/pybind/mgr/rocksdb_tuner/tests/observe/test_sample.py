"""A sample has every counter that the OSD sent, and only those that may have changed are read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.mgr.records import CounterPoint
from rocksdb_tuner.observe.sample import (
    ALL_OPERATIONS,
    LATENCIES,
    by_any_name,
    details_for,
    names_for,
    take_sample,
)

NAMES = names_for('pacific')
_LATENCIES = (NAMES.kv_sync, NAMES.kv_flush, NAMES.commit)
_SLOW = (NAMES.slow_used_bytes, NAMES.bytes_written_slow)

Report = dict[str, tuple[int, Optional[int]]]


class Reports:
    """An OSD whose next report arrives after so many reads."""

    def __init__(self, *reports: Report, next_after: int = 1 << 30) -> None:
        self._reports, self._left = list(reports), next_after
        self._time_s = 100.0
        self.read: list[str] = []

    def arrive(self) -> None:
        del self._reports[0]
        self._time_s += 5.0

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        found: list[Optional[CounterPoint]] = []
        for path in paths:
            if self._left == 0:
                self.arrive()
            self._left -= 1
            self.read.append(path)
            value = self._reports[0].get(path)
            found.append(CounterPoint(self._time_s, *value) if value else None)
        return found


def report(
    writes: int, reads: int, calls: int, other: int, *, wal: bool, slow: bool, without: str = ''
) -> Report:
    """The report of an OSD with this progress since its start."""
    values: Report = dict.fromkeys(NAMES, (other, None))
    values.update(dict.fromkeys(_LATENCIES, (other * 1000, other)))
    values[ALL_OPERATIONS] = (writes + reads + calls, None)
    values[NAMES.op_w] = (writes, None)
    values[NAMES.op_w_in_bytes] = (writes * 4096, None)
    values[NAMES.op_w_latency] = (writes * 1000, writes)
    values[NAMES.op_r], values[NAMES.op_r_out_bytes] = (reads, None), (reads * 8192, None)
    values[NAMES.op_rw], values[NAMES.op_rw_in_bytes] = (calls, None), (calls * 512, None)
    values[NAMES.db_total_bytes] = (1 << 40, None)
    values[NAMES.wal_total_bytes] = (wal << 30, None)
    values[NAMES.slow_total_bytes] = (slow << 40, None)
    if not wal:
        values[NAMES.wal_used_bytes] = (0, None)
    if not slow:
        values.update(dict.fromkeys(_SLOW, (0, None)))
    values.pop(without, None)
    return values


amounts = st.lists(st.integers(0, 3), min_size=4, max_size=4)


@given(
    started=amounts,
    done=amounts,
    wal=st.booleans(),
    slow=st.booleans(),
    without=st.sampled_from(('', ALL_OPERATIONS, *NAMES)),
)
def test_a_sample_beside_an_earlier_one_is_the_same_as_a_whole_one(
    started: list[int], done: list[int], wal: bool, slow: bool, without: str
) -> None:
    ended = [a + b for a, b in zip(started, done)]
    before = report(*started, wal=wal, slow=slow, without=without)
    after = report(*ended, wal=wal, slow=slow)
    osd = Reports(before, after)
    known = take_sample(osd, 0, 7, NAMES, now_s=101.0)
    osd.arrive()
    whole = take_sample(osd, 0, 7, NAMES, now_s=106.0)
    assert take_sample(osd, 0, 7, NAMES, now_s=106.0, known=known) == whole


@given(started=amounts, done=amounts, reads=st.integers(0, 45), seen=st.booleans())
def test_a_report_that_arrives_while_it_is_read_is_never_mixed_with_the_one_before(
    started: list[int], done: list[int], reads: int, seen: bool
) -> None:
    first = report(0, 0, 0, 0, wal=True, slow=True)
    before = report(*started, wal=True, slow=True)
    after = report(*(a + b for a, b in zip(started, done)), wal=True, slow=True)
    known = take_sample(Reports(first), 0, 7, NAMES, now_s=96.0) if seen else None
    found = take_sample(
        Reports(before, after, next_after=reads), 0, 7, NAMES, now_s=106.0, known=known
    )
    later = Reports(before, after)
    of_before = take_sample(later, 0, 7, NAMES, now_s=106.0)
    later.arrive()
    assert found in (of_before, take_sample(later, 0, 7, NAMES, now_s=106.0))


def test_osd_removed_during_the_read_gives_no_sample() -> None:
    """The manager drops the counters of a daemon that is gone."""
    whole = report(3, 2, 1, 5, wal=True, slow=True)
    started = {path: value for path, value in whole.items() if path != NAMES.slow_used_bytes}
    # Both of its reports were in one sample; then there is nothing.
    osd = Reports(started, {NAMES.slow_used_bytes: (1, None)}, next_after=len(NAMES) - 1)
    gone = osd.latest

    def latest(osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        return gone(osd_id, paths) if not osd.read else [None] * len(paths)

    osd.latest = latest  # type: ignore[method-assign]
    assert take_sample(osd, 0, 7, NAMES, now_s=106.0) is None


#: Each read costs the manager microseconds, for every OSD at every tick.
_CLIENTS = {NAMES.op_w, NAMES.op_w_latency, NAMES.op_r, NAMES.op_rw}


@pytest.mark.parametrize(
    ('done', 'nonce', 'count', 'not_read'),
    [
        # Without a round of the kv_sync thread nothing was flushed or written to the WAL.
        ((3, 2, 1, 5), 7, 7, {*_CLIENTS, NAMES.kv_flush, NAMES.bytes_written_wal}),
        # Clients only wrote.
        ((9, 2, 1, 8), 7, 11, {NAMES.op_r, NAMES.op_r_out_bytes, NAMES.op_rw}),
        # Another process
        ((3, 2, 1, 5), 8, len(NAMES), set()),
    ],
)
def test_only_possibly_changed_counters_are_read(
    done: tuple[int, int, int, int], nonce: int, count: int, not_read: set[str]
) -> None:
    osd = Reports(report(3, 2, 1, 5, wal=False, slow=False), report(*done, wal=False, slow=False))
    known = take_sample(osd, 0, 7, NAMES, now_s=101.0)
    osd.arrive()
    osd.read.clear()
    found = take_sample(osd, 0, nonce, NAMES, now_s=106.0, known=known)
    assert found is not None
    assert (found.op_w, found.op_r, found.op_rw) == done[:3]
    assert not not_read & {*osd.read}
    assert len(osd.read) == count


DATA = Path(__file__).parent / 'data'
MEASURED = ('pacific', 'reef', 'tentacle')
#: Published, or unknown: the names of their counters were not read.
UNMEASURED = ('quincy', 'squid', 'octopus', 'a later one', None)

AVERAGE = 4


def sent(release: str) -> dict[str, int]:
    """Type by path, of all that an OSD of this release sends to the mgr by default."""
    found: dict[str, int] = json.loads((DATA / release / 'counters_sent.json').read_text())
    return found


class Sender:
    """A CounterReader of an OSD that sends what one of ``release`` does; it counts the calls."""

    def __init__(self, release: str) -> None:
        self._sent = sent(release)
        self.calls = 0

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        self.calls += len(paths)
        return [
            CounterPoint(1.0, 7, 3 if self._sent[path] & AVERAGE else None)
            if path in self._sent
            else None
            for path in paths
        ]


@pytest.mark.parametrize('release', MEASURED)
def test_every_counter_used_reaches_the_mgr_of_this_release_as_what_it_is_taken_for(
    release: str,
) -> None:
    """A name of another release, or one that is not sent by default, would read as unknown."""
    names = {**names_for(release)._asdict(), **details_for(release)._asdict()}
    latencies = {
        field: bool(sent(release)[path] & AVERAGE) for field, path in names.items() if path
    }
    assert {field for field, is_latency in latencies.items() if is_latency} == {
        field for field in latencies if field in LATENCIES
    }
    newest = details_for('tentacle')._asdict()
    assert not {newest[field] for field, path in names.items() if not path} & {*sent(release)}


@pytest.mark.parametrize('release', UNMEASURED)
@pytest.mark.parametrize('sender', MEASURED)
def test_every_known_name_is_tried_if_names_were_not_read(
    release: Optional[str], sender: str
) -> None:
    """Whichever of the three such a release resembles, the commit latency is measured."""
    reader = by_any_name(Sender(sender), release)
    assert None not in reader.latest(0, names_for(release))


@pytest.mark.parametrize('release', MEASURED)
def test_only_known_names_are_read_if_available(release: str) -> None:
    sender = Sender(release)
    by_any_name(sender, release).latest(0, names_for(release))
    assert sender.calls == len(names_for(release))
