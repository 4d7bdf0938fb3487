"""Evaluate a collection like the module evaluates its cluster. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Mapping, Optional

from ..advise.facts import osd_options, release_of_osd, settings_in_force
from ..advise.memory import LASTING_S
from ..advise.records import OsdFacts
from ..collection.records import Collection, OsdCollection
from ..deep.reader import OsdDeepStats
from ..evaluate import conclude, snapshot_of
from ..mgr.records import OsdInfo
from ..observe.deep import times_of
from ..observe.details import details
from ..observe.kv_stats import DeepStats
from ..observe.observer import Evidence
from ..observe.signals import signals
from ..observe.trend import GrowthPoints
from ..observe.window import OsdHistory
from ..options.releases import KnownRelease, known_releases, release_of
from ..snapshot import Mode, Sampling, Snapshot
from ..workload.classifier import Classifier
from ..workload.records import Recognition, Workload, WorkloadClass


@dataclass(frozen=True)
class Judgement:
    """The module's result; `limitations` of the snapshot name missing files."""

    snapshot: Snapshot
    #: RocksDB's statistics, for OSDs with some.
    deep: Mapping[int, OsdDeepStats]
    #: Used space of DB devices over time, for OSDs whose module recorded it.
    growth: Mapping[int, GrowthPoints]


def judge(collection: Collection) -> Judgement:
    module, now_s = collection.module, collection.taken_s or 0.0
    infos = collection.cluster_map.osds
    facts = tuple(_facts(osd, collection) for osd in infos)
    if module is not None:
        workloads, advised_on = module.workloads, module.advised_on
        release = release_of(module.manager_version, module.manager_release)
        sampling = module.sampling
    else:
        workloads = _recognize(collection, facts, now_s)
        advised_on = _advised_on(facts, workloads)
        release = _release_of_osds(infos)
        ages_s = [s for o in facts if o.signals and (s := o.signals.age_s(now_s)) is not None]
        sampling = Sampling(None, len(ages_s), min(ages_s, default=None), None)
    facts = tuple(o._replace(workload=workloads.per_osd.get(o.info.osd_id)) for o in facts)
    if module is not None and module.mode is Mode.OFF:
        facts = ()
    snapshot = snapshot_of(collection, facts, release, sampling)
    deep = ((osd_id, _deep(osd_id, osd)) for osd_id, osd in collection.osds.items())
    return Judgement(
        conclude(snapshot, collection, workloads.per_group, advised_on),
        {osd_id: found for osd_id, found in deep if found},
        module.growth if module else {},
    )


def _deep(osd_id: int, osd: OsdCollection) -> Optional[OsdDeepStats]:
    if osd.statistics is not None:
        return OsdDeepStats(osd_id, *osd.statistics)
    if osd.evidence is None or not osd.evidence.deep:
        return None
    newest = osd.evidence.deep[-1]
    return OsdDeepStats(osd_id, newest.time_s, DeepStats(totals=newest.stats))


def _release_of_osds(osds: Iterable[OsdInfo]) -> Optional[KnownRelease]:
    """The release of the OSDs; the newest one during an upgrade."""
    running = {release_of_osd(osd) for osd in osds if osd.version is not None}
    known = [release for release in running if release is not None]
    # The mgr is not older than its OSDs, and an unknown release may be newer than all known.
    return None if None in running else max(known, key=known_releases().index, default=None)


def _facts(osd: OsdInfo, collection: Collection) -> OsdFacts:
    """All but the workload."""
    module, collected = collection.module, collection.osds.get(osd.osd_id, OsdCollection())
    growth = module.growth.get(osd.osd_id) if module else None
    facts = OsdFacts(
        osd,
        *(None, None, None),
        forecast=growth.forecast() if growth else None,
        sharded=collected.sharded,
        last_start=module.starts.get(osd.osd_id) if module else None,
    )
    if collected.evidence is not None:
        facts = _measured(facts, collected.evidence, module.sampled_s if module else None)
    if collected.running is None:
        return facts
    options = osd_options(osd, collection.entries or (), collected.running)
    if collection.entries is None:
        # The entry in force at the next start is unknown, and so is a pending restart.
        unknown = replace(options, next_start=None, deciding_who=None, starts=None)
        return facts._replace(options=replace(unknown, pending_restart=None))
    settings = settings_in_force(osd, collection.entries, collected.running)
    return facts._replace(options=options, settings=settings)


def _measured(facts: OsdFacts, evidence: Evidence, now_s: Optional[float]) -> OsdFacts:
    """``now_s``: reference time of ages; None: the newest data of this OSD."""
    osd, history = facts.info, OsdHistory(evidence.samples, evidence.anchors)
    if now_s is None:
        times_s = [sample.time_s for sample in evidence.samples]
        now_s = max((*times_s, *(answer.time_s for answer in evidence.deep)), default=0.0)
    before, after = (None, None, *evidence.details)[-2:]
    times = times_of(evidence.deep, now_s)
    return facts._replace(
        signals=signals(osd, history, times) if history.newest else None,
        details=details(before, after) if after else None,
        rocksdb_times=times,
    )


def _recognize(collection: Collection, facts: Iterable[OsdFacts], now_s: float) -> Recognition:
    """In one window: its workload lasted from its first dump to its last one."""
    seen = {o.info.osd_id: o.signals for o in facts if o.signals}
    details = {o.info.osd_id: o.details for o in facts}
    covered_s = max((s.window_s or 0.0 for s in seen.values()), default=0.0)
    classifier = Classifier()
    classifier.recognize(seen, collection.cluster_map, now_s - covered_s)
    return classifier.recognize(seen, collection.cluster_map, now_s, details=details.get)


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
