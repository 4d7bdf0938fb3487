"""When this module asked for restarts, for the operator's daily limit. Pure.

A wall clock that is set a day ahead for some seconds would empty the day. So restarts are counted
by `stopwatch.SteadyClock`, by which only time passes that a manager saw pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Optional

from ...units import UNKNOWN, format_time

DAY_S = 86400.0


class Restart(NamedTuple):
    #: Since the epoch, for display.
    time_s: float
    #: By the steady clock; None: not known, as in what an older version of the module stored.
    steady_s: Optional[float]


@dataclass(frozen=True)
class RestartLog:
    """The restarts of the last day, of all rollouts, oldest first."""

    restarts: tuple[Restart, ...] = ()

    def looked_at(self, steady_s: float) -> RestartLog:
        """Without what is older than a day.

        What is unknown, or lies ahead because the stored clock was lost, is taken for just now:
        it holds restarts back for a day at most, and never forever.
        """
        known = (
            Restart(r.time_s, steady_s if r.steady_s is None else min(r.steady_s, steady_s))
            for r in self.restarts
        )
        kept = [r for r in known if steady_s - (r.steady_s or 0.0) < DAY_S]
        return RestartLog(tuple(sorted(kept, key=lambda r: r.steady_s or 0.0)))

    def with_one(self, now_s: float, steady_s: float) -> RestartLog:
        return RestartLog((*self.restarts, Restart(now_s, steady_s))).looked_at(steady_s)

    def used_up(self, per_day: int, now_s: float, steady_s: float) -> Optional[str]:
        """Why no further OSD may be begun; None if one may. ``per_day`` 0 sets no limit."""
        if per_day <= 0 or len(self.restarts) < per_day:
            return None
        at_s = self.restarts[-per_day].steady_s
        left_s = DAY_S if at_s is None else at_s + DAY_S - steady_s
        until = format_time(now_s + left_s) or UNKNOWN
        return f'restarts_per_day ({per_day}) is exhausted until {until}'
