"""The whole on one screen; counts where other answers give the items."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Optional

from ...advise.records import Severity
from ...operations.rollout.track_record import track_record
from ...snapshot import Mode, Snapshot
from ...units import format_time
from ...version import VERSION
from .campaign import CampaignSummary, campaign_summary_of
from .copies import like
from .notes import Amount, Count, OsdId, Time
from .options import GroupOptions, group_options_of
from .rollout import RolloutSummary, summary_of
from .workload import Limit, WorkloadSummary, limit_of, workload_summary_of


@dataclass(frozen=True)
class Sampling:
    """How OSDs are sampled."""

    interval_s: Annotated[
        Optional[Amount],
        'Seconds between two samples; null where nothing is sampled, as by offline.',
    ]
    osds: Annotated[Count, 'OSDs with at least one usable sample.']
    last_sample_age_s: Annotated[Optional[Amount], 'Age of the newest sample, in seconds.']
    tick_ms: Annotated[
        Optional[Amount], 'CPU time of the last sampling and evaluating, in milliseconds.'
    ]


@dataclass(frozen=True)
class Group:
    """The OSDs of one device class."""

    who: Annotated[str, 'Mask of the config store that addresses the group.']
    osds: Annotated[tuple[OsdId, ...], 'Ids of OSDs.']
    workload: WorkloadSummary
    limit: Annotated[Limit, 'What bounds the clients of the group now.']
    options: GroupOptions
    conclusion: Annotated[
        Optional[str],
        'What was concluded for the group; says why where nothing is recommended.',
    ]


@dataclass(frozen=True)
class FindingCounts:
    """How many findings there are, by severity."""

    error: Count
    warning: Count
    info: Count


@dataclass(frozen=True)
class NotApplied:
    """A recommendation that auto-apply does not apply yet."""

    recommendation: Annotated[str, 'Its id.']
    not_yet_because: Annotated[str, 'Why.']


@dataclass(frozen=True)
class TrackRecord:
    """Predictions against outcomes of all changes that ended."""

    changes: Annotated[Count, 'Changes that ended.']
    compared: Annotated[
        Count, 'Those with a prediction and a measurement that can be compared with it.'
    ]
    right: Annotated[Count, 'The measured interval meets the predicted one.']
    direction: Annotated[Count, 'It does not, but the change went the way that was predicted.']
    wrong: Annotated[Count, 'Neither.']
    held: Annotated[Count, 'Measured values that lay in the predicted interval.']
    mean_width_percent: Annotated[
        Optional[Amount],
        'Width of the predicted intervals, in points of percent; null where none was compared.',
    ]
    interval_score: Annotated[
        Optional[Amount],
        'Mean interval score of the predictions at 80%: width, and ten times what a measured value '
        'lies outside. Less is better.',
    ]
    naive_interval_score: Annotated[
        Optional[Amount], 'The same of a forecast that nothing changes.'
    ]


@dataclass(frozen=True)
class Manager:
    """One ceph-mgr of the cluster."""

    name: Annotated[str, 'The manager\'s name, without "mgr.".']
    host: Annotated[Optional[str], 'Where it runs; null where it did not report that.']
    active: Annotated[bool, 'Whether it is the active one.']
    has_module: Annotated[bool, 'Whether it found the files of this module when it started.']


@dataclass(frozen=True)
class Status:
    """The whole on one screen."""

    time: Annotated[Optional[Time], 'When this was so. ISO 8601, UTC.']
    mode: Annotated[Mode, 'How much the module may do.']
    release: Annotated[
        Optional[str], 'Release of the active mgr; null where the module does not know it.'
    ]
    version: Annotated[str, 'Version of the module.']
    sampling: Sampling
    groups: Annotated[tuple[Group, ...], 'OSDs by device class.']
    findings: Annotated[FindingCounts, 'Number of findings by severity.']
    recommendations: Annotated[Count, 'Number of recommendations.']
    rollout: Annotated[
        Optional[RolloutSummary],
        'The rollout under way or the last one; null before the first.',
    ]
    campaign: Annotated[
        Optional[CampaignSummary], 'The compaction campaign under way; null where none is.'
    ]
    auto_apply: Annotated[
        tuple[NotApplied, ...],
        'In mode auto-apply: why each recommendation is not applied by itself yet.',
    ]
    track_record: Annotated[TrackRecord, 'Predictions against outcomes of all changes that ended.']
    managers: Annotated[
        tuple[Manager, ...], 'The active manager and the standbys, as far as they are known.'
    ]
    notices: Annotated[tuple[str, ...], 'What an operator must know of the module itself.']


def status_of(snapshot: Snapshot) -> Status:
    conclusions = {a.who: a.conclusion for a in snapshot.assessments}
    found = Counter(finding.severity for finding in snapshot.findings)
    rollout = snapshot.rollout
    return Status(
        time=format_time(snapshot.taken_s),
        mode=snapshot.mode,
        release=snapshot.release,
        version=VERSION,
        sampling=like(Sampling, snapshot.sampling),
        groups=tuple(
            Group(
                who=group.who,
                osds=tuple(facts.info.osd_id for facts in group.osds),
                workload=workload_summary_of(group.workload),
                limit=limit_of(group.limit),
                options=group_options_of(group.osds),
                conclusion=conclusions.get(group.who),
            )
            for group in snapshot.groups
        ),
        findings=FindingCounts(*(found[severity] for severity in Severity)),
        recommendations=len(snapshot.recommendations),
        rollout=None if rollout is None else summary_of(rollout),
        campaign=campaign_summary_of(snapshot.campaign, snapshot.campaign_waits_for),
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
