"""Client and recovery activity, summed over one or more OSDs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Optional

from ..observe.signals import Signals


class Activity(NamedTuple):
    """Client operations and recovery of ``osds`` OSDs, per second, over ``window_s``.

    A sum, so that the distribution of primaries does not matter: replicated writes show in an OSD's
    WAL, but not in its client operations.
    """

    osds: int
    window_s: float
    writes_per_s: float
    class_calls_per_s: float
    reads_per_s: float
    #: Of plain writes.
    write_bytes_per_s: float
    class_call_bytes_per_s: float
    read_bytes_per_s: float
    recovery_per_s: float

    @property
    def changes_per_s(self) -> float:
        """Operations that write: plain writes and class calls."""
        return self.writes_per_s + self.class_calls_per_s

    @property
    def operations_per_s(self) -> float:
        return self.changes_per_s + self.reads_per_s

    @property
    def written_bytes_per_s(self) -> float:
        return self.write_bytes_per_s + self.class_call_bytes_per_s

    @property
    def bytes_per_s(self) -> float:
        return self.written_bytes_per_s + self.read_bytes_per_s

    @property
    def mean_write_bytes(self) -> Optional[float]:
        return self.write_bytes_per_s / self.writes_per_s if self.writes_per_s else None

    @property
    def mean_class_call_bytes(self) -> Optional[float]:
        """Large only if calls carry data: most of them set keys and count no bytes."""
        calls_per_s = self.class_calls_per_s
        return self.class_call_bytes_per_s / calls_per_s if calls_per_s else None


def activity(signals: Iterable[Signals]) -> Optional[Activity]:
    """None if no OSD has a window with known client operations."""
    osds = 0
    window_s = writes = calls = reads = written = called = read = recovery = 0.0
    for s in signals:
        if (
            s.window_s is None
            or s.write_iops is None
            or s.read_iops is None
            or s.rw_iops is None
            or s.write_bytes_per_s is None
            or s.rw_bytes_per_s is None
            or s.read_bytes_per_s is None
        ):
            continue
        osds += 1
        window_s = max(window_s, s.window_s)
        writes += s.write_iops
        calls += s.rw_iops
        reads += s.read_iops
        written += s.write_bytes_per_s
        called += s.rw_bytes_per_s
        read += s.read_bytes_per_s
        recovery += s.recovery_ops_per_s or 0.0
    if not osds:
        return None
    return Activity(osds, window_s, writes, calls, reads, written, called, read, recovery)
