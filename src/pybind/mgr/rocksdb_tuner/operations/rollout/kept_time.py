"""The time that managers saw pass, and the restarts that are counted by it, over a failover."""

from __future__ import annotations

import logging
import math
from typing import Optional

from ...mgr.protocols import CommandError
from ..stopwatch import ClockState, SteadyClock
from .records import RolloutState
from .restart_log import DAY_S, RestartLog
from .storage import RolloutStorage

log = logging.getLogger(__name__)

#: A manager that takes over knows of all but so much of the time that passed.
KEEP_TIME_S = 600.0
#: After this nobody asks any more how long ago a rollout ended.
_LONG_AGO_S = 32 * DAY_S


class KeptTime:
    """By which limits and waiting are measured."""

    def __init__(self, storage: RolloutStorage) -> None:
        self._storage = storage
        #: The restarts of the last day, of all rollouts.
        self._restarts = RestartLog()
        self._clock = SteadyClock()
        #: When it was stored; and when, by it, the last rollout ended.
        self._kept_s = 0.0
        self._ended: Optional[tuple[str, float]] = None

    @property
    def now_s(self) -> float:
        return self._clock.now_s

    @property
    def since_end_s(self) -> Optional[float]:
        """How long ago the last rollout ended, as far as managers saw time pass; None: none did."""
        return None if self._ended is None else max(self.now_s - self._ended[1], 0.0)

    def load(self) -> None:
        self._restarts = self._storage.load_restarts()
        stored = self._storage.load_clock()
        self._clock, self._ended = SteadyClock(stored.passed_s), stored.ended
        self._kept_s = stored.passed_s

    def look(self, monotonic_s: float) -> float:
        """``monotonic_s`` is of this manager's own clock that only goes forward."""
        now_s = self._clock.look(monotonic_s)
        self._restarts = self._restarts.looked_at(now_s)
        return now_s

    def used_up(self, restarts_per_day: int, time_of_day_s: float) -> Optional[str]:
        """Why no OSD may be restarted today any more; None if one may."""
        return self._restarts.used_up(restarts_per_day, time_of_day_s, self.now_s)

    def ended_now(self, rollout_id: str) -> None:
        self._ended = (rollout_id, self.now_s)
        self._kept_s = -math.inf

    def keep(self, last: Optional[RolloutState]) -> None:
        """Store now and then how much time has passed, as long as that matters to anybody."""
        if last is not None and last.ended and (self._ended or ('', 0))[0] != last.rollout_id:
            # Nobody saw it end: just now, as far as can be proven.
            self.ended_now(last.rollout_id)
        since_s = self.since_end_s
        if self._restarts.restarts or (since_s is not None and since_s < _LONG_AGO_S):
            self.keep_now_and_then()

    def keep_now_and_then(self) -> None:
        """The same for what is under way."""
        if self.now_s - self._kept_s >= KEEP_TIME_S:
            try:
                self._save()
            except CommandError as error:
                log.warning('the time that has passed cannot be stored: %s', error.message)

    def count_restart(self, time_of_day_s: float) -> None:
        self._restarts = self._restarts.with_one(time_of_day_s, self.now_s)
        try:
            self._storage.save_restarts(self._restarts)
            self._save()
        except CommandError as error:
            # The state was stored just before: what is asked for is not held up for its count.
            log.warning('a restart cannot be counted: %s', error.message)

    def _save(self) -> None:
        self._storage.save_clock(ClockState(round(self.now_s, 1), self._ended))
        self._kept_s = self.now_s
