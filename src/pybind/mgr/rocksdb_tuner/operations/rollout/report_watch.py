"""Detects whether OSDs report to this manager, with as few counter reads as possible.

Independent of sampling, so that a rollout under way can be finished without it.
"""

from __future__ import annotations

from ...mgr.protocols import CounterReader
from ...mgr.records import ClusterMap
from ...observe.counters import names_for
from ..stopwatch import Stopwatch

#: OSDs tried in one update until one has a report.
TRIED_AT_ONCE = 50


class ReportWatch:
    """Time since the last OSD report seen by this manager."""

    def __init__(self) -> None:
        self._stamps: dict[int, float] = {}
        self._silence = Stopwatch()
        self._reports = 0
        self._next = 0
        #: Time since the last new report, or since the first update.
        self.silent_s = 0.0

    @property
    def has_reports(self) -> bool:
        """Whether a new report arrived: the first one found may be old."""
        return self._reports > 0

    def update(self, reader: CounterReader, cluster_map: ClusterMap, now_s: float) -> None:
        """Check for a new report; errors of the reader are passed on."""
        # Before reading, which may fail: time passes in any case.
        self.silent_s = self._silence.update(self._reports, now_s)
        up = [osd for osd in cluster_map.osds if osd.up]
        present = {osd.osd_id for osd in up}
        self._stamps = {n: at_s for n, at_s in self._stamps.items() if n in present}
        start = self._next % max(1, len(up))
        for tried, osd in enumerate((up[start:] + up[:start])[:TRIED_AT_ONCE], 1):
            self._next = start + tried
            (point,) = reader.latest(osd.osd_id, (names_for(osd.release).op_w,))
            if point is None:
                continue
            before = self._stamps.get(osd.osd_id)
            self._stamps[osd.osd_id] = point.time_s
            if before is not None and before != point.time_s:
                self._reports += 1
                self._next = start + tried - 1
                self.silent_s = self._silence.update(self._reports, now_s)
                return
