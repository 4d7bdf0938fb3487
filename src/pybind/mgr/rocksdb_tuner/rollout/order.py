"""In which order OSDs are changed: lowest risk first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Optional

from ..mgr.records import OsdInfo


def lowest_risk_first(
    osds: Iterable[OsdInfo], write_iops: Mapping[int, Optional[float]]
) -> tuple[int, ...]:
    """Ids of ``osds``; ``write_iops`` by OSD id, None or missing where it is not known.

    The first OSD is the one whose restart the fewest clients notice: the least client writes. An
    OSD whose load is not known is not taken for an idle one.

    After it come the OSDs of the same host, then host by host: until the first host is through,
    everything that could be wrong with the new options is within one failure domain, and every
    placement group has its other copies on OSDs that were not touched.
    """
    hosts: dict[Optional[str], list[tuple[float, int]]] = {}
    for osd in osds:
        load = write_iops.get(osd.osd_id)
        ranked = (float('inf') if load is None else load, osd.osd_id)
        hosts.setdefault(osd.host, []).append(ranked)
    return tuple(
        osd_id for host in sorted(sorted(ids) for ids in hosts.values()) for _, osd_id in host
    )


def controls_of(order: Sequence[int], most: int) -> tuple[int, ...]:
    """What the first OSD of ``order`` is compared with: the last, which are changed last."""
    return tuple(order[1:][-most:])
