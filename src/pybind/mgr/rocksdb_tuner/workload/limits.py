"""Thresholds for the resource that limits clients: data, each with its source."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ..knowledge import loader


class LimitThresholds(NamedTuple):
    """Meaning, unit and source: ``knowledge/limits.json``."""

    kv_sync_bound: float
    kv_sync_idle: float
    slow_round_ms: float
    spilled_share: float
    db_full_share: float
    wal_full_share: float
    stall_share: float
    memory_over_target: float
    data_write_share: float
    cores_thread_ms: float
    cores_prepare_ms: float
    cores_thread_share: float
    cores_onode_misses: float


@lru_cache(maxsize=1)
def limit_thresholds() -> LimitThresholds:
    entries = loader.load('limits')['thresholds']
    return LimitThresholds(**{name: float(entry['value']) for name, entry in entries.items()})
