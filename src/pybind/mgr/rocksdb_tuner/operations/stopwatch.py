"""How long something has been so, as seen by one manager."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Optional

#: A longer pause between two looks says nothing of the time between: the manager waited for a
#: quorum, or a clock was set.
GAP_MAX_S = 30.0


class SteadyClock:
    """Seconds that managers saw pass, one after the other: nobody sets it.

    What passed while no manager looked, as between two of them, cannot be proven: it is left out.
    """

    def __init__(self, passed_s: float = 0.0) -> None:
        """``passed_s`` is what an earlier manager stored."""
        self.now_s = passed_s
        self._looked_s: Optional[float] = None

    def look(self, monotonic_s: float) -> float:
        """``monotonic_s`` is of this manager's own clock that only goes forward."""
        if self._looked_s is not None:
            self.now_s += max(monotonic_s - self._looked_s, 0.0)
        self._looked_s = monotonic_s
        return self.now_s


@dataclass(frozen=True)
class ClockState:
    """What is stored of a `SteadyClock`."""

    passed_s: float
    #: The last rollout that ended, and when by this clock.
    ended: Optional[tuple[str, float]] = None


class Stopwatch:
    """Counts the time during which a key stays the same, without trusting the clock."""

    def __init__(self) -> None:
        self._key: object = None
        self._elapsed_s = 0.0
        self._looked_s: Optional[float] = None

    def look(self, key: object, now_s: float) -> float:
        """Seconds for which every look saw ``key``; 0.0 at the first."""
        if self._looked_s is None or key != self._key:
            self._elapsed_s = 0.0
        else:
            self._elapsed_s += min(max(now_s - self._looked_s, 0.0), GAP_MAX_S)
        self._key = key
        self._looked_s = now_s
        return self._elapsed_s


class LastChange:
    """How long ago something changed, as one manager sees it."""

    def __init__(self) -> None:
        self._seen: object = None
        self._changed = False
        self._since = Stopwatch()

    def look(self, seen: object, now_s: float) -> float:
        """Seconds since ``seen`` was another than at the look before; infinite if it never was."""
        self._changed = self._changed or self._seen not in (None, seen)
        self._seen = seen
        since_s = self._since.look(seen, now_s)
        return since_s if self._changed else math.inf
