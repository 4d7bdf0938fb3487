"""The difference of two samples of one OSD."""

from __future__ import annotations

from collections.abc import Iterable
from operator import lt
from typing import Any, NamedTuple, Optional

from .sample import Sample

#: OSDs report every 5 s. Reports that arrive closer together were delayed: they still contain 5 s
#: of work, so the rate would be too high.
MIN_WINDOW_S = 4.0


class Latency(NamedTuple):
    total_s: float
    operations: int

    @property
    def mean_ms(self) -> Optional[float]:
        return self.total_s * 1e3 / self.operations if self.operations else None


class Window(NamedTuple):
    """Differences over ``window_s`` seconds; None unless a counter is known at both ends."""

    window_s: float
    kv_sync: Optional[Latency]
    kv_flush: Optional[Latency]
    commit: Optional[Latency]
    op_w: Optional[int]
    op_w_in_bytes: Optional[int]
    op_w_latency: Optional[Latency]
    op_r: Optional[int]
    op_r_out_bytes: Optional[int]
    op_rw: Optional[int]
    op_rw_in_bytes: Optional[int]
    recovery_ops: Optional[int]
    recovery_bytes: Optional[int]
    bytes_written_wal: Optional[int]
    bytes_written_sst: Optional[int]
    bytes_written_slow: Optional[int]


#: Half the time of calling the class, which is for every OSD at every tick.
_new = tuple.__new__
_FIRST = Sample._fields.index('kv_sync')
_END = Sample._fields.index('bytes_written_slow') + 1


def comparable(before: Sample, after: Sample) -> bool:
    """Whether `window` gives a result; much cheaper than computing it."""
    if before.nonce != after.nonce or after.time_s - before.time_s < MIN_WINDOW_S:
        return False
    # Numbers, pairs and None: comparing with None raises TypeError.
    earlier: tuple[Any, ...] = before[_FIRST:_END]
    later: tuple[Any, ...] = after[_FIRST:_END]
    try:
        # Counters never decrease; pairs of sum and count compare by sum.
        return not any(map(lt, later, earlier))
    except TypeError:
        # A counter is unknown.
        return window(before, after) is not None


def window(before: Sample, after: Sample) -> Optional[Window]:
    """None if the samples cannot be compared: different processes, or too close together.

    A counter that decreased was reset, so none of the differences is valid.
    """
    window_s = after.time_s - before.time_s
    if before.nonce != after.nonce or window_s < MIN_WINDOW_S:
        return None
    found = differences(before[_FIRST:_END], after[_FIRST:_END])
    return None if found is None else _new(Window, (window_s, *found))  # by the order of the fields


def differences(earlier: Iterable[Any], later: Iterable[Any]) -> Optional[list[Any]]:
    """Of counters: numbers, `Latency` for pairs, and None where one of the two is unknown.

    None if a counter decreased: it was reset, so none of the differences is valid.
    """
    found: list[object] = []
    add = found.append
    for old, new in zip(earlier, later):
        if old is None or new is None:
            add(None)
        elif type(old) is tuple:
            total, count = new[0] - old[0], new[1] - old[1]
            if total < 0 or count < 0:
                return None
            add(_new(Latency, (total / 1e9, count)))
        else:
            if new < old:
                return None
            add(new - old)
    return found
