"""The counters of one OSD at one time."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, Optional

from ..mgr.protocols import CounterReader
from ..mgr.records import CounterPoint
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
#: What an OSD counts together with an operation (`PrimaryLogPG::log_op_stats`, and the same place
#: in each release): while the first has not moved, neither have the others.
_TOGETHER = (
    ('op_w', ('op_w_in_bytes', 'op_w_latency')),
    ('op_r', ('op_r_out_bytes',)),
    ('op_rw', ('op_rw_in_bytes',)),
)


class _Asked(NamedTuple):
    """Which counters to read of an OSD: their names, and their places in a `Sample`."""

    paths: tuple[str, ...]
    is_latency: tuple[bool, ...]
    places: tuple[int, ...]


class _Known(NamedTuple):
    """What an earlier sample of the same process says of what to read now.

    ``db`` is whether the size of the device is known; ``wal`` and ``slow`` are whether there is
    such a device, None where not all is known of it.
    """

    db: bool
    wal: Optional[bool]
    slow: Optional[bool]


def _asked(names: CounterNames, fields: Iterable[str]) -> _Asked:
    found = tuple(fields)
    return _Asked(
        tuple(getattr(names, field) for field in found),
        tuple(field in _LATENCIES for field in found),
        tuple(Sample._fields.index(field) for field in found),
    )


@lru_cache(maxsize=16)
def _all(names: CounterNames) -> _Asked:
    return _asked(names, names._fields)


@lru_cache(maxsize=256)
def _first(names: CounterNames, known: _Known) -> _Asked:
    """What to read in any case, of a process that was seen before: its operations, then others.

    The sizes of its devices do not change, nor what is used of a device that is not there: BlueFS
    says 0 of both. Without a slow device nothing is written to one.
    """
    settled = {
        'db_total_bytes': known.db,
        'wal_total_bytes': known.wal is not None,
        'wal_used_bytes': known.wal is False,
        'slow_total_bytes': known.slow is not None,
        'slow_used_bytes': known.slow is False,
        'bytes_written_slow': known.slow is False,
    }
    counts = [count for count, _ in _TOGETHER]
    elsewhere = {*counts, *(field for _, others in _TOGETHER for field in others)}
    left = (f for f in names._fields if f not in elsewhere and not settled.get(f))
    return _asked(names, (*counts, *left))


@lru_cache(maxsize=256)
def _first_and(names: CounterNames, known: _Known, moved: tuple[bool, ...]) -> _Asked:
    """The same, and after it what is counted with the operations that moved."""
    first = _first(names, known)
    then = _asked(names, (f for (_, others), did in zip(_TOGETHER, moved) if did for f in others))
    return _Asked(
        first.paths + then.paths, first.is_latency + then.is_latency, first.places + then.places
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
    taken what cannot have changed while a process runs.
    """
    values: list[object]
    if known is None or known.nonce != nonce:
        values = [None] * len(Sample._fields)
        asked = _all(names)
        points = reader.latest(osd_id, asked.paths)
    else:
        values = list(known)
        asked, points = _read_what_moved(reader, osd_id, names, known)
    times = [point.time_s for point in points if point is not None]
    if not times:
        return None
    time_s = times[0]
    # Counters of one report have one time: mostly all that were read.
    if times.count(time_s) < len(times):
        if min(times) < max(times) - SAME_REPORT_S:
            # A report arrived while these were read: what was read before it is of the one before.
            asked = _all(names)
            points = reader.latest(osd_id, asked.paths)
            times = [point.time_s for point in points if point is not None]
            if not times:
                return None
        time_s = max(times)
    if time_s <= not_before_s or now_s - time_s > MAX_REPORT_AGE_S:
        return None
    oldest_s = time_s - SAME_REPORT_S
    for point, is_latency, place in zip(points, asked.is_latency, asked.places):
        # A counter whose kind is not the expected one is another counter of the same name.
        if point is None or point.time_s < oldest_s or is_latency is (point.avgcount is None):
            values[place] = None
        elif is_latency:
            values[place] = point[1:]
        else:
            values[place] = point.value
    values[:_FIRST] = (time_s, nonce)
    return Sample(*values)  # type: ignore[arg-type]  # by the order of the fields


def _read_what_moved(
    reader: CounterReader, osd_id: int, names: CounterNames, known: Sample
) -> tuple[_Asked, list[Optional[CounterPoint]]]:
    """(what was read, the points); each read costs the mgr more than all else done with it."""
    wal, slow = known.wal_total_bytes, known.slow_total_bytes
    wal_told = wal is not None and known.wal_used_bytes is not None
    slow_told = None not in (slow, known.slow_used_bytes, known.bytes_written_slow)
    of_devices = _Known(
        known.db_total_bytes is not None,
        wal != 0 if wal_told else None,
        slow != 0 if slow_told else None,
    )
    first = _first(names, of_devices)
    points = reader.latest(osd_id, first.paths)
    op_w, op_r, op_rw = points[: len(_TOGETHER)]
    moved = (
        op_w is None
        or op_w.value != known.op_w
        or known.op_w_in_bytes is None
        or known.op_w_latency is None,
        op_r is None or op_r.value != known.op_r or known.op_r_out_bytes is None,
        op_rw is None or op_rw.value != known.op_rw or known.op_rw_in_bytes is None,
    )
    if True not in moved:
        return first, points
    asked = _first_and(names, of_devices, moved)
    return asked, [*points, *reader.latest(osd_id, asked.paths[len(points) :])]
