"""The difference of two samples of one OSD, and the samples that windows are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Optional

from .report_interval import DEFAULT, MAX_INTERVAL_S, ReportInterval
from .sample import Sample

#: OSDs report every 5 s. Reports that arrive closer together were delayed: they still contain 5 s
#: of work, so the rate would be too high.
MIN_WINDOW_S = 4.0
#: Maximum distance of two samples in a window; beyond it the mgr was away in between.
MAX_GAP_S = 2 * MAX_INTERVAL_S
#: Length of the short window: long enough to smooth, short enough to classify a workload within a
#: minute of its start.
SHORT_WINDOW_S = 30.0
#: Spacing of the two points that the long window starts from: one to two hours.
ANCHOR_SPACING_S = 3600.0


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
_FIRST = Sample._fields.index(Window._fields[1])
_END = Sample._fields.index(Window._fields[-1]) + 1


def window(before: Sample, after: Sample) -> Optional[Window]:
    """None if the samples cannot be compared: different processes, or too close together."""
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


class WrittenBytes(NamedTuple):
    """BlueFS writes for RocksDB over the long window."""

    window_s: float
    wal_bytes: int
    sst_bytes: int


class Anchor(NamedTuple):
    """A point of the long window: bytes written since the OSD started."""

    time_s: float
    wal_bytes: int
    sst_bytes: int


class OsdHistory(NamedTuple):
    """Samples of one OSD process, oldest first."""

    recent: tuple[Sample, ...] = ()
    anchors: tuple[Anchor, ...] = ()

    @property
    def newest(self) -> Optional[Sample]:
        return self.recent[-1] if self.recent else None

    def short(self) -> Optional[Window]:
        """The newest window, computed; None until there are two comparable samples."""
        return window(self.recent[0], self.recent[-1]) if len(self.recent) > 1 else None

    def added(self, sample: Sample, reports: ReportInterval = DEFAULT) -> OsdHistory:
        """With a sample, unless it is the same report or too close to the last one.

        An OSD restart or a counter reset starts over, and so does a sample older than the last
        one: the clock went backwards.
        """
        recent, anchors = self
        if recent:
            newest = recent[-1]
            apart_s = sample.time_s - newest.time_s
            if sample.nonce == newest.nonce and 0 <= apart_s < reports.confirm_s:
                return self
            if apart_s > MAX_GAP_S or window(newest, sample) is None:
                recent = anchors = ()
        recent = (*recent, sample)
        # Keep at least two samples, even if reports are rare.
        while len(recent) > 2 and sample.time_s - recent[0].time_s > SHORT_WINDOW_S:
            recent = recent[1:]
        wal, sst = sample.bytes_written_wal, sample.bytes_written_sst
        if wal is None or sst is None:
            anchors = ()
        elif not anchors or sample.time_s - anchors[-1].time_s >= ANCHOR_SPACING_S:
            anchors = (*anchors[-1:], Anchor(sample.time_s, wal, sst))
        return OsdHistory(recent, anchors)

    def written(self) -> Optional[WrittenBytes]:
        """Bytes written over the long window; None without two samples."""
        newest = self.newest
        if newest is None or not self.anchors:
            return None
        first = self.anchors[0]
        window_s = newest.time_s - first.time_s
        wal, sst = newest.bytes_written_wal, newest.bytes_written_sst
        if window_s <= 0 or wal is None or sst is None:
            return None
        return WrittenBytes(window_s, wal - first.wal_bytes, sst - first.sst_bytes)
