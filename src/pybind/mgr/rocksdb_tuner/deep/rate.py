"""How often OSDs may be looked at on request: a look changes options of a running OSD."""

from __future__ import annotations

import math
import threading
from typing import Optional

#: The same OSD again after this.
OSD_SPACING_S = 30.0
#: And so many looks at all OSDs together in so long.
MOST = 6
WINDOW_S = 60.0


class LookRate:
    """Times are seconds of a monotonic clock. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._looked: list[tuple[float, int]] = []

    def take(self, osd_id: int, now_s: float) -> Optional[str]:
        """Count a look at this OSD; or why there is none now, and when there may be one."""
        with self._lock:
            self._looked = [(at_s, n) for at_s, n in self._looked if now_s - at_s < WINDOW_S]
            own = [at_s for at_s, n in self._looked if n == osd_id]
            if own and now_s - own[-1] < OSD_SPACING_S:
                ago_s = now_s - own[-1]
                return (
                    f'osd.{osd_id} was looked at {ago_s:.0f} s ago: ask again in '
                    f'{math.ceil(OSD_SPACING_S - ago_s)} s'
                )
            if len(self._looked) >= MOST:
                wait_s = self._looked[-MOST][0] + WINDOW_S - now_s
                return (
                    f'{MOST} OSDs were looked at in the last {WINDOW_S:.0f} s: ask again in '
                    f'{math.ceil(wait_s)} s'
                )
            self._looked.append((now_s, osd_id))
            return None
