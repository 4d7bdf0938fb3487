"""Bounded history of one OSD's samples, for a short and a long window."""

from __future__ import annotations

from array import array
from typing import NamedTuple, Optional

from .interval import MAX_INTERVAL_S
from .packed import appended
from .report_interval import DEFAULT, ReportInterval
from .sample import Sample
from .window import Window, comparable, window

#: Length of the short window: long enough to smooth, short enough to classify a workload within a
#: minute of its start.
SHORT_WINDOW_S = 30.0
#: Spacing and number of points in the long window: two hours.
ANCHOR_SPACING_S = 600.0
ANCHORS = 13
#: Maximum distance of two samples in a window; beyond it the mgr was away in between.
MAX_GAP_S = 2 * MAX_INTERVAL_S


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


class KeptAnchors(NamedTuple):
    """The points of the long window in compact form; the arrays are never modified."""

    times_s: array[float]
    wal_bytes: array[int]
    sst_bytes: array[int]

    @property
    def points(self) -> tuple[Anchor, ...]:
        """Oldest first."""
        return tuple(map(Anchor, *self))

    def add(self, anchor: Anchor) -> KeptAnchors:
        """With a newer point, and without the oldest one if there are too many."""
        return KeptAnchors(
            appended(self.times_s, anchor.time_s, ANCHORS),
            appended(self.wal_bytes, anchor.wal_bytes, ANCHORS),
            appended(self.sst_bytes, anchor.sst_bytes, ANCHORS),
        )


_NO_ANCHORS = KeptAnchors(array('d'), array('Q'), array('Q'))


class OsdHistory:
    """Samples of one OSD. An OSD restart or a counter reset clears it."""

    __slots__ = ('_anchors', '_recent')

    def __init__(self) -> None:
        # Replaced, never modified: other threads read them.
        self._recent: tuple[Sample, ...] = ()
        self._anchors = _NO_ANCHORS

    @classmethod
    def of(cls, samples: tuple[Sample, ...], anchors: tuple[Anchor, ...]) -> OsdHistory:
        """With the samples of the short window and the points of the long one."""
        history = cls()
        history._recent = samples
        for anchor in anchors:
            history._anchors = history._anchors.add(anchor)
        return history

    @property
    def newest(self) -> Optional[Sample]:
        return self._recent[-1] if self._recent else None

    def short(self) -> Optional[Window]:
        """The newest window, computed; None until there are two comparable samples."""
        recent = self._recent
        return window(recent[0], recent[-1]) if len(recent) > 1 else None

    @property
    def recent(self) -> tuple[Sample, ...]:
        """The samples of the short window, oldest first."""
        return self._recent

    @property
    def anchors(self) -> KeptAnchors:
        """The points of the long window."""
        return self._anchors

    def add(self, sample: Sample, reports: ReportInterval = DEFAULT) -> None:
        """Add a sample, unless it is the same report or too close to the last one.

        A sample older than the last one means that the clock went backwards: the history is
        cleared.
        """
        newest = self.newest
        if newest is not None:
            apart_s = sample.time_s - newest.time_s
            if sample.nonce == newest.nonce and 0 <= apart_s < reports.least_window_s:
                return
            if apart_s > MAX_GAP_S or not comparable(newest, sample):
                self.clear()
        recent = (*self._recent, sample)
        # Keep at least two samples, even if reports are rare.
        while len(recent) > 2 and sample.time_s - recent[0].time_s > SHORT_WINDOW_S:
            recent = recent[1:]
        self._recent = recent
        self._anchor(sample)

    def clear(self) -> None:
        self._recent = ()
        self._anchors = _NO_ANCHORS

    def written(self) -> Optional[WrittenBytes]:
        """Bytes written over the long window; None without two samples."""
        newest = self.newest
        anchors = self._anchors
        if newest is None or not anchors.times_s:
            return None
        window_s = newest.time_s - anchors.times_s[0]
        wal, sst = newest.bytes_written_wal, newest.bytes_written_sst
        if window_s <= 0 or wal is None or sst is None:
            return None
        return WrittenBytes(window_s, wal - anchors.wal_bytes[0], sst - anchors.sst_bytes[0])

    def _anchor(self, sample: Sample) -> None:
        if sample.bytes_written_wal is None or sample.bytes_written_sst is None:
            self._anchors = _NO_ANCHORS
            return
        times_s = self._anchors.times_s
        if not times_s or sample.time_s - times_s[-1] >= ANCHOR_SPACING_S:
            self._anchors = self._anchors.add(
                Anchor(sample.time_s, sample.bytes_written_wal, sample.bytes_written_sst)
            )
