"""Slow requests and commits of OSDs, read for the few OSDs under comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Optional, Protocol

from ..mgr.protocols import ClusterReader, CounterReader

#: Sent to the mgr from Reef on, by this name; Pacific has no such counter.
SLOW_COMMITS = 'bluestore.slow_committed_kv_count'


class SlowEvents(NamedTuple):
    """Slow events of one OSD at one time; None: unknown."""

    #: Current slow requests.
    slow_ops: Optional[int] = None
    #: Slow commits since the OSD started.
    slow_commits: Optional[int] = None


class SlowEventReader(ClusterReader, CounterReader, Protocol):
    """The source of slow events."""


def read_slow_events(cluster: SlowEventReader, osd_ids: Iterable[int]) -> Mapping[int, SlowEvents]:
    slow_ops = cluster.slow_ops()
    points = {n: cluster.latest(n, (SLOW_COMMITS,))[0] for n in osd_ids}
    return {
        n: SlowEvents(slow_ops.get(n), None if point is None else point.value)
        for n, point in points.items()
    }
