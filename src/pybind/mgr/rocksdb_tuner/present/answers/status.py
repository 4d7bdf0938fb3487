"""Overview; has counts of items that other answers list."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.records import Decision, Severity
from ...notes import Amount, Count, OsdId, Time
from ...observe.report_interval import Reports
from ...operations.rollout.history import track_record
from ...snapshot import Mode, Snapshot
from ...units import format_time
from ...version import VERSION
from ..decisions import decisions_of
from .operations import LastOperations, OperationSummary, operation_summary_of
from .options import GroupOptions, group_options_of, like
from .workload import Limit, WorkloadSummary, limit_of, workload_summary_of


@dataclass(frozen=True)
class Sampling:
    """Sampling of the OSDs."""

    interval_s: Annotated[
        Optional[Amount],
        'Interval between two samples in seconds; null without sampling, as in offline.',
    ]
    osds: Annotated[Count, 'OSDs with at least one usable sample.']
    last_sample_age_s: Annotated[
        Optional[Amount], 'Age of the newest report of an OSD, in seconds.'
    ]
    tick_ms: Annotated[
        Optional[Amount],
        'CPU time of a sampling with its share of the evaluations, in milliseconds.',
    ]
    report_interval_s: Annotated[
        Optional[Amount],
        'Measured interval between two reports of an OSD (mgr_stats_period), in seconds; null if '
        'unknown, as in offline.',
    ]
    reports: Annotated[
        Optional[Reports],
        'Whether OSDs report often enough: ok, slow (too rarely to be judged) or none; null if '
        'unknown, as in offline.',
    ]


@dataclass(frozen=True)
class Group:
    """The OSDs of one device class."""

    who: Annotated[str, 'Config mask of the group.']
    osds: Annotated[tuple[OsdId, ...], 'Ids of the OSDs.']
    workload: WorkloadSummary
    limit: Annotated[Limit, 'Current bottleneck of the clients of the group.']
    options: GroupOptions


@dataclass(frozen=True)
class FindingCounts:
    """Number of findings by severity."""

    error: Count
    warning: Count
    info: Count


@dataclass(frozen=True)
class NotApplied:
    """A recommendation that auto-apply does not apply yet."""

    recommendation: Annotated[str, 'Id of the recommendation.']
    not_yet_because: Annotated[str, 'Reason.']


@dataclass(frozen=True)
class TrackRecord:
    """Accuracy of the predictions for all ended changes."""

    changes: Annotated[Count, 'Number of ended changes.']
    compared: Annotated[
        Count, 'Changes, and arms of experiments, with a prediction and a comparable measurement.'
    ]
    right: Annotated[Count, 'Changes whose measured and predicted intervals overlap.']
    direction: Annotated[Count, 'Changes of which only the direction was predicted correctly.']
    wrong: Annotated[Count, 'All other compared changes.']
    held: Annotated[Count, 'Measured values within the predicted interval.']
    mean_width_percent: Annotated[
        Optional[Amount],
        'Mean width of the predicted intervals, in percentage points; null without comparisons.',
    ]
    interval_score: Annotated[
        Optional[Amount],
        'Mean interval score of the predictions at 80%: width plus ten times the distance of '
        'measured values outside the interval. Lower is better.',
    ]
    naive_interval_score: Annotated[
        Optional[Amount], 'Interval score of a forecast without any change, for comparison.'
    ]


@dataclass(frozen=True)
class Manager:
    """One ceph-mgr of the cluster."""

    name: Annotated[str, 'Name of the mgr, without "mgr.".']
    host: Annotated[Optional[str], 'Host name; null: not reported.']
    active: Annotated[bool, 'Whether it is active.']
    has_module: Annotated[bool, 'Whether this module was installed at its start and can run there.']


@dataclass(frozen=True)
class Status:
    """Overview of the module."""

    time: Annotated[Optional[Time], 'Time of the data. ISO 8601, UTC.']
    mode: Annotated[Mode, 'Operating mode of the module.']
    release: Annotated[
        Optional[str], 'Release of the active mgr; null if the module does not support it.'
    ]
    version: Annotated[str, 'Version of the module.']
    sampling: Sampling
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
    auto_apply: Annotated[
        tuple[NotApplied, ...],
        'Recommendations that auto-apply does not apply yet; empty in other modes.',
    ]
    track_record: Annotated[TrackRecord, 'Accuracy of the predictions for all ended changes.']
    managers: Annotated[tuple[Manager, ...], 'The known active and standby mgrs.']
    notices: Annotated[tuple[str, ...], 'Limitations and problems of the module.']


def status_of(snapshot: Snapshot) -> Status:
    found = Counter(finding.severity for finding in snapshot.findings)
    return Status(
        time=format_time(snapshot.taken_s),
        mode=snapshot.mode,
        release=snapshot.release,
        version=VERSION,
        sampling=like(Sampling, snapshot.sampling),
        decisions=decisions_of(snapshot),
        groups=tuple(
            Group(
                who=group.who,
                osds=tuple(facts.info.osd_id for facts in group.osds),
                workload=workload_summary_of(group.workload),
                limit=limit_of(group.limit),
                options=group_options_of(group.osds),
            )
            for group in snapshot.groups
        ),
        findings=FindingCounts(*(found[severity] for severity in Severity)),
        recommendations=len(snapshot.recommendations),
        operation=operation_summary_of(LastOperations.of(snapshot)),
        auto_apply=tuple(
            NotApplied(refusal.recommendation_id, refusal.reason)
            for refusal in snapshot.auto_apply_refusals
        ),
        track_record=like(TrackRecord, track_record(snapshot.history)),
        managers=tuple(like(Manager, manager) for manager in snapshot.managers),
        notices=(
            *snapshot.limitations,
            *snapshot.notices,
            *(failure.sentence for failure in snapshot.failing),
        ),
    )
