"""Whether placement groups were reported since OSDs last changed.

The primary of a placement group reports its state, together with the counters of that OSD. An OSD
that is primary of nothing reports none, so only the reports of all others show what its restart
did. Their times are compared for equality only, since clocks may be set.

How long a condition has lasted, as seen by one manager.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Optional

from ..mgr.protocols import ReportReader

#: Longest interval between two updates that counts: beyond it, the manager waited for a quorum, or
#: a clock was set.
GAP_MAX_S = 30.0


class Stopwatch:
    """Measures how long a key stays the same, without trusting the wall clock."""

    def __init__(self) -> None:
        self._key: object = None
        self._elapsed_s = 0.0
        self._updated_s: Optional[float] = None

    def update(self, key: object, now_s: float) -> float:
        """Seconds since ``key`` last changed; 0.0 at the first update."""
        if self._updated_s is None or key != self._key:
            self._elapsed_s = 0.0
        else:
            self._elapsed_s += min(max(now_s - self._updated_s, 0.0), GAP_MAX_S)
        self._key = key
        self._updated_s = now_s
        return self._elapsed_s


#: Until OSDs have a new OSD map, and until the manager shows what they reported (mgr_tick_period).
MAP_S, TICK_S = 3.0, 3.0


class ReportedSince:
    """Waits for a report of each OSD that is newer than the last change."""

    def __init__(self) -> None:
        #: What was seen of OSDs, and how often it changed.
        self._seen: object = None
        self._changes = 0
        self._since = Stopwatch()
        self._all_reported = Stopwatch()
        #: OSDs without a newer report, with their last one; None before they have the new map.
        self._waits_for: Optional[Mapping[int, Optional[float]]] = None
        self._found: tuple[float, bool] = (math.nan, False)

    def update(
        self, seen: object, reader: ReportReader, up: Collection[int], steady_s: float
    ) -> bool:
        """Whether all OSDs that are ``up`` have reported since ``seen`` changed.

        What is seen first may have changed just before.
        """
        changed = seen is not self._seen and seen != self._seen
        if changed:
            self._changes += 1
            self._seen, self._waits_for = seen, None
        # A tick has several steps, and reports of thousands of OSDs take their time to read.
        if changed or steady_s != self._found[0]:
            self._found = steady_s, self._reported(reader, up, steady_s)
        return self._found[1]

    def _reported(self, reader: ReportReader, up: Collection[int], steady_s: float) -> bool:
        if self._since.update(self._changes, steady_s) < MAP_S:
            return False
        last_s = reader.last_report_s
        if self._waits_for is None:
            self._waits_for = {n: last_s(n) for n in up}
        elif self._waits_for:
            self._waits_for = {
                n: before_s
                for n, before_s in self._waits_for.items()
                if n in up and last_s(n) in (None, before_s)
            }
        reported = not self._waits_for
        passed_s = self._all_reported.update((self._changes, reported), steady_s)
        return reported and passed_s >= TICK_S
