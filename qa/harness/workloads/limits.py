"""How long a client may take before it is taken for stuck, on a slow and shared machine too."""

from __future__ import annotations

STUCK_S = 120.0
"""No single request or step takes so long in a cluster that works."""
MIN_OPS_PER_S = 20
"""Small requests, also those that prepare or check a run."""
MIN_BYTES_PER_S = 1 << 20
"""Large requests."""


def limit_s(*, seconds: float = 0, ops: int = 0, size_bytes: int = 0) -> float:
    """The limit of a step that is to last so long, or to do so much."""
    return seconds + STUCK_S + ops / MIN_OPS_PER_S + size_bytes / MIN_BYTES_PER_S
