"""Measurements of one OSD from files, with the same code as in the mgr. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from ..collection.counters import MEMTABLE_TIME
from ..collection.records import CounterDump, OsdCollection
from ..mgr.protocols import CounterReader
from ..mgr.records import CounterPoint, OsdInfo
from ..observe.counters import by_any_name, details_for, names_for
from ..observe.deep import DeepStatistics, RocksdbTimes
from ..observe.details import Details, DetailSample, details, take_details
from ..observe.history import OsdHistory
from ..observe.measure import signals
from ..observe.sample import Sample, take_sample
from ..observe.signals import Signals
from ..observe.window import Window

#: Minimum distance of two dumps that are dated by file time: copies made in a row are closer.
MIN_FILE_TIMES_APART_S = 30.0
#: The busy time of one thread cannot exceed the window, except for clock inaccuracy.
_KV_SYNC_TOLERANCE = 1.05
_KV_SYNC_TOLERANCE_S = 2.0


_FIRST_COUNTER = Sample._fields.index('nonce') + 1


@dataclass(frozen=True)
class Measured:
    """Measurements of one OSD; None is "unknown"."""

    signals: Optional[Signals] = None
    details: Optional[Details] = None
    rocksdb_times: Optional[RocksdbTimes] = None
    #: Why the dumps give no rates.
    no_window: Optional[str] = None
    #: Why RocksDB's statistics are unusable.
    no_statistics: Optional[str] = None


class DumpReader(CounterReader):
    """One dump as a source of counters."""

    def __init__(self, dump: CounterDump) -> None:
        self._points = dump.points

    def latest(self, osd_id: int, paths: Sequence[str]) -> list[Optional[CounterPoint]]:  # noqa: ARG002
        return [self._points.get(path) for path in paths]


def measure(
    osd: OsdInfo,
    collected: OsdCollection,
    now_s: Optional[float],
    *,
    times_of_files: bool,
) -> Measured:
    """``now_s``: reference time of ages; None: the newest file of this OSD."""
    times_s = [d.time_s for d in collected.dumps] + [a.time_s for a in collected.kv_stats]
    if not times_s or not osd.up or osd.nonce is None:
        return Measured()
    at_s = max(times_s) if now_s is None else now_s
    dumps, why = collected.dumps, None
    if times_of_files and any(
        b.time_s - a.time_s < MIN_FILE_TIMES_APART_S for a, b in zip(dumps, dumps[1:])
    ):
        why = (
            'modification times are too close together, as after copying: add the time to the '
            'file names'
        )
        dumps = dumps[-1:]
    history, found = _observe(osd, osd.nonce, dumps)
    window = history.short()
    if window is not None and not _is_possible(window):
        why = (
            'the kv_sync thread would have been busy for longer than the window: the times of the '
            'dumps are wrong'
        )
        history, found = _observe(osd, osd.nonce, dumps[-1:])
    elif window is None and why is None and len(dumps) > 1:
        why = 'counters decreased between the dumps (restart), or the dumps are too close together'
    deep = DeepStatistics()
    for answer in collected.kv_stats:
        deep.accept(osd.osd_id, osd.nonce, answer.text, answer.time_s)
    for dump in collected.dumps:
        point = dump.points.get(MEMTABLE_TIME)
        if point is not None and point.avgcount:
            deep.accept_memtable_time(osd.osd_id, osd.nonce, (point.value / 1e9, point.avgcount))
    return Measured(
        signals(osd, history, deep.compaction(osd.osd_id, osd.nonce, at_s))
        if history.newest
        else None,
        found,
        deep.times(osd.osd_id, osd.nonce, at_s),
        why,
        deep.unavailable(osd.osd_id),
    )


def _observe(
    osd: OsdInfo, nonce: int, dumps: tuple[CounterDump, ...]
) -> tuple[OsdHistory, Optional[Details]]:
    history = OsdHistory()
    before: Optional[DetailSample] = None
    found: Optional[Details] = None
    detail_names = details_for(osd.release)
    for dump in dumps:
        reader = by_any_name(DumpReader(dump), osd.release)
        sample = take_sample(reader, osd.osd_id, nonce, names_for(osd.release), dump.time_s)
        if sample is None:
            continue
        # A report has separate times for samples (counts) and for details (other latencies).
        if any(isinstance(value, int) for value in sample[_FIRST_COUNTER:]):
            history.add(sample)
        if any(reader.latest(osd.osd_id, [path for path in detail_names if path])):
            after = take_details(reader, osd.osd_id, detail_names, sample)
            before, found = after, details(before, after)
    return history, found


def _is_possible(window: Window) -> bool:
    worked = window.kv_sync
    most_s = window.window_s * _KV_SYNC_TOLERANCE + _KV_SYNC_TOLERANCE_S
    return worked is None or worked.total_s <= most_s
