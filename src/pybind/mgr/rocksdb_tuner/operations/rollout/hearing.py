"""Whether OSDs report to this manager, told by as few counters as possible.

Beside sampling and independent of it: what a rollout left half done is finished by this.
"""

from __future__ import annotations

from ...mgr.protocols import CounterReader
from ...mgr.records import ClusterMap
from ...observe.counters import names_for
from ..stopwatch import Stopwatch

#: OSDs that are tried in one look until one is found that reported.
TRIED_AT_ONCE = 50


class Hearing:
    """How long ago an OSD reported, as far as this manager saw reports come in."""

    def __init__(self) -> None:
        self._stamps: dict[int, float] = {}
        self._silence = Stopwatch()
        self._reports = 0
        self._next = 0
        #: Since a new report was seen, or since the first look.
        self.silent_s = 0.0

    @property
    def heard(self) -> bool:
        """Whether a report came in meanwhile: the first that is found may be old."""
        return self._reports > 0

    def look(self, reader: CounterReader, cluster_map: ClusterMap, now_s: float) -> None:
        """Look for a new report; raises what reading raises."""
        # Before anything that may fail: the time goes on.
        self.silent_s = self._silence.look(self._reports, now_s)
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
                self.silent_s = self._silence.look(self._reports, now_s)
                return
