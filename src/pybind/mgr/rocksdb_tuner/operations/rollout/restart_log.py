"""The restarts requested by this module, for the operator's daily limit. Pure.

A wall clock that is briefly set a day ahead would expire all of them. So restarts are counted by
`stopwatch.SteadyClock`, which only counts time with an active manager.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Optional

from ...units import UNKNOWN, format_time

DAY_S = 86400.0


class Restart(NamedTuple):
    #: Since the epoch, for display.
    time_s: float
    #: By the steady clock; None: unknown.
    steady_s: Optional[float]


@dataclass(frozen=True)
class RestartLog:
    """The restarts of the last day by all rollouts, oldest first."""

    restarts: tuple[Restart, ...] = ()

    def pruned(self, steady_s: float) -> RestartLog:
        """Without restarts older than a day.

        An unknown time, or one ahead because the stored clock was lost, counts as now: it holds
        restarts back for a day at most.
        """
        known = (
            Restart(r.time_s, steady_s if r.steady_s is None else min(r.steady_s, steady_s))
            for r in self.restarts
        )
        kept = [r for r in known if steady_s - (r.steady_s or 0.0) < DAY_S]
        return RestartLog(tuple(sorted(kept, key=lambda r: r.steady_s or 0.0)))

    def with_restart(self, now_s: float, steady_s: float) -> RestartLog:
        return RestartLog((*self.restarts, Restart(now_s, steady_s))).pruned(steady_s)

    def limit_reason(self, per_day: int, now_s: float, steady_s: float) -> Optional[str]:
        """Why the limit forbids another restart; None if it does not. ``per_day`` 0: no limit."""
        if per_day <= 0 or len(self.restarts) < per_day:
            return None
        at_s = self.restarts[-per_day].steady_s
        left_s = DAY_S if at_s is None else at_s + DAY_S - steady_s
        until = format_time(now_s + left_s) or UNKNOWN
        return f'restarts_per_day ({per_day}) is exhausted until {until}'
