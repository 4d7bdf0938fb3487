"""All answers by the name of their schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

from ...advise.records import Finding
from ...doctor import DoctorCheck
from . import (
    advice,
    campaign,
    candidates,
    experiment_plan,
    explain,
    growth,
    history,
    mode,
    model,
    offline,
    operations,
    osd_map,
    osds,
    profiles,
    report,
    status,
    trend,
    workload,
)


class Answer(NamedTuple):
    #: The command or view that it answers.
    title: str
    kind: Any
    #: For a list or an optional answer; a record has its own.
    description: str = ''


ANSWERS: Mapping[str, Answer] = {
    'recommend-all': Answer(
        'ceph rocksdb-tuner recommend --all', tuple[candidates.Considered, ...]
    ),
    'compact-plan': Answer(
        'ceph rocksdb-tuner compact --dry-run, and apply <id> --dry-run for a compaction',
        campaign.CampaignPlan,
    ),
    'check': Answer('ceph rocksdb-tuner check', explain.Check),
    'doctor': Answer('ceph rocksdb-tuner doctor', tuple[DoctorCheck, ...], 'One row per check.'),
    'experiment-plan': Answer(
        'ceph rocksdb-tuner experiment plan, and experiment start --dry-run',
        experiment_plan.ExperimentPlan,
    ),
    'explain': Answer('ceph rocksdb-tuner explain <option>', explain.Option),
    'explain-ls': Answer(
        'ceph rocksdb-tuner explain', tuple[explain.KnownOption, ...], 'One row per option.'
    ),
    'findings': Answer('ceph rocksdb-tuner findings', tuple[Finding, ...], 'Worst first.'),
    'growth': Answer('Growth of the DB of an OSD on its device', growth.Growth),
    'history': Answer(
        'ceph rocksdb-tuner history', tuple[history.Change, ...], 'Every change, oldest first.'
    ),
    'mode': Answer('ceph rocksdb-tuner mode', mode.ModeInForce),
    'operation': Answer(
        'ceph rocksdb-tuner operation status, and the answer to whatever starts or controls one',
        Optional[operations.Operation],
        'The operation under way, or the last one; null before the first.',
    ),
    'model': Answer('ceph rocksdb-tuner model', model.Model),
    'offline': Answer('python3 -m rocksdb_tuner.offline PATH --format json', offline.Overview),
    'osd': Answer('ceph rocksdb-tuner osd', tuple[osds.OsdRow, ...], 'One row per OSD.'),
    'osd-detail': Answer('ceph rocksdb-tuner osd <id>', osds.OsdDetail),
    'osd-map': Answer('The map of all OSDs in the Ceph Dashboard', osd_map.OsdMap),
    'plan': Answer('ceph rocksdb-tuner apply <id> --dry-run', advice.Plan),
    'profile-derive': Answer('ceph rocksdb-tuner profile derive', model.Derived),
    'profile-diff': Answer('ceph rocksdb-tuner profile diff', explain.Compared),
    'profile-ls': Answer(
        'ceph rocksdb-tuner profile ls',
        tuple[profiles.ProfileSummary, ...],
        'Best-tested first.',
    ),
    'profile-show': Answer('ceph rocksdb-tuner profile show <name>', profiles.ProfileInFull),
    'recommend': Answer(
        'ceph rocksdb-tuner recommend',
        tuple[advice.Recommendation, ...],
        'Empty if no change is recommended.',
    ),
    'report': Answer('ceph rocksdb-tuner report', report.Report),
    'recommend-detail': Answer('ceph rocksdb-tuner recommend <id>', advice.RecommendationInFull),
    'status': Answer('ceph rocksdb-tuner status', status.Status),
    'trend': Answer(
        'Time series of OSDs or of a device class over the last hours',
        tuple[trend.Trend, ...],
        'One series each; empty before the first sample. Every list has as many items as time_s; '
        'null: unknown at that time. For a class: the median over its OSDs for times, shares and '
        'ratios, the mean for all others.',
    ),
    'workload': Answer('ceph rocksdb-tuner workload', workload.Workloads),
}
