"""Rate limit of requests for RocksDB statistics: each one changes options of a running OSD."""

from __future__ import annotations

import math
import threading
from typing import Optional

#: Between two requests for the same OSD.
OSD_SPACING_S = 30.0
#: Requests for all OSDs within a window.
MOST = 6
WINDOW_S = 60.0


class RateLimit:
    """Times are seconds of a monotonic clock. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[tuple[float, int]] = []

    def take(self, osd_id: int, now_s: float) -> Optional[str]:
        """Count a request for this OSD, or return why it is refused and when to retry."""
        with self._lock:
            self._requests = [(at_s, n) for at_s, n in self._requests if now_s - at_s < WINDOW_S]
            own = [at_s for at_s, n in self._requests if n == osd_id]
            if own and now_s - own[-1] < OSD_SPACING_S:
                ago_s = now_s - own[-1]
                return (
                    f'osd.{osd_id} was queried {ago_s:.0f}s ago: retry in '
                    f'{math.ceil(OSD_SPACING_S - ago_s)}s'
                )
            if len(self._requests) >= MOST:
                wait_s = self._requests[-MOST][0] + WINDOW_S - now_s
                return (
                    f'{MOST} OSDs were queried in the last {WINDOW_S:.0f}s: retry in '
                    f'{math.ceil(wait_s)}s'
                )
            self._requests.append((now_s, osd_id))
            return None
