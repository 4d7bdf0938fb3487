"""A bounded memory of one OSD's samples, for a short window and a long one."""

from __future__ import annotations

from typing import NamedTuple, Optional

from .interval import MAX_INTERVAL_S
from .sample import Sample
from .window import MIN_WINDOW_S, Window, comparable, window

#: The short window reaches back this far: long enough to smooth, short enough that a workload is
#: recognized within a minute of its start.
SHORT_WINDOW_S = 30.0
#: Points of the long window are this far apart, and as many are kept: two hours.
ANCHOR_SPACING_S = 600.0
ANCHORS = 13
#: Two samples further apart than this are no window: the mgr was away in between.
MAX_GAP_S = 2 * MAX_INTERVAL_S


class WrittenBytes(NamedTuple):
    """What BlueFS wrote for RocksDB over the long window."""

    window_s: float
    wal_bytes: int
    sst_bytes: int


class Anchor(NamedTuple):
    """A point of the long window: bytes written since the OSD's process started."""

    time_s: float
    wal_bytes: int
    sst_bytes: int


class OsdHistory:
    """Samples of one OSD. A restart of the OSD, or a reset counter, empties it."""

    __slots__ = ('_anchors', '_recent', '_short')

    def __init__(self) -> None:
        # Replaced, never changed: other threads read them.
        self._recent: tuple[Sample, ...] = ()
        self._anchors: tuple[Anchor, ...] = ()
        self._short: Optional[Window] = None

    @property
    def newest(self) -> Optional[Sample]:
        return self._recent[-1] if self._recent else None

    @property
    def short(self) -> Optional[Window]:
        """The newest window; None until there are two comparable samples."""
        return self._short

    @property
    def recent(self) -> tuple[Sample, ...]:
        """The samples of the short window, oldest first."""
        return self._recent

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The points of the long window, oldest first."""
        return self._anchors

    def add(self, sample: Sample) -> None:
        """Take a new sample; the same report again, or one too close behind it, is passed over.

        One that is older than the last means that the clock was set back: what is known by
        the old time is dropped.
        """
        newest = self.newest
        if newest is not None:
            apart_s = sample.time_s - newest.time_s
            if sample.nonce == newest.nonce and 0 <= apart_s < MIN_WINDOW_S:
                return
            if apart_s > MAX_GAP_S or not comparable(newest, sample):
                self.clear()
        recent = (*self._recent, sample)
        # The oldest goes while the next one still reaches back far enough, or nothing would
        # be left to compare with where reports are rare.
        while len(recent) > 2 and sample.time_s - recent[0].time_s > SHORT_WINDOW_S:
            recent = recent[1:]
        self._recent = recent
        self._short = window(recent[0], sample) if len(recent) > 1 else None
        self._anchor(sample)

    def clear(self) -> None:
        self._recent = ()
        self._anchors = ()
        self._short = None

    def written(self) -> Optional[WrittenBytes]:
        """Bytes written over the long window; None while there is nothing to compare."""
        newest = self.newest
        if newest is None or not self._anchors:
            return None
        anchor = self._anchors[0]
        window_s = newest.time_s - anchor.time_s
        wal, sst = newest.bytes_written_wal, newest.bytes_written_sst
        if window_s <= 0 or wal is None or sst is None:
            return None
        return WrittenBytes(window_s, wal - anchor.wal_bytes, sst - anchor.sst_bytes)

    def _anchor(self, sample: Sample) -> None:
        if sample.bytes_written_wal is None or sample.bytes_written_sst is None:
            self._anchors = ()
        elif not self._anchors or sample.time_s - self._anchors[-1].time_s >= ANCHOR_SPACING_S:
            anchor = Anchor(sample.time_s, sample.bytes_written_wal, sample.bytes_written_sst)
            self._anchors = (*self._anchors, anchor)[-ANCHORS:]
