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
from .declaration import Condition, LimitOption

__all__ = ['conditions', 'limit_options']

#: In the order of health checks and module options.
_MODULES = (
    *(starting, entries, published, checked, memory),
    *(db_device, device, sharding),
    *(kv_sync, metadata_work, settings, compaction, caches),
    *(starts, alerts, build),
)


@lru_cache(maxsize=1)
def conditions() -> Mapping[str, Condition]:
    """All conditions by id, in order of module and declaration."""
    return {
        declared.condition_id: declared
        for module in _MODULES
        for declared in vars(module).values()
        if isinstance(declared, Condition)
    }


def limit_options() -> tuple[LimitOption, ...]:
    """The module options that set thresholds."""
    return tuple(option for known in conditions().values() for option in known.limit_options)
