"""Client I/O per pool, from the mgr's statistics: it shows which clients load an OSD."""

from __future__ import annotations

from collections import deque
from typing import Mapping, NamedTuple, Optional

from ..mgr.records import PoolCounters
from .history import MAX_GAP_S, SHORT_WINDOW_S
from .report_interval import DEFAULT, ReportInterval
from .window import MIN_WINDOW_S


class PoolRates(NamedTuple):
    """Rates of one pool. Each part of an operation counts (see `PoolCounters`)."""

    reads_per_s: float
    read_bytes_per_s: float
    writes_per_s: float
    write_bytes_per_s: float


_NOTHING = PoolCounters(reads=0, read_bytes=0, writes=0, write_bytes=0)


class _Reading(NamedTuple):
    time_s: float
    pools: Mapping[int, PoolCounters]


class PoolHistory:
    """The readings within an OSD's short window. Times are of one clock."""

    def __init__(self) -> None:
        self._recent: deque[_Reading] = deque()

    def add(
        self,
        pools: Mapping[int, PoolCounters],
        now_s: float,
        reports: ReportInterval = DEFAULT,
    ) -> None:
        """Add a reading. If the clock went backwards, earlier readings are dropped.

        Counters of a pool change with each report, in a reading those of some OSDs.
        """
        if self._recent:
            apart_s = now_s - self._recent[-1].time_s
            if 0 <= apart_s < MIN_WINDOW_S:
                return
            if not 0 <= apart_s <= MAX_GAP_S:
                self._recent.clear()
        self._recent.append(_Reading(now_s, pools))
        most_s = max(SHORT_WINDOW_S, reports.two_reports_s)
        while len(self._recent) > 2 and now_s - self._recent[0].time_s > most_s:
            self._recent.popleft()

    def rates(self) -> Mapping[int, PoolRates]:
        """By pool id, without pools whose counters decreased (after a repair) or were missing."""
        if len(self._recent) < 2:
            return {}
        before, after = self._recent[0], self._recent[-1]
        window_s = after.time_s - before.time_s
        newest_before = max(before.pools, default=None)
        found = {}
        for pool_id, new in after.pools.items():
            old = before.pools.get(pool_id)
            # Pool ids are ascending and never reused: this pool is new.
            if old is None and newest_before is not None and pool_id > newest_before:
                old = _NOTHING
            rates = _rates(old, new, window_s) if old is not None else None
            if rates is not None:
                found[pool_id] = rates
        return found


def _rates(old: PoolCounters, new: PoolCounters, window_s: float) -> Optional[PoolRates]:
    amounts = (
        new.reads - old.reads,
        new.read_bytes - old.read_bytes,
        new.writes - old.writes,
        new.write_bytes - old.write_bytes,
    )
    if min(amounts) < 0:
        return None
    return PoolRates(*(amount / window_s for amount in amounts))
