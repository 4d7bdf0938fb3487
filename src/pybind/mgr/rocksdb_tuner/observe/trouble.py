"""What OSDs tell of their own slowness: read of the few that are being judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Optional, Protocol

from ..mgr.protocols import ClusterReader, CounterReader

#: Sent to the mgr from Reef on, by this name; Pacific has no such counter.
SLOW_COMMITS = 'bluestore.slow_committed_kv_count'


class Trouble(NamedTuple):
    """What one OSD told at one time; None: not known."""

    #: Requests that are slow now.
    slow_ops: Optional[int] = None
    #: Transactions that took very long to commit, since its process started.
    slow_commits: Optional[int] = None


class TroubleReader(ClusterReader, CounterReader, Protocol):
    """What it is read from."""


def read_trouble(cluster: TroubleReader, osd_ids: Iterable[int]) -> Mapping[int, Trouble]:
    slow_ops = cluster.slow_ops()
    points = {n: cluster.latest(n, (SLOW_COMMITS,))[0] for n in osd_ids}
    return {
        n: Trouble(slow_ops.get(n), None if point is None else point.value)
        for n, point in points.items()
    }
