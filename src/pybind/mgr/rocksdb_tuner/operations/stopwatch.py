"""How long a condition has lasted, as seen by one manager."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, Optional, TypeVar

KeyT = TypeVar('KeyT', bound=Hashable)

#: Longest interval between two updates that counts: beyond it, the manager waited for a quorum, or
#: a clock was set.
GAP_MAX_S = 30.0


class SteadyClock:
    """Seconds that passed while a manager was active; not affected by clock changes.

    Time without an active manager, as during a failover, is not counted.
    """

    def __init__(self, passed_s: float = 0.0) -> None:
        """``passed_s`` is the value stored by an earlier manager."""
        self.now_s = passed_s
        self._updated_s: Optional[float] = None

    def update(self, monotonic_s: float) -> float:
        """``monotonic_s`` is this manager's monotonic clock."""
        if self._updated_s is not None:
            self.now_s += max(monotonic_s - self._updated_s, 0.0)
        self._updated_s = monotonic_s
        return self.now_s


@dataclass(frozen=True)
class ClockState:
    """Stored form of a `SteadyClock`."""

    passed_s: float
    #: The last rollout that ended, and when by this clock.
    ended: Optional[tuple[str, float]] = None


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


class RecentChanges(Generic[KeyT]):
    """Time since each of many values last changed, as seen by one manager."""

    def __init__(self) -> None:
        self._clock = Stopwatch()
        self._now_s = 0.0
        self._seen: dict[KeyT, object] = {}
        self._changed_s: dict[KeyT, float] = {}

    def update(self, seen: Optional[Mapping[KeyT, object]], now_s: float) -> None:
        """``seen`` None: the same as before. A value that appears has not changed."""
        self._now_s = self._clock.update(None, now_s)
        if seen is None:
            return
        for key, value in seen.items():
            if self._seen.get(key, value) != value:
                self._changed_s[key] = self._now_s
        self._seen.update(seen)

    def within(self, period_s: float) -> frozenset[KeyT]:
        """The keys whose value changed less than ``period_s`` ago."""
        return frozenset(
            key for key, at_s in self._changed_s.items() if self._now_s - at_s < period_s
        )
