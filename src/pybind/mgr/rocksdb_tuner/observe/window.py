"""The difference of two samples of one OSD: how much happened between them."""

from __future__ import annotations

from operator import lt
from typing import Any, NamedTuple, Optional

from .sample import Sample

#: OSDs report every 5 s. Two reports that the mgr received closer together than this were held up
#: on the way: they contain 5 s of work, and as a rate it would be a multiple of the truth.
MIN_WINDOW_S = 4.0


class Latency(NamedTuple):
    total_s: float
    operations: int

    @property
    def mean_ms(self) -> Optional[float]:
        return self.total_s * 1e3 / self.operations if self.operations else None


class Window(NamedTuple):
    """What happened in ``window_s`` seconds; None where a counter is not known at both ends."""

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


_FIRST = Sample._fields.index('kv_sync')
_END = Sample._fields.index('bytes_written_slow') + 1


def comparable(before: Sample, after: Sample) -> bool:
    """Whether `window` would give something; much cheaper than asking for it."""
    if before.nonce != after.nonce or after.time_s - before.time_s < MIN_WINDOW_S:
        return False
    # Numbers and pairs beside None: what cannot be compared says so.
    earlier: tuple[Any, ...] = before[_FIRST:_END]
    later: tuple[Any, ...] = after[_FIRST:_END]
    try:
        # Counters do not fall; a pair of sum and count falls with its sum.
        return not any(map(lt, later, earlier))
    except TypeError:
        # One of them is not known.
        return window(before, after) is not None


def window(before: Sample, after: Sample) -> Optional[Window]:
    """None where the two cannot be compared: another process, or no time between them.

    A counter that fell was reset, so the process is another one though nothing else says so:
    then none of the differences means anything.
    """
    window_s = after.time_s - before.time_s
    if before.nonce != after.nonce or window_s < MIN_WINDOW_S:
        return None
    differences: list[object] = [window_s]
    for old, new in zip(before[_FIRST:_END], after[_FIRST:_END]):
        if old is None or new is None:
            differences.append(None)
        elif isinstance(old, tuple):
            assert isinstance(new, tuple)
            total, count = new[0] - old[0], new[1] - old[1]
            if total < 0 or count < 0:
                return None
            differences.append(Latency(total / 1e9, count))
        else:
            assert not isinstance(new, tuple)
            if new < old:
                return None
            differences.append(new - old)
    return Window(*differences)  # type: ignore[arg-type]  # by the order of the fields
