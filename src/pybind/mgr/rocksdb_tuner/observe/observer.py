"""Observations of all OSDs, updated at every tick."""

from __future__ import annotations

import marshal
from collections.abc import Collection
from typing import Mapping, NamedTuple, Optional

from ..mgr.protocols import CounterReader
from ..mgr.records import ClusterMap, OsdInfo
from .deep import Asked, KvAnswer, OsdAnswers, Request, times_of
from .details import Details, choose, details
from .report_interval import DEFAULT, ReportInterval
from .sample import (
    DetailSample,
    Sample,
    by_any_name,
    details_for,
    names_for,
    take_details,
    take_sample,
)
from .signals import Signals, keeps_pace, progress_of, signals, steady_report_s
from .trend import SPACING_S, Forecast, GrowthHistory, GrowthPoints
from .window import Anchor, OsdHistory

#: Spreads the forecasts of OSDs with adjacent ids over ticks: a prime number of seconds.
_STAGGER_S = 37


class Evidence(NamedTuple):
    """The raw data behind the figures of one OSD, oldest first."""

    nonce: int
    samples: tuple[Sample, ...]
    anchors: tuple[Anchor, ...]
    details: tuple[DetailSample, ...]
    deep: tuple[KvAnswer, ...]


class _Watched(NamedTuple):
    """One OSD process, and since when it is known."""

    nonce: int
    not_before_s: float
    history: OsdHistory = OsdHistory()
    #: The last two detail samples, packed: a fifth of the memory, for what is seldom used.
    detail_samples: tuple[bytes, ...] = ()
    details: Optional[Details] = None


class Kept(NamedTuple):
    """An immutable snapshot of all observations, for any thread.

    Taking it is cheap; the reader pays for evaluating it.
    """

    osds: Mapping[int, _Watched]
    growth: Mapping[int, GrowthHistory]
    asked: Mapping[int, Asked]

    def evidence(self, osd: OsdInfo) -> Optional[Evidence]:
        """The raw data of an OSD process; None without samples."""
        watched, asked = self.osds.get(osd.osd_id), self.asked.get(osd.osd_id)
        if watched is None or watched.nonce != osd.nonce:
            return None
        recent, anchors = watched.history
        return Evidence(
            watched.nonce,
            # A window needs its two ends only.
            recent if len(recent) < 2 else (recent[0], recent[-1]),
            anchors,
            tuple(map(_unpacked, watched.detail_samples)),
            asked.answers if asked and asked.nonce == watched.nonce else (),
        )

    def sharded(self, osd: OsdInfo) -> Optional[bool]:
        """Whether its RocksDB is sharded; None: unknown."""
        asked = self.asked.get(osd.osd_id)
        return asked.sharded if asked and asked.nonce == osd.nonce else None

    def growth_of(self, osd_id: int) -> Optional[GrowthPoints]:
        """The points of a forecast; None without a dedicated DB device, or before the first one."""
        growth = self.growth.get(osd_id)
        return growth.points if growth else None


class Observer:
    """Samples OSDs, keeps a bounded history, and computes the signals of each OSD.

    Times are seconds of the mgr's wall clock, which also stamps the OSDs' reports. Not thread-safe,
    except for reading `signals()`.
    """

    def __init__(self) -> None:
        self._watched: dict[int, _Watched] = {}
        #: Only OSDs with a dedicated DB device.
        self._growth: dict[int, GrowthHistory] = {}
        self.answers = OsdAnswers()
        self._signals: Mapping[int, Signals] = {}
        self._rounds = 0
        #: Time of the newest report of any OSD, as of the last tick; None: there was none.
        self.newest_report_s: Optional[float] = None
        #: How often an OSD was found to work at another pace than before, or to be new or silent.
        self.paces_changed = 0

    def observe(
        self,
        reader: CounterReader,
        cluster_map: ClusterMap,
        now_s: float,
        only: Optional[Collection[int]] = None,
        detail_rounds: int = 1,
        reports: ReportInterval = DEFAULT,
    ) -> None:
        """One tick: read the counters of every OSD that is up, and the details of some.

        With ``only``, all counters are read of these, and of others if two counters show that
        their pace changed; until then they keep their newest sample, with the time of that.
        ``detail_rounds``: how many rounds of details are due (see `choose`).
        """
        found: dict[int, Signals] = {}
        reports_s: list[float] = []
        osd_ids = [osd.osd_id for osd in cluster_map.osds]
        detailed = self._next_detailed(osd_ids, detail_rounds if only is None else 0)
        by_release = {
            release: (by_any_name(reader, release), names_for(release))
            for release in {osd.release for osd in cluster_map.osds}
        }
        for osd in cluster_map.osds:
            osd_id, nonce = osd.osd_id, osd.nonce
            if not osd.up or nonce is None:
                continue
            watched = self._watch(osd_id, nonce, now_s)
            (counters, names), history = by_release[osd.release], watched.history
            before = self._signals.get(osd_id)
            if only is not None and before is not None and osd_id not in only:
                report_s = steady_report_s(counters, osd_id, names, history, now_s, reports)
                if report_s is not None:
                    reports_s.append(report_s)
                    found[osd_id] = before
                    continue
            sample = take_sample(
                counters,
                osd_id,
                nonce,
                names,
                now_s,
                watched.not_before_s,
                history.newest,
                reports,
            )
            if sample is None:
                self._watched[osd_id] = _Watched(nonce, watched.not_before_s)
                continue
            reports_s.append(sample.time_s)
            if not keeps_pace(history, progress_of(sample)):
                self.paces_changed += 1
            watched = watched._replace(history=history.added(sample, reports))
            # A new process has no details yet, and its memory decides what suits it.
            if osd_id in detailed or watched.details is None:
                watched = _with_details(watched, counters, osd, sample)
            self._watched[osd_id] = watched
            found[osd_id] = self._measure(osd, watched, now_s)
        for osd_id in self._watched.keys() - set(osd_ids):
            self.forget(osd_id)
        if found.keys() != self._signals.keys():
            self.paces_changed += 1
        self._signals = found
        self.newest_report_s = max(reports_s, default=None)

    def _next_detailed(self, osd_ids: list[int], rounds: int) -> Collection[int]:
        first, self._rounds = self._rounds, self._rounds + rounds
        return frozenset().union(*(choose(osd_ids, n) for n in range(first, self._rounds)))

    def signals(self) -> Mapping[int, Signals]:
        """By OSD, as of the last tick, without OSDs that are down or never reported."""
        return self._signals

    def newest(self, osd_id: int) -> Optional[Sample]:
        """The last sample of this OSD; None without signals."""
        return self._watched[osd_id].history.newest if osd_id in self._signals else None

    def details(self, osd_id: int) -> Optional[Details]:
        """The newest details of this OSD; None if there are none yet."""
        return self._watched[osd_id].details if osd_id in self._signals else None

    def forecast(self, osd_id: int) -> Optional[Forecast]:
        """When its DB device is full; None without such a device or before the first point."""
        growth = self._growth.get(osd_id)
        return growth.forecast if growth else None

    def seen(self) -> list[Request]:
        """The OSDs with signals, which can be asked."""
        return [Request(osd_id, self._watched[osd_id].nonce) for osd_id in self._signals]

    def kept(self) -> Kept:
        """A snapshot of all observations."""
        watched = {osd_id: self._watched[osd_id] for osd_id in self._signals}
        return Kept(watched, dict(self._growth), self.answers.all())

    def forget(self, osd_id: int) -> None:
        """Drop all observations of an OSD."""
        self._watched.pop(osd_id, None)
        self._growth.pop(osd_id, None)
        self.answers.forget(osd_id)

    def _watch(self, osd_id: int, nonce: int, now_s: float) -> _Watched:
        watched = self._watched.get(osd_id)
        if watched is not None and watched.nonce == nonce:
            # If the clock went backwards, reports of this process have earlier timestamps.
            if now_s >= watched.not_before_s:
                return watched
            watched = watched._replace(not_before_s=now_s)
        else:
            # At first sight of this OSD, the mgr's counters belong to this process.
            watched = _Watched(nonce, 0.0 if watched is None else now_s)
        self._watched[osd_id] = watched
        return watched

    def _measure(self, osd: OsdInfo, watched: _Watched, now_s: float) -> Signals:
        osd_id = osd.osd_id
        asked = self.answers.of(osd_id, watched.nonce)
        times = times_of(asked.answers, now_s) if asked else None
        found = signals(osd, watched.history, times)
        used, total, slow = found.db_used_bytes, found.db_total_bytes, found.slow_used_bytes
        if osd.dedicated_db and used is not None and total and slow is not None:
            growth = self._growth.get(osd_id) or GrowthHistory()
            stagger_s = osd_id * _STAGGER_S % SPACING_S
            self._growth[osd_id] = growth.added(now_s, used, total, slow, stagger_s=stagger_s)
        return found


def _with_details(
    watched: _Watched, reader: CounterReader, osd: OsdInfo, sample: Sample
) -> _Watched:
    kept = watched.detail_samples[-1:]
    before = _unpacked(kept[0]) if kept else None
    if before is not None and before.time_s == sample.time_s:
        return watched
    after = take_details(reader, osd.osd_id, details_for(osd.release), sample)
    return watched._replace(
        detail_samples=(*kept, marshal.dumps(tuple(after))), details=details(before, after)
    )


def _unpacked(packed: bytes) -> DetailSample:
    return DetailSample._make(marshal.loads(packed))  # noqa: S302 - packed here
