"""Evaluate a collection like the module evaluates its cluster. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Mapping, Optional

from ..advise.facts import release_of_osd
from ..advise.memory import LASTING_S
from ..advise.records import OsdFacts
from ..collection.read import Reading
from ..collection.records import Collection, ModuleState, OsdCollection
from ..deep.reader import OsdDeepStats
from ..evaluate import AdviceContext, conclude, unknown_manager
from ..mgr.records import OsdInfo
from ..observe.column_families import DeepStats, parse_deep_stats
from ..observe.details import Details
from ..observe.growth import GrowthPoints
from ..observe.report_interval import ReportInterval
from ..observe.signals import Signals
from ..observe.slow_events import AlertingOsd, SlowOps, count_slow_ops, watch_slow_ops
from ..options.releases import KnownRelease, known_releases, release_of
from ..snapshot import Mode, Sampling, Snapshot
from ..workload.classifier import Classifier
from ..workload.records import Recognition, Workload, WorkloadClass
from .configured import configured
from .gaps import gaps
from .measure import DumpReader, measure
from .records import OsdJudged


@dataclass(frozen=True)
class Judgement:
    """The module's result; `limitations` of the snapshot name missing files."""

    snapshot: Snapshot
    #: RocksDB's statistics, for OSDs with such files.
    deep: Mapping[int, OsdDeepStats]
    #: Used space of DB devices over time, for OSDs whose module recorded it.
    growth: Mapping[int, GrowthPoints]


def judge(reading: Reading) -> Judgement:
    deep = {
        osd_id: OsdDeepStats(
            osd_id, osd.kv_stats[-1].time_s, parse_deep_stats(osd.kv_stats[-1].text)
        )
        for osd_id, osd in reading.collection.osds.items()
        if osd.kv_stats
    }
    # Empty statistics are among the limitations.
    module = reading.collection.module
    return Judgement(
        _snapshot(reading),
        {i: d for i, d in deep.items() if d.stats != DeepStats()},
        module.growth if module else {},
    )


def _snapshot(reading: Reading) -> Snapshot:
    collection, module = reading.collection, reading.collection.module
    judged = tuple(_judge_osd(osd, reading) for osd in collection.cluster_map.osds)
    taken_s = module.taken_s if module else _newest_s(collection)
    now_s = taken_s or 0.0
    seen = {o.info.osd_id: o.measured.signals for o in judged if o.measured.signals}
    looks = {o.info.osd_id: o.measured.details for o in judged}
    recognition = _recognize(collection, seen, looks, now_s)
    facts = tuple(_facts(o, recognition.per_osd.get(o.info.osd_id), module) for o in judged)
    if module is not None and module.mode is Mode.OFF:
        facts = ()
    concluded = conclude(
        facts,
        recognition.per_group,
        module.advised_on if module else _advised_on(facts, recognition),
        _advice_context(collection, now_s),
    )
    release = (
        release_of(module.manager_version, module.manager_release)
        if module
        else _release_of_osds(collection.cluster_map.osds)
    )
    ages_s = [s.age_s(now_s) for s in seen.values()]
    known_s = [age_s for age_s in ages_s if age_s is not None]
    return Snapshot(
        taken_s=taken_s,
        mode=module.mode if module else Mode.RECOMMEND,
        release=release.name if release else None,
        sampling=Sampling(
            interval_s=module.interval_s if module else None,
            osds=len(known_s),
            last_sample_age_s=(module.last_sample_age_s if module else min(known_s, default=None)),
            tick_ms=module.tick_ms if module else None,
            report_interval_s=module.report_interval_s if module else None,
            reports=module.reports if module else None,
        ),
        osds=facts,
        groups=concluded.groups,
        findings=concluded.findings,
        assessments=concluded.assessments,
        rollout=None,
        history=(),
        managers=module.managers if module else (),
        limitations=gaps(reading, judged),
        notices=module.notices if module else (),
    )


def _release_of_osds(osds: Iterable[OsdInfo]) -> Optional[KnownRelease]:
    """The release of the OSDs; the newest one during an upgrade."""
    running = {release_of_osd(osd) for osd in osds if osd.version is not None}
    if not running or None in running:
        # The mgr is not older than its OSDs, and an unknown release may be newer than all known.
        return None
    return max((r for r in running if r is not None), key=known_releases().index)


def _judge_osd(osd: OsdInfo, reading: Reading) -> OsdJudged:
    collection = reading.collection
    collected = collection.osds.get(osd.osd_id, OsdCollection())
    module = collection.module
    return OsdJudged(
        osd,
        collected,
        measure(
            osd,
            collected,
            module.sampled_s if module else None,
            times_of_files=osd.osd_id in reading.times_of_files,
        ),
        configured(osd, collection.entries, collected.running),
    )


def _facts(
    judged: OsdJudged, workload: Optional[Workload], module: Optional[ModuleState]
) -> OsdFacts:
    growth = module.growth.get(judged.info.osd_id) if module else None
    return OsdFacts(
        judged.info,
        judged.measured.signals,
        workload,
        judged.configured.options,
        judged.measured.details,
        growth.forecast() if growth else None,
        judged.measured.rocksdb_times,
        judged.collected.sharded,
        judged.configured.settings,
        module.starts.get(judged.info.osd_id) if module else None,
    )


def _recognize(
    collection: Collection,
    seen: Mapping[int, Signals],
    looks: Mapping[int, Optional[Details]],
    now_s: float,
) -> Recognition:
    module = collection.module
    if module is not None:
        # Repeat the module's last classification, from its previous state.
        classifier = Classifier(module.memories)
        return classifier.recognize(
            seen,
            collection.cluster_map,
            module.sampled_s,
            module.pool_rates,
            looks.get,
            ReportInterval(module.report_interval_s),
        )
    # One window: the workload that it shows lasted from its first dump to its last one.
    classifier = Classifier()
    covered_s = max((s.window_s or 0.0 for s in seen.values()), default=0.0)
    classifier.recognize(seen, collection.cluster_map, now_s - covered_s)
    return classifier.recognize(seen, collection.cluster_map, now_s, details=looks.get)


def _advised_on(facts: Iterable[OsdFacts], recognition: Recognition) -> Mapping[str, Workload]:
    """The workloads that lasted long enough to justify a change."""
    windows_s: dict[str, float] = {}
    for osd in facts:
        name, signals = osd.info.device_class, osd.signals
        if name is not None and signals is not None and signals.window_s is not None:
            windows_s[name] = max(windows_s.get(name, 0.0), signals.window_s)
    return {
        name: workload
        if windows_s.get(name, 0.0) >= LASTING_S
        else Workload(WorkloadClass.UNKNOWN, 0.0, workload.evidence)
        for name, workload in recognition.per_group.items()
    }


def _advice_context(collection: Collection, now_s: float) -> AdviceContext:
    module = collection.module
    entries = collection.entries or ()
    health_codes = collection.health_codes or frozenset()
    alerting = module.alerting if module else _alerting(collection, now_s)
    if module is None:
        return AdviceContext(
            Mode.RECOMMEND,
            entries,
            # Unknown counts as no: commands without an orchestrator work everywhere.
            orchestrated=bool(collection.orchestrated),
            health_codes=health_codes,
            alerting=alerting,
        )
    version, name = module.manager_version, module.manager_release
    known = release_of(version, name) is not None
    return AdviceContext(
        mode=module.mode,
        entries=entries,
        no_advice=None if known else unknown_manager(f'Ceph {version} ({name})'),
        orchestrated=module.orchestrated,
        rollout_under_way=module.rollout_under_way,
        health_codes=health_codes,
        alerting=alerting,
        pending_s={i: now_s - at_s for i, at_s in module.pending_since_s.items()},
        limits=module.limits,
    )


def _alerting(collection: Collection, now_s: float) -> Mapping[int, AlertingOsd]:
    """The OSDs that Ceph's alert names; watched from their first dump to their last one."""
    known: dict[int, SlowOps] = {}
    for osd_id in collection.alerting:
        dumps = collection.osds.get(osd_id, OsdCollection()).dumps
        state: Mapping[int, SlowOps] = {osd_id: SlowOps(None, now_s)}
        for dump in dumps:
            state = watch_slow_ops(
                state, {osd_id: count_slow_ops(DumpReader(dump), osd_id)}, dump.time_s
            )
        known.update(state)
    return {osd_id: ops.at(now_s) for osd_id, ops in known.items()}


def _newest_s(collection: Collection) -> Optional[float]:
    """Time of the newest file with a time; None if there is none."""
    times_s = [dump.time_s for osd in collection.osds.values() for dump in osd.dumps]
    times_s += [answer.time_s for osd in collection.osds.values() for answer in osd.kv_stats]
    return max(times_s, default=None)
