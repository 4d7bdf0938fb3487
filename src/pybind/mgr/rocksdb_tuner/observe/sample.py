"""The counters of one OSD at one time."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, Optional

from ..mgr.protocols import CounterReader
from ..mgr.records import CounterPoint
from .counters import ALL_OPERATIONS, CounterNames

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
_PLACE = {field: place for place, field in enumerate(Sample._fields)}
#: Of a sample's fields the first one that is a counter; they are in the order of the names.
_FIRST = _PLACE[CounterNames._fields[0]]
_OP_W, _OP_W_LATENCY = _PLACE['op_w'], _PLACE['op_w_latency']
#: An OSD counts each operation as one of three kinds, with its bytes and its time, and in
#: ALL_OPERATIONS (`PrimaryLogPG::log_op_stats`, and the same place in each release). So those of a
#: write are its latency's count, and while the sum of the kinds is that of all, none has moved.
_OF_WRITES = ('op_w_latency', 'op_w_in_bytes')
_OF_OTHERS = ('op_r', 'op_r_out_bytes', 'op_rw', 'op_rw_in_bytes')
_OF_OPERATIONS = (*_OF_WRITES, *_OF_OTHERS, 'op_w')


class _Asked(NamedTuple):
    """Which counters to read of an OSD: their names, and their places in a `Sample`."""

    paths: tuple[str, ...]
    is_latency: tuple[bool, ...]
    places: tuple[int, ...]


class _Plan(NamedTuple):
    """What to read of a process that was seen before: each begins with all of the one before it."""

    #: All but operations.
    first: _Asked
    and_writes: _Asked
    and_others: _Asked
    #: Where what was seen before does not tell what moved.
    and_operations: _Asked


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
        tuple(_PLACE[field] for field in found),
    )


class _Reading:
    """What to read of an OSD whose counters have ``names``."""

    def __init__(self, names: CounterNames) -> None:
        self._names = names
        self._plans: dict[_Known, _Plan] = {}
        self.everything = _asked(names, names._fields)

    def plan(self, known: _Known) -> _Plan:
        """Without what cannot change while a process runs.

        That are the sizes of its devices, and what is used of a device that is not there: BlueFS
        says 0 of both. Without a slow device nothing is written to one.
        """
        plan = self._plans.get(known)
        if plan is None:
            settled = {
                'db_total_bytes': known.db,
                'wal_total_bytes': known.wal is not None,
                'wal_used_bytes': known.wal is False,
                'slow_total_bytes': known.slow is not None,
                'slow_used_bytes': known.slow is False,
                'bytes_written_slow': known.slow is False,
            }
            first = tuple(
                field
                for field in CounterNames._fields
                if field not in _OF_OPERATIONS and not settled.get(field)
            )
            plan = self._plans[known] = _Plan(
                _asked(self._names, first),
                _asked(self._names, first + _OF_WRITES),
                _asked(self._names, first + _OF_WRITES + _OF_OTHERS),
                _asked(self._names, first + _OF_OPERATIONS),
            )
        return plan


_reading = lru_cache(maxsize=16)(_Reading)


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
    reading = _reading(names)
    if known is None or known.nonce != nonce:
        values = [None] * len(Sample._fields)
        asked = reading.everything
        points = reader.latest(osd_id, asked.paths)
    else:
        values = list(known)
        asked, points = _read_what_moved(reader, osd_id, reading, known)
    times = [point.time_s for point in points if point is not None]
    if not times:
        return None
    time_s = times[0]
    # Counters of one report have one time: mostly all that were read.
    if times.count(time_s) < len(times):
        if min(times) < max(times) - SAME_REPORT_S:
            # A report arrived while these were read: what was read before it is of the one before.
            asked = reading.everything
            points = reader.latest(osd_id, asked.paths)
            times = [point.time_s for point in points if point is not None]
            if not times:
                return None
        time_s = max(times)
    if time_s <= not_before_s or now_s - time_s > MAX_REPORT_AGE_S:
        return None
    _fill(values, asked, points, time_s - SAME_REPORT_S)
    values[:_FIRST] = (time_s, nonce)
    return Sample(*values)  # type: ignore[arg-type]  # by the order of the fields


def _fill(
    values: list[object],
    asked: _Asked,
    points: Iterable[Optional[CounterPoint]],
    oldest_s: float,
) -> None:
    """Put what was read into its places in ``values``; None for what is older than the report."""
    for point, is_latency, place in zip(points, asked.is_latency, asked.places):
        # A counter whose kind is not the expected one is another counter of the same name.
        if point is None or point.time_s < oldest_s or is_latency is (point.avgcount is None):
            values[place] = None
        elif is_latency:
            values[place] = point[1:]
        else:
            values[place] = point.value
    if _OP_W_LATENCY in asked.places and _OP_W not in asked.places:
        latency = values[_OP_W_LATENCY]
        values[_OP_W] = latency[1] if isinstance(latency, tuple) else None


def _read_what_moved(
    reader: CounterReader, osd_id: int, reading: _Reading, known: Sample
) -> tuple[_Asked, list[Optional[CounterPoint]]]:
    """(what was read, the points); each read costs the mgr more than all else done with it."""
    wal, slow = known.wal_total_bytes, known.slow_total_bytes
    wal_told = wal is not None and known.wal_used_bytes is not None
    slow_told = None not in (slow, known.slow_used_bytes, known.bytes_written_slow)
    plan = reading.plan(
        _Known(
            known.db_total_bytes is not None,
            wal != 0 if wal_told else None,
            slow != 0 if slow_told else None,
        )
    )
    done, *points = reader.latest(osd_id, (ALL_OPERATIONS, *plan.first.paths))

    def read_up_to(asked: _Asked) -> tuple[_Asked, list[Optional[CounterPoint]]]:
        points.extend(reader.latest(osd_id, asked.paths[len(points) :]))
        return asked, points

    not_writes = _reads_and_calls(known)
    if (
        not_writes is None
        or done is None
        or done.avgcount is not None
        # Only what is of the same report can be compared.
        or points[0] is None
        or points[0].time_s != done.time_s
    ):
        return read_up_to(plan.and_operations)
    if done.value == not_writes + known.op_w:  # type: ignore[operator]  # known with the others
        return plan.first, points
    read_up_to(plan.and_writes)
    of_writes = points[len(plan.first.paths)]
    if of_writes is None or of_writes.avgcount is None:
        return read_up_to(plan.and_operations)
    if done.value == not_writes + of_writes.avgcount:
        return plan.and_writes, points
    return read_up_to(plan.and_others)


def _reads_and_calls(known: Sample) -> Optional[int]:
    """Operations so far that were no plain writes; None where not all is known of all kinds."""
    if (
        known.op_w is None
        or known.op_w_in_bytes is None
        or known.op_w_latency is None
        or known.op_r is None
        or known.op_r_out_bytes is None
        or known.op_rw is None
        or known.op_rw_in_bytes is None
    ):
        return None
    return known.op_r + known.op_rw
