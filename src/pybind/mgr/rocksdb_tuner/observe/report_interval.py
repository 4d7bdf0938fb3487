"""How often OSDs report to this manager, and every time limit that follows from it.

`mgr_stats_period` is 5 s by default. From Tentacle 20.2.3 on a busy manager raises it by itself, to
up to 60 s. OSDs apply a new period after their next report, so reports tell more than the option.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median_low
from typing import Optional

from ..mgr.protocols import ReportReader
from ..mgr.records import ClusterMap

#: `mgr_stats_period` by default: all fixed times of the module allow for it.
DEFAULT_S = 5.0
#: The longest interval at which OSDs can be judged, with the delay of a report.
USABLE_S, USABLE_MOST_S = 60.0, 66.0
#: A longer silence is no interval: the manager was away, or a clock was set.
LONGEST_S = 600.0
#: OSDs read at each update, and updates until others are.
WATCHED, UPDATES = 8, 8
#: Maximum pause between two updates that counts as silence.
PAUSE_MAX_S = 30.0

#: OSDs report every 5 s by default: sampling faster reads the same report twice.
MIN_INTERVAL_S = 5.0
#: Short enough to see a workload, long enough to spare the mgr.
DEFAULT_INTERVAL_S = 10.0
MAX_INTERVAL_S = 3600.0
#: Expected CPU time per OSD and tick before the first measurement.
EXPECTED_OSD_S = 150e-6
MAX_SHARE = 0.02


def choose_interval(osds: int, tick_s: Optional[float], configured_s: float) -> float:
    """Seconds between two samples of every OSD.

    ``tick_s``: CPU time of the last tick, None before the first. ``configured_s``: the operator's
    setting, 0 for automatic; expensive ticks stretch it too.
    """
    wished_s = configured_s if configured_s > 0 else DEFAULT_INTERVAL_S
    cost_s = tick_s if tick_s is not None else osds * EXPECTED_OSD_S
    return min(MAX_INTERVAL_S, max(MIN_INTERVAL_S, wished_s, cost_s / MAX_SHARE))


class Reports(str, Enum):
    """Whether reports come often enough."""

    OK = 'ok'
    SLOW = 'slow'
    NONE = 'none'


@dataclass(frozen=True)
class ReportInterval:
    measured_s: Optional[float] = None

    @property
    def interval_s(self) -> float:
        """The default if unknown; never shorter than that."""
        return max(DEFAULT_S, self.measured_s or 0.0)

    @property
    def unusual(self) -> bool:
        """Whether it is worth mentioning."""
        return self.interval_s >= 2 * DEFAULT_S

    @property
    def late_s(self) -> float:
        """How much older than by default a report may be."""
        return self.interval_s - DEFAULT_S

    @property
    def stale_s(self) -> float:
        """Age from which a report is stale: a hanging OSD stays "up" for a while."""
        return max(30.0, 2.5 * min(self.interval_s, USABLE_S))

    @property
    def silent_s(self) -> float:
        """Without a report of any OSD for this long, the manager is cut off.

        An interval of up to a minute may begin at any time.
        """
        return max(90.0, 2.5 * self.interval_s)

    @property
    def two_reports_s(self) -> float:
        """Any span of this length has two reports of each OSD, though not evenly spaced."""
        return 2.0 * self.interval_s

    @property
    def confirm_s(self) -> float:
        """After this time there is a second report.

        Two reports closer together were delayed: they still contain one interval of work.
        """
        return 0.8 * self.interval_s

    @property
    def confirm_change_s(self) -> float:
        """A window across a change of workload is replaced within this time."""
        return max(15.0, 1.6 * self.interval_s)


DEFAULT = ReportInterval()


def interval_of(reports: Iterable[Sequence[float]], now_s: float) -> Optional[float]:
    """The interval of most OSDs, from the times of their last reports; None if unknown.

    A silence that is longer than the interval before it counts as an interval already.
    """
    found = [_interval_of(times_s, now_s) for times_s in reports if times_s]
    return (median_low(found) or None) if found else None


def _interval_of(times_s: Sequence[float], now_s: float) -> float:
    """0.0: unknown. Before its second report, an OSD only shows that it does not report sooner."""
    gap_s = times_s[-1] - times_s[-2] if len(times_s) > 1 else 0.0
    silence_s = now_s - times_s[-1]
    known = [s for s in (gap_s, silence_s) if 0.0 < s <= LONGEST_S]
    longest_s = max(known, default=0.0)
    return longest_s if gap_s in known or longest_s > DEFAULT_S else 0.0


class ReportWatch:
    """Reads the reports of a few OSDs at each update, all of them in turn.

    Times are of the manager's wall clock, which stamps reports too.
    """

    def __init__(self) -> None:
        self.interval = DEFAULT
        #: The interval at the last new report.
        self._heard = DEFAULT
        self._found: tuple[tuple[float, float], ...] = ()
        self._updates = 0
        self._updated_s: Optional[float] = None
        self._newest_s: dict[int, float] = {}
        #: Time since a new report was last seen, or since the first update.
        self.silent_s = 0.0
        #: Whether a new report arrived: the first one found may be old.
        self.has_reports = False

    def state(self, least_silence_s: float = 0.0) -> Optional[Reports]:
        """None: unknown so far."""
        if self.silent_s >= max(self._heard.silent_s, least_silence_s):
            return Reports.NONE
        if self.interval.measured_s is None:
            return None
        return Reports.OK if self.interval.interval_s <= USABLE_MOST_S else Reports.SLOW

    def update(self, reader: ReportReader, cluster_map: ClusterMap, now_s: float) -> None:
        """Look for new reports; errors of the reader are passed on."""
        # Before reading, which may fail: time passes in any case.
        if self._updated_s is not None:
            self.silent_s += min(max(now_s - self._updated_s, 0.0), PAUSE_MAX_S)
        self._updated_s = now_s
        up = [osd.osd_id for osd in cluster_map.osds if osd.up]
        watched = self._choose(up)
        self._updates += 1
        reports = {n: reader.report_times(n) for n in watched}
        newest_s = {n: times_s[-1] for n, times_s in reports.items() if times_s}
        known = self._newest_s
        if any(n in known and known[n] != at_s for n, at_s in newest_s.items()):
            self.has_reports, self.silent_s = True, 0.0
        self._newest_s = newest_s
        self._measure(interval_of(reports.values(), now_s), now_s)
        if self.silent_s == 0.0:
            self._heard = self.interval

    def _choose(self, up: Sequence[int]) -> list[int]:
        """OSDs from everywhere in ``up``, for some updates the same, to see their next report."""
        if len(up) <= WATCHED:
            return list(up)
        turn = self._updates // UPDATES
        return [up[(slot * len(up) // WATCHED + turn) % len(up)] for slot in range(WATCHED)]

    def _measure(self, found_s: Optional[float], now_s: float) -> None:
        # After a shorter interval some OSDs still wait for the end of the longer one.
        waits = (f for f in self._found if 0.0 <= now_s - f[1] <= min(f[0], USABLE_S))
        found = () if found_s is None else ((found_s, now_s),)
        self._found = (*waits, *found)
        self.interval = ReportInterval(max(self._found)[0]) if self._found else DEFAULT
