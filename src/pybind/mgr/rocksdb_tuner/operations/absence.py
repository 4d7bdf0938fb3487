"""Whether an OSD is absent, so that an operation continues without it. Pure.

An OSD that was removed from the OSD map never returns as the same OSD. One that is down and out has
lost its data to other OSDs and returns only if an operator restarts it. `identity` leaves absent
OSDs behind.
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
    """How an OSD is absent; None if it is present."""
    # An empty map has not been read yet.
    return _away(seen.osd(osd_id)) if seen.cluster.osds else None


def absent_of(cluster: ClusterMap, osd_ids: Iterable[int]) -> tuple[int, ...]:
    """The absent ones among ``osd_ids``."""
    # An empty map has not been read yet.
    if not cluster.osds:
        return ()
    known, out = cluster.by_id, cluster.down_and_out
    return tuple(n for n in osd_ids if n not in known or n in out)


def why_away(osd_id: int, away: Away) -> str:
    return f'osd.{osd_id} {away.value}'


def _away(info: Optional[OsdInfo]) -> Optional[Away]:
    if info is None:
        return Away.GONE
    return Away.DOWN_AND_OUT if not info.up and not info.in_cluster else None
