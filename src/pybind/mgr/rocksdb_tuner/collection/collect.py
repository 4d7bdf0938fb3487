"""Builds a collection from the module's data; it evaluates to the same result. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

from ..mgr.records import ClusterMap, CounterPoint, OsdInfo
from ..observe.counters import CounterNames, DetailNames, details_for, names_for
from ..observe.details import DetailSample
from ..observe.history import MAX_GAP_S, Anchor
from ..observe.kv_stats import format_kv_stats
from ..observe.observer import Evidence, Kept
from ..observe.option_watch import KnownOptions
from ..observe.sample import Sample
from ..operations.experiment.records import ExperimentState
from ..operations.history import HistoryRecord
from ..operations.rollout.records import RolloutState
from .counters import MEMTABLE_TIME
from .records import Collection, CounterDump, KvStatsText, ModuleState, OsdCollection

_Points = dict[str, CounterPoint]


def collect(
    cluster_map: ClusterMap,
    kept: Kept,
    options: KnownOptions,
    module: ModuleState,
    *,
    health_codes: frozenset[str],
    history: tuple[HistoryRecord, ...],
    rollout: Optional[RolloutState],
    experiment: Optional[ExperimentState],
) -> Collection:
    return Collection(
        cluster_map=cluster_map,
        osds={osd.osd_id: _collect_osd(osd, kept, options) for osd in cluster_map.osds},
        entries=options.entries,
        health_codes=health_codes,
        orchestrated=module.orchestrated,
        module=module,
        history=history,
        rollout=rollout,
        experiment=experiment,
    )


def _collect_osd(osd: OsdInfo, kept: Kept, options: KnownOptions) -> OsdCollection:
    evidence = kept.evidence(osd.osd_id)
    answers = evidence.deep.kv if evidence else ()
    return OsdCollection(
        dumps=_dumps(osd, evidence) if evidence and evidence.nonce == osd.nonce else (),
        kv_stats=tuple(KvStatsText(a.time_s, format_kv_stats(a.stats)) for a in answers),
        running=options.running(osd),
        sharded=kept.sharded(osd.osd_id, osd.nonce),
    )


def _dumps(osd: OsdInfo, evidence: Evidence) -> tuple[CounterDump, ...]:
    """One dump per recorded time, with the counters recorded for that time."""
    names, detail_names = names_for(osd.release), details_for(osd.release)
    at: dict[float, _Points] = {}
    for anchor in _bridging(evidence.anchors):
        at.setdefault(anchor.time_s, {}).update(_of_anchor(anchor, names))
    for detail in evidence.details:
        at.setdefault(detail.time_s, {}).update(_of_details(detail, names, detail_names))
    for sample in evidence.samples:
        at.setdefault(sample.time_s, {}).update(_of_sample(sample, names))
    # Only memtable times with a matching answer, whose time they share.
    for answer, memtable in zip(reversed(evidence.deep.kv), reversed(evidence.deep.memtable)):
        point = CounterPoint(answer.time_s, round(memtable.total_s * 1e9), memtable.writes)
        at.setdefault(answer.time_s, {})[MEMTABLE_TIME] = point
    return tuple(CounterDump(time_s, points) for time_s, points in sorted(at.items()))


def _bridging(anchors: tuple[Anchor, ...]) -> Iterable[Anchor]:
    """The first anchor, and as few others as keep all gaps short enough for one window."""
    kept: list[Anchor] = []
    for anchor, after in zip(anchors, (*anchors[1:], None)):
        if not kept or after is None or after.time_s - kept[-1].time_s > MAX_GAP_S / 2:
            kept.append(anchor)
    return kept


def _of_anchor(anchor: Anchor, names: CounterNames) -> _Points:
    return {
        names.bytes_written_wal: CounterPoint(anchor.time_s, anchor.wal_bytes, None),
        names.bytes_written_sst: CounterPoint(anchor.time_s, anchor.sst_bytes, None),
    }


def _of_sample(sample: Sample, names: CounterNames) -> _Points:
    return _points(sample.time_s, zip(names, (getattr(sample, f) for f in names._fields)))


def _of_details(sample: DetailSample, names: CounterNames, details: DetailNames) -> _Points:
    pairs = zip(details, (getattr(sample, field) for field in details._fields))
    shared = ('op_w_latency', 'kv_sync', 'kv_flush', 'commit')
    both = ((getattr(names, field), getattr(sample, field)) for field in shared)
    return _points(sample.time_s, (*pairs, *both))


def _points(time_s: float, pairs: Iterable[tuple[Optional[str], object]]) -> _Points:
    found = {}
    for path, value in pairs:
        if path is None or value is None:
            continue
        if isinstance(value, tuple):
            found[path] = CounterPoint(time_s, value[0], value[1])
        else:
            assert isinstance(value, int)
            found[path] = CounterPoint(time_s, value, None)
    return found
