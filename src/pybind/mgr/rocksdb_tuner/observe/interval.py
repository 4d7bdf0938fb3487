"""How often to sample: often enough to see a workload, never so often that the mgr notices."""

from __future__ import annotations

from typing import Optional

#: OSDs report every 5 s by default: sampling faster reads the same report twice.
MIN_INTERVAL_S = 5.0
DEFAULT_INTERVAL_S = 10.0
MAX_INTERVAL_S = 3600.0
#: Planned CPU time of one OSD in a tick, until it was measured.
EXPECTED_OSD_S = 150e-6
#: Share of one core that sampling may take.
MAX_SHARE = 0.02


def choose_interval(osds: int, tick_s: Optional[float], configured_s: float) -> float:
    """Seconds between two samples of every OSD.

    ``tick_s`` is the CPU time that the last tick took, None before the first; ``configured_s``
    is the operator's wish, 0 for none. A tick that takes too long stretches even that: the
    manager comes first.
    """
    wished_s = configured_s if configured_s > 0 else DEFAULT_INTERVAL_S
    cost_s = tick_s if tick_s is not None else osds * EXPECTED_OSD_S
    return min(MAX_INTERVAL_S, max(MIN_INTERVAL_S, wished_s, cost_s / MAX_SHARE))
