"""Overview; has counts of items that other answers list. And all of it in one document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Optional

from ...advise.records import Decision, Finding, GroupFacts, Severity
from ...notes import AsTime, Count, InPlace, Named, Picked
from ...operations.rollout.history import TrackRecord, track_record
from ...snapshot import Mode, Sampling, Snapshot
from ...version import VERSION
from ...workload.records import UNKNOWN_WORKLOAD, Workload
from ..decisions import decisions_of
from ..summaries import OptionsInUse, options_in_use
from .advice import Recommendation, findings_of, recommendations_of
from .operations import LastOperations, OperationSummary, operation_summary_of
from .osd import OsdRow, Workloads, rows_of, workloads_of


@dataclass(frozen=True)
class Group:
    """The OSDs of one device class."""

    group: Annotated[GroupFacts, InPlace('who', 'osd_ids', 'limit')]
    workload: Annotated[Workload, Picked('workload_class', 'confidence')]
    options: Annotated[OptionsInUse, 'Running options of the OSDs.']


@dataclass(frozen=True)
class FindingCounts:
    """Number of findings by severity."""

    error: Count
    warning: Count
    info: Count


@dataclass(frozen=True)
class Status:
    """Overview of the module."""

    time_s: Annotated[Optional[float], Named('time'), AsTime(), 'Time of the data. ISO 8601, UTC.']
    mode: Annotated[Mode, 'Operating mode of the module.']
    release: Annotated[
        Optional[str], 'Release of the active mgr; null if the module does not support it.'
    ]
    version: Annotated[str, 'Version of the module.']
    sampling: Annotated[Sampling, 'Sampling of the OSDs.']
    decisions: Annotated[
        tuple[Decision, ...], 'What to do about each group; one for all OSDs if there is no group.'
    ]
    groups: Annotated[tuple[Group, ...], 'OSDs by device class.']
    findings: Annotated[FindingCounts, 'Number of findings by severity.']
    recommendations: Annotated[Count, 'Number of recommendations.']
    operation: Annotated[
        Optional[OperationSummary],
        'The operation under way, or the last one; null before the first.',
    ]
    track_record: Annotated[TrackRecord, 'Accuracy of the predictions for all ended changes.']
    notices: Annotated[tuple[str, ...], 'Limitations and problems of the module.']


@dataclass(frozen=True)
class ModeInForce:
    """Operating mode of the module."""

    mode: Annotated[Mode, 'Current mode.']
    possible: Annotated[tuple[Mode, ...], 'All modes.']


@dataclass(frozen=True)
class Overview:
    """The answers to several commands at once."""

    status: Annotated[Status, 'As of status.']
    osd: Annotated[tuple[OsdRow, ...], 'As of osd.']
    workload: Annotated[Workloads, 'As of workload.']
    findings: Annotated[tuple[Finding, ...], 'As of findings.']
    recommend: Annotated[tuple[Recommendation, ...], 'As of recommend.']


@dataclass(frozen=True)
class Report:
    """All collected data in one document."""

    format: Annotated[Literal['ceph-rocksdb-tuner-report'], 'Document format.']
    version: Annotated[Literal[1], 'Version of the format.']
    anonymous: Annotated[bool, 'Whether names were replaced and free text dropped.']
    module_version: Annotated[str, 'Version of the module.']
    collection: Annotated[
        Mapping[str, object],
        "The module's records, for `python3 -m rocksdb_tuner.offline`.",
    ]


def status_of(snapshot: Snapshot) -> Status:
    found = Counter(finding.severity for finding in snapshot.findings)
    return Status(
        time_s=snapshot.taken_s,
        mode=snapshot.mode,
        release=snapshot.release,
        version=VERSION,
        sampling=snapshot.sampling,
        decisions=decisions_of(snapshot),
        groups=tuple(
            Group(group, group.workload or UNKNOWN_WORKLOAD, options_in_use(group.osds))
            for group in snapshot.groups
        ),
        findings=FindingCounts(*(found[severity] for severity in Severity)),
        recommendations=len(snapshot.recommendations),
        operation=operation_summary_of(LastOperations.of(snapshot)),
        track_record=track_record(snapshot.history),
        notices=snapshot.all_notices,
    )


def mode_of(current: Mode) -> ModeInForce:
    return ModeInForce(current, tuple(Mode))


def overview_of(snapshot: Snapshot) -> Overview:
    return Overview(
        status_of(snapshot),
        rows_of(snapshot),
        workloads_of(snapshot),
        findings_of(snapshot),
        recommendations_of(snapshot),
    )
