"""Map of all OSDs in the dashboard's tab; there is no such command.

Columnar, to stay small with ten thousand OSDs: every list has as many items as `osds`, and each
distinct text appears once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Optional

from ...notes import Amount, Count, Digits, OsdId, Time
from ...observe.signals import Signals
from ...snapshot import Snapshot
from ...units import format_time
from ...workload.records import WorkloadClass

#: Shown as a color, which needs no more digits.
_Shade = Annotated[Amount, Digits(3)]


@dataclass(frozen=True)
class Named:
    """A text for every OSD."""

    names: Annotated[tuple[Optional[str], ...], 'Distinct texts; null: unknown, or none.']
    index: Annotated[tuple[Count, ...], 'Index of the text of each OSD.']


@dataclass(frozen=True)
class OsdMap:
    """Columnar map: every list and every index has as many items as osds."""

    time: Annotated[Optional[Time], 'Time of the data. ISO 8601, UTC.']
    osds: Annotated[tuple[OsdId, ...], 'Ids of the OSDs.']
    up: Annotated[tuple[bool, ...], 'Whether the OSD is up.']
    hosts: Annotated[Named, 'Names of their hosts.']
    device_classes: Annotated[Named, 'Device classes, from the CRUSH map.']
    workloads: Annotated[Named, 'Workload classes.']
    profiles: Annotated[Named, 'Names of the running profiles.']
    sources: Annotated[Named, 'Sources of the options.']
    pending_restart: Annotated[
        tuple[Optional[bool], ...],
        'Whether a restart would apply the configured options.',
    ]
    kv_sync_ms: Annotated[
        tuple[Optional[_Shade], ...], 'Mean duration of one round of the kv_sync thread.'
    ]
    kv_sync_busy: Annotated[tuple[Optional[_Shade], ...], 'Time inside kv_sync over wall time.']
    db_used_ratio: Annotated[
        tuple[Optional[_Shade], ...],
        'Used share of the DB device, 0..1; null without a dedicated device.',
    ]
    spilled: Annotated[
        tuple[Optional[bool], ...], 'Whether a part of the DB is on the slow device.'
    ]


def osd_map_of(snapshot: Snapshot) -> OsdMap:
    osds = snapshot.osds
    signals = [facts.signals or Signals(facts.info.osd_id) for facts in osds]
    options = [facts.options for facts in osds]
    return OsdMap(
        time=format_time(snapshot.taken_s),
        osds=tuple(facts.info.osd_id for facts in osds),
        up=tuple(facts.info.up for facts in osds),
        hosts=_named(facts.info.host for facts in osds),
        device_classes=_named(facts.info.device_class for facts in osds),
        workloads=_named(
            (facts.workload.workload_class if facts.workload else WorkloadClass.UNKNOWN).value
            for facts in osds
        ),
        profiles=_named(o.profile if o else None for o in options),
        sources=_named(o.source if o else None for o in options),
        pending_restart=tuple(o.pending_restart if o else None for o in options),
        kv_sync_ms=tuple(s.kv_sync_ms for s in signals),
        kv_sync_busy=tuple(s.kv_sync_busy for s in signals),
        db_used_ratio=tuple(_used_ratio(s) for s in signals),
        spilled=tuple(
            None if s.slow_used_bytes is None else s.slow_used_bytes > 0 for s in signals
        ),
    )


def _used_ratio(signals: Signals) -> Optional[float]:
    if signals.db_used_bytes is None or not signals.db_total_bytes:
        return None
    return signals.db_used_bytes / signals.db_total_bytes


def _named(texts: Iterable[Optional[str]]) -> Named:
    """Distinct texts, with the index of each item."""
    names: dict[Optional[str], int] = {}
    index = tuple(names.setdefault(text, len(names)) for text in texts)
    return Named(tuple(names), index)
