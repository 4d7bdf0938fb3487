"""The sampling interval: short enough to see a workload, long enough to spare the mgr."""

from __future__ import annotations

from typing import Optional

#: OSDs report every 5 s by default: sampling faster reads the same report twice.
MIN_INTERVAL_S = 5.0
DEFAULT_INTERVAL_S = 10.0
MAX_INTERVAL_S = 3600.0
#: Expected CPU time per OSD and tick before the first measurement.
EXPECTED_OSD_S = 150e-6
#: Maximum share of one core for sampling.
MAX_SHARE = 0.02


def choose_interval(osds: int, tick_s: Optional[float], configured_s: float) -> float:
    """Seconds between two samples of every OSD.

    ``tick_s``: CPU time of the last tick, None before the first. ``configured_s``: the operator's
    setting, 0 for automatic; expensive ticks stretch it too.
    """
    wished_s = configured_s if configured_s > 0 else DEFAULT_INTERVAL_S
    cost_s = tick_s if tick_s is not None else osds * EXPECTED_OSD_S
    return min(MAX_INTERVAL_S, max(MIN_INTERVAL_S, wished_s, cost_s / MAX_SHARE))
