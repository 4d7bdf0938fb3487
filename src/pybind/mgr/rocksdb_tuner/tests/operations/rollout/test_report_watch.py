"""Whether OSDs report to this manager is determined by few counters, of any OSD that reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

import pytest

from rocksdb_tuner.mgr.protocols import CommandError
from rocksdb_tuner.mgr.records import ClusterMap, CounterPoint
from rocksdb_tuner.operations.rollout.report_watch import TRIED_AT_ONCE, ReportWatch
from rocksdb_tuner.tests.fake_cluster import FakeCluster


class Reports:
    """A CounterReader that knows when each OSD reported last."""

    def __init__(self, osds: int) -> None:
        self.at_s: dict[int, Optional[float]] = dict.fromkeys(range(osds), 1.0)
        #: In their order, since `taken`.
        self.read: list[int] = []
        self.error: Optional[CommandError] = None

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:
        assert list(paths) == ['osd.op_w']
        self.read.append(osd_id)
        if self.error is not None:
            raise self.error
        at_s = self.at_s[osd_id]
        return [None if at_s is None else CounterPoint(at_s, 7, None)]

    def taken(self) -> list[int]:
        found, self.read = self.read, []
        return found


def cluster_map(osds: int, down: Sequence[int] = ()) -> ClusterMap:
    found = FakeCluster(osds).cluster_map()
    return replace(found, osds=tuple(replace(osd, up=osd.osd_id not in down) for osd in found.osds))


def test_silence_lasts_from_the_first_sample_to_a_newer_report() -> None:
    watch, reports, up = ReportWatch(), Reports(3), cluster_map(3)
    assert (watch.has_reports, watch.silent_s) == (False, 0.0)
    for now_s in (100.0, 110.0, 120.0):
        watch.update(reports, up, now_s)
        # The content of the first sample may be old.
        assert (watch.has_reports, watch.silent_s) == (False, now_s - 100.0)
    reports.at_s[1] = 121.0
    watch.update(reports, up, 130.0)
    assert (watch.has_reports, watch.silent_s) == (True, 0.0)
    watch.update(reports, up, 140.0)
    assert (watch.has_reports, watch.silent_s) == (True, 10.0)
    # A clock of the cluster that is set back is a report, too.
    reports.at_s[1] = 50.0
    watch.update(reports, up, 150.0)
    assert watch.silent_s == 0.0


def test_only_the_reporting_osd_is_read() -> None:
    watch, reports, up = ReportWatch(), Reports(5), cluster_map(5)
    watch.update(reports, up, 0.0)
    assert reports.taken() == [0, 1, 2, 3, 4]
    for n in range(1, 5):
        reports.at_s[2] = 1.0 + n
        watch.update(reports, up, 10.0 * n)
        assert reports.taken() == ([0, 1, 2] if n == 1 else [2])
    # Once it is silent the others are read again, from there on.
    watch.update(reports, up, 60.0)
    assert reports.taken() == [2, 3, 4, 0, 1]
    reports.at_s[4] = 9.0
    watch.update(reports, up, 70.0)
    assert (reports.taken(), watch.silent_s) == ([2, 3, 4], 0.0)


def test_fifty_of_many_osds_are_read_per_sample_in_turn() -> None:
    assert TRIED_AT_ONCE == 50
    watch, reports, up = ReportWatch(), Reports(120), cluster_map(120)
    for first in (0, 50, 100, 30, 80, 10):
        watch.update(reports, up, 0.0)
        assert reports.taken() == [(first + n) % 120 for n in range(50)]
    assert not watch.has_reports


def test_osds_down_or_without_reports_are_skipped() -> None:
    watch, reports = ReportWatch(), Reports(4)
    reports.at_s[0] = None
    for now_s in (0.0, 10.0):
        watch.update(reports, cluster_map(4, down=[1]), now_s)
        assert reports.taken() == [0, 2, 3]
    reports.at_s[2] = 11.0
    watch.update(reports, cluster_map(4, down=[1]), 20.0)
    assert (reports.taken(), watch.has_reports) == ([0, 2], True)


def test_first_known_report_of_an_osd_may_be_old() -> None:
    watch, reports = ReportWatch(), Reports(1)
    reports.at_s[0] = None
    watch.update(reports, cluster_map(1), 0.0)
    reports.at_s[0] = 12.0
    watch.update(reports, cluster_map(1), 20.0)
    assert (watch.has_reports, watch.silent_s) == (False, 20.0)


def test_report_from_before_an_osd_was_down_is_dropped() -> None:
    """A later report may be the one from just before."""
    watch, reports = ReportWatch(), Reports(2)
    watch.update(reports, cluster_map(2), 0.0)
    watch.update(reports, cluster_map(2, down=[1]), 10.0)
    reports.at_s[1] = 5.0
    watch.update(reports, cluster_map(2), 20.0)
    assert (watch.has_reports, watch.silent_s) == (False, 20.0)
    reports.at_s[1] = 21.0
    watch.update(reports, cluster_map(2), 30.0)
    assert watch.silent_s == 0.0


def test_silence_continues_while_nothing_is_readable_and_another_osd_is_tried_next() -> None:
    watch, reports, up = ReportWatch(), Reports(3), cluster_map(3)
    watch.update(reports, up, 0.0)
    reports.taken()
    reports.error = CommandError(5, 'no')
    for now_s in (10.0, 20.0):
        with pytest.raises(CommandError):
            watch.update(reports, up, now_s)
        assert watch.silent_s == now_s
    assert reports.taken() == [0, 1]


def test_map_without_an_osd_that_is_up_is_silence() -> None:
    watch, reports = ReportWatch(), Reports(2)
    for now_s in (0.0, 10.0):
        watch.update(reports, cluster_map(2, down=[0, 1]), now_s)
    assert (reports.taken(), watch.has_reports, watch.silent_s) == ([], False, 10.0)
