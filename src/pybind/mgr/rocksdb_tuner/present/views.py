"""What the tab of the Ceph Dashboard draws, as JSON documents; the command line has no such view.

By columns, so that ten thousand OSDs stay small: every list has as many items as `osds` or
`time_s`, and a text is named once. The rules of `documents` hold here too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Optional

from ..snapshot import Snapshot
from ..units import format_time
from ..workload.records import WorkloadClass
from .json_types import JsonObject

#: A colour tells no more.
_RATIO_DIGITS = 3


def osd_map(snapshot: Snapshot) -> JsonObject:
    """What all OSDs do, by columns."""
    osds = snapshot.osds
    signals = [facts.signals for facts in osds]
    options = [facts.options for facts in osds]
    return {
        'time': format_time(snapshot.taken_s),
        'osds': [facts.info.osd_id for facts in osds],
        'up': [facts.info.up for facts in osds],
        'hosts': _named(facts.info.host for facts in osds),
        'device_classes': _named(facts.info.device_class for facts in osds),
        'workloads': _named(
            (facts.workload.workload_class if facts.workload else WorkloadClass.UNKNOWN).value
            for facts in osds
        ),
        'profiles': _named(o.profile if o else None for o in options),
        'sources': _named(o.source if o else None for o in options),
        'pending_restart': [o.pending_restart if o else None for o in options],
        'kv_sync_ms': [_digits(s.kv_sync_ms if s else None) for s in signals],
        'kv_sync_busy': [_digits(s.kv_sync_busy if s else None) for s in signals],
        'db_used_ratio': [
            _digits(s.db_used_bytes / s.db_total_bytes)
            if s and s.db_used_bytes is not None and s.db_total_bytes
            else None
            for s in signals
        ],
        'spilled': [None if not s or s.slow_used_bytes is None else s.slow_used_bytes > 0
                    for s in signals],
    }  # fmt: skip


def _named(texts: Iterable[Optional[str]]) -> JsonObject:
    """Texts as indices of those that there are."""
    names: dict[Optional[str], int] = {}
    index = [names.setdefault(text, len(names)) for text in texts]
    return {'names': list(names), 'index': index}


def _digits(value: Optional[float]) -> Optional[float]:
    return None if value is None or not math.isfinite(value) else round(value, _RATIO_DIGITS)
