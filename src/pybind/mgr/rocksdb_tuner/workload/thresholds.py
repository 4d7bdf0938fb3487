"""Thresholds of the workload classification: data, each with its source."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ..knowledge import loader


class Thresholds(NamedTuple):
    """Meaning, unit and source: ``knowledge/workload.json``."""

    noise_ops_per_s: float
    noise_bytes_per_s: float
    small_write_bytes: float
    large_write_bytes: float
    read_share: float
    write_share: float
    class_call_share: float
    recovery_ops_share: float
    dominant_kind_share: float
    full_confidence_ops_per_s: float
    replica_wal_bytes_per_s: float


@lru_cache(maxsize=1)
def thresholds() -> Thresholds:
    entries = loader.load('workload')['thresholds']
    return Thresholds(**{name: float(entry['value']) for name, entry in entries.items()})
