"""All declared conditions."""

from __future__ import annotations

from functools import lru_cache
from typing import Mapping

from . import (
    alerts,
    build,
    caches,
    checked,
    compaction,
    db_device,
    device,
    entries,
    kv_sync,
    memory,
    metadata_work,
    published,
    settings,
    sharding,
    starting,
    starts,
)
from .declaration import Condition, LimitOption, declarations

__all__ = ['conditions', 'limit_options']

_MODULES = (
    *(alerts, build, caches, checked, compaction, db_device, device, entries, kv_sync, memory),
    *(metadata_work, published, settings, sharding, starting, starts),
)


@lru_cache(maxsize=1)
def conditions() -> Mapping[str, Condition]:
    """All conditions by id, in the order of their declarations."""
    found = {
        decided.condition_id: decided
        for module in _MODULES
        for decided in vars(module).values()
        if isinstance(decided, Condition)
    }
    return {condition_id: found[condition_id] for condition_id in declarations()}


def limit_options() -> tuple[LimitOption, ...]:
    """The module options that set thresholds."""
    return tuple(option for known in conditions().values() for option in known.limit_options)
