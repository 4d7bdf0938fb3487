"""The interval of reports is measured from a few OSDs, and follows a change within one interval."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import ClusterMap
from rocksdb_tuner.observe.report_interval import (
    DEFAULT_S,
    LONGEST_S,
    UPDATES,
    USABLE_S,
    WATCHED,
    ReportInterval,
    Reports,
    ReportWatch,
    interval_of,
)
from rocksdb_tuner.tests.fake_cluster import FakeCluster

INTERVALS_S = (5.0, 15.0, 30.0, 36.0, 45.0, 60.0)


class Osds:
    """OSDs that report every `period_s`, each in its own phase; a new period holds after that."""

    def __init__(self, osds: int, period_s: float = 5.0, seed: int = 0) -> None:
        dice = random.Random(seed)
        self.period_s, self.now_s = period_s, 1000.0
        self.due_s = {n: self.now_s + dice.uniform(0, period_s) for n in range(osds)}
        self.times: dict[int, list[float]] = {n: [] for n in range(osds)}
        self.hang: set[int] = set()
        self.delays_s = 0.0
        self._dice = dice
        self.read: list[int] = []
        self.error: Optional[CommandError] = None

    def advance(self, seconds: float) -> None:
        self.now_s += seconds
        for n in self.due_s:
            while self.due_s[n] <= self.now_s:
                if n not in self.hang:
                    late_s = min(self._dice.uniform(0, self.delays_s), self.now_s - self.due_s[n])
                    self.times[n] = [*self.times[n], self.due_s[n] + late_s][-20:]
                self.due_s[n] += self.period_s

    def report_times(self, osd_id: int) -> Sequence[float]:
        self.read.append(osd_id)
        if self.error is not None:
            raise self.error
        return self.times[osd_id]

    def last_report_s(self, osd_id: int) -> Optional[float]:
        return self.times[osd_id][-1] if self.times[osd_id] else None

    def taken(self) -> list[int]:
        found, self.read = self.read, []
        return found


def cluster_map(osds: int, down: Sequence[int] = ()) -> ClusterMap:
    found = FakeCluster(osds).cluster_map()
    return replace(found, osds=tuple(replace(osd, up=osd.osd_id not in down) for osd in found.osds))


class Run:
    def __init__(self, osds: int, period_s: float = 5.0, seed: int = 0) -> None:
        self.osds, self.watch = Osds(osds, period_s, seed), ReportWatch()
        self.map = cluster_map(osds)

    def run(self, seconds: float, step_s: float = 5.0) -> None:
        until_s = self.osds.now_s + seconds
        while self.osds.now_s < until_s:
            self.osds.advance(step_s)
            self.watch.update(self.osds, self.map, self.osds.now_s)

    @property
    def interval_s(self) -> float:
        return self.watch.interval.interval_s


@pytest.mark.parametrize('period_s', INTERVALS_S)
@pytest.mark.parametrize('osds', [1, 12, 64])
def test_measured_interval_is_that_of_the_reports(period_s: float, osds: int) -> None:
    run = Run(osds, period_s)
    run.run(2 * period_s + 10)
    for _ in range(30):
        run.run(2.0, step_s=2.0)
        assert run.interval_s == pytest.approx(period_s, rel=0.01)
        assert run.watch.state() is Reports.OK


@given(
    first_s=st.sampled_from(INTERVALS_S),
    second_s=st.sampled_from(INTERVALS_S),
    osds=st.integers(1, 40),
    hang=st.integers(0, 3),
    seed=st.integers(0, 1000),
)
def test_change_is_followed_and_never_missed(
    first_s: float, second_s: float, osds: int, hang: int, seed: int
) -> None:
    """No report is stale under the measured interval while OSDs work, at any time."""
    run = Run(osds, first_s, seed)
    run.osds.delays_s = 0.1 * min(first_s, second_s)
    run.osds.hang = set(range(min(hang, (osds - 1) // 10)))
    run.run(3 * first_s + 10)
    run.osds.period_s = second_s
    for _ in range(60):
        run.run(5.0)
        works = [n for n in run.osds.times if n not in run.osds.hang]
        ages_s = [run.osds.now_s - run.osds.times[n][-1] for n in works]
        assert max(ages_s) <= run.watch.interval.stale_s
    assert run.interval_s == pytest.approx(second_s, rel=0.2)


def test_longer_interval_counts_before_its_end_and_a_shorter_one_once_all_osds_have_it() -> None:
    run = Run(20)
    run.run(60)
    run.osds.period_s = 60.0
    run.run(30)
    assert 20.0 <= run.interval_s <= 30.0
    run.run(120)
    assert run.interval_s == pytest.approx(60.0)
    run.osds.period_s = 5.0
    run.run(60)
    assert run.interval_s == pytest.approx(60.0)
    run.run(75)
    assert run.interval_s == pytest.approx(5.0)


def test_hanging_osds_do_not_raise_the_interval() -> None:
    run = Run(20)
    run.run(60)
    # Those of one host: adjacent ids.
    run.osds.hang = set(range(6))
    for _ in range(100):
        run.run(5.0)
        assert run.interval_s == pytest.approx(5.0)


def test_more_than_a_minute_is_slow_and_silence_is_none() -> None:
    run = Run(8, 90.0)
    assert run.watch.state() is None
    run.run(300)
    assert run.watch.state() is Reports.SLOW
    run.osds.period_s = 60.0
    run.run(300)
    assert run.watch.state() is Reports.OK
    run.osds.hang = set(range(8))
    run.run(90)
    assert run.watch.state() is not Reports.NONE
    run.run(80)
    assert run.watch.state() is Reports.NONE
    run.osds.hang = set()
    run.run(70)
    assert run.watch.state() is not Reports.NONE


def test_silence_counts_from_the_first_update_and_only_new_reports_end_it() -> None:
    watch, osds, up = ReportWatch(), Osds(3), cluster_map(3)
    for n in range(3):
        osds.times[n] = [90.0]
    for now_s in (100.0, 110.0, 120.0):
        watch.update(osds, up, now_s)
        # The content of the first update may be old.
        assert (watch.has_reports, watch.silent_s) == (False, now_s - 100.0)
    osds.times[1] = [90.0, 121.0]
    watch.update(osds, up, 130.0)
    assert (watch.has_reports, watch.silent_s) == (True, 0.0)
    watch.update(osds, up, 140.0)
    assert watch.silent_s == 10.0
    assert watch.state(least_silence_s=10.0) is Reports.OK
    # A clock of the cluster that is set back is a report, too.
    osds.times[1] = [50.0]
    watch.update(osds, up, 150.0)
    assert watch.silent_s == 0.0
    # A pause of this manager is no silence of OSDs.
    watch.update(osds, up, 15000.0)
    assert watch.silent_s == 30.0


def test_silence_continues_while_nothing_is_readable() -> None:
    watch, osds, up = ReportWatch(), Osds(3), cluster_map(3)
    watch.update(osds, up, 0.0)
    osds.error = CommandError(5, 'no')
    for now_s in (10.0, 20.0):
        with pytest.raises(CommandError):
            watch.update(osds, up, now_s)
        assert watch.silent_s == now_s


@pytest.mark.parametrize('osds', [9, 64, 300])
def test_few_osds_are_read_at_once_and_all_in_turn(osds: int) -> None:
    run, seen = Run(osds), set()
    before: set[int] = set()
    for update in range(UPDATES * osds):
        run.run(1.0, step_s=1.0)
        read = run.osds.taken()
        assert len(read) == len(set(read)) == WATCHED
        # The same for a while, so that their next reports are seen.
        assert update % UPDATES == 0 or set(read) == before
        before = set(read)
        seen |= before
    assert len(seen) == osds


def test_only_osds_that_are_up_are_read() -> None:
    watch, osds = ReportWatch(), Osds(4)
    watch.update(osds, cluster_map(4, down=[1]), 0.0)
    assert osds.taken() == [0, 2, 3]
    watch.update(osds, cluster_map(4, down=range(4)), 10.0)
    assert (osds.taken(), watch.silent_s) == ([], 10.0)


def test_unknown_interval_is_none() -> None:
    assert interval_of([], 100.0) is None
    assert interval_of([(), (99.0,)], 100.0) is None
    # An OSD that reported once does not do so more often.
    assert interval_of([(80.0,)], 100.0) == 20.0
    assert interval_of([(100.0,)], 90.0) is None
    # One that hangs is no sign of how often others will report.
    assert interval_of([(10.0,), (99.0,), (98.0,)], 100.0) is None
    # Reports from before a long absence of this manager, or from before its clock was set.
    assert interval_of([(10.0, 15.0)], 16.0 + LONGEST_S) == 5.0
    assert interval_of([(10.0, 15.0 + LONGEST_S)], 16.0 + LONGEST_S) is None


@given(st.floats(1.0, LONGEST_S))
def test_every_time_limit_grows_with_the_interval(interval_s: float) -> None:
    known, default = ReportInterval(interval_s), ReportInterval()
    assert known.interval_s >= DEFAULT_S
    assert known.stale_s >= max(default.stale_s, 2.5 * min(interval_s, USABLE_S))
    assert known.silent_s >= known.stale_s
    # Otherwise nothing would be stale while all OSDs are silent.
    assert known.stale_s <= 2.5 * USABLE_S
    assert known.two_reports_s >= 2 * interval_s
    # A second report is required, and does not come much later than expected.
    assert 0.5 * known.interval_s < known.confirm_s < known.interval_s
    assert known.confirm_s < known.confirm_change_s
    assert (default.stale_s, default.late_s) == (30.0, 0.0)
