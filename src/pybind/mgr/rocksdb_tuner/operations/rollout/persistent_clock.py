"""Active time of managers, and the restarts counted by it, preserved over a failover."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from typing import Optional

from ...mgr.protocols import CommandError
from ..reported import ClockState, SteadyClock
from .outstanding import DAY_S, RestartLog
from .storage import RolloutStorage, number_of

log = logging.getLogger(__name__)

#: Interval between two writes: a manager that takes over loses at most this much.
STORE_PERIOD_S = 600.0
#: Beyond this, the time since an operation ended no longer matters.
_LONG_AGO_S = 32 * DAY_S


class PersistentClock:
    """The clock for limits and waiting."""

    def __init__(self, storage: RolloutStorage) -> None:
        self._storage = storage
        #: The restarts of the last day by all rollouts.
        self._restarts = RestartLog()
        self._clock = SteadyClock()
        #: When it was last stored, and when the last operation ended, by this clock.
        self._kept_s = 0.0
        self._ended: Optional[tuple[str, float]] = None

    @property
    def now_s(self) -> float:
        return self._clock.now_s

    @property
    def since_end_s(self) -> Optional[float]:
        """Time since the last operation ended, while managers were active; None: none ended."""
        return None if self._ended is None else max(self.now_s - self._ended[1], 0.0)

    @property
    def ended_id(self) -> Optional[str]:
        """The last operation that ended."""
        return None if self._ended is None else self._ended[0]

    def load(self) -> None:
        self._restarts = self._storage.load_restarts()
        stored = self._storage.load_clock()
        self._clock, self._ended = SteadyClock(stored.passed_s), stored.ended
        self._kept_s = stored.passed_s

    def update(self, monotonic_s: float) -> float:
        """``monotonic_s`` is this manager's monotonic clock."""
        now_s = self._clock.update(monotonic_s)
        self._restarts = self._restarts.pruned(now_s)
        return now_s

    def limit_reason(self, restarts_per_day: int, time_of_day_s: float) -> Optional[str]:
        """Why the daily limit forbids another restart; None if it does not."""
        return self._restarts.limit_reason(restarts_per_day, time_of_day_s, self.now_s)

    def ended_now(self, operation_id: str) -> None:
        self._ended = (operation_id, self.now_s)
        self._kept_s = -math.inf

    def keep(self, ended: Iterable[str]) -> None:
        """Store the time periodically while it matters; ``ended``: the last operations."""
        for operation_id in ended:
            if self._ended is None or number_of(operation_id) > number_of(self._ended[0]):
                # Its end was not recorded: count from now.
                self.ended_now(operation_id)
        since_s = self.since_end_s
        if self._restarts.restarts or (since_s is not None and since_s < _LONG_AGO_S):
            self.keep_periodically()

    def keep_periodically(self) -> None:
        """Store the time periodically, for all users."""
        if self.now_s - self._kept_s >= STORE_PERIOD_S:
            try:
                self._save()
            except CommandError as error:
                log.warning('cannot store the elapsed time: %s', error.message)

    def count_restart(self, time_of_day_s: float) -> None:
        self._restarts = self._restarts.with_restart(time_of_day_s, self.now_s)
        try:
            self._storage.save_restarts(self._restarts)
            self._save()
        except CommandError as error:
            # The state is stored already: a failed count does not hold up the restart.
            log.warning('cannot count a restart: %s', error.message)

    def _save(self) -> None:
        self._storage.save_clock(ClockState(round(self.now_s, 1), self._ended))
        self._kept_s = self.now_s
