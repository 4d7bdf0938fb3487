"""What clients do, and what bounds them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.records import Limit as FoundLimit
from ...advise.records import Resource
from ...mgr.records import OsdInfo
from ...snapshot import Snapshot
from ...workload.records import Evidence as FoundEvidence
from ...workload.records import Workload as FoundWorkload
from ...workload.records import WorkloadClass
from .copies import like
from .notes import Amount, InPlace, OsdId, Share


@dataclass(frozen=True)
class Evidence:
    """A measured value that a conclusion rests on."""

    signal: Annotated[str, 'Name of the signal, or "pools" for the applications of the pools.']
    value: Annotated[Optional[float], 'Measured value, in the given unit.']
    unit: Annotated[str, 'Unit of the value.']
    window_s: Annotated[Optional[Amount], 'Seconds over which it was measured.']
    statement: Annotated[str, 'What the value means, as a sentence.']


@dataclass(frozen=True)
class WorkloadSummary:
    """What the clients do."""

    class_: Annotated[
        WorkloadClass, 'What the clients do; "unknown" where not enough is known to tell.'
    ]
    confidence: Annotated[Share, '0..1; 0 for the class "unknown".']


@dataclass(frozen=True)
class Workload(WorkloadSummary):
    """What the clients do, and how that is known."""

    evidence: Annotated[tuple[Evidence, ...], 'What was measured that supports the class.']


@dataclass(frozen=True)
class Limit:
    """What bounds clients now."""

    resource: Annotated[
        Resource,
        '"none": of what is measured, nothing bounds them; "unknown": too little is known.',
    ]
    confidence: Annotated[Share, '0..1; 0 for "unknown".']
    evidence: Annotated[tuple[Evidence, ...], 'What was measured that supports it.']


@dataclass(frozen=True)
class OsdPlace:
    """An OSD and where it is."""

    osd: Annotated[OsdId, 'Id of an OSD.']
    host: Annotated[Optional[str], 'Name of its host.']
    device_class: Annotated[Optional[str], 'Device class, from the CRUSH map.']
    up: Annotated[bool, 'Whether the OSD is up.']


@dataclass(frozen=True)
class GroupWorkload:
    """The clients of the OSDs of one device class."""

    who: Annotated[str, 'Mask of the config store that addresses the group.']
    osds: Annotated[tuple[OsdId, ...], 'Ids of OSDs.']
    workload: Workload
    limit: Annotated[Limit, 'What bounds the clients of the group now.']


@dataclass(frozen=True)
class OsdWorkload:
    """The clients of one OSD."""

    place: Annotated[OsdPlace, InPlace()]
    workload: Workload


@dataclass(frozen=True)
class Workloads:
    """What the clients do, by group and by OSD, with the evidence."""

    groups: Annotated[tuple[GroupWorkload, ...], 'By device class.']
    osds: Annotated[tuple[OsdWorkload, ...], 'By OSD.']


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
    """Of what is not known too: "unknown" is a class, so that readers always find an object."""
    if found is None:
        return WorkloadSummary(WorkloadClass.UNKNOWN, 0.0)
    return WorkloadSummary(found.workload_class, found.confidence)


def workload_of(found: Optional[FoundWorkload]) -> Workload:
    summary = workload_summary_of(found)
    return like(Workload, summary, evidence=_evidence(() if found is None else found.evidence))


def limit_of(limit: FoundLimit) -> Limit:
    return Limit(limit.resource, limit.confidence, _evidence(limit.evidence))


def _evidence(found: Iterable[FoundEvidence]) -> tuple[Evidence, ...]:
    return tuple(like(Evidence, one) for one in found)
