"""The counters of one OSD at one time."""

from __future__ import annotations

from typing import NamedTuple, Optional

from ..mgr.protocols import CounterReader
from .counters import CounterNames

#: Counters of one report carry one time. One that is older than the newest by more than this was
#: not in that report: the OSD stopped sending it, and its last value says nothing about now.
SAME_REPORT_S = 1.0
#: OSDs report every 5 s unless `mgr_stats_period` was raised. A report older than this is stale:
#: an OSD that hangs is still "up" for a while, and what it did before says nothing about now.
MAX_REPORT_AGE_S = 30.0


class Sample(NamedTuple):
    """Raw values since the OSD's process started; None was never reported, or is stale.

    Latencies are (sum in nanoseconds, number of operations).
    """

    #: When the mgr received the report.
    time_s: float
    #: The OSD's process.
    nonce: int
    kv_sync: Optional[tuple[int, int]]
    kv_flush: Optional[tuple[int, int]]
    commit: Optional[tuple[int, int]]
    op_w: Optional[int]
    op_w_in_bytes: Optional[int]
    op_w_latency: Optional[tuple[int, int]]
    op_r: Optional[int]
    op_r_out_bytes: Optional[int]
    op_rw: Optional[int]
    op_rw_in_bytes: Optional[int]
    recovery_ops: Optional[int]
    recovery_bytes: Optional[int]
    bytes_written_wal: Optional[int]
    bytes_written_sst: Optional[int]
    bytes_written_slow: Optional[int]
    db_total_bytes: Optional[int]
    db_used_bytes: Optional[int]
    wal_total_bytes: Optional[int]
    wal_used_bytes: Optional[int]
    slow_total_bytes: Optional[int]
    slow_used_bytes: Optional[int]


_LATENCIES = frozenset({'kv_sync', 'kv_flush', 'commit', 'op_w_latency'})
_IS_LATENCY = tuple(field in _LATENCIES for field in CounterNames._fields)


def take_sample(
    reader: CounterReader,
    osd_id: int,
    nonce: int,
    names: CounterNames,
    now_s: float,
    not_before_s: float = 0.0,
) -> Optional[Sample]:
    """The OSD's newest report; None if there is none, or none fresh enough.

    ``not_before_s`` is when this process was first seen: after a restart the mgr holds the
    counters of the process before until the new one reports.
    """
    points = [reader.latest(osd_id, path) for path in names]
    times = [point.time_s for point in points if point is not None]
    if not times:
        return None
    time_s = max(times)
    if min(times) < time_s - SAME_REPORT_S:
        # A report arrived while these were read: what was read before it is of the report before.
        points = [
            reader.latest(osd_id, path) if point is None or point.time_s < time_s else point
            for path, point in zip(names, points)
        ]
    if time_s <= not_before_s or now_s - time_s > MAX_REPORT_AGE_S:
        return None
    oldest_s = time_s - SAME_REPORT_S
    values = [
        None
        # A counter whose kind is not the expected one is another counter of the same name.
        if point is None or point.time_s < oldest_s or is_latency != (point.avgcount is not None)
        else (point.value, point.avgcount)
        if is_latency
        else point.value
        for point, is_latency in zip(points, _IS_LATENCY)
    ]
    return Sample(time_s, nonce, *values)  # type: ignore[arg-type]  # by the order of the names
