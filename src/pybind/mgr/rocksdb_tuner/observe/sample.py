"""The counters of one OSD at one time."""

from __future__ import annotations

from functools import lru_cache
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
#: Of a sample's fields the first one that is a counter; they are in the order of the names.
_FIRST = Sample._fields.index(CounterNames._fields[0])


class _Asked(NamedTuple):
    """Which counters to read of an OSD."""

    paths: tuple[str, ...]
    is_latency: tuple[bool, ...]
    #: Places among the counters of those that are not read again, in order.
    settled: tuple[int, ...] = ()


@lru_cache(maxsize=256)
def _all(names: CounterNames) -> _Asked:
    return _Asked(tuple(names), tuple(field in _LATENCIES for field in names._fields))


@lru_cache(maxsize=256)
def _not_settled(
    names: CounterNames, *, db: bool, wal: Optional[bool], slow: Optional[bool]
) -> _Asked:
    """What may change while an OSD's process runs.

    The sizes of its devices do not, nor what is used of a device that is not there: BlueFS says 0
    of both. ``db`` is whether the size of the device is known; ``wal`` and ``slow`` are whether
    there is such a device, None where that is not known.
    """
    settled = {
        'db_total_bytes': db,
        'wal_total_bytes': wal is not None,
        'wal_used_bytes': wal is False,
        'slow_total_bytes': slow is not None,
        'slow_used_bytes': slow is False,
    }
    left = [i for i, field in enumerate(names._fields) if not settled.get(field)]
    return _Asked(
        tuple(names[i] for i in left),
        tuple(names._fields[i] in _LATENCIES for i in left),
        tuple(i for i in range(len(names)) if i not in left),
    )


def _asked(names: CounterNames, known: Optional[Sample]) -> _Asked:
    if known is None:
        return _all(names)
    wal, slow = known.wal_total_bytes, known.slow_total_bytes
    return _not_settled(
        names,
        db=known.db_total_bytes is not None,
        wal=None if wal is None else wal > 0,
        slow=None if slow is None else slow > 0,
    )


def take_sample(
    reader: CounterReader,
    osd_id: int,
    nonce: int,
    names: CounterNames,
    now_s: float,
    not_before_s: float = 0.0,
    known: Optional[Sample] = None,
) -> Optional[Sample]:
    """The OSD's newest report; None if there is none, or none fresh enough.

    ``not_before_s`` is when this process was first seen: after a restart the mgr holds the
    counters of the process before until the new one reports. Of ``known``, an earlier sample, is
    taken what does not change while a process runs.
    """
    if known is not None and known.nonce != nonce:
        known = None
    asked = _asked(names, known)
    points = reader.latest(osd_id, asked.paths)
    times = [point.time_s for point in points if point is not None]
    if not times:
        return None
    time_s = times[0]
    # Counters of one report have one time: mostly all that were read.
    if times.count(time_s) < len(times):
        time_s = max(times)
        if min(times) < time_s - SAME_REPORT_S:
            # A report arrived while these were read: what was read before it is of the one before.
            points = [
                old if old is not None and old.time_s >= time_s else new
                for old, new in zip(points, reader.latest(osd_id, asked.paths))
            ]
    if time_s <= not_before_s or now_s - time_s > MAX_REPORT_AGE_S:
        return None
    oldest_s = time_s - SAME_REPORT_S
    values: list[object] = [
        None
        # A counter whose kind is not the expected one is another counter of the same name.
        if point is None or point[0] < oldest_s or is_latency is (point[2] is None)
        else point[1:]
        if is_latency
        else point[1]
        for point, is_latency in zip(points, asked.is_latency)
    ]
    if known is not None:
        for place in asked.settled:
            values.insert(place, known[_FIRST + place])
    return Sample(time_s, nonce, *values)  # type: ignore[arg-type]  # by the order of the names
