"""What the tab of the Ceph Dashboard draws of all OSDs; the command line has no such view.

By columns, so that ten thousand OSDs stay small: every list has as many items as `osds`, and a text
is named once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Optional

from ...observe.signals import Signals
from ...snapshot import Snapshot
from ...units import format_time
from ...workload.records import WorkloadClass
from .notes import Amount, Count, Digits, OsdId, Time

#: A color tells no more.
_Shade = Annotated[Amount, Digits(3)]


@dataclass(frozen=True)
class Named:
    """A text for every OSD."""

    names: Annotated[
        tuple[Optional[str], ...], 'Each text that there is, once; null: not known, or none.'
    ]
    index: Annotated[tuple[Count, ...], 'Which of them each OSD has.']


@dataclass(frozen=True)
class OsdMap:
    """By columns: every list, and every index, has as many items as osds."""

    time: Annotated[Optional[Time], 'When this was so. ISO 8601, UTC.']
    osds: Annotated[tuple[OsdId, ...], 'Ids of OSDs.']
    up: Annotated[tuple[bool, ...], 'Whether the OSD is up.']
    hosts: Annotated[Named, 'Names of their hosts.']
    device_classes: Annotated[Named, 'Device classes, from the CRUSH map.']
    workloads: Annotated[Named, 'Workload classes.']
    profiles: Annotated[Named, 'Names of the profiles that run.']
    sources: Annotated[Named, 'Where the options come from.']
    pending_restart: Annotated[
        tuple[Optional[bool], ...],
        'Whether the options in force need a restart to take effect.',
    ]
    kv_sync_ms: Annotated[
        tuple[Optional[_Shade], ...], 'Mean duration of one round of the kv_sync thread.'
    ]
    kv_sync_busy: Annotated[tuple[Optional[_Shade], ...], 'Time inside kv_sync over wall time.']
    db_used_ratio: Annotated[
        tuple[Optional[_Shade], ...],
        'How full the DB device is; null where there is no dedicated one.',
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


def _spilled(signals: Signals) -> Optional[bool]:
    return None if signals.slow_used_bytes is None else signals.slow_used_bytes > 0


def _named(texts: Iterable[Optional[str]]) -> Named:
    """Texts as indices of those that there are."""
    names: dict[Optional[str], int] = {}
    index = tuple(names.setdefault(text, len(names)) for text in texts)
    return Named(tuple(names), index)
