"""Workloads and bottlenecks of the clients."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.limit import relief_of
from ...advise.records import Limit as FoundLimit
from ...advise.records import Resource
from ...mgr.records import OsdInfo
from ...notes import Amount, InPlace, OsdId, Share
from ...snapshot import Snapshot
from ...workload.records import Evidence as FoundEvidence
from ...workload.records import Workload as FoundWorkload
from ...workload.records import WorkloadClass
from .options import like


@dataclass(frozen=True)
class Evidence:
    """A measurement behind a conclusion."""

    signal: Annotated[str, 'Name of the signal, or "pools" for the applications of the pools.']
    value: Annotated[Optional[float], 'Measured value, in the given unit.']
    unit: Annotated[str, 'Unit of the value.']
    window_s: Annotated[Optional[Amount], 'Length of the measurement, in seconds.']
    statement: Annotated[str, 'Interpretation, as a sentence.']


@dataclass(frozen=True)
class WorkloadSummary:
    """Workload of the clients."""

    class_: Annotated[WorkloadClass, 'Workload class; "unknown": not enough data.']
    confidence: Annotated[Share, 'Confidence, 0..1; 0 for the class "unknown".']


@dataclass(frozen=True)
class Workload(WorkloadSummary):
    """Workload of the clients, with evidence."""

    evidence: Annotated[tuple[Evidence, ...], 'Measurements that support the class.']


@dataclass(frozen=True)
class Limit:
    """Current bottleneck of the clients."""

    resource: Annotated[
        Resource,
        'Limiting resource; "none": no measured resource is limiting; "unknown": not enough data.',
    ]
    part: Annotated[
        Optional[str],
        'Part of a write that takes the time in it, such as "flushing the data device"; null: '
        'unknown.',
    ]
    relief: Annotated[Optional[str], 'What would relieve it; null if nothing is known to limit.']
    confidence: Annotated[Share, 'Confidence, 0..1; 0 for "unknown".']
    evidence: Annotated[tuple[Evidence, ...], 'Measurements that support it.']


@dataclass(frozen=True)
class OsdPlace:
    """An OSD and its place in the cluster."""

    osd: Annotated[OsdId, 'Id of the OSD.']
    host: Annotated[Optional[str], 'Name of its host.']
    device_class: Annotated[Optional[str], 'Device class, from the CRUSH map.']
    up: Annotated[bool, 'Whether the OSD is up.']


@dataclass(frozen=True)
class GroupWorkload:
    """Workload of the OSDs of one device class."""

    who: Annotated[str, 'Config mask of the group.']
    osds: Annotated[tuple[OsdId, ...], 'Ids of the OSDs.']
    workload: Workload
    limit: Annotated[Limit, 'Current bottleneck of the clients of the group.']


@dataclass(frozen=True)
class OsdWorkload:
    """Workload of one OSD."""

    place: Annotated[OsdPlace, InPlace()]
    workload: Workload


@dataclass(frozen=True)
class Workloads:
    """Workloads by group and by OSD, with evidence."""

    groups: Annotated[tuple[GroupWorkload, ...], 'Workloads by device class.']
    osds: Annotated[tuple[OsdWorkload, ...], 'Workloads by OSD.']


def workloads_of(snapshot: Snapshot) -> Workloads:
    return Workloads(
        groups=tuple(
            GroupWorkload(
                group.who,
                tuple(facts.info.osd_id for facts in group.osds),
                workload_of(group.workload),
                limit_of(group.limit),
            )
            for group in snapshot.groups
        ),
        osds=tuple(
            OsdWorkload(place_of(facts.info), workload_of(facts.workload))
            for facts in snapshot.osds
        ),
    )


def place_of(info: OsdInfo) -> OsdPlace:
    return OsdPlace(info.osd_id, info.host, info.device_class, info.up)


def workload_summary_of(found: Optional[FoundWorkload]) -> WorkloadSummary:
    """Class "unknown" for an unknown workload, so readers always find an object."""
    return WorkloadSummary(*((WorkloadClass.UNKNOWN, 0.0) if found is None else found[:2]))


def workload_of(found: Optional[FoundWorkload]) -> Workload:
    summary = workload_summary_of(found)
    return like(Workload, summary, evidence=_evidence(() if found is None else found.evidence))


def limit_of(limit: FoundLimit) -> Limit:
    return like(Limit, limit, relief=relief_of(limit), evidence=_evidence(limit.evidence))


def _evidence(found: Iterable[FoundEvidence]) -> tuple[Evidence, ...]:
    return tuple(like(Evidence, one) for one in found)
