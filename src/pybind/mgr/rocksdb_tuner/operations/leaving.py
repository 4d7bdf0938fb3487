"""Whether an OSD is away, so that the others go on without it: pure.

One that was removed from the OSD map never comes back as what it was; one that is down and out has
been replaced by other OSDs, and comes back by somebody's hand, if ever. How an OSD is left behind:
`identity`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Optional

from ..mgr.records import ClusterMap, OsdInfo
from .cluster_view import ClusterView


class Away(Enum):
    GONE = 'was removed from the cluster'
    DOWN_AND_OUT = 'is down and out'


def absent(seen: ClusterView, osd_id: int) -> Optional[Away]:
    """In what way an OSD is away; None: it is not."""
    osds = seen.cluster.osds
    return _away(next((osd for osd in osds if osd.osd_id == osd_id), None)) if osds else None


def absent_of(cluster: ClusterMap, osd_ids: Iterable[int]) -> tuple[int, ...]:
    """Those of the OSDs that are away."""
    # A map without any OSD is none that a manager has read yet.
    if not cluster.osds:
        return ()
    # Of thousands each look asks for all.
    known = {osd.osd_id: osd for osd in cluster.osds}
    return tuple(n for n in osd_ids if _away(known.get(n)) is not None)


def why_away(osd_id: int, away: Away) -> str:
    return f'osd.{osd_id} {away.value}'


def _away(info: Optional[OsdInfo]) -> Optional[Away]:
    if info is None:
        return Away.GONE
    return Away.DOWN_AND_OUT if not info.up and not info.in_cluster else None
