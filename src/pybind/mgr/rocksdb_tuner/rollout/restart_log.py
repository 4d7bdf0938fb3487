"""When this module asked for restarts, for the operator's daily limit. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ..units import UNKNOWN, format_time

DAY_S = 86400.0


@dataclass(frozen=True)
class RestartLog:
    """The restarts of the last day, of all rollouts, in seconds since the epoch, oldest first."""

    times_s: tuple[float, ...] = ()

    def looked_at(self, now_s: float) -> RestartLog:
        """Without what is older than a day.

        What lies ahead, after the clock was set back, is taken for just now: it holds restarts
        back for a day at most, and never forever.
        """
        return RestartLog(
            tuple(sorted(min(at_s, now_s) for at_s in self.times_s if now_s - at_s < DAY_S))
        )

    def with_one(self, now_s: float) -> RestartLog:
        return RestartLog((*self.times_s, now_s)).looked_at(now_s)

    def used_up(self, per_day: int) -> Optional[str]:
        """Why no further OSD may be begun; None if one may. ``per_day`` 0 sets no limit."""
        if per_day <= 0 or len(self.times_s) < per_day:
            return None
        until = format_time(self.times_s[-per_day] + DAY_S) or UNKNOWN
        return f'restarts_per_day ({per_day}) is used up until {until}'
