"""Observations of all OSDs, updated at every tick."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Callable, Mapping, NamedTuple, Optional

from ..mgr.protocols import CounterReader
from ..mgr.records import ClusterMap, OsdInfo
from .deep import Answers, DeepRequest, DeepStatistics, KeptOsd, RocksdbTimes
from .details import Details, DetailSample, choose, details, packed, take_details, unpacked
from .history import Anchor, OsdHistory, Packed
from .report_interval import DEFAULT, ReportInterval
from .sample import Sample, by_any_name, details_for, names_for, take_sample
from .sharding import KeptFiles, ShardingRequest, ShardingWatch
from .signals import Signals, as_before, pace_of, progress_of, signals, steady_report_s
from .trend import SPACING_S, Forecast, GrowthHistory, GrowthPoints, KeptGrowth

__all__ = ['KV_STATS_COMMAND', 'DeepRequest', 'Evidence', 'Observer', 'ShardingRequest']

#: The command (`ceph tell osd.N ...`) for a `DeepRequest`.
KV_STATS_COMMAND = 'dump_objectstore_kv_stats'
#: The second command, for OSDs that have such statistics.
PERF_DUMP_COMMAND = 'perf dump'
PERF_DUMP_ARGUMENTS = {'logger': 'rocksdb'}
#: Spreads the forecasts of OSDs with adjacent ids over ticks: a prime number of seconds.
_STAGGER_S = 37


class _Watched:
    """One OSD: its history, and since when its current process is known."""

    __slots__ = (
        'detail_before',
        'detail_sample',
        'details',
        'history',
        'nonce',
        'not_before_s',
    )

    def __init__(self, nonce: int, not_before_s: float) -> None:
        self.nonce = nonce
        self.not_before_s = not_before_s
        self.history = OsdHistory()
        self.detail_sample: Optional[Packed] = None
        #: The previous one, which the newest is compared with.
        self.detail_before: Optional[Packed] = None
        self.details: Optional[Details] = None

    def add(self, sample: Sample, reports: ReportInterval) -> bool:
        """Whether the OSD works at another pace than before."""
        changed = not as_before(pace_of(self.history), progress_of(sample))
        self.history.add(sample, reports)
        return changed

    def clear(self) -> None:
        self.history.clear()
        self.detail_sample = self.detail_before = self.details = None


class Evidence(NamedTuple):
    """The raw data behind the figures of one OSD, oldest first."""

    nonce: int
    samples: tuple[Sample, ...]
    anchors: tuple[Anchor, ...]
    details: tuple[DetailSample, ...]
    deep: Answers


class _KeptOsd(NamedTuple):
    nonce: int
    recent: tuple[Sample, ...]
    anchors: tuple[Anchor, ...]
    detail_before: Optional[Packed]
    detail_sample: Optional[Packed]


@dataclass(frozen=True)
class Kept:
    """An immutable snapshot of all observations, for any thread.

    Taking it is cheap; the reader pays for evaluating it.
    """

    osds: Mapping[int, _KeptOsd]
    histories: Mapping[int, KeptGrowth]
    answers: Mapping[int, KeptOsd]
    files: KeptFiles

    def evidence(self, osd_id: int) -> Optional[Evidence]:
        """The raw data of one OSD; None without samples."""
        kept = self.osds.get(osd_id)
        if kept is None:
            return None
        deep = self.answers.get(osd_id)
        return Evidence(
            kept.nonce,
            # A window needs its two ends only.
            kept.recent if len(kept.recent) < 2 else (kept.recent[0], kept.recent[-1]),
            kept.anchors,
            tuple(unpacked(d) for d in (kept.detail_before, kept.detail_sample) if d is not None),
            deep.answers if deep and deep.nonce == kept.nonce else Answers(),
        )

    def sharded(self, osd_id: int, nonce: Optional[int]) -> Optional[bool]:
        """Whether its RocksDB is sharded; None: unknown."""
        return self.files.sharded(osd_id, nonce)

    def growth(self) -> Mapping[int, GrowthPoints]:
        """The points of forecasts, by OSD."""
        found = ((osd_id, kept.points) for osd_id, kept in self.histories.items())
        return {osd_id: points for osd_id, points in found if points is not None}

    def growth_of(self, osd_id: int) -> Optional[GrowthPoints]:
        """The same for one OSD; None without a dedicated DB device or before the first point."""
        kept = self.histories.get(osd_id)
        return kept.points if kept else None


class Observer:
    """Samples OSDs, keeps a bounded history, and computes the signals of each OSD.

    Times are seconds of the mgr's wall clock, which also stamps the OSDs' reports. Not thread-safe,
    except for reading `signals()`.
    """

    def __init__(self) -> None:
        self._watched: dict[int, _Watched] = {}
        #: Only OSDs with a dedicated DB device.
        self._growth: dict[int, GrowthHistory] = {}
        self._deep = DeepStatistics()
        self._sharding = ShardingWatch()
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
        detailed: Collection[int] = ()
        if only is None:
            osd_ids = [osd.osd_id for osd in cluster_map.osds]
            rounds = range(self._rounds, self._rounds + detail_rounds)
            detailed = frozenset().union(*(choose(osd_ids, number) for number in rounds))
            self._rounds += detail_rounds
        by_release = {
            release: (by_any_name(reader, release), names_for(release))
            for release in {osd.release for osd in cluster_map.osds}
        }
        for osd in cluster_map.osds:
            if not osd.up or osd.nonce is None:
                continue
            watched = self._watch(osd, osd.nonce, now_s)
            counters, names = by_release[osd.release]
            before = self._signals.get(osd.osd_id)
            if only is not None and before is not None and osd.osd_id not in only:
                report_s = steady_report_s(
                    counters, osd.osd_id, names, watched.history, now_s, reports
                )
                if report_s is not None:
                    reports_s.append(report_s)
                    found[osd.osd_id] = before
                    continue
            sample = take_sample(
                counters,
                osd.osd_id,
                osd.nonce,
                names,
                now_s,
                watched.not_before_s,
                watched.history.newest,
                reports,
            )
            if sample is None:
                watched.clear()
                continue
            reports_s.append(sample.time_s)
            if watched.add(sample, reports):
                self.paces_changed += 1
            # A new process has none yet, and its memory decides what suits it.
            if osd.osd_id in detailed or watched.details is None:
                _read_details(counters, osd, watched, sample)
            found[osd.osd_id] = self._measure(osd, watched, now_s)
        self._keep_only({osd.osd_id for osd in cluster_map.osds})
        if found.keys() != self._signals.keys():
            self.paces_changed += 1
        self._signals = found
        self.newest_report_s = max(reports_s, default=None)

    def _measure(self, osd: OsdInfo, watched: _Watched, now_s: float) -> Signals:
        compaction = self._deep.compaction(osd.osd_id, watched.nonce, now_s)
        found = signals(osd, watched.history, compaction)
        if osd.dedicated_db:
            self._grow(osd.osd_id, found, now_s)
        return found

    def signals(self) -> Mapping[int, Signals]:
        """By OSD, as of the last tick, without OSDs that are down or never reported."""
        return self._signals

    def newest(self, osd_id: int) -> Optional[Sample]:
        """The last sample of this OSD; None without signals."""
        return self._watched[osd_id].history.newest if osd_id in self._signals else None

    def details(self, osd_id: int) -> Optional[Details]:
        """The newest details of this OSD; None if there are none yet."""
        if osd_id not in self._signals:
            return None
        return self._watched[osd_id].details

    def forecast(self, osd_id: int) -> Optional[Forecast]:
        """When its DB device is full; None without such a device or before the first point."""
        growth = self._growth.get(osd_id)
        return growth.forecast if growth else None

    def rocksdb_times(self, osd_id: int, now_s: float) -> Optional[RocksdbTimes]:
        """Timings from RocksDB's statistics; None if they are off or the OSD has no signals."""
        if osd_id not in self._signals:
            return None
        return self._deep.times(osd_id, self._watched[osd_id].nonce, now_s)

    def kept(self) -> Kept:
        """A snapshot of all observations."""
        watched = ((osd_id, self._watched[osd_id]) for osd_id in self._signals)
        return Kept(
            {
                osd_id: _KeptOsd(
                    w.nonce,
                    w.history.recent,
                    w.history.anchors,
                    w.detail_before,
                    w.detail_sample,
                )
                for osd_id, w in watched
            },
            {osd_id: history.kept for osd_id, history in self._growth.items()},
            self._deep.kept(),
            self._sharding.kept(),
        )

    def sharding_requests(
        self, now_s: float, able: Callable[[int], bool] = lambda _: True
    ) -> tuple[ShardingRequest, ...]:
        """OSDs to ask for their BlueFS files, usually none; only those that are ``able``."""
        return self._sharding.next_requests(self._seen(), now_s, able)

    def accept_files(self, request: ShardingRequest, text: str, now_s: float) -> None:
        """Process the answer to a `ShardingRequest`; never raises."""
        self._sharding.accept(request, text, now_s)

    def files_failed(self, request: ShardingRequest, now_s: float) -> None:
        """The command failed (a CommandError): retry this OSD much later."""
        self._sharding.fail(request, now_s)

    def sharded(self, osd_id: int, nonce: Optional[int]) -> Optional[bool]:
        """Whether its RocksDB is sharded; None: unknown."""
        return self._sharding.sharded(osd_id, nonce)

    def deep_requests(
        self, now_s: float, able: Callable[[int], bool] = lambda _: True
    ) -> tuple[DeepRequest, ...]:
        """OSDs to send `KV_STATS_COMMAND` to, usually none; only those that are ``able``."""
        if self._deep.waits(now_s):
            return ()
        seen = [(osd_id, nonce) for osd_id, nonce in self._seen() if able(osd_id)]
        return self._deep.next_requests(seen, now_s)

    def accept_kv_stats(self, osd_id: int, nonce: int, text: str, now_s: float) -> None:
        """Process the answer to a `DeepRequest`; never raises."""
        self._deep.accept(osd_id, nonce, text, now_s)

    def accept_perf_dump(self, osd_id: int, nonce: int, text: str) -> None:
        """Process the answer to `PERF_DUMP_COMMAND`; never raises."""
        self._deep.accept_perf_dump(osd_id, nonce, text)

    def kv_stats_failed(self, osd_id: int, nonce: int, reason: str, now_s: float) -> None:
        """The command failed (a CommandError): retry this OSD much later."""
        self._deep.fail(osd_id, nonce, reason, now_s)

    def kv_stats_unavailable(self, osd_id: int) -> Optional[str]:
        """Why the last request to this OSD returned no statistics; None if it did."""
        return self._deep.unavailable(osd_id)

    def forget(self, osd_id: int) -> None:
        """Drop all observations of an OSD."""
        self._watched.pop(osd_id, None)
        self._growth.pop(osd_id, None)
        self._deep.forget(osd_id)
        self._sharding.forget(osd_id)

    def _keep_only(self, present: Collection[int]) -> None:
        for osd_id in [i for i in self._watched if i not in present]:
            self.forget(osd_id)

    def _seen(self) -> list[tuple[int, int]]:
        return [(osd_id, self._watched[osd_id].nonce) for osd_id in self._signals]

    def _grow(self, osd_id: int, seen: Signals, now_s: float) -> None:
        if seen.db_used_bytes is None or not seen.db_total_bytes or seen.slow_used_bytes is None:
            return
        growth = self._growth.get(osd_id)
        if growth is None:
            growth = self._growth[osd_id] = GrowthHistory()
        growth.add(
            now_s,
            seen.db_used_bytes,
            seen.db_total_bytes,
            seen.slow_used_bytes,
            stagger_s=osd_id * _STAGGER_S % SPACING_S,
        )

    def _watch(self, osd: OsdInfo, nonce: int, now_s: float) -> _Watched:
        watched = self._watched.get(osd.osd_id)
        if watched is None:
            # First sight of this OSD: the mgr's counters belong to this process.
            watched = _Watched(nonce, not_before_s=0.0)
        elif watched.nonce != nonce:
            watched = _Watched(nonce, not_before_s=now_s)
        else:
            # If the clock went backwards, reports of this process have earlier timestamps.
            watched.not_before_s = min(watched.not_before_s, now_s)
            return watched
        self._watched[osd.osd_id] = watched
        return watched


def _read_details(reader: CounterReader, osd: OsdInfo, watched: _Watched, sample: Sample) -> None:
    before = watched.detail_sample
    if before is not None and sample.time_s == before.time_s:
        return
    after = take_details(reader, osd.osd_id, details_for(osd.release), sample)
    watched.detail_before, watched.detail_sample = before, packed(after)
    watched.details = details(None if before is None else unpacked(before), after)
