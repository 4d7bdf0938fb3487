"""Slow operations of OSDs, read for the few OSDs under comparison or with an alert of Ceph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Optional, Protocol

from ..mgr.protocols import ClusterReader, CounterReader

#: Sent to the mgr from Reef on, by this name; Pacific has no such counter.
SLOW_COMMITS = 'bluestore.slow_committed_kv_count'
SLOW_OP_ALERT = 'BLUESTORE_SLOW_OP_ALERT'
#: All that BlueStore counts of what raises its alert for slow operations.
SLOW_COUNTERS = (
    'bluestore.slow_aio_wait_count',
    SLOW_COMMITS,
    'bluestore.slow_read_onode_meta_count',
    'bluestore.slow_read_wait_aio_count',
)


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


class AlertingOsd(NamedTuple):
    """An OSD with Ceph's alert for slow operations, which stays for a day after the last one."""

    #: For how long its counters were watched; None: it has none.
    watched_s: Optional[float]
    #: Since they grew; None: not while they were watched.
    quiet_s: Optional[float]


class SlowOps(NamedTuple):
    """Slow operations of an OSD while it was watched; times are seconds of one clock."""

    #: Number since it started; None: it has no such counters.
    seen: Optional[int]
    since_s: float
    grew_s: Optional[float] = None

    def at(self, now_s: float) -> AlertingOsd:
        watched_s = None if self.seen is None else max(0.0, now_s - self.since_s)
        quiet_s = None if self.grew_s is None else max(0.0, now_s - self.grew_s)
        return AlertingOsd(watched_s, quiet_s)


def count_slow_ops(reader: CounterReader, osd_id: int) -> Optional[int]:
    known = [point.value for point in reader.latest(osd_id, SLOW_COUNTERS) if point is not None]
    return sum(known) if known else None


def watch_slow_ops(
    known: Mapping[int, SlowOps], counts: Mapping[int, Optional[int]], now_s: float
) -> Mapping[int, SlowOps]:
    """The state after these counts; an OSD that restarted is watched anew."""
    found = {}
    for osd_id, count in counts.items():
        before = known.get(osd_id)
        if before is None or before.seen is None or count is None or count < before.seen:
            found[osd_id] = SlowOps(count, now_s)
        else:
            grew_s = now_s if count > before.seen else before.grew_s
            found[osd_id] = SlowOps(count, before.since_s, grew_s)
    return found
